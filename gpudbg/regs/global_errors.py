"""Global errors of an SM: the one table of the bits of HWW_GLOBAL_ESR.

Names follow nouveau and nvgpu; rnndb's and log spellings are aliases.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag

from gpudbg.regs.words import ALL_FAMILIES, ONE_SM_TPC, VOLTA_ON, Certainty, Family

_D, _I = Certainty.DOCUMENTED, Certainty.INFERRED
_PASCAL = (Family.PASCAL,)


class GlobalEsr(IntFlag):
    """Bits of HWW_GLOBAL_ESR and of its report mask; unnamed bits are kept."""

    SM_TO_SM_FAULT = 1 << 0
    L1_ERROR = 1 << 1
    MULTIPLE_WARP_ERRORS = 1 << 2
    PHYSICAL_STACK_OVERFLOW = 1 << 3
    BPT_INT = 1 << 4
    BPT_PAUSE = 1 << 5
    SINGLE_STEP_COMPLETE = 1 << 6
    ERROR_IN_TRAP = 1 << 8
    POISON_DATA = 1 << 12
    ECC_SEC_ERROR = 1 << 29
    ECC_DED_ERROR = 1 << 30
    TIMEOUT = 1 << 31


IGNORED_FOR_LOCKDOWN = GlobalEsr.BPT_INT | GlobalEsr.BPT_PAUSE | GlobalEsr.SINGLE_STEP_COMPLETE
"""Events for which a driver does not lock the SM down (nvgpu r28)."""


@dataclass(frozen=True, slots=True)
class GlobalErrorRow:
    """What is known of one bit of HWW_GLOBAL_ESR."""

    flag: GlobalEsr
    meaning: str
    families: tuple[Family, ...]
    certainty: Certainty
    look_at: str
    aliases: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The nouveau/nvgpu name."""
        return str(self.flag.name)

    @property
    def bit(self) -> int:
        """Bit number."""
        return int(self.flag).bit_length() - 1


GLOBAL_ERRORS: tuple[GlobalErrorRow, ...] = (
    GlobalErrorRow(
        GlobalEsr.SM_TO_SM_FAULT, "fault in a transfer between SMs", ONE_SM_TPC, _D,
        "the chip, not the kernel",
    ),
    GlobalErrorRow(
        GlobalEsr.L1_ERROR, "error in the SM's L1 cache", ONE_SM_TPC, _D,
        "the chip, not the kernel",
    ),
    GlobalErrorRow(
        GlobalEsr.MULTIPLE_WARP_ERRORS,
        "more warps of this SM failed than the warp register can name",
        ALL_FAMILIES, _D,
        "the warp register names one of several: the kernel fails in many warps, not in one",
        ("PHYSICAL_MULTIPLE_WARP_ERRORS",),
    ),
    GlobalErrorRow(
        GlobalEsr.PHYSICAL_STACK_OVERFLOW,
        "the SM's divergence/call stack memory is exhausted",
        ONE_SM_TPC, _D,
        "call depth, recursion and the stack limit of the launch",
        ("PHYSICAL_STACK_OVERFLOW_ERROR", "OUT_OF_STACK_SPACE"),
    ),
    GlobalErrorRow(
        GlobalEsr.BPT_INT, "a warp executed BPT.INT", ALL_FAMILIES, _D,
        "nothing is wrong: the code asked for the host's attention",
    ),
    GlobalErrorRow(
        GlobalEsr.BPT_PAUSE, "a warp executed BPT.PAUSE and waits", ALL_FAMILIES, _D,
        "usually the trap handler pausing after another error: read the warp error beside it",
    ),
    GlobalErrorRow(
        GlobalEsr.SINGLE_STEP_COMPLETE, "single-step mode has executed its instruction",
        ALL_FAMILIES, _D, "nothing is wrong: a debugger steps",
    ),
    GlobalErrorRow(
        GlobalEsr.ERROR_IN_TRAP, "a trap or warp error happened inside the trap handler",
        (*_PASCAL, *VOLTA_ON), _I,
        "the installed trap handler (debugger, coredump or driver), not the kernel",
    ),
    GlobalErrorRow(
        GlobalEsr.POISON_DATA, "the SM consumed data marked as poisoned",
        VOLTA_ON, _I, "memory errors (Xid 48, 63, 94, 95) logged before",
    ),
    GlobalErrorRow(
        GlobalEsr.ECC_SEC_ERROR, "corrected single-bit memory error in the SM",
        ONE_SM_TPC, _D, "the board's ECC counters",
    ),
    GlobalErrorRow(
        GlobalEsr.ECC_DED_ERROR, "uncorrectable double-bit memory error in the SM",
        ONE_SM_TPC, _D, "the board: results cannot be trusted",
    ),
    GlobalErrorRow(
        GlobalEsr.TIMEOUT, "the SM's watchdog expired", ONE_SM_TPC, _D,
        "loops and barriers that never complete", ("TIMEOUT_ERROR",),
    ),
)  # fmt: skip

_GLOBAL_BY_NAME = {n: row for row in GLOBAL_ERRORS for n in (row.name, *row.aliases)}


def global_error(name: str) -> GlobalErrorRow | None:
    """The row of a global error bit's name or alias, any case."""
    return _GLOBAL_BY_NAME.get(name.strip().upper())


def global_bit_names(word: int) -> list[str]:
    """Names of the set bits of a HWW_GLOBAL_ESR word, lowest first; unnamed ones as `BIT_n`."""
    names = {row.bit: row.name for row in GLOBAL_ERRORS}
    return [names.get(n, f"BIT_{n}") for n in range(word.bit_length()) if word >> n & 1]


def global_error_of_text(text: str) -> GlobalErrorRow | None:
    """The row a log's wording such as "Physical Multiple Warp Errors" names."""
    words = "_".join("".join(c if c.isalnum() else " " for c in text.upper()).split()) + "_"
    known = sorted(_GLOBAL_BY_NAME, key=len, reverse=True)
    name = next((n for n in known if words.startswith(n + "_")), None)
    return _GLOBAL_BY_NAME[name] if name is not None else None
