"""A surface as a picture: texel values to colours, and PNG files by zlib alone."""

from __future__ import annotations

import struct
import zlib
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass
from gpudbg.errors import CommandError
from gpudbg.sm.images.texels import unpack

if TYPE_CHECKING:
    from gpudbg.device.images import DeviceImage

Pixels = npt.NDArray[np.uint8]
"""RGB, shape (height, width, 3)."""

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MAX_PIXELS = 1 << 26
_TRUE_COLOUR = 2


@dataclass(frozen=True, slots=True)
class Shades:
    """How numbers become shades.

    Attributes:
        low, high: the numbers shown black and white.
        whole: the format has a range of its own, which was used.
    """

    low: float
    high: float
    whole: bool


def slice_of(image: DeviceImage, number: int = 0) -> npt.NDArray[Any]:
    """One layer, face or z slice of an image as (height, width, channels).

    Raises:
        CommandError: there is no such slice.
    """
    array = image.array()
    if not image.has_channel_axis:
        array = array[..., np.newaxis]
    flat = array.reshape(-1, image.header.height, image.header.width, array.shape[-1])
    if not 0 <= number < len(flat):
        raise CommandError(f"{image.name} has slices 0 to {len(flat) - 1}, not {number}")
    return np.asarray(flat[number])


def shades_of(values: npt.NDArray[Any]) -> Shades:
    """The range to show: 8-bit numbers as they are, others from least to greatest."""
    if values.dtype in (np.uint8, np.int8):
        info = np.iinfo(values.dtype)
        return Shades(float(info.min), float(info.max), True)
    number = values.astype(np.float64)
    good = number[np.isfinite(number)]
    if good.size == 0:
        return Shades(0.0, 1.0, False)
    low, high = float(good.min()), float(good.max())
    if values.dtype.kind == "f" and low >= 0.0 and high <= 1.0:
        return Shades(0.0, 1.0, True)
    return Shades(low, high if high > low else low + 1.0, False)


def pixels_of(
    values: npt.NDArray[Any], shades: Shades | None = None, colours: str = "grey"
) -> Pixels:
    """Colours of (height, width, channels) numbers.

    One channel is grey (or of another ramp of `RAMPS`), two are red and green, three and four
    red, green and blue.  NaN is magenta.
    """
    chosen = shades or shades_of(values)
    number = values.astype(np.float64)
    with np.errstate(all="ignore"):
        scaled = (number - chosen.low) / (chosen.high - chosen.low) * 255.0
    grey = np.clip(np.nan_to_num(np.rint(scaled)), 0, 255).astype(np.uint8)
    height, width, channels = grey.shape
    out = np.zeros((height, width, 3), np.uint8)
    if channels == 1:
        out[:] = ramp(colours)[grey[..., 0]]
    else:
        out[..., : min(channels, 3)] = grey[..., :3]
    if values.dtype.kind == "f":
        out[np.isnan(number).any(axis=-1)] = (255, 0, 255)
    return out


_VIRIDIS = (
    (0.2777273272234177, 0.005407344544966578, 0.3340998053353061),
    (0.1050930431085774, 1.404613529898575, 1.384590162594685),
    (-0.3308618287255563, 0.214847559468213, 0.09509516302823659),
    (-4.634230498983486, -5.799100973351585, -19.33244095627987),
    (6.228269936347081, 14.17993336680509, 56.69055260068105),
    (4.776384997670288, -13.74514537774601, -65.35303263337234),
    (-5.435455855934631, 4.645852612178535, 26.3124352495832),
)
"""Polynomial fit of matplotlib's viridis by Matt Zucker (both CC0): R, G, B by power of t."""
RAMPS = ("grey", "viridis")
"""Colour ramps of single-channel pictures; both grow in lightness from end to end."""


@cache
def ramp(name: str) -> Pixels:
    """The 256 colours of a ramp, darkest first: shape (256, 3)."""
    t = np.linspace(0.0, 1.0, 256)
    if name == "grey":
        return np.repeat(np.arange(256, dtype=np.uint8)[:, np.newaxis], 3, axis=1)
    made = sum(np.outer(t**n, row) for n, row in enumerate(_VIRIDIS))
    return np.asarray(np.clip(np.rint(made * 255.0), 0, 255), np.uint8)


def components(image: DeviceImage, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The channels to show: those of packed texels (a 16-bit number of 5, 6 and 5 bits) apart."""
    parts = [p for p in image.header.format.parts if p.component in "RGB"]
    if not image.options.format or len(parts) <= values.shape[-1]:
        return values
    found = unpack(image.header, _texel_words(values))
    shown = [_numbers(image, p.component, found[p.component]) for p in parts]
    return np.stack([s.reshape(values.shape[:2]) for s in shown], axis=-1).astype(np.float64)


def _texel_words(values: npt.NDArray[Any]) -> list[npt.NDArray[np.uint32]]:
    """Texels as their 32-bit words, lowest first: one array of (height * width) per word."""
    raw = np.ascontiguousarray(values).reshape(-1, values.shape[-1]).view(np.uint8)
    padded = np.zeros((raw.shape[0], -(-raw.shape[1] // 4) * 4), np.uint8)
    padded[:, : raw.shape[1]] = raw
    words = padded.view("<u4")
    return [np.ascontiguousarray(words[:, n]) for n in range(words.shape[1])]


def _numbers(image: DeviceImage, letter: str, bits: npt.NDArray[np.uint32]) -> npt.NDArray[Any]:
    kind = image.header.types["RGBA".index(letter)] or "UINT"
    if kind == "UINT":
        return bits
    return bits.view(np.int32) if kind == "SINT" else bits.view(np.float32)


def decoded_words(image: DeviceImage, values: npt.NDArray[Any], x: int, y: int) -> str:
    """A texel by its format: `R 0.278`, `R 12  G 40  B 3`; empty where nothing is modelled."""
    if not image.header.format.modelled:
        return ""
    found = unpack(image.header, _texel_words(values[y : y + 1, x : x + 1]))
    shown = {k: _numbers(image, k, v)[0] for k, v in found.items()}
    return "  ".join(f"{k} {v:g}" if v.dtype.kind == "f" else f"{k} {v}" for k, v in shown.items())


def png(pixels: Pixels, zoom: int = 1) -> bytes:
    """A PNG file of RGB pixels, each `zoom` pixels wide and high.

    Raises:
        CommandError: the picture is too large.
    """
    big = np.repeat(np.repeat(pixels, zoom, axis=0), zoom, axis=1)
    height, width = big.shape[:2]
    if height * width > MAX_PIXELS:
        raise CommandError(f"a picture of {width}x{height} is too large", "a smaller zoom")
    rows = np.zeros((height, 1 + 3 * width), np.uint8)
    rows[:, 1:] = big.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, _TRUE_COLOUR, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return SIGNATURE + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    check = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)
