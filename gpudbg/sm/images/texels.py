"""Texel bits to component values and back: the format conversion of .P accesses and of fetches.

Values travel as 32-bit patterns: integers for UINT and SINT, f32 for everything else.  UNORM and
SNORM follow the usual rule (k / (2^n - 1), k / (2^(n-1) - 1) not below -1); rounding on the way
back is to nearest even (*modelled*).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpudbg.mem.device import DeviceMemory
from gpudbg.mem.lanes import U32, U64
from gpudbg.regs.texformats import TexelPart
from gpudbg.regs.texheader import TextureHeader
from gpudbg.sm.images.access import SurfaceAccess

Bits = npt.NDArray[np.uint32]
ONE_F32 = 0x3F80_0000
INTEGERS = ("UINT", "SINT")
COMPONENTS = "RGBA"
SHARED_EXPONENT = 0x20
"""Component-sizes code of E5B9G9R9."""
_SHARED_BIAS, _SHARED_BITS = 15, 9


def bits_of(value: npt.NDArray[np.float64]) -> Bits:
    """f64 as f32 patterns."""
    with np.errstate(all="ignore"):
        return value.astype(np.float32).view(np.uint32)


def floats_of(bits: Bits) -> npt.NDArray[np.float64]:
    """f32 patterns as f64."""
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(bits).view(np.float32).astype(np.float64)


# ---- one component -------------------------------------------------------------------------


def _small_float(raw: Bits, width: int) -> npt.NDArray[np.float64]:
    """An unsigned float with 5 exponent bits: f11, f10 (and f16's magnitude by shift)."""
    half = (raw << (15 - width)).astype(np.uint16)
    return half.view(np.float16).astype(np.float64)


def decode(raw: Bits, kind: str, width: int) -> Bits:
    """A component's bits as a 32-bit pattern.

    Args:
        raw: right-aligned bits.
        kind: data type name.
        width: bits of the component.
    """
    signed = (raw.astype(np.int64) ^ (1 << width - 1)) - (1 << width - 1)
    if kind == "UINT":
        return raw
    if kind == "SINT":
        return signed.astype(np.uint32)
    if kind.startswith("UNORM"):
        return bits_of(raw.astype(np.float64) / ((1 << width) - 1))
    if kind.startswith("SNORM"):
        return bits_of(np.maximum(signed / max((1 << width - 1) - 1, 1), -1.0))
    if width == 32:
        return raw
    if width == 16:
        return bits_of(raw.astype(np.uint16).view(np.float16).astype(np.float64))
    return bits_of(_small_float(raw, width))


def encode(value: Bits, kind: str, width: int) -> Bits:
    """A 32-bit pattern as a component's bits; the inverse of `decode`, with saturation."""
    top = (1 << width) - 1
    if kind == "UINT":
        return np.minimum(value, np.uint32(top))
    if kind == "SINT":
        half = 1 << width - 1
        limited = np.clip(value.view(np.int32).astype(np.int64), -half, half - 1)
        return (limited & top).astype(np.uint32)
    if kind == "FLOAT" and width == 32:
        return value
    number = floats_of(value)
    if kind.startswith(("UNORM", "SNORM")):
        number = np.nan_to_num(number, nan=0.0)
        low, most = (0.0, top) if kind[0] == "U" else (-1.0, (1 << width - 1) - 1)
        scaled = np.rint(np.clip(number, low, 1.0) * most).astype(np.int64)
        return (scaled & top).astype(np.uint32)
    with np.errstate(all="ignore"):
        half_bits = number.astype(np.float16).view(np.uint16).astype(np.uint32)
    if width == 16:
        return half_bits
    # Unsigned small floats: negative numbers become zero, the mantissa is cut (*modelled*).
    positive = np.where((half_bits & 0x8000) != 0, np.uint32(0), half_bits)
    return np.where(np.isnan(number), half_bits & 0x7FFF, positive) >> np.uint32(15 - width)


# ---- whole texels --------------------------------------------------------------------------


def unpack(header: TextureHeader, words: Sequence[Bits]) -> dict[str, Bits]:
    """The components of texels given as 32-bit words, lowest first."""
    found = {}
    for part in header.format.parts:
        if part.component == "E":
            continue
        raw = _raw(words, part)
        kind = header.types[COMPONENTS.index(part.component)]
        found[part.component] = decode(raw, kind or "UINT", part.width)
    if header.components == SHARED_EXPONENT:
        exponent = _raw(words, header.format.parts[-1]).astype(np.float64)
        scale = np.exp2(exponent - _SHARED_BIAS - _SHARED_BITS)
        for part in header.format.parts[:3]:
            found[part.component] = bits_of(_raw(words, part).astype(np.float64) * scale)
    return found


def _raw(words: Sequence[Bits], part: TexelPart) -> Bits:
    word = words[part.low // 32] >> np.uint32(part.low % 32)
    return word if part.width == 32 else word & np.uint32((1 << part.width) - 1)


def pack(header: TextureHeader, values: dict[str, Bits], old: Sequence[Bits]) -> list[Bits]:
    """Texels with some components replaced, the others as they were."""
    out = [np.array(word) for word in old]
    if header.components == SHARED_EXPONENT:
        return _pack_shared(header, values, out)
    for part in header.format.parts:
        if part.component not in values:
            continue
        kind = header.types[COMPONENTS.index(part.component)] or "UINT"
        raw = encode(np.ascontiguousarray(values[part.component]), kind, part.width)
        shift = np.uint32(part.low % 32)
        clear = np.uint32(~(((1 << part.width) - 1) << (part.low % 32)) & 0xFFFF_FFFF)
        word = part.low // 32
        out[word] = (out[word] & clear) | (raw << shift)
    return out


def _pack_shared(header: TextureHeader, values: dict[str, Bits], out: list[Bits]) -> list[Bits]:
    """E5B9G9R9: one exponent for three mantissas (EXT_texture_shared_exponent)."""
    old = unpack(header, out)
    limit = (2**_SHARED_BITS - 1) / 2**_SHARED_BITS * 2.0**16
    rgb = [
        np.clip(np.nan_to_num(floats_of(values.get(c, old[c])), nan=0.0), 0.0, limit) for c in "RGB"
    ]
    most = np.maximum(np.maximum(rgb[0], rgb[1]), rgb[2])
    with np.errstate(all="ignore"):
        log = np.floor(np.log2(np.where(most > 0, most, 1e-30)))
    exponent = np.maximum(log, -_SHARED_BIAS - 1) + 1 + _SHARED_BIAS
    scale = np.exp2(exponent - _SHARED_BIAS - _SHARED_BITS)
    carried = np.floor(most / scale + 0.5) == 2**_SHARED_BITS
    exponent, scale = exponent + carried, np.where(carried, scale * 2, scale)
    word = exponent.astype(np.uint32) << np.uint32(27)
    for n, value in enumerate(rgb):
        word = word | np.floor(value / scale + 0.5).astype(np.uint32) << np.uint32(9 * n)
    return [word.astype(np.uint32)]


def swizzle(header: TextureHeader, found: dict[str, Bits], shape: tuple[int, ...]) -> list[Bits]:
    """X Y Z W of a fetch by the header's sources; a missing component reads as 0, A as 1."""
    integer = header.type_name in INTEGERS
    one = np.full(shape, 1 if integer else ONE_F32, np.uint32)
    zero = np.zeros(shape, np.uint32)
    constant = {
        "ZERO": zero,
        "": zero,
        "ONE_INT": np.ones(shape, np.uint32),
        "ONE_FLOAT": np.full(shape, ONE_F32, np.uint32),
        "A": one,
    }
    return [found.get(s, constant.get(s, zero)) for s in header.sources]


# ---- .P accesses ---------------------------------------------------------------------------


def chunks(access: SurfaceAccess) -> list[tuple[U64, int]]:
    """(addresses, bytes) of the pieces an access is made of: one, or words for odd sizes.

    12-byte texels are the case: they may lie in two GOBs.
    """
    size = access.size
    if size & (size - 1) == 0:
        return [(access.addresses, size)]
    at, header = access.landing.clamped, access.image.header
    assert header is not None
    layout = access.image.levels[0]
    made = []
    for step in range(0, size, 4):
        offset = np.asarray(layout.offset(at["x"] + step, at["y"], at["z"], at["l"]), np.int64)
        made.append((offset.astype(np.uint64) + np.uint64(header.address), 4))
    return made


def _words(memory: DeviceMemory, access: SurfaceAccess) -> list[U32]:
    words: list[U32] = []
    for address, size in chunks(access):
        words += memory.gather(address, access.live, size, False)
    return words


def load_components(memory: DeviceMemory, access: SurfaceAccess, letters: str) -> list[U32]:
    """SULD.P: components of the texels in register order."""
    header = access.image.header
    assert header is not None
    values = swizzle(header, unpack(header, _words(memory, access)), (32,))
    live = np.array([access.live >> n & 1 for n in range(32)], np.uint32)
    return [values[COMPONENTS.index(c)] * live for c in letters]


def store_components(
    memory: DeviceMemory, access: SurfaceAccess, letters: str, rows: Sequence[U32]
) -> None:
    """SUST.P: write components; those the mask leaves out keep their bits (*modelled*)."""
    header = access.image.header
    assert header is not None
    values = dict(zip(letters, rows, strict=True))
    old = _words(memory, access)
    new: list[Any] = pack(header, values, old)
    at = 0
    for address, size in chunks(access):
        count = max(size // 4, 1)
        memory.scatter(address, access.live, size, new[at : at + count])
        at += count
