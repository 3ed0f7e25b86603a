"""Appearance: the palette and glyph set in use; one mutable object that every widget shares."""

from __future__ import annotations

from gpudbg.dataclass import dataclass
from gpudbg.frontends.tui.glyphs import Glyphs
from gpudbg.frontends.tui.theme import Palette


@dataclass(slots=True)
class Appearance:
    """What widgets draw with; changing it and calling `restyle` changes the whole screen.

    Attributes:
        changes: how often a widget was drawn otherwise than before.
    """

    palette: Palette
    glyphs: Glyphs
    changes: int = 0
