"""The recorded answers of nvdisasm (see record_oracle.py)."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

DATA = Path(__file__).resolve().parent / "data"


@dataclass(frozen=True, slots=True)
class Record:
    """One word and nvdisasm's text for it; None: refused or a reserved value."""

    arch: str
    pc: int
    word: int
    group: int
    text: str | None


def _records(name: str) -> Iterator[Record]:
    with gzip.open(DATA / name, "rt") as file:
        for line in file:
            where, _, text = line.rstrip("\n").partition("\t")
            arch, pc, word, group = where.split()
            legal = None if text in ("!", "?") else text
            yield Record(arch, int(pc, 16), int(word, 16), int(group, 16), legal)


@cache
def compiled() -> tuple[Record, ...]:
    """Every distinct instruction of the compiled programs."""
    return tuple(_records("compiled.txt.gz"))


@cache
def sampled() -> tuple[Record, ...]:
    """Random words of every form and architecture."""
    return tuple(_records("sampled.txt.gz"))
