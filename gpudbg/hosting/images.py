"""CUDA arrays on the device, and what textures and surfaces show of them.

An array is a block-linear surface in device memory; textures and surfaces are headers that lead to
the same memory, as do those of linear and pitched memory.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError
from gpudbg.hosting.cuda_errors import INVALID_VALUE, NOT_SUPPORTED, CudaError
from gpudbg.mem.surface import SurfaceLayout, fitting_block, layout_of
from gpudbg.regs.texformats import BY_NAME
from gpudbg.regs.texheader import Sampler, TextureHeader, encode_header, encode_sampler
from gpudbg.sm.images.pools import query_values

if TYPE_CHECKING:
    from gpudbg.hosting.process import HostProcess
    from gpudbg.mem.device import Allocation
    from gpudbg.sm.images.pools import ImagePools

LAYERED, LOAD_STORE, CUBEMAP = 1, 2, 4
"""Flags of arrays; the two APIs share them."""
_NAMES = {
    (1, 1): "R8", (1, 2): "G8R8", (1, 4): "A8B8G8R8",
    (2, 1): "R16", (2, 2): "R16_G16", (2, 4): "R16_G16_B16_A16",
    (4, 1): "R32", (4, 2): "R32_G32", (4, 4): "R32_G32_B32_A32",
}  # fmt: skip
"""(Bytes of a channel, channels) -> texel format."""
_TYPES = {"u": "UINT", "i": "SINT", "f": "FLOAT"}
_NORMALIZED = {"u": "UNORM", "i": "SNORM", "f": "FLOAT"}
FORMATS = {1: "u1", 2: "u2", 3: "u4", 8: "i1", 9: "i2", 10: "i4", 16: "f2", 32: "f4"}
"""CUarray_format -> kind of a channel and its bytes."""
NUMBERS = {text: number for number, text in FORMATS.items()}
_ADDRESS = (0, 2, 1, 3)
"""CUaddress_mode (wrap, clamp, mirror, border) -> the sampler's number."""
_CUBE_FACES = 6

Box = npt.NDArray[np.uint8]
"""Bytes by (slice, row, place in the row)."""


@dataclass(frozen=True, slots=True)
class ChannelFormat:
    """What a texel is.

    Attributes:
        kind: "u", "i" or "f", and the bytes of a channel: "u1" .. "f4".
        channels: of a texel.
    """

    kind: str
    channels: int

    @property
    def texel(self) -> int:
        """Bytes of a texel."""
        return int(self.kind[1]) * self.channels

    @property
    def components(self) -> int:
        """Its number in headers.

        Raises:
            CudaError: no header has it.
        """
        name = _NAMES.get((int(self.kind[1]), self.channels))
        if name is None:
            raise CudaError(INVALID_VALUE)
        return BY_NAME[name].code

    def types(self, normalized: bool) -> tuple[str, str, str, str]:
        """How a fetch reads it."""
        small = int(self.kind[1]) < 4
        name = (_NORMALIZED if normalized and small else _TYPES)[self.kind[0]]
        return name, name, name, name


@dataclass(slots=True, eq=False)
class CudaArray:
    """An array, or one level of a mipmapped one.

    Attributes:
        address: of its memory on the device.
        allocation: that memory.
        format: of its texels.
        extent: width, height and depth as the program gave them; 0 for what it has not.
        flags: as given.
        header: of a texture of all of it.
        level: which level it is.
        parent: handle of the mipmapped array that it is of, or 0.
    """

    address: int
    allocation: Allocation
    format: ChannelFormat
    extent: tuple[int, int, int]
    flags: int
    header: TextureHeader
    level: int = 0
    parent: int = 0

    @property
    def levels(self) -> int:
        """Levels of the memory it is in."""
        return self.header.max_mip_level + 1

    @property
    def layout(self) -> SurfaceLayout:
        """Where its texels lie."""
        return layout_of(self.header, self.level)

    @property
    def own_header(self) -> TextureHeader:
        """The header of a texture or surface of it: of one level where it is one.

        Raises:
            CudaError: a level of an array with layers, which lie as far apart as all levels take.
        """
        if not self.parent:
            return self.header
        layout = self.layout
        if layout.layers > 1:
            raise CudaError(NOT_SUPPORTED, "one level of a mipmapped array with layers")
        return replace(
            self.header,
            address=self.header.address + layout.start,
            width=layout.width,
            height=layout.height,
            depth=layout.depth,
            block_height_log2=layout.height_log2,
            block_depth_log2=layout.depth_log2,
            max_mip_level=0,
            view_mip_levels=(0, 0),
        )

    def places(self, x: int, y: int, z: int, width: int, height: int, depth: int) -> npt.NDArray:  # type: ignore[type-arg]
        """Offsets of the bytes of a box; x and width are bytes.

        Raises:
            CudaError: it reaches outside.
        """
        layout = self.layout
        deep = layout.layers * layout.depth
        if x + width > layout.row_bytes or y + height > layout.height or z + depth > deep:
            raise CudaError(INVALID_VALUE)
        slices, rows, row = np.ix_(
            np.arange(z, z + depth), np.arange(y, y + height), np.arange(x, x + width)
        )
        if layout.layers > 1:
            return np.asarray(layout.offset(row, rows, layer=slices))
        return np.asarray(layout.offset(row, rows, slices))

    def of_level(self, level: int, parent: int) -> CudaArray:
        """One of its levels."""
        width, height, depth = (max(n >> level, 1) if n else 0 for n in self.extent)
        if self.flags & (LAYERED | CUBEMAP):
            depth = self.extent[2]
        extent = width, height, depth
        return replace(self, extent=extent, level=level, parent=parent)


def make_array(
    process: HostProcess,
    format: ChannelFormat,  # noqa: A002 - CUDA's word
    extent: tuple[int, int, int],
    flags: int,
    levels: int = 1,
) -> CudaArray:
    """A new array.

    Raises:
        CudaError: no array has these sizes, or there is no room.
    """
    width, height, depth = extent
    kind = _kind(extent, flags)
    high, deep = fitting_block(max(height, 1), max(depth, 1) if kind == "THREE_D" else 1)
    header = TextureHeader(
        version="BLOCKLINEAR",
        components=format.components,
        types=format.types(False),
        sources=("R", "G", "B", "A"),
        texture_type=kind,
        address=0,
        width=width,
        height=max(height, 1),
        depth=max(depth // _CUBE_FACES if flags & CUBEMAP else depth, 1),
        block_height_log2=high,
        block_depth_log2=deep,
        max_mip_level=levels - 1,
        view_mip_levels=(0, levels - 1),
        border_color=True,
    )
    layout = layout_of(header)
    size = layout.layers * layout.layer_bytes if levels > 1 else layout.nbytes
    base = process.machine.allocate(process, size, "cudaMallocArray")
    header = replace(header, address=base)
    memory = process.machine.allocations[base]
    return CudaArray(base, memory, format, extent, flags, header)


def _kind(extent: tuple[int, int, int], flags: int) -> str:
    width, height, depth = extent
    layered = flags & LAYERED
    if not width or (depth and not height and not layered):
        raise CudaError(INVALID_VALUE)
    if flags & CUBEMAP:
        if width != height or depth % _CUBE_FACES or (depth != _CUBE_FACES and not layered):
            raise CudaError(INVALID_VALUE)
        return "CUBEMAP_ARRAY" if layered else "CUBEMAP"
    if layered:
        if not depth:
            raise CudaError(INVALID_VALUE)
        return "TWO_D_ARRAY" if height else "ONE_D_ARRAY"
    return "THREE_D" if depth else "TWO_D" if height else "ONE_D"


@dataclass(frozen=True, slots=True)
class TextureSettings:
    """How a texture is read.

    Attributes:
        address: CUaddress_mode by axis.
        linear: filters between texels.
        normalized_reads: integers become floats from 0 or -1 to 1.
        normalized: coordinates go from 0 to 1.
        srgb: colours are sRGB.
        border: colour outside.
        mip_linear: filters between levels.
        bias: of the level.
        levels: least and greatest level.
    """

    address: tuple[int, int, int] = (1, 1, 1)
    linear: bool = False
    normalized_reads: bool = False
    normalized: bool = False
    srgb: bool = False
    border: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    mip_linear: bool = False
    bias: float = 0.0
    levels: tuple[float, float] = (0.0, 0.0)


@dataclass(slots=True, eq=False)
class HostImage:
    """A texture or surface object.

    Attributes:
        handle: what kernels get.
        kind: "texture" or "surface".
        pools: where its header is.
        resource, settings, view: the structures it was made of.
    """

    handle: int
    kind: str
    pools: ImagePools
    resource: bytes = b""
    settings: bytes = b""
    view: bytes = b""

    def close(self) -> None:
        """It is no longer used."""
        sampler = self.handle >> 20 if self.kind == "texture" else None
        self.pools.remove(self.handle & 0xFFFFF, sampler)


def linear_header(format: ChannelFormat, address: int, width: int) -> TextureHeader:  # noqa: A002
    """The header of linear memory."""
    return TextureHeader(
        version="ONE_D_BUFFER",
        components=format.components,
        types=format.types(False),
        sources=("R", "G", "B", "A"),
        texture_type="ONE_D_BUFFER",
        address=address,
        width=width,
    )


def pitch_header(
    format: ChannelFormat,  # noqa: A002
    address: int,
    width: int,
    height: int,
    pitch: int,
) -> TextureHeader:
    """The header of pitched memory."""
    return TextureHeader(
        version="PITCH",
        components=format.components,
        types=format.types(False),
        sources=("R", "G", "B", "A"),
        texture_type="TWO_D_NO_MIPMAP",
        address=address,
        width=width,
        height=height,
        pitch=pitch,
        border_color=True,
    )


def enter_texture(
    pools: ImagePools,
    header: TextureHeader,
    format: ChannelFormat,  # noqa: A002
    settings: TextureSettings,
    name: str,
) -> int:
    """Handle of a texture.

    Raises:
        CudaError: the unit has no such texture.
    """
    flat = header.version == "ONE_D_BUFFER"
    integers = format.kind[0] != "f"
    small = int(format.kind[1]) < 4
    normalized_reads = settings.normalized_reads and small
    if settings.linear and integers and not normalized_reads and not flat:
        raise CudaError(INVALID_VALUE, "a linear filter of a texture that is read as integers")
    made = replace(
        header,
        types=format.types(normalized_reads),
        normalized=settings.normalized and not flat,
        srgb=settings.srgb,
    )
    cube = header.texture_type.startswith("CUBE")
    modes = tuple(_ADDRESS[n] if n < len(_ADDRESS) else 2 for n in settings.address)
    if not settings.normalized and not cube:
        # Wrap and mirror are for normalized coordinates.
        modes = tuple(n if n in (2, 3) else 2 for n in modes)
    bits = np.array(settings.border, np.float32).view(np.uint32).tolist()
    sampler = Sampler(
        address=(modes[0], modes[1], modes[2]),
        mag_filter=2 if settings.linear else 1,
        min_filter=2 if settings.linear else 1,
        mip_filter=1 if not header.max_mip_level else 3 if settings.mip_linear else 2,
        lod_bias=settings.bias,
        lod_range=settings.levels if header.max_mip_level else (0.0, 0.0),
        border=(bits[0], bits[1], bits[2], bits[3]),
    )
    try:
        encoded, sampling = encode_header(made), encode_sampler(sampler)
        index = pools.add_header(encoded, name)
        handle = index | pools.add_sampler(sampling) << 20
    except UsageError as error:
        raise CudaError(INVALID_VALUE, f"{name}: {error}") from error
    pools.describe("texref", index, _described(encoded, format, settings))
    return handle


def enter_surface(pools: ImagePools, array: CudaArray, name: str) -> int:
    """Handle of a surface.

    Raises:
        CudaError: the array is not for surfaces.
    """
    header = array.own_header
    if header.texture_type.startswith("CUBE"):
        header = replace(header, texture_type="TWO_D_ARRAY", depth=header.layers)
    try:
        encoded = encode_header(header)
        index = pools.add_header(encoded, name)
    except UsageError as error:
        raise CudaError(INVALID_VALUE, f"{name}: {error}") from error
    pools.describe("surfref", index, _described(encoded, array.format, TextureSettings()))
    return index


def _described(
    header: TextureHeader,
    format: ChannelFormat,  # noqa: A002
    settings: TextureSettings,
) -> dict[str, int]:
    """What PTX queries answer that have no instruction."""
    kind = NUMBERS[format.kind]
    return query_values(
        header, settings.address, settings.linear, settings.normalized, kind, format.channels
    )
