"""The answers there are: table, listing, card, notice, printed text, and several in a row.

They hold frozen values, never the machine: rendering one later, or in another thread, gives what
was true when the command was carried out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gpudbg.answers.columns import LEFT
from gpudbg.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TableStyle:
    """How a table's text is laid out.

    Attributes:
        between: what stands between cells.
        align: of cells and headings.
        head: whether headings are shown.
        ragged: whether blanks at the ends of lines go.
        fixed: whether columns are as wide as they are at least, and longer cells move the rest.
    """

    between: str = "  "
    align: int = LEFT
    head: bool = True
    ragged: bool = True
    fixed: bool = False


PLAIN = TableStyle()
HEADLESS = TableStyle(head=False)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of one class under the headings of its columns.

    Attributes:
        kind: the class of the rows (`columns.typed_row`).
        rows: the rows.
        empty: the line in place of a table without rows; None shows the headings alone.
        title, foot: lines before and after the rows.
        style: how its text is laid out.
        below: lines that people see under a row.
        group: the heading under which a row stands, where rows are grouped.
        by: the column whose value is a row's key, where data is an object and no list.
        value: the column that is the value of such a key; "" takes the row's other columns.
        headings: in place of a column's own heading.
        shown: keys of the columns that people and GDB/MI get, where that is not all of them.
        name: what GDB/MI calls the table.
    """

    kind: type
    rows: tuple[Any, ...]
    empty: str | None = None
    title: tuple[str, ...] = ()
    foot: tuple[str, ...] = ()
    style: TableStyle = PLAIN
    below: Callable[[Any], Iterable[str]] | None = None
    group: Callable[[Any], str] | None = None
    by: str = ""
    value: str = ""
    headings: tuple[tuple[str, str], ...] = ()
    shown: tuple[str, ...] = ()
    name: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows that are lines, not cells: source, instructions, matches.

    Attributes:
        rows: rows, or plain values.
        shown: a row's line or lines.
        empty: the line in place of a listing without rows.
        title, foot: lines before and after the rows.
        by, value: as `Table`.
        alone: whether a single row is the data itself, not a list of one.
    """

    rows: tuple[Any, ...]
    shown: Callable[[Any], str | Sequence[str]] = str
    empty: str | None = None
    title: tuple[str, ...] = ()
    foot: tuple[str, ...] = ()
    by: str = ""
    value: str = ""
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Card:
    """One thing in full: a record, and the lines that say it.

    Attributes:
        record: a row, or a record with `to_json`.
        shown: its lines.
    """

    record: Any
    shown: Callable[[Any], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence, and what it speaks of; no sentence where nothing is said."""

    sentence: str = ""
    subject: Any = None


@dataclass(frozen=True, slots=True)
class Printed:
    """Text as it is to be printed, of a program or of a template; its last line may be open."""

    written: str
    subject: Any = None


@dataclass(frozen=True, slots=True)
class Sections:
    """Answers one after the other; their data is the parts', or one of its own."""

    parts: tuple[Answer, ...]
    subject: Any


Answer = Table | Listing | Card | Notice | Printed | Sections
NOTHING = Notice()
