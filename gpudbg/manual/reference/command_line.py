"""Reference: verbs, their flags and operands, variables, exit codes; from the option schema."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpudbg.debug.settings import ROWS
from gpudbg.errors import EXIT_CODES
from gpudbg.frontends.verbs.listing import ENVIRONMENT, VERBS
from gpudbg.manual.markdown import code, label, plain, section, table
from gpudbg.options import (
    COMPILERS,
    FLAGS,
    LAUNCHING,
    OPTIONS,
    OptionKind,
    OptionScope,
    OptionSpec,
)

_SHARED = (OptionScope.LAUNCH, OptionScope.MACHINE, OptionScope.DEVICE, OptionScope.COMPILER)
FLAG_COLUMNS = ("flag", "values", "default", "what")
KINDS_OF_DECODE = ("decode insn", "decode surface")
"""Kinds of `gpudbg decode` that have flags of their own."""


def command_line() -> str:
    """The page on verbs."""
    launching = [row for row in OPTIONS if row.scope in _SHARED[:3] and row.flags]
    compiling = [row for row in OPTIONS if row.scope is OptionScope.COMPILER and row.verbs]
    parts = [
        "A program is debugged by `gpudbg PROG`; everything else is a verb. `gpudbg VERB --help` "
        "says in the terminal what stands here. `--plugin PATH` before or behind a verb adds a "
        "folder where plugins are looked for.\n",
        table(("verb", "what it does"), ([_link(v), plain(VERBS[v])] for v in VERBS)),
        label("flags", "launch"),
        section(2, "Flags of launches", f"Taken by {_names(LAUNCHING)}.\n"),
        flags_table(("flag", "key", "keyword", "setting", "values", "default", "what"), launching),
        label("flags", "compilers"),
        section(2, "Flags of compilers", f"Taken by {_names(COMPILERS)}.\n"),
        flags_table(("flag", "what"), compiling),
    ]
    parts += [_verb(verb) for verb in VERBS]
    rows = ([code(name), values, plain(what)] for name, (values, what) in ENVIRONMENT.items())
    parts += [
        label("environment"),
        section(2, "Environment variables", table(("variable", "values", "what"), rows)),
    ]
    return "\n".join(parts)


def exit_codes() -> str:
    """The page on exit codes."""
    rows = ([str(number), plain(what)] for number, what in EXIT_CODES.items())
    return "\n".join(
        (
            "Every verb ends with one of these. What cannot be told is never told as clean: a "
            "check that reaches an instruction without semantics ends with 4, not with 0.\n",
            table(("code", "meaning"), rows),
            "130 is an interrupt from the keyboard (Ctrl-C), as shells have it.\n",
        )
    )


def own_rows(verb: str) -> list[OptionSpec]:
    """What only this verb takes, and operands; `decode` has those of its kinds, too."""
    wanted = (verb, *(KINDS_OF_DECODE if verb == "decode" else ()))
    return [row for row in OPTIONS if set(wanted) & set(row.verbs) and row.scope not in _SHARED]


def all_rows(verb: str) -> list[OptionSpec]:
    """Everything a verb takes."""
    shared = [row for row in OPTIONS if verb in row.verbs and row.scope in _SHARED and row.flags]
    return [*own_rows(verb), *shared]


def synopsis(verb: str) -> str:
    """A verb's usage in a line."""
    rows = own_rows(verb)
    words = ["gpudbg", *([] if verb == "tui" else [verb])]
    words += ["[OPTION ...]"] if [row for row in all_rows(verb) if row.flags] else []
    words += [_operand(row) for row in rows if not row.flags and row.scope is OptionScope.VERB]
    return " ".join(words)


def _operand(row: OptionSpec) -> str:
    name = row.metavar or ("|".join(row.choices) if row.choices else row.name.upper())
    if row.kind is OptionKind.REST:
        return name
    return {"": name, "?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} ..."}[row.count]


def _verb(verb: str) -> str:
    rows = own_rows(verb)
    operands = [row for row in rows if not row.flags and row.scope is OptionScope.VERB]
    flags = [row for row in rows if row.flags]
    more = [
        word
        for word, verbs in (
            (f"{{ref}}`launches <{'flags-launch'}>`", LAUNCHING),
            (f"{{ref}}`compilers <{'flags-compilers'}>`", COMPILERS),
        )
        if verb in verbs
    ]
    title = f"`gpudbg {verb}`" if verb != "tui" else "`gpudbg PROG`"
    return "\n".join(
        (
            label("verb", verb),
            section(2, title, plain(_sentence(VERBS[verb])) + "\n", f"    {synopsis(verb)}\n"),
            flags_table(("flag", "values", "what"), operands, "operand") if operands else "",
            flags_table(_columns(flags), flags) if flags else "",
            f"It takes the flags of {' and of '.join(more)}, too.\n" if more else "",
        )
    )


def _columns(rows: Sequence[OptionSpec]) -> tuple[str, ...]:
    checks = any(row.scope is OptionScope.CHECK for row in rows)
    return ("flag", "keyword", *FLAG_COLUMNS[1:]) if checks else FLAG_COLUMNS


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _link(verb: str) -> str:
    shown = "gpudbg PROG" if verb == "tui" else f"gpudbg {verb}"
    return f"[`{shown}`](#verb-{verb})"


def _names(verbs: Sequence[str]) -> str:
    return ", ".join(_link(verb) for verb in verbs)


def flags_table(columns: Sequence[str], rows: Iterable[OptionSpec], first: str = "flag") -> str:
    """Options, a row each; empty columns are left out."""
    header = [first, *columns[1:]]
    return table(header, ([cell(column, row) for column in columns] for row in rows))


def cell(column: str, row: OptionSpec) -> str:
    """What a column says of an option."""
    machine = row in FLAGS and row.scope is not OptionScope.LAUNCH
    match column:
        case "flag":
            words = ", ".join(row.flags) or row.metavar or row.name.upper()
            return code(f"{words} {row.metavar}" if row.flags and row.metavar else words)
        case "key":
            return code(f"{row.table}.{row.name}".lstrip(".")) if row.table is not None else ""
        case "keyword":
            return code(row.name) if machine or row.scope is OptionScope.CHECK else ""
        case "setting":
            names = {setting.name for setting in ROWS if row in FLAGS}
            found = [name for name in (row.name, f"launch {row.flag}") if name in names]
            return " ".join(map(code, found))
        case "values":
            return _values(row)
        case "default":
            if row.default is None:
                return ""
            return code(",".join(row.default) if isinstance(row.default, tuple) else row.default)
    return plain(row.help.rstrip("; :"))


def _values(row: OptionSpec) -> str:
    if row.kind is OptionKind.WHOLE and row.most.bit_length() > 64:
        return f"a whole number, at least {row.least}"
    if row.kind is OptionKind.WHOLE:
        return f"a whole number, {row.range}"
    return " ".join(map(code, row.choices)) or row.kind.value
