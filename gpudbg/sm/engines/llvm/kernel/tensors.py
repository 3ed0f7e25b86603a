"""Tensor cores of the machine interface: products by the library, rows of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpudbg.architectures import age
from gpudbg.isa.operands import RZ
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.values import FULL, Num, Slow, Val
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.engines.llvm.kernel.exits import Exits
from gpudbg.sm.engines.llvm.kernel.library_access import LibraryAccess
from gpudbg.sm.engines.llvm.kernel.registers import Registers
from gpudbg.sm.engines.llvm.kernel.runtime_calls import RuntimeCalls
from gpudbg.sm.engines.llvm.kernel.trace_rows import TraceRows
from gpudbg.sm.fragments import Multiplication


class Tensors:
    """What a whole warp computes together."""

    def __init__(
        self,
        ir: Builder,
        cursor: Cursor,
        exits: Exits,
        registers: Registers,
        runtime: RuntimeCalls,
        library: LibraryAccess,
        rows: TraceRows | None,
    ) -> None:
        """Args: rows: of traces, where observers read them."""
        self.ir, self.cursor, self.exits = ir, cursor, exits
        self.registers, self.runtime, self.library = registers, runtime, library
        self.rows = rows

    def _whole_warp(self) -> None:
        if self.cursor.exec != FULL:
            raise Slow("a tensor core in part of a warp")

    def load_rows(self, address: Num, count: int) -> Sequence[Num]:
        """Rows that the first lanes give the addresses of."""
        self._whole_warp()
        self._note("load", address, count // 8)
        self.cursor.exec = FULL >> (32 - count)
        try:
            return self.library.load("shared", address, 16, False)
        finally:
            self.cursor.exec = FULL

    def load_matrices(self, address: Num, count: int) -> Sequence[Num]:
        """Rows of 16 bytes, which lie in registers as they lie in memory."""
        self._whole_warp()
        self._note("load", address, count)
        goals = [self.runtime.new_row() for _ in range(count)]
        tail = "".join(f", ptr {goal}" for goal in goals)
        self.library.call(f"matrices.load.{count}", "shared", address, tail)
        return [Val(32, self.ir.get("<32 x i32>", goal, 0, 64)) for goal in goals]

    def store_matrices(self, address: Num, registers: Sequence[Num]) -> None:
        """The inverse."""
        self._whole_warp()
        count = len(registers)
        self._note("store", address, count)
        tail = "".join(f", ptr {self.runtime.row_of(value, 32)}" for value in registers)
        self.library.call(f"matrices.store.{count}", "shared", address, tail)
        self.library.marks.begin("shared")
        self.library.mark("shared", address, 16, FULL >> (32 - 8 * count))

    def _note(self, how: str, address: Num, count: int) -> None:
        """Tell observers of the lanes that give addresses."""
        if self.rows is not None:
            self.cursor.exec = FULL >> (32 - 8 * count)
            self.rows.note_access(how, "shared", address, 16)
            self.cursor.exec = FULL

    def matrix_multiply(self, i: Any, shape: Multiplication) -> None:
        """D = A * B + C of the warp's fragments."""
        self._whole_warp()
        signs = any(o.negative or o.absolute for o in (shape.a, shape.b, shape.c))
        plain = shape.step < 0 and not (signs or shape.sparse) and shape.result == shape.addend
        if i.op != "HMMA" or not plain or (shape.m, shape.n) != (16, 8):
            raise Slow(f"{i.op}.{'.'.join(i.m)}")
        kind, result = shape.kinds[0].lower(), shape.result.lower()
        count = shape.k // (2 if kind == "tf32" else 4)
        name = f"hmma.{kind}.{result}.{count}.{24 if age(i.arch)[0] < 90 else 25}"
        if name not in layout.TENSOR:
            raise Slow(f"{i.op}.{'.'.join(i.m)}")
        words = 2 if result == "f16" else 4
        rows = []
        for operand, registers in ((shape.a, count), (shape.b, count // 2), (shape.c, words)):
            first = operand.register
            for n in range(registers):
                value = 0 if first == RZ else self.registers.reg(first + n)
                rows.append(self.runtime.row_of(value, 32))
        goals = [self.runtime.new_row() for _ in range(words)]
        listed = ", ".join(f"ptr {row}" for row in (*rows, *goals))
        target = self.runtime.function(name)
        self.exits.bail_unless(self.ir.op(f"call i1 {target}({listed})"))
        if shape.d.register != RZ:
            for n, row in enumerate(goals):
                value = Val(32, self.ir.get("<32 x i32>", row, 0, 64))
                self.registers.reg_write(shape.d.register + n, value)
