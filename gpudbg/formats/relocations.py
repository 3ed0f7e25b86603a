"""What each R_CUDA_* relocation writes, as rows: number, name, value, bit field, shift.

The 64-bit instruction words of sm_50 to sm_62 have their immediate at bit 20, the 128-bit ones
theirs at bit 32; rows for other positions are those of other encodings and never occur here, so a
file that has one is refused with its name.  Numbers and names as nvdisasm and readelf-like public
tools list them.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Value(Enum):
    """What a relocation field is filled with."""

    ADDRESS = "address of the symbol: code, device memory, or offset in a bank or in shared"
    GENERIC = "generic address of the symbol"
    FUNCTION = "function descriptor: here the function's code address"
    BANK = "constant bank number of the symbol"
    BANK_WORD = "offset of the symbol in its constant bank, in words"
    BANK_BYTE = "offset of the symbol in its constant bank, in bytes"
    TEXTURE = "texture header index of a bound reference"
    SAMPLER = "sampler index of a bound reference"
    SURFACE = "surface header index of a bound reference"
    CLEAR = "zero"


class Patch(NamedTuple):
    """One bit field that a relocation writes.

    Attributes:
        value: what is written.
        low: lowest bit of the field.
        width: bits.
        shift: the value is shifted right by this first.
    """

    value: Value
    low: int
    width: int
    shift: int = 0


class RelocationType(NamedTuple):
    """One relocation type.

    Attributes:
        name: R_CUDA_*.
        patches: fields it writes; None when it cannot occur on the supported architectures.
        bytes: size of the patched unit.
        wide: it patches a 128-bit instruction.
    """

    name: str
    patches: tuple[Patch, ...] | None
    bytes: int = 8
    wide: bool = False


_A, _G, _F = Value.ADDRESS, Value.GENERIC, Value.FUNCTION


def _bytes_of(value: Value, name: str, first: int) -> dict[int, RelocationType]:
    """Eight types that write one byte of a 64-bit value each."""
    return {
        first + i: RelocationType(f"{name}_{8 * i}", (Patch(value, 0, 8, 8 * i),), 1)
        for i in range(8)
    }


def _wide(name: str, *patches: Patch) -> RelocationType:
    """A type of the 128-bit instruction sets."""
    return RelocationType(f"R_CUDA_{name}", patches, 16, True)


TYPES: dict[int, RelocationType] = {
    0: RelocationType("R_CUDA_NONE", ()),
    1: RelocationType("R_CUDA_32", (Patch(_A, 0, 32),), 4),
    2: RelocationType("R_CUDA_64", (Patch(_A, 0, 64),)),
    3: RelocationType("R_CUDA_G32", (Patch(_G, 0, 32),), 4),
    4: RelocationType("R_CUDA_G64", (Patch(_G, 0, 64),)),
    6: RelocationType("R_CUDA_TEX_HEADER_INDEX", (Patch(Value.TEXTURE, 0, 20),), 4),
    7: RelocationType("R_CUDA_SAMP_HEADER_INDEX", (Patch(Value.SAMPLER, 20, 12),), 4),
    34: RelocationType("R_CUDA_FUNC_DESC_32", (Patch(_F, 0, 32),), 4),
    35: RelocationType("R_CUDA_FUNC_DESC_64", (Patch(_F, 0, 64),)),
    42: RelocationType("R_CUDA_ABS32_20", (Patch(_A, 20, 32),)),
    43: RelocationType("R_CUDA_ABS32_LO_20", (Patch(_A, 20, 32),)),
    44: RelocationType("R_CUDA_ABS32_HI_20", (Patch(_A, 20, 32, 32),)),
    45: RelocationType("R_CUDA_ABS24_20", (Patch(_A, 20, 24),)),
    46: RelocationType("R_CUDA_ABS16_20", (Patch(_A, 20, 16),)),
    47: RelocationType("R_CUDA_FUNC_DESC32_20", (Patch(_F, 20, 32),)),
    48: RelocationType("R_CUDA_FUNC_DESC32_LO_20", (Patch(_F, 20, 32),)),
    49: RelocationType("R_CUDA_FUNC_DESC32_HI_20", (Patch(_F, 20, 32, 32),)),
    50: RelocationType(
        "R_CUDA_CONST_FIELD19_20", (Patch(Value.BANK_WORD, 20, 14), Patch(Value.BANK, 34, 5))
    ),
    51: RelocationType("R_CUDA_BINDLESSOFF13_36", (Patch(Value.BANK_WORD, 36, 13),)),
    52: RelocationType("R_CUDA_SURF_HEADER_INDEX", (Patch(Value.SURFACE, 0, 20),), 4),
    54: RelocationType(
        "R_CUDA_CONST_FIELD21_20", (Patch(Value.BANK_BYTE, 20, 16), Patch(Value.BANK, 36, 5))
    ),
    55: _wide("ABS32_32", Patch(_A, 32, 32)),
    56: _wide("ABS32_LO_32", Patch(_A, 32, 32)),
    57: _wide("ABS32_HI_32", Patch(_A, 32, 32, 32)),
    58: _wide("ABS47_34", Patch(_A, 34, 48, 2)),
    59: _wide("ABS16_32", Patch(_A, 32, 16)),
    60: _wide("ABS24_32", Patch(_A, 32, 24)),
    61: _wide("FUNC_DESC32_32", Patch(_F, 32, 32)),
    62: _wide("FUNC_DESC32_LO_32", Patch(_F, 32, 32)),
    63: _wide("FUNC_DESC32_HI_32", Patch(_F, 32, 32, 32)),
    64: _wide("CONST_FIELD19_40", Patch(Value.BANK_WORD, 40, 14), Patch(Value.BANK, 54, 5)),
    65: _wide("BINDLESSOFF14_40", Patch(Value.BANK_WORD, 40, 14)),
    66: _wide("CONST_FIELD21_38", Patch(Value.BANK_BYTE, 38, 16), Patch(Value.BANK, 54, 5)),
    74: _wide("ABS24_40", Patch(_A, 40, 24)),
    75: _wide("ABS55_16_34", Patch(_A, 16, 8, 2), Patch(_A, 34, 48, 10)),
    70: RelocationType("R_CUDA_32_LO", (Patch(_A, 0, 32),), 4),
    71: RelocationType("R_CUDA_32_HI", (Patch(_A, 0, 32, 32),), 4),
    72: RelocationType("R_CUDA_UNUSED_CLEAR32", (Patch(Value.CLEAR, 0, 32),), 4),
    73: RelocationType("R_CUDA_UNUSED_CLEAR64", (Patch(Value.CLEAR, 0, 64),)),
    **_bytes_of(_A, "R_CUDA_8", 76),
    **_bytes_of(_G, "R_CUDA_G8", 84),
    **_bytes_of(_F, "R_CUDA_FUNC_DESC_8", 92),
    101: RelocationType("R_CUDA_SAMP_HEADER_INDEX_0", (Patch(Value.SAMPLER, 0, 12),), 4),
    102: RelocationType("R_CUDA_UNIFIED", (Patch(_G, 0, 64),)),
    103: RelocationType("R_CUDA_UNIFIED_32", (Patch(_G, 0, 32),), 4),
    **_bytes_of(_G, "R_CUDA_UNIFIED_8", 104),
    112: _wide("UNIFIED32_LO_32", Patch(_G, 32, 32)),
    113: _wide("UNIFIED32_HI_32", Patch(_G, 32, 32, 32)),
    # Of `CALL.ABS R2 __UFT_OFFSET`: 0 where function pointers are addresses, as the linker has it.
    114: _wide("ABS56_16_34", Patch(_A, 16, 8, 2), Patch(_A, 34, 48, 10)),
    **{
        number: RelocationType(f"R_CUDA_{name}", None)
        for number, name in {
            5: "ABS32_26",
            8: "SURF_HW_DESC",
            9: "SURF_HW_SW_DESC",
            10: "ABS32_LO_26",
            11: "ABS32_HI_26",
            12: "ABS32_23",
            13: "ABS32_LO_23",
            14: "ABS32_HI_23",
            15: "ABS24_26",
            16: "ABS24_23",
            17: "ABS16_26",
            18: "ABS16_23",
            19: "TEX_SLOT",
            20: "SAMP_SLOT",
            21: "SURF_SLOT",
            22: "TEX_BINDLESSOFF13_32",
            23: "TEX_BINDLESSOFF13_47",
            24: "CONST_FIELD19_28",
            25: "CONST_FIELD19_23",
            26: "TEX_SLOT9_49",
            27: "6_31",
            28: "2_47",
            29: "TEX_BINDLESSOFF13_41",
            30: "TEX_BINDLESSOFF13_45",
            31: "FUNC_DESC32_23",
            32: "FUNC_DESC32_LO_23",
            33: "FUNC_DESC32_HI_23",
            36: "CONST_FIELD21_26",
            37: "QUERY_DESC21_37",
            38: "CONST_FIELD19_26",
            39: "CONST_FIELD21_23",
            40: "PCREL_IMM24_26",
            41: "PCREL_IMM24_23",
            53: "INSTRUCTION64",
            67: "INSTRUCTION128",
            68: "YIELD_OPCODE9_0",
            69: "YIELD_CLEAR_PRED4_87",
            100: "ABS20_44",
            115: "CONST_FIELD22_37",
        }.items()
    },
}
"""Relocation number -> what it writes."""


def type_name(number: int) -> str:
    """A relocation type as messages show it: "R_CUDA_ABS32_20 (42)" or "type 999"."""
    known = TYPES.get(number)
    return f"{known.name} ({number})" if known else f"type {number}"
