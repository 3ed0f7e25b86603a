"""One function for all code a kernel can reach: basic blocks, exits and dispatch.

`Emitter` is the machine backend: it runs the semantics function of each instruction once and
collects IR.  There are two versions of a function: for warps whose 32 lanes are all active, where
unguarded writes replace all lanes, and for any mask.

A trace is a block and what follows it: blocks it falls into (a copy of them), the next piece of
straight code (which then has a second way in), and back to its own head, where the code is a loop.
Along a trace registers, predicates and flags stay in IR names (`state`); what leaves it for another
block stores them on the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from gpudbg.isa.spa5.operands import PT, RZ, Reg
from gpudbg.sm.conditions import Condition
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.addresses import Shape
from gpudbg.sm.engines.llvm.flow import ACTIVE, CAME_FROM
from gpudbg.sm.engines.llvm.lanes import FULL, Mask, Msk, Slow
from gpudbg.sm.engines.llvm.layout import Left
from gpudbg.sm.engines.llvm.listing import Listing, following
from gpudbg.sm.engines.llvm.patterns import Pattern
from gpudbg.sm.engines.llvm.sink import sink
from gpudbg.sm.engines.llvm.special import COMPILED_SREGS
from gpudbg.sm.engines.llvm.state import BUDGET, Names, Point, Under, copy_of
from gpudbg.sm.engines.llvm.text import ODDS, UNLIKELY
from gpudbg.sm.engines.llvm.ways import Ahead, WaysOps
from gpudbg.sm.record import FIELDS
from gpudbg.sm.semantics import registry
from gpudbg.sm.semantics.control import PUSHES
from gpudbg.sm.semantics.machine import Machine
from gpudbg.sm.turns import FLOW, starts_piece

PC = FIELDS["pc"].offset

_CHANGES_MEMORY = frozenset(("ST", "STG", "STS", "STL", "ATOM", "ATOMS", "RED", *PUSHES))
"""Instructions that must not be done twice; the divergence stack is memory in the record."""

_MAY_LEAVE = frozenset(("LD", "LDG", "LDS", "LDL", "LDC", *_CHANGES_MEMORY))
"""Instructions before which loops have points, so that what is dead before them need not be
carried round."""

_MOST_POINTS = 4
"""Of them in a loop: each is a block that stores the state."""

ON_STACK = 'alignstack(64) "probe-stack"="inline-asm"'
"""Vectors that do not find a register lie in lines of their own on the stack, of which every page
is touched in turn: a host's guard page ends who has too little."""

_LONGEST_TRACE = 64
"""Instructions of a block and the copies of blocks that follow it."""


@dataclass(slots=True)
class _Kept:
    """What `Emitter._take_back` goes back to.

    Attributes:
        lengths: lines, lines of the tail, points.
        names: the state, active lanes.
        goals: heads that are gone to.
        point: the last one, and whether memory has changed since.
        addresses: what was found about them.
    """

    lengths: tuple[int, int, int]
    names: tuple[Names, Mask]
    goals: tuple[set[int], set[int]]
    point: tuple[Point, dict[int, str], bool]
    addresses: tuple[dict[tuple[str, int], Shape], dict[str, str]]


class Emitter(WaysOps):
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
        self.written = listing.written()
        self.full = full
        self.registers = registers
        self.banks = banks
        self.sregs = sregs
        self.fixed: dict[int, int] = {}
        self.conditions: dict[int, Condition] = {}
        self.patterns: dict[int, Pattern] = {}
        self.run = run
        self.wide_vectors = wide_vectors
        self.writes: set[int] = set()
        self.before_stores: set[int] = set()
        self.first_site = 0
        self._sites = {}
        self.slow: dict[int, str] = {}
        self.order: list[int] = []
        self.extents: dict[int, int] = {}
        self.exec: Mask = FULL
        self.now = Names()
        self.ended = False
        self.guarded = self.wants_old = False
        self._table = registry.table()
        self._active: Mask = FULL
        self._under = Under(FULL, None)
        self._pc = 0
        self._index = 0
        self._scratch = 0
        self._left_at_head = ""
        self._changed = False
        self._points: list[Point] = []
        self._point = Point(0, "", 0, Names())
        self._shapes, self._same = {}, {}
        self._ahead: Ahead | None = None
        self._behind = 0
        self._tail: list[str] = []
        self._read: set[int] = set()
        self._used: dict[int, int] = {}
        self._now_at = 0
        self._head = 0
        self._placed: set[int] = set()
        self._fresh: list[int] = []
        self._longest = _LONGEST_TRACE
        self._spare = 0
        self._backs: list[Names] = []
        self._carried: Names | None = None
        self._turns: list[str] = []
        self._phis, self._floats = {}, set()
        self._checked: set[int] = set()
        self._missing: set[int] = set()

    # ---- the function --------------------------------------------------------------------

    def text(self, name: str) -> str:
        """The function."""
        heads = sorted(self.listing.heads)
        body: list[str] = []
        tail: list[str] = []
        entry = self.listing.entry
        if entry in self.listing.code:
            self._trace(entry, fresh=True)
            body, tail = sink([*self.lines, *self._turns], self._tail)
        for head in heads:
            if head in self.listing.code and head not in self._placed:
                following_head = self._whole(head)
                if following_head is not None:
                    heads.append(following_head)
                lines, aside = sink([*self.lines, *self._turns], self._tail)
                body += lines
                tail += aside
        lines = [
            f"define i32 @{name}(ptr noalias %env, ptr noalias %rec) {ON_STACK} {{",
            "entry:",
            f"  %came_from = getelementptr i8, ptr %rec, i64 {CAME_FROM}",
            f"  %budget = getelementptr i8, ptr %rec, i64 {BUDGET}",
            f"  %pcs = getelementptr i8, ptr %rec, i64 {PC}",
            f"  %actives = getelementptr i8, ptr %rec, i64 {ACTIVE}",
            f"  %markp = getelementptr i8, ptr %env, i64 {layout.MARKS}",
            "  %marks = load ptr, ptr %markp",
            # The loop calls what fits the lanes, and only for a turn.
            "  br label %seek",
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
            *(f"    i64 {pc | layout.FRESH}, label %z{pc}" for pc in self._fresh),
            *(f"    i64 {pc}, label %b{pc}" for pc in self.order),
            "  ]",
        ]
        return "\n".join([*lines, *body, *tail, *self._edges(), "}", ODDS])

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
        if pc == self._head and turn:
            if self._carried is not None:
                return self._back_edge(self._carried)
            self._backs.append(self.now.late())
        goal = self._goal(pc, turn)
        label = self.fresh("o")
        with self.aside():
            self.label(label)
            self._store(self.now.late())
            self._store_budget(self._left_at_head, self._index + 1)
            self.br(goal)
        return label

    def _goal(self, pc: int, turn: bool) -> str:
        """A label at a pc, for which the record is up to date."""
        if pc not in self.listing.heads or pc not in self.listing.code:
            self._missing.add(pc)
            if not turn:
                return f"m{pc}"
        if not turn:
            return f"b{pc}"
        self._checked.add(pc)
        return f"c{pc}"

    # ---- blocks --------------------------------------------------------------------------

    def _whole(self, head: int) -> int | None:
        """Emit a trace, twice where it is a loop: the first time shows what goes round."""
        kept = set(self._checked), set(self._missing), len(self.order)
        placed = set(self._placed)
        cut = self._trace(head)
        if self._backs:
            carried = self._goes_round()
            self._checked, self._missing, count = kept
            self._placed = placed
            del self.order[count:]
            again = self._trace(head, carried)
            cut = cut if again is None else again
        return cut

    def _trace(self, head: int, carried: Names | None = None, fresh: bool = False) -> int | None:
        """Emit a block and copies of those it falls into; a new head where one was cut short."""
        self.lines, self._tail, self._turns, self._phis = [], [], [], {}
        self._read, self._backs = set(), []
        self._head, self._carried = -1 if fresh else head, carried
        self._spare = _MOST_POINTS
        self._longest = 0 if head == self.listing.entry and not fresh else _LONGEST_TRACE
        self._behind = 0
        if fresh:
            self._fresh.append(head)
        cut = self._straight(head, None)
        while self._ahead is not None:
            ahead, self._ahead = self._ahead, None
            again = self._straight(ahead.pc, ahead)
            cut = cut if again is None else again
        if cut is None or cut in self.listing.heads:
            return None
        self.listing.heads.add(cut)
        return cut

    def falls(self, same: bool = False) -> str:
        pc = self.next_pc()
        behind = self._behind + self._index + 1
        if pc not in self.listing.code or behind + self.listing.stretch(pc) > self._longest:
            return self.edge(pc)
        left = self._left_at_head, self._index + 1
        self._ahead = Ahead(
            self.fresh("f"), pc, behind, left, self.now.copy(), dict(self._shapes), dict(self._same)
        )
        if same:
            self._ahead.active = copy_of(self._active)
        return self._ahead.label

    def _straight(self, head: int, ahead: Ahead | None) -> int | None:
        """Emit one block; the following address where it was cut short, else None."""
        self._begin(head, ahead)
        pc, count = head, 0
        cut: int | None = None
        while True:
            insn = self.listing.code[pc]
            self._pc, self._index = pc, count
            self._now_at += 1
            early = self._carried is not None and insn.op in _MAY_LEAVE and self._spare > 0
            self._spare -= early
            if self._changed or early:
                self.take_point()
            if not self._try(insn):
                self.take_point()
                self.br(self.leave(Left.STEP, pc))
                # What follows is a head of its own: there the step engine hands over again.
                cut = following(pc)
                break
            count += 1
            after = following(pc)
            if self.ended:
                break
            if self._merges(insn, after):
                self._into_piece(after)
                break
            if insn.op in FLOW or after in self.listing.heads or after not in self.listing.code:
                self.br(self.edge(after, insn.op in FLOW or starts_piece(after)))
                break
            pc = after
        self.extents[head] = pc
        self._finish(count)
        return cut

    def _begin(self, head: int, ahead: Ahead | None) -> None:
        """The head of a block."""
        self._pc, self._index = head, 0
        self.ended = False
        if ahead is None:
            self._behind = 0
            self.now, self._shapes, self._same = Names(), {}, {}
            if self._head < 0:
                self.label(f"z{head}")
                self.now = self._zeros()
            else:
                self.order.append(head)
                self.label(f"b{head}")
            self._left_at_head = self.op("load i64, ptr %budget")
            self.take_point()
            if self._carried is not None:
                # Who comes round asks for the mark there, where what is dead here is at hand.
                entry = self.fresh("w")
                self.choose(self._marked(head), self._exit(self._point, Left.MARK), entry, UNLIKELY)
                self.label(entry)
                self._phis = self._way_in(entry, f"l{head}", self._carried, self._floats)
                self.take_point()
        elif ahead.piece:
            self._piece(ahead)
        else:
            self._continue(ahead)
        if ahead is not None or self._carried is None:
            self.unless(self._marked(head), self._exit(self._point, Left.MARK), UNLIKELY)
        if not self.full:
            known = None if ahead is None else ahead.active
            self._active = known or Msk(bits=self.op("load i32, ptr %actives"))

    def _continue(self, ahead: Ahead) -> None:
        """The head of a block's copy: what was known before it is known."""
        self._behind = ahead.behind
        self.now, self._shapes, self._same = ahead.names, ahead.shapes, ahead.same
        self.label(ahead.label)
        before, executed = ahead.left
        self._left_at_head = self.op(f"sub i64 {before}, {executed}")
        self.take_point()
        over = self.op(f"icmp sle i64 {self._left_at_head}, 0")
        self.unless(over, self._exit(self._point, Left.TURN), UNLIKELY)

    def _finish(self, count: int) -> None:
        """The end of a block of `count` instructions."""
        self._write_exits()

    def _try(self, insn: Any) -> bool:
        """Emit one instruction; False, and nothing emitted, where it has no compiled version."""
        kept = self._kept()
        try:
            self._emit(insn)
            self._changed |= insn.op in _CHANGES_MEMORY
            return True
        except Slow as why:
            self.slow[self._pc] = str(why)
        self._take_back(kept)
        return False

    def _emit(self, insn: Any) -> None:
        """Emit one instruction."""
        self._scratch = 0
        function = self._table.get(insn.op)
        if function is None:
            raise Slow("no semantics")
        if registry.missing_registers(insn, self.registers):
            # Also where its meaning uses none, such as a prefetch.
            raise Slow("a register the warp does not have")
        condition = self.conditions.get(self._pc)
        if condition is not None:
            self._stops_where(condition)
        self._guard(*insn.guard)
        self.wants_old = "d" in insn.o and insn.o["d"] != Reg(RZ)
        function(self, insn)

    def _stops_where(self, condition: Condition) -> None:
        """Leave before the instruction where a breakpoint's condition holds in some lane."""
        self.exec = self._active
        lanes = self.mand(self._active, condition.holds(cast(Machine, self)))
        bits = self.mask_bits(lanes)
        self.require(self.op(f"icmp eq i32 {bits}, 0"))

    def _kept(self) -> _Kept:
        """What has been emitted so far."""
        # Masks remember the names of their forms: names in lines that are taken back must go too.
        return _Kept(
            (len(self.lines), len(self._tail), len(self._points)),
            (self.now.copy(), copy_of(self._active)),
            (set(self._checked), set(self._missing)),
            (self._point, dict(self._point.labels), self._changed),
            (dict(self._shapes), dict(self._same)),
        )

    def _take_back(self, kept: _Kept) -> None:
        """Forget what was emitted since."""
        lines, tail, points = kept.lengths
        del self.lines[lines:]
        del self._tail[tail:]
        del self._points[points:]
        self.now, self._active = kept.names
        self._checked, self._missing = kept.goals
        self._point, self._point.labels, self._changed = kept.point
        self._shapes, self._same = kept.addresses
        self.ended, self._ahead = False, None

    def _guard(self, index: int, negated: bool) -> None:
        """Set the execution mask."""
        self.guarded = index != PT or negated
        self.exec = self._active
        self._under = Under(self._active, None)
        if self.guarded:
            held = self.pred(index)
            self._under = Under(self._active, (index, negated, held))
            self.exec = self.mand(self._active, self.mnot(held) if negated else held)

    def later(self, label: str, lines: list[str]) -> None:
        self._tail += [f"{label}:", *(f"  {line}" for line in lines)]

    # ---- what has no compiled version -------------------------------------------------------

    def system(self, name: str, **arguments: Any) -> Any:
        raise Slow(f"system instruction {name}")

    def surface(self, name: str, i: Any) -> None:
        raise Slow("textures and surfaces")

    def gap(self, what: str) -> None:
        raise Slow(what)

    def warp_error(self, code: str, lanes: Mask | None = None, detail: str = "") -> None:
        raise Slow(code)
