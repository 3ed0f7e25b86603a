"""Branches, the divergence stack, exits and barriers of the machine interface as LLVM IR.

The uniform cases go from block to block; the others change the stack in the record as
`gpudbg.sm.divergence.step` does.  An instruction that would raise leaves before it begins.
"""

from __future__ import annotations

from contextlib import nullcontext

from gpudbg.code_layout import BUNDLES
from gpudbg.mem.lanes import WARP_SIZE
from gpudbg.sm.barriers import compiled as barriers
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import LIKELY
from gpudbg.sm.engines.llvm.ir.values import FULL, UNIFORM, Mask, Msk, Num, Slow, Val, copy_of
from gpudbg.sm.engines.llvm.kernel.edges import PushedToken
from gpudbg.sm.engines.llvm.kernel.flow_parts import FlowParts
from gpudbg.sm.engines.llvm.layout import Left
from gpudbg.sm.record import DONE, FIELDS, FLAG_IDE, TOKEN_CODE

ACTIVE = FIELDS["active"].offset
DEPTH = FIELDS["depth"].offset
CAPACITY = FIELDS["capacity"].offset
STATUS = FIELDS["status"].offset
EXITED = FIELDS["exited"].offset
VALID = FIELDS["valid"].offset
FLAGS = FIELDS["flags"].offset
CAME_FROM = FIELDS["came_from"].offset
BAR_COUNT = FIELDS["bar_count"].offset
BAR_PRED = FIELDS["bar_pred"].offset


class KernelFlow(FlowParts):
    """Control operations."""

    def _room(self) -> str:
        """The depth of the stack; leaves when it is full."""
        depth = self.ir.get("i32", "%rec", DEPTH)
        capacity = self.ir.get("i32", "%rec", CAPACITY)
        self.exits.bail_unless(self.ir.op(f"icmp ult i32 {depth}, {capacity}"))
        return depth

    def _push(self, depth: str, kind: str, lanes: str, target: int | str) -> None:
        ir, entry = self.ir, self._entry(depth)
        ir.put("i32", TOKEN_CODE[kind], entry)
        ir.put("i32", lanes, entry, 4)
        ir.put("i64", target, entry, 8)
        ir.put("i32", ir.op(f"add i32 {depth}, 1"), "%rec", DEPTH)

    def push(self, kind: str, target: int | Num) -> None:
        if self.cursor.guarded or not isinstance(target, int) or target < 0:
            raise Slow("a guarded or computed token, or one that wraps around address 0")
        depth, lanes = self._room(), self._active_bits()
        self._push(depth, kind, lanes, target)
        token = PushedToken(kind, target, FULL if self.full else Msk(bits=lanes), depth)
        self.edges.tokens = *self.edges.tokens, token

    def _flow(self, target: int) -> str:
        """A label of the code that changes the flow to `target`."""
        if target == self.cursor.next_pc:
            return self.edges.edge(BUNDLES.first(target))
        here, goal = self.ir.fresh("taken"), self.edges.edge(BUNDLES.first(target))
        self.ir.later(here, [f"store i64 {self.cursor.pc}, ptr %came_from", f"br label %{goal}"])
        return here

    def branch(self, mask: Mask, target: int | Num) -> None:
        ir, cursor = self.ir, self.cursor
        if not isinstance(target, int):
            self._jump(mask, target)
            return
        if target < 0:
            raise Slow("a target that wraps around address 0")
        if isinstance(mask, int) and mask == FULL and self.full:
            ir.br(self._flow(target))
            cursor.terminated = True
            return
        lanes, active = self.values.mask_bits(mask), self._active_bits()
        falls = self._falls(mask)
        self.edges.some_fall(falls)
        with self._every(mask):
            taken = self._flow(target)
        goals = [(False, falls), (True, taken)]
        with self._unless_sure(mask, *(goals[::-1] if target <= cursor.pc else goals)):
            ir.unless(ir.op(f"icmp eq i32 {lanes}, 0"), falls)
            ir.unless(ir.op(f"icmp eq i32 {lanes}, {active}"), taken)
            self._diverge(lanes, active, target, falls)
        cursor.terminated = True

    def _diverge(self, lanes: str, active: str, target: int, falls: str) -> None:
        """Emit a branch that some of the active lanes take: the others go on first."""
        ir, edges, here = self.ir, self.edges, self.cursor.next_pc
        alone = self._nothing_waits() if self.full else ""
        depth = self._room()
        self._push(depth, "DIV", lanes, target)
        stay = ir.op(f"xor i32 {active}, {lanes}")
        ir.put("i32", stay, "%rec", ACTIVE)
        if not self.full:
            ir.br(falls)
            return
        away = self.exits.side_exit(Left.SWITCH, here, undone=False)
        path = self._to_ends(here, BUNDLES.first(target))
        if not path:
            ir.br(away)
            return
        token = PushedToken("DIV", target, Msk(bits=lanes), depth)
        part = edges.part(here, Msk(bits=stay), (token,))
        good = ir.op(f"and i1 {alone}, {edges.undisturbed(path)}")
        ir.choose(good, part, away, LIKELY)

    def _nothing_waits(self) -> str:
        ir, depth = self.ir, self.ir.get("i32", "%rec", DEPTH)
        odd = ir.op(f"and i32 {ir.get('i32', '%rec', FLAGS)}, {FLAG_IDE}")
        return ir.op(f"icmp eq i32 {ir.op(f'or i32 {odd}, {depth}')}, 0")

    def _jump(self, mask: Mask, target: Num) -> None:
        """Emit a branch to computed targets."""
        ir, values, cursor = self.ir, self.values, self.cursor
        exits, runtime = self.exits, self.runtime
        exits.settle()
        lanes, active = values.mask_bits(mask), self._active_bits()
        if values.uniform(target):
            exits.bail_unless(ir.op(f"icmp eq i32 {lanes}, {active}"))
            self._arrive(ir.op(f"zext i32 {values.scalar(target, 32)} to i64"))
            return
        if cursor.guarded:
            ir.unless(ir.op(f"icmp eq i32 {lanes}, 0"), self.edges.edge(cursor.next_pc))
        row, spread = runtime.row_of(target, 32), runtime.function("spread")
        goal = ir.op(f"call i64 {spread}(ptr %rec, ptr {row}, i32 {lanes}, i64 {cursor.next_pc})")
        exits.bail_unless(ir.op(f"icmp sge i64 {goal}, 0"))
        self._arrive(goal)

    def _arrive(self, goal: str) -> None:
        """Continue at a computed target, which may end the turn or change the version."""
        ir, cursor = self.ir, self.cursor
        moved = ir.op(f"icmp ne i64 {goal}, {cursor.next_pc}")
        before = ir.get("i64", "%came_from")
        ir.put("i64", ir.op(f"select i1 {moved}, i64 {cursor.pc}, i64 {before}"), "%came_from")
        low = ir.op(f"and i64 {goal}, 31")
        even = ir.op(f"icmp eq i64 {low}, 0")
        skip = ir.op(f"select i1 {even}, i64 8, i64 0")
        ir.put("i64", ir.op(f"add i64 {goal}, {skip}"), "%rec", FIELDS["pc"].offset)
        self.exits.spend()
        ir.br("dispatch")
        cursor.terminated = True

    def call(self, target: int | Num) -> None:
        if self.cursor.guarded or not isinstance(target, int) or target < 0:
            raise Slow("a guarded or computed call, or one that wraps around address 0")
        self._push(self._room(), "RET", self._active_bits(), self.cursor.next_pc)
        self.ir.br(self._flow(target))
        self.cursor.terminated = True

    def pop(self, kind: str, mask: Mask) -> None:
        first, cursor, listing = f"i32 {TOKEN_CODE[kind]}, ", self.cursor, self.edges.listing
        tokens, target = self.edges.tokens, listing.token_target(cursor.pc, kind)
        if mask == 0 or (self.full and cursor.guarded):
            self._release("pop", first, mask)
        elif tokens and tokens[-1].kind == kind:
            self._pop_known(mask, tokens)
        elif target is None or not listing.repeats(cursor.pc):
            self._release("pop", first, mask)
        else:
            self._pop_top(kind, first, mask, target)

    def _pop_known(self, mask: Mask, tokens: tuple[PushedToken, ...]) -> None:
        """Emit a pop whose token this trace has pushed: nothing has to be tested but whether others
        go on behind it."""
        ir, edges, cursor, token = self.ir, self.edges, self.cursor, tokens[-1]
        near = BUNDLES.first(token.target) == cursor.next_pc
        falls, ahead = "", None
        if cursor.guarded or near:
            falls, ahead = edges.falls(self.full), edges.ahead
            if not near:
                edges.some_fall(falls)
        found = falls if near else edges.edge(BUNDLES.first(token.target))
        if cursor.guarded:
            rest = self._others_go_on(self.values.mask_bits(mask), falls)
        if ahead is not None and not (cursor.guarded and near):
            ahead.tokens = tokens if cursor.guarded else tokens[:-1]
            if not self.full:
                ahead.active = Msk(bits=rest) if cursor.guarded else copy_of(token.lanes)
        ir.put("i32", token.depth, "%rec", DEPTH)
        if not self.full:
            ir.put("i32", self.values.mask_bits(copy_of(token.lanes)), "%rec", ACTIVE)
        self._come_from(token.target)
        ir.br(found)
        cursor.terminated = True

    def _others_go_on(self, lanes: str, falls: str) -> str:
        """Emit a jump behind a pop for the lanes that do not execute it, where there are any.
        Returns their mask."""
        ir = self.ir
        rest = ir.op(f"xor i32 {self._active_bits()}, {lanes}")
        some, none = ir.fresh("some"), ir.fresh("none")
        ir.choose(ir.op(f"icmp ne i32 {rest}, 0"), some, none)
        ir.label(some)
        ir.put("i32", rest, "%rec", ACTIVE)
        ir.br(falls)
        ir.label(none)
        return rest

    def _come_from(self, target: int) -> None:
        if target != self.cursor.next_pc:
            self.ir.line(f"store i64 {self.cursor.pc}, ptr %came_from")

    def _pop_top(self, kind: str, first: str, mask: Mask, target: int) -> None:
        """Emit a pop whose token is usually on top, which needs no call then: others go on behind
        it, or all go on at the token's target."""
        ir, edges, cursor = self.ir, self.edges, self.cursor
        lanes = self.values.mask_bits(mask)
        goal = BUNDLES.first(target)
        falls = edges.falls(self.full) if cursor.guarded or goal == cursor.next_pc else ""
        if goal != cursor.next_pc:
            edges.some_fall(falls)
        found = falls if goal == cursor.next_pc else edges.edge(goal)
        depth = ir.get("i32", "%rec", DEPTH)
        least = ir.op(f"call i32 @llvm.umax.i32(i32 {depth}, i32 1)")
        below = ir.op(f"sub i32 {least}, 1")
        entry = self._entry(below)
        there, slow = ir.get("i32", entry, 4), ir.fresh("slow")
        same = ir.op(f"icmp eq i32 {ir.get('i32', entry)}, {TOKEN_CODE[kind]}")
        missing = ir.op(f"and i32 {lanes}, {ir.op(f'xor i32 {there}, -1')}")
        # None is missing, and the stack is not empty.
        some = ir.op(f"call i32 @llvm.umin.i32(i32 {depth}, i32 1)")
        held = ir.op(f"icmp ult i32 {missing}, {some}")
        ir.provided(ir.op(f"and i1 {same}, {held}"), slow)
        if cursor.guarded:
            self._others_go_on(lanes, falls)
        gone = ir.get("i32", "%rec", EXITED)
        self._surface(entry, there, gone, below, target, slow)
        ir.br(found)
        with ir.group_aside(slow):
            if cursor.guarded:
                ir.unless(ir.op(f"icmp eq i32 {lanes}, 0"), falls)
            self._let_go("pop", first, mask, lanes)
        cursor.terminated = True

    def _surface(
        self, entry: str, there: str, gone: str, below: str, target: int, slow: str
    ) -> None:
        """Emit that lanes of the top entry go on, at its target; a jump to `slow` where that is
        another one, or code for other lanes is there.

        Args:
            there, gone: lanes of the entry, and those that have exited.
            below: entries below it.
        """
        ir = self.ir
        left = ir.op(f"and i32 {there}, {ir.op(f'xor i32 {gone}, -1')}")
        same = ir.op(f"icmp eq i64 {ir.get('i64', entry, 8)}, {target}")
        if self.full:
            fits = ir.op(f"icmp eq i32 {left}, -1")
        else:
            # Neither none nor all.
            fits = ir.op(f"icmp ult i32 {ir.op(f'sub i32 {left}, 1')}, -2")
        ir.provided(ir.op(f"and i1 {same}, {fits}"), slow)
        ir.put("i32", below, "%rec", DEPTH)
        if not self.full:
            ir.put("i32", left, "%rec", ACTIVE)
        self._come_from(target)

    def exit(self, mask: Mask) -> None:
        cursor, listing = self.cursor, self.edges.listing
        if self.cursor.parted:
            self._exit_apart(mask)
            return
        before = listing.layout.before(cursor.pc)
        branch = listing.code.get(before)
        target = None
        if branch is not None and branch.op == "BRA" and not listing.always(branch):
            target = listing.direct_target(branch, before)
        if target is None or target > cursor.pc or self.full or cursor.guarded:
            self._release("exit", "", mask)
        else:
            self._leave_others(mask, target)

    def _let_others_go(self, token: PushedToken) -> None:
        self.ir.put("i32", token.depth, "%rec", DEPTH)

    def _leave_others(self, mask: Mask, target: int) -> None:
        """Emit the exit of lanes that leave a loop; those that branched back are usually all that
        wait, and go on."""
        ir, edges = self.ir, self.edges
        lanes, slow = self.values.mask_bits(mask), ir.fresh("slow")
        found = edges.edge(BUNDLES.first(target))
        entry = self._entry("0")
        odd = ir.op(f"and i32 {ir.get('i32', '%rec', FLAGS)}, {FLAG_IDE}")
        for place, usual in ((("%rec", DEPTH), 1), ((entry, 0), TOKEN_CODE["DIV"])):
            other = ir.op(f"xor i32 {ir.get('i32', *place)}, {usual}")
            odd = ir.op(f"or i32 {odd}, {other}")
        ir.provided(ir.op(f"icmp eq i32 {odd}, 0"), slow)
        gone = ir.op(f"or i32 {ir.get('i32', '%rec', EXITED)}, {lanes}")
        self._surface(entry, ir.get("i32", entry, 4), gone, "0", target, slow)
        ir.put("i32", gone, "%rec", EXITED)
        ir.br(found)
        with ir.group_aside(slow):
            self._let_go("exit", "", mask, lanes)
        self.cursor.terminated = True

    def _release(self, function: str, first: str, mask: Mask) -> None:
        """Remove lanes from the active mask; the library chooses the next lanes and their pc."""
        ir, cursor, edges = self.ir, self.cursor, self.edges
        if mask == 0:
            ir.br(edges.edge(cursor.next_pc))
            cursor.terminated = True
            return
        lanes = self.values.mask_bits(mask)
        if isinstance(mask, int):
            self._let_go(function, first, mask, lanes)
            return
        falls = self._falls(mask, True)
        with self._unless_sure(mask, (False, falls)):
            ir.unless(ir.op(f"icmp eq i32 {lanes}, 0"), falls)
            # Of whole warps with a guarded exit most go on.
            with ir.group_aside() if self.full and cursor.guarded else nullcontext():
                if self.full and function == "exit":
                    self._others_stay(lanes)
                self._let_go(function, first, mask, lanes)

    def _let_go(self, function: str, first: str, mask: Mask, lanes: str) -> None:
        """Emit what some lanes, or all, do that are removed."""
        ir, cursor, exits = self.ir, self.cursor, self.exits
        if function == "exit":
            self._settle_at_end(mask)
            self._exit_whole(lanes, mask)
            self._complete_at_end(mask)
        else:
            exits.settle()
        target = self.runtime.function(function)
        goal = ir.op(f"call i64 {target}(ptr %rec, {first}i32 {lanes}, i64 {cursor.next_pc})")
        exits.bail_unless(ir.op(f"icmp ne i64 {goal}, -1"))
        if function == "exit":
            status = ir.get("i32", "%rec", STATUS)
            over = ir.op(f"icmp ne i32 {status}, 0")
            ir.unless(over, exits.side_exit(Left.DONE, cursor.pc, undone=False))
        self._arrive(goal)

    def _exit_whole(self, lanes: str, mask: Mask) -> None:
        """Emit the usual end: no lane is left and none waits."""
        ir = self.ir
        inside = ir.op(f"and i32 {ir.get('i32', '%rec', FLAGS)}, {FLAG_IDE}")
        depth = ir.get("i32", "%rec", DEPTH)
        odd, gone = self._remain(mask, lanes)
        odd = ir.op(f"or i32 {odd}, {ir.op(f'or i32 {depth}, {inside}')}")
        whole, part = ir.fresh("whole"), ir.fresh("part")
        ir.choose(ir.op(f"icmp eq i32 {odd}, 0"), whole, part)
        ir.label(whole)
        self._note_exit(gone, mask)
        ir.put("i32", DONE, "%rec", STATUS)
        self._end_warp(mask)
        ir.label(part)

    def barrier(
        self, mode: str, barrier_id: Num, count: Num | None, reduce_op: str, pred: Mask | None
    ) -> None:
        ir, values, cursor = self.ir, self.values, self.cursor
        threads = 0 if count is None else count
        if not isinstance(threads, int) or not isinstance(barrier_id, int) or barrier_id > 15:
            raise Slow("a barrier whose number or size is computed")
        if threads % WARP_SIZE:
            raise Slow("a barrier of threads that are no whole warps")
        lanes = values.mask_bits(cursor.exec)
        if cursor.guarded:
            ir.unless(ir.op(f"icmp eq i32 {lanes}, 0"), self.edges.edge(cursor.next_pc))
        if mode == "RED":
            voted = values.mask_bits(self.ints.mand(FULL if pred is None else pred, cursor.exec))
            for name, mask in (("voted", voted), ("voters", lanes)):
                ir.put("i64", ir.op(f"zext i32 {mask} to i64"), "%env", layout.FIELD[name])
        code = barriers.code_of(mode, barrier_id, reduce_op, threads)
        self._leave_at_barrier(mode, barrier_id, threads, code)
        cursor.terminated = True

    def barrier_result(self) -> tuple[Num, Mask]:
        count = Val(32, self.ir.get("i32", "%rec", BAR_COUNT), UNIFORM)
        return count, Msk(bits=self.ir.get("i32", "%rec", BAR_PRED))
