"""Memory given no contents and never written: how every view asks for it.

What a view says of it is `WORDS`, as it says of registers; where it is not known (a large launch
from Python that ran as compiled code, `gpudbg.sm.written`) it says `UNKNOWN`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from gpudbg.analysis.liveness import of_kernel
from gpudbg.debug.values.access import resolve
from gpudbg.errors import CommandError, UsageError
from gpudbg.expr.evaluation import Result

if TYPE_CHECKING:
    from gpudbg.analysis.liveness import Liveness
    from gpudbg.analysis.local_liveness import LocalLiveness
    from gpudbg.debug.inferior import Inferior
    from gpudbg.debug.symbols import Symbols
    from gpudbg.sm.state import WarpState

WORDS: Final = "never written"
UNKNOWN: Final = "not known whether written"
PIECE: Final = 1 << 22
_REGISTER = re.compile(r"\$?R(\d+)", re.IGNORECASE)
_WALKS: WeakKeyDictionary[Symbols, Liveness | LocalLiveness | None] = WeakKeyDictionary()


def never_written(
    inferior: Inferior, space: str, address: int, size: int, lane: int | None = None
) -> npt.NDArray[np.bool_] | None:
    """Which bytes, as a lane of the focused warp sees them, were never given a value.

    Args:
        space, address: as for `SessionMemory.read`.
        size: bytes; they can be read.
        lane: None: the focused one.

    Returns:
        An element for each byte; None where all were given contents when the launch was made, or
        where it is not known (`not_known`).
    """
    grid = inferior.grid
    written, focus = grid.engine.written, inferior.focus
    space, address = resolve(inferior, space, address)
    if written is None:
        return None
    if space == "global":
        found = grid.gpu.memory.find(address)
        if found is None or not found.uninitialized:
            return None
        marks = written.device(found, address - found.base, size)
    elif focus is None or space not in ("shared", "local"):
        return None
    else:
        warp = grid.warp(focus.sm, focus.warp)
        if space == "shared":
            marks = written.shared(warp.cta, address, size)
        else:
            try:
                lane = focus.lane if lane is None else lane
                marks = written.local(warp, lane, warp.local.column(address, size), size)
            except UsageError as e:
                raise CommandError(e.message, e.hint) from None
    return None if marks is None else ~marks


def never_in_any_lane(inferior: Inferior, result: Result) -> bool:
    """Whether a value in memory is one never written, in all lanes that have it."""
    place, size = result.place, max(result.type.size, 1)
    if place is None or place.kind != "memory" or place.addresses is None or result.values.any():
        return False
    lanes = [n for n in range(32) if result.valid[n]]
    for lane in lanes:
        found = never_written(inferior, place.space, int(place.addresses[lane]), size, lane)
        if found is None or not found.all():
            return False
    return bool(lanes)


def not_known(inferior: Inferior, space: str, address: int) -> bool:
    """Whether it is unknown if memory without contents was written.

    Args:
        space, address: as for `never_written`.
    """
    grid = inferior.grid
    space, address = resolve(inferior, space, address)
    if space == "global":
        found = grid.gpu.memory.find(address)
        if found is None or not found.uninitialized:
            return False
        return found.marks is None or grid.engine.written is None
    return space in ("shared", "local") and grid.engine.written is None


def elements_never_written(buffer: Any, most: int) -> npt.NDArray[np.bool_] | None:
    """Which of a buffer's first elements have bytes never written; None where it was
    given contents, or it is not known."""
    allocation, size = buffer.allocation, buffer.dtype.itemsize
    if not allocation.uninitialized or allocation.marks is None:
        return None
    return _unwritten(allocation.marks[: min(most * size, buffer.nbytes)], size)


def buffer_words(buffer: Any) -> str:
    """`never written`, `48 of 64 never written`; nothing where all elements were written or given
    contents."""
    allocation, size = buffer.allocation, buffer.dtype.itemsize
    if not allocation.uninitialized:
        return ""
    if allocation.marks is None:
        return UNKNOWN
    marks, step = allocation.marks[: buffer.nbytes], PIECE // size * size
    pieces = (marks[at : at + step] for at in range(0, len(marks), step))
    count, all_ = sum(int(_unwritten(p, size).sum()) for p in pieces), len(marks) // size
    return WORDS if count == all_ and count else f"{count:,} of {all_:,} {WORDS}" if count else ""


def _unwritten(marks: npt.NDArray[np.uint8], size: int) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = (marks.reshape(-1, size) == 0).any(axis=1)
    return found


def register_number(text: str) -> int | None:
    """The register that an expression is, alone."""
    found = _REGISTER.fullmatch(text.strip())
    return int(found[1]) if found else None


def untouched_registers(inferior: Inferior) -> int:
    """Registers that no instruction has written on any path the focused warp took, as a mask; other
    files from their bits on (`gpudbg.analysis.liveness`)."""
    if inferior.focus is None:
        return 0
    symbols = inferior.symbols
    if symbols not in _WALKS:
        _WALKS[symbols] = of_kernel(symbols.program, symbols.image, symbols.kernel)
    return untouched(symbols, _WALKS[symbols], inferior.focused())


def untouched(symbols: Symbols, walk: Liveness | LocalLiveness | None, warp: WarpState) -> int:
    """`untouched_registers` of a warp, by the walk over its kernel; 0 in a device function."""
    if walk is None or symbols.function(warp.pc) != symbols.function(symbols.base):
        return 0
    places, claimed = [symbols.offset(warp.pc)] if warp.active else [], warp.active | warp.exited
    for _, mask, target in reversed(warp.stack):
        if mask & ~claimed:
            places.append(symbols.offset(int(target)))
        claimed |= mask
    return walk.untouched(places, len(warp.R))


def spans(mask: npt.NDArray[np.bool_]) -> list[list[int]]:
    """[first, last] of each stretch of true elements."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    return [[a, b - 1] for a, b in edges.reshape(-1, 2).tolist()]


def ranges_words(mask: npt.NDArray[np.bool_]) -> str:
    """`never written`, or which bytes: `bytes 4-7 never written`; nothing where all were."""
    if not mask.any():
        return ""
    if mask.all():
        return WORDS
    parts = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans(mask))
    return f"byte{'s' if mask.sum() > 1 else ''} {parts} {WORDS}"
