"""What a run does when a trap cuts an instruction short: enter or leave the handler, or stop."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpudbg.bits import lanes_of
from gpudbg.errors import ModelGap
from gpudbg.regs.global_errors import GlobalEsr
from gpudbg.sm import record as rec
from gpudbg.sm.divergence import step as divergence
from gpudbg.sm.events import StopEvent, WarpFault
from gpudbg.sm.faults import AssertRaised, DeferredRaised, ReturnRaised, TrapRaised, WarpErrorRaised
from gpudbg.sm.syscalls import RETURN_ADDRESS
from gpudbg.sm.trap.state import Cause
from gpudbg.sm.trap.unit import TrapUnit

if TYPE_CHECKING:
    from gpudbg.sm.grid import Grid
    from gpudbg.sm.state import WarpState

IMPRECISE = frozenset(("MMU_FAULT", "OOR_ADDR"))
"""Errors that memory reports, which the option `precision` can make late."""


class TrapFlow:
    """Traps of one grid's run.

    Attributes:
        unit: status words and the handler.
        stop_on_entry: entering the handler ends a run with kind "trap".
    """

    def __init__(self, grid: Grid, unit: TrapUnit) -> None:
        self.unit = unit
        self.stop_on_entry = True
        self._grid = grid

    def following(self, warp: WarpState) -> int:
        """The pc of the instruction after a warp's."""
        return self._grid.code.program.layout.next(warp.pc)

    # ---- errors ------------------------------------------------------------------------

    def is_late(self, warp: WarpState, error: WarpErrorRaised) -> bool:
        """Whether the options make this error an imprecise one."""
        late = self.unit.options.precision == "imprecise" and not warp.in_trap
        return late and error.code in IMPRECISE and error.space == "global"

    def faulted(self, warp: WarpState, error: WarpErrorRaised, fault: WarpFault) -> str | None:
        """Note an error; the text of the handler's entry, or None when the machine must stop."""
        unit = self.unit
        unit.note_error(warp, error, warp.pc)
        if warp.in_trap:
            if unit.options.error_in_trap == "terminate":
                self._issued(warp)
                unit.leave(warp, "TERMINATE", 0)
                return ""
            return None
        if unit.handler is None:
            return None
        self._issued(warp)
        unit.enter(warp, warp.pc, Cause.WARP_ERROR)
        unit.follow(warp)
        return f"{fault.name} at {self._grid.code.describe(fault.pc)}: {fault.detail}"

    # ---- traps -------------------------------------------------------------------------

    def trapped(self, warp: WarpState, trap: TrapRaised, before: int) -> StopEvent | None:
        """Act upon a BPT, an RTT, or the end of a critical section."""
        if isinstance(trap, ReturnRaised):
            return self._returned(warp, trap.mode, before)
        if isinstance(trap, DeferredRaised):
            return self._deferred(warp, before)
        unit = self.unit
        unit.note_bpt(warp, trap.mode, trap.imm)
        if unit.handler is not None and not warp.in_trap and trap.mode in ("TRAP", "CAL"):
            return self._to_handler(warp, trap, before)
        if trap.mode == "PAUSE_QUIET":
            self._issued(warp)
            warp.pc = self.following(warp)
            self._grid.halt(warp, rec.TRAPPED)
            return None
        return self._grid.trap_stop(warp, trap, before)

    def _to_handler(self, warp: WarpState, trap: TrapRaised, before: int) -> StopEvent | None:
        at = warp.pc
        text = f"{trap} at {self._grid.code.describe(at)}"
        if isinstance(trap, AssertRaised):
            # The trap is inside a driver function: the warp continues where that returns.
            goal = self._behind_call(warp, at)
        else:
            goal = self.following(warp)
        self._issued(warp)
        cause = Cause.BPT_CAL if trap.mode == "CAL" else Cause.BPT_TRAP
        self.unit.enter(warp, goal, cause)
        if cause is Cause.BPT_TRAP:
            self.unit.follow(warp)
        self._grid.tell_trap(warp, trap)
        return self.entered(warp, before, text)

    def _behind_call(self, warp: WarpState, at: int) -> int:
        """Where a driver's function that the active lanes are in returns to, as if it had.

        Raises:
            ModelGap: from sm_70 on, lanes that called it from several places.
        """
        if not warp.has_groups:
            return divergence.pop(warp, at, "RET", warp.active)
        low, high = warp.R[RETURN_ADDRESS], warp.R[RETURN_ADDRESS + 1]
        found = {int(low[n]) | int(high[n]) << 32 for n in lanes_of(warp.active)}
        if len(found) > 1:
            raise ModelGap("lanes in the trap handler return from a driver's function apart")
        return found.pop()

    def _deferred(self, warp: WarpState, before: int) -> StopEvent | None:
        """Let IDE.EN take effect, then enter the handler for the cause that waited."""
        self._issued(warp)
        warp.words[rec.FLAGS] &= ~(rec.FLAG_IDE | rec.FLAG_DEFERRED)
        trap = self._grid.sms[warp.sm].trap
        cause = Cause.SINGLE_STEP if trap.stepping else Cause.STOP_REQUEST
        warp.pc = self.following(warp)
        if self.unit.may_enter(warp):
            self.unit.enter(warp, warp.pc, cause)
            return self.entered(warp, before, f"{cause.words}, held back until IDE.EN")
        return None

    def _returned(self, warp: WarpState, mode: str, before: int) -> StopEvent | None:
        try:
            self.unit.leave(warp, mode, self.following(warp))
        except WarpErrorRaised as error:
            return self._grid.fault_stop(warp, error, before)
        self._issued(warp)
        if warp.words[rec.STATUS] == rec.DONE:
            self._grid.warp_done(warp)
        elif mode == "PREEMPTED":
            self._grid.halt(warp, rec.TRAPPED)
            text = "RTT.PREEMPTED: the warp's context is saved; running on restores it"
            return replace(self._grid.event("trap", warp, before, [text]), counted=True)
        return None

    def entered(self, warp: WarpState, before: int, text: str) -> StopEvent | None:
        """The event of an entry, where entries stop the run."""
        if not self.stop_on_entry:
            return None
        event = self._grid.event("trap", warp, before, [f"in the trap handler: {text}"])
        return replace(event, counted=True)

    def _issued(self, warp: WarpState) -> None:
        """Count an instruction that the engine cut short and the trap completes."""
        warp.quads[rec.EXECUTED] += 1
        self._grid.count_issued(warp)

    # ---- single step -------------------------------------------------------------------

    def completed(self, warp: WarpState) -> bool:
        """Single-step mode: an instruction is done; whether the warp now is in the handler."""
        trap = self._grid.sms[warp.sm].trap
        trap.global_esr |= int(GlobalEsr.SINGLE_STEP_COMPLETE)
        if not self.unit.may_enter(warp):
            return False
        self.unit.enter(warp, warp.pc, Cause.SINGLE_STEP)
        self.unit.follow(warp)
        return True
