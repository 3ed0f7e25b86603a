"""Surface viewer: does the picture look right, and who wrote this pixel."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from textual.binding import BindingType

from gpudbg.device import RAMPS
from gpudbg.frontends.tui import messages
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.keys import bindings
from gpudbg.frontends.tui.screens.panes import PaneScreen
from gpudbg.frontends.tui.widgets.surface import MODES, SurfacePane
from gpudbg.frontends.tui.widgets.surface_info import CursorPane, ImagesPane, OutsidePane

if TYPE_CHECKING:
    from gpudbg.frontends.tui.layout import Rect
    from gpudbg.frontends.tui.screens.main import MainScreen

WIDE = 110
"""From this width the picture has a column beside it."""
SIDE = 42


class SurfaceScreen(PaneScreen):
    """See the module text."""

    MARK, OPTION, SCOPE = "v", "image", "surface"
    AUTO_FOCUS = "#pane-surface"
    BINDINGS: ClassVar[list[BindingType]] = bindings("surface")

    def __init__(self, main: MainScreen, appearance: Appearance) -> None:
        self.surface = SurfacePane(appearance)
        self.cursor_pane = CursorPane(appearance, self.surface)
        self.images = ImagesPane(appearance)
        self.outside = OutsidePane(appearance)
        panes = (self.surface, self.cursor_pane, self.images, self.outside)
        super().__init__(main, appearance, "surfaces", panes, self.surface, self.cursor_pane)

    def panes_at(self, top: int, width: int, rows: int) -> dict[str, Rect]:
        """A column beside the picture where it fits; else a few rows below."""
        if width < WIDE:
            low = 4 if rows + top + 1 < 32 else 8
            return {
                "pane-surface": (0, top, width, rows - low),
                f"pane-{self.lower.pane}": (0, top + rows - low, width, low),
            }
        side = SIDE if width < 180 else 60
        at = width - side
        cursor = min(24, rows // 2 + 6)
        images = max(min(len(self._rows()) + 1, rows // 4), 3)
        low = top + cursor + images
        return {
            "pane-surface": (0, top, at - 1, rows),
            "pane-surfacecursor": (at, top, side, cursor),
            "pane-surfacelist": (at, top + cursor, side, images),
            "pane-surfaceoutside": (at, low, side, top + rows - low),
        }

    def _rows(self) -> tuple[object, ...]:
        view = self.main.current
        return view.image.rows if view is not None and view.image is not None else ()

    # ---- actions -------------------------------------------------------------------------
    def action_zoom(self, by: int) -> None:
        """Larger, smaller, or all of it."""
        self.surface.change_zoom(by)
        self.cursor_pane.redraw()

    def action_format(self) -> None:
        """Picture, hex words, decoded numbers."""
        pane = self.surface
        pane.mode = MODES[(MODES.index(pane.mode) + 1) % len(MODES)]
        pane.redraw()

    def action_ramp(self) -> None:
        """The other colours of single-channel pictures."""
        pane = self.surface
        pane.ramp = RAMPS[(RAMPS.index(pane.colours) + 1) % len(RAMPS)]
        pane.redraw()
        self.cursor_pane.redraw()

    def action_other(self, by: int) -> None:
        """The next surface or texture."""
        picture = self.surface.picture
        if picture is not None:
            self.choose(picture.rows[(picture.index + by) % len(picture.rows)].name)

    def choose(self, name: str) -> None:
        """Show a surface or texture."""
        self.main.options.image_name, self.main.options.image_slice = name, 0
        self.again()

    def action_fresh(self, by: int) -> None:
        """Move the cursor to the next texel written since the previous stop."""
        picture = self.surface.picture
        if picture is None:
            return
        found = np.flatnonzero(picture.fresh)
        if not found.size:
            self.main.note("no texel is new since the stop before", "muted")
            return
        here = self.surface.y * picture.width + self.surface.x
        later = found[found > here] if by > 0 else found[found < here][::-1]
        at = int(later[0]) if later.size else int(found[0 if by > 0 else -1])
        self.surface.go_to(at % picture.width, at // picture.width)

    def action_writer(self) -> None:
        """To the instruction that wrote the texel."""
        picture = self.surface.picture
        if picture is None:
            return
        writer = picture.writer(*self.surface.here)
        if writer is None:
            self.main.note("no kernel has written this texel in this run", "muted")
            return
        self._show_code(writer.pc)

    def _show_code(self, pc: int) -> None:
        from gpudbg.frontends.tui.handlers.code import show_pc

        self.dismiss(None)
        show_pc(self.main, pc)

    def action_goto(self) -> None:
        """Ask for coordinates."""
        self.main.gpudbg.ask("Go to texel", "x, y", self._go_to)

    def _go_to(self, text: str) -> None:
        words = text.replace(",", " ").split()
        try:
            x, y = (int(w, 0) for w in (words if len(words) > 1 else [*words, "0"]))
        except ValueError:
            self.main.note(f"{text!r} is no x, y")
            return
        self.surface.go_to(x, y)

    # ---- messages ------------------------------------------------------------------------
    def on_cursor_moved(self, event: messages.CursorMoved) -> None:
        """Another texel: its words."""
        event.stop()
        self.cursor_pane.redraw()

    def on_slice_asked(self, event: messages.SliceAsked) -> None:
        """Another layer, face or z slice."""
        event.stop()
        picture = self.surface.picture
        if picture is None:
            return
        last = picture.rows[picture.index].slices - 1
        self.main.options.image_name = picture.image.name
        self.main.options.image_slice = max(0, min(picture.number + event.by, last))
        self.again()

    def on_row_clicked(self, event: messages.RowClicked) -> None:
        """A click on a surface shows it."""
        event.stop()
        if isinstance(event.key, tuple) and event.key[0] == "image":
            self.choose(event.key[1])

    def on_row_opened(self, event: messages.RowOpened) -> None:
        """Enter on a surface shows it, on an instruction goes there."""
        event.stop()
        if not isinstance(event.key, tuple):
            return
        if event.key[0] == "image":
            self.choose(event.key[1])
        elif event.key[0] == "pc":
            self._show_code(event.key[1])
