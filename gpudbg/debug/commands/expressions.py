"""What gdb says of expressions beside their values: whatis, ptype, printf."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpudbg.answers import Answer, Card, Notice, Printed
from gpudbg.dataclass import dataclass
from gpudbg.debug.commands.table import command
from gpudbg.debug.values.printf import formatted
from gpudbg.errors import CommandError
from gpudbg.expr.evaluation import UNTYPED_FUNCTION
from gpudbg.expr.parser import NamedType, parse_type
from gpudbg.expr.types import (
    VOID,
    Array,
    CType,
    Pointer,
    Scalar,
    Struct,
    StructField,
    declaration,
    spelled,
)

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


@dataclass(frozen=True, slots=True)
class ShownType:
    """A type as `ptype` tells it: a structure with its members."""

    name: str
    members: tuple[tuple[str, str], ...] | None = None
    pointers: str = ""
    values: tuple[tuple[int, str], ...] = ()
    keyword: str = "struct"

    @classmethod
    def of(cls, type_: CType) -> ShownType:
        """A type and its members; behind pointers, of what they point at."""
        target, pointers = type_, ""
        while isinstance(target, Pointer) and not target.text:
            target, pointers = target.target, pointers + "*"
        if isinstance(target, Struct):
            return cls(
                str(target), tuple(map(_member, target.fields)), pointers, (), target.keyword
            )
        if isinstance(type_, Scalar) and type_.names:
            return cls(str(type_), values=type_.names)
        return cls(spelled(type_))

    def lines(self) -> list[str]:
        """The type for people."""
        if self.values:
            return [f"type = enum {self.name} {{{', '.join(self._enumerators())}}}"]
        if self.members is None:
            return [f"type = {self.name}"]
        bases = [name[1:-1] for _, name in self.members if name.startswith("<")]
        public = f" : {', '.join(f'public {base}' for base in bases)}" if bases else ""
        rows = [
            f"    {kind}{'' if kind.endswith('*') else ' '}{name};" if name else f"    {kind};"
            for kind, name in self.members
            if not name.startswith("<")
        ]
        end = f"}} {self.pointers}" if self.pointers else "}"
        return [f"type = {self.keyword} {self.name}{public} {{", *rows, end]

    def _enumerators(self) -> Iterator[str]:
        """Names, with a value where it does not follow from the one before."""
        due = 0
        for value, name in self.values:
            yield name if value == due else f"{name} = {value}"
            due = value + 1

    def to_json(self) -> str:
        """Its name."""
        return self.name


def _member(field: StructField) -> tuple[str, str]:
    """Type and name of a member as C declares it: `int m[2][3]`, `unsigned int a : 3`."""
    type_, name = field.type, field.name
    while isinstance(type_, Array):
        name, type_ = f"{name}[{type_.count}]", type_.target
    if isinstance(type_, Pointer) and ("(*)" in type_.text or isinstance(type_.target, Array)):
        return declaration(type_, name), ""
    if field.bits is not None:
        return str(type_), f"{name} : {field.bits[1]}"
    return spelled(type_), name


def type_text(session: DebugSession, text: str) -> str:
    """The type of an expression.

    Raises:
        CommandError: it has none.
    """
    text = text.strip()
    if not text:
        raise CommandError("The history is empty.", "whatis EXPRESSION")
    if session.context().vector(text) is not None:
        return "dim3" if text.endswith("Dim") else "uint3"
    named = _declared(session, text)
    if named is not None:
        return spelled(named)
    try:
        value = session.evaluate(text)
    except CommandError:
        names = {session.symbols.function(p) for p in session.symbols.image.entries.values()}
        if text in names or text in session.program.functions:
            return UNTYPED_FUNCTION
        raise
    kind = value.type
    return "void" if kind == VOID else spelled(kind)


def _declared(session: DebugSession, text: str) -> CType | None:
    """The type that a text names, where it is no variable; None where it names none."""
    written = parse_type(text)
    context = session.context()
    if not isinstance(written, NamedType):
        return written
    if not written.stars and context.variable(written.name) is not None:
        return None
    base = context.type(written.name)
    return None if base is None else written.of(base)


TYPES_HELP = """\
Types of variables come from -G tables, else from the source where it is at hand; without either
a program says sizes only, and variables are shown as words."""


@command(
    "ptype",
    usage="ptype EXPRESSION|TYPE",
    help="the type of an expression, a structure with its members",
    group="data",
    needs="stopped",
    details=TYPES_HELP,
    completer=lambda s, text: s.complete_expression(text),
)
def ptype(session: DebugSession, argument: str) -> Card:
    """Show the type's parts."""
    text = re.sub(r"^/\w+\s*", "", argument)
    name = type_text(session, text)
    if name in (UNTYPED_FUNCTION, "void", "dim3", "uint3"):
        return Card(ShownType(name), ShownType.lines)
    type_ = _declared(session, text.strip()) or session.evaluate(text).type
    return Card(ShownType.of(type_), ShownType.lines)


@command(
    "whatis",
    usage="whatis EXPRESSION|TYPE",
    help="the type of an expression",
    group="data",
    needs="stopped",
    details=TYPES_HELP,
    completer=lambda s, text: s.complete_expression(text),
)
def whatis(session: DebugSession, argument: str) -> Notice:
    """Name the type."""
    text = type_text(session, re.sub(r"^/\w+\s*", "", argument))
    return Notice(f"type = {text}", text)


# ---- printf ----------------------------------------------------------------------------
PRINTF_HELP = 'printf "R4 is %d, out[0] is %f\\n", $R4, out[0]    %s takes a string'


@command(
    "printf",
    usage='printf "FORMAT", EXPRESSION, …',
    help="values in C's format",
    group="data",
    needs="stopped or ended",
    details=PRINTF_HELP,
)
def printf(session: DebugSession, argument: str) -> Printed:
    """Format values of the focused lane."""
    text = formatted(session, session.evaluate, argument, "printf")
    return Printed(text, text)


@command(
    "eval",
    usage='eval "FORMAT", EXPRESSION, …',
    help="carry out a command made as printf makes text",
    group="scripts",
    needs="nothing",
    details='eval "print shared[%d]", $i',
)
def eval_(session: DebugSession, argument: str) -> Answer:
    """Carry out what was formatted."""
    return session.command(formatted(session, session.evaluate, argument, "eval")).answer
