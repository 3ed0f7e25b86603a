"""Answers as lines of text: what consoles print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpudbg.answers.columns import CENTER, LEFT, Column, shown_columns
from gpudbg.answers.records import (
    Answer,
    Card,
    Listing,
    Notice,
    Printed,
    Sections,
    Table,
)


def lines_of(answer: Answer) -> list[str]:
    """The lines of an answer."""
    match answer:
        case Table():
            return _table(answer)
        case Listing(rows, shown, empty, title, foot):
            found = [line for row in rows for line in _apart(_each(shown(row)))]
            return [*title, *(found or _given(empty)), *foot]
        case Card(record, shown):
            return _apart(shown(record))
        case Notice(sentence):
            return _given(sentence)
        case Printed(written):
            return written.removesuffix("\n").split("\n") if written else []
        case Sections():
            return lines_of(Printed(printed_text(answer)))


def is_open(answer: Answer) -> bool:
    """Whether what comes next goes on in the last line, as after `echo` and `printf`."""
    match answer:
        case Printed(written):
            return bool(written) and not written.endswith("\n")
        case Sections():
            written = printed_text(answer)
            return bool(written) and not written.endswith("\n")
    return False


def printed_text(answer: Answer) -> str:
    """An answer as a console prints it: every line ended, but for an open last one."""
    match answer:
        case Printed(written):
            return written
        case Sections(parts):
            return "".join(map(printed_text, parts))
    return "".join(f"{line}\n" for line in lines_of(answer))


def _given(line: str | None) -> list[str]:
    return [line] if line else []


def _each(shown: str | Sequence[str]) -> Sequence[str]:
    return (shown,) if isinstance(shown, str) else shown


def _apart(lines: Sequence[str]) -> list[str]:
    """One line an element: a value may be shown on several."""
    return [part for line in lines for part in line.split("\n")]


# ---- tables ----------------------------------------------------------------------------
def _table(table: Table) -> list[str]:
    if not table.rows and table.empty is not None:
        return [*table.title, *_given(table.empty), *table.foot]
    columns, style = shown_columns(table.kind, table.shown), table.style
    replaced = dict(table.headings)
    heads = [replaced.get(c.key or "", c.heading or "") for c in columns]
    cells = [[c.text(row) for c in columns] for row in table.rows]
    widths = [
        max(c.least, 0 if style.fixed else _widest([head if style.head else "", *texts]))
        for c, head, texts in zip(columns, heads, _turned(cells, len(columns)), strict=True)
    ]

    def line(texts: Sequence[str], before: bool) -> str:
        parts = (
            (c.before if before else "") + aligned(text, width, align_of(c, table))
            for c, text, width in zip(columns, texts, widths, strict=True)
        )
        joined = style.between.join(parts)
        return joined.rstrip() if style.ragged else f"{joined}{style.between}"

    out = [*table.title, *([line(heads, False)] if style.head else [])]
    heading = ""
    for row, texts in zip(table.rows, cells, strict=True):
        if table.group is not None and table.group(row) != heading:
            heading = table.group(row)
            out.append(heading)
        out.append(line(texts, True))
        out += table.below(row) if table.below is not None else ()
    return [*out, *table.foot]


def _widest(texts: Sequence[str]) -> int:
    return max(map(len, texts), default=0)


def _turned(cells: list[list[str]], count: int) -> list[list[str]]:
    """Rows of cells as columns of cells."""
    return [[texts[n] for texts in cells] for n in range(count)]


def align_of(column: Column, table: Table) -> int:
    """How a column's cells are aligned."""
    return table.style.align if column.align is None else column.align


def aligned(text: str, width: int, align: int) -> str:
    """A cell in its column."""
    if align == CENTER:
        # As gdb centres: an odd blank goes behind.
        return (" " * ((width - len(text)) // 2) + text).ljust(width)
    return text.ljust(width) if align == LEFT else text.rjust(width)


def width_of(column: Column, rows: Sequence[Any]) -> int:
    """Characters of a column, its heading included."""
    return max(len(column.heading or ""), column.least, *(len(column.text(r)) for r in rows), 0)
