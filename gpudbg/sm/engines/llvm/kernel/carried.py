"""Tests of registers' lanes that hold from one piece of straight code to the next.

A piece is entered from the one before, where a test that has been made still holds as long as the
register is not written, and from the record, which a debugger may have changed.  What code of the
piece relies on is tested again on the second way alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from gpudbg.dataclass import dataclass
from gpudbg.sm.engines.llvm.ir.builder import LIKELY, Builder
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.values import FULL, Val
from gpudbg.sm.engines.llvm.kernel import lane_facts
from gpudbg.sm.engines.llvm.kernel.lane_facts import LaneFact
from gpudbg.sm.engines.llvm.kernel.patterns import Pattern
from gpudbg.sm.engines.llvm.layout import Left

Test = tuple[int, Pattern]
"""(Register, bytes from what lane 0 has to what each lane has)."""


@dataclass(slots=True, eq=False)
class _Entry:
    """Where a piece is entered from the record.

    Attributes:
        pc: its head.
        goal: label of the block behind the tests, to which there is a branch in place of them.
        before: tests that hold on the way from the piece before -> its entry, where it has them
            from the one before that, too; else None.
        needed: those that code relies on.
    """

    pc: int
    goal: str
    before: dict[Test, _Entry | None]
    needed: set[Test] = field(default_factory=set)


class CarriedTests:
    """Tests that hold at the present place of a trace."""

    def __init__(self, ir: Builder, ints: Integers, wanted: bool) -> None:
        """Args: wanted: tests are noted."""
        self.ir, self.ints, self._wanted = ir, ints, wanted
        self._now: dict[Test, _Entry | None] = {}
        """Test -> the entry of the present piece, if it was made before that."""
        self._entries: list[_Entry] = []

    def mark(self) -> dict[Test, _Entry | None]:
        """The tests made so far, for `revert`."""
        return dict(self._now)

    def revert(self, mark: dict[Test, _Entry | None]) -> None:
        """Forget tests made since a mark."""
        self._now = mark

    def begin_trace(self) -> None:
        """Begin a trace: nothing is known."""
        self._now, self._entries = {}, []

    def forget(self, registers: Iterable[int] | None = None) -> None:
        """Forget tests of registers that have been written; None: all."""
        gone = None if registers is None else set(registers)
        self._now = {t: e for t, e in self._now.items() if gone is not None and t[0] not in gone}

    def note(self, value: Val, steps: Pattern) -> None:
        """A register's value has been tested here: elsewhere the code has been left."""
        if self._wanted and value.row >= 0:
            self._now.setdefault((value.row, steps), None)

    def holds(self, value: Val, steps: Pattern) -> bool:
        """Whether a test of a register's value has been made; code relies on it then."""
        test = value.row, steps
        if test not in self._now:
            return False
        entry = self._now[test]
        while entry is not None:
            entry.needed.add(test)
            entry = entry.before[test]
        return True

    def enter(self, pc: int, head: str) -> str:
        """Emit the place for tests at a piece's entry from the record; the label of the block.

        Args:
            head: label of the present block.
        """
        if not self._now:
            return head
        entry = _Entry(pc, self.ir.fresh("w"), self._now)
        self._entries.append(entry)
        self._now = dict.fromkeys(self._now, entry)
        self.ir.br(entry.goal)
        self.ir.label(entry.goal)
        return entry.goal

    def finish(self) -> None:
        """Emit the tests that turned out to be needed, at the end of the trace."""
        ir = self.ir
        whole = ir.lines
        for entry in self._entries:
            if not entry.needed:
                continue
            place = whole.index(f"  br label %{entry.goal}")
            out = ir.fresh("x")
            ir.lines = []
            for register, steps in sorted(entry.needed):
                fact = LaneFact(1, tuple(step & FULL for step in steps))
                good = lane_facts.test(self.ints, {register: fact})
                on = ir.fresh("on")
                ir.choose(good, on, out, LIKELY)
                ir.label(on)
            whole[place:place] = ir.lines
            with ir.aside():
                ir.label(out)
                ir.line(f"store i64 {entry.pc}, ptr %pcs")
                ir.line(f"ret i32 {int(Left.ELSEWHERE)}")
        ir.lines = whole
        self._entries = []
