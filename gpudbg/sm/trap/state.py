"""Trap state of an SM as plain words, and why a warp enters the handler."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from enum import IntEnum
from operator import attrgetter
from typing import Any, Final

from gpudbg.dataclass import dataclass
from gpudbg.regs.port import DbgrControl0

WARP_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF

# Plain integers: both engines test these bits constantly.
_SINGLE_STEP: Final = int(DbgrControl0.SINGLE_STEP_MODE)
_STOP: Final = int(DbgrControl0.STOP_TRIGGER)
STEP_OR_STOP: Final = _SINGLE_STEP | _STOP
"""Bits of DBGR_CONTROL0 that warps look at between instructions."""


class Cause(IntEnum):
    """Why a warp is in the trap handler; the word at `handler.ENTRY["cause"]` of its record."""

    NONE = 0
    WARP_ERROR = 1
    BPT_TRAP = 2
    BPT_CAL = 3
    SINGLE_STEP = 4
    STOP_REQUEST = 5
    OTHER_WARP = 6
    PREEMPTION = 7

    @property
    def words(self) -> str:
        """In words, for people."""
        return _CAUSE_WORDS[self]


_CAUSE_WORDS = {
    Cause.NONE: "no trap",
    Cause.WARP_ERROR: "a warp error",
    Cause.BPT_TRAP: "BPT.TRAP",
    Cause.BPT_CAL: "BPT.CAL",
    Cause.SINGLE_STEP: "a completed single step",
    Cause.STOP_REQUEST: "a stop request",
    Cause.OTHER_WARP: "another warp's trap",
    Cause.PREEMPTION: "preemption",
}


@dataclass(slots=True)
class SmTrap:
    """Debugger registers and error status of one SM; host order, unsigned.

    Attributes:
        control: DBGR_CONTROL0.
        frozen: the SM stands still for the debugger (DBGR_STATUS0.LOCKED_DOWN).
        pause, trapped: warps that wait in BPT.PAUSE, and that executed BPT.TRAP, by slot.
        warp_esr, warp_esr_pc, global_esr: HWW_WARP_ESR and companions.
        warp_report, global_report: their report masks.
        exception_enable: TPC_EXCEPTION_EN.
        preemption: SR_GlobalErrorStatus.Preemption.
        reported: error and trap bits of SR_GlobalErrorStatus that took other warps along.
        physical: hardware number of its TPC: GPC * 8 + TPC.
        in_tpc: which SM of its TPC it is; None where a TPC has one.
        entries, returns: times a warp entered and left the handler.
    """

    control: int = 0
    frozen: bool = False
    pause: int = 0
    trapped: int = 0
    warp_esr: int = 0
    warp_esr_pc: int = 0
    global_esr: int = 0
    warp_report: int = 0
    global_report: int = 0
    exception_enable: int = 0
    preemption: int = 0
    reported: int = 0
    physical: int = 0
    in_tpc: int | None = None
    entries: int = 0
    returns: int = 0

    def copy(self) -> SmTrap:
        """The same words."""
        return SmTrap(*_read(self))

    @property
    def stepping(self) -> bool:
        """Whether single-step mode is on."""
        return bool(self.control & _SINGLE_STEP)

    @property
    def stop_requested(self) -> bool:
        """Whether the host asks the SM to stop."""
        return bool(self.control & _STOP)


_read: Final[Callable[[SmTrap], tuple[Any, ...]]] = attrgetter(*(f.name for f in fields(SmTrap)))
