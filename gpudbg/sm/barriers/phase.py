"""The present phase of a barrier, and an arrival at one."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from gpudbg.dataclass import dataclass
from gpudbg.mem.lanes import WARP_SIZE

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
        used: whether `slots` exist; they are made on first use.
    """

    __slots__ = ("allocated", "slots", "used")

    slots: list[Barrier]

    def __init__(self, allocated: int) -> None:
        self.allocated = allocated
        self.used = False

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Create `slots` on first access: most CTAs run in compiled code alone and never need
            them.
            """
            if name != "slots":
                raise AttributeError(name)
            self.used = True
            self.slots = [Barrier() for _ in range(BARRIER_COUNT)]
            return self.slots

    def expected(self, number: int, live: int) -> int:
        """Threads the barrier waits for now; `live`: warps that have not exited."""
        count = self.slots[number].count
        return WARP_SIZE * live if count is None else count + -count % WARP_SIZE
