"""The warp's state while code is emitted: registers, predicates and flags as IR names.

Values stay in names until something outside the code needs them; until the record holds them too
they are dirty.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from gpudbg.dataclass import dataclass
from gpudbg.isa.operands import PT, RZ, Access
from gpudbg.sm.engines.llvm.ir.builder import HELD, Builder
from gpudbg.sm.engines.llvm.ir.floats import F32, Floats
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.values import (
    FULL,
    Mask,
    MaskHost,
    Msk,
    Num,
    Slow,
    Val,
    Values,
    alike,
    copy_of,
)
from gpudbg.sm.engines.llvm.kernel import lane_facts
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor, Executing
from gpudbg.sm.engines.llvm.kernel.lane_facts import LaneFact
from gpudbg.sm.engines.llvm.kernel.uniform import UniformRegisters
from gpudbg.sm.record import FIELDS, HEADER_BYTES, ROW_BYTES

PRED = FIELDS["pred"].offset
FLAGS = "ZSCOK"


def flag_place(flag: str) -> int:
    """Where a flag's mask lies in the record."""
    return FIELDS["cc"].offset + 4 * FLAGS.index(flag)


def _copies(masks: dict[Any, Mask]) -> dict[Any, Mask]:
    return {key: copy_of(mask) for key, mask in masks.items()}


def _known_as(mask: Mask, later: Mask) -> bool:
    """Whether a mask is a later one, which has its forms, too."""
    if isinstance(mask, int) or isinstance(later, int):
        return mask == later
    same = (mask.lanes, mask.bits) == (mask.lanes and later.lanes, mask.bits and later.bits)
    return same and bool(mask.lanes or mask.bits)


@dataclass(slots=True)
class NamedState:
    """What is known of a warp's state in IR names.

    Attributes:
        regs, preds, flags: by number or letter.
        uregs, upreds: by number: what all active lanes have (`uniform`).
        dirty_regs, dirty_preds, dirty_flags, dirty_uregs, dirty_upreds: those of them that the
            record does not hold yet.
        facts: what is known of rows in the record (`lane_facts`).
    """

    regs: dict[int, Num] = field(default_factory=dict)
    preds: dict[int, Mask] = field(default_factory=dict)
    flags: dict[str, Mask] = field(default_factory=dict)
    dirty_regs: set[int] = field(default_factory=set)
    dirty_preds: set[int] = field(default_factory=set)
    dirty_flags: set[str] = field(default_factory=set)
    uregs: dict[int, Num] = field(default_factory=dict)
    upreds: dict[int, Mask] = field(default_factory=dict)
    dirty_uregs: set[int] = field(default_factory=set)
    dirty_upreds: set[int] = field(default_factory=set)
    facts: dict[int, LaneFact] = field(default_factory=dict)

    def copy(self) -> NamedState:
        """As it is now."""
        return NamedState(
            dict(self.regs),
            _copies(self.preds),
            _copies(self.flags),
            set(self.dirty_regs),
            set(self.dirty_preds),
            set(self.dirty_flags),
            dict(self.uregs),
            _copies(self.upreds),
            set(self.dirty_uregs),
            set(self.dirty_upreds),
            dict(self.facts),
        )

    def dirty(self) -> NamedState:
        """A copy of the values that are not yet stored in the record."""
        return NamedState(
            {n: self.regs[n] for n in self.dirty_regs},
            {n: copy_of(self.preds[n]) for n in self.dirty_preds},
            {n: copy_of(self.flags[n]) for n in self.dirty_flags},
            set(self.dirty_regs),
            set(self.dirty_preds),
            set(self.dirty_flags),
            {n: self.uregs[n] for n in self.dirty_uregs},
            {n: copy_of(self.upreds[n]) for n in self.dirty_upreds},
            set(self.dirty_uregs),
            set(self.dirty_upreds),
        )

    def spill(self, kept: NamedState) -> NamedState:
        """Take out what the record lacks, except for what is late in `kept`, which has no uniform
        predicates.
        """
        gone = self.dirty()
        gone.dirty_regs -= kept.dirty_regs
        gone.dirty_preds -= kept.dirty_preds
        gone.dirty_flags -= kept.dirty_flags
        self.dirty_regs -= gone.dirty_regs
        self.dirty_preds -= gone.dirty_preds
        self.dirty_flags -= gone.dirty_flags
        gone.dirty_uregs -= kept.dirty_uregs
        self.dirty_uregs -= gone.dirty_uregs
        self.dirty_upreds = set()
        for index in gone.dirty_regs:
            del self.regs[index]
        return gone

    def forget_dirty(self) -> None:
        """Assume that the record holds everything."""
        self.dirty_regs, self.dirty_preds, self.dirty_flags = set(), set(), set()
        self.dirty_uregs, self.dirty_upreds = set(), set()

    def stores_as(self, later: NamedState) -> bool:
        """Whether this state stores the same as one of a later place, by names known at both."""
        return (
            self.dirty_regs == later.dirty_regs
            and self.dirty_preds == later.dirty_preds
            and self.dirty_flags == later.dirty_flags
            and self.dirty_uregs == later.dirty_uregs
            and self.dirty_upreds == later.dirty_upreds
            and all(later.regs[n] is self.regs[n] for n in self.dirty_regs)
            and all(later.uregs[n] is self.uregs[n] for n in self.dirty_uregs)
            and all(_known_as(self.preds[n], later.preds[n]) for n in self.dirty_preds)
            and all(_known_as(self.upreds[n], later.upreds[n]) for n in self.dirty_upreds)
            and all(_known_as(self.flags[f], later.flags[f]) for f in self.dirty_flags)
        )

    def dirty_keys(self) -> list[tuple[str, int | str]]:
        """Keys of what the record lacks: ("regs", number) and so on."""
        found: list[tuple[str, int | str]] = [("regs", n) for n in sorted(self.dirty_regs)]
        found += [("preds", n) for n in sorted(self.dirty_preds)]
        found += [("uregs", n) for n in sorted(self.dirty_uregs)]
        return found + [("flags", f) for f in sorted(self.dirty_flags)]


class Registers:
    """State of the machine interface.

    Attributes:
        now: the state as names.
        count: registers of the record.
        written: what the code writes.
        read: registers of the record that the present trace has read.
        used: register to when it was last used, by `clock`.
        clock: instructions emitted so far.
    """

    def __init__(
        self,
        ir: Builder,
        values: Values,
        ints: Integers,
        floats: Floats,
        cursor: Cursor,
        count: int,
        written: Access,
        uniform: int = 0,
    ) -> None:
        """Args: uniform: uniform registers of the record."""
        self.uniform = UniformRegisters(ir, values, cursor, count, uniform, written, self)
        self.ir, self.values, self.ints, self.floats = ir, values, ints, floats
        self.cursor, self.count, self.written = cursor, count, written
        self.now = NamedState()
        self.read: set[int] = set()
        self.used: dict[int, int] = {}
        self.clock = 0
        self._masked: dict[Val, tuple[Val, Executing]] = {}
        """Register value -> (value written under a mask, executing lanes for which it holds)."""
        self._flags: dict[str, tuple[Mask, Executing]] = {}
        """The same for a flag's lanes or bits."""
        self._preds: dict[str, tuple[Mask, Executing]] = {}
        """The same for a predicate's bits or lanes."""
        self._wholes: dict[Val, Val] = {}
        """Value written under a mask -> the register's value."""

    def mark(self) -> NamedState:
        """The state, for `revert`."""
        return self.now.copy()

    def revert(self, mark: NamedState) -> None:
        """The state as it was."""
        self.now = mark

    def store(self, names: NamedState) -> None:
        """Store late state to the record; names made here are valid on this path only."""
        ir = self.ir
        for index in sorted(names.dirty_regs):
            place = ir.at("%rec", HEADER_BYTES + ROW_BYTES * index)
            row = self.values.whole(names.regs[index], 32)
            what = self._store_of(row)
            ir.line(f"{what} {row}, ptr {place}, align 64")
        for index in sorted(names.dirty_preds):
            bits = self.values.mask_bits(names.preds[index])
            ir.put("i32", bits, "%rec", PRED + 4 * index)
        for flag in sorted(names.dirty_flags):
            bits = self.values.mask_bits(names.flags[flag])
            ir.put("i32", bits, "%rec", flag_place(flag))
        self.uniform.store(names)

    def _store_of(self, row: str) -> str:
        """The statement that stores a row.

        LLVM makes one store under a mask of a row of which some lanes are new, unless it is
        volatile.  Hosts without mask registers may take dozens of operations for that (AMD), and
        what is loaded from there next waits for it.
        """
        chosen = self.ir.texts.get(row.split()[-1], "").startswith("select ")
        return "store volatile" if chosen and self.values.masks is MaskHost.PACKED else "store"

    def whole(self, index: int) -> Num:
        """A register's value in all lanes."""
        if index == RZ:
            return 0
        self.used[index] = self.clock
        found = self.now.regs.get(index)
        if found is None:
            if index >= self.count:
                raise Slow("a register the warp does not have")
            self.read.add(index)
            fact = self.now.facts.get(index)
            if fact is not None:
                self.now.regs[index] = shaped = lane_facts.held(self.ints, index, fact)
                return shaped
            place = HEADER_BYTES + ROW_BYTES * index
            row = self.ir.at("%rec", place)
            found = Val(32, self.ir.op(f"load <32 x i32>, ptr {row}, align 64{HELD}"), row=index)
            self.now.regs[index] = found
        return found

    def reg(self, index: int) -> Num:
        found = self.whole(index)
        written = self._masked.get(found) if isinstance(found, Val) else None
        if written is not None:
            raw, under = written
            assert isinstance(under, Executing)
            if self._covers(under):
                return raw
        return found

    def _covers(self, under: Executing) -> bool:
        """Whether the present instruction executes in no other lanes than these."""
        cursor = self.cursor
        if not any(alike(under.active, mask) for mask in (cursor.active, *cursor.within)):
            return False
        return under.guard in (None, cursor.executing.guard)

    def reg_pair(self, index: int) -> Num:
        if index == RZ:
            return 0
        if index & 1:
            raise Slow("an odd register pair")
        return self.ints.wide(self.reg(index), self.reg(index + 1))

    def reg_write(self, index: int, value: Num) -> None:
        cursor = self.cursor
        if index == RZ:
            return
        if index >= self.count:
            raise Slow("a register the warp does not have")
        assert index in self.written.registers
        single, origin = "", None
        if isinstance(value, Val):
            single, origin = self.floats.single(value), self.ints.origin(value)
        if cursor.exec != FULL:
            old, given = self.whole(index), value
            if single:
                single = self.floats.pick(cursor.exec, F32, single, self.floats.f32(old))
            value = self._under(cursor.exec, given, old, single)
            self.floats.subnormals.note_merged(cursor.exec, given, old, value)
            origin = None
        if isinstance(value, Val):
            self.values.joined(value)
            value = value.renamed()
            self._note(value, single, origin)
            if cursor.exec != FULL:
                raw = self._raw(given, value)
                if raw is not None:
                    self._masked[value] = raw, cursor.executing
        self.used[index] = self.clock
        self.now.regs[index] = value
        self.now.facts.pop(index, None)
        self.now.dirty_regs.add(index)

    def _under(self, mask: Mask, given: Num, old: Num, single: str) -> Num:
        """A register's value after a write under a mask; `single`: the same as floats."""
        floats = self.floats
        if single and floats.is_canonical(given) and floats.is_canonical(old):
            # One choice for floats and bits, and no canonical NaNs of what was chosen from.
            return floats.canonical(single)
        return self.ints.select(mask, given, old)

    def _raw(self, given: Num, whole: Val) -> Val | None:
        """The written value as a value of its own; None for a number."""
        if isinstance(given, int):
            return None
        self.values.joined(given)
        raw = given.renamed()
        self._note(raw, self.floats.single(given), self.ints.origin(given))
        self._wholes[raw] = whole
        return raw

    def _note(self, value: Val, single: str, origin: tuple[Val, int] | None) -> None:
        """Record facts about a value besides its bits."""
        if single:
            self.floats.singles[value] = single
        if origin is not None:
            self.ints.origins[value] = origin

    def every_lane(self, a: Num) -> Num:
        """A value as lanes that do not execute have it."""
        return self._wholes.get(a, a) if isinstance(a, Val) else a

    def reg_pair_write(self, index: int, value: Num) -> None:
        if index == RZ:
            return
        if index & 1:
            raise Slow("an odd register pair")
        low, high = self.ints.lo(value), self.ints.hi(value)
        self.reg_write(index, low)
        self.reg_write(index + 1, high)

    def _merged(self, old: Mask | None, value: Mask) -> Mask:
        """A mask with the executing lanes replaced, as bits: cheaper than on lanes."""
        values = self.values
        if old is None:
            return value
        if self._as_lanes(old, value):
            return self._chosen(old, value)
        here = Msk(bits=values.mask_bits(self.cursor.exec))
        new = Msk(bits=values.mask_bits(value))
        was = Msk(bits=values.mask_bits(old))
        # (old & ~here) | (new & here) takes one operation less as old ^ ((old ^ new) & here).
        both = self.ints.mxor(was, self.ints.mand(self.ints.mxor(was, new), here))
        return Msk(bits=values.mask_bits(both))

    @property
    def _keeps_lanes(self) -> bool:
        """Whether predicates had better stay lanes: to be packed takes the host long, and lanes
        that part, whose branches want bits, are not likely."""
        return self.values.masks is MaskHost.PACKED and self.cursor.active == FULL

    def _as_lanes(self, old: Mask, value: Mask) -> bool:
        """Whether a merged mask is best made of lanes, which the host would pack for its bits."""
        here = self.cursor.exec
        if not self._keeps_lanes or isinstance(value, int) or value.bits or isinstance(here, int):
            return False
        return bool(here.lanes) or isinstance(old, int) or bool(old.lanes)

    def _chosen(self, old: Mask, value: Mask) -> Mask:
        """A mask with the executing lanes replaced, as lanes."""
        values = self.values
        lanes = values.mask_lanes(self.cursor.exec)
        given = ", ".join(
            f"<32 x i32> {values.signs_of(values.mask_lanes(mask))}" for mask in (value, old)
        )
        chosen = self.ir.op(f"select <32 x i1> {lanes}, {given}")
        return Msk(values.lanes_of_signs(chosen))

    def pred(self, index: int) -> Mask:
        """A predicate, in the executing lanes."""
        found = self.pred_whole(index)
        if isinstance(found, Msk) and self._keeps_lanes:
            raw = self._preds.get(found.lanes) or self._preds.get(found.bits)
            if raw is not None and self._covers(raw[1]):
                return copy_of(raw[0])
        return found

    def pred_whole(self, index: int) -> Mask:
        """A predicate in all lanes."""
        if index == PT:
            return FULL
        found = self.now.preds.get(index)
        if found is None:
            found = Msk(bits=self.ir.get("i32", "%rec", PRED + 4 * index))
            self.now.preds[index] = found
        return found

    def pred_write(self, index: int, value: Mask) -> None:
        if index == PT:
            return
        assert index in self.written.predicates
        old = None if self.cursor.exec == FULL else self.pred_whole(index)
        merged = self._merged(old, value)
        if old is not None and isinstance(merged, Msk):
            self._preds[merged.lanes or merged.bits] = copy_of(value), self.cursor.executing
        self.now.preds[index] = merged
        self.now.dirty_preds.add(index)

    def cc_read(self, flag: str) -> Mask:
        found = self.cc_whole(flag)
        written = None
        if isinstance(found, Msk):
            written = self._flags.get(found.lanes) or self._flags.get(found.bits)
        if written is not None:
            raw, under = written
            if self._covers(under):
                return copy_of(raw)
        return found

    def cc_whole(self, flag: str) -> Mask:
        """A flag in all lanes."""
        found = self.now.flags.get(flag)
        if found is None:
            found = Msk(bits=self.ir.get("i32", "%rec", flag_place(flag)))
            self.now.flags[flag] = found
        return found

    def cc_write(self, flag: str, value: Mask) -> None:
        assert self.written.cc
        old = None if self.cursor.exec == FULL else self.cc_whole(flag)
        merged = self._merged(old, value)
        if old is not None and isinstance(merged, Msk):
            self._flags[merged.lanes or merged.bits] = copy_of(value), self.cursor.executing
        self.now.flags[flag] = merged
        self.now.dirty_flags.add(flag)

    def initial(self) -> NamedState:
        """The state of a warp that begins: the record holds zeros where no code writes."""
        preds, flags = dict.fromkeys(range(PT), 0), dict.fromkeys(FLAGS, 0)
        regs = dict.fromkeys(range(self.count), 0)
        written = self.written
        return NamedState(
            {**regs},
            {**preds},
            {**flags},
            set(regs) & written.registers,
            set(written.predicates),
            set(flags) if written.cc else set(),
            **self.uniform.initial(),
        )
