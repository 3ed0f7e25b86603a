"""Floating point operations of the step engine: `numeric` with masks as ints."""

from __future__ import annotations

from gpudbg.mem.lanes import pack
from gpudbg.sm.engines import numeric
from gpudbg.sm.engines.values import Mask, Value, Wide


class FloatOps:
    """Mixes `gpudbg.sm.engines.numeric` into the engine."""

    __slots__ = ()

    fadd = staticmethod(numeric.fadd)
    fmul = staticmethod(numeric.fmul)
    ffma = staticmethod(numeric.ffma)
    ftz = staticmethod(numeric.ftz)
    fround = staticmethod(numeric.fround)
    mufu = staticmethod(numeric.mufu)
    dadd = staticmethod(numeric.dadd)
    dmul = staticmethod(numeric.dmul)
    dfma = staticmethod(numeric.dfma)
    dround = staticmethod(numeric.dround)
    f32_to_f64 = staticmethod(numeric.f32_to_f64)
    f64_to_f32 = staticmethod(numeric.f64_to_f32)
    f16_to_f64 = staticmethod(numeric.f16_to_f64)
    f64_to_f16 = staticmethod(numeric.f64_to_f16)
    int_to_f64 = staticmethod(numeric.int_to_f64)
    int_to_f32 = staticmethod(numeric.int_to_f32)
    f64_to_int = staticmethod(numeric.f64_to_int)

    def flt(self, a: Value, b: Value) -> Mask:
        return pack(numeric.flt(a, b))

    def feq(self, a: Value, b: Value) -> Mask:
        return pack(numeric.feq(a, b))

    def fnan(self, a: Value) -> Mask:
        return pack(numeric.fnan(a))

    def dlt(self, a: Wide, b: Wide) -> Mask:
        return pack(numeric.dlt(a, b))

    def deq(self, a: Wide, b: Wide) -> Mask:
        return pack(numeric.deq(a, b))

    def dnan(self, a: Wide) -> Mask:
        return pack(numeric.dnan(a))
