"""Values in C's format: what printf, eval and dprintf make of `"FORMAT", EXPRESSION, …`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gpudbg.debug.values.evaluation import read_focused
from gpudbg.errors import CommandError
from gpudbg.expr.escapes import unescaped
from gpudbg.expr.evaluation import text_of
from gpudbg.expr.types import VOID, Array, Pointer

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.expr import Result

Evaluate = Callable[[str], "Result"]

MAX_STRING = 4096
MAX_WIDTH = 1000
"""Digits and columns that one conversion of printf may ask for."""

_PRINTF = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*(?:,(.*))?$', re.DOTALL)
_CONVERSION = re.compile(r"%([-+ #0]*\d*(?:\.\d+)?)(?:hh|h|ll|l|z|t|j|L)?([diouxXcsfFeEgGp%])")
_UNKNOWN = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l|z|t|j|L)?(.?)", re.DOTALL)


def formatted(
    inferior: Inferior,
    evaluate: Evaluate,
    argument: str,
    verb: str = "printf",
    lane: int | None = None,
) -> str:
    """`"FORMAT", VALUE, …` as C's printf has it, with values of one lane.

    Args:
        inferior: whose memory strings are in.
        evaluate: the value of an expression.
        argument: what stands behind the command.
        verb: the command, for messages.
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
    if lane is None:
        lane = inferior.focus.lane if inferior.focus is not None else 0
    rest = iter(values)

    def convert(c: re.Match[str]) -> str:
        if c[2] == "%":
            return "%"
        if any(len(n) > 4 or int(n) > MAX_WIDTH for n in re.findall(r"\d+", c[1])):
            raise CommandError(f"%{c[1][:20]}{c[2]}: a width above {MAX_WIDTH}")
        text = next(rest)
        return _converted(inferior, c[1], c[2], text, evaluate(text), lane)

    return _CONVERSION.sub(convert, template)


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
    inferior: Inferior,
    flags: str,
    letter: str,
    text: str,
    result: Result,
    lane: int,
) -> str:
    """One conversion, of one value."""
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
        return f"%{flags}s" % _string(inferior, space, int(value))
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


def _string(inferior: Inferior, space: str, address: int) -> str:
    raw = bytearray()
    while len(raw) < MAX_STRING:
        byte = read_focused(inferior, space, address + len(raw), 1)
        if byte == b"\0":
            break
        raw += byte
    return raw.decode("utf-8", "replace")
