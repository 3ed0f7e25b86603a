"""MUFU as LLVM IR, with the bits of `gpudbg.sm.engines.mufu`: bodies of library functions."""

from __future__ import annotations

from gpudbg.sm.engines import mufu as tables
from gpudbg.sm.engines.llvm.floats import (
    F32,
    F64,
    I32,
    I64,
    INF32,
    NAN32,
    SIGN32,
    number,
)
from gpudbg.sm.engines.llvm.lanes import Num, Val
from gpudbg.sm.engines.llvm.mufu_steps import MufuSteps

_QUICK = ("EX2", "LG2", "SIN", "COS")


class MufuBodies(MufuSteps):
    """The steps of `gpudbg.sm.engines.mufu`; the library inherits them."""

    def _horner(self, coefficients: tuple[float, ...], x: str) -> str:
        total = number(coefficients[-1])
        for c in coefficients[-2::-1]:
            scaled = self.op(f"fmul {F64} {total}, {x}")
            total = self.op(f"fadd {F64} {scaled}, {number(c)}")
        return total

    def _narrowed(self, value: str) -> Num:
        """To f32, NaN canonical, subnormal results to zero of the same sign."""
        narrow = self.op(f"fptrunc {F64} {value} to {F32}")
        nan = self.test("uno", F32, narrow, narrow)
        return self.select(nan, NAN32, self.ftz(self.bits32(narrow)))

    def body_mufu(self, a: Num, function: str) -> Num:
        if function.endswith("64H"):
            return self._high_word(a, function[:3])
        operand = self.ftz(a)
        if function not in _QUICK:
            return self._defined(operand, function)
        quick, odd = getattr(self, f"steps_{function.lower()}")(operand)
        first, long, late, done = (self.fresh(hint) for hint in ("first", "long", "late", "done"))
        result = self.bare(quick, 32)
        bits = self.mask_bits(odd)
        self.br(first)
        self.label(first)
        self.choose(self.op(f"icmp eq i32 {bits}, 0"), done, long)
        self.label(long)
        other = self.bare(self._defined(operand, function), 32)
        self.br(late)
        self.label(late)
        self.br(done)
        self.label(done)
        return Val(32, self.op(f"phi {I32} [ {result}, %{first} ], [ {other}, %{late} ]"))

    def _defined(self, operand: Num, function: str) -> Num:
        return self._narrowed(getattr(self, f"_{function.lower()}")(operand))

    def _root(self, value: str) -> str:
        return self.op(f"call {F64} @llvm.sqrt.v32f64({F64} {value})")

    def _rsq(self, a: Num) -> str:
        return self.op(f"fdiv {F64} {number(1.0)}, {self._root(self.wider(a))}")

    def _lg2(self, a: Num) -> str:
        exponent = self.wsub(self.zext(self.shr(a, 23)), 126)
        m = self.wider(self.or_(self.and_(a, 0x007FFFFF), 0x3F000000))
        low = self.test("olt", F64, m, number(tables.SQRT_HALF))
        m = self.pick(low, F64, self.op(f"fadd {F64} {m}, {m}"), m)
        exponent = self.wselect(low, self.wsub(exponent, 1), exponent)
        e = self.op(f"sitofp {self.whole(exponent, 64)} to {F64}")
        up = self.op(f"fsub {F64} {m}, {number(1.0)}")
        down = self.op(f"fadd {F64} {m}, {number(1.0)}")
        s = self.op(f"fdiv {F64} {up}, {down}")
        tail = self._horner(tables.LG2_POLYNOMIAL, self.op(f"fmul {F64} {s}, {s}"))
        result = self.op(f"fadd {F64} {e}, {self.op(f'fmul {F64} {s}, {tail}')}")
        value = self.wider(a)
        infinite = self.test("oeq", F64, value, number(float("inf")))
        result = self.pick(infinite, F64, number(float("inf")), result)
        zero = self.test("oeq", F64, value, "zeroinitializer")
        result = self.pick(zero, F64, number(float("-inf")), result)
        bad = self.test("ult", F64, value, "zeroinitializer")
        return self.pick(bad, F64, number(float("nan")), result)

    def _ex2(self, a: Num) -> str:
        value = self.wider(a)
        for how, limit in (("olt", -200.0), ("ogt", 200.0)):
            beyond = self.test(how, F64, value, number(limit))
            value = self.pick(beyond, F64, number(limit), value)
        whole = self.op(f"call {F64} @llvm.roundeven.v32f64({F64} {value})")
        fraction = self.op(f"fsub {F64} {value}, {whole}")
        mantissa = self._horner(tables.EX2_POLYNOMIAL, fraction)
        nan = self.test("uno", F64, whole, whole)
        power = self.op(f"fptosi {F64} {self.pick(nan, F64, 'zeroinitializer', whole)} to {I64}")
        scale = self.f64(self.wshl(self.wadd(Val(64, power), 1023), 52))
        return self.op(f"fmul {F64} {mantissa}, {scale}")

    def _table(self, name: str, index: Num) -> Num:
        """64-bit table entries by lane."""
        places = self.op(f"getelementptr i64, ptr @{name}, {self.whole(self.zext(index), 64)}")
        pointers = "<32 x ptr>"
        return Val(
            64,
            self.op(
                f"call {I64} @llvm.masked.gather.v32i64.v32p0({pointers} align 8 {places}, "
                f"<32 x i1> splat (i1 true), {I64} zeroinitializer)"
            ),
        )

    def _circle(self, a: Num, quarter: int) -> str:
        size = self.and_(a, NAN32)
        exponent = self.shr(size, 23)
        unit = self.zext(self.or_(self.and_(size, 0x007FFFFF), 0x00800000))
        low = self.wshr(self.wmul(unit, self._table("turn_low", exponent)), 32)
        fraction = self.wadd(self.wmul(unit, self._table("turn_high", exponent)), low)
        quadrant = self.wshr(self.wadd(fraction, 1 << 61), 62)
        left = self.wsub(fraction, self.wshl(quadrant, 62))
        rest = self.op(f"sitofp {self.whole(left, 64)} to {F64}")
        rest = self.op(f"fmul {F64} {rest}, {number(2.0**-64)}")
        small = self.ult(size, 0x3F000000)
        direct = self.op(f"fmul {F64} {self.wider(size)}, {number(tables.INV_TWO_PI)}")
        turns = self.pick(small, F64, direct, rest)
        quadrant = self.wadd(self.wselect(small, 0, quadrant), quarter)
        square = self.op(f"fmul {F64} {turns}, {turns}")
        odd = self.mnot(self.weq(self.wand(quadrant, 1), 0))
        cosine = self._horner(tables.COS_POLYNOMIAL, square)
        sine = self.op(f"fmul {F64} {turns}, {self._horner(tables.SIN_POLYNOMIAL, square)}")
        result = self.pick(odd, F64, cosine, sine)
        minus = self.mnot(self.weq(self.wand(quadrant, 2), 0))
        result = self.pick(minus, F64, self.op(f"fneg {F64} {result}"), result)
        return self.pick(self.mnot(self.ult(size, INF32)), F64, number(float("nan")), result)

    def _sin(self, a: Num) -> str:
        result = self._circle(a, 0)
        return self.pick(self.bit(a, 31), F64, self.op(f"fneg {F64} {result}"), result)

    def _cos(self, a: Num) -> str:
        return self._circle(a, 1)

    def _high_word(self, a: Num, function: str) -> Num:
        kept = self.select(self.eq(self.and_(a, 0x7FF00000), 0), self.and_(a, SIGN32), a)
        value = self.f64(self.wide(0, kept))
        if function == "RSQ":
            value = self._root(value)
        result = self.op(f"fdiv {F64} {number(1.0)}, {value}")
        high = self.hi(self.wadd(self.bits64(result), 0x80000000))
        high = self.select(self.eq(self.and_(high, 0x7FF00000), 0), self.and_(high, SIGN32), high)
        return self.select(self.test("uno", F64, result, result), NAN32, high)
