"""Error status words of an SM: what trap-handler code reads and what the host reads.

SR_GlobalErrorStatus and SR_WarpErrorStatus are the special registers of the S2R/CS2R table;
HWW_WARP_ESR, HWW_GLOBAL_ESR and their report masks are the host's registers of the same SM, as
nvgpu's hardware headers, rnndb and nouveau name them.  Marks say which bits a public text
documents, which are inferred from examples, and which are this model's choice.
"""

from __future__ import annotations

from enum import IntFlag

from gpudbg.bits import Field
from gpudbg.regs.global_errors import (
    GLOBAL_ERRORS,
    IGNORED_FOR_LOCKDOWN,
    GlobalErrorRow,
    GlobalEsr,
    global_bit_names,
    global_error,
    global_error_of_text,
)
from gpudbg.regs.warp_errors import (
    WARP_ERRORS,
    WarpError,
    WarpErrorRow,
    error_of_field,
    warp_error,
    warp_error_name,
    warp_error_of_text,
)
from gpudbg.regs.words import (
    ALL_FAMILIES,
    FERMI_KEPLER,
    VOLTA_ON,
    BitRow,
    Certainty,
    Family,
    FieldKind,
    RegisterWord,
    complete,
)

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

_DOC, _INF, _MOD = Certainty.DOCUMENTED, Certainty.INFERRED, Certainty.MODELLED
_Variants = tuple[tuple[tuple[Family, ...], tuple[BitRow, ...]], ...]


def _flag(bit: int, name: str, meaning: str, certainty: Certainty, note: str = "") -> BitRow:
    return BitRow(name, Field(bit, bit), meaning, (), certainty, False, note, FieldKind.FLAG)


# --- what code in the trap handler reads -----------------------------------------------------


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


_MODE, _GLOBAL = "Mode", "Global Errors"
_NAME_OURS = "the source gives the bit without a name"


def _sr64(flag: GlobalErrorStatus, name: str, meaning: str, note: str, group: str) -> BitRow:
    low = (int(flag) & -int(flag)).bit_length() - 1
    high = int(flag).bit_length() - 1
    kind = FieldKind.FLAG if low == high else FieldKind.UINT
    return BitRow(name, Field(high, low), meaning, (), _DOC, False, note, kind, "", group)


_S = GlobalErrorStatus
SR_GLOBAL_ERROR_STATUS = RegisterWord(
    "SR_GlobalErrorStatus",
    "state of the SM that every warp entering the trap handler sees",
    (
        (
            ALL_FAMILIES,
            complete(
                (
                    _sr64(
                        _S.SINGLE_STEP_ENABLED,
                        "SingleStepEnabled",
                        "the SM is in single-step mode",
                        "that it mirrors DBGR_CONTROL0.SINGLE_STEP_MODE is inferred",
                        _MODE,
                    ),
                    _sr64(
                        _S.PREEMPTION,
                        "Preemption",
                        "preemption state",
                        "values not public; modelled: 0 none, 1 context save, 2 context restore",
                        _MODE,
                    ),
                    BitRow("reserved", Field(3, 3), "reserved", reserved=True, group=_MODE),
                    _sr64(
                        _S.STOP_REQUEST,
                        "StopRequest",
                        "the CPU has told this SM to stop",
                        f"{_NAME_OURS}; that it is DBGR_CONTROL0.STOP_TRIGGER is inferred",
                        _GLOBAL,
                    ),
                    _sr64(
                        _S.IDE_CRITICAL_SECTION,
                        "IdeCriticalSection",
                        "some warp is inside an IDE critical section",
                        _NAME_OURS,
                        _GLOBAL,
                    ),
                    _sr64(
                        _S.MULTIPLE_WARP_ERRORS,
                        "MultipleWarpErrors",
                        "more than one warp of the SM has a warp error",
                        "condition modelled: two or more erring warps",
                        _GLOBAL,
                    ),
                    _sr64(
                        _S.SINGLE_WARP_ERROR,
                        "SingleWarpError",
                        "a warp of the SM has a warp error",
                        "condition modelled: at least one; exclusive with the bit above or not "
                        "is not public",
                        _GLOBAL,
                    ),
                    _sr64(
                        _S.WARP_TRAP_1,
                        "WarpTrap1",
                        "BPT.TRAP: immediate 1, or one trapping warp",
                        "which of the two readings holds is not public; a named policy chooses",
                        _GLOBAL,
                    ),
                    _sr64(
                        _S.WARP_TRAP_2_PLUS,
                        "WarpTrap2Plus",
                        "BPT.TRAP: immediate 2 or more, or several trapping warps",
                        "which of the two readings holds is not public; a named policy chooses",
                        _GLOBAL,
                    ),
                    BitRow(
                        "reserved",
                        Field(12, 12),
                        "for BPT.INT, always read as 0",
                        reserved=True,
                        group=_GLOBAL,
                    ),
                )
            ),
        ),
    ),
    aliases=("SR64", "GLOBALERRORSTATUS", "SR_GLOBALERRORSTATUS"),
    look_at="SR_WarpErrorStatus of each warp",
)


def _error_values() -> tuple[tuple[int, str], ...]:
    return tuple((row.code, row.name) for row in WARP_ERRORS)


SR_WARP_ERROR_STATUS = RegisterWord(
    "SR_WarpErrorStatus",
    "errors and traps of the reading thread's own warp",
    (
        (
            ALL_FAMILIES,
            complete(
                (
                    BitRow(
                        "WarpErrors",
                        Field(7, 0),
                        "error known to be caused by this warp",
                        _error_values(),
                        note="that the numbers are those of HWW_WARP_ESR is inferred",
                    ),
                    BitRow(
                        "TrapImmediate",
                        Field(26, 24),
                        "non-zero: this warp itself executed BPT.TRAP",
                        note="that it is the immediate's low 3 bits is modelled",
                    ),
                )
            ),
        ),
    ),
    aliases=("SR66", "WARPERRORSTATUS", "SR_WARPERRORSTATUS"),
    look_at="the instruction at the saved PC of the warp",
)

# --- what the host reads ---------------------------------------------------------------------

_ERROR = BitRow("ERROR", Field(15, 0), "warp error code", _error_values())


def _warp_id(certainty: Certainty) -> BitRow:
    note = "" if certainty is _DOC else "every collected value is below 64; no header names it"
    return BitRow("WARP_ID", Field(23, 16), "warp slot on the SM", (), certainty, False, note)


HWW_WARP_ESR = RegisterWord(
    "HWW_WARP_ESR",
    "the first warp error of the SM: code and warp",
    (
        ((*FERMI_KEPLER, Family.MAXWELL), complete((_ERROR, _warp_id(_INF)))),
        (
            (Family.PASCAL,),
            complete(
                (
                    _ERROR,
                    _warp_id(_INF),
                    _flag(24, "ADDR_VALID", "the error carries an address", _DOC),
                    BitRow(
                        "ADDR_ERROR_TYPE",
                        Field(27, 25),
                        "kind of address error",
                        note="value names not public; means nothing unless ADDR_VALID is set",
                    ),
                )
            ),
        ),
        (
            VOLTA_ON,
            complete(
                (
                    _ERROR,
                    _warp_id(_DOC),
                    BitRow(
                        "ADDR_ERROR_TYPE",
                        Field(27, 24),
                        "kind of address error",
                        note="value names not public",
                    ),
                )
            ),
        ),
    ),
    aliases=("WARP_ESR", "WARP"),
    clearing="write 0",
    look_at="HWW_WARP_ESR_PC for the instruction, HWW_GLOBAL_ESR for how many warps failed",
)


def _global_rows(family: Family, prefix: str) -> tuple[BitRow, ...]:
    return complete(
        tuple(
            _flag(row.bit, row.name, prefix + row.meaning, row.certainty)
            for row in GLOBAL_ERRORS
            if family in row.families
        )
    )


def _warp_mask_rows(family: Family, prefix: str) -> tuple[BitRow, ...]:
    return complete(
        tuple(
            _flag(row.mask_bit, row.name, prefix + row.meaning, row.certainty)
            for row in WARP_ERRORS
            if row.mask_bit is not None
            and family in row.families
            and row.error is not WarpError.WARP_EXIT  # rnndb and nouveau name it, no mask has it
        )
    )


HWW_GLOBAL_ESR = RegisterWord(
    "HWW_GLOBAL_ESR",
    "errors and events of the whole SM",
    tuple(((family,), _global_rows(family, "")) for family in ALL_FAMILIES),
    aliases=("GLOBAL_ESR", "GLOBAL"),
    clearing="write the read value back (write one to clear)",
    look_at="HWW_WARP_ESR of the same SM",
)
HWW_GLOBAL_ESR_REPORT_MASK = RegisterWord(
    "HWW_GLOBAL_ESR_REPORT_MASK",
    "which global errors raise an exception",
    tuple(((family,), _global_rows(family, "report: ")) for family in ALL_FAMILIES),
    aliases=("GLOBAL_ESR_REPORT_MASK", "GLOBAL_REPORT_MASK", "GLOBAL_MASK"),
)
HWW_WARP_ESR_REPORT_MASK = RegisterWord(
    "HWW_WARP_ESR_REPORT_MASK",
    "which warp errors raise an exception: bit n enables code n, bit 26 code 0x20",
    tuple(((family,), _warp_mask_rows(family, "report: ")) for family in ALL_FAMILIES),
    aliases=("WARP_ESR_REPORT_MASK", "WARP_REPORT_MASK", "WARP_MASK"),
)
HWW_WARP_ESR_PC = RegisterWord(
    "HWW_WARP_ESR_PC",
    "program counter that belongs to HWW_WARP_ESR",
    (
        (
            (Family.MAXWELL, Family.PASCAL, *VOLTA_ON),
            (BitRow("PC", Field(31, 0), "program counter, low word from Volta on"),),
        ),
    ),
    aliases=("WARP_ESR_PC", "ESR_PC"),
)

ESR_WORDS: tuple[RegisterWord, ...] = (
    SR_GLOBAL_ERROR_STATUS,
    SR_WARP_ERROR_STATUS,
    HWW_WARP_ESR,
    HWW_GLOBAL_ESR,
    HWW_WARP_ESR_REPORT_MASK,
    HWW_GLOBAL_ESR_REPORT_MASK,
    HWW_WARP_ESR_PC,
)
