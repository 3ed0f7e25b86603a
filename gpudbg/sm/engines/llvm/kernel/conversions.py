"""Conversions between f32, f16 and integers of at most 32 bits in place.

The semantics convert by way of f64 and 64-bit integers (`gpudbg.sm.semantics.convert`).  Values
that come from 32 bits are recorded (`_narrow`, `Integers.word`), so that the 64-bit form is emitted
only where it is used.
"""

from __future__ import annotations

from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.floats import F32, F64, I32, ROUND, Floats, Outlining, places
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.values import Mask, Num, Val, Values
from gpudbg.sm.engines.llvm.kernel.doubles import DIRECTIONS, PART, Doubles
from gpudbg.sm.engines.llvm.kernel.half_arithmetic import (
    HalfArithmetic,
    half_bits_to_f64,
    is_half,
)

F16 = "<32 x half>"

I16 = "<32 x i16>"

NAN16 = 0x7FFF


def _constant(kind: str, value: int) -> str:
    """An integer that floats of a kind hold, as a constant."""
    return f"splat ({'float' if kind == F32 else 'double'} {float(value)!r})"


class Conversions:
    """Conversions, in place or by the run-time library."""

    def __init__(
        self,
        ir: Builder,
        values: Values,
        ints: Integers,
        floats: Floats,
        doubles: Doubles,
        halves: HalfArithmetic,
        runtime: Outlining,
    ) -> None:
        self.ir, self.values, self.ints, self.floats = ir, values, ints, floats
        self.doubles, self.halves, self.runtime = doubles, halves, runtime
        self._narrow: dict[Val, Num] = {}
        """64-bit value -> an f32 of the same value (or NaN)."""

    def f32_to_f64(self, a: Num) -> Num:
        if isinstance(a, int):
            return self.runtime.outlined("f32_to_f64", (a,))
        # The host keeps a NaN's payload and makes it quiet, as the definition does.
        wide = self.floats.later(lambda: self.ir.op(f"fpext {F32} {self.form(a)} to {F64}"))
        self._narrow[wide] = a
        return wide

    def form(self, a: Num) -> str:
        """A Value as floats, bits unchanged."""
        return self.ir.op(f"bitcast {self.values.whole(a, 32)} to {F32}")

    def dround(self, a: Num, mode: str) -> Num:
        """Round to integral values; the host keeps a NaN's payload, as the definition does."""
        if isinstance(a, int):
            return self.runtime.outlined(f"dround.{mode}", (a,))
        how, floats = f"@llvm.{ROUND[mode]}.v32f64", self.floats
        rounded = floats.later(lambda: self.ir.op(f"call {F64} {how}({F64} {floats.f64(a)})"))
        narrow = self._narrow.get(a)
        if narrow is not None:
            self._narrow[rounded] = floats.fround(narrow, mode)
        return rounded

    def f64_to_int(self, a: Num, signed: bool, bits: int) -> Num:
        ints, floats = self.ints, self.floats
        if not isinstance(a, Val) or bits > 32:
            return self.runtime.outlined(f"f64_to_int.{'S' if signed else 'U'}{bits}", (a,))
        low = -(1 << bits - 1) if signed else 0
        high = low + (1 << bits) - 1
        narrow = self._narrow.get(a)
        kind, x = (F64, floats.f64(a)) if narrow is None else (F32, floats.f32(narrow))
        # An f32 cannot hold the upper limit of 32 bits.
        exact = kind == F64 or bits < 32
        # A NaN becomes the lower limit as well.
        inside = self._limited(kind, x, "ogt", low)
        if exact:
            inside = self._limited(kind, inside, "olt", high)
        how = "fptosi" if signed else "fptoui"
        whole: Num = Val(32, self.ir.op(f"{how} {kind} {inside} to {I32}"))
        if signed:
            whole = ints.select(floats.test("ord", kind, x, x), whole, 0)
        if not exact:
            whole = ints.select(floats.test("oge", kind, x, _constant(kind, high + 1)), high, whole)
        return ints.sext(whole) if signed else ints.zext(whole)

    def _limited(self, kind: str, x: str, how: str, limit: int) -> str:
        """Floats where they are above or below a limit, else the limit."""
        bound = _constant(kind, limit)
        return self.floats.pick(self.floats.test(how, kind, x, bound), kind, x, bound)

    def f64_to_f32(self, a: Num, rnd: str, flush: bool = False) -> Num:
        floats = self.floats
        narrow = self._narrow.get(a) if isinstance(a, Val) else None
        if narrow is not None and not flush:
            return floats.canonical(floats.f32(narrow))
        if rnd != "RN" or flush:
            return self.runtime.outlined(f"f64_to_f32.{rnd}{'.FTZ' if flush else ''}", (a,))
        single = self.halves.sum_to_nearest(a)
        if single is not None:
            return floats.canonical(single)
        return floats.canonical(self.ir.op(f"fptrunc {F64} {floats.f64(a)} to {F32}"))

    def _as_singles(self, *operands: Num) -> list[str] | None:
        """Floats of the same values as doubles; None where there are none of one of them."""
        found = []
        for a in operands:
            narrow = None if isinstance(a, int) else self._narrow.get(a)
            if isinstance(a, int) and is_half(a):
                found.append(f"splat (float {a:#018x})")
            elif narrow is not None:
                found.append(self.floats.f32(narrow))
            else:
                return None
        return found

    def dlt(self, a: Num, b: Num) -> Mask:
        single = self._as_singles(a, b)
        return self.floats.test("olt", F32, *single) if single else self.floats.dlt(a, b)

    def deq(self, a: Num, b: Num) -> Mask:
        single = self._as_singles(a, b)
        return self.floats.test("oeq", F32, *single) if single else self.floats.deq(a, b)

    def dnan(self, a: Num) -> Mask:
        single = self._as_singles(a, a)
        return self.floats.test("uno", F32, *single) if single else self.floats.dnan(a)

    def f16_to_f64(self, a: Num) -> Num:
        ir = self.ir
        known = half_bits_to_f64(a) if isinstance(a, int) else None
        if known is not None:
            return known
        if isinstance(a, int) or not self.floats.halves:
            return self.runtime.outlined("f16_to_f64", (a,))
        short = ir.op(f"trunc {self.values.whole(a, 32)} to {I16}")
        half = ir.op(f"bitcast {I16} {short} to {F16}")
        single = ir.op(f"fpext {F16} {half} to {F32}")
        wide = self.floats.later(lambda: ir.op(f"fpext {F32} {single} to {F64}"))
        self._narrow[wide] = self.floats.bits32(single)
        self.halves.note(wide, single)
        return wide

    def f64_to_f16(self, a: Num, rnd: str) -> Num:
        """Round to f16; from an f32 in one instruction where the host has one."""
        if isinstance(a, int) or rnd != "RN" or not self.floats.halves:
            return self.runtime.outlined(f"f64_to_f16.{rnd}", (a,))
        narrow = self._narrow.get(a)
        if narrow is not None:
            return self.f32_to_f16(self.floats.f32(narrow))
        single = self.halves.to_round(a)
        if single is not None:
            return self.f32_to_f16(single)
        if not self.floats.wide_vectors:
            return self.runtime.outlined(f"f64_to_f16.{rnd}", (a,))
        return self._by_odd(a)

    def _by_odd(self, a: Val) -> Num:
        """Round by way of an f32 rounded to odd, which makes the second rounding exact."""
        floats = self.floats
        value = floats.f64(a)
        parts = []
        for first in range(0, 32, 8):
            part = f"{PART} {self.doubles.eighth(value, first)}, <8 x float> poison"
            how = f"@llvm.x86.avx512.mask.cvtpd2ps.512({part}, i8 -1, i32 {DIRECTIONS['RZ']})"
            parts.append(self.ir.op(f"call <8 x float> {how}"))
        cut = self.doubles.united("float", parts)
        back = self.ir.op(f"fpext {F32} {cut} to {F64}")
        bits = floats.bits32(cut)
        odd = self.ints.select(floats.test("une", F64, back, value), self.ints.or_(bits, 1), bits)
        return self.f32_to_f16(floats.f32(odd))

    def f32_to_f16(self, x: str) -> Num:
        """Bits of floats rounded to f16."""
        half = self.ir.op(f"fptrunc {F32} {x} to {F16}")
        short = self.ir.op(f"bitcast {F16} {half} to {I16}")
        bits = Val(32, self.ir.op(f"zext {I16} {short} to {I32}"))
        return self.ints.select(self.floats.test("uno", F32, x, x), NAN16, bits)

    def int_to_f64(self, a: Num, signed: bool, rnd: str) -> Num:
        """Convert an integer; for 32 bits every rounding gives the same."""
        word, kind = self._short(a, signed)
        if word is None:
            return self.runtime.outlined(f"int_to_f64.{'S' if signed else 'U'}.{rnd}", (a,))
        return self.floats.bits64(self.ir.op(f"{kind}itofp {self.values.whole(word, 32)} to {F64}"))

    def _short(self, a: Num, signed: bool) -> tuple[Num | None, str]:
        """(the 32-bit integer that a value extends, or None; s or u)."""
        word = self.ints.word(a)
        if word is not None and signed:
            return word, "s"
        unsigned = self.ints.zero_extended(a)
        return (None, "") if unsigned is None else (unsigned, "u")

    def int_to_f32(self, a: Num, signed: bool, rnd: str) -> Num:
        ir = self.ir
        word, kind = self._short(a, signed)
        if word is None:
            return self.runtime.outlined(f"int_to_f32.{'S' if signed else 'U'}.{rnd}", (a,))
        if rnd == "RN":
            return self.number(ir.op(f"{kind}itofp {self.values.whole(word, 32)} to {F32}"))
        if not self.floats.wide_vectors:
            return self._by_halves(word, kind, rnd)
        given = self.values.whole(word, 32)
        name = f"llvm.x86.avx512.{kind}itofp.round.v16f32.v16i32"
        parts = []
        for half in range(2):
            part = ir.op(f"shufflevector {given}, {I32} poison, {places(16 * half, 16)}")
            how = f"<16 x i32> {part}, i32 {DIRECTIONS[rnd]}"
            parts.append(ir.op(f"call <16 x float> @{name}({how})"))
        both = ", ".join(f"<16 x float> {part}" for part in parts)
        return self.number(ir.op(f"shufflevector {both}, {places(0, 32)}"))

    def _by_halves(self, word: Num, kind: str, rnd: str) -> Num:
        """Sum of both halves rounded to nearest, moved to its neighbour where the error requires
        it.
        """
        ir, ints, floats = self.ir, self.ints, self.floats
        top = ints.sar(word, 16) if kind == "s" else ints.shr(word, 16)
        high = ir.op(f"sitofp {self.values.whole(top, 32)} to {F32}")
        high = ir.op(f"fmul {F32} {high}, {_constant(F32, 1 << 16)}")
        low = ir.op(f"sitofp {self.values.whole(floats.and_(word, 0xFFFF), 32)} to {F32}")
        total = ir.op(f"fadd {F32} {high}, {low}")
        # Exact: the upper half is 0 or not smaller than the lower one.
        error = ir.op(f"fsub {F32} {low}, {ir.op(f'fsub {F32} {total}, {high}')}")
        bits = floats.bits32(total)
        if rnd == "RZ":
            away = ir.op(f"fmul {F32} {error}, {total}")
            wrong = floats.test("olt", F32, away, "zeroinitializer")
            return ints.select(wrong, ints.sub(bits, 1), bits)
        step = ints.or_(ints.sar(bits, 31), 1)
        if rnd == "RP":
            wrong = floats.test("ogt", F32, error, "zeroinitializer")
            return ints.select(wrong, ints.add(bits, step), bits)
        wrong = floats.test("olt", F32, error, "zeroinitializer")
        return ints.select(wrong, ints.sub(bits, step), bits)

    def number(self, ref: str) -> Val:
        """Bits of floats none of which is NaN."""
        value = self.floats.bits32(ref)
        self.floats.singles[value] = ref
        return value
