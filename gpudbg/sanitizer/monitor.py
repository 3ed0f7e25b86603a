"""The machine's events as executed instructions, each with the accesses it made.

A check is notified of an instruction once it has taken effect, so that memory holds what was
stored.  Barriers and ends of warps are reported in order with the instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from gpudbg.bits import lanes_of
from gpudbg.dataclass import dataclass
from gpudbg.mem.lanes import pack
from gpudbg.mem.windows import RANK_SHIFT, WINDOW_BYTES
from gpudbg.sm.observer import Observer

if TYPE_CHECKING:
    from gpudbg.mem.faults import MemoryFault
    from gpudbg.mem.windows import AddressLayout
    from gpudbg.sm.asynchronous.events import AsyncEvent
    from gpudbg.sm.barriers.phase import Arrival
    from gpudbg.sm.events import WarpFault
    from gpudbg.sm.state import Cta, WarpState


@dataclass(slots=True)
class Touch:
    """One access of a warp instruction to one space.

    Attributes:
        space, kind, size: global, shared or local; load, store or atomic; bytes a lane.
        lanes: mask of the lanes that access.
        addresses: uint64 by lane; offsets in shared and local memory.
    """

    space: str
    kind: str
    size: int
    lanes: int
    addresses: npt.NDArray[np.uint64]

    def by_lane(self) -> list[tuple[int, int]]:
        """(lane, address) of the lanes that access."""
        given = self.addresses.tolist()
        return [(lane, given[lane]) for lane in lanes_of(self.lanes)]


@dataclass(slots=True)
class ExecutedInstruction:
    """A warp instruction that has taken effect.

    Attributes:
        warp, pc, insn: which.
        active: mask of the lanes that were active, `lanes` of those whose guard held.
        touches: its accesses; of copies of ranges, which are reported as events, none.
        events: what it did beside the threads.
    """

    warp: WarpState
    pc: int
    insn: Any
    active: int
    lanes: int
    touches: list[Touch] = field(default_factory=list)
    events: list[AsyncEvent] = field(default_factory=list)


class RunCheck:
    """Base of checks: the hooks by which they are notified of the machine."""

    def before(self, warp: WarpState, pc: int, insn: Any, lanes: int) -> None:
        """An instruction is about to execute: registers hold its operands."""

    def executed(self, step: ExecutedInstruction) -> None:
        """An instruction has taken effect."""

    def refused(
        self, step: ExecutedInstruction, fault: MemoryFault, access: str, size: int
    ) -> None:
        """Called when lanes of an access were skipped because it faults."""

    def barrier(
        self, step: ExecutedInstruction, arrival: Arrival, released: Sequence[WarpState]
    ) -> None:
        """A BAR has taken effect."""

    def warp_begin(self, warp: WarpState) -> None:
        """A warp has been set up."""

    def warp_end(self, warp: WarpState) -> None:
        """The last lane of a warp has ended."""

    def cta_begin(self, cta: Cta) -> None:
        """A CTA has become resident."""

    def cta_end(self, cta: Cta) -> None:
        """The last warp of a CTA has ended."""


EVENT_OPS: Final = frozenset(
    (
        "SYNCS", "ARRIVES", "UBLKCP", "UBLKRED", "UTMALDG", "UTMASTG", "UTMAREDG", "STAS", "REDAS",
        "UGETNEXTWORKID",
    )
)  # fmt: skip
"""Instructions whose accesses are reported as events, not lane by lane."""


class RefusedMonitor(Observer):
    """Tells checks of refused accesses alone: what lets compiled code run."""

    looks_only = True

    def __init__(self, checks: Sequence[RunCheck], decoded: Callable[[int], Any]) -> None:
        """Args: decoded: the instruction at a pc."""
        self._checks, self._decoded = tuple(checks), decoded

    def refused(self, warp: WarpState, fault: MemoryFault, access: str, size: int) -> None:
        pc = warp.pc
        step = ExecutedInstruction(warp, pc, self._decoded(pc), warp.active, fault.lanes)
        for check in self._checks:
            check.refused(step, fault, access, size)

    def finish(self) -> None:
        """End of the run: nothing is buffered here."""


def _hooks(checks: Sequence[RunCheck], name: str) -> tuple[Any, ...]:
    """The checks' overridden methods of a name."""
    base = getattr(RunCheck, name)
    return tuple(getattr(c, name) for c in checks if getattr(type(c), name) is not base)


class Monitor(Observer):
    """Groups the machine's events by instruction and hands them to the checks."""

    looks_only = True

    def __init__(self, checks: Sequence[RunCheck], layout: AddressLayout) -> None:
        """Args: layout: where shared memory is in generic addresses."""
        self._layout = layout
        self._step: ExecutedInstruction | None = None
        self._before = _hooks(checks, "before")
        self._executed = _hooks(checks, "executed")
        self._checks = tuple(checks)

    # ---- instructions and their accesses ------------------------------------------------
    def instruction(self, warp: WarpState, pc: int, instruction: Any, lanes: int) -> None:
        self.finish()
        for hook in self._before:
            hook(warp, pc, instruction, lanes)
        self._step = ExecutedInstruction(warp, pc, instruction, warp.active, lanes)

    def access(
        self, warp: WarpState, space: str, kind: str, address: Any, lanes: int, size: int
    ) -> None:
        step = self._step
        if step is None or not lanes or step.insn.op in EVENT_OPS:
            return
        where = np.broadcast_to(np.asarray(address), 32).astype(np.uint64)
        if space != "generic":
            step.touches.append(Touch(space, kind, size, lanes, where))
            return
        # Loads and stores come by space; generic atomics do not.
        into = where - np.uint64(self._layout.shared_window)
        shared = pack(into < self._layout.shared_bytes) & lanes
        own = shared & pack(into >> np.uint64(RANK_SHIFT) == warp.cta.rank)
        if own:
            offsets = into & np.uint64(WINDOW_BYTES - 1)
            step.touches.append(Touch("shared", kind, size, own, offsets))
        if shared & ~own:
            step.touches.append(Touch("cluster", kind, size, shared & ~own, into))
        if lanes & ~shared:
            step.touches.append(Touch("global", kind, size, lanes & ~shared, where))

    def refused(self, warp: WarpState, fault: MemoryFault, access: str, size: int) -> None:
        step = self._step
        if step is None:
            return
        # The access is repeated without the guilty lanes.
        step.touches.clear()
        step.events.clear()
        for check in self._checks:
            check.refused(step, fault, access, size)

    def asynchronous(self, warp: WarpState, event: AsyncEvent) -> None:
        if self._step is not None:
            self._step.events.append(event)

    def finish(self) -> None:
        """End of the run: hand over the last instruction."""
        step, self._step = self._step, None
        if step is not None:
            for hook in self._executed:
                hook(step)

    # ---- what is around them ---------------------------------------------------------------
    def barrier(self, warp: WarpState, arrival: Arrival, released: list[WarpState]) -> None:
        step = self._step
        self.finish()
        if step is not None:
            for check in self._checks:
                check.barrier(step, arrival, released)

    def fault(self, warp: WarpState, fault: WarpFault) -> None:
        # The instruction was abandoned without effect.
        self._step = None

    def warp_begin(self, warp: WarpState) -> None:
        for check in self._checks:
            check.warp_begin(warp)

    def warp_end(self, warp: WarpState) -> None:
        self.finish()
        for check in self._checks:
            check.warp_end(warp)

    def cta_begin(self, cta: Cta) -> None:
        for check in self._checks:
            check.cta_begin(cta)

    def cta_end(self, cta: Cta) -> None:
        self.finish()
        for check in self._checks:
            check.cta_end(cta)
