"""Rows of styled text: what pane builders return and line widgets draw.

A builder never touches a widget: it turns frozen data into `Row`s, which tests compare as text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip

from gpudbg.frontends.tui.theme import Palette

Span = tuple[str, str]
"""Text and its style name (`gpudbg.frontends.tui.theme`)."""


class Row(NamedTuple):
    """One row of a pane: a tuple, since a step compares some hundred of them.

    `key` says what the row stands for (a pc, a warp, a register), so that clicks and the cursor
    act on it; `tint` is the ground of the whole row; `lanes` is where lane 0 stands and how many
    columns a lane has, when the row has a lane axis.
    """

    spans: tuple[Span, ...] = ()
    key: Hashable = None
    tint: str = ""
    lanes: tuple[int, int] | None = None
    right: tuple[Span, ...] = ()

    @property
    def text(self) -> str:
        """The row without styles; the right part after two blanks."""
        left = "".join(t for t, _ in self.spans)
        tail = "".join(t for t, _ in self.right)
        return f"{left}  {tail}" if tail else left


def row(*spans: Span, **more: object) -> Row:
    """A row of spans; empty ones are dropped."""
    return Row(tuple(s for s in spans if s[0]), **more)  # type: ignore[arg-type]


@lru_cache(maxsize=8192)
def clean(text: str) -> str:
    """Text from a program's file, safe on a terminal: control characters become dots."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        "·" if unicodedata.category(c).startswith("C") and c != "\u00ad" else c for c in text
    )


def fit(text: str, width: int, cut: str) -> str:
    """`text` in exactly `width` columns, cut with a visible mark."""
    if len(text) <= width:
        return text.ljust(width)
    return text[: max(width - 1, 0)] + cut if width > 0 else ""


def _crop(spans: Sequence[Span], width: int, cut: str) -> tuple[list[Span], int]:
    out: list[Span] = []
    used = 0
    for index, (text, style) in enumerate(spans):
        if not text:
            continue
        if used + len(text) <= width:
            out.append((text, style))
            used += len(text)
            continue
        rest = width - used
        if rest > 0:
            out.append((text[: rest - 1] + cut, style))
            used = width
        elif out and any(t.strip() for t, _ in spans[index:]):
            last, last_style = out[-1]
            out[-1] = (last[:-1] + cut, last_style)
        break
    return out, used


def lay_out(line: Row, width: int, cut: str) -> list[Span]:
    """The row's spans in exactly `width` columns: the right part stays, the left one is cut."""
    tail = sum(len(t) for t, _ in line.right)
    if tail + 1 > width:
        tail = 0
    left, used = _crop(line.spans, width - (tail + 1 if tail else 0), cut)
    ground = f"/{line.tint}" if line.tint else ""
    left.append((" " * (width - tail - used), "text"))
    if tail:
        left.extend(line.right)
    if not ground:
        return left
    return [(t, s if "/" in s else s + ground) for t, s in left]


def strip(line: Row, width: int, palette: Palette, cut: str) -> Strip:
    """The row as a Textual strip of `width` cells."""
    pieces: list[list[str]] = []
    last = ""
    for text, style in lay_out(line, width, cut):
        if style == last:
            pieces[-1][0] += clean(text)
        elif text:
            pieces.append([clean(text), style])
            last = style
    segments = [Segment(text, palette.style(style)) for text, style in pieces]
    # Measure the whole line at once: Textual would measure each of some ten pieces.
    cells = cell_len("".join([text for text, _ in pieces]))
    made = Strip(segments, cells)
    return made if cells == width else made.adjust_cell_length(width, palette.style("text"))


def plain(rows: Iterable[Row]) -> list[str]:
    """Rows as bare text."""
    return [r.text for r in rows]
