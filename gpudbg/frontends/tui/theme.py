"""Colour roles and their palettes; every style of the terminal UI is made here.

A style is asked for by a short text: `role`, then `.b` bold `.i` italic `.u` underlined `.r`
reversed, then `/role` for the ground: "now.b/now-bg".  A colour of a picture stands for itself:
"#20ff00/#000000".  Four hues have one meaning each: amber is
now, blue is you, red stops or is wrong, green executes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache

from rich.color import Color
from rich.style import Style
from textual.theme import Theme

from gpudbg.dataclass import dataclass

ROLES = (
    "bg",
    "band",
    "text",
    "muted",
    "dim",
    "faint",
    "now",
    "now-bg",
    "you",
    "you-bg",
    "lane-band",
    "stop",
    "stop-bg",
    "run",
    "run-quiet",
    "path-b",
    "path-c",
    "path-d",
)
"""Every role a palette has a colour for."""

_ROWS: dict[str, str] = {
    # role order as in ROLES
    "dark": "#0e1116 #161b22 #d5dbe3 #8a94a1 #6d7784 #414955 #ffc457 #332a12 #74b9ff #16324f "
    "#16222e #ff7b72 #451a1c #7fd492 #4f8a61 #c3a6ff #56cfd2 #e8a0bf",
    "light": "#fbfaf6 #efede4 #1c2127 #5d6873 #7b7f7c #c4c2b6 #8a5700 #ffeab8 #0b57b0 #d5e6fb "
    "#e3ecf7 #b3261e #fbdcd8 #1b7a3a #7fb792 #6a3bbf #00717a #a8326e",
    "contrast": "#000000 #000000 #ffffff #d0d0d0 #c0c0c0 #a0a0a0 #ffff00 #3a3a00 #00e5ff #003a44 "
    "#003a44 #ff9a9a #5a0000 #5cff5c #5cff5c #e2b8ff #5cfff2 #ffb0d8",
    # Exact entries of the 256-colour table: a downgrade would turn amber and red tints into one.
    "256": "#121212 #1c1c1c #dadada #a8a8a8 #767676 #4e4e4e #ffd75f #3a3a3a #87afff #00005f "
    "#1c1c1c #ff8787 #5f0000 #87d787 #5f875f #d7afff #5fd7d7 #d7afd7",
    # Exact entries of the 16 colours that every terminal has, on black.
    "16": "#000000 #000000 #ffffff #aaaaaa #aaaaaa #555555 #ffff55 #0000aa #55ffff #555555 "
    "#000000 #ff5555 #000000 #55ff55 #00aa00 #ff55ff #00aaaa #aa00aa",
    "mono": "#000000 #000000 #ffffff #ffffff #bcbcbc #8a8a8a #ffffff #000000 #ffffff #000000 "
    "#000000 #ffffff #000000 #ffffff #ffffff #ffffff #ffffff #ffffff",
}

MONO_MODS = {"now-bg": "r", "stop-bg": "r", "you-bg": "u", "now": "b", "stop": "b", "you": "b"}
"""Without colour these roles are carried by attributes: r reversed, u underlined, b bold."""


@dataclass(slots=True)
class Palette:
    """Colours by role, and the styles made of them."""

    name: str
    colours: dict[str, str]
    dark: bool = True
    _styles: dict[str, Style] = field(default_factory=dict, repr=False)

    @property
    def plain(self) -> bool:
        """Whether this palette must do without hue."""
        return self.name == "mono"

    def style(self, text: str) -> Style:
        """The style that `role.mods/ground` names."""
        if text[0] == "#":
            return picture_style(text)
        found = self._styles.get(text)
        if found is None:
            found = self._styles[text] = self._make(text)
        return found

    def _make(self, text: str) -> Style:
        front, _, ground = text.partition("/")
        role, *mods = front.split(".")
        letters = set("".join(mods))
        if self.plain:
            letters |= set(MONO_MODS.get(role, "")) | set(MONO_MODS.get(ground, ""))
        return Style(
            color=Color.parse(self.colours[role]),
            bgcolor=Color.parse(self.colours[ground or "bg"]),
            bold="b" in letters,
            italic="i" in letters,
            underline="u" in letters,
            reverse="r" in letters,
        )

    def theme(self) -> Theme:
        """The same colours for Textual's own widgets."""
        c = self.colours
        return Theme(
            name=f"gpudbg-{self.name}",
            primary=c["you"],
            secondary=c["path-b"],
            accent=c["now"],
            foreground=c["text"],
            background=c["bg"],
            surface=c["bg"],
            panel=c["band"],
            boost=c["band"],
            warning=c["now"],
            error=c["stop"],
            success=c["run"],
            dark=self.dark,
            variables={
                "input-cursor-background": c["you"],
                "input-cursor-foreground": c["bg"],
                "input-selection-background": c["you-bg"],
                "block-cursor-background": c["you-bg"],
                "block-cursor-foreground": c["text"],
                "scrollbar": c["faint"],
                "scrollbar-background": c["bg"],
                "border": c["faint"],
            },
        )


@lru_cache(maxsize=1 << 14)
def picture_style(text: str) -> Style:
    """The style of two picture colours, `#front/#ground`."""
    front, _, ground = text.partition("/")
    return Style(color=Color.parse(front), bgcolor=Color.parse(ground))


def _palette(name: str) -> Palette:
    colours = dict(zip(ROLES, _ROWS[name].split(), strict=True))
    return Palette(name, colours, dark=name != "light")


PALETTES = {name: _palette(name) for name in _ROWS}
"""Palettes by name: dark, light, contrast, 256, 16, mono."""


EXACT = ("256", "16", "mono")
"""Palettes that need no true colour."""


def choose(environ: Mapping[str, str] | None = None, saved: str = "") -> Palette:
    """The palette for this terminal: asked for, monochrome under NO_COLOR, by colour depth.

    Args:
        environ: the environment.
        saved: what the user saved; taken where the terminal has its colours.
    """
    env = os.environ if environ is None else environ
    asked = env.get("GPUDBG_THEME", "")
    if asked in PALETTES:
        return PALETTES[asked]
    if env.get("NO_COLOR"):
        return PALETTES["mono"]
    deep = env.get("COLORTERM", "").lower() in ("truecolor", "24bit") or "TERM" not in env
    if saved in PALETTES and (deep or saved in EXACT):
        return PALETTES[saved]
    if deep:
        return PALETTES["dark"]
    many = env["TERM"].endswith("256color") or "kitty" in env["TERM"]
    return PALETTES["256" if many else "16"]
