"""Matrices in shared memory as a warp group's products read them: by a descriptor of 64 bits.

Bits 0 to 13 are the address, 16 to 29 and 32 to 45 the offsets of the leading and the stride
dimension, each in sixteenths of bytes; 49 to 51 where a pattern begins that does not on its
boundary; 62 and 63 the swizzle (documented: PTX ISA, asynchronous warpgroup matrices).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass
from gpudbg.mem.faults import MemoryFault
from gpudbg.mem.lanes import U32
from gpudbg.mem.store import ByteStore
from gpudbg.sm.asynchronous.events import ByteRuns
from gpudbg.sm.engines.tensor_product import Product
from gpudbg.sm.fragments import Multiplication, bits_of, stored_columns

if TYPE_CHECKING:
    from gpudbg.sm.state import Cta

I64s = npt.NDArray[np.int64]
Raw = npt.NDArray[np.uint32]

SWIZZLE_BYTES = (0, 128, 64, 32)
_SWIZZLE_BITS = (0, 3, 2, 1)
"""By the number in the descriptor; a tensor map has other numbers."""


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A matrix in shared memory.

    Attributes:
        start: address of its first element.
        leading, stride: offsets in bytes.
        base: offset of the swizzle's pattern, in units of 128 bytes.
        swizzle: number in the descriptor.
    """

    start: int
    leading: int
    stride: int
    base: int
    swizzle: int

    @classmethod
    def of(cls, word: int) -> Descriptor:
        """The descriptor that 64 bits are; the rank of the CTA is not looked at."""
        fields = (word >> low & 0x3FFF for low in (0, 16, 32))
        start, leading, stride = (16 * field for field in fields)
        return cls(start, leading, stride, word >> 49 & 7, word >> 62)

    def addresses(self, outer: I64s, inner: I64s, across: bool) -> I64s:
        """Where elements of one byte are.

        Args:
            outer: row of A, column of B; where `across`, in bytes.
            inner: place along k; in bytes unless `across`.
            across: rows of A, columns of B, not k, are side by side in memory.
        """
        line, place = (inner, outer) if across else (outer, inner)
        width = SWIZZLE_BYTES[self.swizzle]
        if width:
            by_eight = self.stride
            at = self.start + (line & 7) * width + (line >> 3) * by_eight
            at = at + (place // width * self.leading + place % width if across else place)
        else:
            by_eight, by_row = (
                (self.leading, self.stride) if across else (self.stride, self.leading)
            )
            at = self.start + (line & 7) * 16 + (line >> 3) * by_eight
            at = at + (place >> 4) * by_row + (place & 15)
        mask = (1 << _SWIZZLE_BITS[self.swizzle]) - 1
        found: I64s = at ^ (((at >> 7) - self.base & mask) << 4)
        return found


@lru_cache(maxsize=256)
def places(word: int, kind: str, outer: range, length: int, across: bool) -> tuple[I64s, int]:
    """Where the elements of a matrix are, shape (outer, elements), and the bytes of each; arguments
    as those of `matrix`."""
    size, given = bits_of(kind), Descriptor.of(word)
    unit = max(size // 8, 1)
    count = length * size // 8 // unit
    rows, places = np.arange(outer.start, outer.stop)[:, None], np.arange(count)[None]
    if across:
        return given.addresses(rows * unit, places, True), unit
    return given.addresses(rows, places * unit, False), unit


def element_addresses(word: int, kind: str, outer: range, length: int, across: bool) -> I64s:
    """The byte address of every element, shape (outer, length); arguments as those of `matrix`."""
    at, unit = places(word, kind, outer, length, across)
    return np.repeat(at, 8 * unit // bits_of(kind), axis=1)


@lru_cache(maxsize=256)
def _runs(word: int, kind: str, outer: range, length: int, across: bool) -> tuple[I64s, I64s]:
    at, unit = places(word, kind, outer, length, across)
    found = ByteRuns.elements(None, at.reshape(-1), unit)
    return found.starts, found.ends


def extents(cta: Cta, shape: Multiplication, given: WgmmaInputs) -> tuple[ByteRuns, ...]:
    """What a product of a whole warp group reads of shared memory."""
    stored = shape.k // 2 if shape.sparse else shape.k
    sides = [] if given.a is not None else [(0, shape.kinds[0], range(64), stored)]
    sides.append((1, shape.kinds[1], range(shape.n), shape.k))
    return tuple(
        ByteRuns(cta, *_runs(given.words[n], kind, outer, length, given.across[n]))
        for n, kind, outer, length in sides
    )


def matrix(shared: ByteStore, word: int, kind: str, outer: range, length: int, across: bool) -> Raw:
    """The raw elements of a matrix, shape (outer, length).

    Args:
        word: the descriptor.
        kind: type of the elements.
        outer: rows of A, columns of B.
        length: elements along k.

    Raises:
        MemoryFault: OOR_ADDR outside the CTA's shared memory.
    """
    size = bits_of(kind)
    at, unit = places(word, kind, outer, length, across)
    last = int(at.max()) + unit
    if last > shared.size:
        text = (
            f"a matrix in shared memory ends at 0x{last:x}, outside the block's 0x{shared.size:x}"
        )
        raise MemoryFault("OOR_ADDR", 0, last - unit, "shared", text)
    dtype: Any = {1: np.uint8, 2: np.uint16, 4: np.uint32}[unit]
    raw: Raw = shared.words.view(dtype)[at // unit].astype(np.uint32)
    if size >= 8:
        return raw
    shifts = np.arange(0, 8, size, dtype=np.uint32)
    parts = raw[:, :, None] >> shifts & np.uint32((1 << size) - 1)
    return parts.reshape(len(outer), length)


@dataclass(frozen=True, slots=True)
class WgmmaInputs:
    """What a product of a warp group reads.

    Attributes:
        shared: the CTA's memory.
        words: descriptors of A and B.
        negative: every element of A, of B, is negated.
        across: rows of A, columns of B are side by side in memory.
        a: registers of A; None where it is in shared memory.
        c: registers of the accumulator; None for zeros.
        metadata: of sparse A.
    """

    shared: ByteStore
    words: tuple[int, int]
    negative: tuple[bool, bool]
    across: tuple[bool, bool]
    a: Sequence[U32] | None
    c: Sequence[U32] | None
    metadata: U32 | None


def product(
    op: str,
    modifiers: Sequence[str],
    arch: int,
    shape: Multiplication,
    given: WgmmaInputs,
    warp: int,
) -> list[U32]:
    """The registers of D = A * B + C that a warp of the group holds.

    Raises:
        MemoryFault: a matrix is not inside the CTA's shared memory.
    """
    a_negative = shape.a.negative or (given.a is None and given.negative[0])
    signed = replace(
        shape,
        a=replace(shape.a, negative=a_negative),
        b=replace(shape.b, negative=given.negative[1]),
    )
    stored = shape.k // 2 if shape.sparse else shape.k
    if given.a is not None:
        assert shape.a.layout is not None
        left = shape.a.layout.matrix(given.a)[0]
    else:
        rows = range(16 * (warp & 3), 16 * (warp & 3) + 16)
        left = matrix(given.shared, given.words[0], shape.kinds[0], rows, stored, given.across[0])
    columns = range(shape.n)
    right = matrix(
        given.shared, given.words[1], shape.kinds[1], columns, shape.k, given.across[1]
    ).T
    if given.metadata is not None:
        places = stored_columns(shape.kinds[0], stored, given.metadata, shape.selector)
        right = right[places]
    layout = shape.d.layout
    assert layout is not None
    held = np.zeros((16, shape.n), np.uint32)
    if given.c is not None:
        held = layout.matrix(given.c)[0].astype(np.uint32)
    what = Product(op.replace("GMMA", "MMA"), tuple(modifiers), arch, signed, None)
    return layout.words(what.of(left, right, held)[None])
