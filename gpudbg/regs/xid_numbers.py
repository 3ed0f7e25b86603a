"""What the Xid numbers in NVIDIA kernel logs stand for, and what to look at next.

Names follow nverror.h of the open kernel modules; the advice is ours.
"""

from __future__ import annotations

XID_NUMBERS: dict[int, tuple[str, str]] = {
    8: ("GPU stopped processing", "the work that ran: loops, waits, timeouts"),
    13: ("graphics engine exception", "the Warp Exception and ESR lines of the same second"),
    31: ("MMU fault", "the faulting address and access type against the buffers of the process"),
    32: ("DMA (PBDMA) error", "corrupted command buffers or the PCIe link; rarely a kernel"),
    38: ("driver firmware error", "driver version and board"),
    39: ("copy engine exception", "copies in flight"),
    43: (
        "channel reset after an error",
        "earlier Xid 13 or 31 of the same pid: they are the cause",
    ),
    44: ("fault during context switch", "earlier lines of the same channel"),
    45: ("channel removed", "earlier Xid lines: this one only cleans up after them"),
    48: ("uncorrectable (double bit) memory error", "the board's ECC counters"),
    61: ("power management unit breakpoint", "driver and firmware"),
    62: ("power management unit halted", "driver, firmware, power"),
    63: ("memory page retired or row remapped", "the board's retirement counters"),
    64: ("memory page retirement or row remapping failed", "replace or reset the board"),
    68: ("video processor exception", "video decode work"),
    69: (
        "graphics engine class error",
        "the class, offset and data of the method that was refused",
    ),
    74: ("NVLink error", "link counters"),
    79: ("GPU has fallen off the bus", "power, heat, slot; not the kernel"),
    92: ("high rate of corrected memory errors", "the board's ECC counters"),
    94: ("contained memory error", "the process named is hit; others may go on"),
    95: ("uncontained memory error", "every process on the GPU is hit; reset it"),
    109: ("context switch timeout", "an earlier Xid 13 or 31, or a kernel that does not end"),
    119: ("GSP firmware timeout", "driver and firmware"),
    120: ("GSP firmware error", "driver and firmware"),
    137: ("NVLink privilege error", "peer mappings"),
    140: ("unrecovered memory error", "reset the GPU"),
    154: ("GPU recovery action changed", "earlier Xid lines: they are the cause"),
}


def xid_meaning(number: int) -> tuple[str, str] | None:
    """(what it is, what to look at next) of an Xid number; None for numbers not in the table."""
    return XID_NUMBERS.get(number)
