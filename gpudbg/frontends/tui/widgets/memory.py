"""Memory pane: sixteen bytes a row in words, changed ones amber, zeros dim."""

from __future__ import annotations

from gpudbg.frontends.tui.text import Row, Span, row
from gpudbg.frontends.tui.view import MemoryPage, View
from gpudbg.frontends.tui.widgets.base import Content, LinePane

ROW_BYTES = 16
FORMATS = ("hex", "dec", "float")


def word_text(raw: bytes, form: str) -> str:
    """A 32-bit word in hex, decimal or as a float."""
    value = int.from_bytes(raw, "little")
    if form == "hex":
        return f"{value:0{len(raw) * 2}x}"
    if form == "dec":
        return str(int.from_bytes(raw, "little", signed=True))
    import struct

    return f"{struct.unpack('<f', raw.ljust(4, bytes(1)))[0]:.5g}"


def page_rows(page: MemoryPage, form: str) -> list[Row]:
    """The page's rows; device addresses as offsets into their allocation."""
    out = []
    relative = page.space == "global"
    digits = 4 if page.size <= 1 << 16 else 6 if page.size <= 1 << 24 else 10
    start = page.base if relative else 0
    width = 8 if form == "hex" else 11
    for at in range(0, len(page.data), ROW_BYTES):
        raw = page.data[at : at + ROW_BYTES]
        place = f"{page.address - start + at:0{digits}x}"
        spans: list[Span] = [("+" + place if relative else place, "muted"), (" ", "text")]
        for n in range(0, len(raw), 4):
            word = raw[n : n + 4]
            changed = any(at + n + k in page.changed for k in range(len(word)))
            style = "now" if changed else "dim" if not any(word) else "text"
            spans.append((word_text(word, form).rjust(width), style))
            spans.append((" ", "text"))
        spans.append(("".join(chr(b) if 32 <= b < 127 else "." for b in raw), "muted"))
        out.append(Row(tuple(spans), ("byte", page.space, page.address + at)))
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
        if page.error:
            return Content(
                [
                    row((f" {page.space}: {page.error}", "muted")),
                    row((" `o` goes to another address space.", "dim")),
                ],
                page.space,
            )
        return Content(page_rows(page, self.form), f"{page.space}  {page.label}")
