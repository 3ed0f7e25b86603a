"""The schedule of a launch in Python: the warp to run next, and its turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpudbg.sm import record as rec
from gpudbg.sm.schedule.plan import PATIENCE, SchedulePlan
from gpudbg.sm.schedule.turns import LONGER, LONGEST, SETTLED

if TYPE_CHECKING:
    from gpudbg.sm.state import WarpState

DEFAULT_QUANTUM = 64
STAY = 32768
"""Instructions that blocks in one place may have before those in other places get turns: long
enough for the host's caches to pay, short enough that blocks can wait for one another.
"""


class Schedule:
    """The schedule of one launch.

    Attributes:
        seed: 0 for round-robin.
        quantum: instructions of a turn, for warps that have not executed many (`turns.SETTLED`).
        warp, left: the turn in progress.
        position: place in the order behind the warp that had the last turn; 0: none had any.
        polls: in its turn the warp has polled, or had a YIELD (`polling`): the next one of
            whichever block has its turn after it.
        stay: instructions left before the blocks of another place have their turns.
        turns: turns of a planned schedule so far.
        executed: warp instructions of the launch so far, the ticks of a plan.
    """

    __slots__ = (
        "_behind", "_draw", "_plan", "_row", "_switched", "executed", "left", "polls", "position",
        "quantum", "seed", "stay", "turns", "warp",
    )  # fmt: skip

    def __init__(self, seed: int = 0, quantum: int = DEFAULT_QUANTUM) -> None:
        self.seed = seed
        self.quantum = quantum
        self.warp: WarpState | None = None
        self.left = 0
        self.position = 0
        self.stay = 0
        self.polls = False
        self.turns = self.executed = self._row = self._switched = 0
        self._plan = SchedulePlan.of(seed)
        self._behind: dict[tuple[int, int], int] = {}
        self._draw = (seed * 0x9E37_79B9_7F4A_7C15 + 1) & 0xFFFF_FFFF_FFFF_FFFF

    @property
    def turn(self) -> tuple[WarpState | None, int, int, int, bool]:
        """The turn in progress and the position in the order, for saving and restoring."""
        return self.warp, self.left, self.position, self.stay, self.polls

    @turn.setter
    def turn(self, kept: tuple[WarpState | None, int, int, int, bool]) -> None:
        self.warp, self.left, self.position, self.stay, self.polls = kept

    def following(self, ring: Sequence[WarpState]) -> tuple[Any, ...]:
        """What decides who runs next and after that, whether or not that turn has begun: the warp's
        SM and slot, instructions of its turn, the place in the order, the number that warps are
        drawn from, and how far a plan is.  Nothing changes."""
        kept, draw = self.turn, self._draw
        planned = self.turns, self._row, self._switched, self._behind
        self._behind = dict(self._behind)
        try:
            warp = self.next(ring)
            place = None if warp is None else (warp.sm, warp.slot, self.left)
            # For a plan only the order in which warps fell behind counts, not the turn.
            behind = sorted(self._behind, key=self._behind.__getitem__)
            plan = self._switched, self._row, tuple(behind)
            return place, self.position, self.stay, self.polls, self._draw, plan
        finally:
            self.turn, self._draw = kept, draw
            self.turns, self._row, self._switched, self._behind = planned

    def next(self, ring: Sequence[WarpState]) -> WarpState | None:
        """The warp to run, for up to `left` instructions; None when none is ready.

        Args:
            ring: resident warps by (SM, slot).
        """
        warp = self.warp
        ready = warp is not None and self.left > 0 and warp.words[rec.STATUS] == rec.READY
        if ready and not self._due():
            return warp
        if self._plan is not None:
            return self._planned(ring, self._plan)
        if self.seed:
            return self._drawn(ring)
        return (
            self._stayed(ring) if self.stay > 0 and ring and not self.polls else self._moved(ring)
        )

    def _stayed(self, ring: Sequence[WarpState]) -> WarpState | None:
        """The next ready warp of the block in the place that had the last turn."""
        last = (self.position - 1) % len(ring)
        block = ring[last].cta.warps
        index = ring[last].index
        for n in range(1, len(block) + 1):
            warp = block[(index + n) % len(block)]
            if warp.words[rec.STATUS] == rec.READY:
                return self._take(warp, last - index + warp.index)
        return self._moved(ring)

    def _moved(self, ring: Sequence[WarpState]) -> WarpState | None:
        """The next ready warp of the following blocks, of this one last."""
        if not ring:
            return None
        count = len(ring)
        start = 0
        if self.position:
            last = (self.position - 1) % count
            start = last - ring[last].index + len(ring[last].cta.warps)
            if self.polls:
                start = last + 1
        for n in range(count):
            place = (start + n) % count
            if ring[place].words[rec.STATUS] == rec.READY:
                self.stay = STAY
                return self._take(ring[place], place)
        return None

    def _take(self, warp: WarpState, place: int) -> WarpState:
        self.position = place + 1
        self.warp, self.left = warp, self.turn_of(warp)
        self.polls = False
        return warp

    @property
    def between(self) -> bool:
        """Whether a turn has just ended, or the next has begun and executed nothing."""
        warp = self.warp
        if warp is None or self.left <= 0 or warp.words[rec.STATUS] != rec.READY:
            return True
        return self.left == self.turn_of(warp)

    def turn_of(self, warp: WarpState) -> int:
        """Instructions of a turn that a warp begins now."""
        return self.quantum * (LONGER if warp.executed >= SETTLED else 1)

    @property
    def longest_turn(self) -> int:
        """Most instructions of a turn."""
        return self.quantum * LONGER + LONGEST

    def spend(self, warp: WarpState, count: int) -> None:
        """`warp` has executed `count` instructions; they are taken off its turn."""
        self.executed += count
        if warp is self.warp:
            self.left -= count
            self.stay -= count

    @property
    def room(self) -> int | None:
        """Instructions to the next switch of a plan; None: there is none."""
        if self._plan is None or self._switched == len(self._plan.switches):
            return None
        return max(self._plan.switches[self._switched] - self.executed, 1)

    def _due(self) -> bool:
        """Whether a plan has a switch here."""
        if self._plan is None or self._switched == len(self._plan.switches):
            return False
        return self.executed >= self._plan.switches[self._switched]

    def settle(self, over: bool, polls: bool = False) -> None:
        """Record whether the turn in progress is over, after its instructions were spent.

        With `polls`, once in the turn, its warp may wait for a warp of another block: the next
        one has its turn after it.

        It lasts to the next turn point (`schedule.turns`), so its count may be used up before.
        """
        self.left = 0 if over else max(self.left, 1)
        self.polls |= polls

    def _planned(self, ring: Sequence[WarpState], plan: SchedulePlan) -> WarpState | None:
        """The ready warp of the highest priority, after the switches that are due."""
        ready = [warp for warp in ring if warp.words[rec.STATUS] == rec.READY]
        if not ready:
            return None
        self.turns += 1
        last = self.warp
        switched = self._due()
        while self._due():
            self._switched += 1
        if last is not None and (switched or self.polls or self._row >= PATIENCE):
            self._behind[last.cta.number, last.index] = self.turns
        self.warp = min(ready, key=self._rank)
        self._row = self._row + 1 if self.warp is last else 0
        self.left, self.polls = 1, False
        return self.warp

    def _rank(self, warp: WarpState) -> tuple[int, int, int, int]:
        """Sort key: warps that fell behind last come last, else by the plan's order."""
        assert self._plan is not None
        key = warp.cta.number, warp.index
        place = 0
        if self._plan.order:
            place = (key[0] * 64 + key[1] + 1) * 0x9E37_79B9_7F4A_7C15 * (2 * self._plan.order + 1)
            place = (place & 0xFFFF_FFFF_FFFF_FFFF) >> 24
        return self._behind.get(key, 0), place, *key

    def _drawn(self, ring: Sequence[WarpState]) -> WarpState | None:
        ready = [warp for warp in ring if warp.words[rec.STATUS] == rec.READY]
        if not ready:
            return None
        # A 64-bit linear congruential generator (Knuth's MMIX); the high bits are the good ones.
        self._draw = (
            self._draw * 6364136223846793005 + 1442695040888963407
        ) & 0xFFFF_FFFF_FFFF_FFFF
        high = self._draw >> 32
        self.polls = False
        self.warp = ready[high % len(ready)]
        self.left = 1 + (high >> 8) % self.quantum
        return self.warp
