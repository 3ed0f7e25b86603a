"""Matrix pane: the operands of a tensor-core instruction, the focused lane's elements marked."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from gpudbg.debug.values import WORDS, FragmentView, MatrixView
from gpudbg.debug.views import cell_texts, mine_in, title
from gpudbg.frontends.tui.text import Row, Span, row
from gpudbg.frontends.tui.view import ScreenView
from gpudbg.frontends.tui.widgets.base import Content, LinePane

LABEL = 4
"""Columns of a row's number."""


def matrix_rows(
    matrix: MatrixView, view: ScreenView, coming: bool, width: int, blank: str
) -> Iterator[Row]:
    """One operand: its heading, then its elements, as many columns side by side as have room.

    Args:
        blank: stands for what no instruction has written, as in the memory pane.
    """
    heading = textwrap.wrap(title(matrix, coming), max(width - 4, 20))
    yield row((f" {heading[0]}", "muted.b"), key=("matrix", matrix.name))
    yield from (row((f"   {line}", "muted.b")) for line in heading[1:])
    if matrix.values is None:
        return
    texts = cell_texts(matrix)
    mine = mine_in(matrix, view.lane)
    never = {r.name for r in view.registers if r.why == WORDS}
    unset = [name in never for name in matrix.registers]
    for tile in range(len(texts)):
        if len(texts) > 1:
            yield row((f" {matrix.name}[{tile}]", "dim"))
        cells = texts[tile]
        rows, columns = cells.shape
        # Numbers of columns stand apart, too.
        size = max(len(str(columns - 1)), *(len(text) for text in cells.flat)) + 1
        per = max((width - LABEL - 1) // size, 1)
        per = -(-columns // -(-columns // per))
        for first in range(0, columns, per):
            part = range(first, min(first + per, columns))
            head = "".join(str(n).rjust(size) for n in part)
            yield row((" " * LABEL + head, "dim"))
            for r in range(rows):
                spans: list[Span] = [(f"{r + matrix.first_row:>{LABEL}}", "dim")]
                for n in part:
                    text = str(cells[r, n])
                    if matrix.slots is not None and unset and unset[int(matrix.slots[tile, r, n])]:
                        text = blank
                    style = (
                        "you.b" if mine[tile, r, n] else "dim" if text in ("0", blank) else "text"
                    )
                    spans += [(" " * (size - len(text)), "text"), (text, style)]
                yield row(*spans, key=("matrix", matrix.name, tile, r, first))


class MatrixPane(LinePane):
    """See the module text."""

    number, title, pane = "F", "Matrix", "matrix"
    empty = "Nothing runs. `r` starts the kernel again."

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """The instruction, then A, B, C and D; which lane is marked stands in the title."""
        found = view.fragments
        if found is None:
            return Content([row((" No tensor-core instruction near here.", "muted"))])
        blank = self.appearance.glyphs.unwritten
        rows = [*_heading(found, width)]
        for matrix in found.matrices:
            rows += [Row(), *matrix_rows(matrix, view, found.here, width, blank)]
        return Content(rows, f"of lane {view.lane}")


def _heading(found: FragmentView, width: int) -> Iterator[Row]:
    place = "next" if found.here else f"{found.offset:04x}"
    yield row((f" {place} ", "now" if found.here else "dim"), (found.text, "text"))
    words = f"{found.shape}: {found.operation}"
    yield from (row((f" {line}", "muted")) for line in textwrap.wrap(words, max(width - 2, 20)))
