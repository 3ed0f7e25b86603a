"""Conversions between f32, f16 and integers of at most 32 bits in place.

The semantics convert by way of f64 and 64-bit integers (`gpudbg.sm.semantics.convert`).  What comes
from 32 bits remembers them (`Val.thin`, `Val.word`), so the way there and back is not gone unless
somebody wants the 64 bits.
"""

from __future__ import annotations

from gpudbg.sm.engines.llvm.floats import F32, F64, I32, ROUND, FloatOps, places
from gpudbg.sm.engines.llvm.lanes import Num, Val

F16 = "<32 x half>"
I16 = "<32 x i16>"
NAN16 = 0x7FFF
DIRECTIONS = {"RM": 9, "RP": 10, "RZ": 11}
"""Rounding of one AVX-512 instruction -> its number, without exceptions."""


def _constant(kind: str, value: int) -> str:
    """An integer that floats of a kind hold, as a constant."""
    return f"splat ({'float' if kind == F32 else 'double'} {float(value)!r})"


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
        """To integral values; of NaN the host keeps the payload, as the definition does."""
        if isinstance(a, int):
            return super().dround(a, mode)
        rounded = Val(64, "")
        if a.thin is not None:
            rounded.thin = self.fround(a.thin, mode)
        how = f"@llvm.{ROUND[mode]}.v32f64"
        rounded.late = lambda: self.bits64(self.op(f"call {F64} {how}({F64} {self.f64(a)})"))
        return rounded

    def f64_to_int(self, a: Num, signed: bool, bits: int) -> Num:
        if not isinstance(a, Val) or bits > 32:
            return super().f64_to_int(a, signed, bits)
        low = -(1 << bits - 1) if signed else 0
        high = low + (1 << bits) - 1
        kind, x = (F64, self.f64(a)) if a.thin is None else (F32, self.f32(a.thin))
        # An f32 does not hold the upper limit of 32 bits.
        exact = kind == F64 or bits < 32
        # Also NaN becomes the lower limit.
        inside = self._limited(kind, x, "ogt", low)
        if exact:
            inside = self._limited(kind, inside, "olt", high)
        how = "fptosi" if signed else "fptoui"
        whole: Num = Val(32, self.op(f"{how} {kind} {inside} to {I32}"))
        if signed:
            whole = self.select(self.test("ord", kind, x, x), whole, 0)
        if not exact:
            whole = self.select(self.test("oge", kind, x, _constant(kind, high + 1)), high, whole)
        return self.sext(whole) if signed else self.zext(whole)

    def _limited(self, kind: str, x: str, how: str, limit: int) -> str:
        """Floats where they are above or below a limit, else the limit."""
        bound = _constant(kind, limit)
        return self.pick(self.test(how, kind, x, bound), kind, x, bound)

    def f64_to_f32(self, a: Num, rnd: str, flush: bool = False) -> Num:
        if isinstance(a, Val) and a.thin is not None and not flush:
            return self.canonical(self.f32(a.thin))
        if rnd != "RN" or flush:
            return super().f64_to_f32(a, rnd, flush)
        return self.canonical(self.op(f"fptrunc {F64} {self.f64(a)} to {F32}"))

    def f16_to_f64(self, a: Num) -> Num:
        if isinstance(a, int) or not self.wide_vectors:
            return super().f16_to_f64(a)
        short = self.op(f"trunc {self.whole(a, 32)} to {I16}")
        half = self.op(f"bitcast {I16} {short} to {F16}")
        single = self.op(f"fpext {F16} {half} to {F32}")
        wide = Val(64, "")
        wide.thin = self.bits32(single)
        wide.late = lambda: self.bits64(self.op(f"fpext {F32} {single} to {F64}"))
        return wide

    def f64_to_f16(self, a: Num, rnd: str) -> Num:
        """Of an f32, where the host has instructions."""
        if not isinstance(a, Val) or a.thin is None or rnd != "RN" or not self.wide_vectors:
            return super().f64_to_f16(a, rnd)
        return self.f32_to_f16(self.f32(a.thin))

    def f32_to_f16(self, x: str) -> Num:
        """Bits of floats rounded to f16."""
        half = self.op(f"fptrunc {F32} {x} to {F16}")
        short = self.op(f"bitcast {F16} {half} to {I16}")
        bits = Val(32, self.op(f"zext {I16} {short} to {I32}"))
        return self.select(self.test("uno", F32, x, x), NAN16, bits)

    def int_to_f64(self, a: Num, signed: bool, rnd: str) -> Num:
        """Of 32 bits every rounding gives the same."""
        word, kind = self._short(a, signed)
        if word is None:
            return super().int_to_f64(a, signed, rnd)
        return self.bits64(self.op(f"{kind}itofp {self.whole(word, 32)} to {F64}"))

    def _short(self, a: Num, signed: bool) -> tuple[Num | None, str]:
        """The 32 bits that an integer was extended from, if it was; s or u."""
        if isinstance(a, Val) and a.word is not None and signed:
            return a.word, "s"
        if isinstance(a, Val) and a.pair is not None and a.pair[1:] == (0, 0):
            return a.pair[0], "u"
        return None, ""

    def int_to_f32(self, a: Num, signed: bool, rnd: str) -> Num:
        word, kind = self._short(a, signed)
        if word is None:
            return super().int_to_f32(a, signed, rnd)
        if rnd == "RN":
            return self.number(self.op(f"{kind}itofp {self.whole(word, 32)} to {F32}"))
        if not self.wide_vectors:
            return self._by_halves(word, kind, rnd)
        given = self.whole(word, 32)
        name = f"llvm.x86.avx512.{kind}itofp.round.v16f32.v16i32"
        parts = []
        for half in range(2):
            part = self.op(f"shufflevector {given}, {I32} poison, {places(16 * half, 16)}")
            how = f"<16 x i32> {part}, i32 {DIRECTIONS[rnd]}"
            parts.append(self.op(f"call <16 x float> @{name}({how})"))
        both = ", ".join(f"<16 x float> {part}" for part in parts)
        return self.number(self.op(f"shufflevector {both}, {places(0, 32)}"))

    def _by_halves(self, word: Num, kind: str, rnd: str) -> Num:
        """The sum of both halves to nearest, and a step back where its error asks for it."""
        top = self.sar(word, 16) if kind == "s" else self.shr(word, 16)
        high = self.op(f"sitofp {self.whole(top, 32)} to {F32}")
        high = self.op(f"fmul {F32} {high}, {_constant(F32, 1 << 16)}")
        low = self.op(f"sitofp {self.whole(self.and_(word, 0xFFFF), 32)} to {F32}")
        total = self.op(f"fadd {F32} {high}, {low}")
        # Exact: the upper half is 0 or not smaller than the lower one.
        error = self.op(f"fsub {F32} {low}, {self.op(f'fsub {F32} {total}, {high}')}")
        bits = self.bits32(total)
        if rnd == "RZ":
            away = self.op(f"fmul {F32} {error}, {total}")
            wrong = self.test("olt", F32, away, "zeroinitializer")
            return self.select(wrong, self.sub(bits, 1), bits)
        step = self.or_(self.sar(bits, 31), 1)
        if rnd == "RP":
            wrong = self.test("ogt", F32, error, "zeroinitializer")
            return self.select(wrong, self.add(bits, step), bits)
        wrong = self.test("olt", F32, error, "zeroinitializer")
        return self.select(wrong, self.sub(bits, step), bits)

    def number(self, ref: str) -> Val:
        """Bits of floats none of which is NaN."""
        value = self.bits32(ref)
        value.single = ref
        return value
