"""Rows that know their columns: a frozen dataclass, each field with heading, key and format."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

from gpudbg.answers.formats import ABSENT, HERE, TEXT, Format
from gpudbg.dataclass import dataclass

Row = TypeVar("Row")

LEFT, CENTER, RIGHT = -1, 0, 1
"""Alignments, as GDB/MI numbers them."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of rows.

    Attributes:
        key: its name in data, and in GDB/MI; "" where programs do not get it.
        heading: above it in text; None where people do not get it.
        format: what kind of value it is.
        get: the value of a row.
        only: "mi" for a column that people do not get, though it has a heading.
        align: of heading and cells; None takes the table's.
        least: characters it has at least.
        before: what the console puts in front of each cell.
    """

    key: str
    heading: str | None
    format: Format
    get: Callable[[Any], Any]
    only: str = ""
    align: int | None = None
    least: int = 0
    before: str = ""

    def text(self, row: Any) -> str:
        """A row's cell."""
        value = self.get(row)
        return "" if value is ABSENT else self.format.text(value)


def column(
    heading: str | None = None,
    show: Format = TEXT,
    key: str | None = None,
    *,
    default: Any = dataclasses.MISSING,
    only: str = "",
    align: int | None = None,
    least: int = 0,
    before: str = "",
) -> Any:
    """A field of a row.

    Args:
        heading: above it in text; None leaves it out there.
        show: what kind of value it is.
        key: its name in data where that is not the field's; "" leaves it out there.
        default: of the field.
        only, align, least, before: as `Column`.
    """
    options = {"only": only, "align": align, "least": least, "before": before}
    return dataclasses.field(
        default=default, metadata={"heading": heading, "show": show, "key": key, "options": options}
    )


@dataclass(frozen=True, slots=True)
class _Computed:
    heading: str | None
    get: Callable[[Any], Any]
    key: str
    show: Format


def computed(
    heading: str | None, get: Callable[[Any], Any], key: str = "", show: Format = TEXT
) -> Any:
    """A column that is worked out from a row's other fields; a property of the row."""
    return _Computed(heading, get, key, show)


@dataclass_transform(frozen_default=True, field_specifiers=(column,))
def typed_row(kind: type[Row]) -> type[Row]:
    """Decorator: a frozen dataclass whose fields are columns, in the order they are written."""
    found = [_column(name, value) for name, value in vars(kind).items() if _is_column(value)]
    for name, value in list(vars(kind).items()):
        if isinstance(value, _Computed):
            setattr(kind, name, property(value.get))
    made = dataclass(frozen=True, slots=True)(kind)
    _COLUMNS[made] = tuple(found)
    return made


_COLUMNS: dict[type, tuple[Column, ...]] = {}


def columns_of(kind: type) -> tuple[Column, ...]:
    """The columns of a class of rows, as written."""
    return _COLUMNS[kind]


def is_row(value: Any) -> bool:
    """Whether a value is a row."""
    return type(value) in _COLUMNS


def shown_columns(kind: type, keys: Sequence[str] = (), reader: str = "text") -> list[Column]:
    """Those with headings, the mark of the focus first; or those of some keys, in their order.

    Args:
        kind: the class of rows.
        keys: the columns to show.
        reader: "text" for people, "mi" for GDB/MI.
    """
    found = [c for c in columns_of(kind) if c.heading is not None and c.only in ("", reader)]
    if keys:
        return sorted((c for c in found if c.key in keys), key=lambda c: keys.index(c.key))
    return sorted(found, key=lambda c: c.format is not HERE)


def _is_column(value: Any) -> bool:
    return isinstance(value, _Computed) or (
        isinstance(value, dataclasses.Field) and "show" in value.metadata
    )


def _column(name: str, value: Any) -> Column:
    if isinstance(value, _Computed):
        return Column(value.key, value.heading, value.show, value.get)
    about = value.metadata
    key = name if about["key"] is None else about["key"]
    return Column(key, about["heading"], about["show"], attrgetter(name), **about["options"])
