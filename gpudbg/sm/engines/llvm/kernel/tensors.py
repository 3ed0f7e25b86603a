"""Tensor cores of the machine interface: products by the library, rows of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpudbg.architectures import age
from gpudbg.isa.operands import RZ
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.values import FULL, Num, Slow, Val
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.engines.llvm.kernel.exits import Exits
from gpudbg.sm.engines.llvm.kernel.library_access import LibraryAccess
from gpudbg.sm.engines.llvm.kernel.registers import Registers
from gpudbg.sm.engines.llvm.kernel.runtime_calls import RuntimeCalls
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
    ) -> None:
        self.ir, self.cursor, self.exits = ir, cursor, exits
        self.registers, self.runtime, self.library = registers, runtime, library

    def _whole_warp(self) -> None:
        if self.cursor.exec != FULL:
            raise Slow("a tensor core in part of a warp")

    def load_rows(self, address: Num, count: int) -> Sequence[Num]:
        """Rows that the first lanes give the addresses of."""
        self._whole_warp()
        self.cursor.exec = FULL >> (32 - count)
        try:
            return self.library.load("shared", address, 16, False)
        finally:
            self.cursor.exec = FULL

    def matrix_multiply(self, i: Any, shape: Multiplication) -> None:
        """D = A * B + C of f16 matrices with f32 sums."""
        self._whole_warp()
        signs = any(o.negative or o.absolute for o in (shape.a, shape.b, shape.c))
        floats = (*shape.kinds, shape.result, shape.addend) == ("F16", "F16", "F32", "F32")
        plain = i.op == "HMMA" and floats and shape.step < 0 and not (signs or shape.sparse)
        if not plain or (shape.m, shape.n) != (16, 8) or shape.k not in (8, 16):
            raise Slow(f"{i.op}.{'.'.join(i.m)}")
        count = shape.k // 4
        name = f"hmma.f16.f32.{count}.{24 if age(i.arch)[0] < 90 else 25}"
        rows = []
        for operand, registers in ((shape.a, count), (shape.b, count // 2), (shape.c, 4)):
            first = operand.register
            for n in range(registers):
                value = 0 if first == RZ else self.registers.reg(first + n)
                rows.append(self.runtime.row_of(value, 32))
        goals = [self.runtime.new_row() for _ in range(4)]
        listed = ", ".join(f"ptr {row}" for row in (*rows, *goals))
        target = self.runtime.function(name)
        self.exits.bail_unless(self.ir.op(f"call i1 {target}({listed})"))
        if shape.d.register != RZ:
            for n, row in enumerate(goals):
                value = Val(32, self.ir.get("<32 x i32>", row, 0, 64))
                self.registers.reg_write(shape.d.register + n, value)
