"""Tensor cores of the machine interface: products by the library, rows of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpudbg.architectures import age
from gpudbg.isa.operands import RZ
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.values import FULL, Mask, Num, Slow, Val
from gpudbg.sm.engines.llvm.kernel.accesses import AccessListener
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
        listeners: Sequence[AccessListener],
    ) -> None:
        """Args: listeners: emit code for observers before an access."""
        self.ir, self.cursor, self.exits = ir, cursor, exits
        self.registers, self.runtime, self.library = registers, runtime, library
        self.listeners = listeners

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
        self.cursor.exec = FULL >> (32 - 8 * count)
        for listener in self.listeners:
            listener.note_access(how, "shared", address, 16)
        self.cursor.exec = FULL

    def matrix_multiply(self, i: Any, shape: Multiplication, accumulates: Mask) -> None:
        """D = A * B + C of the warp's fragments."""
        self._whole_warp()
        if accumulates != FULL:
            raise Slow("a predicate for an accumulator")
        name = _function_of(i, shape)
        if name not in layout.TENSOR:
            raise Slow(f"{i.op}.{'.'.join(i.m)}")
        counts = [
            0 if o.layout is None else o.layout.registers for o in (shape.a, shape.b, shape.c)
        ]
        rows = []
        for operand, count in zip((shape.a, shape.b, shape.c), counts, strict=True):
            first = operand.register
            for n in range(count):
                value = 0 if first == RZ else self.registers.reg(first + n)
                rows.append(self.runtime.row_of(value, 32))
        goals = [self.runtime.new_row() for _ in range(counts[2])]
        listed = ", ".join(f"ptr {row}" for row in (*rows, *goals))
        target = self.runtime.function(name)
        self.exits.bail_unless(self.ir.op(f"call i1 {target}({listed})"))
        if shape.d.register != RZ:
            for n, row in enumerate(goals):
                value = Val(32, self.ir.get("<32 x i32>", row, 0, 64))
                self.registers.reg_write(shape.d.register + n, value)


def _function_of(i: Any, shape: Multiplication) -> str:
    """The function of the library that computes a product, as it would be called."""
    signs = any(o.negative or o.absolute for o in (shape.a, shape.b, shape.c))
    odd = shape.step >= 0 or shape.sparse or "SATFINITE" in i.m
    if odd or signs or shape.result != shape.addend or shape.n != 8:
        return ""
    kinds = [kind.lower() for kind in shape.kinds]
    assert shape.a.layout is not None
    count = shape.a.layout.registers
    match i.op:
        case "HMMA" if shape.m == 16:
            bits = 24 if age(i.arch)[0] < 90 else 25
            return f"hmma.{kinds[0]}.{shape.result.lower()}.{count}.{bits}"
        case "IMMA":
            return f"imma.{kinds[0]}.{kinds[1]}.{count}{'.sat' * ('SAT' in i.m)}"
        case "BMMA":
            return f"bmma.{'xor' if 'XOR' in i.m else 'and'}.{count}"
        case "DMMA" if (shape.m, shape.k) == (8, 4):
            return "dmma.884"
    return ""
