"""What follows from statements about the numbers that they make."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from gpudbg.sm.engines.llvm.ir.values import FULL

_DEEPEST: Final = 12
"""Statements, each of the one before, that are looked at."""
_WIDENED = re.compile(r"zext <\d+ x i(8|16)> ")
_SHUFFLED = re.compile(
    r"shufflevector <\d+ x i32> (%[\w.]+), <\d+ x i32> (poison|%[\w.]+), <\d+ x i32>"
)
_BY_NUMBER = re.compile(r"(shl|lshr|and|add) <\d+ x i32> (%[\w.]+), splat \(i32 (\d+)\)$")
_MERGED = re.compile(r"phi <\d+ x i32> \[")
_INCOMING = re.compile(r"\[ (%[\w.]+), %")


class Bounds(NamedTuple):
    """Of unsigned words.

    Attributes:
        most: none is greater.
        zeros: low bits that are 0 in all.
    """

    most: int = FULL
    zeros: int = 0


def bounds_of(texts: Mapping[str, str], name: str, deep: int = _DEEPEST) -> Bounds:
    """What is known of a vector of words.

    Args:
        texts: what makes a name, as `Builder.texts`.
        deep: statements to look at, at most.
    """
    text = texts.get(name, "")
    if not text or not deep:
        return Bounds()
    if widened := _WIDENED.match(text):
        return Bounds((1 << int(widened[1])) - 1)
    if shuffled := _SHUFFLED.match(text):
        return _widest(texts, [n for n in shuffled.groups() if n != "poison"], deep)
    if _MERGED.match(text):
        names = _INCOMING.findall(text)
        return _widest(texts, names, deep) if len(names) == text.count("[") else Bounds()
    found = _BY_NUMBER.match(text)
    if found is None:
        return Bounds()
    op, number = found[1], int(found[3])
    most, zeros = bounds_of(texts, found[2], deep - 1)
    if op == "and":
        low = (number & -number).bit_length() - 1 if number else 32
        return Bounds(min(most, number), max(zeros, low))
    if op == "lshr":
        return Bounds(most >> number, max(0, zeros - number))
    if op == "shl":
        most, zeros = most << number, zeros + number
        # What is shifted out is gone, and the others are as great as they can be.
        return Bounds(most if most <= FULL else FULL & -1 << zeros, zeros)
    low = (number & -number).bit_length() - 1 if number else 32
    return Bounds(most + number, min(zeros, low)) if most + number <= FULL else Bounds()


def _widest(texts: Mapping[str, str], names: list[str], deep: int) -> Bounds:
    """What holds of numbers that come from any of some vectors."""
    each = [bounds_of(texts, name, deep - 1) for name in names]
    return Bounds(max(b.most for b in each), min(b.zeros for b in each))
