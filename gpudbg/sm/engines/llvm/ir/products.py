"""Products of words that code makes of products of halves, found again.

The 64-bit instruction set multiplies halves (XMAD); ptxas makes a * b of three such products:

    low * low + c;  (low * high of b) with b's low half on top;  those, and high * low << 16

To the host that is one multiplication.  What sums consist of is recorded by the names of values,
whose other uses stay as they are; what nothing uses any more is not compiled.
"""

from __future__ import annotations

from typing import NamedTuple

from gpudbg.sm.engines.llvm.ir.values import FULL, Num, Val

_MOST = 4
"""Most summands of a sum that is recorded."""


class _Product(NamedTuple):
    """A product of two numbers, one of them a half of a word.

    Attributes:
        factors: both.
        moved: it is shifted left by 16.
    """

    factors: tuple[Num, Num]
    moved: bool = False


class _Merged(NamedTuple):
    """A word made of two halves.

    Attributes:
        low: its low half is that of this value.
        high: its high half is the low half of this one, which is below 65536 where it is known.
    """

    low: Val
    high: Num


class HalfProducts:
    """What is known of values, by their names."""

    def __init__(self) -> None:
        self._halves: dict[str, tuple[Val, bool]] = {}
        self._moved: dict[str, Val] = {}
        self._merged: dict[str, _Merged] = {}
        self._products: dict[str, _Product] = {}
        self._sums: dict[str, tuple[Num, ...]] = {}
        self._constants: dict[tuple[int, int], str] = {}
        self._alike: dict[str, str] = {}

    def note_constant(self, made: Val, place: tuple[int, int]) -> None:
        """`made` is the constant at a place of a bank, which is read anew each time."""
        self._alike[made.ref] = self._constants.setdefault(place, made.ref)

    def _name(self, a: Val) -> str:
        """Equal for values that are known to be equal."""
        return self._alike.get(a.ref, a.ref)

    def note_half(self, made: Num, word: Num, high: bool) -> None:
        """`made` is a half of a word."""
        if isinstance(made, Val) and isinstance(word, Val):
            self._halves[made.ref] = word, high

    def note_moved(self, made: Num, word: Num) -> None:
        """`made` is a word shifted left by 16."""
        if isinstance(made, Val) and isinstance(word, Val):
            self._moved[made.ref] = word
            product = self._products.get(word.ref)
            if product is not None and not product.moved:
                self._products[made.ref] = product._replace(moved=True)

    def note_merged(self, made: Num, low: Num, high: Num) -> None:
        """`made` is `low | high`."""
        if not (isinstance(made, Val) and isinstance(low, Val)):
            return
        half = self._halves.get(low.ref)
        if half is None or half[1]:
            return
        if isinstance(high, Val):
            word = self._moved.get(high.ref)
            if word is not None:
                self._merged[made.ref] = _Merged(half[0], word)
        elif not high & 0xFFFF:
            self._merged[made.ref] = _Merged(half[0], (high & FULL) >> 16)

    def merged(self, a: Num) -> _Merged | None:
        """The halves that a word is made of, where it is."""
        return self._merged.get(a.ref) if isinstance(a, Val) else None

    def note_product(self, made: Num, a: Num, b: Num) -> None:
        """`made` is `a * b`."""
        halves = [v for v in (a, b) if isinstance(v, Val) and v.ref in self._halves]
        if isinstance(made, Val) and halves:
            self._products[made.ref] = _Product((a, b))

    def _summands(self, a: Num) -> tuple[Num, ...]:
        return self._sums.get(a.ref, (a,)) if isinstance(a, Val) else (a,)

    def summands(self, a: Num, b: Num) -> tuple[Num, ...]:
        """What a sum consists of, where some of it is a product; else ()."""
        found = (*self._summands(a), *self._summands(b))
        some = any(isinstance(v, Val) and v.ref in self._products for v in found)
        return found if some and len(found) <= _MOST else ()

    def note_sum(self, made: Num, summands: tuple[Num, ...]) -> None:
        """`made` is the sum of these."""
        if summands and isinstance(made, Val):
            self._sums[made.ref] = summands

    def joined(self, summands: tuple[Num, ...]) -> tuple[Num, Num, list[Num]] | None:
        """(A word, a factor, the other summands) where the product of these two and the others have
        the same sum; None: no products of halves belong together."""
        products = [
            (v, self._products[v.ref])
            for v in summands
            if isinstance(v, Val) and v.ref in self._products
        ]
        for first, low in products:
            for second, high in products:
                if low.moved or not high.moved:
                    continue
                for word, factor in self._parts(low, False):
                    parts = self._parts(high, True)
                    others = [f for w, f in parts if self._name(w) == self._name(word)]
                    if self._low_bits(factor) in map(self._low_bits, others):
                        rest = [v for v in summands if v is not first and v is not second]
                        return self._with_top(word, factor, rest)
        return None

    def _with_top(self, word: Val, factor: Num, rest: list[Num]) -> tuple[Num, Num, list[Num]]:
        """The same with another product of the word's low half, by the factor's high half."""
        for value in rest:
            product = self._products.get(value.ref) if isinstance(value, Val) else None
            if product is None or not product.moved:
                continue
            for other, top in self._parts(product, False):
                whole = self._whole(factor, top)
                if self._name(other) == self._name(word) and whole is not None:
                    return word, whole, [v for v in rest if v is not value]
        return word, factor, rest

    def _parts(self, product: _Product, high: bool) -> list[tuple[Val, Num]]:
        """(Word, factor) where a product is one half of the word times the factor."""
        a, b = product.factors
        found = []
        for one, other in ((a, b), (b, a)):
            half = self._half(one)
            if half is not None and half[1] == high:
                found.append((half[0], other))
        return found

    def _half(self, a: Num) -> tuple[Val, bool] | None:
        return self._halves.get(a.ref) if isinstance(a, Val) else None

    def _low_bits(self, a: Num) -> object:
        """Equal for factors of equal low halves: no more counts of what is shifted by 16."""
        if isinstance(a, int):
            return a & 0xFFFF
        half = self._half(a)
        if half is None:
            return self._name(a)
        name = self._name(half[0])
        return (name, True) if half[1] else name

    def _whole(self, low: Num, high: Num) -> Num | None:
        """The number with these halves."""
        if isinstance(low, int) and isinstance(high, int):
            return low + (high << 16) & FULL
        one, two = self._half(low), self._half(high)
        if one is None or two is None or one[1] or not two[1]:
            return None
        if self._name(one[0]) != self._name(two[0]):
            return None
        return one[0]
