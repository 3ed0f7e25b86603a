"""A surface as lines of half blocks in true colour: pure functions of pixels and a window.

Every character shows two texels, one above the other: the upper half block in the upper texel's
colour on the lower texel's.  The same picture goes to terminals by ANSI sequences (`ansi`) and to
widgets as cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass
from gpudbg.device.picture import Pixels, Shades, pixels_of

UPPER = "▀"
Colour = tuple[int, int, int]
Cell = tuple[str, Colour, Colour]
"""Character, foreground, background."""
BLANK: Colour = (0, 0, 0)
_RESET = "\x1b[0m"


@dataclass(frozen=True, slots=True)
class PictureWindow:
    """The part of a picture that is shown.

    Attributes:
        x, y: texel at the upper left corner.
        columns, rows: characters there are; a character is one texel wide and two high.
        zoom: characters across per texel when above 0 (0 and 1 are one); texels per character
            when below: -2 shows every second texel.
    """

    x: int
    y: int
    columns: int
    rows: int
    zoom: int = 1

    def texel_at(self, column: int, half_row: int) -> tuple[int, int]:
        """The texel that a half of a character shows."""
        if self.zoom < 0:
            return self.x + column * -self.zoom, self.y + half_row * -self.zoom
        return self.x + column // max(self.zoom, 1), self.y + half_row // max(self.zoom, 1)

    def moved(self, dx: int, dy: int) -> PictureWindow:
        """Panned by texels; never left of or above the picture."""
        return PictureWindow(
            max(self.x + dx, 0), max(self.y + dy, 0), self.columns, self.rows, self.zoom
        )


def cells(
    values: npt.NDArray[Any], window: PictureWindow, shades: Shades | None = None
) -> list[list[Cell]]:
    """The rows of cells a window shows of (height, width, channels) numbers."""
    pixels = pixels_of(values, shades)
    return pixel_cells(pixels, window)


def pixel_cells(pixels: Pixels, window: PictureWindow) -> list[list[Cell]]:
    """The rows of cells a window shows of RGB pixels; nothing beyond the picture."""
    height, width = pixels.shape[:2]
    out = []
    for row in range(window.rows):
        line: list[Cell] = []
        for column in range(window.columns):
            colours = []
            for half in (0, 1):
                x, y = window.texel_at(column, 2 * row + half)
                inside = x < width and y < height
                colours.append(_colour(pixels, x, y) if inside else None)
            if colours[0] is None:
                break
            line.append((UPPER, colours[0], colours[1] or BLANK))
        if not line:
            break
        out.append(line)
    return out


def halves(pixels: Pixels, window: PictureWindow) -> tuple[Pixels, int, int]:
    """The colours of all half cells a window shows, and how many columns and half rows are inside.

    The array has shape (2 * rows, columns, 3); what lies beyond the picture repeats its edge.
    """
    height, width = pixels.shape[:2]
    xs = np.array([window.texel_at(c, 0)[0] for c in range(window.columns)])
    ys = np.array([window.texel_at(0, r)[1] for r in range(2 * window.rows)])
    inside = int((xs < width).sum()), int((ys < height).sum())
    shown = pixels[np.minimum(ys, height - 1)][:, np.minimum(xs, width - 1)]
    return shown, *inside


def _colour(pixels: Pixels, x: int, y: int) -> Colour:
    r, g, b = pixels[y, x].tolist()
    return (r, g, b)


def ansi(rows: list[list[Cell]]) -> list[str]:
    """Cells as text with 24-bit colour sequences."""
    lines = []
    for row in rows:
        parts, last = [], None
        for text, front, back in row:
            if (front, back) != last:
                parts.append(
                    f"\x1b[38;2;{front[0]};{front[1]};{front[2]}"
                    f";48;2;{back[0]};{back[1]};{back[2]}m"
                )
                last = (front, back)
            parts.append(text)
        lines.append("".join(parts) + _RESET)
    return lines


def fitting_zoom(width: int, height: int, columns: int, rows: int) -> int:
    """The zoom at which a whole picture fits; 1 or a shrinking factor below 0, or an enlarging."""
    grow = min(columns // max(width, 1), 2 * rows // max(height, 1))
    if grow >= 1:
        return grow
    shrink = max(-(-width // max(columns, 1)), -(-height // max(2 * rows, 1)))
    return -shrink


def texel_words(values: npt.NDArray[Any], x: int, y: int) -> str:
    """The value under a cursor: decoded numbers and the texel's bytes in hex, highest first."""
    texel = np.ascontiguousarray(values[y, x])
    numbers = " ".join(f"{v:g}" if texel.dtype.kind == "f" else str(v) for v in texel.tolist())
    return f"({x}, {y})  {numbers}  0x{texel.tobytes()[::-1].hex()}"
