"""Where no subnormal is left, so that none need be flushed.

The vendor's compiler scales small operands of MUFU before it:

    FSETP.GEU P, |x|, 2**-126;  @!P FMUL x, x, 2**24;  MUFU.RSQ y, x

MUFU flushes subnormals, but a subnormal times 2**23 or more is one no longer.
"""

from __future__ import annotations

from gpudbg.sm.engines.llvm.doubles import DoubleOps
from gpudbg.sm.engines.llvm.floats import F32, MIN_NORMAL, NAN32, places
from gpudbg.sm.engines.llvm.lanes import Mask, Msk, Num, Val

_ENOUGH = 0x4B000000
"""2**23: the smallest subnormal times this is the smallest normal number."""
_TINY = 0x26
"""VFPCLASSPS: zeros of both signs and subnormals."""


class ScaledOps(DoubleOps):
    """Finds such values: `FloatOps._normal`.  All tables are by names of IR values."""

    def __init__(self) -> None:
        super().__init__()
        self._sizes: dict[str, str] = {}
        """|x| -> x."""
        self._floats_of: dict[str, str] = {}
        """|x| -> x as floats."""
        self._small: dict[str, str] = {}
        """Lanes in which x is zero or subnormal -> x."""
        self._scaled: dict[str, str] = {}
        """x times a large number -> x."""

    def and_(self, a: Num, b: Num) -> Num:
        result = super().and_(a, b)
        if b == NAN32 and isinstance(a, Val) and isinstance(result, Val):
            self._sizes[result.ref] = a.ref
            self._floats_of[result.ref] = a.single
        return result

    def flt(self, a: Num, b: Num) -> Mask:
        x = self._floats_of.get(a.ref, "") if isinstance(a, Val) and b == MIN_NORMAL else ""
        lanes = self._tiny(x) if x and self.wide_vectors else super().flt(a, b)
        if b == MIN_NORMAL and isinstance(a, Val) and isinstance(lanes, Msk):
            self._small[lanes.lanes] = self._sizes.get(a.ref, "")
        return lanes

    def _tiny(self, x: str) -> Msk:
        """Which floats are zero or subnormal, by one instruction for 16 lanes."""
        kind = "<16 x float>"
        parts = []
        for first in (0, 16):
            part = self.op(f"shufflevector {F32} {x}, {F32} poison, {places(first, 16)}")
            call = f"call <16 x i1> @llvm.x86.avx512.fpclass.ps.512({kind} {part}, i32 {_TINY})"
            parts.append(self.op(call))
        both = f"<16 x i1> {parts[0]}, <16 x i1> {parts[1]}"
        return Msk(self.op(f"shufflevector {both}, {places(0, 32)}"))

    def fmul(self, a: Num, b: Num, rnd: str = "RN", flush: bool = False) -> Num:
        product = super().fmul(a, b, rnd, flush)
        for x, factor in ((a, b), (b, a)):
            if isinstance(factor, int) and isinstance(x, Val) and isinstance(product, Val):
                if factor & NAN32 >= _ENOUGH:
                    self._scaled[product.ref] = x.ref
        return product

    def merged(self, mask: Mask, new: Num, old: Num, value: Num) -> None:
        """Note that a value is another one in the lanes of a mask, else the old one."""
        if not (isinstance(mask, Msk) and isinstance(new, Val) and isinstance(old, Val)):
            return
        x = old.ref
        scaled = x and self._small.get(mask.lanes) == x and self._scaled.get(new.ref) == x
        if scaled and isinstance(value, Val):
            self._normal.add(value.ref)
