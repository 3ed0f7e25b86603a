"""The emulated debugger port: an SM's debugger registers, read and written as a driver does.

Registers go by name (`gpudbg.regs.port`) or by address; every access is logged.  A few have
effects: STOP_TRIGGER on a running SM asks its warps to stop, RUN_TRIGGER lets a stopped SM go on
when STOP_TRIGGER is clear, HWW_GLOBAL_ESR is write-one-to-clear, HWW_WARP_ESR is cleared by
writing 0, and the performance counter status registers set the counters' high parts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from gpudbg.errors import UsageError
from gpudbg.formats.launch_machine import GPC_PLACES, TPC_PLACES
from gpudbg.regs.families import port_layout, version_of
from gpudbg.regs.port import (
    DbgrControl0,
    DbgrStatus0,
    SmRegister,
    TpcException,
    locate,
    locate_broadcast,
)
from gpudbg.sm import record as rec
from gpudbg.sm.launch import limits_of

if TYPE_CHECKING:
    from gpudbg.sm.counters import Counters
    from gpudbg.sm.grid import Grid
    from gpudbg.sm.state import Sm

LOG_ENTRIES = 4096
_U32 = 0xFFFF_FFFF
# Plain integers: every run and step writes these bits.
_RUN = int(DbgrControl0.RUN_TRIGGER)
_STOP = int(DbgrControl0.STOP_TRIGGER)
_LOCKED_DOWN = int(DbgrStatus0.LOCKED_DOWN)
_IN_TRAP_MODE = int(DbgrStatus0.SM_IN_TRAP_MODE)
_KEPT = ~_RUN & _U32
"""RUN_TRIGGER is a pulse: it reads 0."""


class PortAccess(NamedTuple):
    """One line of the log.

    Attributes:
        number: counts from 1.
        kind: "read", "write", "broadcast", or "event" (something the hardware did).
        sm: virtual SM number; None for a broadcast.
        register: name of the register word; the event's text for "event".
        value: what was read or written.
        tick: warp instructions of the launch before it.
    """

    number: int
    kind: str
    sm: int | None
    register: str
    value: int
    tick: int = 0


LoggedAccess = tuple[int, str, int | None, str, int, int]
"""The fields of a `PortAccess`."""

REGISTERS = (
    "DBGR_CONTROL0",
    "DBGR_STATUS0",
    "WARP_VALID_MASK_LO",
    "WARP_VALID_MASK_HI",
    "BPT_PAUSE_MASK_LO",
    "BPT_PAUSE_MASK_HI",
    "BPT_TRAP_MASK_LO",
    "BPT_TRAP_MASK_HI",
    "HWW_WARP_ESR",
    "HWW_WARP_ESR_PC",
    "HWW_WARP_ESR_REPORT_MASK",
    "HWW_GLOBAL_ESR",
    "HWW_GLOBAL_ESR_REPORT_MASK",
    "TPC_EXCEPTION",
    "TPC_EXCEPTION_EN",
    "SM_CFG",
    "SM_ARCH",
)
COUNTER_STATUS = {
    **{f"DSM_PERF_COUNTER_STATUS_S{n}": n for n in range(4)},
    "DSM_PERF_COUNTER_STATUS1": None,
}
"""High parts of the performance counters, by sub-partition; their addresses are not public."""


class DebugPort:
    """The registers of one launch's SMs.

    Attributes:
        grid: the launch.
    """

    def __init__(self, grid: Grid, before: Sequence[LoggedAccess] = ()) -> None:
        """Args: before: accesses that are in the log already."""
        self.grid = grid
        self._sms = grid.sms
        self._launched = grid.launched
        self._layout = port_layout(grid.gpu.arch)
        self._count = len(before)
        self._log: deque[LoggedAccess] = deque(before, LOG_ENTRIES)
        grid.traps.on_event = self.event

    # ---- access ------------------------------------------------------------------------

    def read(self, sm: int, register: str) -> int:
        """The register's word.

        Raises:
            UsageError: no such SM or register.
        """
        found = _READS.get(register)
        target = self._sm(sm)
        value = self._reader(register)(target) if found is None else found(self, target)
        self._note("read", sm, register, value)
        return value

    def write(self, sm: int, register: str, value: int) -> None:
        """Write a word; a register that can only be read ignores it.

        Raises:
            UsageError: no such SM or register.
        """
        if register not in _READS:
            self._reader(register)
        target = self._sm(sm)
        self._note("write", sm, register, value & _U32)
        self._put(target, register, value & _U32)

    def broadcast(self, register: str, value: int) -> None:
        """Write a word on every SM."""
        if register not in _READS:
            self._reader(register)
        value &= _U32
        self._note("broadcast", None, register, value)
        action = _WRITES.get(register)
        for sm in self._sms:
            if action is not None:
                action(self, sm, value)
            else:
                self._put(sm, register, value)

    def peek(self, sm: int, register: str) -> int:
        """As `read`, but not logged: for views."""
        return self._reader(register)(self._sm(sm))

    def read_address(self, address: int) -> int:
        """The register at a unicast address.

        Raises:
            UsageError: nothing is there.
        """
        sm, register = self._at(address)
        return self.read(sm, register)

    def write_address(self, address: int, value: int) -> None:
        """Write the register at a unicast or broadcast address."""
        register = locate_broadcast(address)
        if register is not None:
            self.broadcast(register, value)
            return
        sm, register = self._at(address)
        self.write(sm, register, value)

    def address_of(self, sm: int, register: str) -> int | None:
        """Unicast address of a register; None where there is none."""
        trap = self._sm(sm).trap
        gpc, tpc = divmod(trap.physical, TPC_PLACES)
        if gpc >= GPC_PLACES:
            return None
        try:
            return SmRegister(self._layout, gpc, tpc, trap.in_tpc, register).address()
        except ValueError:
            return None

    def event(self, sm: int | None, text: str) -> None:
        """Log something that the hardware did."""
        self._note("event", sm, text, 0)

    def latest(self, count: int) -> Iterator[PortAccess]:
        """The last entries of the log, oldest first."""
        return map(PortAccess._make, islice(self._log, max(0, len(self._log) - count), None))

    @property
    def log(self) -> list[PortAccess]:
        """The latest accesses and events, oldest first."""
        return list(map(PortAccess._make, self._log))

    def accesses(self) -> tuple[LoggedAccess, ...]:
        """The same as `log`, as another port takes them."""
        return tuple(self._log)

    def _note(self, kind: str, sm: int | None, register: str, value: int) -> None:
        self._count += 1
        self._log.append((self._count, kind, sm, register, value, self._launched.total))

    def _sm(self, number: int) -> Sm:
        if not 0 <= number < len(self._sms):
            raise UsageError(f"no SM {number}", f"0 to {len(self._sms) - 1}")
        return self._sms[number]

    def _reader(self, register: str) -> Callable[[Sm], int]:
        found = _READS.get(register)
        if found is None and register in COUNTER_STATUS:
            return lambda sm: self._counter_status(sm, register)
        if found is None:
            raise UsageError(f"the port has no register {register!r}", ", ".join(REGISTERS))
        return lambda sm: found(self, sm)

    def _at(self, address: int) -> tuple[int, str]:
        place = locate(self._layout, address)
        if place is not None:
            physical = place.gpc * TPC_PLACES + place.tpc
            for sm in self._sms:
                if sm.trap.physical == physical and place.sm in (None, sm.trap.in_tpc):
                    return sm.index, place.register
        raise UsageError(f"no register of this GPU's SMs lies at 0x{address:x}")

    def _put(self, sm: Sm, register: str, value: int) -> None:
        action = _WRITES.get(register)
        if action is not None:
            action(self, sm, value)
        elif register in COUNTER_STATUS and self._counters is not None:
            self._counters.reset_high(sm.index, COUNTER_STATUS[register], value)

    # ---- what registers are --------------------------------------------------------------

    @property
    def _counters(self) -> Counters | None:
        sregs = self.grid.engine.sregs
        return sregs.machine.counters

    def _counter_status(self, sm: Sm, register: str) -> int:
        if self._counters is None:
            return 0
        return self._counters.status(sm.index, COUNTER_STATUS[register])

    def status(self, sm: Sm) -> int:
        """DBGR_STATUS0."""
        word = _LOCKED_DOWN if sm.trap.frozen else 0
        if self._parts(sm) or any(w.in_trap for w in sm.resident()):
            word |= _IN_TRAP_MODE
        return word

    def pause_mask(self, sm: Sm) -> int:
        """BPT_PAUSE_MASK: without a handler every warp of a stopped SM counts as paused."""
        return valid_mask(sm) if self._parts(sm) else sm.trap.pause

    def _parts(self, sm: Sm) -> bool:
        """Whether the emulator must play the handler's part of a pausing warp."""
        return sm.trap.frozen and self.grid.traps.handler is None and valid_mask(sm) != 0

    def write_control(self, sm: Sm, value: int) -> None:
        """DBGR_CONTROL0."""
        trap = sm.trap
        asked = value & _STOP and not trap.control & _STOP
        trap.control = value & _KEPT
        if asked and not trap.frozen:
            self.grid.traps.request_stop(sm)
            trap.frozen = self.grid.traps.handler is None
        elif value & _RUN and not value & _STOP:
            trap.frozen = False


def valid_mask(sm: Sm) -> int:
    """Warps that exist on the SM, by slot."""
    mask = 0
    for warp in sm.resident():
        if warp.words[rec.STATUS] != rec.DONE:
            mask |= 1 << warp.slot
    return mask


def exceptions(sm: Sm) -> int:
    """TPC_EXCEPTION: whether a reported error or event is pending."""
    trap = sm.trap
    code = trap.warp_esr & 0xFFFF
    reported = code and (code >= 32 or trap.warp_report >> code & 1)
    pending = reported or trap.global_esr & trap.global_report
    return int(TpcException.SM) if pending else 0


def architecture(arch: str) -> int:
    """SM_ARCH: warps of an SM, and the instruction set's version in both version fields."""
    major, minor = version_of(arch) or (5, 0)
    version = major << 8 | minor
    return limits_of(arch).warps | version << 8 | version << 20


# A function for each: every run writes the masks of pauses.
def _pause_low(port: DebugPort, sm: Sm, value: int) -> None:
    sm.trap.pause = sm.trap.pause & ~_U32 | value


def _pause_high(port: DebugPort, sm: Sm, value: int) -> None:
    sm.trap.pause = sm.trap.pause & _U32 | value << 32


def _trapped_low(port: DebugPort, sm: Sm, value: int) -> None:
    sm.trap.trapped = sm.trap.trapped & ~_U32 | value


def _trapped_high(port: DebugPort, sm: Sm, value: int) -> None:
    sm.trap.trapped = sm.trap.trapped & _U32 | value << 32


def _write_warp_esr(sm: Sm, value: int) -> None:
    """Only writing 0 has an effect."""
    if value == 0:
        sm.trap.warp_esr = sm.trap.warp_esr_pc = 0


def _clear_global(sm: Sm, value: int) -> None:
    sm.trap.global_esr &= ~value & _U32


_READS: dict[str, Callable[[DebugPort, Sm], int]] = {
    "DBGR_CONTROL0": lambda port, sm: sm.trap.control,
    "DBGR_STATUS0": lambda port, sm: port.status(sm),
    "WARP_VALID_MASK_LO": lambda port, sm: valid_mask(sm) & _U32,
    "WARP_VALID_MASK_HI": lambda port, sm: valid_mask(sm) >> 32,
    "BPT_PAUSE_MASK_LO": lambda port, sm: port.pause_mask(sm) & _U32,
    "BPT_PAUSE_MASK_HI": lambda port, sm: port.pause_mask(sm) >> 32,
    "BPT_TRAP_MASK_LO": lambda port, sm: sm.trap.trapped & _U32,
    "BPT_TRAP_MASK_HI": lambda port, sm: sm.trap.trapped >> 32,
    "HWW_WARP_ESR": lambda port, sm: sm.trap.warp_esr,
    "HWW_WARP_ESR_PC": lambda port, sm: sm.trap.warp_esr_pc,
    "HWW_WARP_ESR_REPORT_MASK": lambda port, sm: sm.trap.warp_report,
    "HWW_GLOBAL_ESR": lambda port, sm: int(sm.trap.global_esr),
    "HWW_GLOBAL_ESR_REPORT_MASK": lambda port, sm: sm.trap.global_report,
    "TPC_EXCEPTION": lambda port, sm: exceptions(sm),
    "TPC_EXCEPTION_EN": lambda port, sm: sm.trap.exception_enable,
    "SM_CFG": lambda port, sm: sm.trap.physical & 0xFFFF,
    "SM_ARCH": lambda port, sm: architecture(port.grid.gpu.arch),
}
"""Register -> function that reads its word."""
_WRITES: dict[str, Callable[[DebugPort, Sm, int], None]] = {
    "DBGR_CONTROL0": DebugPort.write_control,
    "BPT_PAUSE_MASK_LO": _pause_low,
    "BPT_PAUSE_MASK_HI": _pause_high,
    "BPT_TRAP_MASK_LO": _trapped_low,
    "BPT_TRAP_MASK_HI": _trapped_high,
    "HWW_WARP_ESR": lambda port, sm, v: _write_warp_esr(sm, v),
    "HWW_WARP_ESR_REPORT_MASK": lambda port, sm, v: setattr(sm.trap, "warp_report", v),
    "HWW_GLOBAL_ESR": lambda port, sm, v: _clear_global(sm, v),
    "HWW_GLOBAL_ESR_REPORT_MASK": lambda port, sm, v: setattr(sm.trap, "global_report", v),
    "TPC_EXCEPTION_EN": lambda port, sm, v: setattr(sm.trap, "exception_enable", v),
}
"""Register -> function that carries out a write."""
