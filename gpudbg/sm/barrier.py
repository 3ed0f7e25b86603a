"""CTA barriers: 16 per CTA, each waiting for threads to arrive.

A warp arrives as a whole and counts 32 threads (*documented*: counts are multiples of the warp
size); lanes that have exited do not lower a warp's share, warps that have exited lower the total
of a barrier without an explicit count.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import ref

from gpudbg.mem.lanes import FULL, WARP_SIZE
from gpudbg.sm import record as rec
from gpudbg.sm.faults import WarpErrorRaised
from gpudbg.sm.state import Cta, WarpState

BARRIER_COUNT = 16


@dataclass(slots=True)
class Barrier:
    """One barrier's present phase.

    Attributes:
        arrived: threads that have arrived.
        count: threads it waits for; None means all live ones.
        waiting: warps that wait, index -> reduction ("" for BAR.SYNC).
        total, all_true, any_true: what BAR.RED has seen.
    """

    arrived: int = 0
    count: int | None = None
    waiting: dict[int, str] = field(default_factory=dict)
    total: int = 0
    all_true: bool = True
    any_true: bool = False


@dataclass(frozen=True, slots=True)
class Arrival:
    """A BAR instruction of one warp: mode SYNC ARV RED, operands, predicate by lane."""

    mode: str
    barrier: int
    count: int | None
    reduce: str
    lanes: int
    pred: int


class Barriers:
    """The barriers of one CTA.

    Attributes:
        slots: present phases, by barrier number.
        allocated: barriers the kernel asked for; using another is an error.
        used: whether `slots` exist; they are made when somebody first asks for them.
    """

    __slots__ = ("_owner", "allocated", "slots", "used")

    slots: list[Barrier]

    def __init__(self, cta: Cta, allocated: int) -> None:
        # A CTA has its barriers: the other way round is no reason to keep it.
        self._owner = ref(cta)
        self.allocated = allocated
        self.used = False

    @property
    def _cta(self) -> Cta:
        found = self._owner()
        assert found is not None
        return found

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """`slots`: most CTAs come and go in compiled code, and nobody looks at theirs."""
            if name != "slots":
                raise AttributeError(name)
            self.used = True
            self.slots = [Barrier() for _ in range(BARRIER_COUNT)]
            return self.slots

    def arrive(self, warp: WarpState, arrival: Arrival) -> list[WarpState]:
        """The warp arrives; unless the mode is ARV it waits for the rest.

        Returns:
            The warps that this arrival released.

        Raises:
            WarpErrorRaised: ILLEGAL_INSTR_PARAM2 for a barrier that is not allocated.
        """
        number = arrival.barrier
        if number >= self.allocated:
            text = f"barrier {number} is not one of the kernel's {self.allocated}"
            raise WarpErrorRaised("ILLEGAL_INSTR_PARAM2", arrival.lanes, text)
        slot = self.slots[number]
        slot.arrived += WARP_SIZE
        if arrival.count is not None:
            slot.count = arrival.count
        if arrival.mode == "RED":
            voted = arrival.pred & arrival.lanes
            slot.total += voted.bit_count()
            slot.all_true = slot.all_true and voted == arrival.lanes
            slot.any_true = slot.any_true or voted != 0
        if arrival.mode != "ARV":
            slot.waiting[warp.index] = arrival.reduce
            warp.words[rec.STATUS] = rec.AT_BARRIER
            warp.words[rec.BAR_WAIT] = number
        return self._settle(number)

    def warp_exited(self) -> list[WarpState]:
        """A warp of the CTA has exited: barriers for all threads may be complete now."""
        released: list[WarpState] = []
        for number, slot in enumerate(self.slots if self.used else ()):
            if slot.arrived and slot.count is None:
                released += self._settle(number)
        return released

    def expected(self, number: int) -> int:
        """Threads the barrier waits for in its present phase."""
        count = self.slots[number].count
        if count is None:
            return WARP_SIZE * len(self._cta.live)
        return count + -count % WARP_SIZE

    def describe(self) -> list[str]:
        """A line for each barrier that holds threads: "barrier 1 holds 32 of 64"."""
        return [
            f"barrier {n} holds {slot.arrived} of {self.expected(n)}"
            for n, slot in enumerate(self.slots)
            if slot.arrived
        ]

    def _settle(self, number: int) -> list[WarpState]:
        """Release the barrier if enough threads have arrived."""
        slot = self.slots[number]
        if slot.arrived < self.expected(number):
            return []
        released = []
        for index, reduce in slot.waiting.items():
            warp = self._cta.warps[index]
            if not warp.words[rec.FLAGS] & rec.FLAG_TRAP:
                # A warp taken off the barrier by its trap handler goes on when that returns.
                warp.words[rec.STATUS] = rec.READY
            if reduce:
                truth = slot.all_true if reduce == "AND" else slot.any_true
                warp.words[rec.BAR_COUNT] = slot.total
                warp.words[rec.BAR_PRED] = FULL if truth else 0
            released.append(warp)
        self.slots[number] = Barrier()
        return released
