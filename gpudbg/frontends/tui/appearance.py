"""Appearance: the palette and glyph set in use, one mutable object that every widget shares."""

from __future__ import annotations

from gpudbg.dataclass import dataclass
from gpudbg.frontends.tui.glyphs import Glyphs
from gpudbg.frontends.tui.theme import Palette


@dataclass(slots=True)
class Appearance:
    """The palette and glyph set widgets draw with; after a change, `restyle` redraws the screen.

    Attributes:
        changes: counts every draw of a widget that altered its content.
    """

    palette: Palette
    glyphs: Glyphs
    changes: int = 0
