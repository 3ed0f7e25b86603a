"""Textures and surfaces made on a device: arrays in natural order, whatever the layout.

    surface = device.surface(array, dim="2d", layout="block_linear", block_height=4)
    texture = device.texture(array, dim="2d", filter="linear", normalized=True)
    program.launch("k", args=[surface, texture]);  surface.array()

Arrays have the slowest axis first (layers or z, then y, then x) and channels last.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass
from gpudbg.device.device import DeviceBuffer
from gpudbg.errors import CommandError, UsageError
from gpudbg.formats.launch import COMPARE
from gpudbg.mem.surface import SurfaceLayout, View, fitting_block, layout_of
from gpudbg.regs.texformats import BY_NAME, DATA_TYPES
from gpudbg.regs.texheader import (
    MAX_BUFFER_WIDTH,
    MAX_DEPTH,
    MAX_PITCH,
    MAX_WIDTH,
    Sampler,
    TextureHeader,
    encode_header,
    encode_sampler,
)
from gpudbg.sm.images.pools import query_values

if TYPE_CHECKING:
    from gpudbg.device.device import EmulatedDevice

Array = npt.NDArray[Any]

AXES = {
    "1d": 1, "1d_buffer": 1, "1d_array": 2, "2d": 2, "2d_array": 3, "3d": 3, "cube": 3,
    "cube_array": 3,
}  # fmt: skip
"""Dimension -> axes of an array, channels not counted."""
BY_AXES = {1: "1d", 2: "2d", 3: "3d"}

_TYPES = {
    "1d": "ONE_D", "1d_buffer": "ONE_D_BUFFER", "1d_array": "ONE_D_ARRAY", "2d": "TWO_D",
    "2d_array": "TWO_D_ARRAY", "3d": "THREE_D", "cube": "CUBEMAP", "cube_array": "CUBEMAP_ARRAY",
}  # fmt: skip
# (bytes of an element, channels) -> format; 8-byte elements are pairs of 32-bit components.
_FORMATS = {
    (1, 1): "R8", (1, 2): "G8R8", (1, 4): "A8B8G8R8",
    (2, 1): "R16", (2, 2): "R16_G16", (2, 4): "R16_G16_B16_A16",
    (4, 1): "R32", (4, 2): "R32_G32", (4, 3): "R32_G32_B32", (4, 4): "R32_G32_B32_A32",
    (8, 1): "R32_G32", (8, 2): "R32_G32_B32_A32",
}  # fmt: skip
_ADDRESS = {"wrap": 0, "mirror": 1, "clamp": 2, "border": 3}
_FILTER = {"point": 1, "linear": 2}
_CU_ADDRESS = {"wrap": 0, "clamp": 1, "mirror": 2, "border": 3}
_CU_FORMAT = {"u1": 1, "u2": 2, "u4": 3, "i1": 8, "i2": 9, "i4": 10, "f2": 16, "f4": 32}
"""What PTX queries answer: CUaddress_mode, and CUarray_format by NumPy kind and size."""
PITCH_UNIT = 256
"""Pitch of surfaces made here; 32 is the least, 256 what stores need on hardware (envytools)."""


@dataclass(frozen=True, slots=True)
class ImageOptions:
    """How a texture or surface is made.

    Attributes:
        dim: a key of `AXES`.
        layout: "block_linear", "pitch" or "" for the dimension's usual one.
        block_height, block_depth: GOBs of a block, a power of two up to 32; None picks.
        format, type: texel format and data type names for arrays of raw texels; "" by dtype.
        address: "clamp", "wrap", "mirror" or "border", one or one per axis.
        filter: "point" or "linear".
        normalized: coordinates from 0 to 1.
        read: "element" or "normalized_float".
        border: border colour, one number or four.
        srgb: colours are sRGB.
        compare: depth compare function, "less", "lequal", ...; "" compares nothing.
        mip_filter: "none", "point" or "linear".
    """

    dim: str
    layout: str = ""
    block_height: int | None = None
    block_depth: int | None = None
    format: str = ""
    type: str = ""
    address: str | Sequence[str] = "clamp"
    filter: str = "point"
    normalized: bool = False
    read: str = "element"
    border: float | Sequence[float] = 0.0
    srgb: bool = False
    compare: str = ""
    mip_filter: str = "none"


_MIP_FILTER = {"none": 1, "point": 2, "linear": 3}


def _choice(what: str, value: str, known: Mapping[str, int]) -> int:
    if value not in known:
        raise UsageError(f"{what} {value!r}", "one of " + ", ".join(known))
    return known[value]


def _log2(what: str, value: int | None, usual: int) -> int:
    if value is None:
        return usual
    if value not in (1, 2, 4, 8, 16, 32):
        raise UsageError(f"{what} of {value} GOBs", "1, 2, 4, 8, 16 or 32")
    return value.bit_length() - 1


class DeviceImage(DeviceBuffer):
    """A texture or surface on a device.

    Attributes:
        kind: "texture" or "surface".
        name: what listings call it.
        index: of its header in the pool.
        handle: what a kernel gets: samplerPtr[31:20] | headerPtr[19:0].
        header: its texture header.
        options: how it was made.
        channels: elements of a texel.
    """

    def __init__(
        self,
        device: EmulatedDevice,
        kind: str,
        name: str,
        levels: Sequence[Array],
        options: ImageOptions,
    ) -> None:
        array = levels[0]
        self.kind = kind
        self.name = name
        self.options = options
        self.channels = _channels(array, options)
        header = _header(kind, levels, options, self.channels)
        top = layout_of(header)
        size = top.layers * top.layer_bytes if header.max_mip_level else top.nbytes
        gpu = device.gpu
        allocation = gpu.memory.allocate(size, f"{kind} {name}", "image")
        super().__init__(device, allocation, array.dtype, array.shape)
        self._gpu = gpu
        self.header = encode_header(replace(header, address=allocation.base))
        self.index = gpu.images.add_header(self.header, name)
        self.handle = self.index
        if kind == "texture":
            self.handle |= gpu.images.add_sampler(_sampler(options, self.channels)) << 20
        gpu.images.describe(
            "texref" if kind == "texture" else "surfref", self.index, self._descriptor()
        )
        for n, level in enumerate(levels):
            self.write(level, n)

    def _keep(self, device: EmulatedDevice) -> None:
        """The device lists its images, and need not stay for them."""
        self._home = weakref.ref(device)

    @property
    def device(self) -> EmulatedDevice:
        """The device it is on.

        Raises:
            UsageError: that is gone.
        """
        found = self._home()
        if found is None:
            raise UsageError(f"the device of {self.name} is gone", "keep the device or a program")
        return found

    def layout(self, level: int = 0) -> SurfaceLayout:
        """The layout of a mip level: where each texel lies, in bytes from the level's first one.

        Args:
            level: 0 is the largest.
        """
        return layout_of(self.header, level)

    def array(self, level: int = 0, view: View = "vm") -> Array:
        """A copy of the texels now, in natural order.

        The shape is (layers or depth, height, width, channels), without the axes that the image
        does not have; a level is half as wide, high and deep as the one before.  The type is that
        of the array the image was made of.

        Args:
            level: of the mip levels, 0 the largest.
            view: order of bytes in a GOB of a block-linear image: "vm", as the SM addresses them,
                or "raw16bx2".

        Raises:
            UsageError: it was freed.
        """
        self.require_live()
        layout = self.layout(level)
        raw = np.ascontiguousarray(layout.read(self.allocation.data, view))
        return np.frombuffer(raw.tobytes(), self.dtype).reshape(self._shape(layout)).copy()

    def write(self, array: npt.ArrayLike, level: int = 0) -> None:
        """Replace the texels of a level.

        Args:
            array: texels in natural order, converted to the image's type; of any shape with as
                many bytes as `array(level)` has.
            level: of the mip levels, 0 the largest.

        Raises:
            UsageError: the array has another number of bytes, or the image was freed.
        """
        self.require_live()
        layout = self.layout(level)
        host = np.ascontiguousarray(np.asarray(array, self.dtype))
        wanted = int(np.prod(self._shape(layout))) * self.dtype.itemsize
        if host.nbytes != wanted:
            raise UsageError(f"{host.nbytes} bytes do not fill {wanted} of {self.name}")
        layout.write(self.allocation.writable(), np.frombuffer(host.tobytes(), np.uint8))

    def free(self) -> None:
        """Give its memory and its place among the headers back.

        Raises:
            UsageError: it was freed before.
        """
        super().free()
        home = self._home()
        if home is not None and self in home.images:
            home.images.remove(self)
        sampler = self.handle >> 20 if self.kind == "texture" else None
        self._gpu.images.remove(self.index, sampler)

    def disable(self) -> None:
        """Disable the surface: from now on updates are dropped silently, and loads read 0.

        The texels stay as they are; `enable` undoes it.
        """
        self._gpu.images.disabled.add(self.index)

    def enable(self) -> None:
        """Undo `disable`: loads and updates reach the texels again."""
        self._gpu.images.disabled.discard(self.index)

    def _shape(self, layout: SurfaceLayout) -> tuple[int, ...]:
        """The array's shape at a level."""
        deep = layout.layers * layout.depth
        full = (deep, layout.height, layout.width)
        axes = AXES[self.options.dim]
        found = (deep, layout.width) if self.options.dim == "1d_array" else full[3 - axes :]
        return (*found, self.channels) if self.channels > 1 or self.has_channel_axis else found

    @property
    def has_channel_axis(self) -> bool:
        """Whether the array was given with a channel axis of length 1."""
        return len(self.shape) > AXES[self.options.dim]

    def _descriptor(self) -> dict[str, int]:
        """What PTX queries answer that have no instruction."""
        o = self.options
        modes = o.address if not isinstance(o.address, str) else [o.address] * 3
        kind = f"{self.dtype.kind}{self.dtype.itemsize}"
        return query_values(
            self.header,
            [_CU_ADDRESS[mode] for mode in modes],
            o.filter == "linear",
            o.normalized,
            _CU_FORMAT.get(kind, 0),
            self.channels,
        )

    def __repr__(self) -> str:
        sizes = "x".join(map(str, self.shape))
        return f"<{self.kind} {self.name}: {self.options.dim} {self.header.format.name} {sizes}>"


def _channels(array: Array, options: ImageOptions) -> int:
    """Elements of a texel: the length of the axis after the dimension's own."""
    if options.dim not in AXES:
        raise UsageError(f"dimension {options.dim!r}", "one of " + ", ".join(AXES))
    axes = AXES[options.dim]
    if array.ndim not in (axes, axes + 1) or array.size == 0:
        raise UsageError(
            f"an array of shape {array.shape} is no {options.dim} image",
            f"{axes} axes, and one of channels where there are several",
        )
    if options.dim.startswith("cube") and array.shape[0] % 6:
        raise UsageError(f"a cube has 6 faces, not {array.shape[0]}")
    return int(array.shape[axes]) if array.ndim > axes else 1


def _format(array: Array, options: ImageOptions, channels: int) -> tuple[str, str]:
    """(texel format, data type) names."""
    size, kind = array.dtype.itemsize, array.dtype.kind
    if options.format:
        found = BY_NAME.get(options.format)
        if found is None or not found.modelled:
            known = ", ".join(n for n, f in BY_NAME.items() if f.modelled)
            raise UsageError(f"texel format {options.format!r}", known)
        if found.bytes != size * channels:
            raise UsageError(f"{found.name} has {found.bytes} bytes, the array {size * channels}")
        type_ = options.type or "UINT"
        if type_ not in DATA_TYPES[1:]:
            raise UsageError(f"data type {type_!r}", "one of " + ", ".join(DATA_TYPES[1:]))
        return found.name, type_
    name = _FORMATS.get((size, channels))
    if name is None or kind not in "uif" or (kind == "f" and size == 1):
        raise UsageError(f"no texel format for {channels} channels of {array.dtype}")
    type_ = {"u": "UINT", "i": "SINT", "f": "FLOAT"}[kind] if size < 8 else "UINT"
    if options.read == "normalized_float" and type_ != "FLOAT":
        if size > 2:
            raise UsageError("read normalized_float needs 8- or 16-bit integers or floats")
        type_ = {"u": "UNORM", "i": "SNORM"}[kind]
    return name, options.type or type_


def _header(
    kind: str, levels: Sequence[Array], options: ImageOptions, channels: int
) -> TextureHeader:
    """The header of an image, its address still missing.

    Raises:
        UsageError: options that do not fit one another, or sizes too large.
    """
    if options.read not in ("element", "normalized_float"):
        raise UsageError(f"read {options.read!r}", "one of element, normalized_float")
    array, dim = levels[0], options.dim
    name, type_ = _format(array, options, channels)
    sizes = [*reversed(array.shape[: AXES[dim]])]
    width = sizes[0]
    flat = dim in ("1d", "1d_buffer", "1d_array")
    height = 1 if flat else sizes[1]
    depth = {"1d_array": 1, "2d_array": 2, "3d": 2, "cube": 2, "cube_array": 2}.get(dim)
    deep = sizes[depth] if depth is not None else 1
    texture_type = _TYPES[dim]
    if dim.startswith("cube"):
        # Surfaces of cubes are arrays of faces (as Mesa binds them).
        texture_type = texture_type if kind == "texture" else "TWO_D_ARRAY"
        deep = deep // 6 if kind == "texture" else deep
    version, texture_type = _version(options, texture_type)
    limit = MAX_BUFFER_WIDTH if version == "ONE_D_BUFFER" else MAX_WIDTH
    if width > limit or height > MAX_WIDTH or deep > MAX_DEPTH:
        raise UsageError(f"{kind} of {sizes}: at most {limit}, {MAX_WIDTH}, {MAX_DEPTH}")
    high, far = fitting_block(height, deep if dim == "3d" else 1)
    linear = version == "BLOCKLINEAR"
    pitch = -(-width * BY_NAME[name].bytes // PITCH_UNIT) * PITCH_UNIT if version == "PITCH" else 0
    if pitch >= MAX_PITCH:
        raise UsageError(f"a pitch of {pitch} bytes is too large")
    return TextureHeader(
        version=version,
        components=BY_NAME[name].code,
        types=(type_, type_, type_, type_),
        sources=("R", "G", "B", "A"),
        texture_type=texture_type,
        address=0,
        width=width,
        height=height,
        depth=deep,
        pitch=pitch,
        block_height_log2=_log2("a block height", options.block_height, high) if linear else 0,
        block_depth_log2=_log2("a block depth", options.block_depth, far) if linear else 0,
        max_mip_level=_mip_levels(levels, version),
        view_mip_levels=(0, len(levels) - 1),
        normalized=options.normalized and version != "ONE_D_BUFFER",
        srgb=options.srgb,
        border_color=version != "ONE_D_BUFFER",
    )


def _version(options: ImageOptions, texture_type: str) -> tuple[str, str]:
    """(header version, texture type) of a layout."""
    if options.layout not in ("", "pitch", "block_linear"):
        raise UsageError(f"layout {options.layout!r}", "one of pitch, block_linear")
    if options.dim == "1d_buffer":
        if options.layout == "block_linear":
            raise UsageError("a 1d_buffer is linear memory, not block_linear")
        return "ONE_D_BUFFER", texture_type
    if options.layout != "pitch":
        return "BLOCKLINEAR", texture_type
    if options.dim not in ("1d", "2d"):
        raise UsageError(f"a pitch layout has two dimensions at most, not {options.dim}")
    if options.block_height or options.block_depth:
        raise UsageError("a pitch layout has no blocks")
    return "PITCH", "TWO_D_NO_MIPMAP" if options.dim == "2d" else texture_type


def _mip_levels(levels: Sequence[Array], version: str) -> int:
    if len(levels) > 1 and version != "BLOCKLINEAR":
        raise UsageError("mip levels need the block_linear layout")
    if len(levels) > 16:
        raise UsageError(f"{len(levels)} mip levels are more than 16")
    return len(levels) - 1


def _sampler(options: ImageOptions, channels: int) -> Sampler:
    """The sampler of a texture.

    With coordinates that are not normalized, wrap and mirror become clamp, as in CUDA.
    """
    names = [options.address] * 3 if isinstance(options.address, str) else [*options.address]
    names += [names[-1]] * (3 - len(names))
    modes = [_choice("address", name, _ADDRESS) for name in names]
    if not options.normalized and not options.dim.startswith("cube"):
        modes = [m if m in (2, 3) else 2 for m in modes]
    border = options.border
    colour = [border] * 4 if isinstance(border, int | float) else [*border, 0, 0, 0, 0][:4]
    kind = _choice("filter", options.filter, _FILTER)
    if options.compare and options.compare not in COMPARE:
        raise UsageError(f"compare {options.compare!r}", "one of " + ", ".join(COMPARE))
    bits = [int(np.float32(c).view(np.uint32)) for c in colour]
    return encode_sampler(
        Sampler(
            address=(modes[0], modes[1], modes[2]),
            mag_filter=kind,
            min_filter=kind,
            mip_filter=_choice("mip_filter", options.mip_filter, _MIP_FILTER),
            depth_compare=bool(options.compare),
            depth_function=COMPARE.index(options.compare) if options.compare else 0,
            lod_range=(0.0, 15.0),
            border=(bits[0], bits[1], bits[2], bits[3]),
        )
    )


def make_image(
    device: EmulatedDevice, kind: str, array: npt.ArrayLike, dim: str | None, name: str | None,
    levels: Sequence[npt.ArrayLike], options: Mapping[str, Any],
) -> DeviceImage:  # fmt: skip
    """A texture or surface; see `Device.texture` and `Device.surface`.

    Raises:
        UsageError: options that do not exist or do not fit the array.
    """
    host = [np.asarray(a) for a in (array, *levels)]
    if host[0].dtype.hasobject:
        raise UsageError(f"an array of {host[0].dtype} cannot be copied to the device")
    chosen = dim or BY_AXES.get(host[0].ndim)
    if chosen is None:
        raise UsageError(f"an array of {host[0].ndim} axes is no image; say dim=")
    known = [f.name for f in fields(ImageOptions) if f.name != "dim"]
    for key in options:
        if key not in known:
            raise UsageError(f"a {kind} has no option {key!r}", "known: " + ", ".join(known))
    wanted = ImageOptions(chosen, **options)
    linear_ints = wanted.filter == "linear" and host[0].dtype.kind in "ui"
    if kind == "texture" and linear_ints and wanted.read == "element" and not wanted.type:
        raise UsageError(
            "a linear filter needs floats", "read='normalized_float', or an array of floats"
        )
    if kind == "texture" and host[0].dtype == np.float64:
        raise UsageError("no texture format has float64 elements", "array.astype(numpy.float32)")
    label = name or f"{kind[0]}{device.gpu.images.maximum_index + 1}"
    return DeviceImage(device, kind, label, [a.astype(host[0].dtype) for a in host], wanted)


def texel_place(image: DeviceImage, coords: Sequence[int]) -> dict[str, int]:
    """Coordinates as typed (x, then y, then z or layer) by axis name.

    Raises:
        CommandError: too many or too few, or outside the image.
    """
    layout = image.layout()
    sizes = {"x": layout.width, "y": layout.height, "z": layout.depth, "layer": layout.layers}
    names = [{"l": "layer"}.get(axis, axis) for axis in image.header.axes]
    if len(coords) != len(names):
        raise CommandError(f"{image.name} has coordinates {', '.join(names)}")
    for name, value in zip(names, coords, strict=True):
        if not 0 <= value < sizes[name]:
            raise CommandError(f"{name} {value} is outside {image.name}: 0 to {sizes[name] - 1}")
    return {"x": 0, "y": 0, "z": 0, "layer": 0} | dict(zip(names, coords, strict=True))
