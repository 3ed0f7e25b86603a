"""The warp's state while code is emitted: registers, predicates, flags as IR names, and exits.

Values stay in names until something outside the code needs them.  A `Point` is a place before an
instruction with what was known there; an exit goes back to one: it stores, out of the way, what
the record lacks of the state at that place.  Leaving to the step engine means to begin again at the
last point, so nothing that cannot be done twice may lie behind it: after a change of memory or of
the divergence stack a new point is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gpudbg.isa.spa5.insn import Access
from gpudbg.isa.spa5.operands import PT, RZ
from gpudbg.sm.engines.llvm.floats import F32
from gpudbg.sm.engines.llvm.lanes import FULL, Mask, Msk, Num, Slow, Val
from gpudbg.sm.engines.llvm.layout import Left
from gpudbg.sm.engines.llvm.listing import following
from gpudbg.sm.engines.llvm.special import SpecialOps
from gpudbg.sm.engines.llvm.text import HELD, LIKELY
from gpudbg.sm.record import FIELDS, HEADER_BYTES, ROW_BYTES

PRED = FIELDS["pred"].offset
BUDGET = FIELDS["budget"].offset
FLAGS = "ZSCOK"


def flag_place(flag: str) -> int:
    """Where a flag's mask lies in the record."""
    return FIELDS["cc"].offset + 4 * FLAGS.index(flag)


def _copies(masks: dict[Any, Mask]) -> dict[Any, Mask]:
    return {key: copy_of(mask) for key, mask in masks.items()}


def copy_of(mask: Mask) -> Mask:
    """The mask in the forms it has now: later ones may not be known on this path."""
    return mask if isinstance(mask, int) else Msk(mask.lanes, mask.bits)


def _alike(a: Mask, b: Mask) -> bool:
    """Whether masks are known to be the same."""
    if isinstance(a, Msk) and isinstance(b, Msk):
        return bool(a.bits) and a.bits == b.bits
    return a == b


@dataclass(slots=True)
class Names:
    """What is known of a warp's state in IR names.

    Attributes:
        regs, preds, flags: by number or letter.
        late_regs, late_preds, late_flags: those of them that the record does not hold yet.
    """

    regs: dict[int, Num] = field(default_factory=dict)
    preds: dict[int, Mask] = field(default_factory=dict)
    flags: dict[str, Mask] = field(default_factory=dict)
    late_regs: set[int] = field(default_factory=set)
    late_preds: set[int] = field(default_factory=set)
    late_flags: set[str] = field(default_factory=set)

    def copy(self) -> Names:
        """As it is now."""
        return Names(
            dict(self.regs),
            _copies(self.preds),
            _copies(self.flags),
            set(self.late_regs),
            set(self.late_preds),
            set(self.late_flags),
        )

    def late(self) -> Names:
        """Only what the record does not hold yet, as it is now."""
        return Names(
            {n: self.regs[n] for n in self.late_regs},
            {n: copy_of(self.preds[n]) for n in self.late_preds},
            {n: copy_of(self.flags[n]) for n in self.late_flags},
            set(self.late_regs),
            set(self.late_preds),
            set(self.late_flags),
        )

    def drop(self, kept: Names) -> Names:
        """Take out what the record does not hold yet, except for what is late in `kept`."""
        gone = self.late()
        gone.late_regs -= kept.late_regs
        gone.late_preds -= kept.late_preds
        gone.late_flags -= kept.late_flags
        self.late_regs -= gone.late_regs
        self.late_preds -= gone.late_preds
        self.late_flags -= gone.late_flags
        for index in gone.late_regs:
            del self.regs[index]
        return gone

    def keys(self) -> list[tuple[str, int | str]]:
        """What the record does not hold yet: ("regs", number) and so on."""
        found: list[tuple[str, int | str]] = [("regs", n) for n in sorted(self.late_regs)]
        found += [("preds", n) for n in sorted(self.late_preds)]
        return found + [("flags", f) for f in sorted(self.late_flags)]


@dataclass(slots=True)
class Point:
    """A place that an exit goes back to.

    Attributes:
        pc: of the next instruction there.
        left: name of the budget at the head of its block.
        executed: instructions of the block before it.
        names: what the record lacks.
        rows: of each trace: pointer to their number, their number at the block's head, and how many
            more belong to executed instructions.
        labels: code that the function returns -> label that goes there.
    """

    pc: int
    left: str
    executed: int
    names: Names
    rows: tuple[tuple[str, str, int], ...] = ()
    labels: dict[int, str] = field(default_factory=dict)


class Under(NamedTuple):
    """The lanes that execute: the active ones, and of them those with a guard (index, negated, and
    the predicate's value), or None: all."""

    active: Mask
    guard: tuple[int, bool, Mask] | None


class StateOps(SpecialOps):
    """State of the machine interface; the emitter inherits it.

    Attributes:
        now: the state as names.
        written: what the code writes.
        registers: registers of the record.
        exec: lanes that execute the present instruction.
    """

    registers: int
    exec: Mask
    now: Names
    written: Access
    _active: Mask
    _under: Under
    _pc: int
    _index: int
    _left_at_head: str
    _changed: bool
    _point: Point
    _points: list[Point]
    _tail: list[str]
    _used: dict[int, int]
    """Register to when it was last used, as a count of instructions."""
    _now_at: int
    _read: set[int]
    """Registers of the record that the present trace has read."""

    # ---- points and exits ----------------------------------------------------------------

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Lines for a block out of the way."""
        kept, self.lines = self.lines, []
        yield
        self._tail += self.lines
        self.lines = kept

    def _rows(self, executed: int) -> tuple[tuple[str, str, int], ...]:
        """`Point.rows` after some instructions of the present block."""
        return ()

    def take_point(self) -> None:
        """Exits to the step engine come back here, before the present instruction."""
        self._point = self._point_at(self._pc, self._index)
        self._changed = False

    def _point_at(self, pc: int, executed: int) -> Point:
        rows = self._rows(executed)
        point = Point(pc, self._left_at_head, executed, self.now.late(), rows)
        self._points.append(point)
        return point

    def leave(self, why: Left, pc: int, extra: int = 0, undone: bool = True) -> str:
        if why is Left.STEP:
            return self._exit(self._point, why)
        point = self._point_at(pc, self._index + (0 if undone else 1))
        if why is Left.BARRIER:
            # The grid loop executes a BAR by itself; where it cannot, its row is taken back there.
            point.rows = self._rows(point.executed + 1)
        return self._exit(point, why, extra)

    def _exit(self, point: Point, why: Left, extra: int = 0) -> str:
        """A label that leaves the function, with the state as it was at a point."""
        code = int(why) | extra << 8
        label = point.labels.get(code)
        if label is None:
            label = point.labels[code] = self.fresh("x")
        return label

    def _write_exits(self) -> None:
        """The code of all exits so far."""
        for point in self._points:
            if point.labels:
                with self.aside():
                    self._write_exit(point)
        self._points.clear()

    def _write_exit(self, point: Point) -> None:
        out = self.fresh("s")
        for label in point.labels.values():
            self.label(label)
            self.br(out)
        self.label(out)
        codes = ", ".join(f"[ {code}, %{label} ]" for code, label in point.labels.items())
        code = self.op(f"phi i32 {codes}")
        self._store(point.names)
        self._store_budget(point.left, point.executed)
        for place, first, more in point.rows:
            self.put("i64", self.op(f"add i64 {first}, {more}"), place)
        self.line(f"store i64 {point.pc}, ptr %pcs")
        self.line(f"ret i32 {code}")

    def _store_budget(self, left: str, executed: int) -> None:
        rest = self.op(f"sub i64 {left}, {executed}") if executed else left
        self.line(f"store i64 {rest}, ptr %budget")

    def _store(self, names: Names) -> None:
        """Write late state to the record; names it makes are for this path only."""
        for index in sorted(names.late_regs):
            place = self.at("%rec", HEADER_BYTES + ROW_BYTES * index)
            self.line(f"store {self.whole(names.regs[index], 32)}, ptr {place}, align 64")
        for index in sorted(names.late_preds):
            bits = self.mask_bits(names.preds[index])
            self.put("i32", bits, "%rec", PRED + 4 * index)
        for flag in sorted(names.late_flags):
            bits = self.mask_bits(names.flags[flag])
            self.put("i32", bits, "%rec", flag_place(flag))

    def settle(self) -> None:
        self._store(self.now.late())
        now = self.now
        now.late_regs, now.late_preds, now.late_flags = set(), set(), set()
        self.take_point()

    def spend(self) -> None:
        self._store_budget(self._left_at_head, self._index + 1)

    def require(self, good: str) -> None:
        self._go_on_if(good, self.leave(Left.STEP, self._pc))

    def guess(self, good: str) -> None:
        self._go_on_if(good, self._exit(self._point, Left.GUESS))

    def _go_on_if(self, good: str, otherwise: str) -> None:
        on = self.fresh("on")
        self.choose(good, on, otherwise, LIKELY)
        self.label(on)

    # ---- state ---------------------------------------------------------------------------

    def pc(self) -> int:
        return self._pc

    def next_pc(self) -> int:
        return following(self._pc)

    def lanes(self) -> Mask:
        return self.exec

    def active(self) -> Mask:
        return self._active

    def active_bits(self) -> str:
        return self.mask_bits(self._active)

    def held(self, index: int) -> Num:
        """A register with all its lanes."""
        if index == RZ:
            return 0
        self._used[index] = self._now_at
        found = self.now.regs.get(index)
        if found is None:
            if index >= self.registers:
                raise Slow("a register the warp does not have")
            place = HEADER_BYTES + ROW_BYTES * index
            row = self.at("%rec", place)
            found = Val(32, self.op(f"load <32 x i32>, ptr {row}, align 64{HELD}"), row=index)
            self.now.regs[index] = found
            self._read.add(index)
        return found

    def reg(self, index: int) -> Num:
        found = self.held(index)
        if isinstance(found, Val) and found.raw is not None:
            under = found.under
            assert isinstance(under, Under)
            if _alike(under.active, self._active) and under.guard in (None, self._under.guard):
                return found.raw
        return found

    def lane_read(self, a: Num, lane: Num) -> Num:
        # Lanes are also read that do not execute.
        return super().lane_read((a.whole or a) if isinstance(a, Val) else a, lane)

    def reg_pair(self, index: int) -> Num:
        if index == RZ:
            return 0
        if index & 1:
            raise Slow("an odd register pair")
        return self.wide(self.reg(index), self.reg(index + 1))

    def reg_write(self, index: int, value: Num) -> None:
        if index == RZ:
            return
        if index >= self.registers:
            raise Slow("a register the warp does not have")
        assert index in self.written.registers
        single, origin = "", None
        if isinstance(value, Val):
            single, origin = value.single, value.origin
        if self.exec != FULL:
            old, given = self.held(index), value
            value = self.select(self.exec, value, old)
            self.merged(self.exec, given, old, value)
            if single:
                single = self.pick(self.exec, F32, single, self.f32(old))
            origin = None
        if isinstance(value, Val):
            self.joined(value)
            value = Val(32, value.ref, value.one)
            value.single, value.origin = single, origin
            if self.exec != FULL:
                value.raw, value.under = self._raw(given, value), self._under
        self._used[index] = self._now_at
        self.now.regs[index] = value
        self.now.late_regs.add(index)

    def _raw(self, given: Num, whole: Val) -> Val | None:
        """What has been written, as a value of its own; None for a number."""
        if isinstance(given, int):
            return None
        self.joined(given)
        raw = Val(32, given.ref, given.one)
        raw.single, raw.origin, raw.whole = given.single, given.origin, whole
        return raw

    def reg_pair_write(self, index: int, value: Num) -> None:
        if index == RZ:
            return
        if index & 1:
            raise Slow("an odd register pair")
        low, high = self.lo(value), self.hi(value)
        self.reg_write(index, low)
        self.reg_write(index + 1, high)

    def _merged(self, old: Mask | None, value: Mask) -> Mask:
        """A mask with the executing lanes replaced, as bits: cheaper than on lanes."""
        if old is None:
            return value
        here = Msk(bits=self.mask_bits(self.exec))
        new = Msk(bits=self.mask_bits(value))
        was = Msk(bits=self.mask_bits(old))
        # (old & ~here) | (new & here) takes one operation less as old ^ ((old ^ new) & here).
        both = self.mxor(was, self.mand(self.mxor(was, new), here))
        return Msk(bits=self.mask_bits(both))

    def pred(self, index: int) -> Mask:
        if index == PT:
            return FULL
        found = self.now.preds.get(index)
        if found is None:
            found = Msk(bits=self.get("i32", "%rec", PRED + 4 * index))
            self.now.preds[index] = found
        return found

    def pred_write(self, index: int, value: Mask) -> None:
        if index == PT:
            return
        assert index in self.written.predicates
        old = None if self.exec == FULL else self.pred(index)
        self.now.preds[index] = self._merged(old, value)
        self.now.late_preds.add(index)

    def cc_read(self, flag: str) -> Mask:
        found = self.now.flags.get(flag)
        if found is None:
            found = Msk(bits=self.get("i32", "%rec", flag_place(flag)))
            self.now.flags[flag] = found
        return found

    def cc_write(self, flag: str, value: Mask) -> None:
        assert self.written.cc
        old = None if self.exec == FULL else self.cc_read(flag)
        self.now.flags[flag] = self._merged(old, value)
        self.now.late_flags.add(flag)
