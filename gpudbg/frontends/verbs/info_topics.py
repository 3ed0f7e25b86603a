"""gpudbg info TOPIC: what needs no program: isa, schema, policy, engine, special, nsight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpudbg.answers import Answer, Listing, Notice, Table, column, computed, typed_row
from gpudbg.errors import EXIT_CLEAN, UsageError
from gpudbg.frontends.verbs.common import emit, known_names

if TYPE_CHECKING:
    from gpudbg.regs.special import SpecialRegister


def _policy(words: Sequence[str]) -> Answer:
    """What the model assumes; words choose."""
    from gpudbg.sm.policy import POLICIES, Policy

    wanted = " ".join(words).lower()
    rows = tuple(p for p in POLICIES if wanted in f"{p.name} {p.rule}".lower())
    if not rows:
        names = [p.name for p in POLICIES]
        raise UsageError(f"no policy speaks of {wanted!r}", known_names(wanted, names))
    return Listing(rows, Policy.lines)


def _engine(words: Sequence[str]) -> Answer:
    """The engines."""
    from gpudbg.options import ENGINES, JOBS

    foot = (
        f"--{JOBS.name} N      {JOBS.help} (default {JOBS.default})",
        "In a session: `info engine` tells what a launch does; `gpudbg cache` what is kept.",
    )
    rows = tuple(EngineRow(name, what) for name, what in ENGINES.items())
    return Listing(rows, str, foot=foot, by="name", value="what")


@typed_row
class EngineRow:
    """A way to execute."""

    name: str = column()
    what: str = column()

    def __str__(self) -> str:
        return f"--engine {self.name:5} {self.what}"


@typed_row
class ListedRegister:
    """A special register as the tables have it; its fields where it was asked for by name."""

    mark = computed("", lambda r: f"SR{r.number}")
    number: int = column()
    name: str = column("Register")
    scope: str = column("Scope")
    note: str = column("Note", key="")
    fields: tuple[str, ...] = column(key="")

    @classmethod
    def of(cls, row: SpecialRegister) -> ListedRegister:
        """A row of the register table."""
        fields = (f"  [{f.bits.hi}:{f.bits.lo}]  {f.name}  {f.meaning}" for f in row.rows)
        return cls(row.number, row.name, str(row.scope or ""), str(row.note or ""), tuple(fields))

    def lines(self) -> tuple[str, ...]:
        """The register in full."""
        return f"SR{self.number}  {self.name}", *self.fields


def _special(words: Sequence[str]) -> Answer:
    """Special registers: all of them, or some with their fields."""
    from gpudbg.regs.special import SPECIAL_REGISTERS, find_special, nearest_special

    if not words:
        known = (ListedRegister.of(r) for r in SPECIAL_REGISTERS if not r.reserved)
        return Table(ListedRegister, tuple(known))
    found = []
    for word in words:
        row = find_special(word.lstrip("$"))
        if row is None:
            near = ", ".join(nearest_special(word))
            raise UsageError(f"no special register is called {word!r}", f"near: {near}")
        found.append(ListedRegister.of(row))
    return Listing(tuple(found), ListedRegister.lines)


def nsight_path() -> Path:
    """The file called cuda-gdb that starts gpudbg; it is not on PATH."""
    import gpudbg

    return Path(gpudbg.__file__).parent / "nsight" / "cuda-gdb"


def _nsight(words: Sequence[str]) -> Answer:
    """Where the file called cuda-gdb is."""
    path = str(nsight_path())
    return Notice(path, {"path": path})


TOPICS: dict[str, Callable[[Sequence[str]], Answer]] = {
    "policy": _policy,
    "engine": _engine,
    "special": _special,
    "nsight": _nsight,
}
"""Topics beside `isa` and `schema`."""


def show_topic(name: str, words: Sequence[str], as_json: bool) -> int:
    """Print one."""
    emit(TOPICS[name](words), as_json)
    return EXIT_CLEAN
