"""gpudbg info TOPIC: what needs no program: isa, schema, policy, engine, special, nsight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gpudbg.errors import EXIT_CLEAN, UsageError
from gpudbg.frontends.verbs.common import emit_json, known_names

Topic = tuple[list[str], Any]


def _policy(words: Sequence[str]) -> Topic:
    """What the model assumes; words choose."""
    from gpudbg.sm.policy import POLICIES

    wanted = " ".join(words).lower()
    rows = [p for p in POLICIES if wanted in f"{p.name} {p.rule}".lower()]
    if not rows:
        names = [p.name for p in POLICIES]
        raise UsageError(f"no policy speaks of {wanted!r}", known_names(wanted, names))
    lines: list[str] = []
    for p in rows:
        lines += [f"{p.name}  [{p.certainty}]", f"    {p.rule}", f"    why: {p.reason}"]
    data = [
        {"name": p.name, "certainty": p.certainty, "rule": p.rule, "reason": p.reason} for p in rows
    ]
    return lines, data


def _engine(words: Sequence[str]) -> Topic:
    """The ways to execute."""
    from gpudbg.options import ENGINES, JOBS

    lines = [f"--engine {name:5} {what}" for name, what in ENGINES.items()]
    lines += [f"--{JOBS.name} N      {JOBS.help} (default {JOBS.default})"]
    lines += ["In a session: `info engine` tells what a launch does; `gpudbg cache` what is kept."]
    return lines, dict(ENGINES)


def _special(words: Sequence[str]) -> Topic:
    """Special registers: all of them, or some with their fields."""
    from gpudbg.debug.views.text import table
    from gpudbg.regs.special import SPECIAL_REGISTERS, find_special, nearest_special

    if not words:
        rows = [r for r in SPECIAL_REGISTERS if not r.reserved]
        cells = [(f"SR{r.number}", r.name, str(r.scope or ""), str(r.note or "")) for r in rows]
        data = [{"number": r.number, "name": r.name, "scope": str(r.scope or "")} for r in rows]
        return table(("", "Register", "Scope", "Note"), cells), data
    lines: list[str] = []
    found = []
    for word in words:
        row = find_special(word.lstrip("$"))
        if row is None:
            near = ", ".join(nearest_special(word))
            raise UsageError(f"no special register is called {word!r}", f"near: {near}")
        lines.append(f"SR{row.number}  {row.name}")
        for field in row.rows:
            high, low = field.bits.hi, field.bits.lo
            lines.append(f"  [{high}:{low}]  {field.name}  {field.meaning}")
        found.append({"number": row.number, "name": row.name, "scope": str(row.scope or "")})
    return lines, found


def nsight_path() -> Path:
    """The file called cuda-gdb that starts gpudbg; it is not on PATH."""
    import gpudbg

    return Path(gpudbg.__file__).parent / "nsight" / "cuda-gdb"


def _nsight(words: Sequence[str]) -> Topic:
    """Where the file called cuda-gdb is."""
    path = str(nsight_path())
    return [path], {"path": path}


TOPICS: dict[str, Callable[[Sequence[str]], Topic]] = {
    "policy": _policy,
    "engine": _engine,
    "special": _special,
    "nsight": _nsight,
}
"""Topics beside `isa` and `schema`."""


def show_topic(name: str, words: Sequence[str], as_json: bool) -> int:
    """Print one."""
    lines, data = TOPICS[name](words)
    if as_json:
        emit_json(data)
    else:
        print("\n".join(lines))
    return EXIT_CLEAN
