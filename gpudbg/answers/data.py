"""Answers as data: what `--json` writes and `session.execute` returns."""

from __future__ import annotations

from typing import Any

from gpudbg.answers.columns import Column, columns_of, is_row
from gpudbg.answers.formats import ABSENT, ROWS
from gpudbg.answers.records import Answer, Card, Listing, Notice, Printed, Sections, Table


def data_of(answer: Answer) -> Any:
    """Plain data of an answer."""
    match answer:
        case Table() | Listing():
            return _rows(answer)
        case Card(record):
            return record_data(record)
        case Notice(subject=subject) | Printed(subject=subject) | Sections(subject=subject):
            return record_data(subject)


def _rows(answer: Table | Listing) -> Any:
    found = [record_data(row) for row in answer.rows]
    if isinstance(answer, Listing) and answer.alone and len(found) == 1:
        return found[0]
    if not answer.by:
        return found
    if answer.value:
        return {row[answer.by]: row[answer.value] for row in found}
    return {row.pop(answer.by): row for row in found}


def record_data(record: Any) -> Any:
    """A row by its columns, a record by its own `to_json`, other values as they are."""
    if is_row(record):
        pairs = ((c, c.get(record)) for c in columns_of(type(record)) if c.key)
        return {c.key: _value(c, value) for c, value in pairs if value is not ABSENT}
    return record.to_json() if hasattr(record, "to_json") else record


def _value(column: Column, value: Any) -> Any:
    if column.format is not ROWS:
        return column.format.data(value)
    return [record_data(v) for v in value] if isinstance(value, tuple) else record_data(value)
