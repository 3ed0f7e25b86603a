"""Texel formats of Maxwell texture headers: component sizes code, bytes, bits of each component.

Names and codes are those of the class headers (`clb097tex.h`, TEXHEAD_BL_COMPONENTS_SIZES): the
first name of a packed format is its highest component (A8B8G8R8 has R in bits 7:0), names joined
by `_` are components in memory order.
"""

from __future__ import annotations

from typing import NamedTuple

from gpudbg.dataclass import dataclass


class TexelPart(NamedTuple):
    """One component: its letter, lowest bit in the texel, and bits."""

    component: str
    low: int
    width: int


@dataclass(frozen=True, slots=True)
class TexelFormat:
    """One component-sizes code.

    Attributes:
        name, code: as in the class headers.
        bytes: of one texel; 0 where texels are not addressed one by one (block compression).
        parts: components in order R G B A; empty where no conversion is modelled.
    """

    name: str
    code: int
    bytes: int = 0
    parts: tuple[TexelPart, ...] = ()

    @property
    def modelled(self) -> bool:
        """Whether texels can be read and written."""
        return bool(self.parts)


# name code parts, lowest bits first; "." skips bits.
_TABLE = """
R32_G32_B32_A32 01 R32 G32 B32 A32
R32_G32_B32     02 R32 G32 B32
R16_G16_B16_A16 03 R16 G16 B16 A16
R32_G32         04 R32 G32
R32_B24G8       05 R32 G8 B24
X8B8G8R8        07 R8 G8 B8 .8
A8B8G8R8        08 R8 G8 B8 A8
A2B10G10R10     09 R10 G10 B10 A2
R16_G16         0c R16 G16
G8R24           0d R24 G8
G24R8           0e R8 G24
R32             0f R32
A4B4G4R4        12 R4 G4 B4 A4
A5B5G5R1        13 R1 G5 B5 A5
A1B5G5R5        14 R5 G5 B5 A1
B5G6R5          15 R5 G6 B5
B6G5R5          16 R5 G5 B6
G8R8            18 R8 G8
R16             1b R16
R8              1d R8
G4R4            1e R4 G4
E5B9G9R9_SHAREDEXP 20 R9 G9 B9 E5
BF10GF11RF11    21 R11 G11 B10
ZF32            2f R32
Z16             3a R16
"""

_OTHERS = """
06 ETC2_RGB 0a ETC2_RGB_PTA 0b ETC2_RGBA 10 BC6H_SF16 11 BC6H_UF16 17 BC7U 19 EAC 1a EACX2
1c Y8_VIDEO 1f R1 22 G8B8G8R8 23 B8G8R8G8 24 DXT1 25 DXT23 26 DXT45 27 DXN1 28 DXN2 29 Z24S8
2a X8Z24 2b S8Z24 2c X4V4Z24__COV4R4V 2d X4V4Z24__COV8R8V 2e V8Z24__COV4R12V 30 ZF32_X24S8
31 X8Z24_X20V4S8__COV4R4V 32 X8Z24_X20V4S8__COV8R8V 33 ZF32_X20V4X8__COV4R4V
34 ZF32_X20V4X8__COV8R8V 35 ZF32_X20V4S8__COV4R4V 36 ZF32_X20V4S8__COV8R8V
37 X8Z24_X16V8S8__COV4R12V 38 ZF32_X16V8X8__COV4R12V 39 ZF32_X16V8S8__COV4R12V
3b V8Z24__COV8R24V 3c X8Z24_X16V8S8__COV8R24V 3d ZF32_X16V8X8__COV8R24V 3e ZF32_X16V8S8__COV8R24V
40 ASTC_2D_4X4 50 ASTC_2D_5X4 41 ASTC_2D_5X5 51 ASTC_2D_6X5 42 ASTC_2D_6X6 55 ASTC_2D_8X5
52 ASTC_2D_8X6 44 ASTC_2D_8X8 56 ASTC_2D_10X5 57 ASTC_2D_10X6 53 ASTC_2D_10X8 45 ASTC_2D_10X10
54 ASTC_2D_12X10 46 ASTC_2D_12X12
"""
"""Codes that are only named: compressed, video and multisample depth formats."""


def _parse(line: str) -> TexelFormat:
    name, code, *words = line.split()
    low, parts = 0, []
    for word in words:
        width = int(word[1:])
        if word[0] != ".":
            parts.append(TexelPart(word[0], low, width))
        low += width
    return TexelFormat(name, int(code, 16), low // 8, tuple(parts))


def _build() -> dict[int, TexelFormat]:
    made = [_parse(line) for line in _TABLE.strip().splitlines()]
    words = _OTHERS.split()
    made += [TexelFormat(n, int(c, 16)) for c, n in zip(words[::2], words[1::2], strict=True)]
    return {f.code: f for f in made}


FORMATS: dict[int, TexelFormat] = _build()
"""Component-sizes code -> format."""

BY_NAME: dict[str, TexelFormat] = {f.name: f for f in FORMATS.values()}

DATA_TYPES = ("", "SNORM", "UNORM", "SINT", "UINT", "SNORM_FORCE_FP16", "UNORM_FORCE_FP16", "FLOAT")
"""R/G/B/A_DATA_TYPE by number; 0 has no name."""

SOURCES = ("ZERO", "", "R", "G", "B", "A", "ONE_INT", "ONE_FLOAT")
"""X/Y/Z/W_SOURCE by number; 1 has no name."""

TEXTURE_TYPES = (
    "ONE_D", "TWO_D", "THREE_D", "CUBEMAP", "ONE_D_ARRAY", "TWO_D_ARRAY", "ONE_D_BUFFER",
    "TWO_D_NO_MIPMAP", "CUBEMAP_ARRAY",
)  # fmt: skip
"""TEXTURE_TYPE by number."""

AXES = {
    "ONE_D": "x", "TWO_D": "xy", "THREE_D": "xyz", "CUBEMAP": "xyl", "ONE_D_ARRAY": "xl",
    "TWO_D_ARRAY": "xyl", "ONE_D_BUFFER": "x", "TWO_D_NO_MIPMAP": "xy", "CUBEMAP_ARRAY": "xyl",
}  # fmt: skip
"""The coordinates a texture type has; l is the array layer (of cubes: 6 x cube + face)."""
