"""Products with a sparse A: A becomes dense, and the rows of B change places as its columns do.

A register of stored elements covers columns of A that lie beside each other, a lane's next to those
of the lane after it; of the dense matrix a lane holds the columns it has stored ones of.  Sums of a
block do not depend on the order of its columns, so B need only have the same order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.values import Num
from gpudbg.sm.engines.llvm.kernel.exits import Exits
from gpudbg.sm.engines.llvm.kernel.runtime_calls import RuntimeCalls
from gpudbg.sm.fragments import GROUP, LANES, THREAD, I64s, Multiplication, bits_of, nibbles

_ROW = "<32 x i32>"
_PARTS = {32: 1, 16: 2, 8: 4, 4: 4}
"""Bits of an element -> elements of a register, or pairs of the smallest ones."""


class SparseOperands:
    """Makes dense fragments of sparse ones, in scratch rows."""

    def __init__(self, ir: Builder, exits: Exits, runtime: RuntimeCalls) -> None:
        self.ir, self.exits, self.runtime = ir, exits, runtime

    def of_a(self, shape: Multiplication, rows: Sequence[str], metadata: Num) -> list[str]:
        """Rows of the dense A."""
        ir, runtime, size = self.ir, self.runtime, bits_of(shape.kinds[0])
        stored = shape.k // 2
        chunks = stored if size == 32 else stored // (4 if size == 4 else 2)
        function = runtime.function(f"sparse.{32 // _PARTS[size]}")
        words = runtime.values.whole(metadata, 32)
        found = [runtime.new_row() for _ in range(2 * len(rows))]
        each = max(_PARTS[size] // 2, 1)
        with runtime.reusing():
            described = runtime.new_row()
            for number, row in enumerate(rows):
                up, block = number & 1, number >> 1
                chunk = (4 * block + THREAD) * each
                lane, low = nibbles(size, chunks, GROUP + 8 * up, chunk, shape.selector)
                ir.put(_ROW, self._nibbles(words, lane, low), described, 0, 64)
                goals = (found[4 * block + up], found[4 * block + 2 + up])
                about = ", ".join(f"ptr {place}" for place in (row, described, *goals))
                self.exits.bail_unless(ir.op(f"call i1 {function}({about})"))
        return found

    def _nibbles(self, words: str, lane: I64s, low: I64s) -> str:
        """Each lane's nibbles of metadata, lowest bit first."""
        picks = ", ".join(f"i32 {n}" for n in lane.tolist())
        shifts = ", ".join(f"i32 {n}" for n in np.broadcast_to(low, 32).tolist())
        held = self.ir.op(f"shufflevector {words}, {words}, <32 x i32> <{picks}>")
        return self.ir.op(f"lshr {_ROW} {held}, <{shifts}>")

    def of_b(self, rows: Sequence[str]) -> list[str]:
        """Rows of B in the order of the dense A's columns."""
        ir = self.ir
        found = [self.runtime.new_row() for _ in rows]
        for block in range(0, len(rows), 2):
            pair = [f"{_ROW} {ir.get(_ROW, row, 0, 64)}" for row in rows[block : block + 2]]
            for half in (0, 1):
                place = 2 * THREAD + half
                picks = (32 * (place >> 2) + (LANES & ~3) + (place & 3)).tolist()
                listed = ", ".join(f"i32 {n}" for n in picks)
                word = ir.op(f"shufflevector {pair[0]}, {pair[1]}, <32 x i32> <{listed}>")
                ir.put(_ROW, word, found[block + half], 0, 64)
        return found
