"""Calls of the run-time library: its function table, and rows through which vectors are passed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.values import Num, Slow, Val, Values
from gpudbg.sm.engines.llvm.outlined import OUTLINED
from gpudbg.sm.record import HEADER_BYTES, ROW_BYTES


class RuntimeCalls:
    """Passes vectors to functions of the library: by rows of the warp record where a value is a
    register as it stands, else by scratch rows.

    Attributes:
        called: names of the functions that the code calls.
    """

    def __init__(self, ir: Builder, values: Values) -> None:
        self.ir, self.values = ir, values
        self.called: set[str] = set()
        self._scratch = 0

    def begin_instruction(self) -> None:
        """Free all scratch rows."""
        self._scratch = 0

    def new_row(self) -> str:
        """A scratch row for this instruction."""
        if self._scratch >= layout.SCRATCH_ROWS:
            raise Slow("too many operands")
        offset = layout.SCRATCH + layout.ROW * self._scratch
        self._scratch += 1
        return self.ir.at("%env", offset)

    @contextmanager
    def reusing(self) -> Iterator[None]:
        """Context: scratch rows taken inside are free again afterwards."""
        kept = self._scratch
        yield
        self._scratch = kept

    def row_of(self, a: Num, bits: int) -> str:
        """A pointer to the lanes of a value."""
        if isinstance(a, int) and not a & (1 << bits) - 1:
            return self.ir.at("%env", layout.ZERO)
        if isinstance(a, Val) and a.row >= 0:
            return self.ir.at("%rec", HEADER_BYTES + ROW_BYTES * a.row)
        typed = self.values.whole(a, bits)
        row = self.new_row()
        self.ir.line(f"store {typed}, ptr {row}, align 64")
        return row

    def function(self, name: str) -> str:
        """The address of a library function."""
        index = layout.FUNCTION_INDEX.get(name)
        if index is None:
            raise Slow(name)
        self.called.add(name)
        return self.ir.get("ptr", "%env", layout.FUNCTIONS + 8 * index)

    def words(self, out: str, size: int) -> list[Num]:
        """The words a load has left in scratch, 128 bytes each."""
        return [
            Val(32, self.ir.get("<32 x i32>", out, ROW_BYTES * n, 64))
            for n in range(max(1, size // 4))
        ]

    def outlined(self, name: str, operands: tuple[Num, ...]) -> Val:
        row = OUTLINED.get(name)
        if row is None:
            raise Slow(name)
        kept = self._scratch
        places = [self.row_of(v, bits) for v, bits in zip(operands, row.operands, strict=True)]
        result = self.new_row()
        target = self.function(name)
        listed = ", ".join(f"ptr {place}" for place in (*places, result))
        self.ir.line(f"call void {target}({listed})")
        value = self.ir.op(f"load <32 x i{row.result}>, ptr {result}, align 64")
        self._scratch = kept
        return Val(row.result, value)
