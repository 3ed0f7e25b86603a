"""Rows of the form tables, as they read for one architecture and variant.

What differs stands in braces, so that a form is one row:

    SEL 007 r c@70-90 i u@75+ x@75-90 |  | R16, R24, B =I63:32, P87 !90 | {var@70-72,r}

`{TEXT@WHERE;TEXT@WHERE}` reads as the text whose conditions hold, as nothing where none does.
WHERE are conditions with commas between them: architectures (`75-90`, `80+`, `70`), letters of
variants (`ci`), fixed bits of the word (`31:24=ff`).  Texts that name bits make several forms;
several braces of a row go together: what contradicts itself falls away.  `$NAME` is a text of
`names.tbl`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from ..bitsets import Bits

TABLE_ARCHS = ("70", "72", "75", "80", "86", "89", "90", "100", "103", "110", "120")
"""Architectures that have tables of their own."""
FAMILIES = (
    "integer", "float", "half", "memory", "flow", "uniform", "tensor", "async", "texture",
    "graphics",
)  # fmt: skip
_BRACES = re.compile(r"\{([^{}]*)\}")
_NAMED = re.compile(r"\$(\w+)")
_ARCHS = re.compile(r"\d+(?:-\d+)?\+?")
_OWN_ARCHS = re.compile(r" arch=(\S+)")


class Choice(NamedTuple):
    """One text of braces, and where it stands.

    Attributes:
        letters: of the variants; "" stands for all.
        mask, value: bits that make another form.
    """

    text: str
    archs: frozenset[str]
    letters: str
    mask: int
    value: int


class FormRow(NamedTuple):
    """A row as it reads for an architecture and a variant.

    Attributes:
        letter: of the variant, "" for a row without variants.
        mask, value: the bits that the texts of braces name.
    """

    op: str
    match: str
    letter: str
    modifiers: str
    operands: str
    options: str
    mask: int
    value: int


class _Line(NamedTuple):
    """A line of a table: literal texts and braces in turn, variants and their architectures."""

    pieces: tuple[str | tuple[Choice, ...], ...]
    variants: tuple[tuple[str, frozenset[str]], ...]


def table_lines(name: str) -> list[str]:
    """The lines of a table."""
    text = (files(__package__) / "tables" / f"{name}.tbl").read_text(encoding="utf-8")
    return text.splitlines()


@cache
def parse_archs(text: str) -> frozenset[str]:
    """`75-90`, `80+`, `70,80` or "" (all)."""
    out: set[str] = set()
    for part in text.split(",") if text else ["70+"]:
        low, _, high = part.rstrip("+").partition("-")
        last = TABLE_ARCHS[-1] if part.endswith("+") else high or low
        out |= set(TABLE_ARCHS[TABLE_ARCHS.index(low) : TABLE_ARCHS.index(last) + 1])
    return frozenset(out)


def fixed_bits(pairs: Sequence[str]) -> tuple[int, int]:
    """Mask and value of several `HI:LO=HEX`."""
    mask, value = 0, 0
    for pair in pairs:
        where, _, number = pair.partition("=")
        bits = Bits.parse(where)
        mask, value = mask | bits.mask, value | bits.put(int(number, 16))
    return mask, value


@cache
def _text(source: str) -> Choice:
    """`TEXT@WHERE`."""
    text, _, where = source.rpartition("@")
    items = [item for item in where.split(",") if item]
    bits = [item for item in items if "=" in item]
    archs = [item for item in items if _ARCHS.fullmatch(item)]
    letters = "".join(i for i in items if i not in bits and i not in archs)
    return Choice(text, parse_archs(",".join(archs)), letters, *fixed_bits(bits))


def _line(source: str) -> _Line:
    found = _BRACES.split(source)
    pieces = tuple(
        tuple(map(_text, piece.split(";"))) if n % 2 else piece for n, piece in enumerate(found)
    )
    own = _OWN_ARCHS.search(source)
    archs = parse_archs(own[1] if own else "")
    letters = _BRACES.sub("", source.partition(" | ")[0]).split()[2:]
    variants = (letter.partition("@") for letter in letters)
    own_archs = tuple((v[0], parse_archs(v[2]) if v[2] else archs) for v in variants)
    return _Line(pieces, own_archs or (("", archs),))


@cache
def _lines() -> tuple[_Line, ...]:
    names: dict[str, str] = {}

    def full(text: str) -> str:
        return _NAMED.sub(lambda found: names[found[1]], text)

    for line in table_lines("names"):
        name, _, text = line.partition(" = ")
        names[name] = full(text)
    return tuple(
        _line(full(line)) for family in FAMILIES for line in table_lines(family) if line
    )  # fmt: skip


def _readings(line: _Line, tables: str, letter: str) -> Iterator[tuple[str, int, int]]:
    """Its texts, and the bits each of them fixes."""
    made = [("", 0, 0)]
    for piece in line.pieces:
        if isinstance(piece, str):
            made = [(text + piece, mask, value) for text, mask, value in made]
            continue
        fit = [t for t in piece if tables in t.archs and (not t.letters or letter in t.letters)]
        if fit:
            made = [
                (text + t.text, mask | t.mask, value | t.value)
                for text, mask, value in made
                for t in fit
                if not (value ^ t.value) & mask & t.mask
            ]
    yield from made


def rows_of(tables: str) -> Iterator[FormRow]:
    """Every row of an architecture's tables, once for each variant."""
    for line in _lines():
        for letter, archs in line.variants:
            if tables in archs:
                for text, mask, value in _readings(line, tables, letter):
                    head, modifiers, operands, *options = text.split(" | ")
                    op, match = head.split()[:2]
                    yield FormRow(
                        op, match, letter, " ".join(modifiers.split()), _joined(operands),
                        _OWN_ARCHS.sub("", f" {options[0]}") if options else "", mask, value,
                    )  # fmt: skip


def _joined(operands: str) -> str:
    """Operands with single blanks, without those that read as nothing."""
    texts = (" ".join(o.split()) for o in f"{operands} ".split(", "))
    return ", ".join(text for text in texts if text)
