"""Tracks values that hold no subnormal, so that flushing them can be left out.

The vendor's compiler scales small operands of MUFU before it:

    FSETP.GEU P, |x|, 2**-126;  @!P FMUL x, x, 2**24;  MUFU.RSQ y, x

MUFU flushes subnormals, but a subnormal times 2**23 or more is one no longer.
"""

from __future__ import annotations

from gpudbg.sm.engines.llvm.ir.values import Mask, Msk, Num, Val


class Subnormals:
    """Facts about subnormals in values; all tables are keyed by names of IR values."""

    def __init__(self) -> None:
        self._normal: set[str] = set()
        """Values known to hold no subnormal."""
        self._sizes: dict[str, tuple[str, str]] = {}
        """|x| -> x, and x as floats."""
        self._small: dict[str, str] = {}
        """Lanes in which x is zero or subnormal -> x."""
        self._scaled: dict[str, str] = {}
        """x times a large number -> x."""

    def absent(self, a: Num) -> bool:
        """Whether a value is known to hold no subnormal."""
        return isinstance(a, Val) and a.ref in self._normal

    def note_absent(self, a: Num) -> None:
        """Record that a value holds no subnormal."""
        if isinstance(a, Val):
            self._normal.add(a.ref)

    def note_size(self, size: Num, x: Num, single: str) -> None:
        """A value is |x|; `single`: x as floats, or ""."""
        if isinstance(size, Val) and isinstance(x, Val):
            self._sizes[size.ref] = x.ref, single

    def floats_of(self, size: Num) -> str:
        """x as floats where a value is |x|, or ""."""
        known = self._sizes.get(size.ref) if isinstance(size, Val) else None
        return "" if known is None else known[1]

    def note_small(self, lanes: Mask, size: Num) -> None:
        """A mask is where |x| is below the smallest normal number."""
        if isinstance(lanes, Msk) and isinstance(size, Val):
            known = self._sizes.get(size.ref)
            self._small[lanes.lanes] = "" if known is None else known[0]

    def note_scaled(self, product: Num, x: Num) -> None:
        """A value is x times a number large enough to make subnormals normal."""
        if isinstance(product, Val) and isinstance(x, Val):
            self._scaled[product.ref] = x.ref

    def note_merged(self, mask: Mask, new: Num, old: Num, value: Num) -> None:
        """A value is a new one in the lanes of a mask, else the old one."""
        if not (isinstance(mask, Msk) and isinstance(new, Val) and isinstance(old, Val)):
            return
        x = old.ref
        if x and self._small.get(mask.lanes) == x and self._scaled.get(new.ref) == x:
            self.note_absent(value)
