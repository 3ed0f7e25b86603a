"""Livelocks: shows, in the middle of a run, that the whole launch comes to a state it was in.

Warps that change memory for each other are no hang that `hanging` could prove.  But a launch is
deterministic: once its whole state comes back (registers, memory, barriers, who runs next) it goes
round for ever.  Now and then a run is followed for some turns: a state is kept as the anchor, what
a turn leaves is compared with it, at first the one warp's record alone, then everything.  Counters
that grow for ever never come back: such a launch is not found.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from gpudbg.answers.words import dim
from gpudbg.debug.stops.hanging import hang_of, others_act
from gpudbg.debug.stops.stop import LIVELOCK
from gpudbg.isa.sreg_reads import registers_read
from gpudbg.sm.sregs import LASTING
from gpudbg.sm.state_hash import lasting_parts, warp_header

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.sm.state import WarpState

FROM_TIMES: Final = 3
"""How many looks for a hang there were before a launch is followed."""
MOST_TURNS: Final = 640
"""Turns that are followed at a look: one costs some 0.2 ms, since compiled code is left for it."""
MOST_BYTES: Final = 64 << 20
"""Device memory with which a launch is followed: comparing more takes too long."""
MOST_COMPARED: Final = 8
"""Whole states compared in one following."""
MOST_LINES: Final = 6


class HangSearch:
    """Looks for hangs and livelocks of one run, as `sm.grid.HangCheck`."""

    def __init__(self, inferior: Inferior) -> None:
        self._inferior = inferior
        self._round: _Round | None = None

    def __call__(self, times: int) -> tuple[WarpState, tuple[str, ...]] | None:
        """A warp of a launch that nothing can end and what is to be said of it, or None."""
        if self._round is not None:
            found = self._round.turn()
            if self._round.over or found is not None:
                self._round = None
            else:
                self._inferior.grid.follow()
            return found
        found = hang_of(self._inferior, times)
        if found is None and times >= FROM_TIMES and _can_be_followed(self._inferior):
            self._round = _Round(self._inferior)
            self._inferior.grid.follow()
        return found


def _can_be_followed(inferior: Inferior) -> bool:
    """Whether what a launch does follows from its state alone, which is not too large."""
    grid = inferior.grid
    if others_act(inferior) or (grid.gpu.jobs != 1 and grid.config.ctas > 1):
        return False
    if any(w.in_trap or w.status == "trap" for w in grid.warps()):
        return False
    code = grid.launched.code
    if not registers_read(code.code, code.program.arch) <= LASTING:
        return False
    return sum(a.size for a in grid.gpu.memory.allocations()) <= MOST_BYTES


class _Round:
    """One state as the anchor, and the turns since.

    Attributes:
        over: it was followed long enough.
    """

    def __init__(self, inferior: Inferior) -> None:
        self._inferior = inferior
        grid = inferior.grid
        self._begin, self._done = grid.total, grid.ctas_done
        self._cheap = self._key(self._next())
        self._whole = self._state()
        self._places: dict[int, set[tuple[int, int]]] = {}
        self._turns = self._compared = 0
        self.over = False

    def turn(self) -> tuple[WarpState, tuple[str, ...]] | None:
        """A turn has ended: a warp and the lines of a livelock, where the anchor has come back."""
        grid = self._inferior.grid
        self._turns += 1
        warp = self._next()
        if warp is not None:
            self._places.setdefault(warp.pc, set()).add((warp.sm, warp.slot))
        self.over = self._turns >= MOST_TURNS or grid.ctas_done != self._done
        if self._key(warp) != self._cheap:
            return None
        if self._state() != self._whole:
            self._compared += 1
            self.over |= self._compared >= MOST_COMPARED
            return None
        found = warp or next(iter(grid.warps()), None)
        return None if found is None else (found, tuple(self._lines()))

    def _next(self) -> WarpState | None:
        """The warp that has the next turn."""
        grid = self._inferior.grid
        ring = list(grid.warps())
        place = grid.schedule.following(ring)[0]
        return next((w for w in ring if place is not None and (w.sm, w.slot) == place[:2]), None)

    def _key(self, warp: WarpState | None) -> tuple[object, ...]:
        """A part of the state that is cheap to read."""
        schedule = self._inferior.grid.schedule
        header = None if warp is None else warp_header(warp)
        return schedule.position, schedule.stay, schedule.polls, header

    def _state(self) -> bytes:
        """A digest of everything that decides how the launch goes on."""
        digest = blake2b(digest_size=32)
        for name, content in lasting_parts(self._inferior.grid):
            data: Any = content if isinstance(content, bytes | memoryview) else repr(content)
            data = data.encode() if isinstance(data, str) else data
            digest.update(f"{name} {len(data)}\n".encode())
            digest.update(data)
        return digest.digest()

    def _lines(self) -> Iterator[str]:
        grid, symbols = self._inferior.grid, self._inferior.symbols
        many = grid.total - self._begin
        yield (
            f"{LIVELOCK} the whole launch is in the state of {many:,} instructions before: it goes "
            "round for ever"
        )
        at: dict[str, set[tuple[int, int]]] = {}
        for pc, who in self._places.items():
            at.setdefault(symbols.describe_line(symbols.layout.first(pc)), set()).update(who)
        blocks = {(w.sm, w.slot): dim(w.cta.block) for w in grid.warps()}
        for place, who in list(at.items())[:MOST_LINES]:
            slots = ", ".join(f"{slot} of block {blocks.get((sm, slot), '?')}" for sm, slot in
                              sorted(who)[:4])  # fmt: skip
            more = f" and {len(who) - 4} more" if len(who) > 4 else ""
            yield f"  loops   warp{'s' * (len(who) > 1)} {slots}{more} at {place}"
        if len(at) > MOST_LINES:
            yield f"  loops   … {len(at) - MOST_LINES} more places"
