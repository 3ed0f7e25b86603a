"""Floating-point operations that are functions of the library, by their definition."""

from __future__ import annotations

from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.floats import (
    F32,
    F64,
    I64,
    INF32,
    INF64,
    MAGNITUDE64,
    NAN32,
    NAN64,
    QUIET64,
    ROUND,
    SIGN32,
    SIGN64,
    Floats,
    number,
)
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.values import FULL, Mask, Num, Val, Values
from gpudbg.sm.engines.llvm.runtime import directed


class FloatBodies:
    """Bodies of functions: directed rounding, doubles, halves, conversions."""

    def __init__(self, ir: Builder, values: Values, ints: Integers, floats: Floats) -> None:
        self.ir, self.values, self.ints, self.floats = ir, values, ints, floats

    def odd_sum(self, a: str, b: str, rnd: str) -> str:
        """a + b rounded to odd; an exact zero has the sign that `rnd` gives it."""
        ir, ints, floats = self.ir, self.ints, self.floats
        total = ir.op(f"fadd {F64} {a}, {b}")
        back = ir.op(f"fsub {F64} {total}, {a}")
        part = ir.op(f"fsub {F64} {total}, {back}")
        left = ir.op(f"fsub {F64} {a}, {part}")
        right = ir.op(f"fsub {F64} {b}, {back}")
        error = ir.op(f"fadd {F64} {left}, {right}")
        bits = floats.bits64(total)
        zero = "zeroinitializer"
        more, less = floats.test("ogt", F64, error, zero), floats.test("olt", F64, error, zero)
        even = ints.weq(floats.wand(bits, 1), 0)
        inexact = ints.mand(ints.mor(more, less), even)
        away = ints.mnot(ints.mxor(more, floats.test("ogt", F64, total, zero)))
        moved = ints.wselect(away, ints.wadd(bits, 1), ints.wsub(bits, 1))
        odd = ints.wselect(inexact, moved, bits)
        if rnd == "RM":
            signs = floats.wxor(floats.bits64(a), floats.bits64(b))
            opposite = ints.wslt(signs, 0)
            cancelled = ints.mand(floats.test("oeq", F64, total, zero), opposite)
            odd = ints.wselect(cancelled, SIGN64, odd)
        return floats.f64(odd)

    def to_single(self, value: str, rnd: str, flush: bool = False) -> Num:
        """Doubles rounded to f32."""
        narrow = self.ir.op(f"fptrunc {F64} {value} to {F32}")
        bits: Num = self.floats.bits32(narrow)
        if rnd != "RN":
            bits = self._to_neighbour(bits, narrow, value, rnd)
        nan = self.floats.test("uno", F32, narrow, narrow)
        bits = self.ints.select(nan, NAN32, bits)
        return self._flushed(bits, value, rnd) if flush else bits

    def _to_neighbour(self, bits: Num, narrow: str, value: str, rnd: str) -> Num:
        """The nearest f32 moved to the neighbour that the rounding asks for."""
        ints, floats = self.ints, self.floats
        back = self.ir.op(f"fpext {F32} {narrow} to {F64}")
        above, below = floats.test("ogt", F64, back, value), floats.test("olt", F64, back, value)
        negative = ints.bit(bits, 31)
        zero = ints.eq(floats.and_(bits, NAN32), 0)
        toward_zero = ints.sub(bits, 1)
        away = ints.add(bits, 1)
        if rnd == "RZ":
            positive = floats.test("ogt", F64, value, "zeroinitializer")
            minus = floats.test("olt", F64, value, "zeroinitializer")
            wrong = ints.mor(ints.mand(above, positive), ints.mand(below, minus))
            return ints.select(wrong, toward_zero, bits)
        if rnd == "RM":
            down = ints.select(zero, SIGN32 | 1, ints.select(negative, away, toward_zero))
            return ints.select(above, down, bits)
        up = ints.select(zero, 1, ints.select(negative, toward_zero, away))
        return ints.select(below, up, bits)

    def _flushed(self, bits: Num, value: str, rnd: str) -> Num:
        """Flush results that are tiny after rounding; see `numeric._flushed`."""
        floats = self.floats
        size = floats.f64(floats.wand(floats.bits64(value), MAGNITUDE64))
        least = number(2.0**-126)
        if rnd == "RN":
            tiny: Mask = floats.test("olt", F64, size, number(2.0**-126 - 2.0**-151))
        elif rnd == "RZ":
            tiny = floats.test("olt", F64, size, least)
        else:
            away: Mask = floats.test("ogt", F64, value, "zeroinitializer")
            if rnd != "RP":
                away = self.ints.mnot(away)
            wide = floats.test("ole", F64, size, number(2.0**-126 - 2.0**-150))
            tiny = self.ints.mselect(away, wide, floats.test("olt", F64, size, least))
        return self.ints.select(tiny, floats.and_(bits, SIGN32), bits)

    def fadd(self, a: Num, b: Num, rnd: str) -> Num:
        return self.to_single(self.odd_sum(self.floats.wider(a), self.floats.wider(b), rnd), rnd)

    def fmul(self, a: Num, b: Num, rnd: str, flush: bool) -> Num:
        product = self.ir.op(f"fmul {F64} {self.floats.wider(a)}, {self.floats.wider(b)}")
        return self.to_single(product, rnd, flush)

    def ffma(self, a: Num, b: Num, c: Num, rnd: str, flush: bool) -> Num:
        product = self.ir.op(f"fmul {F64} {self.floats.wider(a)}, {self.floats.wider(b)}")
        return self.to_single(self.odd_sum(product, self.floats.wider(c), rnd), rnd, flush)

    def double_bits(self, result: str, *operands: str) -> Num:
        """Bits; a NaN is the first NaN operand (b, c, a) quieted, else the machine's own."""
        ints, floats = self.ints, self.floats
        nan = floats.test("uno", F64, result, result)
        payload: Num = NAN64
        for operand in reversed(operands):
            quiet = ints.wor(floats.bits64(operand), QUIET64)
            payload = ints.wselect(floats.test("uno", F64, operand, operand), quiet, payload)
        return ints.wselect(nan, payload, floats.bits64(result))

    def dadd(self, a: Num, b: Num) -> Num:
        x, y = self.floats.f64(a), self.floats.f64(b)
        return self.double_bits(self.ir.op(f"fadd {F64} {x}, {y}"), y, x)

    def dmul(self, a: Num, b: Num) -> Num:
        x, y = self.floats.f64(a), self.floats.f64(b)
        return self.double_bits(self.ir.op(f"fmul {F64} {x}, {y}"), y, x)

    def dfma(self, a: Num, b: Num, c: Num) -> Num:
        x, y, z = self.floats.f64(a), self.floats.f64(b), self.floats.f64(c)
        fused = self.ir.op(f"call {F64} @llvm.fma.v32f64({F64} {x}, {F64} {y}, {F64} {z})")
        return self.double_bits(fused, y, z, x)

    def directed(self, *values: Num, operation: str, rnd: str) -> Num:
        given = [self.floats.f64(value) for value in values]
        return self.double_bits(self._under_mode(operation, rnd, *given), *given[1:], given[0])

    def _under_mode(self, operation: str, rnd: str, *given: str) -> str:
        """One operation on doubles under another rounding mode."""
        listed = ", ".join(f"{F64} {value}" for value in given)
        return self.ir.op(f"call {F64} @{directed.symbol(operation, rnd)}({listed})")

    def dround(self, a: Num, mode: str) -> Num:
        x = self.floats.f64(a)
        return self.double_bits(self.ir.op(f"call {F64} @llvm.{ROUND[mode]}.v32f64({F64} {x})"), x)

    def f32_to_f64(self, a: Num) -> Num:
        ints, floats = self.ints, self.floats
        wide = floats.bits64(floats.wider(a))
        nan = ints.ult(INF32, floats.and_(a, NAN32))
        high = ints.zext(a)
        sign = ints.wshl(floats.wand(high, SIGN32), 32)
        payload = ints.wshl(floats.wand(high, 0x007FFFFF), 29)
        quiet = ints.wor(ints.wor(sign, payload), INF64 | QUIET64)
        return ints.wselect(nan, quiet, wide)

    def f64_to_f32(self, a: Num, rnd: str, flush: bool) -> Num:
        return self.to_single(self.floats.f64(a), rnd, flush)

    def f16_to_f64(self, a: Num) -> Num:
        """Exact: the f16 moved into an f32 is the value times 2**-112."""
        ints, floats = self.ints, self.floats
        half = floats.and_(a, 0xFFFF)
        size = ints.shl(floats.and_(half, 0x7FFF), 13)
        scale = "splat (float 0x46F0000000000000)"
        scaled = floats.bits32(self.ir.op(f"fmul {F32} {floats.f32(size)}, {scale}"))
        special = ints.ult(0x0F7FFFFF, size)
        single = ints.select(special, ints.or_(size, INF32), scaled)
        single = ints.or_(single, ints.shl(floats.and_(half, 0x8000), 16))
        wide = floats.bits64(floats.wider(single))
        nan = ints.ult(0x0F800000, size)
        return ints.wselect(nan, ints.wor(wide, QUIET64), wide)

    def f64_to_f16(self, a: Num, rnd: str) -> Num:
        """A multiple of the result's last place is exact in f64 and in f32."""
        ir, ints, floats = self.ir, self.ints, self.floats
        value = floats.f64(a)
        size = floats.wand(a, MAGNITUDE64)
        exponent = floats.wand(size, INF64)
        least = (1023 - 14) << 52
        exponent = ints.wselect(ints.wult(exponent, least), least, exponent)
        unit = floats.f64(ints.wsub(exponent, 10 << 52))
        inverse = floats.f64(ints.wsub(2046 << 52, ints.wsub(exponent, 10 << 52)))
        scaled = ir.op(f"fmul {F64} {floats.f64(size)}, {inverse}")
        how = {"RN": "roundeven", "RZ": "trunc"}[rnd]
        whole = ir.op(f"call {F64} @llvm.{how}.v32f64({F64} {scaled})")
        exact = ir.op(f"fmul {F64} {whole}, {unit}")
        narrow = ir.op(f"fptrunc {F64} {exact} to {F32}")
        lowered = ir.op(f"fmul {F32} {narrow}, splat (float 0x38F0000000000000)")
        half = ints.shr(floats.bits32(lowered), 13)
        if rnd == "RN":
            large = ints.mnot(ints.wult(size, (1023 + 15) << 52 | 0xFFE0 << 36))
        else:
            half = ints.select(ints.wult(size, (1023 + 16) << 52), half, 0x7BFF)
            large = ints.weq(size, INF64)
        half = ints.select(large, 0x7C00, half)
        half = ints.or_(half, floats.and_(ints.shr(ints.hi(a), 16), 0x8000))
        return ints.select(floats.test("uno", F64, value, value), 0x7FFF, half)

    def int_to_f64(self, a: Num, signed: bool) -> Num:
        return self.floats.bits64(
            self.ir.op(f"{'s' if signed else 'u'}itofp {self.values.whole(a, 64)} to {F64}")
        )

    def int_to_f64_directed(self, a: Num, signed: bool, rnd: str) -> Num:
        """Both halves are exact; their sum rounds once."""
        high = self.ints.wsar(a, 32) if signed else self.ints.wshr(a, 32)
        top = self.ir.op(f"sitofp {self.values.whole(high, 64)} to {F64}")
        top = self.ir.op(f"fmul {F64} {top}, {number(2.0**32)}")
        low = self.ir.op(f"sitofp {self.values.whole(self.floats.wand(a, FULL), 64)} to {F64}")
        return self.floats.bits64(self._under_mode("fadd", rnd, top, low))

    def int_to_f32(self, a: Num, signed: bool, rnd: str) -> Num:
        high = self.ints.wsar(a, 32) if signed else self.ints.wshr(a, 32)
        top = self.ir.op(f"sitofp {self.values.whole(high, 64)} to {F64}")
        top = self.ir.op(f"fmul {F64} {top}, {number(2.0**32)}")
        low = self.ir.op(f"sitofp {self.values.whole(self.floats.wand(a, FULL), 64)} to {F64}")
        return self.to_single(self.odd_sum(top, low, "RN"), rnd)

    def f64_to_int(self, a: Num, signed: bool, bits: int) -> Num:
        ints, floats = self.ints, self.floats
        value = floats.f64(a)
        low = -(2 ** (bits - 1)) if signed else 0
        high = 2 ** (bits - 1) - 1 if signed else 2**bits - 1
        too_low = floats.test("ole", F64, value, number(float(low)))
        too_high = floats.test("oge", F64, value, number(float(high)))
        nan = floats.test("uno", F64, value, value)
        out = ints.mor(ints.mor(too_low, too_high), nan)
        inside = floats.pick(out, F64, "zeroinitializer", value)
        how = "fptosi" if signed else "fptoui"
        result: Num = Val(64, self.ir.op(f"{how} {F64} {inside} to {I64}"))
        return ints.wselect(too_high, high, ints.wselect(too_low, low, result))
