"""Memory pane: sixteen bytes a row in words, changed ones amber, zeros dim."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding
from textual.events import Click

from gpudbg.frontends.tui.glyphs import Glyphs
from gpudbg.frontends.tui.text import Row, Span, row
from gpudbg.frontends.tui.view import MemoryPage, View
from gpudbg.frontends.tui.widgets.base import Content, LinePane

if TYPE_CHECKING:
    from gpudbg.frontends.tui.look import Look

ROW_BYTES = 16
FORMATS = ("hex", "dec", "float", "bytes", "i16", "hex64", "double")
"""Columns of a row: 32-bit words in hex, signed, float; bytes; halves; 64 bits in hex, double."""
SIZES = {"bytes": 1, "i16": 2, "hex64": 8, "double": 8}
WIDTHS = {"hex": 8, "bytes": 2, "i16": 6, "hex64": 16, "double": 22}
"""Bytes of a column where they are not 4, and its characters where they are not 11."""
FIRST_SPAN = 2
"""The span of a row's first column; every column is followed by a blank span."""
BAR = 24


def word_text(raw: bytes, form: str) -> str:
    """One column in a form of `FORMATS`."""
    value = int.from_bytes(raw, "little")
    if form in ("hex", "bytes", "hex64"):
        return f"{value:0{len(raw) * 2}x}"
    if form in ("dec", "i16"):
        return str(int.from_bytes(raw, "little", signed=True))
    if form == "double":
        return f"{struct.unpack('<d', raw.ljust(8, bytes(1)))[0]:.10g}"
    return f"{struct.unpack('<f', raw.ljust(4, bytes(1)))[0]:.5g}"


def page_rows(page: MemoryPage, form: str) -> list[Row]:
    """The page's rows; device addresses as offsets into their allocation."""
    out = []
    relative = page.space == "global"
    digits = 4 if page.size <= 1 << 16 else 6 if page.size <= 1 << 24 else 10
    start = page.base if relative else 0
    width, size = WIDTHS.get(form, 11), SIZES.get(form, 4)
    for at in range(0, len(page.data), ROW_BYTES):
        raw = page.data[at : at + ROW_BYTES]
        place = f"{page.address - start + at:0{digits}x}"
        spans: list[Span] = [("+" + place if relative else place, "muted"), (" ", "text")]
        for n in range(0, len(raw), size):
            word = raw[n : n + size]
            changed = any(at + n + k in page.changed for k in range(len(word)))
            style = "now" if changed else "dim" if not any(word) else "text"
            spans.append((word_text(word, form).rjust(width), style))
            spans.append((" ", "text"))
        spans.append(("".join(chr(b) if 32 <= b < 127 else "." for b in raw), "muted"))
        out.append(Row(tuple(spans), ("byte", page.space, page.address + at)))
    return out


def map_rows(page: MemoryPage, glyphs: Glyphs) -> list[Row]:
    """Allocations by address, a bar by the logarithm of their size, and the room between them."""
    out: list[Row] = []
    most = max((math.log2(size + 1) for _, size, _, _ in page.allocations), default=1.0)
    end = None
    for base, size, name, tag in page.allocations:
        if end is not None and base > end:
            out.append(row((f"{'':13}{glyphs.cut} {base - end:,} B apart", "dim")))
        length = max(round(math.log2(size + 1) / most * BAR), 1)
        out.append(
            row(
                (f" 0x{base:x} ", "muted"),
                (f"{size:>13,} B  ", "text"),
                (f"{name:26} ", "text.b"),
                (f"{tag:8}  ", "muted"),
                (glyphs.running * length, "path-c"),
                key=("allocation", base),
            )
        )
        end = base + size
    return out


class MemoryPane(LinePane):
    """A window into shared, global, local or constant memory."""

    number, title, pane = "5", "Memory", "memory"
    form = "hex"
    BINDINGS: ClassVar = [
        Binding("left", "column(-1)", "left", show=False),
        Binding("right", "column(1)", "right", show=False),
    ]

    def __init__(self, look: Look) -> None:
        super().__init__(look)
        self.column = 0

    @property
    def word_bytes(self) -> int:
        """Bytes of a column."""
        return SIZES.get(self.form, 4)

    @property
    def word(self) -> int:
        """The cursor's column: the same bytes stay under it when the format changes."""
        return self.column // self.word_bytes

    def action_column(self, by: int) -> None:
        """Move the cursor along its row; over an end, to the next row."""
        size = self.word_bytes
        at = self.word * size + by * size
        if not 0 <= at < ROW_BYTES:
            before = self.cursor
            self.action_move(by)
            at = at % ROW_BYTES if self.cursor != before else self.column
        elif self.cursor is None:
            self.action_move(1)
        self.column = at
        self.redraw()

    def word_at(self, row: int) -> tuple[int, str] | None:
        """Address and text of the cursor's column in the row at address `row`."""
        page = self.view.memory if self.view is not None else None
        if page is None:
            return None
        size = self.word_bytes
        address = row + self.word * size
        raw = page.data[address - page.address : address - page.address + size]
        return (address, word_text(raw, self.form)) if len(raw) == size else None

    def body_row(self, index: int, y: int) -> Row:
        """The cursor's column stands out of its row."""
        line = super().body_row(index, y)
        at = FIRST_SPAN + 2 * self.word
        marked = index == self.cursor and self.has_focus and line.tint
        if not marked or line.key is None or line.key[0] != "byte" or at >= len(line.spans) - 1:  # type: ignore[index]
            return line
        text, style = line.spans[at]
        spans = (*line.spans[:at], (text, f"{style}.r"), *line.spans[at + 1 :])
        return replace(line, spans=spans)

    def on_click(self, event: Click) -> None:
        """A click on a word puts the cursor there."""
        index = self.top + event.y - 1
        rows = self._content.rows
        if event.y and 0 <= index < len(rows):
            end = 0
            for n, (text, _) in enumerate(rows[index].spans[:-1]):
                end += len(text)
                if event.x < end:
                    if n >= FIRST_SPAN:
                        self.column = (n - FIRST_SPAN) // 2 * self.word_bytes
                    break

    def content(self, view: View, width: int, height: int) -> Content:
        """The page collected with the view."""
        page = view.memory
        if page is None:
            return Content((), "")
        if page.space == "map":
            rows = map_rows(page, self.look.glyphs)
            return Content(rows or [row((" No allocations yet. A launch makes them.", "muted"))],
                           page.label)  # fmt: skip
        if page.error:
            return Content(
                [
                    row((f" {page.space}: {page.error}", "muted")),
                    row((" `o` goes to another address space.", "dim")),
                ],
                page.space,
            )
        form = "" if self.form == FORMATS[0] else f"{self.form}  "
        return Content(page_rows(page, self.form), f"{form}{page.space}  {page.label}")
