"""Surface panes: a slice as a picture in half blocks, its values as a table, and the cursor's."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from textual.binding import BindingType
from textual.events import Click, Leave, MouseMove, MouseScrollDown, MouseScrollUp

from gpudbg.debug.pictures import ImagePicture
from gpudbg.debug.views import UPPER, PictureWindow, fitting_zoom, halves
from gpudbg.device import RAMPS, Pixels, pixels_of, ramp
from gpudbg.frontends.tui import messages
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.keys import bindings
from gpudbg.frontends.tui.text import Row, Span, row
from gpudbg.frontends.tui.view import ScreenView
from gpudbg.frontends.tui.widgets.base import Content, LinePane

if TYPE_CHECKING:
    from numpy.typing import NDArray

ZOOMS = (-64, -32, -16, -12, -8, -6, -5, -4, -3, -2, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Below 0: texels a character; else characters a texel."""
MODES = ("picture", "hex", "values")
LUMINANCE = " .:-=+*#%@"
"""The picture without colour, darkest first."""
STRETCH = 8
"""Half rows that the only row of a one-dimensional picture gets."""
COLOUR_BITS = np.uint8(0xFC)
"""Colours are distinguished to 6 bits: equal neighbours are sent as one."""
SCALE_CELLS = 32
_PLACES = np.array([1 << 16, 1 << 8, 1])
_WEIGHTS = np.array([0.2126, 0.7152, 0.0722])


def _code(colour: NDArray[np.uint8]) -> str:
    return f"#{colour[0]:02x}{colour[1]:02x}{colour[2]:02x}"


def _runs(upper: Pixels, lower: Pixels) -> Iterator[Span]:
    """Cells of two rows of colours, equal neighbours merged."""
    front, back = upper @ _PLACES, lower @ _PLACES
    starts = np.flatnonzero((front[1:] != front[:-1]) | (back[1:] != back[:-1])) + 1
    fronts, backs = front.tolist(), back.tolist()
    for start, end in pairwise([0, *starts.tolist(), len(fronts)]):
        if end > start:
            yield UPPER * (end - start), f"#{fronts[start]:06x}/#{backs[start]:06x}"


class SurfacePane(LinePane):
    """The picture with rulers, a cursor and a colour scale."""

    number, title, pane = "1", "Surface", "surface"
    empty = "No surfaces and no textures. A launch table or `--arg` makes them."
    BINDINGS: ClassVar[list[BindingType]] = bindings("picture")

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance)
        self.x = self.y = 0
        self.hover: tuple[int, int] | None = None
        self.zoom: int | None = None
        self.mode = MODES[0]
        self.ramp = ""
        self._origin = (0, 0)
        self._cell = 1
        self._shown = ""
        self._pixels: tuple[object, Pixels] | None = None

    # ---- state -----------------------------------------------------------------------------
    @property
    def picture(self) -> ImagePicture | None:
        """The picture of the shown image, or None."""
        return self.view.image if self.view is not None else None

    @property
    def here(self) -> tuple[int, int]:
        """The texel under the mouse, else under the cursor."""
        return self.hover if self.hover is not None else (self.x, self.y)

    @property
    def colours(self) -> str:
        """The ramp in use: bytes are greys unless asked otherwise."""
        picture = self.picture
        if self.ramp or picture is None:
            return self.ramp or RAMPS[0]
        return "grey" if picture.values.dtype.itemsize == 1 else "viridis"

    def rows_changed(self, view: ScreenView) -> None:
        """Another image starts at its corner; a cursor outside comes in."""
        picture = view.image
        if picture is None:
            return
        if picture.image.name != self._shown:
            self._shown = picture.image.name
            self.x = self.y = 0
            self._origin, self.zoom, self.hover = (0, 0), None, None
        self.x, self.y = min(self.x, picture.width - 1), min(self.y, picture.height - 1)
        self.hover = None

    # ---- geometry --------------------------------------------------------------------------
    def _label(self, picture: ImagePicture) -> int:
        return max(len(str(picture.height - 1)), 3) + 2

    def _room(self, picture: ImagePicture) -> tuple[int, int]:
        """Columns and rows of characters for texels."""
        return max(self.size.width - self._label(picture) - 1, 1), max(self.body - 2, 1)

    def _stretch(self, picture: ImagePicture) -> int:
        return STRETCH if picture.height == 1 else 1

    def actual_zoom(self, picture: ImagePicture) -> int:
        """The zoom in use: without a wish the whole picture, or 1:1 where most of it fits."""
        columns, rows = self._room(picture)
        if self.zoom:
            return self.zoom
        high = picture.height * self._stretch(picture)
        if self.zoom is None and picture.width <= 2 * columns and high <= 4 * rows:
            return max(1, self._fitting(picture))
        return self._fitting(picture)

    def _fitting(self, picture: ImagePicture) -> int:
        columns, rows = self._room(picture)
        high = picture.height * self._stretch(picture)
        found = fitting_zoom(picture.width, high, columns, rows)
        return max((z for z in ZOOMS if z <= found), default=ZOOMS[0])

    def _spread(self, picture: ImagePicture) -> tuple[int, int]:
        """Texels that fit across and down."""
        columns, rows = self._room(picture)
        if self.mode != "picture":
            return max(columns // self._cell, 1), rows
        zoom, high = self.actual_zoom(picture), 2 * rows // self._stretch(picture)
        if zoom < 0:
            return columns * -zoom, max(high * -zoom, 1)
        return max(columns // zoom, 1), max(high // zoom, 1)

    def _follow(self, picture: ImagePicture) -> None:
        """Scroll so that the cursor is seen, and nothing more."""
        across, down = self._spread(picture)
        ox, oy = self._origin
        step = max(-self.actual_zoom(picture), 1) if self.mode == "picture" else 1
        if not ox <= self.x < ox + across:
            ox = self.x if self.x < ox else self.x - across + 1
        if not oy <= self.y < oy + down:
            oy = self.y if self.y < oy else self.y - down + 1
        ox = max(0, min(ox, picture.width - across))
        oy = max(0, min(oy, picture.height - down))
        # Shrunk pictures show every step-th texel: always the same ones.
        self._origin = (-(-ox // step) * step, -(-oy // step) * step)

    def texel_at(self, column: int, line: int, lower: bool = False) -> tuple[int, int] | None:
        """The texel at a place of the pane; None beside the picture."""
        picture = self.picture
        if picture is None:
            return None
        column, line = column - self._label(picture), line - 2
        columns, rows = self._room(picture)
        if not (0 <= column < columns and 0 <= line < rows):
            return None
        ox, oy = self._origin
        if self.mode != "picture":
            x, y = ox + column // self._cell, oy + line
        else:
            window = PictureWindow(
                ox, oy * self._stretch(picture), columns, rows, self.actual_zoom(picture)
            )
            x, y = window.texel_at(column, 2 * line + lower)
            y //= self._stretch(picture)
        return (x, y) if x < picture.width and y < picture.height else None

    # ---- drawing ---------------------------------------------------------------------------
    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """Ruler, texels, colour scale."""
        picture = view.image
        if picture is None:
            return Content(())
        self._cell = self._cell_width(picture)
        self._follow(picture)
        if self.mode == "picture":
            rows = [*self._ruled(picture, self._picture_rows(picture))]
        else:
            rows = [*self._ruled(picture, self._value_rows(picture))]
        rows = rows[: height - 1]
        rows += [Row()] * (height - 1 - len(rows))
        return Content([*rows, self._scale(picture)], self._words(picture))

    def _words(self, picture: ImagePicture) -> str:
        zoom = self.actual_zoom(picture)
        size = f"{zoom}:1" if zoom > 0 else f"1:{-zoom}"
        parts = [f"zoom {size}" if self.mode == "picture" else self.mode]
        count = picture.rows[picture.index].slices
        if count > 1:
            parts.append(f"{picture.slice_word} {picture.number} of {count}")
        times = self.appearance.glyphs.times
        parts.append(f"{picture.width} {times} {picture.height}")
        across, down = self._spread(picture)
        if across < picture.width or down < picture.height:
            across, down = min(across, picture.width), min(down, picture.height)
            parts[-1] = f"{across} {times} {down} of {parts[-1]}"
        return "   ".join(parts)

    def title_row(self) -> Row:
        """The name of what is shown is part of the title."""
        line = super().title_row()
        picture = self.picture
        if picture is None:
            return line
        name = f"{picture.image.kind.capitalize()} {picture.image.name} "
        rule = self.appearance.glyphs.rule_heavy if self.has_focus else self.appearance.glyphs.rule
        spans = list(line.spans)
        at = next((n for n, (text, _) in enumerate(spans) if text == self.title + " "), None)
        if at is not None:
            spans[at] = (name, spans[at][1])
            extra = len(name) - len(self.title) - 1
            for n in range(at + 1, len(spans)):
                text, style = spans[n]
                if len(text) > extra and not text.strip(rule):
                    spans[n] = (text[: len(text) - extra], style)
                    break
        return Row(tuple(spans))

    def pixels(self, picture: ImagePicture) -> Pixels:
        """The slice's colours."""
        key = (picture.number, picture.image.name, id(picture), self.colours)
        if self._pixels is None or self._pixels[0] != key:
            made = pixels_of(picture.shown, picture.shades, self.colours) & COLOUR_BITS
            self._pixels = (key, made)
        return self._pixels[1]

    def _ascii(self) -> bool:
        return self.appearance.glyphs.name == "ascii" or self.appearance.palette.plain

    def _ruled(self, picture: ImagePicture, lines: list[tuple[list[Span], int]]) -> Iterator[Row]:
        """The texel rows between rulers; red marks where accesses left the picture."""
        g, label = self.appearance.glyphs, self._label(picture)
        yield self._ruler(picture)
        end = self._origin[0] + self._spread(picture)[0] >= picture.width
        for n, (spans, y) in enumerate(lines):
            tall = max(lines[n + 1][1] - y if n + 1 < len(lines) else picture.height - y, 1)
            mine = y <= self.y < y + tall if n + 1 < len(lines) else y <= self.y
            left = any(v in picture.edges["left"] for v in range(y, y + tall))
            right = any(v in picture.edges["right"] for v in range(y, y + tall))
            new = not n or lines[n - 1][1] != y
            text = f"{y:>{label - 2}}" if n % 4 == 0 and new else " " * (label - 2)
            if mine and (n + 1 == len(lines) or lines[n + 1][1] > self.y):
                text = f"{self.y:>{label - 2}}" if tall == 1 or self.mode != "picture" else text
                head: tuple[Span, ...] = ((text, "you"), (g.pc, "you"))
            else:
                head = ((text, "muted"), (" ", "text"))
            cross = left and not self._origin[0]
            tail = (g.cross, "stop") if right and end else (" ", "text")
            yield row(*head, (g.cross if cross else " ", "stop"), *spans, tail)
        columns, _ = self._room(picture)
        low = picture.edges["bottom"]
        if low:
            marks = self._column_marks(picture, low, columns)
            yield row((" " * label, "text"), (marks, "stop"))

    def _column_marks(self, picture: ImagePicture, which: frozenset[int], columns: int) -> str:
        cross = self.appearance.glyphs.cross
        zoom = self.actual_zoom(picture)
        out = []
        for c in range(columns):
            step = max(-zoom, 1)
            x = self._origin[0] + (c * step if zoom < 0 else c // max(zoom, 1))
            out.append(cross if any(v in which for v in range(x, x + step)) else " ")
        return "".join(out).rstrip()

    def _ruler(self, picture: ImagePicture) -> Row:
        columns, _ = self._room(picture)
        label, every = self._label(picture), 16
        line = [" "] * (columns + 8)
        zoom = self.actual_zoom(picture)
        cell = self._cell if self.mode != "picture" else max(zoom, 1)
        if cell > 1:
            every = -(-8 // cell) * cell
        for c in range(0, columns, every):
            found = self.texel_at(label + c, 2)
            if found is not None:
                text = str(found[0])
                if self.mode != "picture":
                    text = text.rjust(self._cell - 1)
                line[c : c + len(text)] = text
        step = max(-zoom, 1) if self.mode == "picture" else 1
        at = (self.x - self._origin[0]) // step * cell
        at += self._cell - 2 if self.mode != "picture" else 0
        text = "".join(line)[:columns]
        mark = self.appearance.glyphs.open
        if 0 <= at < columns:
            return row((" " * label + text[:at], "muted"), (mark, "you"), (text[at + 1 :], "muted"))
        return row((" " * label + text, "muted"))

    def _picture_rows(self, picture: ImagePicture) -> list[tuple[list[Span], int]]:
        """(spans, texel row of the upper half) of every character row."""
        columns, rows = self._room(picture)
        stretch, zoom = self._stretch(picture), self.actual_zoom(picture)
        pixels = np.repeat(self.pixels(picture), stretch, axis=0)
        ox, oy = self._origin
        window = PictureWindow(ox, oy * stretch, columns, rows, zoom)
        shown, across, down = halves(pixels, window)
        shown = shown.copy()
        self._mark_cursor(shown, window, stretch, across)
        ground = np.array(_rgb(self.appearance.palette.colours["bg"]), np.uint8)
        shown[down:] = ground
        out = []
        for r in range(-(-down // 2)):
            pair = shown[2 * r, :across], shown[2 * r + 1, :across]
            y = window.texel_at(0, 2 * r)[1] // stretch
            spans = [self._letters(*pair)] if self._ascii() else [*_runs(*pair)]
            if self._ascii():
                spans = self._ascii_cursor(spans[0][0], window, stretch, r)
            out.append((spans, y))
        return out

    def _mark_cursor(self, shown: Pixels, window: PictureWindow, stretch: int, across: int) -> None:
        """The cursor's texel in the colour of the user."""
        if self._ascii():
            return
        colour = np.array(_rgb(self.appearance.palette.colours["you"]), np.uint8)
        for r in range(shown.shape[0]):
            y = window.texel_at(0, r)[1] // stretch
            step = max(-window.zoom, 1)
            if not y <= self.y < y + step:
                continue
            for c in range(across):
                x = window.texel_at(c, 0)[0]
                if x <= self.x < x + step:
                    shown[r, c] = colour

    def _letters(self, upper: Pixels, lower: Pixels) -> Span:
        light = (upper.astype(np.float64) + lower) / 2 @ _WEIGHTS / 256.0 * len(LUMINANCE)
        return "".join(LUMINANCE[int(n)] for n in light), "text"

    def _ascii_cursor(self, text: str, window: PictureWindow, stretch: int, r: int) -> list[Span]:
        step = max(-window.zoom, 1)
        rows = [window.texel_at(0, 2 * r + half)[1] // stretch for half in (0, 1)]
        if not any(y <= self.y < y + step for y in rows):
            return [(text, "text")]
        for c in range(len(text)):
            x = window.texel_at(c, 0)[0]
            if x <= self.x < x + step:
                mark = self.appearance.glyphs.cross
                return [(text[:c], "text"), (mark, "you.r"), (text[c + 1 :], "text")]
        return [(text, "text")]

    # ---- values ----------------------------------------------------------------------------
    def _cell_width(self, picture: ImagePicture) -> int:
        if self.mode == "picture":
            return 1
        if self.mode == "hex":
            return len(picture.hex(0, 0)) + 1
        ox, oy = self._origin
        part = [
            len(picture.number_text(x, y))
            for y in range(oy, min(oy + self.body, picture.height))
            for x in range(ox, min(ox + self.size.width // 2, picture.width))
        ]
        return max(part, default=1) + 1

    def _value_rows(self, picture: ImagePicture) -> list[tuple[list[Span], int]]:
        across, down = self._spread(picture)
        ox, oy = self._origin
        pixels = self.pixels(picture)
        # Marks are for what stands out: a whole new picture does not.
        few = 2 * int(picture.fresh.sum()) < picture.fresh.size
        text_of = picture.hex if self.mode == "hex" else picture.number_text
        out = []
        for y in range(oy, min(oy + down, picture.height)):
            spans: list[Span] = []
            for x in range(ox, min(ox + across, picture.width)):
                text = text_of(x, y).rjust(self._cell - 1) + " "
                if (x, y) == (self.x, self.y):
                    spans.append((text, "bg.b/you"))
                elif few and picture.fresh[y, x]:
                    spans.append((text, "now.b"))
                elif self._ascii():
                    spans.append((text, "text"))
                else:
                    light = float(pixels[y, x] @ _WEIGHTS) > 128
                    front = "#000000" if light else "#ffffff"
                    spans.append((text, f"{front}/{_code(pixels[y, x])}"))
            out.append((spans, y))
        return out

    def _scale(self, picture: ImagePicture) -> Row:
        """The colours with their numbers at both ends."""
        low, high = f"{picture.shades.low:g}", f"{picture.shades.high:g}"
        head: list[Span] = [(" " * self._label(picture) + low + " ", "muted")]
        if self._ascii():
            head.append((LUMINANCE, "text"))
        elif picture.shown.shape[-1] == 1:
            colours = ramp(self.colours)[np.linspace(0, 255, SCALE_CELLS).astype(int)]
            head += [(" ", f"{_code(c)}/{_code(c)}") for c in colours & COLOUR_BITS]
        else:
            head.append(("each channel", "dim"))
        head.append((f" {high}", "muted"))
        names = {1: f"  {self.colours}", 2: "  red green"}
        head.append((names.get(picture.shown.shape[-1], "  red green blue"), "dim"))
        counts = sum(r.lanes for r in picture.outside)
        words = f"{counts:,} lanes outside " if counts else "no access outside "
        return Row(tuple(head), right=((words, "stop" if counts else "dim"),))

    # ---- moving ----------------------------------------------------------------------------
    def go_to(self, x: int, y: int) -> None:
        """Put the cursor on a texel and show it."""
        picture = self.picture
        if picture is None:
            return
        self.x = max(0, min(x, picture.width - 1))
        self.y = max(0, min(y, picture.height - 1))
        self.hover = None
        self.redraw()
        self.post_message(messages.CursorMoved(self.pane))

    def action_walk(self, dx: int, dy: int) -> None:
        """Arrows."""
        picture = self.picture
        step = 1
        if picture is not None and self.mode == "picture":
            step = max(-self.actual_zoom(picture), 1)
        self.go_to(self.x + dx * step, self.y + dy * step)

    def action_move(self, by: int) -> None:
        """Up and down."""
        self.action_walk(0, by)

    def action_page(self, by: int) -> None:
        """The next slice."""
        self.post_message(messages.SliceAsked(by))

    def change_zoom(self, by: int) -> None:
        """The next larger or smaller zoom; 0 fits the picture."""
        picture = self.picture
        if picture is None:
            return
        if not by:
            self.zoom, self._origin = 0, (0, 0)
        else:
            at = ZOOMS.index(self.actual_zoom(picture))
            self.zoom = ZOOMS[max(0, min(at + by, len(ZOOMS) - 1))]
        self.mode = MODES[0]
        self.redraw()

    # ---- mouse -----------------------------------------------------------------------------
    def on_mouse_move(self, event: MouseMove) -> None:
        """What lies under the mouse is read in the cursor pane."""
        found = self.texel_at(event.x, event.y)
        if found != self.hover:
            self.hover = found
            self.post_message(messages.CursorMoved(self.pane))

    def on_leave(self, event: Leave) -> None:
        """The mouse has gone: the cursor counts again."""
        self.hover = None
        self.post_message(messages.CursorMoved(self.pane))

    def on_click(self, event: Click) -> None:
        """The cursor goes there."""
        found = self.texel_at(event.x, event.y)
        if found is not None:
            self.go_to(*found)

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        """The wheel zooms out."""
        self.change_zoom(-1)
        event.stop()

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        """The wheel zooms in."""
        self.change_zoom(1)
        event.stop()


def _rgb(code: str) -> tuple[int, int, int]:
    return int(code[1:3], 16), int(code[3:5], 16), int(code[5:7], 16)
