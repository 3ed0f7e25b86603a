"""A surface or texture as a file: .png shows a slice, .npy has everything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gpudbg.device.picture import pixels_of, png, shades_of, slice_of
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.device.images import DeviceImage

SUFFIXES = (".png", ".npy")
MAX_ZOOM = 64


def export_image(image: DeviceImage, path: str | Path, number: int = 0, zoom: int = 1) -> str:
    """Write an image; a line that says what was written.

    Args:
        path: ends in .png (one slice, as a picture) or .npy (the array in natural order).
        number: layer, face or z slice of the picture.
        zoom: pixels across per texel of the picture.

    Raises:
        CommandError: another ending, no such slice, or the file cannot be written.
    """
    target = Path(path)
    if target.suffix not in SUFFIXES:
        raise CommandError(f"{target}: the name must end in .png or .npy")
    if not 1 <= zoom <= MAX_ZOOM:
        raise CommandError(f"zoom {zoom}: 1 to {MAX_ZOOM}")
    try:
        if target.suffix == ".npy":
            np.save(target, image.array())
            return f"{target}: {image.array().dtype}{list(image.array().shape)} of {image.name}"
        values = slice_of(image, number)
        shades = shades_of(values)
        target.write_bytes(png(pixels_of(values, shades), zoom))
    except OSError as error:
        raise CommandError(f"{target}: {error.strerror or error}") from None
    height, width = values.shape[:2]
    scale = f", {shades.low:g} black to {shades.high:g} white" if not shades.whole else ""
    return f"{target}: {width}x{height} texels of {image.name}{scale}"
