"""The reader of the text tables in `tables/`: blocks of a head line and indented lines below it.

A line is words, then texts, all separated by ` | `; a word `name=value` is an option, any other a
flag or a column.  `#` begins a line that is a comment.  A block whose first word is `*N` stands for
N blocks: `{first+step}` in it counts, in decimal or hexadecimal as `first` is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gpudbg.bits import Field
from gpudbg.regs.words import ALL_FAMILIES, BitRow, Certainty, Family, FieldKind, complete

_FOLDER = Path(__file__).parent / "tables"
_COUNTER = re.compile(r"\{(0x)?([0-9a-f]+)\+(\d+)\}")
_MARKS = {str(mark): mark for mark in Certainty}
_CHIPS = {str(family): n for n, family in enumerate(ALL_FAMILIES)}
_KINDS = {kind.name.lower(): kind for kind in FieldKind}


class TableLine(NamedTuple):
    """A line of a table: words without `=`, options, texts; all of it as plain text."""

    words: tuple[str, ...]
    options: Mapping[str, str]
    texts: tuple[str, ...]
    plain: str

    @property
    def certainty(self) -> Certainty:
        """The mark among its words; documented where there is none."""
        return next((_MARKS[w] for w in self.words if w in _MARKS), Certainty.DOCUMENTED)

    @property
    def families(self) -> tuple[Family, ...]:
        """The chip families of its option `on`; all where it has none."""
        return families(self.options["on"]) if "on" in self.options else ALL_FAMILIES

    def names(self, option: str) -> tuple[str, ...]:
        """The comma separated names of an option."""
        return tuple(name for name in self.options.get(option, "").split(",") if name)

    def text(self, number: int = 0) -> str:
        """A text by number; an empty one where there is none."""
        return self.texts[number] if number < len(self.texts) else ""


class TableBlock(NamedTuple):
    """A head and the lines below it."""

    head: TableLine
    body: tuple[TableLine, ...]


def blocks(name: str) -> Iterator[TableBlock]:
    """The blocks of a table."""
    found: list[list[str]] = []
    for line in (_FOLDER / f"{name}.tbl").read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            if line[0] != " ":
                found.append([])
            found[-1].append(line)
    for lines in found:
        for each in _repeated(lines):
            head, *body = map(_line, each)
            yield TableBlock(head, tuple(body))


def _repeated(lines: Sequence[str]) -> Iterator[Sequence[str]]:
    count, _, rest = lines[0].partition(" ")
    if count[0] != "*":
        yield lines
        return
    for n in range(int(count[1:])):
        yield [_counted(line, n) for line in (rest, *lines[1:])]


def _counted(line: str, n: int) -> str:
    def number(match: re.Match[str]) -> str:
        prefix, first, step = match.groups()
        value = int(first, 16 if prefix else 10) + n * int(step)
        return f"{value:#x}" if prefix else str(value)

    return _COUNTER.sub(number, line)


def _line(text: str) -> TableLine:
    first, *texts = text.strip().split(" | ")
    words = [word.partition("=") for word in first.split()]
    return TableLine(
        tuple(name for name, equals, _ in words if not equals),
        {name: value for name, equals, value in words if equals},
        tuple(texts),
        text.strip(),
    )


def families(text: str) -> tuple[Family, ...]:
    """`Pascal`, `Fermi-Maxwell`, `Volta-` and the like, comma separated."""
    found: list[Family] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        start = _CHIPS[first]
        end = _CHIPS[last] if last else len(ALL_FAMILIES) - 1 if dash else start
        found += ALL_FAMILIES[start : end + 1]
    return tuple(found)


def field_rows(
    lines: Iterable[TableLine], values: Mapping[str, tuple[tuple[int, str], ...]] | None = None
) -> tuple[BitRow, ...]:
    """The fields of a word: `hi:lo name [flags and options] | meaning [| note]`.

    Args:
        lines: of a block.
        values: what the option `values` may name.
    """
    return complete(tuple(_field(line, values or {}) for line in lines))


def _field(line: TableLine, values: Mapping[str, tuple[tuple[int, str], ...]]) -> BitRow:
    place, name, *flags = line.words
    high, _, low = place.partition(":")
    options = line.options
    return BitRow(
        name,
        Field(int(high), int(low or high)),
        line.text(),
        values[options["values"]] if "values" in options else (),
        line.certainty,
        name == "reserved",
        line.text(1),
        next((_KINDS[flag] for flag in flags if flag in _KINDS), FieldKind.UINT),
        options.get("unit", ""),
        options.get("group", "").replace("_", " "),
    )
