"""Conversions between f32 and integers of at most 32 bits in place.

The semantics convert by way of f64 and 64-bit integers (`gpudbg.sm.semantics.convert`).  What comes
from 32 bits remembers them (`Val.thin`, `Val.word`), so the way there and back is not gone unless
somebody wants the 64 bits.
"""

from __future__ import annotations

from gpudbg.sm.engines.llvm.floats import F32, F64, I32, FloatOps, places
from gpudbg.sm.engines.llvm.lanes import Num, Val

_DIRECTIONS = {"RM": 9, "RP": 10, "RZ": 11}
"""Rounding of one AVX-512 instruction -> its number, without exceptions."""


def _single(value: int) -> str:
    """An integer that an f32 can hold as a constant of floats."""
    return f"splat (float {float(value)!r})"


class ConvertOps(FloatOps):
    """Conversions; the emitter inherits them."""

    def f32_to_f64(self, a: Num) -> Num:
        if isinstance(a, int):
            return super().f32_to_f64(a)
        wide = Val(64, "")
        wide.thin = a
        # The host keeps a NaN's payload and makes it quiet, as the definition does.
        wide.late = lambda: self.bits64(self.op(f"fpext {F32} {self.form(a)} to {F64}"))
        return wide

    def form(self, a: Num) -> str:
        """A Value as floats, to the bit."""
        return self.op(f"bitcast {self.whole(a, 32)} to {F32}")

    def dround(self, a: Num, mode: str) -> Num:
        if not isinstance(a, Val) or a.thin is None:
            return super().dround(a, mode)
        rounded = Val(64, "")
        rounded.thin = self.fround(a.thin, mode)
        rounded.late = lambda: super(ConvertOps, self).dround(a, mode)
        return rounded

    def f64_to_int(self, a: Num, signed: bool, bits: int) -> Num:
        if not isinstance(a, Val) or a.thin is None or bits > 32:
            return super().f64_to_int(a, signed, bits)
        low = -(1 << bits - 1) if signed else 0
        high = low + (1 << bits) - 1
        x = self.f32(a.thin)
        # Also NaN becomes the lower limit.
        inside = self._limited(x, "ogt", low)
        if bits < 32:
            inside = self._limited(inside, "olt", high)
        how = "fptosi" if signed else "fptoui"
        whole: Num = Val(32, self.op(f"{how} {F32} {inside} to {I32}"))
        if signed:
            whole = self.select(self.test("ord", F32, x, x), whole, 0)
        if bits == 32:
            beyond = self.test("oge", F32, x, _single(high + 1))
            whole = self.select(beyond, high, whole)
        return self.sext(whole) if signed else self.zext(whole)

    def _limited(self, x: str, how: str, limit: int) -> str:
        """Floats where they are above or below a limit, else the limit."""
        return self.pick(self.test(how, F32, x, _single(limit)), F32, x, _single(limit))

    def int_to_f32(self, a: Num, signed: bool, rnd: str) -> Num:
        """Of 32 bits, where the host can round so."""
        word: Num | None = None
        kind = "u"
        if isinstance(a, Val) and a.word is not None and signed:
            word, kind = a.word, "s"
        elif isinstance(a, Val) and a.pair is not None and a.pair[1:] == (0, 0):
            word = a.pair[0]
        if word is None or not (rnd == "RN" or self.wide_vectors):
            return super().int_to_f32(a, signed, rnd)
        if rnd == "RN":
            return self.number(self.op(f"{kind}itofp {self.whole(word, 32)} to {F32}"))
        given = self.whole(word, 32)
        name = f"llvm.x86.avx512.{kind}itofp.round.v16f32.v16i32"
        parts = []
        for half in range(2):
            part = self.op(f"shufflevector {given}, {I32} poison, {places(16 * half, 16)}")
            how = f"<16 x i32> {part}, i32 {_DIRECTIONS[rnd]}"
            parts.append(self.op(f"call <16 x float> @{name}({how})"))
        both = ", ".join(f"<16 x float> {part}" for part in parts)
        return self.number(self.op(f"shufflevector {both}, {places(0, 32)}"))

    def number(self, ref: str) -> Val:
        """Bits of floats none of which is NaN."""
        value = self.bits32(ref)
        value.single = ref
        return value
