"""Every register word of `tables/words.tbl` by name; words of errors have a bit for each error."""

from __future__ import annotations

from collections.abc import Iterator

from gpudbg.bits import Field
from gpudbg.regs.global_errors import GLOBAL_ERRORS
from gpudbg.regs.table_reader import TableBlock, TableLine, blocks, families, field_rows
from gpudbg.regs.warp_errors import WARP_ERRORS, WarpError
from gpudbg.regs.words import (
    ALL_FAMILIES,
    BitRow,
    Certainty,
    Family,
    FieldKind,
    RegisterWord,
    complete,
)

_VALUES = {"warp_errors": tuple((row.code, row.name) for row in WARP_ERRORS)}
_Variant = tuple[tuple[Family, ...], tuple[BitRow, ...]]
_Error = tuple[int, str, str, Certainty, tuple[Family, ...]]


def _errors(table: str) -> Iterator[_Error]:
    """Bit, name, meaning, mark and chips of the errors that a word has a bit for."""
    if table == "global_errors":
        for bit in GLOBAL_ERRORS:
            yield bit.bit, bit.name, bit.meaning, bit.certainty, bit.families
        return
    for row in WARP_ERRORS:
        # rnndb and nouveau name WARP_EXIT, no report mask has it.
        if row.mask_bit is not None and row.error is not WarpError.WARP_EXIT:
            yield row.mask_bit, row.name, row.meaning, row.certainty, row.families


def _error_rows(table: str, family: Family, prefix: str) -> tuple[BitRow, ...]:
    return complete(
        tuple(
            BitRow(name, Field(bit, bit), prefix + meaning, (), mark, kind=FieldKind.FLAG)
            for bit, name, meaning, mark, chips in _errors(table)
            if family in chips
        )
    )


def _variants(block: TableBlock, fields: list[TableLine]) -> Iterator[_Variant]:
    """The fields of a word on the chips they hold for."""
    table = block.head.options.get("fields")
    if table:
        prefix = "report: " if block.head.words[0].endswith("_MASK") else ""
        for family in ALL_FAMILIES:
            yield (family,), _error_rows(table, family, prefix)
        return
    chips, lines = ALL_FAMILIES, list[TableLine]()
    for line in fields:
        if line.words[0] == "on":
            if lines:
                yield chips, field_rows(lines, _VALUES)
            chips, lines = families(line.words[1]), []
        else:
            lines.append(line)
    yield chips, field_rows(lines, _VALUES)


def _word(block: TableBlock) -> RegisterWord:
    said = {line.words[0]: line.text() for line in block.body}
    fields = [line for line in block.body if line.words[0] not in ("clearing", "look_at")]
    return RegisterWord(
        block.head.words[0],
        block.head.text(),
        tuple(_variants(block, fields)),
        block.head.names("aka"),
        said.get("clearing", ""),
        said.get("look_at", ""),
    )


WORDS: dict[str, RegisterWord] = {word.name: word for word in map(_word, blocks("words"))}
