"""Floating point of the machine interface as LLVM IR, with the bits of `gpudbg.sm.engines.numeric`.

Short operations are emitted where they are used.  Long ones (directed rounding, doubles, halves,
conversions, MUFU) are functions of the library, which has one function for each row of
`OUTLINED`; `FloatBodies` and `mufu` emit their bodies, `FloatOps` calls.  No math library and
no fast-math flag takes part, so results do not depend on the host.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from gpudbg.sm.engines.llvm import directed
from gpudbg.sm.engines.llvm.lanes import FULL, LaneOps, Mask, Msk, Num, Slow, Val
from gpudbg.sm.engines.llvm.text import splat

F32 = "<32 x float>"
F64 = "<32 x double>"
I32 = "<32 x i32>"
I64 = "<32 x i64>"

NAN32 = 0x7FFFFFFF
SIGN32 = 0x80000000
INF32 = 0x7F800000
MIN_NORMAL = 0x00800000
NAN64 = 0xFFF8_0000_0000_0000
QUIET64 = 0x0008_0000_0000_0000
INF64 = 0x7FF0_0000_0000_0000
SIGN64 = 0x8000_0000_0000_0000
MAGNITUDE64 = 0x7FFF_FFFF_FFFF_FFFF

_NAN = "0x7FFFFFFFE0000000"
"""`NAN32` as IR writes it: as a double."""
_LIFT = 2.0**64
_UNLESS_NAN = 0x11111100
"""VFIXUPIMMPS: the operand, unless it is a quiet or signalling NaN (the two low digits)."""

ROUND = {"RN": "roundeven", "RM": "floor", "RP": "ceil", "RZ": "trunc"}


def number(value: float) -> str:
    """A double constant in all lanes."""
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    return f"splat (double 0x{bits:016X})"


def places(first: int, count: int) -> str:
    """A shuffle mask of lanes next to one another."""
    return f"<{count} x i32> <{', '.join(f'i32 {first + n}' for n in range(count))}>"


class FloatOps(LaneOps):
    """Floating-point operations; the emitter and the library inherit them.

    Attributes:
        wide_vectors: the host has AVX-512.
    """

    wide_vectors: bool = False

    def __init__(self) -> None:
        super().__init__()
        self._normal: set[str] = set()
        self._canonical: set[str] = set()

    def outlined(self, name: str, operands: tuple[Num, ...]) -> Val:
        """The result of a library function."""
        raise NotImplementedError

    # ---- forms -------------------------------------------------------------------------

    def f32(self, a: Num) -> str:
        """A Value as floats; its NaNs need not be canonical."""
        if isinstance(a, Val) and a.single:
            return a.single
        return self.op(f"bitcast {self.whole(a, 32)} to {F32}")

    def loose(self, a: Num) -> Num:
        """A Value whose NaNs need not be canonical."""
        return self.bits32(a.single) if isinstance(a, Val) and a.single else a

    def f64(self, a: Num) -> str:
        """A Wide as doubles."""
        whole = self.whole(a, 64)
        if isinstance(a, Val) and a.double:
            return a.double
        return self.op(f"bitcast {whole} to {F64}")

    def wider(self, a: Num) -> str:
        return self.op(f"fpext {F32} {self.f32(a)} to {F64}")

    def bits32(self, ref: str) -> Val:
        return Val(32, self.op(f"bitcast {F32} {ref} to {I32}"))

    def bits64(self, ref: str) -> Val:
        value = Val(64, self.op(f"bitcast {F64} {ref} to {I64}"))
        value.double = ref
        return value

    def test(self, how: str, kind: str, a: str, b: str) -> Msk:
        """A floating-point compare."""
        return Msk(self.op(f"fcmp {how} {kind} {a}, {b}"))

    def pick(self, c: Mask, kind: str, a: str, b: str) -> str:
        """Floats chosen by a mask."""
        return self.op(f"select <32 x i1> {self.mask_lanes(c)}, {kind} {a}, {kind} {b}")

    def canonical(self, ref: str) -> Num:
        """Bits of f32 results with NaNs canonical, which costs nothing where nobody wants bits."""
        if self.wide_vectors:
            value: Num = self.bits32(self._numbers(ref))
        else:
            nan = self.test("uno", F32, ref, ref)
            value = self.select(nan, NAN32, self.bits32(ref))
        if isinstance(value, Val):
            value.single = ref
            self._canonical.add(value.ref)
        return value

    def is_canonical(self, a: Num) -> bool:
        """Whether a Value is its floats with NaNs canonical."""
        return isinstance(a, Val) and a.ref in self._canonical

    def _numbers(self, ref: str) -> str:
        """Floats with NaNs canonical, signalling ones too: the compiler may have left out the
        operation that makes them quiet, such as a product with 1."""
        kind, nan = "<16 x float>", f"<16 x float> splat (float {_NAN})"
        parts = []
        for half in range(2):
            part = self.op(f"shufflevector {F32} {ref}, {F32} poison, {places(16 * half, 16)}")
            listed = f"{nan}, {kind} {part}, <16 x i32> splat (i32 {_UNLESS_NAN})"
            how = f"@llvm.x86.avx512.mask.fixupimm.ps.512({listed}, i32 0, i16 -1, i32 4)"
            parts.append(self.op(f"call {kind} {how}"))
        both = f"{kind} {parts[0]}, {kind} {parts[1]}"
        return self.op(f"shufflevector {both}, {places(0, 32)}")

    def xor(self, a: Num, b: Num) -> Num:
        result = super().xor(a, b)
        if isinstance(a, Val) and a.single and b == SIGN32 and isinstance(result, Val):
            result.single = self.op(f"fneg {F32} {a.single}")
        return self._as_normal(result, a) if b == SIGN32 else result

    def and_(self, a: Num, b: Num) -> Num:
        result = super().and_(a, b)
        if isinstance(a, Val) and a.single and b == NAN32 and isinstance(result, Val):
            size = f"call {F32} @llvm.fabs.v32f32({F32} {a.single})"
            result.single = self.op(size)
        return self._as_normal(result, a) if b == NAN32 else result

    def _as_normal(self, result: Num, a: Num) -> Num:
        """A value with another sign: no more subnormal than it was."""
        if isinstance(a, Val) and isinstance(result, Val) and a.ref in self._normal:
            self._normal.add(result.ref)
        return result

    def wxor(self, a: Num, b: Num) -> Num:
        if isinstance(a, Val) and not a.one and b == SIGN64:
            return self.bits64(self.op(f"fneg {F64} {self.f64(a)}"))
        return super().wxor(a, b)

    def wand(self, a: Num, b: Num) -> Num:
        if isinstance(a, Val) and not a.one and b == MAGNITUDE64:
            return self.bits64(self.op(f"call {F64} @llvm.fabs.v32f64({F64} {self.f64(a)})"))
        return super().wand(a, b)

    # ---- f32 ---------------------------------------------------------------------------

    def fadd(self, a: Num, b: Num, rnd: str = "RN") -> Num:
        if rnd != "RN":
            return self.outlined(f"fadd.{rnd}", (a, b))
        x, y = self.f32(a), self.f32(b)
        return self.canonical(self.op(f"fadd {F32} {x}, {y}"))

    def fmul(self, a: Num, b: Num, rnd: str = "RN", flush: bool = False) -> Num:
        if rnd != "RN":
            return self.outlined(f"fmul.{rnd}{'.FTZ' if flush else ''}", (a, b))
        x, y = self.f32(a), self.f32(b)
        product = self.op(f"fmul {F32} {x}, {y}")
        if not flush:
            return self.canonical(product)
        return self._without_tiny(product, self.op(f"fmul {F32} {self._lifted(x)}, {y}"))

    def ffma(self, a: Num, b: Num, c: Num, rnd: str = "RN", flush: bool = False) -> Num:
        if rnd != "RN":
            return self.outlined(f"ffma.{rnd}{'.FTZ' if flush else ''}", (a, b, c))
        x, y, z = self.f32(a), self.f32(b), self.f32(c)
        fused = self.fused(x, y, z)
        if not flush:
            return self.canonical(fused)
        return self._without_tiny(fused, self.fused(self._lifted(x), y, self._lifted(z)))

    def fused(self, x: str, y: str, z: str) -> str:
        """x * y + z of floats."""
        return self.op(f"call {F32} @llvm.fma.v32f32({F32} {x}, {F32} {y}, {F32} {z})")

    def _lifted(self, x: str) -> str:
        return self.op(f"fmul {F32} {x}, splat (float {float(_LIFT)!r})")

    def _without_tiny(self, result: str, lifted: str) -> Num:
        """Results that are tiny after rounding flushed; see `numeric._flushed`.

        What the operation gives when operands are `_LIFT` times as large has 24 bits where the
        result is subnormal, so it tells what was tiny.  Lifted operands that overflow give no
        small number: products of an operand from 2**64 on are multiples of 2**-108, and so is
        what is left of them by cancellation.
        """
        size = self.op(f"call {F32} @llvm.fabs.v32f32({F32} {lifted})")
        tiny = self.test("olt", F32, size, f"splat (float {_LIFT * 2.0**-126!r})")
        bits = self.bits32(result)
        value = self.canonical(self.f32(self.select(tiny, self.and_(bits, SIGN32), bits)))
        if isinstance(value, Val):
            self._normal.add(value.ref)
        return value

    def ftz(self, a: Num) -> Num:
        if isinstance(a, int):
            return a if a & INF32 else a & SIGN32
        if a.ref in self._normal:
            return a
        value = self._flushed_bits(self.loose(a))
        if a.single:
            ref = self.f32(value)
            if self.is_canonical(a):
                value = self.canonical(ref)
            else:
                # A NaN whose sign was changed keeps it; these bits cost nothing unless wanted.
                value = self._flushed_bits(a)
                if isinstance(value, Val):
                    value.single = ref
        if isinstance(value, Val):
            self._normal.add(value.ref)
        return value

    def _flushed_bits(self, bits: Num) -> Num:
        return self.select(self.eq(self.and_(bits, INF32), 0), self.and_(bits, SIGN32), bits)

    def flt(self, a: Num, b: Num) -> Mask:
        return self.test("olt", F32, self.f32(a), self.f32(b))

    def feq(self, a: Num, b: Num) -> Mask:
        return self.test("oeq", F32, self.f32(a), self.f32(b))

    def fnan(self, a: Num) -> Mask:
        x = self.f32(a)
        return self.test("uno", F32, x, x)

    def fround(self, a: Num, mode: str) -> Num:
        x = self.f32(a)
        return self.canonical(self.op(f"call {F32} @llvm.{ROUND[mode]}.v32f32({F32} {x})"))

    def mufu(self, function: str, a: Num) -> Num:
        return self.outlined(f"mufu.{function}", (a,))

    # ---- f64 ---------------------------------------------------------------------------

    def dadd(self, a: Num, b: Num, rnd: str = "RN") -> Num:
        return self.outlined(f"dadd.{rnd}", (a, b))

    def dmul(self, a: Num, b: Num, rnd: str = "RN") -> Num:
        return self.outlined(f"dmul.{rnd}", (a, b))

    def dfma(self, a: Num, b: Num, c: Num, rnd: str = "RN") -> Num:
        return self.outlined(f"dfma.{rnd}", (a, b, c))

    def dlt(self, a: Num, b: Num) -> Mask:
        return self.test("olt", F64, self.f64(a), self.f64(b))

    def deq(self, a: Num, b: Num) -> Mask:
        return self.test("oeq", F64, self.f64(a), self.f64(b))

    def dnan(self, a: Num) -> Mask:
        x = self.f64(a)
        return self.test("uno", F64, x, x)

    def dround(self, a: Num, mode: str) -> Num:
        return self.outlined(f"dround.{mode}", (a,))

    # ---- conversions -------------------------------------------------------------------

    def f32_to_f64(self, a: Num) -> Num:
        return self.outlined("f32_to_f64", (a,))

    def f64_to_f32(self, a: Num, rnd: str, flush: bool = False) -> Num:
        return self.outlined(f"f64_to_f32.{rnd}{'.FTZ' if flush else ''}", (a,))

    def f16_to_f64(self, a: Num) -> Num:
        return self.outlined("f16_to_f64", (a,))

    def f64_to_f16(self, a: Num, rnd: str) -> Num:
        return self.outlined(f"f64_to_f16.{rnd}", (a,))

    def int_to_f64(self, a: Num, signed: bool, rnd: str) -> Num:
        return self.outlined(f"int_to_f64.{'S' if signed else 'U'}.{rnd}", (a,))

    def int_to_f32(self, a: Num, signed: bool, rnd: str) -> Num:
        return self.outlined(f"int_to_f32.{'S' if signed else 'U'}.{rnd}", (a,))

    def f64_to_int(self, a: Num, signed: bool, bits: int) -> Num:
        return self.outlined(f"f64_to_int.{'S' if signed else 'U'}{bits}", (a,))


class FloatBodies(FloatOps):
    """The bodies of the outlined operations; the library inherits them."""

    # ---- rounding ----------------------------------------------------------------------

    def odd_sum(self, a: str, b: str, rnd: str) -> str:
        """a + b rounded to odd; an exact zero has the sign that `rnd` gives it."""
        total = self.op(f"fadd {F64} {a}, {b}")
        back = self.op(f"fsub {F64} {total}, {a}")
        part = self.op(f"fsub {F64} {total}, {back}")
        left = self.op(f"fsub {F64} {a}, {part}")
        right = self.op(f"fsub {F64} {b}, {back}")
        error = self.op(f"fadd {F64} {left}, {right}")
        bits = self.bits64(total)
        zero = "zeroinitializer"
        more, less = self.test("ogt", F64, error, zero), self.test("olt", F64, error, zero)
        even = self.weq(self.wand(bits, 1), 0)
        inexact = self.mand(self.mor(more, less), even)
        away = self.mnot(self.mxor(more, self.test("ogt", F64, total, zero)))
        moved = self.wselect(away, self.wadd(bits, 1), self.wsub(bits, 1))
        odd = self.wselect(inexact, moved, bits)
        if rnd == "RM":
            signs = self.wxor(self.bits64(a), self.bits64(b))
            opposite = self.wslt(signs, 0)
            cancelled = self.mand(self.test("oeq", F64, total, zero), opposite)
            odd = self.wselect(cancelled, SIGN64, odd)
        return self.f64(odd)

    def to_single(self, value: str, rnd: str, flush: bool = False) -> Num:
        """Doubles rounded to f32."""
        narrow = self.op(f"fptrunc {F64} {value} to {F32}")
        bits: Num = self.bits32(narrow)
        if rnd != "RN":
            bits = self._directed(bits, narrow, value, rnd)
        nan = self.test("uno", F32, narrow, narrow)
        bits = self.select(nan, NAN32, bits)
        return self._flushed(bits, value, rnd) if flush else bits

    def _directed(self, bits: Num, narrow: str, value: str, rnd: str) -> Num:
        """The nearest f32 moved to the neighbour that the rounding asks for."""
        back = self.op(f"fpext {F32} {narrow} to {F64}")
        above, below = self.test("ogt", F64, back, value), self.test("olt", F64, back, value)
        negative = self.bit(bits, 31)
        zero = self.eq(self.and_(bits, NAN32), 0)
        toward_zero = self.sub(bits, 1)
        away = self.add(bits, 1)
        if rnd == "RZ":
            positive = self.test("ogt", F64, value, "zeroinitializer")
            minus = self.test("olt", F64, value, "zeroinitializer")
            wrong = self.mor(self.mand(above, positive), self.mand(below, minus))
            return self.select(wrong, toward_zero, bits)
        if rnd == "RM":
            down = self.select(zero, SIGN32 | 1, self.select(negative, away, toward_zero))
            return self.select(above, down, bits)
        up = self.select(zero, 1, self.select(negative, toward_zero, away))
        return self.select(below, up, bits)

    def _flushed(self, bits: Num, value: str, rnd: str) -> Num:
        """Results that are tiny after rounding flushed; see `numeric._flushed`."""
        size = self.f64(self.wand(self.bits64(value), MAGNITUDE64))
        least = number(2.0**-126)
        if rnd == "RN":
            tiny: Mask = self.test("olt", F64, size, number(2.0**-126 - 2.0**-151))
        elif rnd == "RZ":
            tiny = self.test("olt", F64, size, least)
        else:
            away: Mask = self.test("ogt", F64, value, "zeroinitializer")
            if rnd != "RP":
                away = self.mnot(away)
            wide = self.test("ole", F64, size, number(2.0**-126 - 2.0**-150))
            tiny = self.mselect(away, wide, self.test("olt", F64, size, least))
        return self.select(tiny, self.and_(bits, SIGN32), bits)

    def rounded_fadd(self, a: Num, b: Num, rnd: str) -> Num:
        return self.to_single(self.odd_sum(self.wider(a), self.wider(b), rnd), rnd)

    def rounded_fmul(self, a: Num, b: Num, rnd: str, flush: bool) -> Num:
        product = self.op(f"fmul {F64} {self.wider(a)}, {self.wider(b)}")
        return self.to_single(product, rnd, flush)

    def rounded_ffma(self, a: Num, b: Num, c: Num, rnd: str, flush: bool) -> Num:
        product = self.op(f"fmul {F64} {self.wider(a)}, {self.wider(b)}")
        return self.to_single(self.odd_sum(product, self.wider(c), rnd), rnd, flush)

    # ---- doubles -----------------------------------------------------------------------

    def double_bits(self, result: str, *operands: str) -> Num:
        """Bits; a NaN is the first NaN operand quieted, else the machine's own."""
        nan = self.test("uno", F64, result, result)
        payload: Num = NAN64
        for operand in reversed(operands):
            quiet = self.wor(self.bits64(operand), QUIET64)
            payload = self.wselect(self.test("uno", F64, operand, operand), quiet, payload)
        return self.wselect(nan, payload, self.bits64(result))

    def body_dadd(self, a: Num, b: Num) -> Num:
        x, y = self.f64(a), self.f64(b)
        return self.double_bits(self.op(f"fadd {F64} {x}, {y}"), x, y)

    def body_dmul(self, a: Num, b: Num) -> Num:
        x, y = self.f64(a), self.f64(b)
        return self.double_bits(self.op(f"fmul {F64} {x}, {y}"), x, y)

    def body_dfma(self, a: Num, b: Num, c: Num) -> Num:
        x, y, z = self.f64(a), self.f64(b), self.f64(c)
        fused = self.op(f"call {F64} @llvm.fma.v32f64({F64} {x}, {F64} {y}, {F64} {z})")
        return self.double_bits(fused, x, y, z)

    def body_directed(self, operation: str, rnd: str, *values: Num) -> Num:
        given = [self.f64(value) for value in values]
        return self.double_bits(self._under(operation, rnd, *given), *given)

    def _under(self, operation: str, rnd: str, *given: str) -> str:
        """One operation on doubles under another rounding mode."""
        listed = ", ".join(f"{F64} {value}" for value in given)
        return self.op(f"call {F64} @{directed.symbol(operation, rnd)}({listed})")

    def body_dround(self, a: Num, mode: str) -> Num:
        x = self.f64(a)
        return self.double_bits(self.op(f"call {F64} @llvm.{ROUND[mode]}.v32f64({F64} {x})"), x)

    # ---- conversions -------------------------------------------------------------------

    def body_f32_to_f64(self, a: Num) -> Num:
        wide = self.bits64(self.wider(a))
        nan = self.ult(INF32, self.and_(a, NAN32))
        high = self.zext(a)
        sign = self.wshl(self.wand(high, SIGN32), 32)
        payload = self.wshl(self.wand(high, 0x007FFFFF), 29)
        quiet = self.wor(self.wor(sign, payload), INF64 | QUIET64)
        return self.wselect(nan, quiet, wide)

    def body_f64_to_f32(self, a: Num, rnd: str, flush: bool) -> Num:
        return self.to_single(self.f64(a), rnd, flush)

    def body_f16_to_f64(self, a: Num) -> Num:
        """Exact: the f16 moved into an f32 is the value times 2**-112."""
        half = self.and_(a, 0xFFFF)
        size = self.shl(self.and_(half, 0x7FFF), 13)
        scale = "splat (float 0x46F0000000000000)"
        scaled = self.bits32(self.op(f"fmul {F32} {self.f32(size)}, {scale}"))
        special = self.ult(0x0F7FFFFF, size)
        single = self.select(special, self.or_(size, INF32), scaled)
        single = self.or_(single, self.shl(self.and_(half, 0x8000), 16))
        wide = self.bits64(self.wider(single))
        nan = self.ult(0x0F800000, size)
        return self.wselect(nan, self.wor(wide, QUIET64), wide)

    def body_f64_to_f16(self, a: Num) -> Num:
        """To nearest: a multiple of the result's last place is exact in f64 and in f32."""
        value = self.f64(a)
        size = self.wand(a, MAGNITUDE64)
        exponent = self.wand(size, INF64)
        least = (1023 - 14) << 52
        exponent = self.wselect(self.wult(exponent, least), least, exponent)
        unit = self.f64(self.wsub(exponent, 10 << 52))
        inverse = self.f64(self.wsub(2046 << 52, self.wsub(exponent, 10 << 52)))
        scaled = self.op(f"fmul {F64} {self.f64(size)}, {inverse}")
        whole = self.op(f"call {F64} @llvm.roundeven.v32f64({F64} {scaled})")
        exact = self.op(f"fmul {F64} {whole}, {unit}")
        narrow = self.op(f"fptrunc {F64} {exact} to {F32}")
        lowered = self.op(f"fmul {F32} {narrow}, splat (float 0x38F0000000000000)")
        half = self.shr(self.bits32(lowered), 13)
        large = self.mnot(self.wult(size, (1023 + 15) << 52 | 0xFFE0 << 36))
        half = self.select(large, 0x7C00, half)
        half = self.or_(half, self.and_(self.shr(self.hi(a), 16), 0x8000))
        return self.select(self.test("uno", F64, value, value), 0x7FFF, half)

    def body_int_to_f64(self, a: Num, signed: bool) -> Num:
        return self.bits64(self.op(f"{'s' if signed else 'u'}itofp {self.whole(a, 64)} to {F64}"))

    def body_int_to_f64_directed(self, a: Num, signed: bool, rnd: str) -> Num:
        """Both halves are exact; their sum rounds once."""
        high = self.wsar(a, 32) if signed else self.wshr(a, 32)
        top = self.op(f"sitofp {self.whole(high, 64)} to {F64}")
        top = self.op(f"fmul {F64} {top}, {number(2.0**32)}")
        low = self.op(f"sitofp {self.whole(self.wand(a, FULL), 64)} to {F64}")
        return self.bits64(self._under("fadd", rnd, top, low))

    def body_int_to_f32(self, a: Num, signed: bool, rnd: str) -> Num:
        high = self.wsar(a, 32) if signed else self.wshr(a, 32)
        top = self.op(f"sitofp {self.whole(high, 64)} to {F64}")
        top = self.op(f"fmul {F64} {top}, {number(2.0**32)}")
        low = self.op(f"sitofp {self.whole(self.wand(a, FULL), 64)} to {F64}")
        return self.to_single(self.odd_sum(top, low, "RN"), rnd)

    def body_f64_to_int(self, a: Num, signed: bool, bits: int) -> Num:
        value = self.f64(a)
        low = -(2 ** (bits - 1)) if signed else 0
        high = 2 ** (bits - 1) - 1 if signed else 2**bits - 1
        too_low = self.test("ole", F64, value, number(float(low)))
        too_high = self.test("oge", F64, value, number(float(high)))
        nan = self.test("uno", F64, value, value)
        out = self.mor(self.mor(too_low, too_high), nan)
        inside = self.pick(out, F64, "zeroinitializer", value)
        how = "fptosi" if signed else "fptoui"
        result: Num = Val(64, self.op(f"{how} {F64} {inside} to {I64}"))
        return self.wselect(too_high, high, self.wselect(too_low, low, result))


class Outlined(NamedTuple):
    """A library function: bits of its operands and result, and what emits its body."""

    operands: tuple[int, ...]
    result: int
    body: Callable[[Any, tuple[Num, ...]], Num]


def _rows() -> dict[str, Outlined]:
    rows: dict[str, Outlined] = {}
    for rnd in ("RM", "RP", "RZ"):
        rows[f"fadd.{rnd}"] = Outlined(
            (32, 32),
            32,
            lambda m, v, r=rnd: m.rounded_fadd(*v, r),  # type: ignore[misc]
        )
        for flush in (False, True):
            tail = f"{rnd}.FTZ" if flush else rnd
            rows[f"fmul.{tail}"] = Outlined(
                (32, 32),
                32,
                lambda m, v, r=rnd, f=flush: m.rounded_fmul(*v, r, f),  # type: ignore[misc]
            )
            rows[f"ffma.{tail}"] = Outlined(
                (32, 32, 32),
                32,
                lambda m, v, r=rnd, f=flush: m.rounded_ffma(*v, r, f),  # type: ignore[misc]
            )
    for rnd in ("RN", "RM", "RP", "RZ"):
        for flush in (False, True):
            rows[f"f64_to_f32.{rnd}{'.FTZ' if flush else ''}"] = Outlined(
                (64,),
                32,
                lambda m, v, r=rnd, f=flush: m.body_f64_to_f32(*v, r, f),  # type: ignore[misc]
            )
        rows[f"dround.{rnd}"] = Outlined(
            (64,),
            64,
            lambda m, v, r=rnd: m.body_dround(*v, r),  # type: ignore[misc]
        )
        for sign in (False, True):
            rows[f"int_to_f32.{'S' if sign else 'U'}.{rnd}"] = Outlined(
                (64,),
                32,
                lambda m, v, r=rnd, s=sign: m.body_int_to_f32(*v, s, r),  # type: ignore[misc]
            )
    for sign in (False, True):
        rows[f"int_to_f64.{'S' if sign else 'U'}.RN"] = Outlined(
            (64,),
            64,
            lambda m, v, s=sign: m.body_int_to_f64(*v, s),  # type: ignore[misc]
        )
        for bits in (8, 16, 32, 64):
            rows[f"f64_to_int.{'S' if sign else 'U'}{bits}"] = Outlined(
                (64,),
                64,
                lambda m, v, s=sign, b=bits: m.body_f64_to_int(*v, s, b),  # type: ignore[misc]
            )
    for rnd in directed.ROUNDINGS:
        for name, (operation, count) in directed.OPERATIONS.items():
            rows[f"{name}.{rnd}"] = Outlined(
                (64,) * count,
                64,
                lambda m, v, o=operation, r=rnd: m.body_directed(o, r, *v),  # type: ignore[misc]
            )
        for sign in (False, True):
            rows[f"int_to_f64.{'S' if sign else 'U'}.{rnd}"] = Outlined(
                (64,),
                64,
                lambda m, v, s=sign, r=rnd: m.body_int_to_f64_directed(*v, s, r),  # type: ignore[misc]
            )
    for name in ("RSQ", "LG2", "EX2", "SIN", "COS", "RCP64H", "RSQ64H"):
        rows[f"mufu.{name}"] = Outlined(
            (32,),
            32,
            lambda m, v, n=name: m.body_mufu(*v, n),  # type: ignore[misc]
        )
    rows["dadd.RN"] = Outlined((64, 64), 64, lambda m, v: m.body_dadd(*v))
    rows["dmul.RN"] = Outlined((64, 64), 64, lambda m, v: m.body_dmul(*v))
    rows["dfma.RN"] = Outlined((64, 64, 64), 64, lambda m, v: m.body_dfma(*v))
    rows["f32_to_f64"] = Outlined((32,), 64, lambda m, v: m.body_f32_to_f64(*v))
    rows["f16_to_f64"] = Outlined((32,), 64, lambda m, v: m.body_f16_to_f64(*v))
    rows["f64_to_f16.RN"] = Outlined((64,), 32, lambda m, v: m.body_f64_to_f16(*v))
    return rows


OUTLINED = _rows()
"""Name of a library function -> what it is; others have no compiled version."""

__all__ = ["OUTLINED", "FloatBodies", "FloatOps", "Outlined", "Slow", "splat"]
