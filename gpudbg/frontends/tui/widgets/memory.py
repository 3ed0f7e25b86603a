"""Memory pane: sixteen bytes a row in words, changed ones amber, zeros dim."""

from __future__ import annotations

import math
import struct

from gpudbg.frontends.tui.glyphs import Glyphs
from gpudbg.frontends.tui.text import Row, Span, row
from gpudbg.frontends.tui.view import MemoryPage, View
from gpudbg.frontends.tui.widgets.base import Content, LinePane

ROW_BYTES = 16
FORMATS = ("hex", "dec", "float", "bytes", "i16", "hex64", "double")
"""Columns of a row: 32-bit words in hex, signed, float; bytes; halves; 64 bits in hex, double."""
SIZES = {"bytes": 1, "i16": 2, "hex64": 8, "double": 8}
WIDTHS = {"hex": 8, "bytes": 2, "i16": 6, "hex64": 16, "double": 22}
"""Bytes of a column where they are not 4, and its characters where they are not 11."""
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
