"""`docs/options.md` from the option schema: `python -m tests.option_docs` writes it anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from gpudbg.debug.settings import ROWS
from gpudbg.frontends.verbs.listing import VERBS
from gpudbg.options import COMPILERS, FLAGS, LAUNCHING, OPTIONS, OptionKind, OptionScope, OptionSpec

FILE = Path(__file__).resolve().parents[1] / "docs" / "options.md"
HEAD = """# Options

Made from `gpudbg/options/` by `python -m tests.option_docs`; not written by hand.
`gpudbg VERB --help` says the same of one verb. A *key* stands in the launch table (`PROG.toml`), a
*keyword* is one of the Python API, a *setting* is one of `set` and `show` in a session.
"""


def document() -> str:
    """The whole page."""
    launched = [row for row in OPTIONS if row.scope in _LAUNCHES and row.flags]
    raw = [row for row in OPTIONS if row.scope is OptionScope.WORDS]
    compiled = [row for row in OPTIONS if row.scope is OptionScope.COMPILER and row.verbs]
    checked = [row for row in OPTIONS if "check" in row.verbs and row not in launched + compiled]
    parts = [
        HEAD,
        f"## Launches\n\nFlags of {_names(LAUNCHING)}.\n",
        _table(("flag", "key", "keyword", "setting", "values", "default", "what"), launched),
        "\n## Raw instruction words\n\nKeys of `[raw]` in the launch table.\n",
        _table(("key", "values"), raw),
        f"\n## Compiling `.cu` and `.ptx`\n\nFlags of {_names(COMPILERS)}.\n",
        _table(("flag", "what"), compiled),
        "\n## `gpudbg check`\n\nFlags, and keywords of `gpudbg.check`.\n",
        _table(("flag", "keyword", "values", "default", "what"), checked),
    ]
    for verb in (*VERBS, "decode insn", "decode surface"):
        rows = [r for r in OPTIONS if verb in r.verbs and r.scope is OptionScope.VERB]
        if rows and verb != "check":
            head = f"\n## `gpudbg {verb}`\n" if verb != "tui" else "\n## `gpudbg PROG`\n"
            parts += [head, _table(("flag", "values", "default", "what"), rows)]
    return "\n".join(parts)


_LAUNCHES = (OptionScope.LAUNCH, OptionScope.MACHINE, OptionScope.DEVICE)


def _names(verbs: Sequence[str]) -> str:
    return ", ".join(f"`{verb}`" if verb != "tui" else "`gpudbg PROG`" for verb in verbs)


def _table(columns: Sequence[str], rows: Iterable[OptionSpec]) -> str:
    lines = [columns, ["---"] * len(columns), *([_cell(c, r) for c in columns] for r in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _cell(column: str, row: OptionSpec) -> str:
    """What a column says of an option."""
    machine = row in FLAGS and row.scope is not OptionScope.LAUNCH
    match column:
        case "flag":
            words = ", ".join(row.flags) or row.metavar or row.name.upper()
            return _code(f"{words} {row.metavar}" if row.flags and row.metavar else words)
        case "key":
            return _code(f"{row.table}.{row.name}".lstrip(".")) if row.table is not None else ""
        case "keyword":
            return _code(row.name) if machine or row.scope is OptionScope.CHECK else ""
        case "setting":
            names = {setting.name for setting in ROWS if row in FLAGS}
            found = [name for name in (row.name, f"launch {row.flag}") if name in names]
            return " ".join(map(_code, found))
        case "values":
            return _values(row)
        case "default":
            return _code(row.default) if row.default is not None else ""
    return row.help.rstrip("; :").replace("|", "\\|")


def _values(row: OptionSpec) -> str:
    if row.kind is OptionKind.WHOLE and row.most.bit_length() > 64:
        return f"a whole number, at least {row.least}"
    if row.kind is OptionKind.WHOLE:
        return f"a whole number, {row.range}"
    return " ".join(map(_code, row.choices)) or row.kind.value


def _code(value: object) -> str:
    text = ",".join(value) if isinstance(value, tuple) else str(value)
    return f"`{text}`".replace("|", "\\|")


if __name__ == "__main__":
    FILE.write_text(document(), encoding="utf-8")
