"""mbarriers as the checks know them: phases, who arrived, who tested, what each phase publishes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass
from gpudbg.sanitizer.clocks import EMPTY, Knowledge, Rows, joined

if TYPE_CHECKING:
    from gpudbg.sanitizer.race_records import AccessRecord
    from gpudbg.sm.asynchronous.events import MbarrierChanged
    from gpudbg.sm.state import Cta

MOST_TX = (1 << 20) - 1
"""Bytes that can be to come (*documented*)."""


def nothing() -> Knowledge:
    """Empty knowledge."""
    return Knowledge(EMPTY)


@dataclass(slots=True)
class MbarrierPhase:
    """The knowledge that a phase publishes to threads that see it complete.

    Attributes:
        near: what threads of its own CTA knew that arrived; `far`: those of other CTAs.
        order: what had happened before it could end, the issue of copies included.
        arrived: arrivals so far.
        arrivals, delivered: how many came from each instruction; bytes that each copy brought.
    """

    near: Knowledge = field(default_factory=nothing)
    far: Knowledge = field(default_factory=nothing)
    order: Rows = field(default_factory=lambda: EMPTY)
    arrived: int = 0
    arrivals: dict[int, int] = field(default_factory=dict)
    delivered: dict[int, int] = field(default_factory=dict)

    def note(self, pc: int, event: MbarrierChanged) -> None:
        """Record who arrived and how many bytes each copy brought, to explain deadlocks."""
        if event.by_copy and event.bytes < 0:
            self.delivered[pc] = self.delivered.get(pc, 0) - event.bytes
        elif event.arrivals:
            self.arrivals[pc] = self.arrivals.get(pc, 0) + event.arrivals


@dataclass(slots=True)
class Mbarrier:
    """One mbarrier from its begin to its end.

    Attributes:
        home, offset: where.
        number: of its copies in clocks: a row says how many phases are over.
        modern: of sm_90 and later; before that it is an ordinary word.
        begun: its begin, where that was seen.
        phase: how many are over; `phases`: of the present one and the last one.
        tests: by warp and lanes, the last test of each phase that found it complete.
        waited: phases whose end somebody has seen.
        word: its word after the last change.
    """

    home: Cta
    offset: int
    number: int
    modern: bool
    begun: AccessRecord | None = None
    phase: int = 0
    phases: dict[int, MbarrierPhase] = field(default_factory=dict)
    tests: dict[tuple[int, int], tuple[int, AccessRecord]] = field(default_factory=dict)
    waited: set[int] = field(default_factory=set)
    word: int = 0

    def present(self) -> MbarrierPhase:
        """The phase in progress."""
        return self.phases.setdefault(self.phase, MbarrierPhase())

    def last(self) -> MbarrierPhase | None:
        """The phase that ended last."""
        return self.phases.get(self.phase - 1)

    def advance(self) -> None:
        """Complete the present phase and begin the next."""
        self.phases.pop(self.phase - 1, None)
        self.phase += 1

    def unsafe_tests(self, group_of: Callable[[int], int]) -> list[AccessRecord]:
        """Tests of the previous phase that are not ordered before the end of the present one.

        Args:
            group_of: the number of a warp's group, of which one warp's test is known with
                another's.
        """
        order = self.present().order
        found, known = [], set()
        for (warp, _), (phase, test) in self.tests.items():
            if phase != self.phase - 1:
                continue
            row = order.get(warp)
            if row is not None and any(
                row[lane] >= test.tick for lane in range(32) if test.lanes >> lane & 1
            ):
                known.add(group_of(warp))
            else:
                found.append((group_of(warp), test))
        return [test for group, test in found if group not in known]


@dataclass(slots=True)
class MbarrierTable:
    """All mbarriers that live, by CTA and offset."""

    _live: dict[int, dict[int, Mbarrier]] = field(default_factory=dict)

    def of(self, home: Cta) -> dict[int, Mbarrier]:
        """The live mbarriers of a CTA, by offset."""
        return self._live.get(home.number, {})

    def find(self, home: Cta, offset: int) -> Mbarrier | None:
        """The mbarrier at an offset; None without one."""
        return self.of(home).get(offset)

    def begin(self, made: Mbarrier) -> None:
        """Enter a new mbarrier."""
        self._live.setdefault(made.home.number, {})[made.offset] = made

    def end(self, home: Cta, offset: int) -> Mbarrier | None:
        """Remove and return the mbarrier at an offset."""
        return self._live.get(home.number, {}).pop(offset, None)

    def drop(self, home: Cta) -> None:
        """Remove the mbarriers of a CTA that has ended."""
        self._live.pop(home.number, None)


def ordered(a: Knowledge) -> Rows:
    """Everything that happened before, whether its effects are visible or not."""
    return joined(a.seen, a.timed)
