"""Memory that was given no contents and that nobody has written: how every view asks for it.

What a view says of it is `WORDS`, as it says of registers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from gpudbg.analysis.liveness import of_kernel
from gpudbg.debug.values.access import resolve
from gpudbg.errors import CommandError, UsageError

if TYPE_CHECKING:
    from gpudbg.analysis.liveness import Liveness
    from gpudbg.analysis.nearby import Nearby
    from gpudbg.debug.session import DebugSession
    from gpudbg.debug.symbols import Symbols
    from gpudbg.sm.state import WarpState

WORDS: Final = "never written"
_REGISTER = re.compile(r"\$?R(\d+)", re.IGNORECASE)
_WALKS: WeakKeyDictionary[Symbols, Liveness | Nearby | None] = WeakKeyDictionary()


def never_written(
    session: DebugSession, space: str, address: int, size: int
) -> npt.NDArray[np.bool_] | None:
    """Which bytes, as the focused lane sees them, nobody has given a value.

    Args:
        space, address: as for `DebugSession.read_focused`.
        size: bytes; they can be read.

    Returns:
        An element for each byte; None where all were given contents when the launch was made, or
        where it is not known, since compiled code ran.
    """
    grid = session.grid
    written, focus = grid.engine.written, session.focus
    space, address = resolve(session, space, address)
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
                marks = written.local(warp, focus.lane, warp.local.column(address, size), size)
            except UsageError as e:
                raise CommandError(e.message, e.hint) from None
    return None if marks is None else ~marks


def register_number(text: str) -> int | None:
    """The register that an expression is, alone."""
    found = _REGISTER.fullmatch(text.strip())
    return int(found[1]) if found else None


def untouched_registers(session: DebugSession) -> int:
    """Registers that no instruction has written on the focused warp's ways, as a mask."""
    if session.focus is None:
        return 0
    symbols = session.symbols
    if symbols not in _WALKS:
        _WALKS[symbols] = of_kernel(symbols)
    return untouched(symbols, _WALKS[symbols], session.warp().state)


def untouched(symbols: Symbols, walk: Liveness | Nearby | None, warp: WarpState) -> int:
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
