"""Values of the machine interface as LLVM IR: 32-bit and 64-bit integers, masks, lanes.

A Python int is a constant in all lanes (of a Mask: its bits).  `Val` is an IR value, either of all
lanes (`<32 x i32>`, `<32 x i64>`) or of one scalar that stands for them.  A 64-bit value built of
two words stays a pair until it is needed whole, and a constant added to it stays apart, so
address arithmetic costs nothing.  `Msk` is a mask as lane vector, as 32 bits, or both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.sm.engines.llvm.text import Text, signed, splat, vector

if TYPE_CHECKING:
    from collections.abc import Callable

FULL = 0xFFFF_FFFF
ONES64 = 0xFFFF_FFFF_FFFF_FFFF


class Slow(Exception):  # noqa: N818 - not an error: the instruction is left to the step engine
    """This form has no compiled version."""


class Val:
    """32 lanes of integers.

    Attributes:
        bits: 32 or 64.
        ref: IR name, or "" where `pair` has not been joined or `late` not been called.
        one: the name is a scalar that stands for all lanes.
        row: number of the register whose row in the record holds exactly this, or -1.
        pair: (low word, high word, constant to add) of an unjoined 64-bit value.
        origin: (value, constant) whose sum this is, for addresses with different offsets.
        single: IR name of the same as floats, except that NaNs need not be canonical.
        late: emits it when its 64 bits are wanted.
        word: what it is the sign extension of.
        thin: an f32 with the value of this f64, or also NaN.
        double: IR name of the same as f64.
        raw: the same for the lanes that executed when it was written, anything in the others.
        under: what those lanes were (`state.Under`).
        whole: what this is the `raw` of.
    """

    __slots__ = (
        "bits", "double", "late", "one", "origin", "pair", "raw", "ref", "row", "single", "thin",
        "under", "whole", "word",
    )  # fmt: skip

    def __init__(
        self,
        bits: int,
        ref: str,
        one: bool = False,
        row: int = -1,
        pair: tuple[Num, Num, int] | None = None,
    ) -> None:
        self.bits = bits
        self.ref = ref
        self.one = one
        self.row = row
        self.pair = pair
        self.origin: tuple[Val, int] | None = None
        self.single = ""
        self.late: Callable[[], Num] | None = None
        self.word: Val | None = None
        self.thin: Num | None = None
        self.double = ""
        self.raw: Val | None = None
        self.under: object = None
        self.whole: Val | None = None


class Msk:
    """32 lanes of bool; `lanes` is a `<32 x i1>`, `bits` an i32; one of them is there."""

    __slots__ = ("bits", "lanes")

    def __init__(self, lanes: str = "", bits: str = "") -> None:
        self.lanes = lanes
        self.bits = bits


Num = Val | int
Mask = Msk | int


class LaneOps(Text):
    """Integer, mask and cross-lane operations; the emitter inherits them."""

    def __init__(self) -> None:
        super().__init__()
        self._halves: dict[str, tuple[Val, int]] = {}
        self._opposites: dict[str, str] = {}

    # ---- forms of a value --------------------------------------------------------------

    def whole(self, a: Num, bits: int) -> str:
        """All lanes as a typed IR operand."""
        kind = f"i{bits}"
        if isinstance(a, int):
            return f"{vector(kind)} {splat(kind, signed(a & (1 << bits) - 1, bits))}"
        self.joined(a)
        return f"{vector(kind)} {self.spread(a.ref, bits) if a.one else a.ref}"

    def bare(self, a: Num, bits: int) -> str:
        """All lanes as an IR operand without its type."""
        return self.whole(a, bits)[len(vector(f"i{bits}")) + 1 :]

    def spread(self, ref: str, bits: int) -> str:
        """A scalar in all lanes."""
        kind = vector(f"i{bits}")
        first = self.op(f"insertelement {kind} poison, i{bits} {ref}, i64 0")
        return self.op(f"shufflevector {kind} {first}, {kind} poison, <32 x i32> zeroinitializer")

    def scalar(self, a: Num, bits: int) -> str:
        """A uniform value as an IR operand without its type."""
        if isinstance(a, int):
            return str(signed(a & (1 << bits) - 1, bits))
        self.joined(a)
        return a.ref

    def joined(self, a: Val) -> None:
        """Give an unjoined pair, or what is emitted late, its name."""
        if a.ref:
            return
        if a.late is not None:
            made = a.late()
            a.ref = self.bare(made, a.bits)
            a.double = made.double if isinstance(made, Val) else ""
        if a.pair is None:
            return
        low, high, add = a.pair
        kind = "i64" if a.one else vector("i64")
        part = "i32" if a.one else vector("i32")
        form = self.scalar if a.one else self.bare
        if not (a.one or self.uniform(low) or self.uniform(high)):
            joined = self._interleaved(low, high)
        elif isinstance(high, int) and not high & FULL:
            joined = self.op(f"zext {part} {form(low, 32)} to {kind}")
        else:
            up = self.op(f"zext {part} {form(high, 32)} to {kind}")
            up = self.op(f"shl {kind} {up}, {'32' if a.one else splat('i64', 32)}")
            down = self.op(f"zext {part} {form(low, 32)} to {kind}")
            joined = self.op(f"or {kind} {up}, {down}")
        if add:
            number = signed(add, 64)
            joined = self.op(f"add {kind} {joined}, {number if a.one else splat('i64', number)}")
        a.ref = joined

    def _interleaved(self, low: Num, high: Num) -> str:
        """Words in all lanes as 64-bit lanes."""
        order = ", ".join(f"i32 {n}, i32 {n + 32}" for n in range(32))
        pair = f"{self.whole(low, 32)}, {self.whole(high, 32)}"
        mixed = self.op(f"shufflevector {pair}, <64 x i32> <{order}>")
        return self.op(f"bitcast <64 x i32> {mixed} to {vector('i64')}")

    def _word_of(self, w: Val, number: int) -> Val:
        """The low or the high word of what an f64 operation gave."""
        words = self.op(f"bitcast {vector('i64')} {w.ref} to <64 x i32>")
        order = ", ".join(f"i32 {2 * n + number}" for n in range(32))
        what = f"shufflevector <64 x i32> {words}, <64 x i32> poison, <32 x i32> <{order}>"
        half = Val(32, self.op(what))
        self._halves[half.ref] = w, number
        return half

    @staticmethod
    def uniform(*values: Num) -> bool:
        """Whether every value is one number for all lanes."""
        return all(isinstance(v, int) or v.one for v in values)

    def _two(self, what: str, a: Num, b: Num, bits: int) -> Val:
        """A binary operation on lanes or, of uniform operands, on scalars."""
        if self.uniform(a, b):
            left, right = self.scalar(a, bits), self.scalar(b, bits)
            return Val(bits, self.op(f"{what} i{bits} {left}, {right}"), True)
        right = self.bare(b, bits)
        left = self.whole(a, bits)
        return Val(bits, self.op(f"{what} {left}, {right}"))

    def _fold(self, what: str, a: Num, b: Num, bits: int, known: Callable[[int, int], int]) -> Num:
        """`_two`, or the number where both operands are known."""
        if isinstance(a, int) and isinstance(b, int):
            full = (1 << bits) - 1
            return known(a & full, b & full) & full
        return self._two(what, a, b, bits)

    def _compare(self, what: str, a: Num, b: Num, bits: int) -> Mask:
        if self.uniform(a, b):
            left, right = self.scalar(a, bits), self.scalar(b, bits)
            truth = self.op(f"icmp {what} i{bits} {left}, {right}")
            return Msk(bits=self.op(f"sext i1 {truth} to i32"))
        right = self.bare(b, bits)
        return Msk(self.op(f"icmp {what} {self.whole(a, bits)}, {right}"))

    # ---- masks -------------------------------------------------------------------------

    def mask_bits(self, a: Mask) -> str:
        """A mask as an i32 operand without its type."""
        if isinstance(a, int):
            return str(signed(a & FULL, 32))
        if not a.bits:
            a.bits = self.op(f"bitcast <32 x i1> {a.lanes} to i32")
        return a.bits

    def mask_lanes(self, a: Mask) -> str:
        """A mask as a <32 x i1> operand without its type."""
        if isinstance(a, int):
            if a & FULL in (0, FULL):
                return "splat (i1 true)" if a & FULL else "zeroinitializer"
            return "<" + ", ".join(f"i1 {a >> n & 1}" for n in range(32)) + ">"
        if not a.lanes:
            a.lanes = self.op(f"bitcast i32 {a.bits} to <32 x i1>")
        return a.lanes

    def _masks(self, what: str, a: Mask, b: Mask) -> Mask:
        if (isinstance(a, int) or a.bits) and (isinstance(b, int) or b.bits):
            return Msk(bits=self.op(f"{what} i32 {self.mask_bits(a)}, {self.mask_bits(b)}"))
        left, right = self.mask_lanes(a), self.mask_lanes(b)
        return Msk(self.op(f"{what} <32 x i1> {left}, {right}"))

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
            return Msk(bits=self._opposite(a.bits, "i32", "-1"))
        return Msk(self._opposite(a.lanes, "<32 x i1>", "splat (i1 true)"))

    def _opposite(self, ref: str, kind: str, ones: str) -> str:
        """All bits turned round, once."""
        if ref not in self._opposites:
            turned = self.op(f"xor {kind} {ref}, {ones}")
            # What a name comes from is there wherever the name is.
            self._opposites[turned] = ref
            return turned
        return self._opposites[ref]

    def mselect(self, c: Mask, a: Mask, b: Mask) -> Mask:
        return self.mor(self.mand(a, c), self.mand(b, self.mnot(c)))

    def bit(self, a: Num, n: int) -> Mask:
        if isinstance(a, int):
            return FULL if a >> n & 1 else 0
        if n == 31:
            return self._compare("slt", a, 0, 32)
        return self._compare("ne", self.and_(a, 1 << n), 0, 32)

    def from_mask(self, a: Mask) -> Num:
        if isinstance(a, int) and a & FULL in (0, FULL):
            return 1 if a & FULL else 0
        return Val(32, self.op(f"zext <32 x i1> {self.mask_lanes(a)} to <32 x i32>"))

    # ---- 32-bit integers ---------------------------------------------------------------

    def add(self, a: Num, b: Num) -> Num:
        for known, other in ((a, b), (b, a)):
            if known == 0:
                return other
        total = self._fold("add", a, b, 32, lambda x, y: x + y)
        for known, other in ((a, b), (b, a)):
            if isinstance(known, int) and isinstance(other, Val) and isinstance(total, Val):
                base, offset = other.origin or (other, 0)
                total.origin = base, (offset + known) & FULL
        return total

    def sub(self, a: Num, b: Num) -> Num:
        return a if b == 0 else self._fold("sub", a, b, 32, lambda x, y: x - y)

    def mul(self, a: Num, b: Num) -> Num:
        return self._fold("mul", a, b, 32, lambda x, y: x * y)

    def and_(self, a: Num, b: Num) -> Num:
        for known, other in ((a, b), (b, a)):
            if isinstance(known, int) and known & FULL in (0, FULL):
                return other if known & FULL else 0
        return self._fold("and", a, b, 32, lambda x, y: x & y)

    def or_(self, a: Num, b: Num) -> Num:
        for known, other in ((a, b), (b, a)):
            if known == 0:
                return other
        return self._fold("or", a, b, 32, lambda x, y: x | y)

    def xor(self, a: Num, b: Num) -> Num:
        for known, other in ((a, b), (b, a)):
            if known == 0:
                return other
        return self._fold("xor", a, b, 32, lambda x, y: x ^ y)

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
            return self._two(what, a, n, bits)
        inside = self.ult(n, bits)
        count: Num = n if bits == 32 else self.zext(n)
        if what == "ashr":
            choose = self.select if bits == 32 else self.wselect
            return self._two(what, a, choose(inside, count, bits - 1), bits)
        kept = self._two("and", count, bits - 1, bits)
        moved = self._two(what, a, kept, bits)
        return self.select(inside, moved, 0) if bits == 32 else self.wselect(inside, moved, 0)

    def shl(self, a: Num, n: Num) -> Num:
        return self._shift("shl", a, n, 32)

    def shr(self, a: Num, n: Num) -> Num:
        return self._shift("lshr", a, n, 32)

    def sar(self, a: Num, n: Num) -> Num:
        return self._shift("ashr", a, n, 32)

    def _pick(self, c: Mask, a: Num, b: Num, bits: int) -> Num:
        if isinstance(c, int) and c & FULL in (0, FULL):
            return a if c & FULL else b
        if isinstance(a, int) and isinstance(b, int) and not (a ^ b) & (1 << bits) - 1:
            return a
        chosen = self.mask_lanes(c)
        left, right = self.whole(a, bits), self.whole(b, bits)
        return Val(bits, self.op(f"select <32 x i1> {chosen}, {left}, {right}"))

    def select(self, c: Mask, a: Num, b: Num) -> Num:
        return self._pick(c, a, b, 32)

    def _one(self, what: str, a: Num, extra: str = "") -> Val:
        """An intrinsic of one operand; uniform values are spread: such code is rare."""
        return Val(32, self.op(f"call <32 x i32> @llvm.{what}.v32i32({self.whole(a, 32)}{extra})"))

    def popc(self, a: Num) -> Num:
        return self._one("ctpop", a)

    def clz(self, a: Num) -> Num:
        return self._one("ctlz", a, ", i1 false")

    def brev(self, a: Num) -> Num:
        return self._one("bitreverse", a)

    def eq(self, a: Num, b: Num) -> Mask:
        if isinstance(a, int) and isinstance(b, int):
            return 0 if (a ^ b) & FULL else FULL
        return self._compare("eq", a, b, 32)

    def ult(self, a: Num, b: Num) -> Mask:
        if isinstance(a, int) and isinstance(b, int):
            return FULL if a & FULL < b & FULL else 0
        return self._compare("ult", a, b, 32)

    def slt(self, a: Num, b: Num) -> Mask:
        if isinstance(a, int) and isinstance(b, int):
            return FULL if signed(a & FULL, 32) < signed(b & FULL, 32) else 0
        return self._compare("slt", a, b, 32)

    # ---- 64-bit integers ---------------------------------------------------------------

    def wide(self, lo: Num, hi: Num) -> Num:
        if isinstance(lo, int) and isinstance(hi, int):
            return (hi & FULL) << 32 | lo & FULL
        if isinstance(lo, Val) and isinstance(hi, Val):
            low, high = self._halves.get(lo.ref), self._halves.get(hi.ref)
            if low and high and low[0] is high[0] and (low[1], high[1]) == (0, 1):
                return low[0]
        return Val(64, "", self.uniform(lo, hi), pair=(lo, hi, 0))

    def lo(self, w: Num) -> Num:
        if isinstance(w, int):
            return w & FULL
        if w.pair is not None:
            return self.add(w.pair[0], w.pair[2] & FULL)
        if w.word is not None:
            return w.word
        self.joined(w)
        if w.double:
            return self._word_of(w, 0)
        kind = "i64" if w.one else vector("i64")
        part = "i32" if w.one else vector("i32")
        return Val(32, self.op(f"trunc {kind} {w.ref} to {part}"), w.one)

    def hi(self, w: Num) -> Num:
        if isinstance(w, int):
            return w >> 32 & FULL
        if w.pair is not None and not w.pair[2]:
            return w.pair[1]
        self.joined(w)
        if w.double:
            return self._word_of(w, 1)
        return self.lo(self._two("lshr", Val(64, w.ref, w.one), 32, 64))

    def zext(self, a: Num) -> Num:
        return a & FULL if isinstance(a, int) else self.wide(a, 0)

    def sext(self, a: Num) -> Num:
        if isinstance(a, int):
            return signed(a & FULL, 32) & ONES64
        kind = "i64" if a.one else vector("i64")
        part = "i32" if a.one else vector("i32")
        wide = Val(64, self.op(f"sext {part} {a.ref} to {kind}"), a.one)
        wide.word = a
        return wide

    def wadd(self, a: Num, b: Num) -> Num:
        for known, other in ((a, b), (b, a)):
            if isinstance(known, int) and isinstance(other, Val) and other.pair is not None:
                low, high, add = other.pair
                total = (add + known) & ONES64
                return Val(64, "", other.one, pair=(low, high, total))
        return self._fold("add", a, b, 64, lambda x, y: x + y)

    def wsub(self, a: Num, b: Num) -> Num:
        return self._fold("sub", a, b, 64, lambda x, y: x - y)

    def wmul(self, a: Num, b: Num) -> Num:
        return self._fold("mul", a, b, 64, lambda x, y: x * y)

    def wand(self, a: Num, b: Num) -> Num:
        return self._fold("and", a, b, 64, lambda x, y: x & y)

    def wor(self, a: Num, b: Num) -> Num:
        return self._fold("or", a, b, 64, lambda x, y: x | y)

    def wxor(self, a: Num, b: Num) -> Num:
        return self._fold("xor", a, b, 64, lambda x, y: x ^ y)

    def wnot(self, a: Num) -> Num:
        return self.wxor(a, ONES64)

    def _words_moved(self, what: str, a: Num, n: Num) -> Num:
        """A shift of 64 bits; of words that are not joined by a number, one by one."""
        words = a.pair if isinstance(a, Val) and not a.ref else None
        if words is None or isinstance(words[1], int) or words[2]:
            return self._shift(what, a, n, 64)
        if not (isinstance(n, int) and 0 < n < 64):
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

    def _funnel(self, high: Num, low: Num, n: int) -> Num:
        """The high word of both moved to the left by less than 32."""
        if self.uniform(high, low):
            words = f"i32 {self.scalar(high, 32)}, i32 {self.scalar(low, 32)}, i32 {n}"
            return Val(32, self.op(f"call i32 @llvm.fshl.i32({words})"), True)
        kind = vector("i32")
        words = f"{self.whole(high, 32)}, {self.whole(low, 32)}, {kind} {splat('i32', n)}"
        return Val(32, self.op(f"call {kind} @llvm.fshl.v32i32({words})"))

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

    # ---- across lanes ------------------------------------------------------------------

    def lane_id(self) -> Num:
        return Val(32, "<" + ", ".join(f"i32 {n}" for n in range(32)) + ">")

    def ballot(self, c: Mask) -> Num:
        return c & FULL if isinstance(c, int) else Val(32, self.mask_bits(c), True)
