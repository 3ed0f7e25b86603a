"""Sums and products of f16 numbers, where the host converts them to f32 and back.

The semantics compute them in f64, which loses nothing that a rounding to 11 bits could see.  In f32
a product is exact, a sum has more than twice the bits that it is rounded to, so that rounding twice
does no harm (Figueroa, "When is double rounding innocuous?", 1995), and a sum with a product is
rounded to odd.  All have at most half the vectors; the f64 is emitted where it is used itself.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.floats import F32, I32, Floats, places
from gpudbg.sm.engines.llvm.ir.values import Num, Val
from gpudbg.sm.engines.llvm.kernel.doubles import DIRECTIONS, Doubles

_HALF = 16
_SINGLES = f"<{_HALF} x float>"
_WORDS = f"<{_HALF} x i32>"


def half_bits_to_f64(bits: int) -> int | None:
    """The bits of the f64 of an f16 number; None for a NaN."""
    (number,) = struct.unpack("<e", struct.pack("<H", bits & 0xFFFF))
    return None if math.isnan(number) else _bits_of(number)


def _bits_of(number: float) -> int:
    return int.from_bytes(struct.pack("<d", number), "little")


def is_half(bits: int) -> bool:
    """Whether an f64 is an f16 number."""
    (number,) = struct.unpack("<d", bits.to_bytes(8, "little"))
    try:
        (same,) = struct.unpack("<e", struct.pack("<e", number))
    except OverflowError:
        return False
    return bool(same == number)


class HalfArithmetic:
    """Additions and multiplications to nearest; those of other numbers are `Doubles`'."""

    def __init__(self, ir: Builder, floats: Floats, doubles: Doubles) -> None:
        self.ir, self.floats, self.doubles = ir, floats, doubles
        self._singles: dict[Val, str] = {}
        """64-bit value that is an f16 number -> floats of the same value."""
        self._factors: dict[Val, tuple[str, str]] = {}
        """Product of such values -> them."""
        self._rounding: dict[Val, Callable[[], str]] = {}
        """Result -> emits floats that are rounded to f16 as it is."""
        self._sums: dict[Val, Callable[[], str]] = {}
        """Sum of two f16 numbers -> emits it rounded to floats, which is one rounding."""

    def note(self, wide: Val, single: str) -> None:
        """A 64-bit value is an f16 number, and floats of the same value are these."""
        self._singles[wide] = single

    def to_round(self, a: Num) -> str | None:
        """Floats that are rounded to f16 as a result is; None for another value."""
        emit = None if isinstance(a, int) else self._rounding.get(a)
        return None if emit is None else emit()

    def sum_to_nearest(self, a: Num) -> str | None:
        """A sum of two f16 numbers rounded to f32; None for another value."""
        emit = None if isinstance(a, int) else self._sums.get(a)
        return None if emit is None else emit()

    def _single(self, a: Num) -> str | None:
        """An f16 number as floats."""
        if isinstance(a, int):
            return f"splat (float {a:#018x})" if is_half(a) else None
        return self._singles.get(a)

    def dmul(self, a: Num, b: Num, rnd: str = "RN") -> Num:
        one, two = self._single(a), self._single(b)
        if rnd != "RN" or one is None or two is None or not self.floats.halves:
            return self.doubles.dmul(a, b, rnd)
        product = self.floats.later(lambda: self.floats.f64(self.doubles.dmul(a, b)))
        self._factors[product] = one, two
        self._rounding[product] = lambda: self.ir.op(f"fmul {F32} {one}, {two}")
        return product

    def dadd(self, a: Num, b: Num, rnd: str = "RN") -> Num:
        emit = self._sum(a, b) if rnd == "RN" and self.floats.halves else None
        if emit is None:
            return self.doubles.dadd(a, b, rnd)
        total = self.floats.later(lambda: self.floats.f64(self.doubles.dadd(a, b)))
        self._rounding[total] = emit
        if self._single(a) is not None and self._single(b) is not None:
            self._sums[total] = emit
        return total

    def _sum(self, a: Num, b: Num) -> Callable[[], str] | None:
        """What emits the floats of a sum of f16 numbers, or of one and a product of others."""
        one, two = self._single(a), self._single(b)
        if one is not None and two is not None:
            return lambda: self.ir.op(f"fadd {F32} {one}, {two}")
        for product, single in ((a, two), (b, one)):
            factors = None if isinstance(product, int) else self._factors.get(product)
            if factors is not None and single is not None:
                return lambda: self._odd(*factors, single)
        return None

    def _odd(self, a: str, b: str, c: str) -> str:
        """a * b + c, cut; the last bit is set where something was lost."""
        if not self.floats.wide_vectors:
            return self._odd_sum(self.ir.op(f"fmul {F32} {a}, {b}"), c)
        ir = self.ir
        parts = []
        for first in (0, _HALF):
            given = ", ".join(
                f"{_SINGLES} "
                + ir.op(f"shufflevector {F32} {v}, {F32} poison, {places(first, _HALF)}")
                for v in (a, b, c)
            )
            down, up, cut = (
                ir.op(f"call {_SINGLES} @llvm.x86.avx512.vfmadd.ps.512({given}, i32 {rounding})")
                for rounding in (DIRECTIONS[rnd] for rnd in ("RM", "RP", "RZ"))
            )
            lost = ir.op(f"fcmp one {_SINGLES} {down}, {up}")
            bits = ir.op(f"bitcast {_SINGLES} {cut} to {_WORDS}")
            odd = ir.op(f"or {_WORDS} {bits}, splat (i32 1)")
            chosen = ir.op(f"select <{_HALF} x i1> {lost}, {_WORDS} {odd}, {_WORDS} {bits}")
            parts.append(f"{_SINGLES} " + ir.op(f"bitcast {_WORDS} {chosen} to {_SINGLES}"))
        return ir.op(f"shufflevector {', '.join(parts)}, {places(0, 32)}")

    def _odd_sum(self, a: str, b: str) -> str:
        """a + b to the neighbour whose last bit is set, unless it is exact.

        The error of the sum to nearest is a float (Knuth, "The Art of Computer Programming" 2,
        4.2.2, theorem B); of the two floats beside the exact sum one is odd.
        """
        ir, floats = self.ir, self.floats

        def op(what: str, x: str, y: str) -> str:
            return ir.op(f"{what} {F32} {x}, {y}")

        total = op("fadd", a, b)
        other = op("fsub", total, a)
        rest = op("fsub", a, op("fsub", total, other))
        error = op("fadd", rest, op("fsub", b, other))
        bits, lost = floats.bits32(total).ref, floats.bits32(error).ref
        # Away from 0 where the error has the sign of the sum: +1 then, else -1.
        turned = ir.op(f"xor {I32} {bits}, {lost}")
        step = ir.op(f"or {I32} {ir.op(f'ashr {I32} {turned}, splat (i32 31)')}, splat (i32 1)")
        # An infinite or invalid sum has a NaN for its error.
        inexact = ir.op(f"fcmp one {F32} {error}, zeroinitializer")
        even = ir.op(f"icmp eq {I32} {ir.op(f'and {I32} {bits}, splat (i32 1)')}, zeroinitializer")
        wrong = ir.op(f"and <32 x i1> {inexact}, {even}")
        near = ir.op(f"add {I32} {bits}, {step}")
        return floats.f32(Val(32, ir.op(f"select <32 x i1> {wrong}, {I32} {near}, {I32} {bits}")))
