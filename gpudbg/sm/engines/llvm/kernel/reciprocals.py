"""MUFU.RCP, SQRT and RSQ in place: in single precision, without a branch.

RCP and SQRT are the host's division and root: the definition rounds the same twice, to f64 and to
f32, which gives the same bits (Figueroa, "When is double rounding innocuous?", 1995: 53 bits are
at least 2 * 24 + 2).  RSQ takes an estimate, a step and a correction:

    step        y0 estimates 1/sqrt(x), relative error at most 2**-14, or 3/2 * 2**-12 with
                `Start.cubic`.  e = 1/2 + 2**-24 - x y0 * y0/2; y1 = y0 + e y0.  The product x y0
                is rounded by at most 2**-24 of it, of which e gets 2**-25.  Left out of the series
                is 3/2 e**2 < 3/2 * 2**-28, with `cubic` 5/2 e**3 < 2**-32; all other roundings
                together stay below 2**-34.  So before y1 is rounded it is
                1/sqrt(x) times 1 + 2**-24 +- (2**-25 + 3/2 * 2**-28 + 2**-32): never too small.
    correction  e = 1 - x y1 * y1, with the product x y1 as two numbers, h + l;
                y = y1 + y1/2 * (e + e**2).

The correction's error depends on x and y1 alone: `tests/engine/fuzz_mufu.py` shows for all
2**24 significands and parities of the exponent that y is right for every y1 that such a step can
give.  It is wrong for an y1 that is much too small, therefore the 2**-24.  Powers of 4 in x change
exponents only: nothing over- or underflows for a normal x.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.floats import F32, Floats, Outlining, places
from gpudbg.sm.engines.llvm.ir.values import Num


class Start(NamedTuple):
    """How 1/sqrt(x) is estimated.

    Attributes:
        lanes: of a vector of the instruction.
        call: the compiler's name of it; "" for the host's division and root.
        tail: its further arguments.
        cubic: the first step takes another term of the series.
    """

    lanes: int
    call: str
    tail: str
    cubic: bool


STARTS: Final = {
    "wide": Start(16, "x86.avx512.rsqrt14.ps.512", ", <16 x float> zeroinitializer, i16 -1", False),
    "vector": Start(8, "x86.avx.rsqrt.ps.256", "", True),
    "divide": Start(32, "", "", False),
}
"""Kind of host -> its way; a host without fused multiply-add has none and calls the library."""

_HALF, _ONE, _CUBE = (f"splat (float {number})" for number in ("0.5", "1.0", "1.5"))
_ABOVE_HALF = "splat (float 0x3FE0000020000000)"
"""The f32 after 1/2."""


class Reciprocals:
    """MUFU, in place or by the run-time library.

    Attributes:
        start: key of `STARTS`, or "".
    """

    def __init__(
        self, ir: Builder, floats: Floats, runtime: Outlining, start: str = "divide"
    ) -> None:
        self.ir, self.floats, self.runtime = ir, floats, runtime
        self.start = start

    def mufu(self, function: str, a: Num) -> Num:
        """Emit MUFU as defined, or as a library call."""
        floats = self.floats
        if function not in ("RCP", "SQRT", "RSQ") or (function == "RSQ" and not self.start):
            return self.runtime.outlined(f"mufu.{function}", (a,))
        x = floats.f32(floats.ftz(a))
        if function == "SQRT":
            return floats.canonical(self._root(x))
        if function == "RSQ":
            return floats.canonical(self.inverse_root(x))
        inverse = floats.bits32(self.ir.op(f"fdiv {F32} {_ONE}, {x}"))
        return floats.canonical(floats.f32(floats.ftz(inverse)))

    def _root(self, x: str) -> str:
        return self.ir.op(f"call {F32} @llvm.sqrt.v32f32({F32} {x})")

    def _times(self, a: str, b: str) -> str:
        return self.ir.op(f"fmul {F32} {a}, {b}")

    def _minus(self, a: str) -> str:
        return self.ir.op(f"fneg {F32} {a}")

    def inverse_root(self, x: str) -> str:
        """1/sqrt of floats of which none is subnormal."""
        start = STARTS[self.start]
        y0 = self._estimate(start, x)
        half = self._times(y0, _HALF)
        e = self.floats.fused(self._minus(self._times(x, y0)), half, _ABOVE_HALF)
        if start.cubic:
            e = self.floats.fused(self._times(e, _CUBE), e, e)
        y = self.corrected(x, self.floats.fused(y0, e, y0))
        # Where x is 0, infinite or negative, an estimate that is no reciprocal is already right,
        # and so is its half.
        more = self.ir.op(f"fcmp ogt {F32} {y}, {half}")
        return self.ir.op(f"select <32 x i1> {more}, {F32} {y}, {F32} {half}")

    def corrected(self, x: str, y: str) -> str:
        """The f32 nearest to 1/sqrt(x); y is next to it."""
        floats = self.floats
        h = self._times(x, y)
        minus = self._minus(h)
        low = floats.fused(x, y, minus)
        e = floats.fused(self._minus(low), y, floats.fused(minus, y, _ONE))
        return floats.fused(self._times(y, _HALF), floats.fused(e, e, e), y)

    def _estimate(self, start: Start, x: str) -> str:
        ir = self.ir
        if not start.call:
            return ir.op(f"fdiv {F32} {_ONE}, {self._root(x)}")
        lanes = start.lanes
        kind = f"<{lanes} x float>"
        parts = []
        for first in range(0, 32, lanes):
            part = ir.op(f"shufflevector {F32} {x}, {F32} poison, {places(first, lanes)}")
            parts.append(ir.op(f"call {kind} @llvm.{start.call}({kind} {part}{start.tail})"))
        while len(parts) > 1:
            order = places(0, 2 * lanes)
            parts = [
                ir.op(f"shufflevector {kind} {a}, {kind} {b}, {order}")
                for a, b in zip(parts[::2], parts[1::2], strict=True)
            ]
            lanes *= 2
            kind = f"<{lanes} x float>"
        return parts[0]
