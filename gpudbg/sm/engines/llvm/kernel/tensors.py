"""Tensor cores of the machine interface: products by the library, rows of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpudbg.architectures import age
from gpudbg.isa.operands import RZ
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder, signed
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.values import FULL, UNIFORM, Mask, Num, Slow, Val
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.engines.llvm.kernel.exits import Exits
from gpudbg.sm.engines.llvm.kernel.instruments import Instruments
from gpudbg.sm.engines.llvm.kernel.library_access import LibraryAccess
from gpudbg.sm.engines.llvm.kernel.registers import Registers
from gpudbg.sm.engines.llvm.kernel.runtime_calls import RuntimeCalls
from gpudbg.sm.engines.llvm.kernel.sparse import SparseOperands
from gpudbg.sm.fragments import Multiplication, multiplication
from gpudbg.sm.record import FIELDS


class Tensors:
    """Operations of a whole warp."""

    def __init__(
        self,
        ir: Builder,
        cursor: Cursor,
        exits: Exits,
        registers: Registers,
        runtime: RuntimeCalls,
        library: LibraryAccess,
        instruments: Instruments,
        ints: Integers,
    ) -> None:
        """Args: instruments: emit what observers want before an access."""
        self.ir, self.cursor, self.exits = ir, cursor, exits
        self.registers, self.runtime, self.library = registers, runtime, library
        self.instruments, self.ints = instruments, ints
        self.sparse = SparseOperands(ir, exits, runtime)

    def _whole_warp(self) -> None:
        """Leave unless all lanes execute; code for any lanes tests this at run time."""
        lanes = self.cursor.exec
        if lanes == FULL:
            return
        if isinstance(lanes, int):
            raise Slow("a tensor core in part of a warp")
        bits = self.runtime.values.mask_bits(lanes)
        self.exits.bail_unless(self.ir.op(f"icmp eq i32 {bits}, {signed(FULL, 32)}"))
        self.cursor.exec = FULL

    def load_rows(self, address: Num, count: int) -> Sequence[Num]:
        """Emit a load of rows whose addresses the first lanes hold."""
        self._whole_warp()
        self._note("load", address, count // 8)
        address = self.library.rank.own(address)
        self.cursor.exec = FULL >> (32 - count)
        try:
            return self.library.load("shared", address, 16, False)
        finally:
            self.cursor.exec = FULL

    def load_matrices(self, address: Num, count: int) -> Sequence[Num]:
        """Emit LDSM: rows of 16 bytes that lie in registers as in memory."""
        self._whole_warp()
        self._note("load", address, count)
        address = self.library.rank.own(address)
        goals = [self.runtime.new_row() for _ in range(count)]
        tail = "".join(f", ptr {goal}" for goal in goals)
        self.library.call(f"matrices.load.{count}", "shared", address, tail)
        return [Val(32, self.ir.get("<32 x i32>", goal, 0, 64)) for goal in goals]

    def store_matrices(self, address: Num, registers: Sequence[Num]) -> None:
        """Emit STSM, the inverse."""
        self._whole_warp()
        count = len(registers)
        self._note("store", address, count)
        address = self.library.rank.own(address)
        tail = "".join(f", ptr {self.runtime.row_of(value, 32)}" for value in registers)
        self.library.call(f"matrices.store.{count}", "shared", address, tail)
        self.library.marks.begin("shared")
        self.library.mark("shared", address, 16, FULL >> (32 - 8 * count))

    def _note(self, how: str, address: Num, count: int) -> None:
        """Report an access of the lanes that hold addresses to the instruments."""
        self.cursor.exec = FULL >> (32 - 8 * count)
        self.instruments.note_access(how, "shared", address, 16)
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
        sides = [
            self._rows_from(operand.register, count)
            for operand, count in zip((shape.a, shape.b, shape.c), counts, strict=True)
        ]
        if shape.sparse:
            metadata = self.registers.reg(i.o["e"].index)
            sides[0] = self.sparse.of_a(shape, sides[0], metadata)
            sides[1] = self.sparse.of_b(sides[1])
        if i.op == "DMMA" and shape.m == 16:
            self._tall_doubles(shape, sides)
            return
        rows = [row for side in sides for row in side]
        goals = [self.runtime.new_row() for _ in range(counts[2])]
        listed = ", ".join(f"ptr {row}" for row in (*rows, *goals))
        target = self.runtime.function(name)
        self.exits.bail_unless(self.ir.op(f"call i1 {target}({listed})"))
        self._write(shape, goals)

    def _write(self, shape: Multiplication, goals: Sequence[str]) -> None:
        """Take rows for the registers of D."""
        if shape.d.register != RZ:
            for n, row in enumerate(goals):
                value = Val(32, self.ir.get("<32 x i32>", row, 0, 64))
                self.registers.reg_write(shape.d.register + n, value)

    def _tall_doubles(self, shape: Multiplication, sides: Sequence[Sequence[str]]) -> None:
        """Products of doubles with 16 rows: four columns of A after four, each of eight rows, which
        lie in pairs of registers as those of m8n8k4 do."""
        a, b, c = sides
        target, goals = self.runtime.function("dmma.884"), []
        for up in (0, 1):
            held, made = list(c[4 * up : 4 * up + 4]), [self.runtime.new_row() for _ in range(4)]
            for step in range(shape.k // 4):
                first = 2 * (2 * step + up)
                rows = (*a[first : first + 2], *b[2 * step : 2 * step + 2], *held, *made)
                listed = ", ".join(f"ptr {row}" for row in rows)
                self.exits.bail_unless(self.ir.op(f"call i1 {target}({listed})"))
                held = made
            goals += made
        self._write(shape, goals)

    def _rows_from(self, first: int, count: int) -> list[str]:
        """Rows of registers that follow one another."""
        values = [0 if first == RZ else self.registers.reg(first + n) for n in range(count)]
        return [self.runtime.row_of(value, 32) for value in values]

    # ---- warp groups ---------------------------------------------------------------------

    def warpgroup_multiply(
        self, i: Any, descriptors: tuple[Num, Num], negative: tuple[bool, bool],
        across: tuple[bool, bool], accumulates: Mask,
    ) -> None:  # fmt: skip
        """The warp's 16 rows of D = A * B + C, eight columns at a time."""
        self._whole_warp()
        shape = multiplication(i)
        name = "" if shape is None else _function_of_group(i, shape)
        chosen = shape is not None and (not shape.sparse or shape.selects)
        if shape is None or not chosen or name not in layout.TENSOR or self.instruments:
            raise Slow(f"{i.op}.{'.'.join(i.m)}")
        sign = {"TF32": 0x8000_0000, "E4M3": 0x8080_8080, "E5M2": 0x8080_8080}.get(
            shape.kinds[0], 0x8000_8000
        )
        flips = [sign if minus else 0 for minus in negative]
        runtime, ir = self.runtime, self.ir
        words = [self._descriptor(word) for word in descriptors]
        left = self._left(shape, words[0], across[0], flips[0], sign)
        if shape.sparse:
            left = self.sparse.of_a(shape, left, self.registers.reg(i.o["e"].index))
        target, results = runtime.function(name), []
        right = [runtime.new_row() for _ in range(2 + 2 * shape.sparse)]
        count = 2 if shape.result == "F16" else 4
        goals = [runtime.new_row() for _ in range(count)]
        for column in range(0, shape.n, 8):
            for n in range(0, len(right), 2):
                self._matrix(words[1], str(column), across[1], flips[1], right[n : n + 2], n)
            with runtime.reusing():
                others = self.sparse.of_b(right) if shape.sparse else right
                addends = [
                    runtime.row_of(self._addend(shape, column // 8 * count + n, accumulates), 32)
                    for n in range(count)
                ]
                listed = ", ".join(f"ptr {row}" for row in (*left, *others, *addends, *goals))
                self.exits.bail_unless(ir.op(f"call i1 {target}({listed})"))
            results += [Val(32, ir.get("<32 x i32>", row, 0, 64)) for row in goals]
        for n, value in enumerate(results):
            self.registers.reg_write(shape.d.register + n, value)

    def _descriptor(self, word: Num) -> str:
        """The common scalar of all lanes."""
        if isinstance(word, int) or word.shape is UNIFORM:
            return self.library.values.scalar(word, 64)
        every = self.library.values.whole(word, 64)
        return self.ir.op(f"extractelement {every}, i64 0")

    def _addend(self, shape: Multiplication, n: int, accumulates: Mask) -> Num:
        """A register of C, or zero."""
        if accumulates == 0 or shape.c.register == RZ:
            return 0
        value = self.registers.reg(shape.c.register + n)
        if accumulates == FULL:
            return value
        bits = Val(32, self.library.values.mask_bits(accumulates), UNIFORM)
        return self.ints.and_(value, bits)

    def _left(
        self, shape: Multiplication, word: str, across: bool, flip: int, sign: int
    ) -> list[str]:
        """Rows of the four registers of A: those of the warp, or read from shared memory."""
        if shape.a.layout is not None:
            # The sign bit of the instruction applies to A in memory as well.
            first, flip = shape.a.register, sign if shape.a.negative else 0
            values = [self.registers.reg(first + n) for n in range(4)]
            return [
                self.runtime.row_of(self.ints.xor(value, flip) if flip else value, 32)
                for value in values
            ]
        rows = [self.runtime.new_row() for _ in range(4)]
        warp = self.ir.op(f"and i32 {self.ir.get('i32', '%rec', FIELDS['index'].offset)}, 3")
        first_row = self.ir.op(f"zext i32 {self.ir.op(f'shl i32 {warp}, 4')} to i64")
        self._matrix(word, first_row, across, flip, [rows[0], rows[2]])
        below = self.ir.op(f"add i64 {first_row}, 8")
        self._matrix(word, below, across, flip, [rows[1], rows[3]])
        return rows

    def _matrix(
        self, word: str, first: str, across: bool, flip: int, rows: Sequence[str], deep: int = 0
    ) -> None:
        """Eight rows of A or columns of B, from so many times 16 bytes along k on, to two
        registers; leave where they are not there."""
        ir = self.ir
        function = self.runtime.function("wgmma.across" if across else "wgmma.along")
        shared = ir.get("ptr", "%rec", layout.SHARED_POINTER)
        size = ir.get("i64", "%env", layout.SHARED_BYTES)
        about = f"ptr {shared}, i64 {size}, i64 {word}, i64 {first}, i64 {deep}, i32 {flip}"
        found = f"call i1 {function}({about}, ptr {rows[0]}, ptr {rows[1]})"
        self.exits.bail_unless(ir.op(found))


def _function_of_group(i: Any, shape: Multiplication) -> str:
    """The function that computes eight columns of a product of a warp group."""
    kinds = [kind.lower() for kind in shape.kinds]
    if "SATFINITE" in i.m or shape.n % 8:
        return ""
    count, tail = (8, ".sp") if shape.sparse else (4, "")
    match i.op:
        case "HGMMA":
            return f"hmma.{kinds[0]}.{shape.result.lower()}.{count}.25{tail}"
        case "QGMMA":
            return f"qmma.{kinds[0]}.{kinds[1]}.{shape.result.lower()}.{count}.90{tail}"
        case "IGMMA":
            return f"imma.{kinds[0]}.{kinds[1]}.{count}{'.sat' * ('SAT' in i.m)}"
        case "BGMMA":
            return f"bmma.{'xor' if 'XOR' in i.m else 'and'}.4"
    return ""


def _function_of(i: Any, shape: Multiplication) -> str:
    """The function of the library that computes a product, as it would be called."""
    signs = any(o.negative or o.absolute for o in (shape.a, shape.b, shape.c))
    odd = shape.step >= 0 or "SATFINITE" in i.m
    if odd or signs or shape.result != shape.addend or shape.n != 8:
        return ""
    kinds = [kind.lower() for kind in shape.kinds]
    assert shape.a.layout is not None
    count = shape.a.layout.registers * (1 + shape.sparse)
    tail = ".sp" * shape.sparse
    match i.op:
        case "HMMA" if shape.m == 16:
            bits = 24 if age(i.arch)[0] < 90 else 25
            return f"hmma.{kinds[0]}.{shape.result.lower()}.{count}.{bits}{tail}"
        case "QMMA" if shape.m == 16 and "SF" not in i.m:
            arch = "89" if age(i.arch)[0] < 100 else "120"
            return f"qmma.{kinds[0]}.{kinds[1]}.{shape.result.lower()}.{count}.{arch}{tail}"
        case "IMMA":
            return f"imma.{kinds[0]}.{kinds[1]}.{count}{'.sat' * ('SAT' in i.m)}"
        case "BMMA":
            return f"bmma.{'xor' if 'XOR' in i.m else 'and'}.{count}"
        case "DMMA" if (shape.m, shape.k) == (8, 4) or shape.m == 16:
            return "dmma.884"
    return ""
