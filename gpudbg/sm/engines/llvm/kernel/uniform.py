"""Uniform registers and predicates while code is emitted: one scalar for all active lanes.

The record has a copy for each lane.  A trace reads one only where all active lanes have the same,
as they do in the code of compilers; else it leaves to the step engine, which reads the copy of the
lowest executing lane.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gpudbg.isa.operands import PT, RZ, Access
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.values import FULL, UNIFORM, Mask, Msk, Num, Slow, Val, Values
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.record import FIELDS, HEADER_BYTES, ROW_BYTES

if TYPE_CHECKING:
    from gpudbg.sm.engines.llvm.kernel.registers import NamedState, Registers

UPRED = FIELDS["upred"].offset
ACTIVE = FIELDS["active"].offset
LANES = "<32 x i32>"


class UniformRegisters:
    """UR and UP of the machine interface.

    Attributes:
        bail_unless: leaves to the step engine unless an i1 holds.
        carried: numbers that stay in names where values in names meet the record: in code for any
            lanes none do.
    """

    def __init__(
        self,
        ir: Builder,
        values: Values,
        cursor: Cursor,
        registers: int,
        count: int,
        written: Access,
        state: Registers,
    ) -> None:
        """Args: registers, count: of a lane's own, and uniform ones, in the record."""
        self.ir, self.values, self.cursor = ir, values, cursor
        self._first, self._count, self._written = registers, count, written
        self._state = state
        self.carried = frozenset(range(count))
        self.bail_unless: Callable[[str], None]

    def _row(self, index: int) -> str:
        place = HEADER_BYTES + ROW_BYTES * (self._first + index)
        return self.ir.at("%rec", place)

    def _lane(self, mask: Mask) -> str:
        """The lowest lane of a mask, as an i32 operand."""
        if mask == FULL:
            return "0"
        bits = self.values.mask_bits(mask)
        first = self.ir.op(f"call i32 @llvm.cttz.i32(i32 {bits}, i1 false)")
        return self.ir.op(f"and i32 {first}, 31")

    def _in_all(self, bits: str) -> None:
        """Leave unless the bits of all active lanes are set."""
        active = self.cursor.active
        if active != FULL:
            rest = self.ir.op(f"xor i32 {self.values.mask_bits(active)}, -1")
            bits = self.ir.op(f"or i32 {bits}, {rest}")
        self.bail_unless(self.ir.op(f"icmp eq i32 {bits}, -1"))

    def ureg(self, index: int) -> Num:
        if index >= RZ:
            return 0
        now = self._state.now
        found = now.uregs.get(index)
        if found is None:
            if index >= self._count:
                raise Slow("a uniform register the warp does not have")
            ir = self.ir
            row = ir.get(LANES, self._row(index), 0, 64)
            lane = self._lane(self.cursor.active)
            scalar = ir.op(f"extractelement {LANES} {row}, i32 {lane}")
            same = ir.op(f"icmp eq {LANES} {row}, {self.values.spread(scalar, 32)}")
            self._in_all(ir.op(f"bitcast <32 x i1> {same} to i32"))
            found = now.uregs[index] = Val(32, scalar, UNIFORM)
        return found

    def _executes(self) -> str:
        """i1: some lane executes."""
        bits = self.values.mask_bits(self.cursor.exec)
        return self.ir.op(f"icmp ne i32 {bits}, 0")

    def ureg_write(self, index: int, value: Num) -> None:
        if index == RZ:
            return
        if index >= self._count:
            raise Slow("a uniform register the warp does not have")
        if index not in self._written.uniform:
            raise Slow("a uniform register that the instruction does not name")
        ir, cursor, now = self.ir, self.cursor, self._state.now
        old = self.ureg(index) if cursor.guarded else 0
        if isinstance(value, Val) and not self.values.uniform(value):
            self.values.joined(value)
            scalar = f"extractelement {LANES} {value.ref}, i32 {self._lane(cursor.exec)}"
            value = Val(32, ir.op(scalar), UNIFORM)
        elif isinstance(value, Val):
            self.values.joined(value)
            value = Val(32, value.ref, UNIFORM)
        if cursor.guarded:
            pair = f"i32 {self.values.scalar(value, 32)}, i32 {self.values.scalar(old, 32)}"
            value = Val(32, ir.op(f"select i1 {self._executes()}, {pair}"), UNIFORM)
        now.uregs[index] = value
        now.dirty_uregs.add(index)

    def upred(self, index: int) -> Mask:
        if index == PT:
            return FULL
        now = self._state.now
        found = now.upreds.get(index)
        if found is None:
            ir = self.ir
            held = ir.get("i32", "%rec", UPRED + 4 * index)
            moved = ir.op(f"lshr i32 {held}, {self._lane(self.cursor.active)}")
            truth = ir.op(f"trunc i32 {moved} to i1")
            every = ir.op(f"sext i1 {truth} to i32")
            apart = ir.op(f"xor i32 {every}, {held}")
            self._in_all(ir.op(f"xor i32 {apart}, -1"))
            found = now.upreds[index] = Msk(bits=every, truth=truth)
        return found

    def upred_write(self, index: int, value: Mask) -> None:
        if index == PT:
            return
        if index not in self._written.uniform_predicates:
            raise Slow("a uniform predicate that the instruction does not name")
        ir, cursor, now = self.ir, self.cursor, self._state.now
        old = self.upred(index) if cursor.guarded else 0
        if isinstance(value, Msk) and value.truth:
            value = Msk(bits=self.values.mask_bits(value), truth=value.truth)
        elif not (isinstance(value, int) and value & FULL in (0, FULL)):
            moved = ir.op(f"lshr i32 {self.values.mask_bits(value)}, {self._lane(cursor.exec)}")
            truth = ir.op(f"trunc i32 {moved} to i1")
            value = Msk(bits=ir.op(f"sext i1 {truth} to i32"), truth=truth)
        if cursor.guarded:
            pair = f"i32 {self.values.mask_bits(value)}, i32 {self.values.mask_bits(old)}"
            value = Msk(bits=ir.op(f"select i1 {self._executes()}, {pair}"))
        now.upreds[index] = value
        now.dirty_upreds.add(index)

    def store(self, names: NamedState) -> None:
        """Write late state to the record, in the lanes that it says are active."""
        if not (names.dirty_uregs or names.dirty_upreds):
            return
        ir, full = self.ir, self.cursor.active == FULL
        active = "" if full else ir.get("i32", "%rec", ACTIVE)
        lanes = "" if full else ir.op(f"bitcast i32 {active} to <32 x i1>")
        for index in sorted(names.dirty_uregs):
            row = self._row(index)
            value = self.values.whole(names.uregs[index], 32)
            if not full:
                old = ir.get(LANES, row, 0, 64)
                value = f"{LANES} " + ir.op(f"select <32 x i1> {lanes}, {value}, {LANES} {old}")
            ir.line(f"store {value}, ptr {row}, align 64")
        for index in sorted(names.dirty_upreds):
            bits, place = self.values.mask_bits(names.upreds[index]), UPRED + 4 * index
            if not full:
                old = ir.get("i32", "%rec", place)
                changed = ir.op(f"and i32 {ir.op(f'xor i32 {old}, {bits}')}, {active}")
                bits = ir.op(f"xor i32 {old}, {changed}")
            ir.put("i32", bits, "%rec", place)

    def settle_apart(self) -> None:
        """Store what the active lanes have written, which others do not have."""
        now = self._state.now
        self.store(now)
        for index in now.dirty_uregs:
            del now.uregs[index]
        for index in now.dirty_upreds:
            del now.upreds[index]
        now.dirty_uregs, now.dirty_upreds = set(), set()

    def initial(self) -> dict[str, Any]:
        """The parts of a warp's state that begins."""
        written = self._written
        return {
            "uregs": dict.fromkeys(range(self._count), 0),
            "upreds": dict.fromkeys(range(PT), 0),
            "dirty_uregs": set(range(self._count)) & written.uniform,
            "dirty_upreds": set(written.uniform_predicates),
        }
