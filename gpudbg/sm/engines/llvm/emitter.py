"""One function for all code a kernel can reach: basic blocks, exits and dispatch.

`Emitter` is the machine backend: it runs the semantics function of each instruction once and
collects IR.  There are two versions of a function: for warps whose 32 lanes are all active, where
unguarded writes replace all lanes, and for any mask.

Inside a block registers, predicates and flags live in IR names; they are stored together at
commits.  A commit stands at the end of a block and between an instruction that changes memory and
the next one that may leave.  The record thus holds the state after the last commit, no memory has
changed since, and leaving to the step engine means to begin again there: nothing is stored on the
way out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpudbg.isa.spa5.operands import PT, RZ, Reg
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.floats import F32
from gpudbg.sm.engines.llvm.flow import ACTIVE, CAME_FROM
from gpudbg.sm.engines.llvm.inplace import Shape
from gpudbg.sm.engines.llvm.lanes import FULL, Mask, Msk, Num, Slow, Val
from gpudbg.sm.engines.llvm.layout import Left
from gpudbg.sm.engines.llvm.listing import Listing, following
from gpudbg.sm.engines.llvm.patterns import Pattern
from gpudbg.sm.engines.llvm.special import COMPILED_SREGS, SpecialOps
from gpudbg.sm.engines.llvm.text import LIKELY, ODDS, UNLIKELY
from gpudbg.sm.record import FIELDS, HEADER_BYTES, ROW_BYTES
from gpudbg.sm.semantics import registry
from gpudbg.sm.semantics.control import PUSHES
from gpudbg.sm.turns import FLOW, starts_piece

PC = FIELDS["pc"].offset
BUDGET = FIELDS["budget"].offset
PRED = FIELDS["pred"].offset
CC = FIELDS["cc"].offset
FLAGS = "ZSCOK"

_CHANGES_MEMORY = frozenset(("ST", "STG", "STS", "STL", "ATOM", "ATOMS", "RED", *PUSHES))
"""A commit must follow before the next instruction that may leave; the divergence stack is memory
in the record."""

_LONGEST_TRACE = 64
"""Instructions of a block and the copies of blocks that follow it."""


@dataclass(slots=True)
class _Exit:
    """A way out of the block that is being emitted."""

    label: str
    why: Left
    pc: int
    extra: int
    executed: int


@dataclass(slots=True)
class _Known:
    """A copy of a block that another one falls into.

    Attributes:
        label: its own.
        pc: its head.
        behind: instructions before it in the blocks that led there.
        names: of registers, predicates and flags.
        shapes, same: what was found about addresses.
    """

    label: str
    pc: int
    behind: int
    names: tuple[dict[int, Num], dict[int, Mask], dict[str, Mask]]
    shapes: dict[tuple[str, int], Shape]
    same: dict[str, str]


@dataclass(slots=True)
class _Kept:
    """What `Emitter._take_back` goes back to.

    Attributes:
        lengths: lines, lines of the tail, exits, sites.
        names: of registers, predicates, flags, active lanes.
        goals: heads that are gone to.
        dirty: registers, predicates, flags that are not stored.
        commit: the last one, the label that goes back to it, whether memory has changed since.
        addresses: what was found about them.
    """

    lengths: tuple[int, int, int, int]
    names: tuple[dict[int, Num], dict[int, Mask], dict[str, Mask], Mask]
    goals: tuple[set[int], set[int]]
    dirty: tuple[set[int], set[int], set[str]]
    commit: tuple[tuple[int, int], str, bool]
    addresses: tuple[dict[tuple[str, int], Shape], dict[str, str]]


def _copies(masks: dict[Any, Mask]) -> dict[Any, Mask]:
    return {key: _copy(mask) for key, mask in masks.items()}


def _copy(mask: Mask) -> Mask:
    """The mask in the forms it has now: later ones may not be known on this path."""
    return mask if isinstance(mask, int) else Msk(mask.lanes, mask.bits)


class Emitter(SpecialOps):
    """Emits one version of a listing's function.

    Attributes:
        slow: instructions left to the step engine, address to reason.
        order: block heads.
        extents: block head to the address of its last instruction.
    """

    def __init__(
        self,
        listing: Listing,
        full: bool,
        registers: int,
        banks: dict[int, int],
        sregs: frozenset[int] = COMPILED_SREGS,
        run: int = 16,
        wide_vectors: bool = False,
    ) -> None:
        super().__init__()
        self.listing = listing
        self.full = full
        self.registers = registers
        self.banks = banks
        self.sregs = sregs
        self.fixed: dict[int, int] = {}
        self.patterns: dict[int, Pattern] = {}
        self._left_at_head = ""
        self.run = run
        self.wide_vectors = wide_vectors
        self.sites = 0
        self.slow: dict[int, str] = {}
        self.order: list[int] = []
        self.extents: dict[int, int] = {}
        self.exec: Mask = FULL
        self.ended = False
        self.guarded = self.wants_old = False
        self._table = registry.table()
        self._active: Mask = FULL
        self._pc = 0
        self._index = 0
        self._scratch = 0
        self._regs: dict[int, Num] = {}
        self._preds: dict[int, Mask] = {}
        self._flags: dict[str, Mask] = {}
        self._dirty: set[int] = set()
        self._dirty_preds: set[int] = set()
        self._dirty_flags: set[str] = set()
        self._commit_at = (0, 0)
        self._again = ""
        self._changed = self._left = False
        self._shapes, self._same = {}, {}
        self._ahead: _Known | None = None
        self._from: _Known | None = None
        self._behind = 0
        self._exits: list[_Exit] = []
        self._tail: list[str] = []
        self._checked: set[int] = set()
        self._missing: set[int] = set()

    # ---- the function --------------------------------------------------------------------

    def text(self, name: str) -> str:
        """The function."""
        heads = sorted(self.listing.heads)
        for head in heads:
            if head in self.listing.code:
                following_head = self._block(head)
                if following_head is not None:
                    heads.append(following_head)
        lines = [
            f"define i32 @{name}(ptr noalias %env, ptr noalias %rec) {{",
            "entry:",
            f"  %came_from = getelementptr i8, ptr %rec, i64 {CAME_FROM}",
            f"  %budget = getelementptr i8, ptr %rec, i64 {BUDGET}",
            f"  %pcs = getelementptr i8, ptr %rec, i64 {PC}",
            f"  %actives = getelementptr i8, ptr %rec, i64 {ACTIVE}",
            f"  %markp = getelementptr i8, ptr %env, i64 {layout.MARKS}",
            "  %marks = load ptr, ptr %markp",
            "  br label %dispatch",
            "dispatch:",
            "  %left = load i64, ptr %budget",
            "  %over = icmp sle i64 %left, 0",
            "  br i1 %over, label %over.now, label %go",
            "over.now:",
            f"  ret i32 {int(Left.TURN)}",
            "go:",
            "  %lanes = load i32, ptr %actives",
            f"  %other = icmp {'ne' if self.full else 'eq'} i32 %lanes, -1",
            "  br i1 %other, label %switch, label %seek",
            "switch:",
            f"  ret i32 {int(Left.SWITCH)}",
            "miss:",
            f"  ret i32 {int(Left.MISS)}",
            "seek:",
            "  %at = load i64, ptr %pcs",
            "  switch i64 %at, label %miss [",
            *(f"    i64 {pc}, label %b{pc}" for pc in self.order),
            "  ]",
        ]
        return "\n".join([*lines, *self.lines, *self._tail, *self._edges(), "}", ODDS])

    def _edges(self) -> list[str]:
        """Blocks on the way to a head where the turn may end, and to code that is not here."""
        lines = []
        for pc in sorted(self._checked):
            goal = f"m{pc}" if pc in self._missing else f"b{pc}"
            lines += [
                f"c{pc}:",
                f"  %cl{pc} = load i64, ptr %budget",
                f"  %cc{pc} = icmp sle i64 %cl{pc}, 0",
                f"  br i1 %cc{pc}, label %t{pc}, label %{goal}{UNLIKELY}",
                f"t{pc}:",
                f"  store i64 {pc}, ptr %pcs",
                f"  ret i32 {int(Left.TURN)}",
            ]
        for pc in sorted(self._missing):
            lines += [f"m{pc}:", f"  store i64 {pc}, ptr %pcs", f"  ret i32 {int(Left.MISS)}"]
        return lines

    def edge(self, pc: int, turn: bool = True) -> str:
        if pc not in self.listing.heads or pc not in self.listing.code:
            self._missing.add(pc)
            if not turn:
                return f"m{pc}"
        if not turn:
            return f"b{pc}"
        self._checked.add(pc)
        return f"c{pc}"

    # ---- blocks --------------------------------------------------------------------------

    def _block(self, head: int) -> int | None:
        """Emit a block and copies of those it falls into; a new head where one was cut short."""
        self._behind = 0
        cut = self._straight(head)
        while self._ahead is not None:
            self._from, self._ahead = self._ahead, None
            again = self._straight(self._from.pc)
            cut = cut if again is None else again
        if cut is None or cut in self.listing.heads:
            return None
        self.listing.heads.add(cut)
        return cut

    def falls(self) -> str:
        pc = self.next_pc()
        behind = self._behind + self._index + 1
        if pc not in self.listing.code or behind + self.listing.stretch(pc) > _LONGEST_TRACE:
            return self.edge(pc)
        names = dict(self._regs), _copies(self._preds), _copies(self._flags)
        self._ahead = _Known(
            self.fresh("f"), pc, behind, names, dict(self._shapes), dict(self._same)
        )
        return self._ahead.label

    def _straight(self, head: int) -> int | None:
        """Emit one block; the following address where it was cut short, else None."""
        budget_at = self._begin(head)
        pc, count = head, 0
        cut: int | None = None
        while True:
            insn = self.listing.code[pc]
            self._pc, self._index = pc, count
            if not self._try(insn):
                self._commit()
                self.br(self.leave(Left.STEP, pc))
                # What follows is a head of its own: there the step engine hands over again.
                cut = following(pc)
                break
            count += 1
            after = following(pc)
            if self.ended:
                break
            if insn.op in FLOW or after in self.listing.heads or after not in self.listing.code:
                self._commit()
                self.br(self.edge(after, insn.op in FLOW or starts_piece(after)))
                break
            pc = after
        self.extents[head] = pc
        self._finish(budget_at, count)
        return cut

    def _begin(self, head: int) -> int:
        """The head of a block; the line that takes its length off the budget."""
        self._regs, self._preds, self._flags = {}, {}, {}
        self._shapes, self._same = {}, {}
        self._pc, self._index = head, 0
        self._commit()
        self.ended = False
        if self._from is None:
            self.order.append(head)
            self.label(f"b{head}")
        else:
            self._continue(self._from)
        mark = self.get("i8", "%marks", (head - self.listing.base) // 8)
        out = self.fresh("k")
        self.unless(self.op(f"icmp ne i8 {mark}, 0"), out, UNLIKELY)
        self._tail += [f"{out}:", f"  store i64 {head}, ptr %pcs", f"  ret i32 {int(Left.MARK)}"]
        left = self.op("load i64, ptr %budget")
        self._left_at_head = left
        at = len(self.lines)
        spent = self.op(f"add i64 {left}, 0")
        self.line(f"store i64 {spent}, ptr %budget")
        if not self.full:
            self._active = Msk(bits=self.op("load i32, ptr %actives"))
        return at

    def _continue(self, known: _Known) -> None:
        """The head of a block's copy: the record is as at its head, and values are known."""
        self._from = None
        self._behind = known.behind
        self._regs, self._preds, self._flags = known.names
        self._shapes, self._same = known.shapes, known.same
        self._checked.add(known.pc)
        self.label(known.label)
        left = self.op("load i64, ptr %budget")
        self.unless(self.op(f"icmp sle i64 {left}, 0"), f"t{known.pc}", UNLIKELY)

    def _finish(self, budget_at: int, count: int) -> None:
        """Fill in what depends on the block's length."""
        line = self.lines[budget_at]
        self.lines[budget_at] = line[: line.rindex(",")] + f", -{count}"
        for out in self._exits:
            self._tail.append(f"{out.label}:")
            refund = count - out.executed
            if refund:
                name = f"%{out.label}"
                self._tail += [
                    f"  {name}b = load i64, ptr %budget",
                    f"  {name}r = add i64 {name}b, {refund}",
                    f"  store i64 {name}r, ptr %budget",
                ]
            self._tail.append(f"  store i64 {out.pc}, ptr %pcs")
            self._tail.append(f"  ret i32 {int(out.why) | out.extra << 8}")
        self._exits.clear()

    def _try(self, insn: Any) -> bool:
        """Emit one instruction; False, and nothing emitted, where it has no compiled version."""
        kept = self._kept()
        try:
            leaves = self._emit(insn)
            if leaves and self._changed:
                self._take_back(kept)
                self._commit()
                self._emit(insn)
            self._changed |= insn.op in _CHANGES_MEMORY
            return True
        except Slow as why:
            self.slow[self._pc] = str(why)
        self._take_back(kept)
        return False

    def _emit(self, insn: Any) -> bool:
        """Emit one instruction; whether it may leave to the step engine."""
        self._scratch, self._left = 0, False
        function = self._table.get(insn.op)
        if function is None:
            raise Slow("no semantics")
        if insn.op in FLOW:
            self._commit()
        self._guard(*insn.guard)
        self.wants_old = "d" in insn.o and insn.o["d"] != Reg(RZ)
        function(self, insn)
        return self._left

    def _kept(self) -> _Kept:
        """What has been emitted so far."""
        # Masks remember the names of their forms: names in lines that are taken back must go too.
        return _Kept(
            (len(self.lines), len(self._tail), len(self._exits), self.sites),
            (dict(self._regs), _copies(self._preds), _copies(self._flags), _copy(self._active)),
            (set(self._checked), set(self._missing)),
            (set(self._dirty), set(self._dirty_preds), set(self._dirty_flags)),
            (self._commit_at, self._again, self._changed),
            (dict(self._shapes), dict(self._same)),
        )

    def _take_back(self, kept: _Kept) -> None:
        """Forget what was emitted since."""
        lines, tail, exits, self.sites = kept.lengths
        del self.lines[lines:]
        del self._tail[tail:]
        del self._exits[exits:]
        self._regs, self._preds, self._flags, self._active = kept.names
        self._checked, self._missing = kept.goals
        self._dirty, self._dirty_preds, self._dirty_flags = kept.dirty
        self._commit_at, self._again, self._changed = kept.commit
        self._shapes, self._same = kept.addresses
        self.ended, self._ahead = False, None

    def _guard(self, index: int, negated: bool) -> None:
        """Set the execution mask."""
        self.guarded = index != PT or negated
        self.exec = self._active
        if self.guarded:
            held = self.pred(index)
            self.exec = self.mand(self._active, self.mnot(held) if negated else held)

    # ---- leaving -------------------------------------------------------------------------

    def leave(self, why: Left, pc: int, extra: int = 0, undone: bool = True) -> str:
        executed = self._index + (0 if undone else 1)
        if why is Left.STEP:
            self._left = True
            if self._again:
                return self._again
            pc, executed = self._commit_at
        label = self.fresh("x")
        if why is Left.STEP:
            self._again = label
        self._exits.append(_Exit(label, why, pc, extra, executed))
        return label

    def _commit(self) -> None:
        """Bring the record up to date: before this instruction."""
        for index in sorted(self._dirty):
            value = self._regs[index]
            place = self.at("%rec", HEADER_BYTES + ROW_BYTES * index)
            self.line(f"store {self.whole(value, 32)}, ptr {place}, align 64")
            if isinstance(value, Val):
                value.row = index
        for index in sorted(self._dirty_preds):
            self.put("i32", self.mask_bits(self._preds[index]), "%rec", PRED + 4 * index)
        for flag in sorted(self._dirty_flags):
            bits = self.mask_bits(self._flags[flag])
            self.put("i32", bits, "%rec", CC + 4 * FLAGS.index(flag))
        self._dirty, self._dirty_preds, self._dirty_flags = set(), set(), set()
        self._commit_at = self._pc, self._index
        self._again, self._changed = "", False

    def later(self, label: str, lines: list[str]) -> None:
        self._tail += [f"{label}:", *(f"  {line}" for line in lines)]

    def require(self, good: str) -> None:
        on = self.fresh("on")
        self.choose(good, on, self.leave(Left.STEP, self._pc), LIKELY)
        self.label(on)

    def bail(self, lanes: Mask) -> None:
        if isinstance(lanes, int) and not lanes:
            return
        here = self.mask_bits(self.mand(lanes, self.exec))
        self.require(self.op(f"icmp eq i32 {here}, 0"))

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

    def reg(self, index: int) -> Num:
        if index == RZ:
            return 0
        found = self._regs.get(index)
        if found is None:
            if index >= self.registers:
                raise Slow("a register the warp does not have")
            place = HEADER_BYTES + ROW_BYTES * index
            found = Val(32, self.get("<32 x i32>", "%rec", place, 64), row=index)
            self._regs[index] = found
        return found

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
        single, origin = "", None
        if isinstance(value, Val):
            single, origin = value.single, value.origin
        if self.exec != FULL:
            old = self.reg(index)
            value = self.select(self.exec, value, old)
            if single:
                single = self.pick(self.exec, F32, single, self.f32(old))
            origin = None
        if isinstance(value, Val):
            self.joined(value)
            value = Val(32, value.ref, value.one)
            value.single, value.origin = single, origin
        self._regs[index] = value
        self._dirty.add(index)

    def reg_pair_write(self, index: int, value: Num) -> None:
        if index == RZ:
            return
        if index & 1:
            raise Slow("an odd register pair")
        low, high = self.lo(value), self.hi(value)
        self.reg_write(index, low)
        self.reg_write(index + 1, high)

    def _merged(self, old: Callable[[], Mask], value: Mask) -> Mask:
        """A mask with the executing lanes replaced, as bits."""
        if self.exec == FULL:
            return value
        return Msk(bits=self.mask_bits(self._bitwise(value, old())))

    def _bitwise(self, value: Mask, old: Mask) -> Mask:
        """(old & ~exec) | (value & exec) on bits: cheaper than on lanes."""
        here = Msk(bits=self.mask_bits(self.exec))
        new = Msk(bits=self.mask_bits(value))
        was = Msk(bits=self.mask_bits(old))
        # old ^ ((old ^ new) & here) takes one operation less.
        return self.mxor(was, self.mand(self.mxor(was, new), here))

    def pred(self, index: int) -> Mask:
        if index == PT:
            return FULL
        found = self._preds.get(index)
        if found is None:
            found = Msk(bits=self.get("i32", "%rec", PRED + 4 * index))
            self._preds[index] = found
        return found

    def pred_write(self, index: int, value: Mask) -> None:
        if index == PT:
            return
        self._preds[index] = self._merged(lambda: self.pred(index), value)
        self._dirty_preds.add(index)

    def cc_read(self, flag: str) -> Mask:
        found = self._flags.get(flag)
        if found is None:
            found = Msk(bits=self.get("i32", "%rec", CC + 4 * FLAGS.index(flag)))
            self._flags[flag] = found
        return found

    def cc_write(self, flag: str, value: Mask) -> None:
        self._flags[flag] = self._merged(lambda: self.cc_read(flag), value)
        self._dirty_flags.add(flag)

    # ---- what has no compiled version -------------------------------------------------------

    def system(self, name: str, **arguments: Any) -> Any:
        raise Slow(f"system instruction {name}")

    def surface(self, name: str, i: Any) -> None:
        raise Slow("textures and surfaces")

    def gap(self, what: str) -> None:
        raise Slow(what)

    def warp_error(self, code: str, lanes: Mask | None = None, detail: str = "") -> None:
        raise Slow(code)
