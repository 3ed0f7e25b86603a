"""Warp errors: the one table of codes, names, aliases, causes and log wordings.

Names follow nouveau and nvgpu; rnndb's and other spellings are aliases.  The enumeration of
SR_WarpErrorStatus[7:0] itself is not public: that it shares the numbers of the host-visible
HWW_WARP_ESR.ERROR is *inferred* (8 bits hold every code, same words in both).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from gpudbg.regs.words import (
    ALL_FAMILIES,
    MAXWELL_PASCAL,
    ONE_SM_TPC,
    VOLTA_ON,
    Certainty,
    Family,
)


class WarpError(IntEnum):
    """HWW_WARP_ESR.ERROR, by inference SR_WarpErrorStatus[7:0]; unknown codes keep their number."""

    NONE = 0x00
    STACK_ERROR = 0x01
    API_STACK_ERROR = 0x02
    RET_EMPTY_STACK_ERROR = 0x03
    PC_WRAP = 0x04
    MISALIGNED_PC = 0x05
    PC_OVERFLOW = 0x06
    MISALIGNED_IMMC_ADDR = 0x07
    MISALIGNED_REG = 0x08
    ILLEGAL_INSTR_ENCODING = 0x09
    ILLEGAL_SPH_INSTR_COMBO = 0x0A
    ILLEGAL_INSTR_PARAM = 0x0B
    INVALID_CONST_ADDR = 0x0C
    OOR_REG = 0x0D
    OOR_ADDR = 0x0E
    MISALIGNED_ADDR = 0x0F
    INVALID_ADDR_SPACE = 0x10
    ILLEGAL_INSTR_PARAM2 = 0x11
    INVALID_CONST_ADDR_LDC = 0x12
    GEOMETRY_SM_ERROR = 0x13
    DIVERGENT = 0x14
    WARP_EXIT = 0x15
    STACK_OVERFLOW = 0x16
    MMU_FAULT = 0x17
    TEX_FORMAT = 0x18
    TEX_LAYOUT = 0x19
    MMU_NACK = 0x20

    @classmethod
    def _missing_(cls, value: object) -> WarpError | None:
        if not isinstance(value, int) or value < 0:
            return None
        member = int.__new__(cls, value)
        member._name_ = f"UNKNOWN_0x{value:02x}"
        member._value_ = value
        return member


@dataclass(frozen=True, slots=True)
class WarpErrorRow:
    """What is known of one warp error code.

    Attributes:
        error: code and name.
        meaning: one line, the cause.
        aliases: other names for the same code (rnndb, seed wording).
        families: chip generations whose report mask or header has it.
        certainty: mark for the numeric code on Maxwell and Pascal.
        texts: wording in kernel logs, lower case.
        mask_bit: bit of HWW_WARP_ESR_REPORT_MASK that enables it; None when no mask has one.
        look_at: what to inspect next when it is seen.
    """

    error: WarpError
    meaning: str
    aliases: tuple[str, ...]
    families: tuple[Family, ...]
    certainty: Certainty
    texts: tuple[str, ...]
    mask_bit: int | None
    look_at: str

    @property
    def code(self) -> int:
        """The number in the error field."""
        return int(self.error)

    @property
    def name(self) -> str:
        """The nouveau/nvgpu name."""
        return self.error.name


def _row(
    error: WarpError,
    meaning: str,
    look_at: str,
    *,
    aliases: tuple[str, ...] = (),
    families: tuple[Family, ...] = ALL_FAMILIES,
    certainty: Certainty = Certainty.DOCUMENTED,
    texts: tuple[str, ...] = (),
) -> WarpErrorRow:
    mask_bit: int | None = int(error)
    if error is WarpError.NONE:
        mask_bit = None
    elif error is WarpError.MMU_NACK:
        mask_bit = 26  # the one code whose mask bit is not its number (gv11b header)
    return WarpErrorRow(error, meaning, aliases, families, certainty, texts, mask_bit, look_at)


_E = WarpError
_INFERRED = Certainty.INFERRED
_MAXWELL_ON = MAXWELL_PASCAL + VOLTA_ON

WARP_ERRORS: tuple[WarpErrorRow, ...] = (
    _row(_E.NONE, "no error", "nothing: this SM reports no warp error"),
    _row(
        _E.STACK_ERROR,
        "the divergence stack's top entry does not match the instruction (SYNC, BRK, CONT, RET)",
        "the SSY/PBK/PCNT/CAL that should have pushed the entry popped at the PC",
        aliases=("STACK_MISMATCH",),
    ),
    _row(
        _E.API_STACK_ERROR,
        "the call stack used by the graphics API's own calls is inconsistent",
        "the CAL/RET pairing around the PC",
    ),
    _row(
        _E.RET_EMPTY_STACK_ERROR,
        "RET with nothing on the stack to return to",
        "whether the code at the PC was entered by CAL or fallen into",
        families=ONE_SM_TPC,
    ),
    _row(
        _E.PC_WRAP,
        "the program counter ran past the end of the code address space and wrapped",
        "the last branch before the PC: a missing EXIT or a wild target",
    ),
    _row(
        _E.MISALIGNED_PC,
        "control transfer to an address that is no instruction boundary",
        "the register or table the indirect branch (BRX, JMX, CAL) took its target from",
    ),
    _row(
        _E.PC_OVERFLOW,
        "control transfer beyond the code window or the 40-bit address space",
        "the register or table the indirect branch took its target from",
    ),
    _row(
        _E.MISALIGNED_IMMC_ADDR,
        "a c[bank][offset] operand whose offset is not aligned to its size",
        "the constant operand of the instruction at the PC",
        families=ONE_SM_TPC,
    ),
    _row(
        _E.MISALIGNED_REG,
        "a 64- or 128-bit operand names a register that is not a multiple of its size",
        "register numbers of the instruction at the PC",
        aliases=("MISALIGNED_GPR",),
        texts=("misaligned register",),
    ),
    _row(
        _E.ILLEGAL_INSTR_ENCODING,
        "the word at the PC encodes no instruction of this chip",
        "the word at the PC: wrong architecture, overwritten code, or a jump into data",
        aliases=("INVALID_OPCODE",),
        texts=("illegal instruction encoding",),
    ),
    _row(
        _E.ILLEGAL_SPH_INSTR_COMBO,
        "an instruction that the shader program header forbids for this shader type",
        "the shader type and header flags beside the instruction at the PC",
        families=ONE_SM_TPC,
    ),
    _row(
        _E.ILLEGAL_INSTR_PARAM,
        "a legal instruction with an operand value the hardware refuses",
        "operand values of the instruction at the PC (barrier number, shared atomics, handles)",
        texts=("illegal instruction parameter",),
    ),
    _row(
        _E.INVALID_CONST_ADDR,
        "a c[bank][offset] operand outside the bound constant bank",
        "bank size and offset of the constant operand at the PC",
        families=ONE_SM_TPC,
    ),
    _row(
        _E.OOR_REG,
        "a register number at or above the warp's register allocation",
        "SR_RegAlloc and the launch's register count against the instruction at the PC",
        aliases=("GPR_OUT_OF_BOUNDS",),
        texts=("out of range register",),
    ),
    _row(
        _E.OOR_ADDR,
        "a local, shared or generic-window access beyond its allocation, or an unmapped address",
        "the address registers of the load or store at the PC and the window sizes",
        aliases=("MEM_OUT_OF_BOUNDS",),
        texts=("out of range address", "out of range addr"),
    ),
    _row(
        _E.MISALIGNED_ADDR,
        "an address that is not a multiple of the access size",
        "the address registers and the access size of the instruction at the PC",
        aliases=("UNALIGNED_MEM_ACCESS",),
        texts=("misaligned address",),
    ),
    _row(
        _E.INVALID_ADDR_SPACE,
        "an operation its address space does not support, e.g. ATOM through a local address",
        "which window (local, shared, global) the generic address falls in",
        texts=("invalid address space",),
    ),
    _row(
        _E.ILLEGAL_INSTR_PARAM2,
        "an operand value the hardware refuses, e.g. an unallocated barrier",
        "barrier numbers against the CTA's barrier allocation",
        aliases=("INVALID_PARAM",),
        families=ONE_SM_TPC,
    ),
    _row(
        _E.INVALID_CONST_ADDR_LDC,
        "LDC outside the bound constant bank",
        "the index register of the LDC at the PC and the bank's size",
    ),
    _row(
        _E.GEOMETRY_SM_ERROR,
        "geometry shader protocol error",
        "a graphics shader; compute kernels do not raise it",
        families=ONE_SM_TPC,
    ),
    _row(
        _E.DIVERGENT,
        "an instruction that needs a converged warp was executed by a divergent one",
        "the active mask at the PC",
        families=ONE_SM_TPC,
    ),
    _row(
        _E.WARP_EXIT,
        "the warp exited in a state in which it must not",
        "nouveau and rnndb name it; no report mask enables it",
        families=ONE_SM_TPC,
    ),
    _row(
        _E.STACK_OVERFLOW,
        "the divergence/call stack outgrew its memory",
        "call depth and recursion at the PC, and the launch's stack limit",
        families=_MAXWELL_ON,
        certainty=_INFERRED,
    ),
    _row(
        _E.MMU_FAULT,
        "an access this warp made was refused by the memory management unit",
        "the Xid 31 / MMU fault line logged at the same time: it holds the address and access type",
        families=_MAXWELL_ON,
        certainty=_INFERRED,
        texts=("mmu fault",),
    ),
    _row(
        _E.TEX_FORMAT,
        "a texture or surface access with a format the unit does not accept",
        "the texture header of the handle used at the PC",
        families=VOLTA_ON,
        texts=("tex format errors", "tex format"),
    ),
    _row(
        _E.TEX_LAYOUT,
        "a texture or surface access with a memory layout the unit does not accept",
        "the texture header of the handle used at the PC",
        families=VOLTA_ON,
        texts=("tex layout errors", "tex layout"),
    ),
    _row(
        _E.MMU_NACK,
        "a memory request of this warp was refused without a page fault record",
        "earlier MMU fault lines of the same channel",
        families=VOLTA_ON,
        texts=("mmu nack errors", "mmu nack"),
    ),
)

WARP_ERROR_BY_CODE = {row.code: row for row in WARP_ERRORS}
WARP_ERROR_BY_NAME = {name.upper(): row for row in WARP_ERRORS for name in (row.name, *row.aliases)}


def warp_error(code_or_name: int | str) -> WarpErrorRow | None:
    """The row for a code, name or alias (any case); None when the table has none."""
    if isinstance(code_or_name, int):
        return WARP_ERROR_BY_CODE.get(code_or_name)
    return WARP_ERROR_BY_NAME.get(code_or_name.upper())


def warp_error_name(code: int) -> str:
    """The name of a code; `UNKNOWN_0x..` when no table has it."""
    return WarpError(code).name


def error_of_field(code: int) -> tuple[WarpErrorRow | None, bool]:
    """The row of a 16-bit ERROR field and whether the whole field names it.

    Codes end at 0x20; when higher bits are set the low byte alone may still name one (doubtful).
    """
    row = WARP_ERROR_BY_CODE.get(code)
    if row is not None:
        return row, True
    low = WARP_ERROR_BY_CODE.get(code & 0xFF)
    return (low, False) if low is not None and low.code else (None, False)


_ABBREVIATIONS = {
    "addr": "address",
    "const": "constant",
    "immc": "immediate constant",
    "instr": "instruction",
    "instr.": "instruction",
    "oor": "out of range",
    "param": "parameter",
    "param2": "parameter 2",
    "reg": "register",
    "ret": "return",
    "gpr": "register",
    "mem": "memory",
}
_ENDINGS = {"error", "errors"}


def _words(text: str) -> str:
    """Log wording or a table name as plain lower-case words without a closing "errors"."""
    plain = "".join(c if c.isalnum() else " " for c in text.lower())
    words = [_ABBREVIATIONS.get(word, word) for word in plain.split()]
    while len(words) > 1 and words[-1] in _ENDINGS:
        words.pop()
    return " ".join(words)


_BY_WORDING = {
    _words(text): row for row in WARP_ERRORS for text in (row.name, *row.aliases, *row.texts)
}
_LONGEST_FIRST = sorted(_BY_WORDING, key=len, reverse=True)


def warp_error_of_text(text: str) -> WarpErrorRow | None:
    """The row a log's wording names: any case, spacing, hyphens, usual abbreviations.

    Words after a known wording are ignored, so trailing log decoration does no harm.
    """
    words = _words(text) + " "
    known = next((w for w in _LONGEST_FIRST if words.startswith(w + " ")), None)
    return _BY_WORDING[known] if known is not None else None
