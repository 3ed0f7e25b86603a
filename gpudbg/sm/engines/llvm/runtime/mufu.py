"""MUFU as LLVM IR, with the bits of `gpudbg.sm.engines.mufu`: bodies of library functions."""

from __future__ import annotations

from gpudbg.sm.engines import mufu as tables
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.floats import (
    F32,
    F64,
    I32,
    I64,
    INF32,
    NAN32,
    SIGN32,
    Floats,
    number,
)
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.values import Num, Val, Values
from gpudbg.sm.engines.llvm.runtime.mufu_steps import MufuSteps

_QUICK = ("EX2", "LG2", "SIN", "COS")


class MufuBodies:
    """The steps of `gpudbg.sm.engines.mufu`."""

    def __init__(self, ir: Builder, values: Values, ints: Integers, floats: Floats) -> None:
        self.ir, self.values, self.ints, self.floats = ir, values, ints, floats
        self._steps = MufuSteps(ir, values, ints, floats)

    def mufu(self, a: Num, function: str) -> Num:
        ir = self.ir
        if function.endswith("64H"):
            return self._high_word(a, function[:3])
        operand = self.floats.ftz(a)
        if function == "TANH":
            small = self.ints.ult(self.floats.and_(a, NAN32), int(tables.TANH_IS_X))
            return self.ints.select(small, a, self._defined(operand, function))
        if function not in _QUICK:
            return self._defined(operand, function)
        quick, odd = getattr(self._steps, function.lower())(operand)
        first, long, late, done = (ir.fresh(hint) for hint in ("first", "long", "late", "done"))
        result = self.values.bare(quick, 32)
        bits = self.values.mask_bits(odd)
        ir.br(first)
        ir.label(first)
        ir.choose(ir.op(f"icmp eq i32 {bits}, 0"), done, long)
        ir.label(long)
        other = self.values.bare(self._defined(operand, function), 32)
        ir.br(late)
        ir.label(late)
        ir.br(done)
        ir.label(done)
        return Val(32, ir.op(f"phi {I32} [ {result}, %{first} ], [ {other}, %{late} ]"))

    def _horner(self, coefficients: tuple[float, ...], x: str) -> str:
        total = number(coefficients[-1])
        for c in coefficients[-2::-1]:
            scaled = self.ir.op(f"fmul {F64} {total}, {x}")
            total = self.ir.op(f"fadd {F64} {scaled}, {number(c)}")
        return total

    def _narrowed(self, value: str) -> Num:
        """To f32, NaN canonical, subnormal results to zero of the same sign."""
        narrow = self.ir.op(f"fptrunc {F64} {value} to {F32}")
        nan = self.floats.test("uno", F32, narrow, narrow)
        return self.ints.select(nan, NAN32, self.floats.ftz(self.floats.bits32(narrow)))

    def _defined(self, operand: Num, function: str) -> Num:
        return self._narrowed(getattr(self, f"_{function.lower()}")(operand))

    def _root(self, value: str) -> str:
        return self.ir.op(f"call {F64} @llvm.sqrt.v32f64({F64} {value})")

    def _rsq(self, a: Num) -> str:
        return self.ir.op(f"fdiv {F64} {number(1.0)}, {self._root(self.floats.wider(a))}")

    def _lg2(self, a: Num) -> str:
        ir, ints, floats = self.ir, self.ints, self.floats
        exponent = ints.wsub(ints.zext(ints.shr(a, 23)), 126)
        m = floats.wider(ints.or_(floats.and_(a, 0x007FFFFF), 0x3F000000))
        low = floats.test("olt", F64, m, number(tables.SQRT_HALF))
        m = floats.pick(low, F64, ir.op(f"fadd {F64} {m}, {m}"), m)
        exponent = ints.wselect(low, ints.wsub(exponent, 1), exponent)
        e = ir.op(f"sitofp {self.values.whole(exponent, 64)} to {F64}")
        up = ir.op(f"fsub {F64} {m}, {number(1.0)}")
        down = ir.op(f"fadd {F64} {m}, {number(1.0)}")
        s = ir.op(f"fdiv {F64} {up}, {down}")
        tail = self._horner(tables.LG2_POLYNOMIAL, ir.op(f"fmul {F64} {s}, {s}"))
        result = ir.op(f"fadd {F64} {e}, {ir.op(f'fmul {F64} {s}, {tail}')}")
        value = floats.wider(a)
        infinite = floats.test("oeq", F64, value, number(float("inf")))
        result = floats.pick(infinite, F64, number(float("inf")), result)
        zero = floats.test("oeq", F64, value, "zeroinitializer")
        result = floats.pick(zero, F64, number(float("-inf")), result)
        bad = floats.test("ult", F64, value, "zeroinitializer")
        return floats.pick(bad, F64, number(float("nan")), result)

    def _ex2(self, a: Num) -> str:
        floats = self.floats
        value = floats.wider(a)
        for how, limit in (("olt", -200.0), ("ogt", 200.0)):
            beyond = floats.test(how, F64, value, number(limit))
            value = floats.pick(beyond, F64, number(limit), value)
        return self._power(value)

    def _power(self, value: str) -> str:
        """2 to the power of doubles."""
        ir, floats = self.ir, self.floats
        whole = ir.op(f"call {F64} @llvm.roundeven.v32f64({F64} {value})")
        fraction = ir.op(f"fsub {F64} {value}, {whole}")
        mantissa = self._horner(tables.EX2_POLYNOMIAL, fraction)
        nan = floats.test("uno", F64, whole, whole)
        power = ir.op(f"fptosi {F64} {floats.pick(nan, F64, 'zeroinitializer', whole)} to {I64}")
        scale = floats.f64(self.ints.wshl(self.ints.wadd(Val(64, power), 1023), 52))
        return ir.op(f"fmul {F64} {mantissa}, {scale}")

    def _tanh(self, a: Num) -> str:
        ir, floats = self.ir, self.floats
        size = floats.wider(floats.and_(a, NAN32))
        power = ir.op(f"fmul {F64} {size}, {number(tables.TWO_LOG2_E)}")
        beyond = floats.test("ogt", F64, power, number(tables.TANH_MOST))
        raised = self._power(floats.pick(beyond, F64, number(tables.TANH_MOST), power))
        less = ir.op(f"fsub {F64} {raised}, {number(1.0)}")
        more = ir.op(f"fadd {F64} {raised}, {number(1.0)}")
        result = ir.op(f"fdiv {F64} {less}, {more}")
        negated = ir.op(f"fneg {F64} {result}")
        minus = self.ints.mnot(self.ints.eq(self.ints.shr(a, 31), 0))
        return floats.pick(minus, F64, negated, result)

    def _sin_turns(self, a: Num) -> str:
        return self._of_turns(a, 0)

    def _cos_turns(self, a: Num) -> str:
        return self._of_turns(a, 1)

    def _of_turns(self, a: Num, quarter: int) -> str:
        ir, ints, floats = self.ir, self.ints, self.floats
        turns = floats.wider(a)
        finite = ints.ult(floats.and_(a, NAN32), INF32)
        known = floats.pick(finite, F64, turns, "zeroinitializer")
        four = ir.op(f"fmul {F64} {known}, {number(4.0)}")
        quadrant = ir.op(f"call {F64} @llvm.roundeven.v32f64({F64} {four})")
        part = ir.op(f"fmul {F64} {quadrant}, {number(0.25)}")
        rest = ir.op(f"fsub {F64} {turns}, {part}")
        square = ir.op(f"fmul {F64} {rest}, {rest}")
        below = ir.op(f"call {F64} @llvm.floor.v32f64({F64} {part})")
        wholes = ir.op(f"fmul {F64} {below}, {number(4.0)}")
        number_ = ir.op(f"fptosi {F64} {ir.op(f'fsub {F64} {quadrant}, {wholes}')} to {I64}")
        place = ints.wadd(Val(64, number_), quarter)
        odd = ints.mnot(ints.weq(floats.wand(place, 1), 0))
        cosine = self._horner(tables.COS_POLYNOMIAL, square)
        sine = ir.op(f"fmul {F64} {rest}, {self._horner(tables.SIN_POLYNOMIAL, square)}")
        result = floats.pick(odd, F64, cosine, sine)
        minus = ints.mnot(ints.weq(floats.wand(place, 2), 0))
        result = floats.pick(minus, F64, ir.op(f"fneg {F64} {result}"), result)
        if not quarter:
            zero = floats.test("oeq", F64, turns, "zeroinitializer")
            result = floats.pick(zero, F64, turns, result)
        return floats.pick(finite, F64, result, number(float("nan")))

    def _table(self, name: str, index: Num) -> Num:
        """64-bit table entries by lane."""
        places = self.ir.op(
            f"getelementptr i64, ptr @{name}, {self.values.whole(self.ints.zext(index), 64)}"
        )
        pointers = "<32 x ptr>"
        return Val(
            64,
            self.ir.op(
                f"call {I64} @llvm.masked.gather.v32i64.v32p0({pointers} align 8 {places}, "
                f"<32 x i1> splat (i1 true), {I64} zeroinitializer)"
            ),
        )

    def _circle(self, a: Num, quarter: int) -> str:
        ir, ints, floats = self.ir, self.ints, self.floats
        size = floats.and_(a, NAN32)
        exponent = ints.shr(size, 23)
        unit = ints.zext(ints.or_(floats.and_(size, 0x007FFFFF), 0x00800000))
        low = ints.wshr(ints.wmul(unit, self._table("turn_low", exponent)), 32)
        fraction = ints.wadd(ints.wmul(unit, self._table("turn_high", exponent)), low)
        quadrant = ints.wshr(ints.wadd(fraction, 1 << 61), 62)
        left = ints.wsub(fraction, ints.wshl(quadrant, 62))
        rest = ir.op(f"sitofp {self.values.whole(left, 64)} to {F64}")
        rest = ir.op(f"fmul {F64} {rest}, {number(2.0**-64)}")
        small = ints.ult(size, 0x3F000000)
        direct = ir.op(f"fmul {F64} {floats.wider(size)}, {number(tables.INV_TWO_PI)}")
        turns = floats.pick(small, F64, direct, rest)
        quadrant = ints.wadd(ints.wselect(small, 0, quadrant), quarter)
        square = ir.op(f"fmul {F64} {turns}, {turns}")
        odd = ints.mnot(ints.weq(floats.wand(quadrant, 1), 0))
        cosine = self._horner(tables.COS_POLYNOMIAL, square)
        sine = ir.op(f"fmul {F64} {turns}, {self._horner(tables.SIN_POLYNOMIAL, square)}")
        result = floats.pick(odd, F64, cosine, sine)
        minus = ints.mnot(ints.weq(floats.wand(quadrant, 2), 0))
        result = floats.pick(minus, F64, ir.op(f"fneg {F64} {result}"), result)
        return floats.pick(ints.mnot(ints.ult(size, INF32)), F64, number(float("nan")), result)

    def _sin(self, a: Num) -> str:
        result = self._circle(a, 0)
        return self.floats.pick(
            self.ints.bit(a, 31), F64, self.ir.op(f"fneg {F64} {result}"), result
        )

    def _cos(self, a: Num) -> str:
        return self._circle(a, 1)

    def _high_word(self, a: Num, function: str) -> Num:
        ints, floats = self.ints, self.floats
        kept = ints.select(ints.eq(floats.and_(a, 0x7FF00000), 0), floats.and_(a, SIGN32), a)
        value = floats.f64(ints.wide(0, kept))
        if function == "RSQ":
            value = self._root(value)
        result = self.ir.op(f"fdiv {F64} {number(1.0)}, {value}")
        high = ints.hi(ints.wadd(floats.bits64(result), 0x80000000))
        high = ints.select(
            ints.eq(floats.and_(high, 0x7FF00000), 0),
            floats.and_(high, SIGN32),
            high,
        )
        return ints.select(floats.test("uno", F64, result, result), NAN32, high)
