"""Texture headers and samplers as plain records: what the surface and texture unit reads.

A header is 256 bits, eight little-endian words; HEADER_VERSION says which of five layouts
(`texfields.py`) it has.  A sampler is 256 bits of one layout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpudbg.bits import Field
from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError
from gpudbg.regs.texfields import (
    HEADER_BITS,
    HEADER_BYTES,
    LAYOUTS,
    SAMPLER_ROWS,
    VERSION_BITS,
    VERSIONS,
    HeaderField,
)
from gpudbg.regs.texformats import AXES, DATA_TYPES, FORMATS, SOURCES, TEXTURE_TYPES, TexelFormat

COMPONENTS = "RGBA"
MAX_WIDTH = 1 << 16
MAX_BUFFER_WIDTH = 1 << 32
MAX_DEPTH = 1 << 14
MAX_PITCH = 1 << 21
MAX_GOBS_LOG2 = 5
BORDER_SAMPLER_COLOR = 7
ALIGNMENT = {"ONE_D_BUFFER": 1, "PITCH": 32, "BLOCKLINEAR": 512}
"""Header version without colour key -> alignment of the surface's address, bytes."""


def pack_words(words: Sequence[int]) -> int:
    """Eight 32-bit words as one 256-bit number, the first word lowest.

    Raises:
        UsageError: not eight words of 32 bits.
    """
    if len(words) != HEADER_BYTES // 4 or any(not 0 <= w < 1 << 32 for w in words):
        raise UsageError(f"a header is 8 words of 32 bits, not {len(words)}")
    return sum(word << 32 * n for n, word in enumerate(words))


def split_words(value: int) -> tuple[int, ...]:
    """The eight words of a 256-bit number."""
    return tuple(value >> 32 * n & 0xFFFF_FFFF for n in range(8))


def fields_of(rows: Sequence[HeaderField], value: int) -> dict[str, int]:
    """Every named field, by masks."""
    return {row.name: row.bits.get(value) for row in rows if not row.reserved}


def fill(rows: Sequence[HeaderField], values: Mapping[str, int]) -> int:
    """The 256 bits with the given fields, others 0.

    Raises:
        UsageError: no such field, or a value that does not fit its bits.
    """
    places = {row.name: row.bits for row in rows}
    value = 0
    for name, number in values.items():
        if name not in places:
            raise UsageError(f"no field {name} in this header")
        bits: Field = places[name]
        if not 0 <= number < 1 << bits.width:
            raise UsageError(f"{number} does not fit {name}, {bits.width} bits")
        value = bits.put(value, number)
    return value


@dataclass(frozen=True, slots=True)
class TextureHeader:
    """A texture header's meaning.

    Attributes:
        version: HEADER_VERSION, one of `VERSIONS`.
        components: component-sizes code (`texformats.FORMATS`).
        types: data types of R G B A by name; "" where the number has none.
        sources: what X Y Z W of a fetch read, by name.
        texture_type: one of `TEXTURE_TYPES`, or "" for a number without a name.
        address: of the first byte.
        width, height, depth: in texels; depth is the layers of arrays.
        pitch: bytes from row to row (pitch versions), else 0.
        block_width_log2, block_height_log2, block_depth_log2: GOBs of a block (block linear).
        max_mip_level: last mip level that exists.
        view_mip_levels: first and last level a view shows.
        normalized: texture coordinates go from 0 to 1.
        srgb: colour components are converted from sRGB.
        border_color: accesses to the border take the sampler's colour.
        samples_log2: MULTI_SAMPLE_COUNT, 0 for one sample.
        raw: the 256 bits.
    """

    version: str
    components: int
    types: tuple[str, str, str, str]
    sources: tuple[str, str, str, str]
    texture_type: str
    address: int
    width: int
    height: int = 1
    depth: int = 1
    pitch: int = 0
    block_width_log2: int = 0
    block_height_log2: int = 0
    block_depth_log2: int = 0
    max_mip_level: int = 0
    view_mip_levels: tuple[int, int] = (0, 0)
    normalized: bool = False
    srgb: bool = False
    border_color: bool = False
    samples_log2: int = 0
    raw: int = 0

    @property
    def layout(self) -> str:
        """The version without its colour key: ONE_D_BUFFER, PITCH or BLOCKLINEAR."""
        return self.version.removesuffix("_COLOR_KEY")

    @property
    def format(self) -> TexelFormat:
        """The texel format; one without a name for unknown codes."""
        return FORMATS.get(self.components) or TexelFormat(
            f"0x{self.components:02x}", self.components
        )

    @property
    def axes(self) -> str:
        """The coordinates the surface has: some of "xyzl"."""
        return AXES.get(self.texture_type, "x")

    @property
    def layers(self) -> int:
        """Array layers; faces of cubes count each."""
        if self.texture_type.startswith("CUBEMAP"):
            return 6 * self.depth
        return self.depth if "l" in self.axes else 1

    @property
    def slices(self) -> int:
        """Depth along z."""
        return self.depth if "z" in self.axes else 1

    @property
    def type_name(self) -> str:
        """The type of R, which stands for all in most formats."""
        return self.types[0]

    def words(self) -> tuple[int, ...]:
        """The header as eight words."""
        return split_words(self.raw)


def decode_header(words: Sequence[int]) -> TextureHeader | None:
    """What a header says; None for HEADER_VERSION 5 to 7, which do not exist.

    Raises:
        UsageError: not eight words of 32 bits.
    """
    value = pack_words(words)
    number = VERSION_BITS.get(value)
    if number >= len(VERSIONS):
        return None
    f = fields_of(LAYOUTS[VERSIONS[number]], value)
    buffer = number == 0
    address = (
        f.get("ADDRESS_BITS31TO0", 0)
        | f.get("ADDRESS_BITS31TO5", 0) << 5
        | f.get("ADDRESS_BITS31TO9", 0) << 9
        | f["ADDRESS_BITS47TO32"] << 32
    )
    wide = f.get("WIDTH_MINUS_ONE_BITS31TO16", 0) << 16 | f.get("WIDTH_MINUS_ONE_BITS15TO0", 0)
    kind = f["TEXTURE_TYPE"]
    types = tuple(DATA_TYPES[f[f"{c}_DATA_TYPE"]] for c in COMPONENTS)
    sources = tuple(SOURCES[f[f"{c}_SOURCE"]] for c in "XYZW")
    return TextureHeader(
        version=VERSIONS[number],
        components=f["COMPONENTS"],
        types=(types[0], types[1], types[2], types[3]),
        sources=(sources[0], sources[1], sources[2], sources[3]),
        texture_type=TEXTURE_TYPES[kind] if kind < len(TEXTURE_TYPES) else "",
        address=address,
        width=(wide if buffer else f["WIDTH_MINUS_ONE"]) + 1,
        height=f.get("HEIGHT_MINUS_ONE", 0) + 1,
        depth=f.get("DEPTH_MINUS_ONE", 0) + 1,
        pitch=f.get("PITCH_BITS20TO5", 0) << 5,
        block_width_log2=f.get("GOBS_PER_BLOCK_WIDTH", 0),
        block_height_log2=f.get("GOBS_PER_BLOCK_HEIGHT", 0),
        block_depth_log2=f.get("GOBS_PER_BLOCK_DEPTH", 0),
        max_mip_level=f.get("MAX_MIP_LEVEL", 0),
        view_mip_levels=(f.get("RES_VIEW_MIN_MIP_LEVEL", 0), f.get("RES_VIEW_MAX_MIP_LEVEL", 0)),
        normalized=bool(f.get("NORMALIZED_COORDS", 0)),
        srgb=bool(f["S_R_G_B_CONVERSION"]),
        border_color=f.get("BORDER_SIZE", 0) == BORDER_SAMPLER_COLOR,
        samples_log2=f.get("MULTI_SAMPLE_COUNT", 0),
        raw=value,
    )


def encode_header(header: TextureHeader) -> TextureHeader:
    """The header with its 256 bits worked out from the other attributes.

    Raises:
        UsageError: a value that the layout cannot hold.
    """
    rows = LAYOUTS[header.version]
    names = {row.name for row in rows}
    align = ALIGNMENT[header.layout]
    if header.address % align:
        raise UsageError(
            f"address 0x{header.address:x} of a {header.version} header: {align} bytes aligned"
        )
    if header.pitch % 32:
        raise UsageError(f"a pitch of {header.pitch} bytes is no multiple of 32")
    wide = header.width - 1
    values = {
        "COMPONENTS": header.components,
        **{
            f"{c}_DATA_TYPE": DATA_TYPES.index(t) for c, t in zip("RGBA", header.types, strict=True)
        },
        **{f"{c}_SOURCE": SOURCES.index(s) for c, s in zip("XYZW", header.sources, strict=True)},
        "ADDRESS_BITS31TO0": header.address & 0xFFFF_FFFF,
        "ADDRESS_BITS31TO5": (header.address & 0xFFFF_FFFF) >> 5,
        "ADDRESS_BITS31TO9": (header.address & 0xFFFF_FFFF) >> 9,
        "ADDRESS_BITS47TO32": header.address >> 32,
        "HEADER_VERSION": VERSIONS.index(header.version),
        "TEXTURE_TYPE": TEXTURE_TYPES.index(header.texture_type),
        "WIDTH_MINUS_ONE": wide,
        "WIDTH_MINUS_ONE_BITS15TO0": wide & 0xFFFF,
        "WIDTH_MINUS_ONE_BITS31TO16": wide >> 16,
        "HEIGHT_MINUS_ONE": header.height - 1,
        "DEPTH_MINUS_ONE": header.depth - 1,
        "PITCH_BITS20TO5": header.pitch >> 5,
        "GOBS_PER_BLOCK_WIDTH": header.block_width_log2,
        "GOBS_PER_BLOCK_HEIGHT": header.block_height_log2,
        "GOBS_PER_BLOCK_DEPTH": header.block_depth_log2,
        "MAX_MIP_LEVEL": header.max_mip_level,
        "RES_VIEW_MIN_MIP_LEVEL": header.view_mip_levels[0],
        "RES_VIEW_MAX_MIP_LEVEL": header.view_mip_levels[1],
        "NORMALIZED_COORDS": int(header.normalized),
        "S_R_G_B_CONVERSION": int(header.srgb),
        "BORDER_SIZE": BORDER_SAMPLER_COLOR if header.border_color else 0,
        "MULTI_SAMPLE_COUNT": header.samples_log2,
    }
    return replace(header, raw=fill(rows, {k: v for k, v in values.items() if k in names}))


@dataclass(frozen=True, slots=True)
class Sampler:
    """A texture sampler's meaning.

    Attributes:
        address: modes along u, v and p, as `texfields.VALUE_NAMES["ADDRESS_U"]` numbers them.
        mag_filter, min_filter: 1 point, 2 linear (3 anisotropic minification).
        mip_filter: 1 none, 2 point, 3 linear.
        depth_compare: reference values are compared.
        depth_function: 0 never, 1 less, 2 equal, 3 less or equal, 4 greater, ... 7 always.
        lod_bias: signed, in levels.
        lod_range: least and greatest level.
        force_unnormalized: coordinates are texels whatever the header says.
        border: R G B A, raw 32-bit words (float bits for float fetches).
        srgb, reduction, cube_filter: S_R_G_B_CONVERSION, REDUCTION_FILTER,
            CUBEMAP_INTERFACE_FILTERING.
        raw: the 256 bits.
    """

    address: tuple[int, int, int] = (2, 2, 2)
    mag_filter: int = 1
    min_filter: int = 1
    mip_filter: int = 1
    depth_compare: bool = False
    depth_function: int = 0
    lod_bias: float = 0.0
    lod_range: tuple[float, float] = (0.0, 0.0)
    force_unnormalized: bool = False
    border: tuple[int, int, int, int] = (0, 0, 0, 0)
    srgb: bool = False
    reduction: int = 0
    cube_filter: int = 3
    raw: int = 0


_LOD_STEPS = 256
"""LOD fields count in 1/256 levels."""
_BIAS_WIDTH = 13


def decode_sampler(words: Sequence[int]) -> Sampler:
    """What a sampler's eight words say.

    Raises:
        UsageError: not eight words of 32 bits.
    """
    value = pack_words(words)
    f = fields_of(SAMPLER_ROWS, value)
    bias = f["MIP_LOD_BIAS"]
    bias -= (bias >> (_BIAS_WIDTH - 1)) << _BIAS_WIDTH
    border = tuple(f[f"BORDER_COLOR_{c}"] for c in COMPONENTS)
    return Sampler(
        address=(f["ADDRESS_U"], f["ADDRESS_V"], f["ADDRESS_P"]),
        mag_filter=f["MAG_FILTER"],
        min_filter=f["MIN_FILTER"],
        mip_filter=f["MIP_FILTER"],
        depth_compare=bool(f["DEPTH_COMPARE"]),
        depth_function=f["DEPTH_COMPARE_FUNC"],
        lod_bias=bias / _LOD_STEPS,
        lod_range=(f["MIN_LOD_CLAMP"] / _LOD_STEPS, f["MAX_LOD_CLAMP"] / _LOD_STEPS),
        force_unnormalized=bool(f["FLOAT_COORD_NORMALIZATION"]),
        border=(border[0], border[1], border[2], border[3]),
        srgb=bool(f["S_R_G_B_CONVERSION"]),
        reduction=f["REDUCTION_FILTER"],
        cube_filter=f["CUBEMAP_INTERFACE_FILTERING"],
        raw=value,
    )


def encode_sampler(sampler: Sampler) -> Sampler:
    """The sampler with its 256 bits worked out from the other attributes.

    Raises:
        UsageError: a value that a field cannot hold.
    """
    values = {
        "ADDRESS_U": sampler.address[0],
        "ADDRESS_V": sampler.address[1],
        "ADDRESS_P": sampler.address[2],
        "MAG_FILTER": sampler.mag_filter,
        "MIN_FILTER": sampler.min_filter,
        "MIP_FILTER": sampler.mip_filter,
        "DEPTH_COMPARE": int(sampler.depth_compare),
        "DEPTH_COMPARE_FUNC": sampler.depth_function,
        "MIP_LOD_BIAS": round(sampler.lod_bias * _LOD_STEPS) & ((1 << _BIAS_WIDTH) - 1),
        "MIN_LOD_CLAMP": round(sampler.lod_range[0] * _LOD_STEPS),
        "MAX_LOD_CLAMP": round(sampler.lod_range[1] * _LOD_STEPS),
        "FLOAT_COORD_NORMALIZATION": int(sampler.force_unnormalized),
        "S_R_G_B_CONVERSION": int(sampler.srgb),
        "REDUCTION_FILTER": sampler.reduction,
        "CUBEMAP_INTERFACE_FILTERING": sampler.cube_filter,
        **{f"BORDER_COLOR_{c}": n for c, n in zip(COMPONENTS, sampler.border, strict=True)},
    }
    return replace(sampler, raw=fill(SAMPLER_ROWS, values))


HANDLE_HEADER = Field(19, 0)
HANDLE_SAMPLER = Field(31, 20)


def split_handle(handle: int) -> tuple[int, int]:
    """(header index, sampler index) of a packed handle: samplerPtr[31:20] | headerPtr[19:0]."""
    return HANDLE_HEADER.get(handle), HANDLE_SAMPLER.get(handle)


__all__ = [
    "HEADER_BITS",
    "HEADER_BYTES",
    "Sampler",
    "TextureHeader",
    "decode_header",
    "decode_sampler",
    "encode_header",
    "encode_sampler",
    "fields_of",
    "fill",
    "pack_words",
    "split_handle",
    "split_words",
]
