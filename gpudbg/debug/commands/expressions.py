"""What gdb says of expressions beside their values: whatis, ptype, printf."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gpudbg.debug.commands.registry import Output, command, printed
from gpudbg.debug.values.context import WarpContext
from gpudbg.errors import CommandError
from gpudbg.expr import evaluate, parse
from gpudbg.expr.escapes import unescaped
from gpudbg.expr.evaluate import text_of
from gpudbg.expr.types import VOID, Array, CType, Pointer, Struct

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

FUNCTION = "<text variable, no debug info>"
"""gdb's type of a function that it knows by name only."""

MAX_STRING = 4096
MAX_WIDTH = 1000
"""Digits and columns that one conversion of printf may ask for."""


def type_lines(type_: CType) -> list[str]:
    """A type as `ptype` tells it: a structure with its members."""
    if not isinstance(type_, Struct):
        return [str(type_)]
    rows = [f"    {f.type} {f.name};" for f in type_.fields]
    return [f"struct {type_} {{", *rows, "}"]


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
    try:
        kind = session.evaluate(text).type
    except CommandError:
        names = {session.symbols.function(p) for p in session.symbols.image.entries.values()}
        if text in names or text in session.program.functions:
            return FUNCTION
        raise
    return "void" if kind == VOID else str(kind)


TYPES_HELP = """\
Types of variables come from -G tables, else from the source where it is at hand; without either
a program says sizes only, and variables are shown as words."""


@command(
    "ptype",
    usage="ptype EXPRESSION",
    help="the type of an expression, a structure with its members",
    group="data",
    needs="stopped",
    details=TYPES_HELP,
    completer=lambda s, text: s.complete_expression(text),
)
def ptype(session: DebugSession, argument: str) -> Output:
    """Show the type's parts."""
    text = re.sub(r"^/\w+\s*", "", argument)
    name = type_text(session, text)
    if name in (FUNCTION, "void", "dim3", "uint3"):
        return Output((f"type = {name}",), name)
    first, *rest = type_lines(session.evaluate(text).type)
    return Output((f"type = {first}", *rest), name)


@command(
    "whatis",
    usage="whatis EXPRESSION",
    help="the type of an expression",
    group="data",
    needs="stopped",
    details=TYPES_HELP,
    completer=lambda s, text: s.complete_expression(text),
)
def whatis(session: DebugSession, argument: str) -> Output:
    """Name the type."""
    text = type_text(session, re.sub(r"^/\w+\s*", "", argument))
    return Output((f"type = {text}",), text)


# ---- printf ----------------------------------------------------------------------------
_PRINTF = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*(?:,(.*))?$', re.DOTALL)
_CONVERSION = re.compile(r"%([-+ #0]*\d*(?:\.\d+)?)(?:hh|h|ll|l|z|t|j|L)?([diouxXcsfFeEgGp%])")
_UNKNOWN = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l|z|t|j|L)?(.?)", re.DOTALL)
PRINTF_HELP = 'printf "R4 is %d, out[0] is %f\\n", $R4, out[0]    %s takes a string'


def formatted(
    session: DebugSession,
    argument: str,
    verb: str = "printf",
    context: WarpContext | None = None,
    lane: int | None = None,
) -> str:
    """`"FORMAT", VALUE, …` as C's printf has it, with values of one lane.

    Args:
        session: whose values.
        argument: what stands behind the command.
        verb: the command, for messages.
        context: the warp; None stands for the session's own.
        lane: the lane; None stands for the focused one.

    Raises:
        CommandError: no format, a conversion there is not, or not as many values as it wants.
    """
    m = _PRINTF.match(argument)
    if m is None:
        quoted = argument.lstrip().startswith('"')
        why = "non-terminated" if quoted else "missing"
        raise CommandError(f"Bad format string, {why} '\"'.", f'{verb} "FORMAT", EXPRESSION, …')
    template = unescaped(m[1])
    for odd in _UNKNOWN.finditer(template):
        if _CONVERSION.match(template, odd.start()) is None:
            raise CommandError(f"Unrecognized format specifier '{odd[1]}' in printf")
    values = split_arguments(m[2] or "")
    wanted = [c for c in _CONVERSION.findall(template) if c[1] != "%"]
    if len(wanted) != len(values):
        raise CommandError(
            f"Wrong number of arguments for specified format-string: "
            f"{len(wanted)} wanted, {len(values)} given"
        )
    rest = iter(values)

    def convert(c: re.Match[str]) -> str:
        if c[2] == "%":
            return "%"
        return _converted(session, c[1], c[2], next(rest), context, lane)

    return _CONVERSION.sub(convert, template)


@command(
    "printf",
    usage='printf "FORMAT", EXPRESSION, …',
    help="values in C's format",
    group="data",
    needs="stopped or ended",
    details=PRINTF_HELP,
)
def printf(session: DebugSession, argument: str) -> Output:
    """Format values of the focused lane."""
    text = formatted(session, argument, "printf")
    return printed(text, text)


@command(
    "eval",
    usage='eval "FORMAT", EXPRESSION, …',
    help="carry out a command made as printf makes text",
    group="scripts",
    needs="nothing",
    details='eval "print shared[%d]", $i',
)
def eval_(session: DebugSession, argument: str) -> Output:
    """Carry out what was formatted."""
    return session.command(formatted(session, argument, "eval"))


_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)\'|.', re.DOTALL)


def split_arguments(text: str) -> list[str]:
    """Expressions between commas that stand in no brackets and no quotes."""
    out, depth, word = [], 0, ""
    for piece in _PIECE.findall(text):
        depth += (piece in ("(", "[")) - (piece in (")", "]"))
        if piece == "," and depth == 0:
            out.append(word.strip())
            word = ""
        else:
            word += piece
    if word.strip() or out:
        out.append(word.strip())
    return out


def _converted(
    session: DebugSession,
    flags: str,
    letter: str,
    text: str,
    context: WarpContext | None,
    lane: int | None,
) -> str:
    if any(len(n) > 4 or int(n) > MAX_WIDTH for n in re.findall(r"\d+", flags)):
        raise CommandError(f"%{flags[:20]}{letter}: a width above {MAX_WIDTH}")
    result = session.evaluate(text) if context is None else evaluate(parse(text), context)
    if lane is None:
        lane = session.focus.lane if session.focus is not None else 0
    if result.type == VOID:
        raise CommandError(f"{text}: Value can't be converted to integer.", f"{text} is void")
    if not result.valid[lane]:
        raise CommandError(f"{text}: no value here: {result.why}")
    value: Any = result.values[lane].item()
    own = text_of(result)
    if own is not None and letter != "s":
        raise CommandError(f"{text} is a string: it takes %s")
    if letter == "s":
        if own is not None:
            return f"%{flags}s" % own.partition("\0")[0]
        if not isinstance(result.type, Pointer | Array):
            raise CommandError(f"{text} is no string")
        space = result.type.space if isinstance(result.type, Pointer) else "generic"
        if isinstance(result.type, Array) and result.place is not None:
            space = result.place.space
        return f"%{flags}s" % _string(session, space, int(value))
    if letter == "p":
        return f"%{flags}s" % (hex(int(value)) if value else "(nil)")
    if letter in "fFeEgG":
        return f"%{flags}{letter}" % float(value)
    if value != value or abs(value) == float("inf"):
        raise CommandError(f"{text} is {value}: %{letter} takes an integer", "use %f or %g")
    if letter == "c":
        return f"%{flags}c" % (int(value) & 0xFF)
    number = int(value)
    if letter in "uoxX" and number < 0:
        number += 1 << 8 * result.values.dtype.itemsize
    return f"%{flags}{letter}" % number


def _string(session: DebugSession, space: str, address: int) -> str:
    raw = bytearray()
    while len(raw) < MAX_STRING:
        byte = session.read_focused(space, address + len(raw), 1)
        if byte == b"\0":
            break
        raw += byte
    return raw.decode("utf-8", "replace")
