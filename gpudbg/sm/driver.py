"""How a driver suspends, steps, resumes and clears an SM through the debugger port.

The order of operations is nvgpu's (branch l4t-r28.2, *documented*): debug mode on with both
stop-on-any bits off; STOP_TRIGGER, then polling for LOCKED_DOWN; and to resume, the pause mask
cleared, exception forwarding on, STOP_TRIGGER taken back in a write of its own, RUN_TRIGGER.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.errors import UsageError
from gpudbg.regs.global_errors import IGNORED_FOR_LOCKDOWN
from gpudbg.regs.port import DbgrControl0, DbgrStatus0, TpcException
from gpudbg.sm.port import DebugPort, valid_mask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpudbg.sm.grid import Grid
    from gpudbg.sm.port import LoggedAccess
    from gpudbg.sm.state import WarpState

STOP = int(DbgrControl0.STOP_TRIGGER)
RUN = int(DbgrControl0.RUN_TRIGGER)
STEP = int(DbgrControl0.SINGLE_STEP_MODE)
DEBUG = int(DbgrControl0.DEBUGGER_MODE)
LOCKED_DOWN = int(DbgrStatus0.LOCKED_DOWN)
IN_TRAP_MODE = int(DbgrStatus0.SM_IN_TRAP_MODE)
FORWARDED = int(TpcException.SM)
SERIOUS = ~int(IGNORED_FOR_LOCKDOWN)


class SmDriver:
    """Drives the SMs of one grid.

    Attributes:
        port: the registers.
        grid: the launch.
        hold_step: single-step mode stays on when the machine runs freely (`trap step on`).
    """

    def __init__(self, grid: Grid, before: Sequence[LoggedAccess] = ()) -> None:
        """Args: before: what a driver has done already, which has left the SMs as they are."""
        self.port = DebugPort(grid, before)
        self.hold_step = False
        self.grid = grid
        self._stepping: set[int] = set()
        if before:
            return
        self.port.broadcast("DBGR_CONTROL0", DEBUG)
        self.freeze()

    def freeze(self) -> None:
        """Freeze every SM: the machine has stopped."""
        for sm in self.grid.sms:
            sm.trap.frozen = True

    def adopt(self) -> None:
        """Accept the SMs' state as it is: they are in another state than this driver left them
        in.
        """
        self._stepping.clear()
        for sm in self.grid.sms if not self.hold_step else ():
            sm.trap.control &= ~STEP

    def stands_after_step(self) -> None:
        """The SMs stand as they did after a step: `resume` leaves single-step mode, as it would
        have done there."""
        if not self.hold_step:
            self._stepping = {sm.index for sm in self.grid.sms if sm.trap.control & STEP}

    # ---- sequences ---------------------------------------------------------------------

    def suspend(self) -> bool:
        """Ask every SM to stop and wait for it; whether all are locked down.

        Raises:
            UsageError: debug mode is off.
        """
        port = self.port
        control = port.read(0, "DBGR_CONTROL0")
        if not control & DEBUG:
            raise UsageError("SM 0 is not in debug mode", "set DBGR_CONTROL0 bit 0 first")
        busy = self._busy()
        for sm in busy:
            port.write(sm, "DBGR_CONTROL0", port.read(sm, "DBGR_CONTROL0") | STOP)
        return all([self.locked(sm) for sm in busy])

    def locked(self, sm: int) -> bool:
        """Poll one SM: locked down, or nothing pending that needs it."""
        if self.port.read(sm, "DBGR_STATUS0") & LOCKED_DOWN:
            return True
        serious = self.port.read(sm, "HWW_GLOBAL_ESR") & SERIOUS
        return not serious and not self.port.read(sm, "HWW_WARP_ESR")

    def fully_stopped(self) -> bool:
        """Every SM with warps is in trap mode and all its warps pause."""
        for sm in self._busy():
            port = self.port
            if not port.read(sm, "DBGR_STATUS0") & IN_TRAP_MODE:
                return False
            for half in ("LO", "HI"):
                valid = port.read(sm, f"WARP_VALID_MASK_{half}")
                if port.read(sm, f"BPT_PAUSE_MASK_{half}") != valid:
                    return False
        return True

    def clear(self, sm: int) -> None:
        """Clear what is pending: the global word is written back, the warp word set to 0."""
        pending = self.port.read(sm, "HWW_GLOBAL_ESR")
        if pending:
            self.port.write(sm, "HWW_GLOBAL_ESR", pending)
        if self.port.read(sm, "HWW_WARP_ESR"):
            self.port.write(sm, "HWW_WARP_ESR", 0)

    def resume(self) -> None:
        """Let every SM run; single-step mode is left unless it is held."""
        port, busy = self.port, self._busy()
        for number in busy:
            self.clear(number)
        port.broadcast("BPT_PAUSE_MASK_LO", 0)
        port.broadcast("BPT_PAUSE_MASK_HI", 0)
        port.broadcast("TPC_EXCEPTION_EN", FORWARDED)
        if not self.hold_step:
            for number in sorted(self._stepping):
                control = port.read(number, "DBGR_CONTROL0")
                port.write(number, "DBGR_CONTROL0", control & ~STEP)
            self._stepping.clear()
        for sm in self.grid.sms:
            if sm.trap.control & STOP:
                port.write(sm.index, "DBGR_CONTROL0", sm.trap.control & ~STOP)
        # The words of the SMs may differ, so RUN_TRIGGER goes to each that has warps.
        for number in busy:
            control = self.grid.sms[number].trap.control
            port.write(number, "DBGR_CONTROL0", control | RUN)
        for sm in self.grid.sms:
            sm.trap.frozen = False

    def resume_step(self, warp: WarpState) -> None:
        """Let one warp execute one instruction: single-step mode on, all others stay paused."""
        port, trap, sm = self.port, self.grid.sms[warp.sm].trap, warp.sm
        if trap.global_esr or trap.warp_esr:
            self.clear(sm)
        control = port.read(sm, "DBGR_CONTROL0")
        if not control & STEP:
            control |= STEP
            port.write(sm, "DBGR_CONTROL0", control)
            self._stepping.add(sm)
        others = valid_mask(self.grid.sms[sm]) & ~(1 << warp.slot)
        port.write(sm, "BPT_PAUSE_MASK_LO", others & 0xFFFF_FFFF)
        port.write(sm, "BPT_PAUSE_MASK_HI", others >> 32)
        if control & STOP:
            control &= ~STOP
            port.write(sm, "DBGR_CONTROL0", control)
        port.write(sm, "DBGR_CONTROL0", control | RUN)

    def request_stop(self, sm: int) -> None:
        """Stop an SM that runs, so that its warps learn of it: the handler is entered."""
        port = self.port
        control = port.read(sm, "DBGR_CONTROL0") & ~STOP
        port.write(sm, "DBGR_CONTROL0", control | RUN)
        port.write(sm, "DBGR_CONTROL0", control | STOP)
        self.locked(sm)

    def set_step_mode(self, on: bool) -> None:
        """Single-step mode of every SM, kept while the machine runs."""
        self.hold_step = on
        for sm in self.grid.sms:
            control = self.port.read(sm.index, "DBGR_CONTROL0") & ~STEP
            self.port.write(sm.index, "DBGR_CONTROL0", control | (STEP if on else 0))

    def stepped(self, warp: WarpState) -> None:
        """After a step: the SM locks down and says why."""
        trap = self.grid.sms[warp.sm].trap
        trap.frozen = True
        self.port.read(warp.sm, "DBGR_STATUS0")
        self.port.read(warp.sm, "HWW_GLOBAL_ESR")

    def stopped(self) -> None:
        """After a run: lock the SMs down, suspend them and read the cause."""
        self.freeze()
        if self.grid.sms[0].trap.control & DEBUG:
            # Without debug mode a driver cannot suspend; the emulator stops anyway.
            self.suspend()
        for sm in self._busy():
            self.port.read(sm, "HWW_GLOBAL_ESR")
            if self.grid.sms[sm].trap.warp_esr:
                self.port.read(sm, "HWW_WARP_ESR")

    def _busy(self) -> list[int]:
        """SMs with warps."""
        return [sm.index for sm in self.grid.sms if sm.warps.count(None) < len(sm.warps)]
