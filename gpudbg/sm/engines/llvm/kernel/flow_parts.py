"""The parts that control flow of both families of instruction sets uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from gpudbg.sm.engines.llvm.ir.builder import LIKELY, Builder
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.values import FULL, Mask, Msk, Values, copy_of
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.engines.llvm.kernel.edges import Edges, PushedToken
from gpudbg.sm.engines.llvm.kernel.exits import Exits
from gpudbg.sm.engines.llvm.kernel.final_state import CALL
from gpudbg.sm.engines.llvm.kernel.runtime_calls import RuntimeCalls
from gpudbg.sm.engines.llvm.kernel.succession import Succession
from gpudbg.sm.engines.llvm.layout import Left
from gpudbg.sm.record import DONE, FIELDS

_ACTIVE, _EXITED, _VALID, _STATUS, _STACK, _STEP = (
    FIELDS[name].offset for name in "active exited valid status stack stack_step".split()
)
NEAR = 48
"""Most instructions to the end of lanes that go on in place."""
_TAIL = 12
"""The same where others of the warp have ended."""


class FlowParts:
    """The parts that control operations use.

    Attributes:
        full: all lanes are active in this version of the code.
        succession: goes on to other warps, where the code may do that.
    """

    succession: Succession | None = None

    def __init__(
        self,
        ir: Builder,
        values: Values,
        ints: Integers,
        cursor: Cursor,
        exits: Exits,
        edges: Edges,
        runtime: RuntimeCalls,
        full: bool,
    ) -> None:
        self.ir, self.values, self.ints, self.cursor = ir, values, ints, cursor
        self.exits, self.edges, self.runtime = exits, edges, runtime
        self.full = full

    @contextmanager
    def _unless_sure(self, mask: Mask, *goals: tuple[bool, str]) -> Iterator[None]:
        """Emit jumps where scalars tell that no lane of a mask is set, or every one is; then what
        this is a context of, out of the way where there are any.

        Args:
            goals: whether every lane is set, and where to go then.
        """
        sure: list[tuple[str, str]] = []
        if self.full and isinstance(mask, Msk) and not mask.truth:
            sure = [(mask.every if every else mask.none, goal) for every, goal in goals]
            sure = [(test, goal) for test, goal in sure if test]
        for test, goal in sure:
            self.ir.unless(test, goal, LIKELY)
        with self.ir.group_aside() if sure else nullcontext():
            yield

    def _falls(self, mask: Mask, same: bool = False) -> str:
        """The label of what comes next where no lane of a mask is set."""
        label, ahead, guard = self.edges.falls(same), self.edges.ahead, self._guard_of(mask)
        if guard is not None and ahead is not None and label == ahead.label:
            index, negated = guard
            ahead.names.preds[index] = FULL if negated else 0
        return label

    @contextmanager
    def _every(self, mask: Mask) -> Iterator[None]:
        """What is emitted here is gone to where every lane of a mask is set."""
        preds, guard = self.exits.registers.now.preds, self._guard_of(mask)
        if guard is None:
            yield
            return
        index, negated = guard
        kept, preds[index] = preds[index], 0 if negated else FULL
        try:
            yield
        finally:
            preds[index] = kept

    def _guard_of(self, mask: Mask) -> tuple[int, bool] | None:
        """(Number, whether negated) of the predicate that a mask of a whole warp's lanes is."""
        guard = self.cursor.executing.guard
        if not self.full or guard is None or mask is not self.cursor.exec:
            return None
        index, negated, _ = guard
        return (index, negated) if index in self.exits.registers.now.preds else None

    def _settle_at_end(self, mask: Mask) -> None:
        """Bring the record up to date before an EXIT of these lanes."""
        if self.full and mask == FULL:
            self.exits.settle_finally()
        else:
            self.exits.settle()

    def _complete_at_end(self, mask: Mask) -> None:
        """Have all in the record where the warp does not end with these lanes after all."""
        if self.full and mask == FULL:
            self.ir.lines.append(CALL)

    def _remain(self, mask: Mask, lanes: str) -> tuple[str, str]:
        """(i32: not 0 if lanes are left when these exit, the lanes that have exited then)."""
        if self.full and mask == FULL:
            return "0", str(FULL)
        ir = self.ir
        rest = ir.op(f"xor i32 {self._active_bits()}, {lanes}")
        gone = ir.op(f"or i32 {ir.get('i32', '%rec', _EXITED)}, {lanes}")
        lost = ir.op(f"xor i32 {ir.get('i32', '%rec', _VALID)}, {gone}")
        return ir.op(f"or i32 {rest}, {lost}"), gone

    def _note_exit(self, gone: str, mask: Mask) -> None:
        """Emit that these lanes, the last active ones, have exited, `gone` altogether."""
        if self.succession is not None and (mask == FULL or self.cursor.parted):
            self.succession.note_end()
        else:
            self.ir.put("i32", gone, "%rec", _EXITED)
            self.ir.put("i32", 0, "%rec", _ACTIVE)

    def _end_warp(self, mask: Mask) -> None:
        """Leave, or go on to another warp, behind an EXIT of these lanes that ends the warp."""
        if self.succession is not None and (mask == FULL or self.cursor.parted):
            self.succession.end()
        else:
            self.ir.br(self.exits.side_exit(Left.DONE, self.cursor.pc, undone=False))

    def _leave_at_barrier(self, mode: str, number: int, threads: int, code: int) -> None:
        """Leave for the grid loop at a BAR, or go on to another warp."""
        simple = mode == "SYNC" and not threads and self.full and self.cursor.exec == FULL
        if self.succession is not None and simple:
            self.succession.wait(number, code)
        else:
            self.ir.br(self.exits.side_exit(Left.BARRIER, self.cursor.pc, code))

    def _to_ends(self, *heads: int, most: int = NEAR) -> list[int]:
        """Instructions that lanes execute which part from the others of a whole warp, to their end,
        if that is near: they go on in place, those of the first head first. Empty: they do not."""
        edges, found = self.edges, list[int]()
        for head in heads if edges.may_part else ():
            path = edges.listing.straight_end(head, most)
            if not path:
                return []
            found += path
        return [] if edges.tokens else found

    def _nothing_waits(self) -> str:
        """An i1: an EXIT of some lanes does nothing but end them."""
        raise NotImplementedError

    def _others_stay(self, lanes: str) -> None:
        """Emit the exit of lanes of a whole warp, and a jump to where the others go on in place,
        if that is not far; what follows is for all lanes, and for when that must not be."""
        ir, edges = self.ir, self.edges
        path = self._to_ends(self.cursor.next_pc, most=_TAIL)
        if not path:
            return
        rest = ir.op(f"xor i32 {self._active_bits()}, {lanes}")
        some = ir.op(f"icmp ne i32 {rest}, 0")
        good = ir.op(f"and i1 {self._nothing_waits()}, {edges.undisturbed(path)}")
        stay, slow = ir.fresh("stay"), ir.fresh("slow")
        ir.choose(ir.op(f"and i1 {good}, {some}"), stay, slow, LIKELY)
        ir.label(stay)
        part = edges.part(self.cursor.next_pc, Msk(bits=rest), ())
        self._count_out(lanes)
        ir.put("i32", lanes, "%rec", _EXITED)
        ir.put("i32", rest, "%rec", _ACTIVE)
        ir.br(part)
        ir.label(slow)

    def _entry(self, number: str) -> str:
        """A pointer to an entry of the stack."""
        ir = self.ir
        stack = ir.at("%rec", ir.get("i64", "%rec", _STACK))
        step = ir.get("i32", "%rec", _STEP)
        wide = [ir.op(f"zext i32 {each} to i64") for each in (number, step)]
        return ir.at(stack, ir.op(f"mul i64 {wide[0]}, {wide[1]}"))

    def _exit_apart(self, mask: Mask) -> None:
        """Emit the exit of all active lanes, part of a whole warp, which parted in this trace: the
        others go on, or the warp ends."""
        ir, tokens, pc = self.ir, self.edges.tokens, self.cursor.pc
        lanes = self.values.mask_bits(mask)
        self.cursor.terminated = True
        self._count_out(lanes)
        if not tokens:
            # Both sides have ended.
            self.exits.settle_finally()
            self._note_exit(str(FULL), mask)
            ir.put("i32", DONE, "%rec", _STATUS)
            self._end_warp(mask)
            return
        (token,) = tokens
        goal = self.edges.listing.layout.first(token.target)
        found = self.edges.others(goal, copy_of(token.lanes))
        ir.put("i32", lanes, "%rec", _EXITED)
        self._let_others_go(token)
        ir.put("i32", self.values.mask_bits(copy_of(token.lanes)), "%rec", _ACTIVE)
        if token.target != self.cursor.next_pc:
            ir.line(f"store i64 {pc}, ptr %came_from")
        ir.br(found)

    def _let_others_go(self, token: PushedToken) -> None:
        """Emit that nobody waits any more, where some lanes did that are to go on."""
        raise NotImplementedError

    def _count_out(self, lanes: str) -> None:
        """Emit what the block counts of threads that exit."""

    def _active_bits(self) -> str:
        """The mask of the active lanes as an i32 operand."""
        return self.values.mask_bits(self.cursor.active)
