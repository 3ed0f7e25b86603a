"""Screens as text and colour roles, in three sizes; dark and light must both match.

    python -m tests.tui.snapshots       writes tests/tui/snapshots/ anew, after a change on purpose

Every line of a file is a line of the screen; below them the roles of its cells, run by run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from rich.style import Style

from gpudbg.frontends.tui import theme
from gpudbg.frontends.tui.app import GpudbgApp

from .helpers import DIVERGE, make_app, open_kernel, press, settle

FOLDER = Path(__file__).with_name("snapshots")
SIZES = {"small": (80, 24), "medium": (120, 40), "large": (200, 60)}
PALETTES = ("dark", "light")
SCREENS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "": (
        ("break 13", "continue", "continue", "display in", "info warps"),
        ("space", "l", "l"),
    ),
    "history-": (
        ("set timeline on", "break 13", "continue", "continue 60", "bookmark in the loop",
         "continue 30"),
        ("space", "space", "h", "shift+left", "shift+left"),
    ),
}  # fmt: skip
"""Start of the file's name -> console lines, keys."""


def roles(app: GpudbgApp) -> Iterator[list[str]]:
    """For every line of the screen, the role and ground of every cell."""
    names = {colour: role for role, colour in reversed(app.appearance.palette.colours.items())}

    def name(style: Style | None) -> str:
        assert style is not None
        front = style.color.name if style.color else ""
        ground = style.bgcolor.name if style.bgcolor else ""
        marks = "".join(
            m for m, on in (("b", style.bold), ("i", style.italic), ("r", style.reverse)) if on
        )
        out = names.get(front, front) + (f".{marks}" if marks else "")
        return (
            out
            if ground == app.appearance.palette.colours["bg"]
            else f"{out}/{names.get(ground, ground)}"
        )

    for strip in app.screen._compositor.render_strips(app.size):
        # Blanks show their ground only.
        cells = []
        for segment in strip:
            named = name(segment.style)
            ground = named[named.find("/") :] if "/" in named else ""
            cells += [named if c != " " else ground for c in segment.text]
        yield cells


def picture(app: GpudbgApp) -> str:
    """The screen as a file."""
    strips = app.screen._compositor.render_strips(app.size)
    lines = ["".join(s.text for s in strip).rstrip() for strip in strips]
    for number, cells in enumerate(roles(app)):
        runs = [f"{len(list(group))}{role or '_'}" for role, group in groupby(cells)]
        lines.append(f"{number:2} {' '.join(runs)}")
    return "\n".join(lines) + "\n"


async def take(size: tuple[int, int], screen: str) -> dict[str, str]:
    """The screen of a divergent kernel at a breakpoint, by palette."""
    commands, keys = SCREENS[screen]
    app = make_app(open_kernel("divergence", DIVERGE))
    out = {}
    async with app.run_test(size=size) as pilot:
        await settle(app, pilot)
        for line in commands:
            app.main.run_command(line)
            await settle(app, pilot)
        await press(app, pilot, *keys)
        for palette in PALETTES:
            app.set_appearance(theme=palette)
            await settle(app, pilot)
            out[palette] = picture(app)
    return out


def main() -> None:
    """Write them."""
    FOLDER.mkdir(exist_ok=True)
    assert len(set(theme.PALETTES["dark"].colours.values())) == len(theme.ROLES)
    for screen in SCREENS:
        for name, size in SIZES.items():
            path = FOLDER / f"{screen}{name}.txt"
            path.write_text(asyncio.run(take(size, screen))["dark"])
            print(path, path.stat().st_size)


if __name__ == "__main__":
    main()
