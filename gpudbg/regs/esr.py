"""Error status words of an SM: what trap-handler code reads and what the host reads.

SR_GlobalErrorStatus and SR_WarpErrorStatus are the special registers of the S2R/CS2R table;
HWW_WARP_ESR, HWW_GLOBAL_ESR and their report masks are the host's registers of the same SM, as
nvgpu's hardware headers, rnndb and nouveau name them.  Marks say which bits a public text
documents, which are inferred from examples, and which are this model's choice.
"""

from __future__ import annotations

from enum import IntFlag

from gpudbg.regs.global_errors import (
    GLOBAL_ERRORS,
    IGNORED_FOR_LOCKDOWN,
    GlobalErrorRow,
    GlobalEsr,
    global_bit_names,
    global_error,
    global_error_of_text,
)
from gpudbg.regs.register_words import WORDS
from gpudbg.regs.warp_errors import (
    WARP_ERRORS,
    WarpError,
    WarpErrorRow,
    error_of_field,
    warp_error,
    warp_error_name,
    warp_error_of_text,
)
from gpudbg.regs.words import RegisterWord

__all__ = [
    "ESR_WORDS",
    "GLOBAL_ERRORS",
    "HWW_GLOBAL_ESR",
    "HWW_GLOBAL_ESR_REPORT_MASK",
    "HWW_WARP_ESR",
    "HWW_WARP_ESR_PC",
    "HWW_WARP_ESR_REPORT_MASK",
    "IGNORED_FOR_LOCKDOWN",
    "SR_GLOBAL_ERROR_STATUS",
    "SR_WARP_ERROR_STATUS",
    "WARP_ERRORS",
    "GlobalErrorRow",
    "GlobalErrorStatus",
    "GlobalEsr",
    "WarpError",
    "WarpErrorRow",
    "error_of_field",
    "global_bit_names",
    "global_error",
    "global_error_of_text",
    "warp_error",
    "warp_error_name",
    "warp_error_of_text",
]


class GlobalErrorStatus(IntFlag):
    """Bits of SR_GlobalErrorStatus (SR64); other bits are kept, PREEMPTION is two bits wide."""

    SINGLE_STEP_ENABLED = 1 << 0
    PREEMPTION = 3 << 1
    STOP_REQUEST = 1 << 4
    IDE_CRITICAL_SECTION = 1 << 5
    MULTIPLE_WARP_ERRORS = 1 << 7
    SINGLE_WARP_ERROR = 1 << 9
    WARP_TRAP_1 = 1 << 10
    WARP_TRAP_2_PLUS = 1 << 11


SR_GLOBAL_ERROR_STATUS = WORDS["SR_GlobalErrorStatus"]
SR_WARP_ERROR_STATUS = WORDS["SR_WarpErrorStatus"]
HWW_WARP_ESR = WORDS["HWW_WARP_ESR"]
HWW_GLOBAL_ESR = WORDS["HWW_GLOBAL_ESR"]
HWW_WARP_ESR_REPORT_MASK = WORDS["HWW_WARP_ESR_REPORT_MASK"]
HWW_GLOBAL_ESR_REPORT_MASK = WORDS["HWW_GLOBAL_ESR_REPORT_MASK"]
HWW_WARP_ESR_PC = WORDS["HWW_WARP_ESR_PC"]

ESR_WORDS: tuple[RegisterWord, ...] = (
    SR_GLOBAL_ERROR_STATUS,
    SR_WARP_ERROR_STATUS,
    HWW_WARP_ESR,
    HWW_GLOBAL_ESR,
    HWW_WARP_ESR_REPORT_MASK,
    HWW_GLOBAL_ESR_REPORT_MASK,
    HWW_WARP_ESR_PC,
)
