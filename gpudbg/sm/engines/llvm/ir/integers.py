"""Masks, 32-bit and 64-bit integers of the machine interface as IR.

Operations on constants are folded; operations on uniform values are scalar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from gpudbg.sm.engines.llvm.ir.builder import LANES, Builder, signed, splat, vector
from gpudbg.sm.engines.llvm.ir.products import HalfProducts
from gpudbg.sm.engines.llvm.ir.values import (
    AFFINE,
    FULL,
    ONES64,
    UNIFORM,
    AffineForm,
    Mask,
    Msk,
    Num,
    Val,
    Values,
    copy_of,
)

_MOST_SCALE = 1 << 16
"""Largest scale of an index that is tracked in a sum."""
_NO_OFFSETS = (0,) * LANES
HALF_BITS = 16


class Linear(NamedTuple):
    """A 64-bit address as base + index * scale, where the base is the same in all lanes.

    Attributes:
        number: a word of every lane, the index.
        signed: how it is extended.
        scale: a positive number.
        base: 64 bits.
    """

    number: Val
    signed: bool
    scale: int
    base: Num


class _LowSum(NamedTuple):
    """A word that is another one plus a uniform one.

    Attributes:
        word: name of the other one.
        added: the uniform one.
    """

    word: str
    added: Num


_MIRRORED = {
    "eq": "eq", "ne": "ne", "slt": "sgt", "sgt": "slt", "ult": "ugt", "ugt": "ult",
}  # fmt: skip
"""Comparison -> the same of the operands in the other order."""
_MOST_ROWS = 4
"""Most rows of lanes that a comparison is tested for one by one."""
_LARGEST_OFFSET = 1 << 20


class _HighSum(NamedTuple):
    """A word that is another one plus a uniform one plus the carry of a sum.

    Attributes:
        word, added: as of `_LowSum`; "": no word but 0.
        carried: name of the sum.
    """

    word: str
    added: Num
    carried: str


class Integers:
    """Integer, mask and cross-lane operations."""

    def __init__(self, ir: Builder, values: Values) -> None:
        self.ir, self.values = ir, values
        self._products = HalfProducts()
        self._halves: dict[str, tuple[Val, int]] = {}
        """Word of an f64 result -> (result, which word)."""
        self._opposites: dict[str, str] = {}
        """Mask -> its complement, in both directions."""
        self._words: dict[Val, Val] = {}
        """Sign extension -> the word that was extended."""
        self._linears: dict[Val, Linear] = {}
        """Value of 64 bits -> what it is computed from."""
        self._linear_words: dict[str, tuple[Val, int]] = {}
        """Name of a word -> (64-bit value of `_linears`, which word of it)."""
        self._scaled: dict[str, tuple[Val, int]] = {}
        """Name of a word -> (index, by how much it is shifted left there)."""
        self._tops: dict[str, tuple[Val, int, bool]] = {}
        """Name of a word -> (index, how much it is shifted right there, whether with its sign)."""
        self._low_sums: dict[str, _LowSum] = {}
        """Name of a word -> what it is the sum of."""
        self._carries: dict[str, str] = {}
        """Name of a mask or of a word -> name of the sum whose carry it is."""
        self._added_to: dict[str, Val] = {}
        """Name of a word -> the word, for those in `_low_sums`."""
        self._high_sums: dict[str, _HighSum] = {}
        """Name of a word -> what it is the sum of."""
        self.origins: dict[Val, tuple[Val, int]] = {}
        """Value -> (value, constant) whose sum it is, for addresses with different offsets."""
        self.doubles: dict[Val, str] = {}
        """Value of 64 bits -> name of the same as f64."""

    def origin(self, a: Num) -> tuple[Val, int] | None:
        """(Value, constant) whose sum a value is, if that is known."""
        return self.origins.get(a) if isinstance(a, Val) else None

    def word(self, a: Num) -> Val | None:
        """The word that a value sign-extends; None where it is no sign extension."""
        return self._words.get(a) if isinstance(a, Val) else None

    def _word_of(self, w: Val, number: int) -> Val:
        """The low or high word of an f64 result."""
        words = self.ir.op(f"bitcast {vector('i64')} {w.ref} to <64 x i32>")
        order = ", ".join(f"i32 {2 * n + number}" for n in range(32))
        what = f"shufflevector <64 x i32> {words}, <64 x i32> poison, <32 x i32> <{order}>"
        half = Val(32, self.ir.op(what))
        self._halves[half.ref] = w, number
        return half

    def _two(self, what: str, a: Num, b: Num, bits: int) -> Val:
        """A binary operation on lanes or, of uniform operands, on scalars."""
        values = self.values
        if values.uniform(a, b):
            left, right = values.scalar(a, bits), values.scalar(b, bits)
            return Val(bits, self.ir.op(f"{what} i{bits} {left}, {right}"), UNIFORM)
        right = values.bare(b, bits)
        left = values.whole(a, bits)
        return Val(bits, self.ir.op(f"{what} {left}, {right}"))

    def _fold(self, what: str, a: Num, b: Num, bits: int, known: Callable[[int, int], int]) -> Num:
        """`_two`, or the number where both operands are known."""
        if isinstance(a, int) and isinstance(b, int):
            full = (1 << bits) - 1
            return known(a & full, b & full) & full
        lanes = self._by_lanes(a, b, known) if bits == 32 else None
        return self._two(what, a, b, bits) if lanes is None else self.lanes_of(lanes)

    def _by_lanes(self, a: Num, b: Num, known: Callable[[int, int], int]) -> tuple[int, ...] | None:
        """Fold an operation whose operands are known in every lane."""
        rows = [(v,) * LANES if isinstance(v, int) else v.numbers for v in (a, b)]
        if rows[0] is None or rows[1] is None:
            return None
        return tuple(known(x & FULL, y & FULL) & FULL for x, y in zip(*rows, strict=True))

    @staticmethod
    def lanes_of(numbers: tuple[int, ...]) -> Num:
        """A value that is known in every lane."""
        if len(set(numbers)) == 1:
            return numbers[0]
        text = ", ".join(f"i32 {signed(n, 32)}" for n in numbers)
        return Val(32, f"<{text}>", AFFINE, line=AffineForm((0,), numbers))

    def line(self, a: Num) -> AffineForm | None:
        """A 32-bit value as scalars and known numbers, if it is that; of a uniform one 0."""
        if isinstance(a, int) or a.shape is UNIFORM:
            return AffineForm((a,), _NO_OFFSETS)
        return a.line

    def affine(self, bases: tuple[Num, ...], offsets: tuple[int, ...]) -> Num:
        """The value of an affine form."""
        form = AffineForm(bases, offsets)
        if not any(isinstance(base, Val) for base in bases):
            numbers = (int(form.base(n)) + offsets[n] for n in range(LANES))  # type: ignore[arg-type]
            return self.lanes_of(tuple(n & FULL for n in numbers))
        if len(bases) == 1 and not any(offsets):
            return bases[0]
        numbers_ = ", ".join(f"i32 {signed(n & FULL, 32)}" for n in offsets)
        ref = self._rows(bases)
        if any(offsets):
            ref = self.ir.op(f"add {vector('i32')} {ref}, <{numbers_}>")
        return Val(32, ref, AFFINE, line=form)

    def _rows(self, bases: tuple[Num, ...]) -> str:
        """A vector of what rows of lanes have."""
        if len(bases) == 1:
            return self.values.bare(bases[0], 32)
        kind, ref, length = vector("i32"), "poison", LANES // len(bases)
        for row, base in enumerate(bases):
            one = f"i32 {self.values.scalar(base, 32)}, i64 {row * length}"
            ref = self.ir.op(f"insertelement {kind} {ref}, {one}")
        picks = ", ".join(f"i32 {n - n % length}" for n in range(LANES))
        return self.ir.op(f"shufflevector {kind} {ref}, {kind} poison, <{LANES} x i32> <{picks}>")

    def _along(
        self, a: Num, b: Num, what: Callable[[Num, Num], Num], known: Callable[[int, int], int]
    ) -> Num | None:
        """A sum or a difference of affine values."""
        if not any(isinstance(v, Val) and v.shape is AFFINE for v in (a, b)):
            return None
        one, two = self.line(a), self.line(b)
        if one is None or two is None:
            return None
        if not any(isinstance(base, Val) for base in (*one.bases, *two.bases)):
            return None
        offsets = tuple(known(x, y) & FULL for x, y in zip(one.offsets, two.offsets, strict=True))
        rows = range(0, LANES, LANES // max(len(one.bases), len(two.bases)))
        return self.affine(tuple(what(one.base(n), two.base(n)) for n in rows), offsets)

    def _each_row(self, a: Num, b: Num) -> list[tuple[Num, Num]] | None:
        """The operands of each row of lanes, where they differ by rows alone."""
        rows = max((len(v.line.bases) for v in (a, b) if isinstance(v, Val) and v.line), default=1)
        if rows == 1:
            return None
        one, two = self._by_row(a, rows), self._by_row(b, rows)
        return None if one is None or two is None else list(zip(one, two, strict=True))

    def _by_row(self, a: Num, rows: int) -> list[Num] | None:
        """What each row of lanes has, where it is one number."""
        form, length = self.line(a), LANES // rows
        if form is None:
            return None
        firsts = range(0, LANES, length)
        if any(len(set(form.offsets[n : n + length])) > 1 for n in firsts):
            return None
        return [self.add(form.base(n), form.offsets[n]) for n in firsts]

    def _by_rows(self, a: Num, b: Num, what: Callable[[Num, Num], Num]) -> Num | None:
        """An operation row by row, where its operands differ by rows alone."""
        rows = self._each_row(a, b)
        return None if rows is None else self.affine(tuple(what(*row) for row in rows), _NO_OFFSETS)

    def _compared_by_rows(self, a: Num, b: Num, what: Callable[[Num, Num], Mask]) -> Mask | None:
        """A comparison row by row, where its operands differ by rows alone."""
        rows = self._each_row(a, b)
        if rows is None:
            return None
        lanes = FULL >> LANES - LANES // len(rows)
        found: Mask = 0
        each = [what(*row) for row in rows]
        for n, mask in enumerate(each):
            here = lanes << n * LANES // len(rows)
            found = self.mor(found, self.mand(mask, here))
        if isinstance(found, Msk):
            found = copy_of(found)
            assert isinstance(found, Msk)
            found.none, found.every = (
                self._all_of(ends) for ends in zip(*map(self._ends, each), strict=True)
            )
        return found

    def _ends(self, a: Mask) -> tuple[str, str]:
        """(i1: if it is true no lane of a mask is set, likewise every one); "": unknown."""
        if isinstance(a, int):
            return str(a & FULL == 0).lower(), str(a & FULL == FULL).lower()
        if a.truth:
            return self._opposite(a.truth, "i1", "true"), a.truth
        return a.none, a.every

    def _all_of(self, each: Iterable[str]) -> str:
        """Whether all of some i1 are true; "": one is unknown."""
        found = ""
        for one in each:
            if one in ("", "false"):
                return ""
            if one != "true":
                found = self.ir.op(f"and i1 {found}, {one}") if found else one
        return found

    def _any_of(self, one: str, two: str) -> str:
        """Whether either i1 is true, where that is known; "": both are unknown."""
        if one in ("", "false") or two in ("", "false"):
            return next((known for known in (one, two) if known != "false"), "")
        return self.ir.op(f"or i1 {one}, {two}")

    def _ends_of(self, what: str, a: Num, b: Num) -> tuple[str, str]:
        """`_ends` of a comparison of an affine value, whose lanes lie between two of them, with a
        uniform one."""
        if not isinstance(a, Val) or a.shape is not AFFINE:
            a, b, what = b, a, _MIRRORED[what]
        form = a.line if isinstance(a, Val) and a.shape is AFFINE else None
        if form is None or not self.values.uniform(b) or len(form.bases) > _MOST_ROWS:
            return "", ""
        length = LANES // len(form.bases)
        none, every = [], []
        for n, base in enumerate(form.bases):
            offsets = form.offsets[n * length : (n + 1) * length]
            if max(offsets) > _LARGEST_OFFSET:
                return "", ""
            ends = self._ends_of_row(what, base, min(offsets), max(offsets), b)
            none.append(ends[0])
            every.append(ends[1])
        return self._all_of(none), self._all_of(every)

    def _ends_of_row(self, what: str, base: Num, low: int, high: int, b: Num) -> tuple[str, str]:
        """`_ends_of` numbers from `base + low` to `base + high`, which may wrap around."""
        op, values = self.ir.op, self.values
        one, other = values.scalar(base, 32), values.scalar(b, 32)
        if what in ("eq", "ne"):
            apart = op(f"sub i32 {op(f'sub i32 {other}, {one}')}, {low}")
            beside = op(f"icmp ugt i32 {apart}, {high - low}")
            return (beside, "") if what == "eq" else ("", beside)
        sign, most = ("s", FULL >> 1) if what[0] == "s" else ("z", FULL)
        one, other = (op(f"{sign}ext i32 {word} to i64") for word in (one, other))
        first, last = (op(f"add i64 {one}, {end}") if end else one for end in (low, high))
        fits = op(f"icmp sle i64 {last}, {most}")
        if what[1:] == "lt":
            over = op(f"icmp sge i64 {first}, {other}")
            return op(f"and i1 {over}, {fits}"), op(f"icmp slt i64 {last}, {other}")
        over = op(f"icmp sgt i64 {first}, {other}")
        return op(f"icmp sle i64 {last}, {other}"), op(f"and i1 {over}, {fits}")

    def _compare(self, what: str, a: Num, b: Num, bits: int) -> Mask:
        values = self.values
        if values.uniform(a, b):
            left, right = values.scalar(a, bits), values.scalar(b, bits)
            truth = self.ir.op(f"icmp {what} i{bits} {left}, {right}")
            return Msk(bits=self.ir.op(f"sext i1 {truth} to i32"), truth=truth)
        right = values.bare(b, bits)
        made = Msk(self.ir.op(f"icmp {what} {values.whole(a, bits)}, {right}"))
        if bits == 32 and what in _MIRRORED:
            made.none, made.every = self._ends_of(what, a, b)
        return made

    def _masks(self, what: str, a: Mask, b: Mask) -> Mask:
        made = self._combined(what, a, b)
        if any(isinstance(mask, Msk) and (mask.none or mask.every) for mask in (a, b)):
            (no_a, all_a), (no_b, all_b) = self._ends(a), self._ends(b)
            if what == "and":
                made.none, made.every = self._any_of(no_a, no_b), self._all_of((all_a, all_b))
            elif what == "or":
                made.none, made.every = self._all_of((no_a, no_b)), self._any_of(all_a, all_b)
        return made

    def _combined(self, what: str, a: Mask, b: Mask) -> Msk:
        values = self.values
        if (isinstance(a, int) or a.bits) and (isinstance(b, int) or b.bits):
            truth = ""
            if isinstance(a, Msk) and isinstance(b, Msk) and a.truth and b.truth:
                truth = self.ir.op(f"{what} i1 {a.truth}, {b.truth}")
            bits = self.ir.op(f"{what} i32 {values.mask_bits(a)}, {values.mask_bits(b)}")
            return Msk(bits=bits, truth=truth)
        left, right = values.mask_lanes(a), values.mask_lanes(b)
        return Msk(values.mask_logic(what, left, right))

    def mask(self, bits: int) -> Mask:
        return bits & FULL

    def true(self) -> Mask:
        return FULL

    def false(self) -> Mask:
        return 0

    def mand(self, a: Mask, b: Mask) -> Mask:
        if isinstance(a, int) and isinstance(b, int):
            return a & b
        for known, other in ((a, b), (b, a)):
            if isinstance(known, int) and known & FULL in (0, FULL):
                return other if known & FULL else 0
        return self._masks("and", a, b)

    def mor(self, a: Mask, b: Mask) -> Mask:
        if isinstance(a, int) and isinstance(b, int):
            return a | b
        for known, other in ((a, b), (b, a)):
            if isinstance(known, int) and known & FULL in (0, FULL):
                return FULL if known & FULL else other
        return self._masks("or", a, b)

    def mxor(self, a: Mask, b: Mask) -> Mask:
        if isinstance(a, int) and isinstance(b, int):
            return (a ^ b) & FULL
        for known, other in ((a, b), (b, a)):
            if isinstance(known, int) and not known & FULL:
                return other
        return self._masks("xor", a, b)

    def mnot(self, a: Mask) -> Mask:
        if isinstance(a, int):
            return a ^ FULL
        if a.bits:
            truth = self._opposite(a.truth, "i1", "true") if a.truth else ""
            made = Msk(bits=self._opposite(a.bits, "i32", "-1"), truth=truth)
        else:
            made = Msk(self._opposite(a.lanes, "<32 x i1>", "splat (i1 true)"))
        made.none, made.every = a.every, a.none
        return made

    def _opposite(self, ref: str, kind: str, ones: str) -> str:
        """Emit the complement, once for each operand."""
        if ref not in self._opposites:
            turned = self.ir.op(f"xor {kind} {ref}, {ones}")
            # A complement's source is available wherever the complement is.
            self._opposites[turned] = ref
            return turned
        return self._opposites[ref]

    def mselect(self, c: Mask, a: Mask, b: Mask) -> Mask:
        return self.mor(self.mand(a, c), self.mand(b, self.mnot(c)))

    def bit(self, a: Num, n: int) -> Mask:
        if isinstance(a, int):
            return FULL if a >> n & 1 else 0
        if a.numbers is not None:
            return sum((x >> n & 1) << k for k, x in enumerate(a.numbers))
        if n == 31:
            return self._compare("slt", a, 0, 32)
        return self._compare("ne", self.and_(a, 1 << n), 0, 32)

    def from_mask(self, a: Mask) -> Num:
        if isinstance(a, int) and a & FULL in (0, FULL):
            return 1 if a & FULL else 0
        lanes = self.values.mask_lanes(a)
        made = Val(32, self.ir.op(f"zext <32 x i1> {lanes} to <32 x i32>"))
        if lanes in self._carries:
            self._carries[made.ref] = self._carries[lanes]
        return made

    def note_constant(self, made: Val, place: tuple[int, int]) -> None:
        """Note that a value is the constant at a place: bank, offset."""
        self._products.note_constant(made, place)

    def add(self, a: Num, b: Num) -> Num:
        for known, other in ((a, b), (b, a)):
            if known == 0:
                return other
        summands = self._products.summands(a, b)
        joined = self._products.joined(summands) if summands else None
        if joined is not None:
            word, factor, rest = joined
            return self._added(self.mul(word, factor), rest)
        total: Num | None = self._along(a, b, self.add, lambda x, y: x + y)
        if total is None:
            total = self._fold("add", a, b, 32, lambda x, y: x + y)
        self._products.note_sum(total, summands)
        if isinstance(total, Val) and total.shape is not UNIFORM:
            self._note_sum(total, a, b)
        for known, other in ((a, b), (b, a)):
            if isinstance(known, int) and isinstance(other, Val) and isinstance(total, Val):
                base, offset = self.origins.get(other) or (other, 0)
                self.origins[total] = base, (offset + known) & FULL
        return total

    def _added(self, total: Num, summands: list[Num]) -> Num:
        for each in summands:
            total = self.add(total, each)
        return total

    def _note_sum(self, total: Val, a: Num, b: Num) -> None:
        """Record a sum that may be a word of an address."""
        for one, other in ((a, b), (b, a)):
            carried = self._carries.get(other.ref) if isinstance(other, Val) else None
            if carried is not None and self.values.uniform(one):
                self._high_sums[total.ref] = _HighSum("", one, carried)
                return
            if not isinstance(one, Val) or not one.ref or one.shape is UNIFORM:
                continue
            if carried is not None:
                word, added = self._low_sums.get(one.ref) or _LowSum(one.ref, 0)
                self._high_sums[total.ref] = _HighSum(word, added, carried)
            elif self.values.uniform(other):
                self._low_sums[total.ref] = _LowSum(one.ref, other)
                self._added_to[one.ref] = one

    def sub(self, a: Num, b: Num) -> Num:
        if b == 0:
            return a
        made = self._along(a, b, self.sub, lambda x, y: x - y)
        return self._fold("sub", a, b, 32, lambda x, y: x - y) if made is None else made

    def mul(self, a: Num, b: Num) -> Num:
        for known, other in ((a, b), (b, a)):
            if isinstance(known, int) and known in (0, 1):
                return other if known else 0
            if isinstance(known, int) and isinstance(other, Val) and other.line is not None:
                bases, offsets = other.line
                scaled = tuple(n * known & FULL for n in offsets)
                return self.affine(tuple(self.mul(base, known) for base in bases), scaled)
        made = self._by_rows(a, b, self.mul)
        if made is None:
            made = self._fold("mul", a, b, 32, lambda x, y: x * y)
        self._products.note_product(made, a, b)
        return made

    def and_(self, a: Num, b: Num) -> Num:
        for known, other in ((a, b), (b, a)):
            if isinstance(known, int) and known & FULL in (0, FULL):
                return other if known & FULL else 0
        made = self._by_rows(a, b, self.and_)
        if made is None:
            made = self._fold("and", a, b, 32, lambda x, y: x & y)
        if b == 0xFFFF:
            self._products.note_half(made, a, high=False)
        return made

    def or_(self, a: Num, b: Num) -> Num:
        for known, other in ((a, b), (b, a)):
            if known == 0:
                return other
        made = self._by_rows(a, b, self.or_)
        if made is None:
            made = self._fold("or", a, b, 32, lambda x, y: x | y)
        self._products.note_merged(made, a, b)
        return made

    def xor(self, a: Num, b: Num) -> Num:
        for known, other in ((a, b), (b, a)):
            if known == 0:
                return other
        made = self._by_rows(a, b, self.xor)
        return self._fold("xor", a, b, 32, lambda x, y: x ^ y) if made is None else made

    def not_(self, a: Num) -> Num:
        return self.xor(a, FULL)

    def _shift(self, what: str, a: Num, n: Num, bits: int) -> Num:
        """A shift whose count may exceed the width."""
        if isinstance(n, int):
            n &= FULL
            if n >= bits:
                if what != "ashr":
                    return 0
                n = bits - 1
            if n == 0:
                return a
            if isinstance(a, int):
                full = (1 << bits) - 1
                if what == "ashr":
                    return signed(a & full, bits) >> n & full
                return (a << n if what == "shl" else (a & full) >> n) & full
            if bits == 32 and what != "ashr" and a.numbers is not None:
                move = (lambda x, y: x << y) if what == "shl" else (lambda x, y: x >> y)
                return self._fold(what, a, n, bits, move)
            if what == "shl" and isinstance(a, Val) and a.line is not None:
                bases, offsets = a.line
                up = tuple(x << n & FULL for x in offsets)
                return self._moved(
                    self.affine(tuple(self.shl(base, n) for base in bases), up), what, a, n
                )
            made: Num | None = None
            if bits == 32 and what != "shl":
                made = self._by_rows(a, n, self.sar if what == "ashr" else self.shr)
            made = self._two(what, a, n, bits) if made is None else made
            return self._moved(made, what, a, n)
        inside = self.ult(n, bits)
        count: Num = n if bits == 32 else self.zext(n)
        if what == "ashr":
            choose = self.select if bits == 32 else self.wselect
            return self._two(what, a, choose(inside, count, bits - 1), bits)
        kept = self._two("and", count, bits - 1, bits)
        moved = self._two(what, a, kept, bits)
        return self.select(inside, moved, 0) if bits == 32 else self.wselect(inside, moved, 0)

    def _moved(self, made: Num, what: str, a: Num, n: int) -> Num:
        """A shifted word, recorded: it may be a word of an address."""
        if (
            isinstance(made, Val)
            and made.bits == 32
            and isinstance(a, Val)
            and made.shape is not UNIFORM
        ):
            if what == "shl":
                self._scaled[made.ref] = a, n
            else:
                self._tops[made.ref] = a, n, what == "ashr"
        return made

    def shl(self, a: Num, n: Num) -> Num:
        if n != HALF_BITS:
            return self._shift("shl", a, n, 32)
        merged = self._products.merged(a)
        made = self._shift("shl", a, n, 32) if merged is None else self.shl(merged.low, n)
        self._products.note_moved(made, a if merged is None else merged.low)
        return made

    def shr(self, a: Num, n: Num) -> Num:
        if n != HALF_BITS:
            return self._shift("lshr", a, n, 32)
        merged = self._products.merged(a)
        if merged is not None:
            return self.and_(merged.high, 0xFFFF)
        made = self._shift("lshr", a, n, 32)
        self._products.note_half(made, a, high=True)
        return made

    def sar(self, a: Num, n: Num) -> Num:
        return self._shift("ashr", a, n, 32)

    def _pick(self, c: Mask, a: Num, b: Num, bits: int) -> Num:
        if isinstance(c, int) and c & FULL in (0, FULL):
            return a if c & FULL else b
        if isinstance(a, int) and isinstance(b, int) and not (a ^ b) & (1 << bits) - 1:
            return a
        if isinstance(c, Msk) and c.truth and self.values.uniform(a, b):
            pair = f"i{bits} {self.values.scalar(a, bits)}, i{bits} {self.values.scalar(b, bits)}"
            return Val(bits, self.ir.op(f"select i1 {c.truth}, {pair}"), UNIFORM)
        chosen = self.values.mask_lanes(c)
        left, right = self.values.whole(a, bits), self.values.whole(b, bits)
        return Val(bits, self.ir.op(f"select <32 x i1> {chosen}, {left}, {right}"))

    def select(self, c: Mask, a: Num, b: Num) -> Num:
        return self._pick(c, a, b, 32)

    def _one(self, what: str, a: Num, extra: str = "") -> Val:
        """Emit an intrinsic of one operand."""
        if isinstance(a, Val) and a.shape is UNIFORM:
            what = f"call i32 @llvm.{what}.i32(i32 {self.values.scalar(a, 32)}{extra})"
            return Val(32, self.ir.op(what), UNIFORM)
        return Val(
            32,
            self.ir.op(f"call <32 x i32> @llvm.{what}.v32i32({self.values.whole(a, 32)}{extra})"),
        )

    def popc(self, a: Num) -> Num:
        return self._one("ctpop", a)

    def clz(self, a: Num) -> Num:
        return self._one("ctlz", a, ", i1 false")

    def brev(self, a: Num) -> Num:
        return self._one("bitreverse", a)

    def eq(self, a: Num, b: Num) -> Mask:
        if isinstance(a, int) and isinstance(b, int):
            return 0 if (a ^ b) & FULL else FULL
        lanes = self._by_lanes(a, b, lambda x, y: int(x == y))
        if lanes is not None:
            return sum(same << n for n, same in enumerate(lanes))
        made = self._compared_by_rows(a, b, self.eq)
        return self._compare("eq", a, b, 32) if made is None else made

    def ult(self, a: Num, b: Num) -> Mask:
        if isinstance(a, int) and isinstance(b, int):
            return FULL if a & FULL < b & FULL else 0
        rows = self._compared_by_rows(a, b, self.ult)
        if rows is not None:
            return rows
        made = self._compare("ult", a, b, 32)
        known = self._low_sums.get(a.ref) if isinstance(a, Val) else None
        if known is not None and isinstance(made, Msk) and made.lanes:
            # A sum wraps around where it is less than either term.
            if b == known.added or (isinstance(b, Val) and b.ref == known.word):
                self._carries[made.lanes] = a.ref  # type: ignore[union-attr]
        return made

    def slt(self, a: Num, b: Num) -> Mask:
        if isinstance(a, int) and isinstance(b, int):
            return FULL if signed(a & FULL, 32) < signed(b & FULL, 32) else 0
        made = self._compared_by_rows(a, b, self.slt)
        return self._compare("slt", a, b, 32) if made is None else made

    def wide(self, lo: Num, hi: Num) -> Num:
        if isinstance(lo, int) and isinstance(hi, int):
            return (hi & FULL) << 32 | lo & FULL
        if isinstance(lo, Val) and isinstance(hi, Val):
            low, high = self._halves.get(lo.ref), self._halves.get(hi.ref)
            if low and high and low[0] is high[0] and (low[1], high[1]) == (0, 1):
                return low[0]
            one, two = self._linear_words.get(lo.ref), self._linear_words.get(hi.ref)
            if one and two and one[0] is two[0] and (one[1], two[1]) == (0, 1):
                return Val(64, one[0].ref, one[0].shape, pair=(lo, hi, 0))
        made = Val(64, "", self.values.shape(lo, hi), pair=(lo, hi, 0))
        if isinstance(lo, Val) and isinstance(hi, Val):
            linear = self._linear_pair(lo.ref, hi.ref)
            if linear is not None:
                self._linears[made] = linear
                self._linear_words[lo.ref], self._linear_words[hi.ref] = (made, 0), (made, 1)
        return made

    def _linear_pair(self, lo: str, hi: str) -> Linear | None:
        """The linear form of a pair that was computed word by word, with carries.

        Args:
            lo, hi: names of its words; hi may be "": 0.
        """
        one, two = self._linear_words.get(lo), self._linear_words.get(hi)
        if one and two and one[0] is two[0] and (one[1], two[1]) == (0, 1):
            return self._linears.get(one[0])
        if not hi:
            return Linear(self._added_to[lo], False, 1, 0)
        scaled, top = self._scaled.get(lo), self._tops.get(hi)
        if top is not None and (top[0].ref, *top[1:]) == (lo, 31, True):
            return Linear(top[0], True, 1, 0)
        if scaled is not None and top is not None:
            number, up = scaled
            if top[0].ref == number.ref and top[1] == 32 - up and 1 << up <= _MOST_SCALE:
                return Linear(number, top[2], 1 << up, 0)
            return None
        low, high = self._low_sums.get(lo), self._high_sums.get(hi)
        if low is None or high is None or high.carried != lo:
            return None
        inner = self._linear_pair(low.word, high.word)
        if inner is None:
            return None
        added = self.wide(low.added, high.added)
        return inner._replace(base=self.wadd(inner.base, added) if inner.base else added)

    def lo(self, w: Num) -> Num:
        if isinstance(w, int):
            return w & FULL
        if w.pair is not None:
            return self.add(w.pair[0], w.pair[2] & FULL)
        word = self._words.get(w)
        if word is not None:
            return word
        self.values.joined(w)
        if w in self.doubles:
            return self._word_of(w, 0)
        kind = "i64" if w.shape is UNIFORM else vector("i64")
        part = "i32" if w.shape is UNIFORM else vector("i32")
        return self._noted(Val(32, self.ir.op(f"trunc {kind} {w.ref} to {part}"), w.shape), w, 0)

    def hi(self, w: Num) -> Num:
        if isinstance(w, int):
            return w >> 32 & FULL
        if w.pair is not None and not w.pair[2]:
            return w.pair[1]
        self.values.joined(w)
        if w in self.doubles:
            return self._word_of(w, 1)
        return self._noted(self.lo(self._two("lshr", Val(64, w.ref, w.shape), 32, 64)), w, 1)

    def words(self, w: Val) -> tuple[Num, Num, int]:
        """Low word, high word, and a constant to add to both together: of a 64-bit value, joined or
        not."""
        return (self.lo(w), self.hi(w), 0) if w.pair is None else w.pair

    def zero_extended(self, w: Num) -> Num | None:
        """The word that a 64-bit value extends with zeros; None where it is no such extension."""
        known = w.pair if isinstance(w, Val) else None
        return known[0] if known is not None and known[1:] == (0, 0) else None

    def _noted(self, word: Num, w: Val, number: int) -> Num:
        """A word of a value, recorded as such where the value's linear form is known."""
        if w in self._linears and isinstance(word, Val):
            self._linear_words[word.ref] = w, number
        return word

    def linear(self, w: Num) -> Linear | None:
        """The linear form of a 64-bit value, if known; without the constant of an unjoined pair."""
        if isinstance(w, int) or w.shape is UNIFORM:
            return None
        if w.pair is None:
            return self._linears.get(w)
        low, high, _ = w.pair
        if isinstance(low, int) or isinstance(high, int):
            return None
        one, two = self._linear_words.get(low.ref), self._linear_words.get(high.ref)
        if one is None or two is None or one[0] is not two[0] or (one[1], two[1]) != (0, 1):
            return None
        return self._linears[one[0]]

    def _linear_sum(self, total: Num, a: Num, b: Num) -> None:
        """Record the linear form of a sum."""
        for one, other in ((a, b), (b, a)):
            known = self.linear(one)
            if known is None or not self.values.uniform(other) or isinstance(total, int):
                continue
            base = self.wadd(known.base, other) if known.base else other
            if isinstance(one, Val) and one.pair is not None and one.pair[2]:
                base = self.wadd(base, one.pair[2])
            self._linears[total] = known._replace(base=base)
            return

    def _linear_product(self, total: Num, a: Num, b: Num) -> None:
        """Record the linear form of a product."""
        for scale, other in ((a, b), (b, a)):
            if not isinstance(scale, int) or not 0 < scale <= _MOST_SCALE:
                continue
            if isinstance(other, int) or isinstance(total, int) or other.shape is UNIFORM:
                continue
            word: Num | None = self._words.get(other)
            signed_ = True
            if word is None:
                word, signed_ = self.zero_extended(other), False
            if isinstance(word, Val) and word.shape is not UNIFORM:
                self._linears[total] = Linear(word, signed_, scale, 0)

    def zext(self, a: Num) -> Num:
        return a & FULL if isinstance(a, int) else self.wide(a, 0)

    def sext(self, a: Num) -> Num:
        if isinstance(a, int):
            return signed(a & FULL, 32) & ONES64
        kind = "i64" if a.shape is UNIFORM else vector("i64")
        part = "i32" if a.shape is UNIFORM else vector("i32")
        wide = Val(64, self.ir.op(f"sext {part} {a.ref} to {kind}"), a.shape)
        self._words[wide] = a
        return wide

    def wadd(self, a: Num, b: Num) -> Num:
        for known, other in ((a, b), (b, a)):
            if isinstance(known, int) and isinstance(other, Val) and other.pair is not None:
                low, high, add = other.pair
                total = (add + known) & ONES64
                return Val(64, "", other.shape, pair=(low, high, total))
        made = self._fold("add", a, b, 64, lambda x, y: x + y)
        self._linear_sum(made, a, b)
        return made

    def wsub(self, a: Num, b: Num) -> Num:
        return self._fold("sub", a, b, 64, lambda x, y: x - y)

    def wmul(self, a: Num, b: Num) -> Num:
        made = self._fold("mul", a, b, 64, lambda x, y: x * y)
        self._linear_product(made, a, b)
        return made

    def wand(self, a: Num, b: Num) -> Num:
        return self._fold("and", a, b, 64, lambda x, y: x & y)

    def wor(self, a: Num, b: Num) -> Num:
        return self._fold("or", a, b, 64, lambda x, y: x | y)

    def wxor(self, a: Num, b: Num) -> Num:
        return self._fold("xor", a, b, 64, lambda x, y: x ^ y)

    def wnot(self, a: Num) -> Num:
        return self.wxor(a, ONES64)

    def _words_moved(self, what: str, a: Num, n: Num) -> Num:
        """A 64-bit shift; of an unjoined pair by a known count, word by word."""
        words = a.pair if isinstance(a, Val) and not a.ref else None
        if not (isinstance(n, int) and 0 < n < 64):
            return self._shift(what, a, n, 64)
        extended = self._extended(a) if what == "shl" and n < 32 else None
        if extended is not None:
            word, down = extended
            return self.wide(self.shl(word, n), down(word, 32 - n))
        if words is None or isinstance(words[1], int) or words[2]:
            return self._shift(what, a, n, 64)
        low, high, _ = words
        if what == "shl":
            if n >= 32:
                return self.wide(0, self.shl(low, n - 32))
            return self.wide(self.shl(low, n), self._funnel(high, low, n))
        move, top = (self.shr, 0) if what == "lshr" else (self.sar, self.sar(high, 31))
        if n >= 32:
            return self.wide(move(high, n - 32), top)
        return self.wide(self._funnel(high, low, 32 - n), move(high, n))

    def _extended(self, a: Num) -> tuple[Val, Callable[[Num, Num], Num]] | None:
        """(Vector that a 64-bit value extends, the right shift that extends likewise)."""
        word = self.word(a)
        top = self.sar
        if word is None:
            zeros = self.zero_extended(a)
            word, top = (zeros if isinstance(zeros, Val) else None), self.shr
        return None if word is None or word.shape is UNIFORM else (word, top)

    def _funnel(self, high: Num, low: Num, n: int) -> Num:
        """The high word of a pair shifted left by `n` < 32."""
        values = self.values
        if values.uniform(high, low):
            words = f"i32 {values.scalar(high, 32)}, i32 {values.scalar(low, 32)}, i32 {n}"
            return Val(32, self.ir.op(f"call i32 @llvm.fshl.i32({words})"), UNIFORM)
        kind = vector("i32")
        words = f"{values.whole(high, 32)}, {values.whole(low, 32)}, {kind} {splat('i32', n)}"
        return Val(32, self.ir.op(f"call {kind} @llvm.fshl.v32i32({words})"))

    def wshl(self, a: Num, n: Num) -> Num:
        return self._words_moved("shl", a, n)

    def wshr(self, a: Num, n: Num) -> Num:
        return self._words_moved("lshr", a, n)

    def wsar(self, a: Num, n: Num) -> Num:
        return self._words_moved("ashr", a, n)

    def weq(self, a: Num, b: Num) -> Mask:
        if isinstance(a, int) and isinstance(b, int):
            return 0 if (a ^ b) & ONES64 else FULL
        return self._compare("eq", a, b, 64)

    def wult(self, a: Num, b: Num) -> Mask:
        if isinstance(a, int) and isinstance(b, int):
            return FULL if a & ONES64 < b & ONES64 else 0
        return self._compare("ult", a, b, 64)

    def wslt(self, a: Num, b: Num) -> Mask:
        if isinstance(a, int) and isinstance(b, int):
            return FULL if signed(a & ONES64, 64) < signed(b & ONES64, 64) else 0
        return self._compare("slt", a, b, 64)

    def wselect(self, c: Mask, a: Num, b: Num) -> Num:
        return self._pick(c, a, b, 64)

    def lane_id(self) -> Num:
        return self.lanes_of(tuple(range(32)))

    def ballot(self, c: Mask) -> Num:
        return c & FULL if isinstance(c, int) else Val(32, self.values.mask_bits(c), UNIFORM)
