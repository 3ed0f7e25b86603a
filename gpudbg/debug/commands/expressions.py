"""What gdb says of expressions beside their values: whatis, ptype, printf."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpudbg.answers import Answer, Card, Notice, Printed
from gpudbg.dataclass import dataclass
from gpudbg.debug.commands.data import UNTYPED_FUNCTION
from gpudbg.debug.commands.table import command
from gpudbg.debug.values.printf import formatted
from gpudbg.errors import CommandError
from gpudbg.expr.evaluation import FUNCTION
from gpudbg.expr.parser import NamedType, parse_type
from gpudbg.expr.types import VOID, CType, Struct

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


@dataclass(frozen=True, slots=True)
class ShownType:
    """A type as `ptype` tells it: a structure with its members."""

    name: str
    members: tuple[tuple[str, str], ...] | None = None

    @classmethod
    def of(cls, type_: CType) -> ShownType:
        """A type and its members."""
        if not isinstance(type_, Struct):
            return cls(str(type_))
        return cls(str(type_), tuple((str(f.type), f.name) for f in type_.fields))

    def lines(self) -> list[str]:
        """The type for people."""
        if self.members is None:
            return [f"type = {self.name}"]
        rows = [f"    {kind} {name};" for kind, name in self.members]
        return [f"type = struct {self.name} {{", *rows, "}"]

    def to_json(self) -> str:
        """Its name."""
        return self.name


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
        return str(named)
    try:
        value = session.evaluate(text)
    except CommandError:
        names = {session.symbols.function(p) for p in session.symbols.image.entries.values()}
        if text in names or text in session.program.functions:
            return UNTYPED_FUNCTION
        raise
    kind = value.type
    if value.place is not None and value.place.kind == FUNCTION:
        return UNTYPED_FUNCTION
    return "void" if kind == VOID else str(kind)


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
