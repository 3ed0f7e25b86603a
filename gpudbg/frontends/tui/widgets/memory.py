"""Memory pane: sixteen bytes a row in words, changed ones amber, zeros dim."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.events import Click

from gpudbg.dataclass import dataclass
from gpudbg.debug.pictures import MemoryPage
from gpudbg.expr import TYPES, Scalar
from gpudbg.frontends.tui.glyphs import Glyphs
from gpudbg.frontends.tui.keys import bindings
from gpudbg.frontends.tui.text import Row, Span, row
from gpudbg.frontends.tui.view import ScreenView
from gpudbg.frontends.tui.widgets.base import Content, LinePane

if TYPE_CHECKING:
    from gpudbg.frontends.tui.appearance import Appearance

ROW_BYTES = 16


@dataclass(frozen=True, slots=True)
class ByteColumn:
    """How a word of memory is shown: its C type, which gives its size, in how many characters."""

    type: str
    width: int
    hex: bool = False

    @property
    def scalar(self) -> Scalar:
        """The type."""
        return TYPES[self.type]

    @property
    def size(self) -> int:
        """Bytes of a word."""
        return self.scalar.size


COLUMNS = {
    "hex": ByteColumn("unsigned int", 8, hex=True),
    "i32": ByteColumn("int", 11),
    "f32": ByteColumn("float", 11),
    "bytes": ByteColumn("unsigned char", 2, hex=True),
    "i16": ByteColumn("short", 6),
    "hex64": ByteColumn("unsigned long long", 16, hex=True),
    "f64": ByteColumn("double", 18),
    "u32": ByteColumn("unsigned int", 10),
    "u16": ByteColumn("unsigned short", 5),
    "f16": ByteColumn("half", 9),
    "i64": ByteColumn("long", 20),
    "u64": ByteColumn("unsigned long long", 20),
}
"""Forms of a row by name."""
FORMS = ("hex", "i32", "f32", "bytes", "i16", "hex64", "f64")
"""Forms that a key goes through; the others are those of buffers with such elements."""
FIRST_SPAN = 2
"""The span of a row's first column; every column is followed by a blank span."""
BAR = 24


def form_of(element: str) -> str:
    """The form that memory opens in: the one of its elements' type (`f32`), or hex."""
    return element if element in COLUMNS else "bytes" if element in ("i8", "u8") else FORMS[0]


def word_text(raw: bytes, form: str) -> str:
    """One column in a form of `COLUMNS`."""
    column = COLUMNS[form]
    if column.hex:
        return f"{int.from_bytes(raw, 'little'):0{len(raw) * 2}x}"
    kind, size = column.scalar.kind, column.size
    if kind != "f":
        return str(int.from_bytes(raw, "little", signed=kind == "i"))
    letter, digits = {2: ("<e", 3), 4: ("<f", 5), 8: ("<d", 10)}[size]
    return f"{struct.unpack(letter, raw.ljust(size, bytes(1)))[0]:.{digits}g}"


def page_rows(page: MemoryPage, form: str, width: int = 0, blank: str = "·") -> list[Row]:
    """The page's rows; device addresses as offsets into their allocation.

    At the right stand the bytes as text, or the number of the row's first element.

    Args:
        page: what to show.
        form: of `COLUMNS`.
        width: columns of the pane: what does not fit at the right is left out; 0: any.
        blank: what stands for a character of a word that nobody has written.
    """
    out = []
    relative = page.space == "global"
    digits = 4 if page.size <= 1 << 16 else 6 if page.size <= 1 << 24 else 10
    start = page.base if relative else 0
    column = COLUMNS[form]
    last = len(str((page.address - start + len(page.data)) // column.size))
    for at in range(0, len(page.data), ROW_BYTES):
        raw = page.data[at : at + ROW_BYTES]
        offset = page.address - start + at
        place = f"{offset:0{digits}x}"
        spans: list[Span] = [("+" + place if relative else place, "muted"), (" ", "text")]
        for n in range(0, len(raw), column.size):
            word = raw[n : n + column.size]
            changed = any(at + n + k in page.changed for k in range(len(word)))
            style = "now" if changed else "dim" if not any(word) else "text"
            shown = word_text(word, form)
            if page.unwritten:
                shown = _with_blanks(shown, page.unwritten, at + n, len(word), column, blank)
                style = "dim" if shown.strip(blank) == "" else style
            spans.append((shown.rjust(column.width), style))
            spans.append((" ", "text"))
        text = "".join(chr(b) if 32 <= b < 127 else "." for b in raw)
        index = f"[{offset // column.size}]".rjust(last + 2) if relative else ""
        tail = text if column.hex else index
        if tail and (not width or sum(len(t) for t, _ in spans) + len(tail) <= width):
            spans.append((tail, "muted"))
        else:
            spans.append((" ", "muted"))
        out.append(Row(tuple(spans), ("byte", page.space, page.address + at)))
    return out


def _with_blanks(
    text: str, unwritten: frozenset[int], start: int, size: int, column: ByteColumn, blank: str
) -> str:
    """A word, with blanks for the bytes never written: all of them in decimal forms."""
    never = [start + k in unwritten for k in range(size)]
    if all(never):
        return blank * (2 * size if column.hex else 2)
    if not column.hex:
        return text
    # The highest byte is the leftmost.
    pairs = zip(reversed(never), (text[k : k + 2] for k in range(0, len(text), 2)), strict=True)
    return "".join(2 * blank if gone else pair for gone, pair in pairs)


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
    BINDINGS: ClassVar[list[BindingType]] = bindings("memory")

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance)
        self.column = 0
        self.chosen: dict[tuple[str, int], str] = {}
        self._made: tuple[object, ...] = ()
        self._rows: list[Row] = []

    @property
    def form(self) -> str:
        """The form of the memory that is shown: chosen for it, or of its elements."""
        page = self.view.memory if self.view is not None else None
        return FORMS[0] if page is None else self.form_for(page)

    def form_for(self, page: MemoryPage) -> str:
        """The form of a page's memory."""
        return self.chosen.get((page.space, page.base)) or form_of(page.element)

    def next_form(self) -> None:
        """The next form, for this memory."""
        page = self.view.memory if self.view is not None else None
        if page is not None and page.space != "map":
            own = form_of(page.element)
            forms = FORMS if own in FORMS else (own, *FORMS)
            at = (forms.index(self.form) + 1) % len(forms) if self.form in forms else 0
            self.chosen[page.space, page.base] = forms[at]
            self.redraw()

    def show_as(self, page: MemoryPage, element: str) -> None:
        """Show a page's memory by a type that an expression gave it (`f32`)."""
        if page.error == "" and page.space != "map":
            self.chosen[page.space, page.base] = form_of(element)
            self.redraw()

    @property
    def word_bytes(self) -> int:
        """Bytes of a column."""
        return COLUMNS[self.form].size

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
        return line._replace(spans=spans)

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

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """The page collected with the view."""
        page = view.memory
        if page is None:
            return Content((), "")
        if page.space == "map":
            rows = map_rows(page, self.appearance.glyphs)
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
        form = self.form_for(page)
        shown = "" if form == form_of(page.element) else f"{form}  "
        # A buffer's name says where it is.
        space = "" if page.element else f"{page.space}  "
        wanted = (page, form, width, self.appearance.glyphs.unwritten)
        if self._made != wanted:
            # Most steps leave the page that is shown alone.
            self._made, self._rows = wanted, page_rows(*wanted)
        return Content(self._rows, f"{shown}{space}{page.label}")
