"""A surface as a picture: texel values to colours, and PNG files by zlib alone."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.images import DeviceImage

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


def pixels_of(values: npt.NDArray[Any], shades: Shades | None = None) -> Pixels:
    """Colours of (height, width, channels) numbers.

    One channel is grey, two are red and green, three and four red, green and blue.  NaN is
    magenta.
    """
    chosen = shades or shades_of(values)
    number = values.astype(np.float64)
    with np.errstate(all="ignore"):
        scaled = (number - chosen.low) / (chosen.high - chosen.low) * 255.0
    grey = np.clip(np.nan_to_num(np.rint(scaled)), 0, 255).astype(np.uint8)
    height, width, channels = grey.shape
    out = np.zeros((height, width, 3), np.uint8)
    if channels == 1:
        out[:] = grey
    else:
        out[..., : min(channels, 3)] = grey[..., :3]
    if values.dtype.kind == "f":
        out[np.isnan(number).any(axis=-1)] = (255, 0, 255)
    return out


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
