"""Special registers in compiled code: by lane, from the warp record, fixed in a launch, clocks.

A clock counts instructions (`gpudbg.sm.sregs`): those of the SM, or of the launch, when the turn in
progress began, and those of the turn so far.  Other registers are read by the step engine.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpudbg.regs.special import coupled_numbers
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import LANES, Builder
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.values import UNIFORM, Num, Slow, Val
from gpudbg.sm.engines.llvm.kernel.cluster_rank import ClusterRank
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.lane_patterns import LANE_REGISTERS, THREAD_REGISTERS
from gpudbg.sm.record import FIELDS
from gpudbg.sm.residency import arena
from gpudbg.sm.sregs import TIMER_STEP

VIRTUAL_ID = 3

CTA_RANK = 136
"""The CTA's rank in its cluster."""

CTAIDS = {37: 0, 38: 1, 39: 2}

CLOCKS = {80: 0, 81: 32}
"""SM clock -> first bit of the count."""

TIMERS = {82: 0, 83: 32}

FIXED = frozenset((2, *range(46, 56), 61, 62))
"""Registers that have one value throughout a launch."""

COMPILED_SREGS = frozenset((*LANE_REGISTERS, *THREAD_REGISTERS, *CTAIDS))
"""Registers read from the record alone."""

LAUNCH_SREGS = COMPILED_SREGS | {VIRTUAL_ID, *CLOCKS, *TIMERS}
"""Registers that need the grid loop's fields as well."""

TID = FIELDS["tid"].offset

_MOST_ROWS = 4
"""Rows of threads in a warp up to which what they have is a scalar for each."""

CTAID = FIELDS["ctaid"].offset

VIRTUAL = FIELDS["virtual_id"].offset


class SpecialRegisters:
    """Reads of special registers.

    Attributes:
        sregs: registers with a compiled version.
        fixed: values of the registers that do not change during the launch.
        rows: lanes of a row of threads, which begins at 0 or follows another; 0: not known.
    """

    def __init__(
        self,
        ir: Builder,
        ints: Integers,
        cursor: Cursor,
        sregs: frozenset[int],
        fixed: Mapping[int, int],
        rank: ClusterRank,
        rows: int = 0,
    ) -> None:
        self.ir, self.ints, self.cursor = ir, ints, cursor
        self.sregs, self.fixed, self.rank, self.rows = sregs, fixed, rank, rows

    def sreg(self, index: int) -> Num:
        if index in self.fixed:
            return self.fixed[index]
        if index not in self.sregs:
            raise Slow("a special register that is read by the step engine")
        if index in LANE_REGISTERS:
            numbers = ", ".join(f"i32 {n}" for n in LANE_REGISTERS[index])
            return Val(32, f"<{numbers}>")
        if index in THREAD_REGISTERS and not THREAD_REGISTERS[index] and self.rows:
            return self._column()
        if index in THREAD_REGISTERS and LANES <= self.rows * _MOST_ROWS:
            return self._of_rows(TID + 128 * THREAD_REGISTERS[index])
        if index in THREAD_REGISTERS:
            return Val(
                32, self.ir.get("<32 x i32>", "%rec", TID + 128 * THREAD_REGISTERS[index], 64)
            )
        if index in CTAIDS:
            return Val(32, self.ir.get("i32", "%rec", CTAID + 4 * CTAIDS[index]), UNIFORM)
        if index == CTA_RANK:
            return self.rank.number()
        if index == VIRTUAL_ID:
            return self.ints.or_(
                Val(32, self.ir.get("i32", "%rec", VIRTUAL), UNIFORM), self.sreg(0)
            )
        return self._clock(index)

    def _of_rows(self, place: int) -> Num:
        """What rows of threads have at a place of the record."""
        firsts = range(0, LANES, self.rows)
        words = (Val(32, self.ir.get("i32", "%rec", place + 4 * n), UNIFORM) for n in firsts)
        return self.ints.affine(tuple(words), (0,) * LANES)

    def _column(self) -> Num:
        """A thread's number in its row."""
        if self.rows < LANES:
            return self.ints.lanes_of(tuple(n % self.rows for n in range(LANES)))
        first = Val(32, self.ir.get("i32", "%rec", TID), UNIFORM)
        return self.ints.affine((first,), tuple(range(LANES)))

    def sreg_coupled(self, index: int) -> Num:
        return self.sreg(index) if index in coupled_numbers() else 0

    def _clock(self, index: int) -> Val:
        """One word of a 64-bit instruction count."""
        ir, cursor = self.ir, self.cursor
        left = ir.get("i64", "%env", layout.FIELD["left"])
        turn = ir.op(f"sub i64 {left}, {cursor.budget}")
        if index in CLOCKS:
            cta = ir.get("ptr", "%rec", layout.CTA_POINTER)
            before = ir.get("i64", ir.get("ptr", cta, arena.ISSUED))
            shift = CLOCKS[index]
        else:
            before = ir.get("i64", "%env", layout.FIELD["total"])
            before = ir.op(f"add i64 {before}, {ir.get('i64', '%env', layout.FIELD['before'])}")
            shift = TIMERS[index]
        # What other warps have executed since that was counted.
        room = (ir.get("i64", "%env", at) for at in (layout.ROOM_BEFORE, layout.ROOM))
        since = ir.op(f"sub i64 {', '.join(room)}")
        before = ir.op(f"add i64 {before}, {since}")
        now = ir.op(f"add i64 {ir.op(f'add i64 {before}, {turn}')}, {cursor.index}")
        if index in TIMERS:
            now = ir.op(f"and i64 {now}, {-TIMER_STEP}")
        half = ir.op(f"lshr i64 {now}, {shift}")
        return Val(32, ir.op(f"trunc i64 {half} to i32"), UNIFORM)
