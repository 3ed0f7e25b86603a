"""Texture and surface objects, and references of modules."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass
from gpudbg.hosting.calls.arrays import format_of_channels, format_of_number
from gpudbg.hosting.cuda_errors import (
    INVALID_HANDLE,
    INVALID_VALUE,
    NOT_FOUND,
    NOT_SUPPORTED,
    CudaError,
)
from gpudbg.hosting.images import (
    NUMBERS,
    ChannelFormat,
    CudaArray,
    HostImage,
    TextureSettings,
    enter_surface,
    enter_texture,
    linear_header,
    pitch_header,
)
from gpudbg.hosting.process import HostModule, HostProcess

if TYPE_CHECKING:
    from gpudbg.regs.texheader import TextureHeader

ARRAY, MIPMAPPED, LINEAR, PITCHED = range(4)
"""cudaResourceType, CUresourcetype."""
RUNTIME_TEXTURE = struct.Struct("<3iiii4fiIi3fii")
"""`cudaTextureDesc`."""
DRIVER_TEXTURE = struct.Struct("<3iiIIi3f4f48x")
"""`CUDA_TEXTURE_DESC`."""
_AS_INTEGER, _NORMALIZED, _SRGB = 1, 2, 0x10
"""Flags of a driver's texture."""
_RESOURCE_AT = 8
Source = tuple["TextureHeader", ChannelFormat]


def _source(process: HostProcess, resource: memoryview, runtime: bool) -> Source:
    """Header and format of what a resource description names.

    Raises:
        CudaError: it names nothing that a texture can be of.
    """
    (kind,) = struct.unpack_from("<i", resource)
    if kind in (ARRAY, MIPMAPPED):
        (handle,) = struct.unpack_from("<Q", resource, _RESOURCE_AT)
        array = process.get(handle, CudaArray)
        return array.own_header, array.format
    if kind not in (LINEAR, PITCHED):
        raise CudaError(INVALID_VALUE)
    (address,) = struct.unpack_from("<Q", resource, _RESOURCE_AT)
    if runtime:
        found = format_of_channels(resource[16:36])
        sizes = struct.unpack_from("<3Q", resource, 40) if kind == PITCHED else None
        at = 40
    else:
        found = format_of_number(*struct.unpack_from("<II", resource, 16))
        sizes = struct.unpack_from("<3Q", resource, 24) if kind == PITCHED else None
        at = 24
    if sizes is not None:
        return pitch_header(found, address, *sizes), found
    (size,) = struct.unpack_from("<Q", resource, at)
    return linear_header(found, address, size // found.texel), found


VIEW = struct.Struct("<i4x3Q4I")
"""`cudaResourceViewDesc`: format, width, height, depth, first and last level, and layer."""
_VIEW_KINDS = ("u1", "i1", "u2", "i2", "u4", "i4", "f2", "f4")
_VIEW_CHANNELS = (1, 2, 4)


def viewed(source: Source, view: memoryview) -> Source:
    """A source as a resource view shows it: some of its levels, and texels of another type.

    Raises:
        CudaError: the view is of something else; named where it is not modelled.
    """
    if not view:
        return source
    header, found = source
    number, width, height, _depth, low, high, layer, last = VIEW.unpack_from(view)
    if number:
        kind, channels = divmod(number - 1, len(_VIEW_CHANNELS))
        if kind >= len(_VIEW_KINDS):
            raise CudaError(NOT_SUPPORTED, "a resource view of compressed blocks")
        shown = ChannelFormat(_VIEW_KINDS[kind], _VIEW_CHANNELS[channels])
        if (shown.kind[1], shown.channels) != (found.kind[1], found.channels):
            raise CudaError(NOT_SUPPORTED, "a resource view with texels of other channels")
        found = shown
    sizes = (width, max(height, 1)) if width else (header.width, header.height)
    if sizes != (header.width, header.height) or layer or last not in (0, header.layers - 1):
        raise CudaError(NOT_SUPPORTED, "a resource view of a part")
    if not low <= high <= header.max_mip_level:
        raise CudaError(INVALID_VALUE)
    levels = (low, high) if header.max_mip_level else header.view_mip_levels
    return replace(header, view_mip_levels=levels), found


def _runtime_settings(texture: memoryview) -> TextureSettings:
    values = RUNTIME_TEXTURE.unpack_from(texture)
    a, b, c, filters, reads, srgb, *border = values[:10]
    normalized, _anisotropy, mip, bias, least, most, *_ = values[10:]
    colour = border[0], border[1], border[2], border[3]
    more = bool(mip), bias, (least, most)
    return TextureSettings(
        (a, b, c), filters == 1, reads == 1, bool(normalized), bool(srgb), colour, *more
    )


def _driver_settings(texture: memoryview) -> TextureSettings:
    a, b, c, filters, flags, _anisotropy, mip, bias, least, most, *border = (
        DRIVER_TEXTURE.unpack_from(texture)
    )
    colour = border[0], border[1], border[2], border[3]
    reads, normalized = not flags & _AS_INTEGER, bool(flags & _NORMALIZED)
    more = bool(mip), bias, (least, most)
    return TextureSettings(
        (a, b, c), filters == 1, reads, normalized, bool(flags & _SRGB), colour, *more
    )


def _made(
    process: HostProcess,
    source: Source,
    settings: TextureSettings,
    given: tuple[bytes, bytes, bytes],
) -> int:
    name = f"texture object #{sum(isinstance(x, HostImage) for x in process.objects.values()) + 1}"
    pools = process.machine.device.gpu.images
    handle = enter_texture(pools, *source, settings, name)
    process.objects[_key(handle)] = HostImage(handle, "texture", pools, *given)
    return handle


def _key(handle: int) -> int:
    """Where an object is kept: its handle is the header's and no handle of ours."""
    return -1 - handle


def create_runtime(
    process: HostProcess, resource: memoryview, texture: memoryview, view: memoryview
) -> int:
    process.check()
    given = bytes(resource), bytes(texture), bytes(view)
    source = viewed(_source(process, resource, True), view)
    return _made(process, source, _runtime_settings(texture), given)


def create(
    process: HostProcess, resource: memoryview, texture: memoryview, view: memoryview
) -> int:
    process.check()
    given = bytes(resource), bytes(texture), bytes(view)
    source = viewed(_source(process, resource, False), view)
    return _made(process, source, _driver_settings(texture), given)


def create_surface(process: HostProcess, resource: memoryview) -> int:
    process.check()
    kind, handle = struct.unpack_from("<i4xQ", resource)
    if kind != ARRAY:
        raise CudaError(INVALID_VALUE)
    array = process.get(handle, CudaArray)
    pools = process.machine.device.gpu.images
    made = enter_surface(pools, array, "surface object")
    process.objects[_key(made)] = HostImage(made, "surface", pools, bytes(resource))
    return made


def _image(process: HostProcess, handle: int, kind: str) -> HostImage:
    found = process.objects.get(_key(handle))
    if not isinstance(found, HostImage) or found.kind != kind:
        raise CudaError(INVALID_VALUE)
    return found


def destroy(process: HostProcess, handle: int) -> None:
    if handle:
        _image(process, handle, "texture").close()
        del process.objects[_key(handle)]


def destroy_surface(process: HostProcess, handle: int) -> None:
    if handle:
        _image(process, handle, "surface").close()
        del process.objects[_key(handle)]


def resource(process: HostProcess, handle: int) -> bytes:
    return _image(process, handle, "texture").resource


def surface_resource(process: HostProcess, handle: int) -> bytes:
    return _image(process, handle, "surface").resource


def settings(process: HostProcess, handle: int) -> bytes:
    return _image(process, handle, "texture").settings


def view(process: HostProcess, handle: int) -> bytes:
    found = _image(process, handle, "texture").view
    if not found:
        raise CudaError(INVALID_VALUE)
    return found


# ---- references --------------------------------------------------------------------------
@dataclass(slots=True, eq=False)
class ImageReference:
    """A texture or surface reference of a module.

    Attributes:
        module, name: which; a reference that belongs to no module has None.
        source: what it is bound to.
        format: of linear memory.
        settings: how it is read.
        image: what it is on the device while it is bound.
        array, linear_at: handle of the array, or address of the memory, that it is bound to.
        levels_linear, bias, clamp, anisotropy, border: how levels are chosen; the border's colour.
    """

    module: HostModule | None
    name: str
    source: Source | None = None
    format: ChannelFormat = ChannelFormat("f4", 1)
    address: tuple[int, int, int] = (1, 1, 1)
    linear: bool = False
    flags: int = 0
    image: HostImage | None = None
    array: int = 0
    linear_at: int = 0
    levels_linear: bool = False
    bias: float = 0.0
    clamp: tuple[float, float] = (0.0, 0.0)
    anisotropy: int = 1
    border: bytes = bytes(16)


def reference(process: HostProcess, handle: int, name: str) -> int:
    module = process.get(handle, HostModule)
    if name not in module.loaded.program.images:
        raise CudaError(NOT_FOUND)
    for known, thing in process.objects.items():
        if isinstance(thing, ImageReference) and (thing.module, thing.name) == (module, name):
            return known
    return process.keep(ImageReference(module, name))


def _bind(process: HostProcess, found: ImageReference) -> None:
    """Enter it anew with what it has now."""
    pools = process.machine.device.gpu.images
    if found.image is not None:
        found.image.close()
        found.image = None
    if found.source is None or found.module is None:
        return
    reads, normalized = not found.flags & _AS_INTEGER, bool(found.flags & _NORMALIZED)
    srgb = bool(found.flags & _SRGB)
    a, b, c, d = struct.unpack("<4f", found.border)
    more = found.levels_linear, found.bias, found.clamp
    settings = TextureSettings(
        found.address, found.linear, reads, normalized, srgb, (a, b, c, d), *more
    )
    handle = enter_texture(pools, *found.source, settings, found.name)
    found.image = HostImage(handle, "texture", pools)
    found.module.loaded.module.bound[found.name] = handle


def reference_array(process: HostProcess, handle: int, array: int, flags: int) -> None:
    found, held = process.get(handle, ImageReference), process.get(array, CudaArray)
    found.source, found.array, found.linear_at = (held.header, held.format), array, 0
    found.format = held.format
    _bind(process, found)


def reference_address(process: HostProcess, handle: int, address: int, size: int) -> int:
    """Bind linear memory; where it begins in the texture."""
    found = process.get(handle, ImageReference)
    header = linear_header(found.format, address, size // found.format.texel)
    found.source, found.array, found.linear_at = (header, found.format), 0, address
    _bind(process, found)
    return 0


def reference_pitched(
    process: HostProcess, handle: int, desc: memoryview, address: int, pitch: int
) -> None:
    found = process.get(handle, ImageReference)
    width, height, number, channels = struct.unpack_from("<QQII", desc)
    found.format = format_of_number(number, channels)
    found.source = pitch_header(found.format, address, width, height, pitch), found.format
    found.array, found.linear_at = 0, address
    _bind(process, found)


def reference_format(process: HostProcess, handle: int, number: int, channels: int) -> None:
    process.get(handle, ImageReference).format = format_of_number(number, channels)


def reference_mode(process: HostProcess, handle: int, axis: int, mode: int) -> None:
    found = process.get(handle, ImageReference)
    if axis not in (0, 1, 2) or mode not in (0, 1, 2, 3):
        raise CudaError(INVALID_VALUE)
    modes = list(found.address)
    modes[axis] = mode
    found.address = modes[0], modes[1], modes[2]
    _bind(process, found)


def reference_filter(process: HostProcess, handle: int, mode: int) -> None:
    found = process.get(handle, ImageReference)
    found.linear = mode == 1
    _bind(process, found)


def reference_flags(process: HostProcess, handle: int, flags: int) -> None:
    found = process.get(handle, ImageReference)
    found.flags = flags
    _bind(process, found)


def reference_levels_filter(process: HostProcess, handle: int, mode: int) -> None:
    found = process.get(handle, ImageReference)
    found.levels_linear = mode == 1
    _bind(process, found)


def reference_bias(process: HostProcess, handle: int, bias: float) -> None:
    found = process.get(handle, ImageReference)
    found.bias = bias
    _bind(process, found)


def reference_clamp(process: HostProcess, handle: int, least: float, most: float) -> None:
    found = process.get(handle, ImageReference)
    found.clamp = least, most
    _bind(process, found)


def reference_anisotropy(process: HostProcess, handle: int, most: int) -> None:
    process.get(handle, ImageReference).anisotropy = max(1, min(most, 16))


def reference_border(process: HostProcess, handle: int, colour: memoryview) -> None:
    found = process.get(handle, ImageReference)
    found.border = bytes(colour)
    _bind(process, found)


def reference_create(process: HostProcess) -> int:
    """A reference that no kernel reads: CUDA keeps the function for old programs."""
    process.check()
    return process.keep(ImageReference(None, "reference"))


def reference_destroy(process: HostProcess, handle: int) -> None:
    if process.get(handle, ImageReference).module is not None:
        raise CudaError(INVALID_VALUE)
    del process.objects[handle]


def reference_get_array(process: HostProcess, handle: int) -> int:
    found = process.get(handle, ImageReference).array
    if not found:
        raise CudaError(INVALID_VALUE)
    return found


def reference_get_address(process: HostProcess, handle: int) -> int:
    found = process.get(handle, ImageReference).linear_at
    if not found:
        raise CudaError(INVALID_VALUE)
    return found


def reference_get_mode(process: HostProcess, handle: int, axis: int) -> int:
    if axis not in (0, 1, 2):
        raise CudaError(INVALID_VALUE)
    return process.get(handle, ImageReference).address[axis]


def reference_get_filter(process: HostProcess, handle: int) -> int:
    return int(process.get(handle, ImageReference).linear)


def reference_get_format(process: HostProcess, handle: int) -> tuple[int, int]:
    found = process.get(handle, ImageReference).format
    return NUMBERS[found.kind], found.channels


def reference_get_flags(process: HostProcess, handle: int) -> int:
    return process.get(handle, ImageReference).flags


def reference_get_levels_filter(process: HostProcess, handle: int) -> int:
    return int(process.get(handle, ImageReference).levels_linear)


def reference_get_bias(process: HostProcess, handle: int) -> float:
    return process.get(handle, ImageReference).bias


def reference_get_clamp(process: HostProcess, handle: int) -> tuple[float, float]:
    return process.get(handle, ImageReference).clamp


def reference_get_anisotropy(process: HostProcess, handle: int) -> int:
    return process.get(handle, ImageReference).anisotropy


def reference_get_border(process: HostProcess, handle: int) -> bytes:
    return process.get(handle, ImageReference).border


def surface_reference_array(process: HostProcess, handle: int, array: int, flags: int) -> None:
    found, held = process.get(handle, ImageReference), process.get(array, CudaArray)
    if found.module is None:
        raise CudaError(INVALID_HANDLE)
    pools = process.machine.device.gpu.images
    if found.image is not None:
        found.image.close()
    made = enter_surface(pools, held, found.name)
    found.image, found.array = HostImage(made, "surface", pools), array
    found.module.loaded.module.bound[found.name] = made
