"""Bit fields of texture headers and samplers, every layout the public class headers give.

Source: NVIDIA's open class headers `clb097tex.h` and `clb197tex.h` (Maxwell); SPARSE_ENABLE and
USE_ARRAY_TILE_ALIGNMENT are named by the first alone.  Bit positions run over the whole 256 bits.
A layout's rows tile all of them; gaps become reserved rows.
"""

from __future__ import annotations

from typing import NamedTuple

from gpudbg.bits import Field

HEADER_BITS = 256
HEADER_BYTES = HEADER_BITS // 8


class HeaderField(NamedTuple):
    """One field of a header or sampler."""

    name: str
    bits: Field

    @property
    def reserved(self) -> bool:
        """Bits without a meaning."""
        return self.name.startswith("RESERVED")


VERSIONS = ("ONE_D_BUFFER", "PITCH_COLOR_KEY", "PITCH", "BLOCKLINEAR", "BLOCKLINEAR_COLOR_KEY")
"""HEADER_VERSION by number."""

# NAME hi:lo layouts   (1 one-d buffer, p pitch, b blocklinear; q and k: those with colour key)
_MAXWELL = """
COMPONENTS 6:0 1qpbk
R_DATA_TYPE 9:7 1qpbk
G_DATA_TYPE 12:10 1qpbk
B_DATA_TYPE 15:13 1qpbk
A_DATA_TYPE 18:16 1qpbk
X_SOURCE 21:19 1qpbk
Y_SOURCE 24:22 1qpbk
Z_SOURCE 27:25 1qpbk
W_SOURCE 30:28 1qpbk
PACK_COMPONENTS 31:31 1qpbk
ADDRESS_BITS31TO0 63:32 1
ADDRESS_BITS31TO5 63:37 qp
GOB_DEPTH_OFFSET 38:37 bk
ADDRESS_BITS31TO9 63:41 bk
ADDRESS_BITS47TO32 79:64 1qpbk
HEADER_VERSION 87:85 1qpbk
RESOURCE_VIEW_COHERENCY_HASH 92:89 1qpbk
WIDTH_MINUS_ONE_BITS31TO16 111:96 1
PITCH_BITS20TO5 111:96 qp
GOBS_PER_BLOCK_WIDTH 98:96 bk
GOBS_PER_BLOCK_HEIGHT 101:99 bk
GOBS_PER_BLOCK_DEPTH 104:102 bk
SPARSE_ENABLE 105:105 bk
TILE_WIDTH_IN_GOBS 108:106 bk
GOB3D 109:109 bk
USE_ARRAY_TILE_ALIGNMENT 110:110 bk
LOD_ANISO_QUALITY2 112:112 qpbk
LOD_ANISO_QUALITY 113:113 qpbk
LOD_ISO_QUALITY 114:114 qpbk
ANISO_COARSE_SPREAD_MODIFIER 116:115 qpbk
ANISO_SPREAD_SCALE 121:117 qpbk
USE_HEADER_OPT_CONTROL 122:122 qpbk
DEPTH_TEXTURE 123:123 qpbk
MAX_MIP_LEVEL 127:124 qpbk
WIDTH_MINUS_ONE_BITS15TO0 143:128 1
WIDTH_MINUS_ONE 143:128 qpbk
ANISO_SPREAD_MAX_LOG2 149:147 qpbk
S_R_G_B_CONVERSION 150:150 1qpbk
TEXTURE_TYPE 154:151 1qpbk
SECTOR_PROMOTION 156:155 1qpbk
BORDER_SIZE 159:157 qpbk
HEIGHT_MINUS_ONE 175:160 qpbk
DEPTH_MINUS_ONE 189:176 qpbk
NORMALIZED_COORDS 191:191 qpbk
COLOR_KEY_OP 192:192 qk
TRILIN_OPT 197:193 qpbk
MIP_LOD_BIAS 210:198 qpbk
ANISO_BIAS 214:211 qpbk
ANISO_FINE_SPREAD_FUNC 216:215 qpbk
ANISO_COARSE_SPREAD_FUNC 218:217 qpbk
MAX_ANISOTROPY 221:219 qpbk
ANISO_FINE_SPREAD_MODIFIER 223:222 qpbk
RES_VIEW_MIN_MIP_LEVEL 227:224 pb
RES_VIEW_MAX_MIP_LEVEL 231:228 pb
MULTI_SAMPLE_COUNT 235:232 pb
MIN_LOD_CLAMP 247:236 pb
COLOR_KEY_VALUE 255:224 qk
"""

# NAME word.hi:lo layouts   (1 first, 2 second and 3 third header format of Fermi and Kepler)
_OLDER = """
COMPONENT_SIZES 0.5:0 123
R_DATA_TYPE 0.8:6 123
G_DATA_TYPE 0.11:9 123
B_DATA_TYPE 0.14:12 123
A_DATA_TYPE 0.17:15 123
X_SOURCE 0.20:18 123
Y_SOURCE 0.23:21 123
Z_SOURCE 0.26:24 123
W_SOURCE 0.29:27 123
PACK_COMPONENTS 0.30:30 123
USE_COMPONENT_SIZES_EXTENDED 0.31:31 123
OFFSET_LOWER 1.31:0 123
OFFSET_UPPER 2.7:0 123
ANISO_SPREAD_MAX_LOG2_L_S_B 2.9:8 123
S_R_G_B_CONVERSION 2.10:10 123
ANISO_SPREAD_MAX_LOG2_M_S_B 2.11:11 123
LOD_ANISO_QUALITY2 2.12:12 123
COLOR_KEY_OP 2.13:13 123
TEXTURE_TYPE 2.17:14 123
MEMORY_LAYOUT 2.18:18 123
GOBS_PER_BLOCK_WIDTH 2.21:19 123
GOBS_PER_BLOCK_HEIGHT 2.24:22 123
GOBS_PER_BLOCK_DEPTH 2.27:25 123
SECTOR_PROMOTION 2.29:28 123
BORDER_SOURCE 2.30:30 123
NORMALIZED_COORDS 2.31:31 123
PITCH 3.19:0 123
LOD_ANISO_QUALITY 3.20:20 123
LOD_ISO_QUALITY 3.21:21 123
ANISO_COARSE_SPREAD_MODIFIER 3.23:22 123
ANISO_SPREAD_SCALE 3.28:24 123
USE_HEADER_OPT_CONTROL 3.29:29 123
WIDTH 4.29:0 123
DEPTH_TEXTURE 4.30:30 123
USE_TEXTURE_HEADER_VERSION2 4.31:31 123
HEIGHT 5.15:0 123
DEPTH 5.27:16 123
MAX_MIP_LEVEL 5.31:28 123
TRILIN_OPT 6.4:0 123
MIP_LOD_BIAS 6.17:5 123
ANISO_BIAS 6.22:19 123
ANISO_FINE_SPREAD_FUNC 6.24:23 123
ANISO_COARSE_SPREAD_FUNC 6.26:25 123
MAX_ANISOTROPY 6.29:27 123
ANISO_FINE_SPREAD_MODIFIER 6.31:30 123
COLOR_KEY_VALUE 7.31:0 1
RES_VIEW_MIN_MIP_LEVEL 7.3:0 23
RES_VIEW_MAX_MIP_LEVEL 7.7:4 23
HEIGHT_MSB 7.8:8 23
MULTI_SAMPLE_COUNT 7.15:12 23
MIN_LOD_CLAMP 7.27:16 23
DEPTH_MSB 7.30:28 23
"""

_SAMPLER = """
ADDRESS_U 0.2:0 s
ADDRESS_V 0.5:3 s
ADDRESS_P 0.8:6 s
DEPTH_COMPARE 0.9:9 s
DEPTH_COMPARE_FUNC 0.12:10 s
S_R_G_B_CONVERSION 0.13:13 s
MAX_ANISOTROPY 0.22:20 s
MAG_FILTER 1.2:0 s
MIN_LOD_CLAMP_BEHAVIOR_FOR_NEAREST_MIP 1.3:3 s
MIN_FILTER 1.5:4 s
MIP_FILTER 1.7:6 s
CUBEMAP_INTERFACE_FILTERING 1.9:8 s
REDUCTION_FILTER 1.11:10 s
MIP_LOD_BIAS 1.24:12 s
FLOAT_COORD_NORMALIZATION 1.25:25 s
TRILIN_OPT 1.30:26 s
MIN_LOD_CLAMP 2.11:0 s
MAX_LOD_CLAMP 2.23:12 s
S_R_G_B_BORDER_COLOR_R 2.31:24 s
S_R_G_B_BORDER_COLOR_G 3.19:12 s
S_R_G_B_BORDER_COLOR_B 3.27:20 s
BORDER_COLOR_R 4.31:0 s
BORDER_COLOR_G 5.31:0 s
BORDER_COLOR_B 6.31:0 s
BORDER_COLOR_A 7.31:0 s
"""


def _rows(text: str, letter: str) -> tuple[HeaderField, ...]:
    """A layout's rows in bit order, gaps filled with reserved ones."""
    found: list[HeaderField] = []
    for line in text.strip().splitlines():
        name, place, layouts = line.split()
        if letter not in layouts:
            continue
        word, dot, bits = place.rpartition(".")
        base = 32 * int(word) if dot else 0
        hi, lo = (base + int(n) for n in bits.split(":"))
        found.append(HeaderField(name, Field(hi, lo)))
    return _filled(sorted(found, key=lambda row: row.bits.lo))


def _filled(rows: list[HeaderField]) -> tuple[HeaderField, ...]:
    out, at = [], 0
    for row in [*rows, HeaderField("END", Field(HEADER_BITS, HEADER_BITS))]:
        if row.bits.lo > at:
            out.append(HeaderField(f"RESERVED_{row.bits.lo - 1}_{at}", Field(row.bits.lo - 1, at)))
        if row.bits.lo < HEADER_BITS:
            out.append(row)
        at = row.bits.hi + 1
    return tuple(out)


LAYOUTS: dict[str, tuple[HeaderField, ...]] = {
    **{v: _rows(_MAXWELL, letter) for v, letter in zip(VERSIONS, "1qpbk", strict=True)},
    **{f"OLD_V{letter}": _rows(_OLDER, letter) for letter in "123"},
}
"""Header layout -> its rows; the OLD ones (Fermi, Kepler) carry no version of their own."""

SAMPLER_ROWS = _rows(_SAMPLER, "s")

VERSION_BITS = Field(87, 85)

_ANISO = tuple(f"ANISO_{n}_TO_1" for n in (1, 2, 4, 6, 8, 10, 12, 16))
_ADDRESS = (
    "WRAP", "MIRROR", "CLAMP_TO_EDGE", "BORDER", "CLAMP_OGL", "MIRROR_ONCE_CLAMP_TO_EDGE",
    "MIRROR_ONCE_BORDER", "MIRROR_ONCE_CLAMP_OGL",
)  # fmt: skip
_SPREAD = ("SPREAD_FUNC_HALF", "SPREAD_FUNC_ONE", "SPREAD_FUNC_TWO", "SPREAD_FUNC_MAX")
_SPREAD_MODIFIER = (
    "SPREAD_MODIFIER_NONE", "SPREAD_MODIFIER_CONST_ONE", "SPREAD_MODIFIER_CONST_TWO",
    "SPREAD_MODIFIER_SQRT",
)  # fmt: skip
_GOBS = ("ONE_GOB", "TWO_GOBS", "FOUR_GOBS", "EIGHT_GOBS", "SIXTEEN_GOBS", "THIRTYTWO_GOBS")
_BORDER = (
    "BORDER_SIZE_ONE", "BORDER_SIZE_TWO", "BORDER_SIZE_FOUR", "BORDER_SIZE_EIGHT", "", "", "",
    "BORDER_SAMPLER_COLOR",
)  # fmt: skip

VALUE_NAMES: dict[str, tuple[str, ...]] = {
    "HEADER_VERSION": VERSIONS,
    "GOBS_PER_BLOCK_WIDTH": _GOBS,
    "GOBS_PER_BLOCK_HEIGHT": _GOBS,
    "GOBS_PER_BLOCK_DEPTH": _GOBS,
    "SECTOR_PROMOTION": ("NO_PROMOTION", "PROMOTE_TO_2_V", "PROMOTE_TO_2_H", "PROMOTE_TO_4"),
    "BORDER_SIZE": _BORDER,
    "MAX_ANISOTROPY": _ANISO,
    "ANISO_FINE_SPREAD_FUNC": _SPREAD,
    "ANISO_COARSE_SPREAD_FUNC": _SPREAD,
    "ANISO_FINE_SPREAD_MODIFIER": _SPREAD_MODIFIER,
    "ANISO_COARSE_SPREAD_MODIFIER": _SPREAD_MODIFIER,
    "MEMORY_LAYOUT": ("BLOCKLINEAR", "PITCH"),
    "BORDER_SOURCE": ("BORDER_TEXTURE", "BORDER_COLOR"),
    "ADDRESS_U": _ADDRESS,
    "ADDRESS_V": _ADDRESS,
    "ADDRESS_P": _ADDRESS,
    "DEPTH_COMPARE_FUNC": (
        "ZC_NEVER", "ZC_LESS", "ZC_EQUAL", "ZC_LEQUAL", "ZC_GREATER", "ZC_NOTEQUAL", "ZC_GEQUAL",
        "ZC_ALWAYS",
    ),
    "MAG_FILTER": ("", "MAG_POINT", "MAG_LINEAR", "VCAA_4_TAP", "VCAA_8_TAP"),
    "MIN_FILTER": ("", "MIN_POINT", "MIN_LINEAR", "MIN_ANISO"),
    "MIP_FILTER": ("", "MIP_NONE", "MIP_POINT", "MIP_LINEAR"),
    "CUBEMAP_INTERFACE_FILTERING": (
        "USE_WRAP", "OVERRIDE_WRAP", "AUTO_SPAN_SEAM", "AUTO_CROSS_SEAM",
    ),
    "REDUCTION_FILTER": ("RED_NONE", "RED_MINIMUM", "RED_MAXIMUM"),
    "FLOAT_COORD_NORMALIZATION": ("USE_HEADER_SETTING", "FORCE_UNNORMALIZED_COORDS"),
}  # fmt: skip
"""Field -> names of its values by number; "" where a number has none."""


def value_name(field: str, value: int) -> str:
    """The name of a field's value, or "" where the class headers give none."""
    names = VALUE_NAMES.get(field, ())
    return names[value] if value < len(names) else ""
