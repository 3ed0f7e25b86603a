"""Expressions and memory as the focused lane of the stopped machine sees them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpudbg.debug.symbols import Origin
from gpudbg.debug.values import access
from gpudbg.debug.values.backtrace import selected_pc
from gpudbg.debug.values.context import WarpContext, argument_names
from gpudbg.debug.values.variables import names_at
from gpudbg.debug.values.without_warp import BareContext, NoWarpContext
from gpudbg.errors import CommandError, GpudbgError
from gpudbg.expr import evaluate as value_of
from gpudbg.expr import parse, parse_condition
from gpudbg.expr.evaluation import SPACE_ARRAYS, Result, text_of
from gpudbg.expr.parser import names
from gpudbg.expr.types import VOID, Array, Pointer, Struct

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior


def context_of(inferior: Inferior) -> WarpContext:
    """What expressions see: the focused warp; at the end, what a launch leaves."""
    if inferior.focus is None and inferior.killed:
        return BareContext(inferior)
    if inferior.focus is None and inferior.grid.finished:
        return NoWarpContext(inferior)
    return WarpContext(inferior, inferior.focused(), inferior.frame_level)


def evaluate(inferior: Inferior, text: str) -> Result:
    """An expression's value in the 32 lanes of the focused warp."""
    return value_of(parse(text), context_of(inferior))


def integer(inferior: Inferior, text: str, what: str = "a number") -> int:
    """An expression's value in the focused lane, which must have one and be an integer.

    Raises:
        CommandError: it cannot be computed here, or is a floating-point number.
    """
    result = evaluate(inferior, text)
    lane = inferior.lane
    if not result.valid[lane]:
        raise CommandError(f"{text}: no value in the focused lane: {result.why}")
    if result.values.dtype.kind == "f":
        raise CommandError(f"{text}: {what} must be an integer, not {result.type}")
    return int(result.values[lane])


def origin(inferior: Inferior) -> Origin:
    """Where locations are read from: the focus, the settings, the source path."""
    pc = selected_pc(inferior) if inferior.focus is not None else None
    return Origin(
        pc,
        inferior.shows_code_addresses,
        lambda text, what: integer(inferior, text, what),
        inferior.sources.fullname,
    )


def read_focused(inferior: Inferior, space: str, address: int, size: int) -> bytes:
    """Bytes as the focused lane sees them; global memory at the end of a launch, too."""
    if inferior.focus is None and space in ("global", "generic") and inferior.grid.finished:
        return access.read_global(inferior, address, size)
    warp = inferior.focused() if inferior.focus is not None else None
    return access.read(inferior, space, address, size, warp, inferior.lane)


def fetch_bytes(inferior: Inferior, result: Result, lane: int) -> bytes:
    """The bytes of an array or structure, as `lane` of the focused warp sees them."""
    assert result.place is not None
    own = text_of(result)
    if own is not None:
        return own.encode("utf-8", "surrogateescape") + b"\0"
    size = min(result.type.size, access.MAX_READ)
    return read_focused(inferior, result.place.space, int(result.values[lane]), size)


# ---- names -----------------------------------------------------------------------------
def check_names(inferior: Inferior, text: str, addresses: Iterable[int] = ()) -> None:
    """Refuse a condition with names that no warp of the session knows.

    A condition is evaluated at a stop only, where a misspelt name would come too late.

    Args:
        addresses: where it is evaluated, and variables of functions may be in scope.

    Raises:
        CommandError: it does not parse, assigns, or names a register, symbol or `$variable` that
            does not exist.
    """
    tree = parse_condition(text)
    if inferior.focus is None:
        return
    context, there = context_of(inferior), names_at(inferior, addresses)
    for name in names(tree):
        if (
            name.text.partition(".")[0] not in there
            and name.text not in SPACE_ARRAYS
            and value_of(name, context).type == VOID
        ):
            raise CommandError(f"{name.text} is not set", "see `help expressions`")


# ---- arrays ----------------------------------------------------------------------------
def fetch_array(inferior: Inferior, result: Result, lane: int) -> tuple[Result, NDArray[Any]]:
    """The elements of an array result, read as `lane` of the focused warp sees them."""
    assert isinstance(result.type, Array)
    assert result.place is not None
    target = result.type.target
    if isinstance(target, Array | Struct):
        raise CommandError(f"an array of {target} has no numbers of its own; index it")
    dtype = np.dtype(np.uint64) if isinstance(target, Pointer) else target.dtype
    count = min(result.type.count, access.MAX_READ // dtype.itemsize)
    raw = read_focused(
        inferior, result.place.space, int(result.values[lane]), count * dtype.itemsize
    )
    return result, np.frombuffer(raw, dtype).copy()


def complete(inferior: Inferior, text: str) -> list[str]:
    """Names that could stand where an expression's last word is being typed."""
    members = _members(inferior, text)
    if members:
        return members
    m = re.search(r"[$%]?[A-Za-z_][\w.]*$", text)
    head, word = (text[: m.start()], m[0]) if m else (text, "")
    names = [f"$R{i}" for i in range(int(inferior.focused().R.shape[0]))] if inferior.focus else []
    names += [f"$P{i}" for i in range(7)] + ["$pc", "$CC", "$lane", "$warp", "$sm"]
    names += [f"{v}.{a}" for v in ("threadIdx", "blockIdx", "blockDim", "gridDim") for a in "xyz"]
    known = context_of(inferior).variables() if inferior.focus else None
    seen = () if known is None else (variable.name for variable, _ in known.variables())
    names = [*dict.fromkeys(seen), *names, *inferior.program.globals]
    names += ["shared[", "local[", "global["]
    names += argument_names(inferior) + access.special_names()
    return [head + n for n in names if n.lower().startswith(word.lower())]


_MEMBER = re.compile(r"(?P<base>[A-Za-z_][\w.\[\]]*(?:->[\w.\[\]]+)*)(?:\.|->)(?P<word>\w*)$")
"""`acc.n`, `p->next->`, `rows[2].x` at the end of a text."""


def _members(inferior: Inferior, text: str) -> list[str]:
    """What could end a member access; nothing where the text is none."""
    m = _MEMBER.search(text)
    if m is None or inferior.focus is None:
        return []
    try:
        type_ = evaluate(inferior, m["base"]).type
    except GpudbgError:
        return []
    if isinstance(type_, Pointer):
        type_ = type_.target
    names = type_.member_names() if isinstance(type_, Struct) else ()
    return [text[: m.start("word")] + name for name in names if name.startswith(m["word"])]
