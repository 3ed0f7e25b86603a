"""Integer, mask and cross-lane operations of the step engine.

A Value is a uint32 array of 32 lanes or of one element that stands for all lanes; a Wide is the
same in uint64; a Mask is an int, lane n in bit n.  Python ints are taken for constants.  Nothing
here changes an array it was given: a Value may be a view of a register.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpudbg.mem.lanes import FULL, LANE_IDS, U32, U64, bools, ones32, pack
from gpudbg.sm.engines import numeric

Value = U32 | int
Wide = U64 | int
Mask = int

_CACHE_LIMIT = 1 << 14
_const32: dict[int, U32] = {}
_const64: dict[int, U64] = {}
_U32_MASK = 0xFFFF_FFFF
_U64_MASK = 0xFFFF_FFFF_FFFF_FFFF
_BYTE_REVERSED = np.array([int(f"{n:08b}"[::-1], 2) for n in range(256)], np.uint8)
_LAST_LANE = np.uint32(31)


def const32(value: int) -> U32:
    """The one-element Value of an int, mod 2**32; shared and read-only."""
    found = _const32.get(value)
    if found is None:
        found = np.array([value & _U32_MASK], np.uint32)
        found.setflags(write=False)
        if len(_const32) >= _CACHE_LIMIT:
            _const32.clear()
        _const32[value] = found
    return found


def const64(value: int) -> U64:
    """The one-element Wide of an int, mod 2**64; shared and read-only."""
    found = _const64.get(value)
    if found is None:
        found = np.array([value & _U64_MASK], np.uint64)
        found.setflags(write=False)
        if len(_const64) >= _CACHE_LIMIT:
            _const64.clear()
        _const64[value] = found
    return found


def lanes32(value: Value) -> U32:
    """A Value with all 32 lanes."""
    array = _v(value)
    return array if len(array) == 32 else np.repeat(array, 32)


def lanes64(value: Wide) -> U64:
    """A Wide with all 32 lanes."""
    array = _w(value)
    return array if len(array) == 32 else np.repeat(array, 32)


def join(lo: U32, hi: U32) -> U64:
    """Pairs of words as uint64."""
    both = np.empty((max(len(lo), len(hi)), 2), np.uint32)
    both[:, 0] = lo
    both[:, 1] = hi
    return both.view(np.uint64).reshape(-1)


def _v(a: Value) -> U32:
    """A Value operand as an array."""
    return const32(a) if isinstance(a, int) else a


def _w(a: Wide) -> U64:
    """A Wide operand as an array."""
    return const64(a) if isinstance(a, int) else a


class ValueOps:
    """Operations without state; the step engine inherits them."""

    __slots__ = ()

    # ---- masks -------------------------------------------------------------------------

    def mask(self, bits: int) -> Mask:
        return bits & FULL

    def true(self) -> Mask:
        return FULL

    def false(self) -> Mask:
        return 0

    def mand(self, a: Mask, b: Mask) -> Mask:
        return a & b

    def mor(self, a: Mask, b: Mask) -> Mask:
        return a | b

    def mxor(self, a: Mask, b: Mask) -> Mask:
        return a ^ b

    def mnot(self, a: Mask) -> Mask:
        return a ^ FULL

    def mselect(self, c: Mask, a: Mask, b: Mask) -> Mask:
        return (a & c) | (b & ~c)

    def bit(self, a: Value, n: int) -> Mask:
        a = _v(a)
        if n == 31:
            return pack(a.view(np.int32) < 0)
        return pack((a & (1 << n)) != 0)

    def from_mask(self, a: Mask) -> U32:
        return ones32(a)

    # ---- 32-bit integers ---------------------------------------------------------------

    def add(self, a: Value, b: Value) -> U32:
        return _v(a) + _v(b)

    def sub(self, a: Value, b: Value) -> U32:
        return _v(a) - _v(b)

    def mul(self, a: Value, b: Value) -> U32:
        return _v(a) * _v(b)

    def and_(self, a: Value, b: Value) -> U32:
        return _v(a) & _v(b)

    def or_(self, a: Value, b: Value) -> U32:
        return _v(a) | _v(b)

    def xor(self, a: Value, b: Value) -> U32:
        return _v(a) ^ _v(b)

    def not_(self, a: Value) -> U32:
        return ~_v(a)

    def shl(self, a: Value, n: Value) -> U32:
        a = _v(a)
        if isinstance(n, int):
            return a << const32(n) if n < 32 else np.zeros_like(a)
        # A 64-bit shift keeps amounts up to 63 defined; the rest is cut to 63.
        wide: U64 = a.astype(np.uint64) << np.minimum(n, 63).astype(np.uint64)
        return wide.astype(np.uint32)

    def shr(self, a: Value, n: Value) -> U32:
        a = _v(a)
        if isinstance(n, int):
            return a >> const32(n) if n < 32 else np.zeros_like(a)
        wide: U64 = a.astype(np.uint64) >> np.minimum(n, 63).astype(np.uint64)
        return wide.astype(np.uint32)

    def sar(self, a: Value, n: Value) -> U32:
        signed = _v(a).view(np.int32)
        if isinstance(n, int):
            n = const32(min(n, 31))
        shifted: npt.NDArray[np.int32] = signed >> np.minimum(n, 31).view(np.int32)
        return shifted.view(np.uint32)

    def select(self, c: Mask, a: Value, b: Value) -> U32:
        if c == FULL:
            return _v(a)
        return np.where(bools(c), _v(a), _v(b)) if c else _v(b)

    def popc(self, a: Value) -> U32:
        return np.bitwise_count(_v(a)).astype(np.uint32)

    def clz(self, a: Value) -> U32:
        # The exponent of the exact double is the index of the highest bit; 0 gives 32.
        bits: U64 = _v(a).astype(np.float64).view(np.uint64)
        exponent = (bits >> 52).astype(np.uint32)
        return np.where(exponent == 0, np.uint32(32), np.uint32(1023 + 31) - exponent)

    def brev(self, a: Value) -> U32:
        flipped = _BYTE_REVERSED[np.ascontiguousarray(_v(a)).view(np.uint8)]
        return flipped.reshape(-1, 4)[:, ::-1].copy().view(np.uint32).reshape(-1)

    def eq(self, a: Value, b: Value) -> Mask:
        return pack(_v(a) == _v(b))

    def ult(self, a: Value, b: Value) -> Mask:
        return pack(_v(a) < _v(b))

    def slt(self, a: Value, b: Value) -> Mask:
        return pack(_v(a).view(np.int32) < _v(b).view(np.int32))

    # ---- 64-bit integers ---------------------------------------------------------------

    def wide(self, lo: Value, hi: Value) -> U64:
        return join(_v(lo), _v(hi))

    def lo(self, w: Wide) -> U32:
        return _w(w).astype(np.uint32)

    def hi(self, w: Wide) -> U32:
        return (_w(w) >> 32).astype(np.uint32)

    def zext(self, a: Value) -> U64:
        return _v(a).astype(np.uint64)

    def sext(self, a: Value) -> U64:
        return _v(a).view(np.int32).astype(np.int64).view(np.uint64)

    def wadd(self, a: Wide, b: Wide) -> U64:
        return _w(a) + _w(b)

    def wsub(self, a: Wide, b: Wide) -> U64:
        return _w(a) - _w(b)

    def wmul(self, a: Wide, b: Wide) -> U64:
        return _w(a) * _w(b)

    def wand(self, a: Wide, b: Wide) -> U64:
        return _w(a) & _w(b)

    def wor(self, a: Wide, b: Wide) -> U64:
        return _w(a) | _w(b)

    def wxor(self, a: Wide, b: Wide) -> U64:
        return _w(a) ^ _w(b)

    def wnot(self, a: Wide) -> U64:
        return ~_w(a)

    def wshl(self, a: Wide, n: Value) -> U64:
        a = _w(a)
        if isinstance(n, int):
            return a << const64(n) if n < 64 else np.zeros_like(a)
        amount = n.astype(np.uint64)
        return np.where(amount < 64, a << (amount & 63), np.uint64(0))

    def wshr(self, a: Wide, n: Value) -> U64:
        a = _w(a)
        if isinstance(n, int):
            return a >> const64(n) if n < 64 else np.zeros_like(a)
        amount = n.astype(np.uint64)
        return np.where(amount < 64, a >> (amount & 63), np.uint64(0))

    def wsar(self, a: Wide, n: Value) -> U64:
        signed = _w(a).view(np.int64)
        if isinstance(n, int):
            n = const32(min(n, 63))
        shifted: npt.NDArray[np.int64] = signed >> np.minimum(n, 63).astype(np.int64)
        return shifted.view(np.uint64)

    def weq(self, a: Wide, b: Wide) -> Mask:
        return pack(_w(a) == _w(b))

    def wult(self, a: Wide, b: Wide) -> Mask:
        return pack(_w(a) < _w(b))

    def wslt(self, a: Wide, b: Wide) -> Mask:
        return pack(_w(a).view(np.int64) < _w(b).view(np.int64))

    def wselect(self, c: Mask, a: Wide, b: Wide) -> U64:
        if c == FULL:
            return _w(a)
        return np.where(bools(c), _w(a), _w(b)) if c else _w(b)

    # ---- across lanes ------------------------------------------------------------------

    def lane_id(self) -> U32:
        return LANE_IDS

    def lane_read(self, a: Value, lane: Value) -> U32:
        a = _v(a)
        return a if len(a) == 1 else a.take(_v(lane) & _LAST_LANE)

    def ballot(self, c: Mask) -> U32:
        return const32(c)

    # ---- floating point ----------------------------------------------------------------

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
