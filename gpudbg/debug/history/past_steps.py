"""The steps of one warp before the present position, for stepping back by its instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpudbg.dataclass import dataclass
from gpudbg.debug.values.backtrace import call_depth
from gpudbg.sm import record as rec

if TYPE_CHECKING:
    from gpudbg.debug.history.replay import Position, Replay
    from gpudbg.debug.inferior import Inferior
    from gpudbg.sm.state import WarpState

WINDOW: Final = 4096
"""Warp instructions of the launch that are searched first; later searches go further back."""


@dataclass(frozen=True, slots=True)
class PastStep:
    """The state of a warp before one of its instructions.

    Attributes:
        tick: instructions of the launch before it.
        pc: the instruction, a code address.
        depth: calls it is in.
        active: lanes that execute.
    """

    tick: int
    pc: int
    depth: int
    active: int


class WarpPast:
    """See the module text.

    Attributes:
        who: CTA number and index in it.
        lane: whose steps they are.
        whole: what was seen begins with the launch.
    """

    def __init__(self, inferior: Inferior, replay: Replay, warp: WarpState, lane: int) -> None:
        """Args: warp: the focused warp, which stands where the steps back begin."""
        self.who = warp.cta.number, warp.index
        self.lane = lane
        self.whole = False
        self._inferior, self._replay = inferior, replay
        self._seen: list[PastStep] = []
        self._now = self._state(warp, 0)
        self._before: PastStep | None = None

    def scan(self, low: Position, high: Position) -> None:
        """Record the warp's steps between two positions, ahead of those seen so far; the launch
        must stand at `low`.
        """
        self.whole = low <= self._replay.first
        later, self._seen = self._seen, []
        warp = next((w for w in self._replay.grid.warps() if self._is(w)), None)
        self._before = None if warp is None else self._state(warp, 0)
        self._replay.scan(high, self._note)
        self._seen += later

    def _is(self, warp: WarpState) -> bool:
        return (warp.cta.number, warp.index) == self.who

    def _state(self, warp: WarpState, tick: int) -> PastStep:
        return PastStep(tick, warp.pc, call_depth(self._inferior, warp), warp.active)

    def _note(self, warp: WarpState, tick: int) -> None:
        """Observer callback: record a step if it is this warp's."""
        if not self._is(warp):
            return
        before = self._before
        if before is None:
            before = PastStep(tick, self._replay.grid.entry, 0, warp.valid)
        self._seen.append(PastStep(tick - 1, before.pc, before.depth, before.active))
        done = warp.words[rec.STATUS] == rec.DONE
        self._before = before if done else self._state(warp, tick)

    # ---- what is asked -----------------------------------------------------------------
    @property
    def first(self) -> PastStep | None:
        """The warp's earliest scanned step."""
        return self._seen[0] if self._seen else None

    def before_instruction(self, over: bool, count: int) -> PastStep | None:
        """The step before the last `count` instructions; with `over` a call counts as one."""
        at, depth = len(self._seen), self._now.depth
        for _ in range(count):
            at = self._up(at - 1, depth) if over else at - 1
            if at < 0:
                return None
            depth = self._seen[at].depth
        return self._seen[at]

    def before_line(self, over: bool, count: int) -> PastStep | None:
        """The first step of the present source line, or of the line before where the warp stands at
        its first.
        """
        mine = [seen for seen in self._seen if seen.active >> self.lane & 1]
        at, depth = len(mine), self._now.depth
        for _ in range(count):
            last = self._up(at - 1, depth, mine) if over else at - 1
            if last < 0:
                return None
            at, depth = self._line_start(mine, last, over), mine[last].depth
            if not at and not self.whole:
                return None
        return mine[at]

    def _line_start(self, rows: list[PastStep], at: int, over: bool) -> int:
        """The first instruction of the stretch of a line that `rows[at]` is in."""
        line, depth = self._line(rows[at].pc), rows[at].depth
        while at:
            before = self._up(at - 1, depth, rows) if over else at - 1
            if before < 0 or rows[before].depth != depth or self._line(rows[before].pc) != line:
                break
            at = before
        return at

    def before_loop(self) -> PastStep | None:
        """The first step of an earlier source line, skipping loop iterations: a line behind the
        present place in the code is a loop body already passed. Calls are skipped; a caller's line
        counts as earlier wherever its code lies.
        """
        mine = [seen for seen in self._seen if seen.active >> self.lane & 1]
        at, depth, here = len(mine), self._now.depth, self._now.pc
        while at:
            last = self._up(at - 1, depth, mine)
            if last < 0:
                return None
            at = self._line_start(mine, last, over=True)
            if not at and not self.whole:
                return None
            if mine[at].pc < here or mine[at].depth < depth:
                return mine[at]
        return None

    def before_call(self) -> PastStep | None:
        """The step at the call of the warp's present function."""
        found = self._up(len(self._seen) - 1, self._now.depth - 1)
        return self._seen[found] if found >= 0 else None

    def before_inlined(self, chain: tuple[object, ...]) -> PastStep | None:
        """Where the inlined function began that it is in.

        Args:
            chain: its calls, as `Symbols.calls` gives them.
        """
        mine = [seen for seen in self._seen if seen.active >> self.lane & 1]
        at, depth = len(mine), self._now.depth
        while at:
            before = self._up(at - 1, depth, mine)
            calls = self._inferior.symbols.calls(mine[before].pc) if before >= 0 else ()
            if calls[-len(chain) :] != chain:
                break
            at = before
        return mine[at] if at < len(mine) and (at or self.whole) else None

    def at_place(self, pcs: frozenset[int]) -> PastStep | None:
        """The last time it stood at one of some instructions with the lane active."""
        rows = (s for s in reversed(self._seen) if s.pc in pcs and s.active >> self.lane & 1)
        return next(rows, None)

    def _up(self, at: int, depth: int, rows: list[PastStep] | None = None) -> int:
        """Index of the last step up to `at` with call depth at most `depth`; -1: none."""
        seen = self._seen if rows is None else rows
        while at >= 0 and seen[at].depth > depth:
            at -= 1
        return at

    def _line(self, pc: int) -> str:
        """The key of an instruction's source line; without a line table each is its own."""
        return str(self._inferior.symbols.line(pc) or f"0x{pc:x}")
