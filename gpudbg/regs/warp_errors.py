"""Warp errors: the one table of codes, names, aliases, causes and log wordings.

Names follow nouveau and nvgpu; rnndb's and other spellings are aliases.  The enumeration of
SR_WarpErrorStatus[7:0] itself is not public: that it shares the numbers of the host-visible
HWW_WARP_ESR.ERROR is *inferred* (8 bits hold every code, same words in both).
"""

from __future__ import annotations

from enum import IntEnum

from gpudbg.dataclass import dataclass
from gpudbg.regs.table_reader import TableBlock, blocks
from gpudbg.regs.words import Certainty, Family


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


def _row(block: TableBlock) -> WarpErrorRow:
    head = block.head
    error = WarpError[head.words[0]]
    mask = head.options.get("mask", str(int(error)))
    meaning, look_at = (line.plain for line in block.body)
    return WarpErrorRow(
        error,
        meaning,
        head.names("aka"),
        head.families,
        head.certainty,
        tuple(head.text().split(", ")) if head.texts else (),
        None if mask == "none" else int(mask),
        look_at,
    )


WARP_ERRORS: tuple[WarpErrorRow, ...] = tuple(map(_row, blocks("warp_errors")))

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
