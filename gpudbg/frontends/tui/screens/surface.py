"""Surface viewer: does the picture look right, and who wrote this pixel."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Resize

from gpudbg.debug.picture import RAMPS
from gpudbg.frontends.tui import messages
from gpudbg.frontends.tui.look import Look
from gpudbg.frontends.tui.screens.board import Board
from gpudbg.frontends.tui.screens.side import SideScreen
from gpudbg.frontends.tui.view import Running, View
from gpudbg.frontends.tui.widgets.base import LinePane
from gpudbg.frontends.tui.widgets.chrome import KeyRow, SmStrip, StopLine
from gpudbg.frontends.tui.widgets.surface import MODES, SurfacePane
from gpudbg.frontends.tui.widgets.surface_info import CursorPane, ImagesPane, OutsidePane

if TYPE_CHECKING:
    from gpudbg.frontends.tui.layout import Rect
    from gpudbg.frontends.tui.screens.main import MainScreen

KEYS = (
    ("+ -", "zoom"),
    ("0", "fit"),
    ("o", "next surface"),
    ("PgDn", "slice"),
    ("x", "values"),
    (". ,", "new texel"),
    ("W", "who wrote"),
    ("g", "go to x, y"),
    ("p", "palette"),
    ("Space", "step"),
    ("1-4", "pane"),
    ("Esc", "back"),
)
WIDE = 110
"""From this width the picture has a column beside it."""
SIDE = 42


class SurfaceScreen(SideScreen):
    """See the module text."""

    AUTO_FOCUS = "#pane-surface"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("plus,equals_sign", "zoom(1)", "zoom in", show=False),
        Binding("minus", "zoom(-1)", "zoom out", show=False),
        Binding("0", "zoom(0)", "fit", show=False),
        Binding("o", "other(1)", "next surface", show=False),
        Binding("O", "other(-1)", "previous surface", show=False),
        Binding("x", "format", "picture, hex, values", show=False),
        Binding("p", "ramp", "palette", show=False),
        Binding("full_stop", "fresh(1)", "next new texel", show=False),
        Binding("comma", "fresh(-1)", "previous new texel", show=False),
        Binding("W", "writer", "who wrote", show=False),
        Binding("g", "goto", "go to x, y", show=False),
        Binding("v", "close", "back", show=False),
        *(Binding(str(n), f"pane({n - 1})", "pane", show=False) for n in range(1, 5)),
    ]

    def __init__(self, main: MainScreen, look: Look) -> None:
        super().__init__(main, look, "surfaces")
        self.surface = SurfacePane(look)
        self.cursor_pane = CursorPane(look, self.surface)
        self.images = ImagesPane(look)
        self.outside = OutsidePane(look)
        self.panes: tuple[LinePane, ...] = (
            self.surface,
            self.cursor_pane,
            self.images,
            self.outside,
        )
        self._lower: LinePane = self.cursor_pane

    def compose(self) -> ComposeResult:
        """Stop line, strip, four panes, keys."""
        yield Board(
            StopLine(self.look, "v-stopline"),
            SmStrip(self.look, "v-strip"),
            *self.panes,
            KeyRow(self.look, "v-keys"),
        )

    def on_mount(self) -> None:
        """Ask the collector for pictures from now on, and show one."""
        keys = self.query_one(KeyRow)
        keys.keys = KEYS
        keys.pinned = (("?", "help"),)
        self.main.options.image = True
        self._again()

    def on_unmount(self) -> None:
        """Nobody looks at surfaces any more."""
        self.main.options.image = False

    def _again(self) -> None:
        """A new picture, unless the machine runs: then the next stop brings one."""
        if not self.main.engine.busy:
            self.main.quick(lambda s: None)

    def on_resize(self, event: Resize) -> None:
        """Place the panes."""
        self.place()

    def place(self) -> None:
        """A column beside the picture where it fits; else a few rows below."""
        width, height = self.size
        if not width or not height:
            return
        places: dict[str, Rect] = {
            "v-stopline": (0, 0, width, 1),
            "v-keys": (0, height - 1, width, 1),
        }
        top = 1
        if height >= 30:
            places["v-strip"] = (0, 1, width, 1)
            top = 2
        rows = height - top - 1
        if width >= WIDE:
            side = SIDE if width < 180 else 60
            left, at = width - side - 1, width - side
            cursor = min(24, rows // 2 + 6)
            images = max(min(len(self._rows()) + 1, rows // 4), 3)
            places["pane-surface"] = (0, top, left, rows)
            places["pane-surfacecursor"] = (at, top, side, cursor)
            places["pane-surfacelist"] = (at, top + cursor, side, images)
            low = top + cursor + images
            places["pane-surfaceoutside"] = (at, low, side, top + rows - low)
            for pane in self.panes:
                pane.tabs = ()
        else:
            low = 4 if height < 32 else 8
            places["pane-surface"] = (0, top, width, rows - low)
            places[f"pane-{self._lower.pane}"] = (0, top + rows - low, width, low)
            hidden = [p for p in self.panes[1:] if p is not self._lower]
            self._lower.tabs = tuple((p.number, p.title, p.pane) for p in hidden)
        self.query_one(Board).place(places)
        if self.main.current is not None:
            self.show(self.main.current, None)

    def _rows(self) -> tuple[object, ...]:
        view = self.main.current
        return view.image.rows if view is not None and view.image is not None else ()

    def show(self, view: View, running: Running | None) -> None:
        """A new picture; one that comes before the panes are there is shown when they are."""
        if not self.query(StopLine):
            return
        self.query_one(StopLine).show(view, running)
        self.query_one(SmStrip).show(view, running)
        for pane in self.panes:
            pane.show(view, running)
        self.query_one(KeyRow).show(view, running)

    # ---- actions -------------------------------------------------------------------------
    def action_pane(self, number: int) -> None:
        """A digit: that pane; on a narrow screen it takes the lower part."""
        pane = self.panes[number]
        if not pane.display and pane is not self.surface:
            self._lower = pane
            self.place()
        self.set_focus(pane)

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
        self._again()

    def action_fresh(self, by: int) -> None:
        """To the next texel written since the stop before."""
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
        from gpudbg.frontends.tui.doings_look import show_pc

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
        self._again()

    def on_pane_asked(self, event: messages.PaneAsked) -> None:
        """A click on a hidden pane's name."""
        event.stop()
        names = [p.pane for p in self.panes]
        self.action_pane(names.index(event.pane))

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
