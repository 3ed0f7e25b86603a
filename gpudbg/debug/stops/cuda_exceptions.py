"""CUDA exceptions: cuda-gdb's numbers and names for what stops a warp.

Numbers and names are those of the CUDA-GDB manual; which one a warp error of the SM becomes is
*inferred* from the words of both tables.
"""

from __future__ import annotations

from typing import NamedTuple

from gpudbg.debug.stops.stop import DeadlockStop, InterruptStop, Stop, TrapStop


class Signal(NamedTuple):
    """A stop as gdb's signal: its name and meaning."""

    name: str
    meaning: str


EXCEPTIONS: dict[int, str] = {
    0: "Device Unknown Exception",
    1: "Lane Illegal Address",
    2: "Lane User Stack Overflow",
    3: "Device Hardware Stack Overflow",
    4: "Warp Illegal Instruction",
    5: "Warp Out-of-range Address",
    6: "Warp Misaligned Address",
    7: "Warp Invalid Address Space",
    8: "Warp Invalid PC",
    9: "Warp Hardware Stack Overflow",
    10: "Device Illegal Address",
    11: "Lane Misaligned Address",
    12: "Warp Assert",
    13: "Lane Syscall Error",
    14: "Warp Illegal Address",
    15: "Invalid Managed Memory Access",
    16: "Non-migratable System-scoped Atomic Access",
}
"""Number -> meaning."""

_BY_ERROR = {
    "STACK_ERROR": 9,
    "API_STACK_ERROR": 9,
    "STACK_OVERFLOW": 9,
    "RET_EMPTY_STACK_ERROR": 4,
    "PC_WRAP": 8,
    "MISALIGNED_PC": 8,
    "PC_OVERFLOW": 8,
    "MISALIGNED_REG": 4,
    "ILLEGAL_INSTR_ENCODING": 4,
    "ILLEGAL_SPH_INSTR_COMBO": 4,
    "ILLEGAL_INSTR_PARAM": 4,
    "ILLEGAL_INSTR_PARAM2": 4,
    "OOR_REG": 4,
    "OOR_ADDR": 5,
    "INVALID_CONST_ADDR": 5,
    "INVALID_CONST_ADDR_LDC": 5,
    "MISALIGNED_ADDR": 6,
    "MISALIGNED_IMMC_ADDR": 6,
    "INVALID_ADDR_SPACE": 7,
    "MMU_FAULT": 14,
    "MMU_NACK": 14,
}
"""Warp error of the SM -> exception number; 0 for any other."""

ASSERT, TRAP = 12, Signal("SIGTRAP", "Trace/breakpoint trap")
INTERRUPT = Signal("SIGINT", "Interrupt")
DEADLOCK = Signal("SIGQUIT", "Deadlock: no warp can go on")


def exception_of(error_name: str) -> int:
    """The exception number of a warp error."""
    return _BY_ERROR.get(error_name, 0)


def exception_signal(number: int) -> Signal:
    """An exception as gdb's signal."""
    return Signal(f"CUDA_EXCEPTION_{number}", EXCEPTIONS[number])


def signal_of(stop: Stop) -> Signal | None:
    """The signal that a stop is for gdb's users; None for breakpoints, steps and ends."""
    if stop.errors:
        return exception_signal(exception_of(stop.errors[0].name))
    if isinstance(stop, TrapStop):
        asserted = any("Assertion `" in line for line in stop.detail)
        return exception_signal(ASSERT) if asserted else TRAP
    if isinstance(stop, DeadlockStop):
        return DEADLOCK
    return INTERRUPT if isinstance(stop, InterruptStop) else None
