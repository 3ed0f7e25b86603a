"""Branches, the divergence stack, exits and barriers of the machine interface as LLVM IR.

The uniform cases go from block to block; the others change the stack in the record as
`gpudbg.sm.convergence` does.  An instruction that would raise leaves before it begins.
"""

from __future__ import annotations

from gpudbg.sm.engines.llvm import barriers, loop
from gpudbg.sm.engines.llvm.lanes import FULL, Mask, Msk, Num, Slow, Val
from gpudbg.sm.engines.llvm.layout import Left
from gpudbg.sm.engines.llvm.shared import SharedOps
from gpudbg.sm.record import DONE, FIELDS, FLAG_IDE, TOKEN_CODE

ACTIVE = FIELDS["active"].offset
DEPTH = FIELDS["depth"].offset
CAPACITY = FIELDS["capacity"].offset
STACK, STEP = (FIELDS[name].offset for name in ("stack", "stack_step"))
STATUS = FIELDS["status"].offset
EXITED = FIELDS["exited"].offset
VALID = FIELDS["valid"].offset
FLAGS = FIELDS["flags"].offset
CAME_FROM = FIELDS["came_from"].offset
BAR_COUNT = FIELDS["bar_count"].offset
BAR_PRED = FIELDS["bar_pred"].offset


def landing(target: int) -> int:
    """The instruction a flow target means: the first word of a bundle is not one."""
    return target if target & 31 else target + 8


class FlowOps(SharedOps):
    """Control operations; the emitter inherits them.

    Attributes:
        full: all lanes are active in this version of the code.
        ended: the present block has its terminator.
        guarded: the present instruction has a guard.
    """

    full: bool
    ended: bool
    guarded: bool

    def pc(self) -> int:
        raise NotImplementedError

    def next_pc(self) -> int:
        raise NotImplementedError

    def leave(self, why: Left, pc: int, extra: int = 0, undone: bool = True) -> str:
        """A label that leaves the function; `undone`: this instruction has not executed."""
        raise NotImplementedError

    def edge(self, pc: int, turn: bool = True) -> str:
        """A label that goes on at a pc in this version; `turn`: the turn may end there."""
        raise NotImplementedError

    def falls(self, same: bool = False) -> str:
        """A label that goes on at the next instruction; values known now may be known there.

        Args:
            same: the active lanes are as they are now, whatever way leads there.
        """
        return self.edge(self.next_pc())

    def settle(self) -> None:
        """Bring the record up to date, before the present instruction."""
        raise NotImplementedError

    def spend(self) -> None:
        """Take what has executed off the budget in the record, with the present instruction."""
        raise NotImplementedError

    def active_bits(self) -> str:
        """The mask of the active lanes as an i32 operand."""
        raise NotImplementedError

    # ---- the stack ---------------------------------------------------------------------

    def _room(self) -> str:
        """The depth; leaves when the stack is full."""
        depth = self.get("i32", "%rec", DEPTH)
        capacity = self.get("i32", "%rec", CAPACITY)
        self.require(self.op(f"icmp ult i32 {depth}, {capacity}"))
        return depth

    def _push(self, depth: str, kind: str, lanes: str, target: int | str) -> None:
        base = self.get("i64", "%rec", STACK)
        stack = self.at("%rec", base)
        step = self.get("i32", "%rec", STEP)
        wide = [self.op(f"zext i32 {each} to i64") for each in (depth, step)]
        entry = self.at(stack, self.op(f"mul i64 {wide[0]}, {wide[1]}"))
        self.put("i32", TOKEN_CODE[kind], entry)
        self.put("i32", lanes, entry, 4)
        self.put("i64", target, entry, 8)
        self.put("i32", self.op(f"add i32 {depth}, 1"), "%rec", DEPTH)

    def push(self, kind: str, target: int | Num) -> None:
        if self.guarded or not isinstance(target, int) or target < 0:
            raise Slow("a guarded or computed token, or one that wraps around address 0")
        self._push(self._room(), kind, self.active_bits(), target)

    # ---- going -------------------------------------------------------------------------

    def _flow(self, target: int) -> str:
        """A label: the flow changes to `target`."""
        if target == self.next_pc():
            return self.edge(landing(target))
        here, goal = self.fresh("taken"), self.edge(landing(target))
        self.later(here, [f"store i64 {self.pc()}, ptr %came_from", f"br label %{goal}"])
        return here

    def later(self, label: str, lines: list[str]) -> None:
        """A block to be written at the end of the function."""
        raise NotImplementedError

    def branch(self, mask: Mask, target: int | Num) -> None:
        if not isinstance(target, int):
            self._jump(mask, target)
            return
        if target < 0:
            raise Slow("a target that wraps around address 0")
        if isinstance(mask, int) and mask == FULL and self.full:
            self.br(self._flow(target))
            self.ended = True
            return
        lanes, active = self.mask_bits(mask), self.active_bits()
        falls, taken = self.falls(), self._flow(target)
        self.unless(self.op(f"icmp eq i32 {lanes}, 0"), falls)
        self.unless(self.op(f"icmp eq i32 {lanes}, {active}"), taken)
        self._push(self._room(), "DIV", lanes, target)
        stay = self.op(f"xor i32 {active}, {lanes}")
        self.put("i32", stay, "%rec", ACTIVE)
        self.br(self.leave(Left.SWITCH, self.next_pc(), undone=False) if self.full else falls)
        self.ended = True

    def _jump(self, mask: Mask, target: Num) -> None:
        """A branch to computed places."""
        self.settle()
        lanes, active = self.mask_bits(mask), self.active_bits()
        if self.uniform(target):
            self.require(self.op(f"icmp eq i32 {lanes}, {active}"))
            self._arrive(self.op(f"zext i32 {self.scalar(target, 32)} to i64"))
            return
        if self.guarded:
            self.unless(self.op(f"icmp eq i32 {lanes}, 0"), self.edge(self.next_pc()))
        row, spread = self.row_of(target, 32), self.function("spread")
        goal = self.op(f"call i64 {spread}(ptr %rec, ptr {row}, i32 {lanes}, i64 {self.next_pc()})")
        self.require(self.op(f"icmp sge i64 {goal}, 0"))
        self._arrive(goal)

    def _arrive(self, goal: str) -> None:
        """Go on at a computed place, which may end the turn or change the version."""
        moved = self.op(f"icmp ne i64 {goal}, {self.next_pc()}")
        before = self.get("i64", "%came_from")
        self.put("i64", self.op(f"select i1 {moved}, i64 {self.pc()}, i64 {before}"), "%came_from")
        low = self.op(f"and i64 {goal}, 31")
        even = self.op(f"icmp eq i64 {low}, 0")
        skip = self.op(f"select i1 {even}, i64 8, i64 0")
        self.put("i64", self.op(f"add i64 {goal}, {skip}"), "%rec", FIELDS["pc"].offset)
        self.spend()
        self.br("dispatch")
        self.ended = True

    def call(self, target: int | Num) -> None:
        if self.guarded or not isinstance(target, int) or target < 0:
            raise Slow("a guarded or computed call, or one that wraps around address 0")
        self._push(self._room(), "RET", self.active_bits(), self.next_pc())
        self.br(self._flow(target))
        self.ended = True

    # ---- waiting -----------------------------------------------------------------------

    def pop(self, kind: str, mask: Mask) -> None:
        self._release("pop", f"i32 {TOKEN_CODE[kind]}, ", mask)

    def exit(self, mask: Mask) -> None:
        self._release("exit", "", mask)

    def _release(self, function: str, first: str, mask: Mask) -> None:
        """Lanes stop running: the library finds who goes on, and where."""
        if mask == 0:
            self.br(self.edge(self.next_pc()))
            self.ended = True
            return
        lanes = self.mask_bits(mask)
        if not isinstance(mask, int):
            self.unless(self.op(f"icmp eq i32 {lanes}, 0"), self.falls(True))
        self.settle()
        if function == "exit":
            self._exit_whole(lanes)
        target = self.function(function)
        goal = self.op(f"call i64 {target}(ptr %rec, {first}i32 {lanes}, i64 {self.next_pc()})")
        self.require(self.op(f"icmp ne i64 {goal}, -1"))
        if function == "exit":
            status = self.get("i32", "%rec", STATUS)
            over = self.op(f"icmp ne i32 {status}, 0")
            self.unless(over, self.leave(Left.DONE, self.pc(), undone=False))
        self._arrive(goal)

    def _exit_whole(self, lanes: str) -> None:
        """The usual end: no lane is left and none waits."""
        rest = self.op(f"xor i32 {self.active_bits()}, {lanes}")
        inside = self.op(f"and i32 {self.get('i32', '%rec', FLAGS)}, {FLAG_IDE}")
        depth = self.get("i32", "%rec", DEPTH)
        gone = self.op(f"or i32 {self.get('i32', '%rec', EXITED)}, {lanes}")
        lost = self.op(f"xor i32 {self.get('i32', '%rec', VALID)}, {gone}")
        first, second = self.op(f"or i32 {rest}, {inside}"), self.op(f"or i32 {depth}, {lost}")
        whole, part = self.fresh("whole"), self.fresh("part")
        odd = self.op(f"or i32 {first}, {second}")
        self.choose(self.op(f"icmp eq i32 {odd}, 0"), whole, part)
        self.label(whole)
        self.put("i32", gone, "%rec", EXITED)
        self.put("i32", 0, "%rec", ACTIVE)
        self.put("i32", DONE, "%rec", STATUS)
        self.br(self.leave(Left.DONE, self.pc(), undone=False))
        self.label(part)

    def quad_activate(self, on: bool) -> None:
        raise Slow("SAM and RAM")

    def barrier(
        self, mode: str, barrier_id: Num, count: Num | None, reduce_op: str, pred: Mask | None
    ) -> None:
        threads = 0 if count is None else count
        if not isinstance(threads, int) or not isinstance(barrier_id, int) or barrier_id > 15:
            raise Slow("a barrier whose number or size is computed")
        lanes = self.mask_bits(self.exec)
        if self.guarded:
            self.unless(self.op(f"icmp eq i32 {lanes}, 0"), self.edge(self.next_pc()))
        if mode == "RED":
            voted = self.mask_bits(self.mand(FULL if pred is None else pred, self.exec))
            for name, mask in (("voted", voted), ("voters", lanes)):
                self.put("i64", self.op(f"zext i32 {mask} to i64"), "%env", loop.FIELD[name])
        code = barriers.code_of(mode, barrier_id, reduce_op, threads)
        self.br(self.leave(Left.BARRIER, self.pc(), code))
        self.ended = True

    def barrier_result(self) -> tuple[Num, Mask]:
        count = Val(32, self.get("i32", "%rec", BAR_COUNT), True)
        return count, Msk(bits=self.get("i32", "%rec", BAR_PRED))
