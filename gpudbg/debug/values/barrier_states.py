"""What a barrier of a block waits for, who has come to it, and where the others are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass
from gpudbg.sm.sregs import WARP_SIZE

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.sm.state import Cta, WarpState


@dataclass(frozen=True, slots=True)
class Absent:
    """A warp that has not come to a barrier.

    Attributes:
        slot: on its SM.
        barrier: another one that it waits at, or None.
        begun: whether it has executed anything.
        pc: where it stands, a code address.
    """

    slot: int
    barrier: int | None
    begun: bool
    pc: int


@dataclass(frozen=True, slots=True)
class BarrierState:
    """A barrier of a block.

    Attributes:
        number, block: which.
        arrived, expected: threads that have come, and that it waits for.
        counted: whether an instruction named `expected`; else it waits for all live threads.
        there: slots of the warps that wait at it.
        gone_on: threads that came and went on (BAR.ARV).
        absent: the block's other warps.
    """

    number: int
    block: tuple[int, int, int]
    arrived: int
    expected: int
    counted: bool
    there: tuple[int, ...]
    gone_on: int
    absent: tuple[Absent, ...]


def barriers(inferior: Inferior) -> tuple[BarrierState, ...]:
    """Every barrier that the focused warp's block has, by number."""
    cta = inferior.focused().cta
    return tuple(_state(cta, number) for number in range(cta.barriers.allocated))


def waited_for(inferior: Inferior, sm: int, slot: int) -> BarrierState | None:
    """The barrier that a warp waits at."""
    warp = inferior.grid.warp(sm, slot)
    return None if warp.barrier is None else _state(warp.cta, warp.barrier)


def _threads_at(warp: WarpState, number: int) -> int:
    """Threads of a warp that wait at a barrier; a warp with a divergence stack counts as whole."""
    if warp.has_groups:
        return warp.shown_groups.at_barrier(number).bit_count()
    return WARP_SIZE if warp.index in warp.cta.barriers.slots[number].waiting else 0


def _state(cta: Cta, number: int) -> BarrierState:
    slot = cta.barriers.slots[number]
    there = [w for w in cta.live if _threads_at(w, number)]
    absent = [w for w in cta.live if w not in there]
    return BarrierState(
        number=number,
        block=cta.block,
        arrived=slot.arrived,
        expected=cta.expected(number),
        counted=slot.count is not None,
        there=tuple(w.slot for w in there),
        gone_on=max(slot.arrived - sum(_threads_at(w, number) for w in there), 0),
        absent=tuple(Absent(w.slot, w.barrier, bool(w.executed), w.pc) for w in absent),
    )
