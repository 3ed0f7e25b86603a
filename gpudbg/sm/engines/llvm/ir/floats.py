"""Floating point of the machine interface as IR, with the bits of `gpudbg.sm.engines.numeric`.

Short operations are emitted where they are used.  Long ones (directed rounding, doubles, halves,
conversions, MUFU) are functions of the run-time library (`outlined`).  No math library and no
fast-math flag takes part, so results do not depend on the host.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Protocol

from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.subnormals import Subnormals
from gpudbg.sm.engines.llvm.ir.values import VARYING, Mask, MaskHost, Msk, Num, Val, Values

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
"""VFIXUPIMMPS table: pass the operand unless it is a quiet or signalling NaN (the two low
digits).
"""

ROUND = {"RN": "roundeven", "RM": "floor", "RP": "ceil", "RZ": "trunc"}


_ENOUGH = 0x4B000000
"""2**23: the smallest subnormal times this is the smallest normal number."""
_TINY = 0x26
"""VFPCLASSPS mask: zeros of both signs and subnormals."""


def number(value: float) -> str:
    """A double constant in all lanes."""
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    return f"splat (double 0x{bits:016X})"


@cache
def places(first: int, count: int) -> str:
    """A shuffle mask of lanes next to one another."""
    return f"<{count} x i32> <{', '.join(f'i32 {first + n}' for n in range(count))}>"


class Outlining(Protocol):
    """The interface that calls functions of the run-time library."""

    def outlined(self, name: str, operands: tuple[Num, ...]) -> Val:
        """The result of a library function."""


class Floats:
    """Floating-point operations.

    Attributes:
        wide_vectors: the host has AVX-512.
        halves: it converts between f16 and f32 in one instruction.
        blends: it chooses lanes by a mask in one operation, where masks are packed.
        subnormals: which values are known to be none.
    """

    def __init__(
        self,
        ir: Builder,
        values: Values,
        ints: Integers,
        runtime: Outlining,
        wide_vectors: bool = False,
        halves: bool = False,
        blends: bool = False,
    ) -> None:
        self.ir, self.values, self.ints, self.runtime = ir, values, ints, runtime
        self.wide_vectors, self.halves, self.blends = wide_vectors, halves, blends
        self.subnormals = Subnormals()
        self._canonical: set[str] = set()
        self.singles: dict[Val, str] = {}
        """Value -> name of the same as floats, except that NaNs need not be canonical."""

    def single(self, a: Num) -> str:
        """A Value's float vector if it exists already, else ""."""
        return self.singles.get(a, "") if isinstance(a, Val) else ""

    def f32(self, a: Num) -> str:
        """A Value as floats; its NaNs need not be canonical."""
        single = self.single(a)
        if single:
            return single
        return self.ir.op(f"bitcast {self.values.whole(a, 32)} to {F32}")

    def loose(self, a: Num) -> Num:
        """A Value whose NaNs need not be canonical."""
        single = self.single(a)
        return self.bits32(single) if single else a

    def f64(self, a: Num) -> str:
        """A Wide as doubles."""
        whole = self.values.whole(a, 64)
        double = self.ints.doubles.get(a) if isinstance(a, Val) else None
        if double is not None:
            return double
        return self.ir.op(f"bitcast {whole} to {F64}")

    def later(self, emit: Callable[[], str]) -> Val:
        """Doubles that are emitted when the 64 bits of the value are used."""
        wide = Val(64, "")

        def named() -> str:
            made = self.bits64(emit())
            self.ints.doubles[wide] = self.ints.doubles[made]
            return made.ref

        wide.late = named
        return wide

    def wider(self, a: Num) -> str:
        """A Value as doubles."""
        return self.ir.op(f"fpext {F32} {self.f32(a)} to {F64}")

    def bits32(self, ref: str) -> Val:
        """The bits of floats."""
        return Val(32, self.ir.op(f"bitcast {F32} {ref} to {I32}"))

    def bits64(self, ref: str) -> Val:
        """The bits of doubles."""
        value = Val(64, self.ir.op(f"bitcast {F64} {ref} to {I64}"))
        self.ints.doubles[value] = ref
        return value

    def test(self, how: str, kind: str, a: str, b: str) -> Msk:
        """A floating-point compare."""
        return Msk(self.ir.op(f"fcmp {how} {kind} {a}, {b}"))

    def pick(self, c: Mask, kind: str, a: str, b: str) -> str:
        """Floats chosen by a mask."""
        return self.ir.op(f"select <32 x i1> {self.values.mask_lanes(c)}, {kind} {a}, {kind} {b}")

    def canonical(self, ref: str) -> Num:
        """Bits of f32 results with NaNs canonical; none are made where the bits are not used."""
        if self.wide_vectors:
            value: Num = self.bits32(self._numbers(ref))
        elif self.values.masks is MaskHost.PACKED and not self.blends:
            value = self._greatest(ref)
        else:
            nan = self.test("uno", F32, ref, ref)
            value = self.ints.select(nan, NAN32, self.bits32(ref))
        if isinstance(value, Val):
            self.singles[value] = ref
            self._canonical.add(value.ref)
        return value

    def _greatest(self, ref: str) -> Val:
        """As `canonical`, by a maximum of signed words: of NaNs with `NAN32`, the greatest one, of
        others with the least one.  On most hosts with AVX2 a choice by a mask takes as long as that
        in full.
        """
        number = self.values.words_of(self.test("ord", F32, ref, ref).lanes)
        least = self.ir.op(f"xor {I32} {number}, splat (i32 {NAN32})")
        bits = self.ir.op(f"bitcast {F32} {ref} to {I32}")
        return Val(32, self.ir.op(f"call {I32} @llvm.smax.v32i32({I32} {least}, {I32} {bits})"))

    def is_canonical(self, a: Num) -> bool:
        """Whether a Value is its floats with NaNs canonical."""
        return isinstance(a, Val) and a.ref in self._canonical

    def _numbers(self, ref: str) -> str:
        """Make the NaNs of floats canonical, signalling ones included, which remain where the
        compiler removed the quieting operation (a product with 1).
        """
        kind, nan = "<16 x float>", f"<16 x float> splat (float {_NAN})"
        parts = []
        for half in range(2):
            part = self.ir.op(f"shufflevector {F32} {ref}, {F32} poison, {places(16 * half, 16)}")
            listed = f"{nan}, {kind} {part}, <16 x i32> splat (i32 {_UNLESS_NAN})"
            how = f"@llvm.x86.avx512.mask.fixupimm.ps.512({listed}, i32 0, i16 -1, i32 4)"
            parts.append(self.ir.op(f"call {kind} {how}"))
        both = f"{kind} {parts[0]}, {kind} {parts[1]}"
        return self.ir.op(f"shufflevector {both}, {places(0, 32)}")

    def xor(self, a: Num, b: Num) -> Num:
        result = self.ints.xor(a, b)
        single = self.single(a)
        if single and b == SIGN32 and isinstance(result, Val):
            self.singles[result] = self.ir.op(f"fneg {F32} {single}")
        return self._as_normal(result, a) if b == SIGN32 else result

    def and_(self, a: Num, b: Num) -> Num:
        result = self.ints.and_(a, b)
        single = self.single(a)
        if single and b == NAN32 and isinstance(result, Val):
            size = f"call {F32} @llvm.fabs.v32f32({F32} {single})"
            self.singles[result] = self.ir.op(size)
        if b == NAN32:
            self.subnormals.note_size(result, a, single)
            return self._as_normal(result, a)
        return result

    def _as_normal(self, result: Num, a: Num) -> Num:
        """Note that a value differs from `a` only in sign: its subnormals are those of `a`."""
        if self.subnormals.absent(a):
            self.subnormals.note_absent(result)
        return result

    def wxor(self, a: Num, b: Num) -> Num:
        if isinstance(a, Val) and a.shape is VARYING and b == SIGN64:
            return self.bits64(self.ir.op(f"fneg {F64} {self.f64(a)}"))
        return self.ints.wxor(a, b)

    def wand(self, a: Num, b: Num) -> Num:
        if isinstance(a, Val) and a.shape is VARYING and b == MAGNITUDE64:
            return self.bits64(self.ir.op(f"call {F64} @llvm.fabs.v32f64({F64} {self.f64(a)})"))
        return self.ints.wand(a, b)

    def fadd(self, a: Num, b: Num, rnd: str = "RN") -> Num:
        if rnd != "RN":
            return self.runtime.outlined(f"fadd.{rnd}", (a, b))
        x, y = self.f32(a), self.f32(b)
        return self.canonical(self.ir.op(f"fadd {F32} {x}, {y}"))

    def fmul(self, a: Num, b: Num, rnd: str = "RN", flush: bool = False) -> Num:
        product = self._fmul(a, b, rnd, flush)
        for x, factor in ((a, b), (b, a)):
            if isinstance(factor, int) and factor & NAN32 >= _ENOUGH:
                self.subnormals.note_scaled(product, x)
        return product

    def _fmul(self, a: Num, b: Num, rnd: str, flush: bool) -> Num:
        if rnd != "RN":
            return self.runtime.outlined(f"fmul.{rnd}{'.FTZ' if flush else ''}", (a, b))
        x, y = self.f32(a), self.f32(b)
        product = self.ir.op(f"fmul {F32} {x}, {y}")
        if not flush:
            return self.canonical(product)
        return self._without_tiny(product, self.ir.op(f"fmul {F32} {self._lifted(x)}, {y}"))

    def ffma(self, a: Num, b: Num, c: Num, rnd: str = "RN", flush: bool = False) -> Num:
        if rnd != "RN":
            return self.runtime.outlined(f"ffma.{rnd}{'.FTZ' if flush else ''}", (a, b, c))
        x, y, z = self.f32(a), self.f32(b), self.f32(c)
        fused = self.fused(x, y, z)
        if not flush:
            return self.canonical(fused)
        return self._without_tiny(fused, self.fused(self._lifted(x), y, self._lifted(z)))

    def fused(self, x: str, y: str, z: str) -> str:
        """x * y + z of floats."""
        return self.ir.op(f"call {F32} @llvm.fma.v32f32({F32} {x}, {F32} {y}, {F32} {z})")

    def _lifted(self, x: str) -> str:
        return self.ir.op(f"fmul {F32} {x}, splat (float {float(_LIFT)!r})")

    def _without_tiny(self, result: str, lifted: str) -> Num:
        """Results that are tiny after rounding flushed; see `numeric._flushed`.

        What the operation gives when operands are `_LIFT` times as large has 24 bits where the
        result is subnormal, so it tells what was tiny.  Lifted operands that overflow give no
        small number: products of an operand from 2**64 on are multiples of 2**-108, and so is
        what is left of them by cancellation.
        """
        size = self.ir.op(f"call {F32} @llvm.fabs.v32f32({F32} {lifted})")
        tiny = self.test("olt", F32, size, f"splat (float {_LIFT * 2.0**-126!r})")
        bits = self.bits32(result)
        value = self.canonical(self.f32(self.ints.select(tiny, self.and_(bits, SIGN32), bits)))
        self.subnormals.note_absent(value)
        return value

    def ftz(self, a: Num) -> Num:
        if isinstance(a, int):
            return a if a & INF32 else a & SIGN32
        if self.subnormals.absent(a):
            return a
        value = self._flushed_bits(self.loose(a))
        if a in self.singles:
            ref = self.f32(value)
            if self.is_canonical(a):
                value = self.canonical(ref)
            else:
                # A sign-changed NaN keeps its sign; these bits cost nothing unless used.
                value = self._flushed_bits(a)
                if isinstance(value, Val):
                    self.singles[value] = ref
        self.subnormals.note_absent(value)
        return value

    def _flushed_bits(self, bits: Num) -> Num:
        return self.ints.select(
            self.ints.eq(self.and_(bits, INF32), 0), self.and_(bits, SIGN32), bits
        )

    def flt(self, a: Num, b: Num) -> Mask:
        x = self.subnormals.floats_of(a) if b == MIN_NORMAL else ""
        if x and self.wide_vectors:
            lanes = self._tiny(x)
        else:
            lanes = self.test("olt", F32, self.f32(a), self.f32(b))
        if b == MIN_NORMAL:
            self.subnormals.note_small(lanes, a)
        return lanes

    def feq(self, a: Num, b: Num) -> Mask:
        return self.test("oeq", F32, self.f32(a), self.f32(b))

    def fnan(self, a: Num) -> Mask:
        x = self.f32(a)
        return self.test("uno", F32, x, x)

    def fround(self, a: Num, mode: str) -> Num:
        x = self.f32(a)
        return self.canonical(self.ir.op(f"call {F32} @llvm.{ROUND[mode]}.v32f32({F32} {x})"))

    def dlt(self, a: Num, b: Num) -> Mask:
        return self.test("olt", F64, self.f64(a), self.f64(b))

    def deq(self, a: Num, b: Num) -> Mask:
        return self.test("oeq", F64, self.f64(a), self.f64(b))

    def dnan(self, a: Num) -> Mask:
        x = self.f64(a)
        return self.test("uno", F64, x, x)

    def _tiny(self, x: str) -> Msk:
        """Which floats are zero or subnormal, by one instruction for 16 lanes."""
        kind = "<16 x float>"
        parts = []
        for first in (0, 16):
            part = self.ir.op(f"shufflevector {F32} {x}, {F32} poison, {places(first, 16)}")
            call = f"call <16 x i1> @llvm.x86.avx512.fpclass.ps.512({kind} {part}, i32 {_TINY})"
            parts.append(self.ir.op(call))
        both = f"<16 x i1> {parts[0]}, <16 x i1> {parts[1]}"
        return Msk(self.ir.op(f"shufflevector {both}, {places(0, 32)}"))
