"""One function for all code a kernel can reach: basic blocks, exits and dispatch.

`Emitter` runs the semantics function of each instruction once, against a machine whose parts emit
IR (`machine`).  There are two versions of a function: for warps whose 32 lanes are all active,
where unguarded writes replace all lanes, and for any mask.

A trace is a block and what follows it: blocks it falls into (a copy of them), the next piece of
straight code (which then has a second way in), and back to its own head, where the code is a loop.
Along a trace registers, predicates and flags stay in IR names (`registers`); what leaves it for
another block stores them on the way.

*Plain* code is what is compiled first: a third of the text, and slower.  Its traces are single
blocks, its accesses calls of the library, and the record is brought up to date behind instructions
that may leave, so that an exit stores what has changed since the one before and not all there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from gpudbg.isa.operands import PT, RZ, Reg
from gpudbg.mem.windows import layout_for
from gpudbg.sm.conditions import Condition
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import ODDS, UNLIKELY, Builder
from gpudbg.sm.engines.llvm.ir.floats import Floats
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.values import FULL, Mask, MaskHost, Msk, Num, Slow, Values
from gpudbg.sm.engines.llvm.kernel import lane_facts, packs, seldom
from gpudbg.sm.engines.llvm.kernel.accesses import Accesses
from gpudbg.sm.engines.llvm.kernel.addresses import Addresses
from gpudbg.sm.engines.llvm.kernel.carried import CarriedTests
from gpudbg.sm.engines.llvm.kernel.cluster_rank import ClusterRank
from gpudbg.sm.engines.llvm.kernel.constants import Constants
from gpudbg.sm.engines.llvm.kernel.conversions import Conversions
from gpudbg.sm.engines.llvm.kernel.copies import Copies
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor, Executing
from gpudbg.sm.engines.llvm.kernel.doubles import Doubles
from gpudbg.sm.engines.llvm.kernel.edges import Edges, Fallthrough
from gpudbg.sm.engines.llvm.kernel.exits import Exits
from gpudbg.sm.engines.llvm.kernel.far_masks import far_masks
from gpudbg.sm.engines.llvm.kernel.final_state import CALL, FinalStates
from gpudbg.sm.engines.llvm.kernel.flow import KernelFlow
from gpudbg.sm.engines.llvm.kernel.forks import Forks
from gpudbg.sm.engines.llvm.kernel.gathers import GatheredAccess
from gpudbg.sm.engines.llvm.kernel.group_flow import GroupFlow
from gpudbg.sm.engines.llvm.kernel.half_arithmetic import HalfArithmetic
from gpudbg.sm.engines.llvm.kernel.instruments import Instrument, Instruments
from gpudbg.sm.engines.llvm.kernel.lane_facts import Facts
from gpudbg.sm.engines.llvm.kernel.library_access import LibraryAccess
from gpudbg.sm.engines.llvm.kernel.listing import KernelListing
from gpudbg.sm.engines.llvm.kernel.loops import Loop
from gpudbg.sm.engines.llvm.kernel.machine import KernelMachine, WideKernelMachine
from gpudbg.sm.engines.llvm.kernel.marks import Marks
from gpudbg.sm.engines.llvm.kernel.merges import NO_FACTS, Merges, NotAsGuessedError
from gpudbg.sm.engines.llvm.kernel.moves import Moves
from gpudbg.sm.engines.llvm.kernel.options import LARGE, EmitterOptions
from gpudbg.sm.engines.llvm.kernel.patterned_access import PatternedAccess
from gpudbg.sm.engines.llvm.kernel.patterns import Pattern, well_founded
from gpudbg.sm.engines.llvm.kernel.pieces import Blocks, Pieces
from gpudbg.sm.engines.llvm.kernel.place_facts import PlaceFacts, sure_label
from gpudbg.sm.engines.llvm.kernel.reciprocals import Reciprocals
from gpudbg.sm.engines.llvm.kernel.registers import NamedState, Registers
from gpudbg.sm.engines.llvm.kernel.regular_access import RegularAccess
from gpudbg.sm.engines.llvm.kernel.row_homes import in_rows
from gpudbg.sm.engines.llvm.kernel.runtime_calls import RuntimeCalls
from gpudbg.sm.engines.llvm.kernel.shared_sums import SharedSums
from gpudbg.sm.engines.llvm.kernel.shuffles import Shuffles
from gpudbg.sm.engines.llvm.kernel.sink import sink
from gpudbg.sm.engines.llvm.kernel.sites import Sites
from gpudbg.sm.engines.llvm.kernel.special import SpecialRegisters
from gpudbg.sm.engines.llvm.kernel.strides import StridedAccess
from gpudbg.sm.engines.llvm.kernel.succession import TURNS, Succession, function_of
from gpudbg.sm.engines.llvm.kernel.sure_ranges import SureRanges
from gpudbg.sm.engines.llvm.kernel.tensors import Tensors
from gpudbg.sm.engines.llvm.kernel.trace_rows import TraceRows
from gpudbg.sm.engines.llvm.kernel.turn_states import TurnStates
from gpudbg.sm.engines.llvm.kernel.watch_tests import WatchTests
from gpudbg.sm.engines.llvm.kernel.word_rows import WordRows
from gpudbg.sm.engines.llvm.layout import Left
from gpudbg.sm.record import FIELDS
from gpudbg.sm.semantics import registry
from gpudbg.sm.semantics.control import PUSHES
from gpudbg.sm.semantics.machine import Operations

PC = FIELDS["pc"].offset

_CHANGES_MEMORY = frozenset(
    (
        *"ST STG STS STL STSM ATOM ATOMS RED ATOMG REDG LDGSTS SYNCS STAS REDAS BSSY BREAK".split(),
        *"UBLKCP UTMALDG UTMASTG BMOV".split(),
        *PUSHES,
    )
)
"""Instructions that must not execute twice; divergence stack and barrier activations count as
memory, since they are in the record.
"""

_MAY_LEAVE = frozenset(("LD", "LDG", "LDS", "LDL", "LDC", *_CHANGES_MEMORY))
"""Instructions before which loops have deoptimisation points, so that values dead before them need
not be carried.
"""

_ACCESSES = frozenset("LDG STG LDS STS LDL STL".split())
_MOST_GATHERED = 128
"""Most accesses that code for any lanes does in place: those in most loops."""

_FEW_GUESSES = 24
"""Most guesses about accesses of which those outside of loops are of use in code for any lanes."""

_MOST_BARRIERS = 4
"""Most barriers outside of loops in code that relies on what is known of lanes behind its last
loop: warps that come otherwise are tested at each, which is text, and gains nothing in long chains.
"""

_MOST_POINTS = 4
"""Most such points in a loop: each is a block that stores the state."""

_ONE_TURN = 64
"""Instructions that a turn has room for, unless somebody has set another quantum: where code is
longer, and where it has loops, turns end in it, and it goes to the next warp by itself."""

_LONGEST_TRACE = 64
"""Most instructions of a trace."""

_LONGEST_OF_LARGE = 24
"""The same of a large kernel (`LARGE`), in which copies make most of the compiling."""

_SHORT = 8
"""The same where a trace is to be short: in code for any lanes, where longer ones gain nothing and
cost twice the compiling, and where they would make too much text (`job`)."""

_LONGEST_ROUND = 24
"""The same where a trace is to be short and begins a loop of at most so many: its state stays in
names from round to round."""

_LONGEST_ROUND_WHOLE = 64
"""The same in code for whole warps on hosts without AVX-512."""

_LONGEST_RESUMED = 16
"""The same where only a turn that has ended, or a group of lanes, begins at the block: what falls
into it has copies of its own, and compiling each rest of a chain of blocks costs the square of its
length.  128-bit code has longer chains, for its pieces are longer."""


class _Revertible(Protocol):
    """A part of the emitter that can be reset to where an instruction began."""

    def mark(self) -> Any:
        """The present state."""

    def revert(self, mark: Any) -> None:
        """Reset to the state of a mark."""


class _Trace(NamedTuple):
    """A trace as it is emitted.

    Attributes:
        lines, tail: the quick path, and blocks out of the way.
        latches: of its loop.
    """

    lines: list[str]
    tail: list[str]
    latches: list[str]


class Emitter:
    """Emits one version of a listing's function.

    Attributes:
        listing, options: what is compiled, and how.
        slow: instructions left to the step engine, address to reason.
        blocks: what has been emitted.
        sites: cache entries of its accesses.
        runtime: its calls of the library.
        finals: registers of warps that end.
        emitted: instructions, those in copies of blocks included.
        added: lines of text that load values again, which take the compiler no longer.
        left_out: heads at which whole warps begin so seldom that the code for any lanes is theirs.
    """

    def __init__(self, listing: KernelListing, options: EmitterOptions) -> None:
        self.listing, self.options = listing, options
        self.full, self.plain, self._short = options.full, options.plain, options.short
        self._calls = options.plain or options.calls or not options.full
        self.conditions = options.conditions
        self.held = options.registers, options.uniform
        self.slow: dict[int, str] = {}
        self.emitted = self.added = 0
        self.left_out: frozenset[int] = frozenset()
        self.blocks = Blocks()
        self.finals = FinalStates()
        self.turn_states = TurnStates(self.finals)
        self._table = registry.table(listing.arch)
        self._wide = not listing.layout.has_control_words
        self._spare = 0
        self._resumed = False
        """Traces are for warps that seldom begin there: short, and with calls of the library."""
        self._traces: dict[int, _Trace] = {}
        barriers = (pc for pc, insn in listing.code.items() if insn.op == "BAR")
        self._few_barriers = sum(not listing.repeats(pc) for pc in barriers) <= _MOST_BARRIERS
        longer = options.full and not options.wide_vectors
        self._rounds = listing.rounds(_LONGEST_ROUND_WHOLE if longer else _LONGEST_ROUND)
        self._parts(options)
        self.machine: Operations[Num, Num, Mask] = self._machine(options)
        self._revertible: list[_Revertible] = [
            self.ir,
            self.cursor,
            self.registers,
            self.exits,
            self.edges,
            self.addresses,
            self.instruments,
            self.carried,
        ]

    def _parts(self, options: EmitterOptions) -> None:
        """Make the parts for blocks, edges and side exits."""
        listing = self.listing
        ir, cursor = Builder(), Cursor(listing.layout)
        values = Values(ir, options.masks, not options.plain)
        ints = Integers(ir, values)
        self.ir, self.cursor, self.values, self.ints = ir, cursor, values, ints
        self.runtime = RuntimeCalls(ir, values)
        self.floats = Floats(
            ir, values, ints, self.runtime, options.wide_vectors, options.halves, options.blends
        )
        self.registers = registers = Registers(
            ir,
            values,
            ints,
            self.floats,
            cursor,
            options.registers,
            listing.written(),
            options.uniform,
        )
        self.exits = exits = Exits(ir, registers, cursor)
        registers.uniform.bail_unless = exits.bail_unless
        exits.shared = not (options.plain or options.wide_vectors)
        if not options.full:
            registers.uniform.carried = frozenset()
        self.instruments = self._instruments(options)
        self.sites = Sites(ir, cursor, options.first_site)
        self.marks = Marks(ir, options.marking)
        self.addresses = Addresses(ir, values, ints, cursor, self.sites, self.marks, options.run)
        self.merges = Merges(
            ir, values, ints, self.floats, cursor, registers, exits, self.addresses, listing
        )
        self.loop = Loop(ir, self.floats, registers, self.merges)
        longer = options.full and not options.plain and not options.wide_vectors
        wanted = options.masks is MaskHost.PACKED and options.full and not options.plain
        self.place_facts = PlaceFacts(ints, registers, listing, options.claims if wanted else None)
        self.edges = Edges(
            ir, cursor, registers, exits, self.addresses, listing, self.loop, self.place_facts
        )
        if longer:
            self.edges.apart = frozenset(listing.layout.first(head) for head, _ in listing.loops)
        self.forks = Forks(ir, cursor, registers, self.edges, listing)
        self.carried = CarriedTests(ir, ints, not self.instruments)
        self.pieces = Pieces(
            ir, registers, exits, self.edges, self.merges, listing, self.blocks, self.carried
        )

    def _instruments(self, options: EmitterOptions) -> Instruments:
        """Make the instruments that observers need."""
        about = self.ir, self.values, self.cursor, self.exits
        made: list[Instrument] = []
        if options.traced:
            made.append(TraceRows(*about, options.traced, options.full))
        if options.tests:
            made.append(WatchTests(*about, options.tests, layout_for(self.listing.arch)))
        return Instruments(made)

    def _machine(self, options: EmitterOptions) -> KernelMachine:
        """Make the machine that semantics functions are given."""
        ir, values, ints, cursor = self.ir, self.values, self.ints, self.cursor
        floats, exits, runtime, sites = self.floats, self.exits, self.runtime, self.sites
        doubles = Doubles(ir, floats, runtime)
        halves = HalfArithmetic(ir, floats, doubles)
        moves = Moves(ir, values, cursor, self.marks)
        windows = layout_for(self.listing.arch)
        rank = ClusterRank(ir, values, options.clustered)
        library = LibraryAccess(
            ir,
            values,
            ints,
            cursor,
            exits,
            runtime,
            sites,
            self.marks,
            windows,
            rank,
            bool(self.instruments),
        )
        about = sites, self.addresses, moves, library
        self.ranges = SureRanges(ir, values, cursor, exits, runtime, sites, self.addresses)
        regular = RegularAccess(
            ir, values, cursor, exits, runtime, *about, self.ranges, self.listing.repeats
        )
        patterned = PatternedAccess(
            ir,
            values,
            cursor,
            exits,
            *about,
            regular,
            options.patterns,
            options.wide_vectors,
            self.carried,
        )
        sums = SharedSums(ir, values, cursor, runtime, self.addresses, library)
        self.strides = StridedAccess(ir, values, self.addresses, *self._strided())
        anywhere = not options.full and not options.plain
        rows = WordRows(ir, runtime, self.listing, anywhere)
        about_gathers = self._gathered(), self._beside(), self.strides, rows
        gathered = GatheredAccess(ir, values, cursor, *about, *about_gathers)
        about_flow = ir, values, ints, cursor, exits, self.edges, runtime, options.full
        waiting = self.listing.waiting
        flow = GroupFlow(*about_flow, waiting=waiting) if self._wide else KernelFlow(*about_flow)
        if options.full and not self.instruments:
            flow.succession = Succession(ir, cursor, exits, self.place_facts)
        # The plain version for any lanes is for whole warps, too.
        takes_turns = self.listing.loops or len(self.listing.code) > _ONE_TURN
        if takes_turns and not self.instruments and (options.full or not options.plain):
            exits.over = f"br label %{TURNS}"
        self.accesses = Accesses(
            ir, patterned, regular, sums, gathered, library, self.instruments, self._calls
        )
        made = WideKernelMachine if self._wide else KernelMachine
        return made(
            cursor,
            self.registers,
            Constants(
                ir, values, ints, cursor, exits, runtime, self.addresses, moves, options.banks
            ),
            SpecialRegisters(ir, ints, cursor, options.sregs, options.fixed, rank, options.rows),
            ints,
            floats,
            doubles,
            Conversions(ir, values, ints, floats, doubles, halves, runtime),
            Reciprocals(ir, floats, runtime, options.start),
            Shuffles(ir, values, ints, self.registers, runtime, options.wide_vectors),
            self.accesses,
            library,
            flow,
            Tensors(ir, cursor, exits, self.registers, runtime, library, self.instruments, ints),
            Copies(ir, values, ints, cursor, exits, runtime, library),
        )

    def _gathered(self) -> frozenset[int]:
        """Accesses that gather and scatter in place: of code for any lanes."""
        options = self.options
        hosts = options.wide_vectors or options.masks is MaskHost.PACKED
        if options.full or options.plain or not hosts:
            return frozenset()
        return self.listing.innermost(_ACCESSES, _MOST_GATHERED)

    def _strided(self) -> tuple[Mapping[int, Pattern], frozenset[int]]:
        """Patterns of accesses in code for any lanes, in loops, or all where they are few; those of
        them that may be to global memory."""
        options, listing = self.options, self.listing
        if options.full or options.plain:
            return {}, frozenset()
        sure = well_founded(listing)
        patterns = {pc: pattern for pc, pattern in options.patterns.items() if pc in sure}
        if len(patterns) > _FEW_GUESSES:
            patterns = {pc: found for pc, found in patterns.items() if listing.repeats(pc)}
            return patterns, self._gathered()
        return patterns, self._gathered() if listing.loops else frozenset(patterns)

    def _beside(self) -> bool:
        """Whether lanes that execute usually follow one another: some have left the others at the
        border of what a kernel covers.  For AVX-512."""
        return self.options.wide_vectors and not self.listing.loops

    # ---- the function --------------------------------------------------------------------

    def text(self, name: str) -> str:
        """The text of the function."""
        heads = sorted(self.listing.heads)
        entry = self.listing.entry
        if entry in self.listing.code:
            self._trace(entry, fresh=True)
            self._keep_trace(-1)
        resumed = {head for head in heads if self.full and self.listing.only_resumed(head)}
        self._blocks(head for head in heads if head not in resumed)
        while wanted := self._gone_to(resumed):
            # A trace goes on to these after all: with them it would be too long.
            resumed -= wanted
            self._blocks(sorted(wanted))
        # Who looks, stops, and loops end turns: warps go on in the middle again and again.
        often = self.instruments or self.conditions
        wanted = {head for head in resumed if often or self.listing.repeats(head)}
        self._resumed = True
        while wanted:
            resumed -= wanted
            self._blocks(sorted(wanted))
            wanted = self._gone_to(resumed)
        self.left_out = frozenset(resumed.difference(self.blocks.order))
        body: list[str] = []
        tail: list[str] = []
        for trace in self._traces.values():
            quick = self.finals.taken_out(trace.lines)
            lines, more = self.turn_states.taken_out(*sink(quick, trace.tail, trace.latches))
            body += lines
            tail += more
        body, tail = (self.place_facts.settled(lines) for lines in (body, tail))
        fresh = next(iter(self.blocks.fresh), None)
        observed = self.instruments.entry()
        turns = TURNS in self.exits.over
        top, passages = function_of(
            name,
            self.ir,
            [*body, *tail],
            fresh,
            self._wide,
            observed,
            turns,
            self.full,
            self.place_facts,
        )
        lines = [
            *top,
            "dispatch:",
            "  %left = load i64, ptr %budget",
            "  %over = icmp sle i64 %left, 0",
            "  br i1 %over, label %over.now, label %go",
            "over.now:",
            f"  {self.exits.over}",
            "go:",
            *self._switch(),
            "miss:",
            f"  ret i32 {int(Left.MISS)}",
            "seek:",
            *self.turn_states.seek(),
            "  %at = load i64, ptr %pcs",
            "  switch i64 %at, label %miss [",
            *(f"    i64 {pc | layout.FRESH}, label %z{pc}" for pc in self.blocks.fresh),
            *(f"    i64 {pc}, label %b{pc}" for pc in self.blocks.order),
            *seldom.cases(self.left_out, entry),
            "  ]",
            *seldom.blocks(self.left_out, entry, sum(self.held), self._wide),
        ]
        finals = [self.finals.text()] if self.finals.functions else []
        if not finals:
            body = [line for line in body if line != CALL]
            tail = [line for line in tail if line != CALL]
        blocks = [*body, *tail]
        if self.values.masks is MaskHost.PACKED:
            blocks = packs.in_place(far_masks(blocks))
        if not (self.options.wide_vectors or self.plain):
            cold = next((line for line in tail if not line.startswith(" ")), "")
            hot = blocks.index(cold) if cold else len(blocks)
            blocks = [*self._by_rows(blocks[:hot]), *blocks[hot:]]
        text = "\n".join(
            [
                *lines,
                *blocks,
                *passages,
                *self.edges.text(self.place_facts.surely),
                "}",
                *finals,
                *self.strides.texts(),
                ODDS,
            ]
        )
        return f"{text}\n{packs.function()}" if packs.CALLED in text else text

    def _by_rows(self, blocks: list[str]) -> list[str]:
        """Blocks whose values are in their rows where a host's registers are too few for them."""
        singles = {value.ref: single for value, single in self.floats.singles.items()}
        changed = in_rows(blocks, singles)
        self.added = len(changed) - len(blocks)
        return changed

    def _gone_to(self, resumed: set[int]) -> set[int]:
        """Places that traces go to which have no trace: of those only resumed as a rule, and
        forks."""
        reached = self.edges.checked | self.edges.entered
        return resumed & reached | self.edges.forks - set(self.blocks.order)

    def _switch(self) -> list[str]:
        """Emit the exit to the other version where the active lanes are not this one's; plain code
        for any lanes has no other.
        """
        if self.plain and not self.full:
            return ["  br label %seek"]
        return [
            "  %lanes = load i32, ptr %actives",
            f"  %other = icmp {'ne' if self.full else 'eq'} i32 %lanes, -1",
            "  br i1 %other, label %switch, label %seek",
            "switch:",
            f"  ret i32 {int(Left.SWITCH)}",
        ]

    # ---- blocks --------------------------------------------------------------------------

    def _blocks(self, heads: Iterable[int]) -> None:
        """Emit the traces of heads that have none, and of those that come of it."""
        self.accesses.plain = self._calls or self._resumed
        work = list(heads)
        for head in work:
            if head in self.listing.code and head not in self.blocks.placed:
                following = self._whole(head)
                if following is not None:
                    work.append(following)

    def _keep_trace(self, head: int) -> None:
        """Keep the trace just emitted."""
        self._traces[head] = _Trace(self.ir.lines, self.ir.tail, self.loop.latches)

    def _whole(self, head: int) -> int | None:
        """Emit a trace; a loop is emitted twice, since the first pass finds what it carries, and
        once more where that has facts about lanes that the emitter cannot follow round it."""
        cut, loop, edges = None, self.loop, self.edges
        kept = set(edges.checked), set(edges.missing), len(self.blocks.order)
        forks = set(edges.forks)
        placed = set(self.blocks.placed)

        def emit(facts: Facts, carried: NamedState | None = None) -> None:
            nonlocal cut
            edges.checked, edges.missing = set(kept[0]), set(kept[1])
            edges.forks = set(forks)
            self.blocks.placed = set(placed)
            del self.blocks.order[kept[2] :]
            again = self._trace(head, carried, facts=facts)
            cut = cut if again is None else again

        before = self._known_at(head) or self._before_loop(head)
        emit(before or self._claimed(head))
        if not loop.back_edges or self.plain:
            if loop.facts and not before:
                emit(NO_FACTS)
            edges.facts[head] = self.place_facts.tested[head] = before
            self._keep_trace(head)
            return cut
        while (good := loop.kept_facts()) != loop.facts and loop.relied_on(good):
            emit(good)
        edges.facts[head] = loop.facts = good
        carried = loop.carried_state()
        try:
            emit(good, carried)
        except NotAsGuessedError:
            edges.facts[head] = NO_FACTS
            emit(NO_FACTS, carried)
        self._keep_trace(head)
        return cut

    def _known_at(self, head: int) -> Facts:
        """What is known of registers where code comes from that goes to a head."""
        if self._resumed or self._claimed(head):
            return NO_FACTS
        leads = any(head <= last for _, last in self.listing.loops)
        return self.place_facts.at(head) if leads or self._few_barriers else NO_FACTS

    def _before_loop(self, head: int) -> Facts:
        """What indices are said to have in common that code before a loop begins with."""
        claims, listing = self.options.claims, self.listing
        if claims is None or self._resumed or listing.repeats(head):
            return NO_FACTS
        read = listing.read_before_loop(head, self._longest(head, False))
        known = claims.at(head).items() if read else ()
        return {n: fact for n, fact in known if n in read and any(fact.offsets)}

    def _claimed(self, head: int) -> Facts:
        """What registers' lanes are said to have in common at a head to which its trace may lead
        back; elsewhere a test would cost what the facts are worth."""
        claims = self.options.claims
        count = 0 if claims is None else self.listing.shortest_round(head)
        return claims.at(head) if claims and 0 < count <= self._longest(head, False) else NO_FACTS

    def _trace(
        self,
        head: int,
        carried: NamedState | None = None,
        fresh: bool = False,
        facts: Facts = NO_FACTS,
    ) -> int | None:
        """Emit a block and copies of those it falls into; a new head where one was cut short."""
        edges = self.edges
        self.ir.lines, self.ir.tail = [], []
        self.registers.read = set()
        self.loop.begin(-1 if fresh else head, carried, facts)
        self.loop.keeps = self.full and not self.instruments
        self.carried.begin_trace()
        self._spare = _MOST_POINTS
        self.forks.count = 0
        edges.longest = self._longest(head, fresh)
        edges.behind = 0
        if fresh:
            self.blocks.fresh.append(head)
        edges.parts = []
        in_place = edges.longest > 0 and not self.instruments
        edges.may_rejoin, edges.may_meet = self.full and in_place, not self.full and in_place
        edges.may_part = edges.may_rejoin and fresh and edges.longest > _SHORT
        cut = self._chain(self._straight(head, None))
        while edges.parts:
            cut = self._part(*edges.parts.pop(0), cut)
        self.carried.finish()
        if cut is None or cut in self.listing.heads:
            return None
        self.listing.heads.add(cut)
        return cut

    def _part(self, label: str, ahead: Fallthrough, cut: int | None) -> int | None:
        """Emit, out of the way, what some lanes of a whole warp do by themselves; as `_chain`."""
        ir = self.ir
        before, tail = ir.lines, ir.tail
        ir.lines, ir.tail = [], []
        self.edges.ahead = ahead
        self.carried.forget()
        cut = self._chain(cut)
        # What the lanes are was found where they parted, which is out of the way.
        known = [*before, *(line for line in tail if line.startswith("  %v"))]
        lines, more = sink(self.finals.taken_out(ir.lines, known), ir.tail)
        ir.lines, ir.tail = before, tail
        with ir.group_aside(label):
            ir.br(ahead.label)
            ir.lines += lines
        ir.tail += more
        return cut

    def _chain(self, cut: int | None) -> int | None:
        """Emit the blocks that the present one falls into; where one was cut short, or `cut`."""
        edges = self.edges
        while edges.ahead is not None:
            ahead, edges.ahead = edges.ahead, None
            again = self._straight(ahead.pc, ahead)
            cut = cut if again is None else again
        return cut

    def _longest(self, head: int, fresh: bool) -> int:
        """Most instructions of a block and its following copies."""
        if self.plain or self._resumed or (head == self.listing.entry and not fresh):
            return 0
        if not self.full or self._short:
            return max(self._rounds.get(head, 0), _SHORT)
        most = _LONGEST_OF_LARGE if len(self.listing.code) > LARGE else _LONGEST_TRACE
        fallen_into = self._wide and head not in self.listing.targets and not fresh
        return min(most, _LONGEST_RESUMED) if fallen_into else most

    def _straight(self, head: int, ahead: Fallthrough | None) -> int | None:
        """Emit one block; the following address where it was cut short, else None."""
        exits = self.exits
        self._begin(head, ahead)
        pc, count = head, 0
        cut: int | None = None
        while True:
            insn = self.listing.code[pc]
            self.cursor.pc, self.cursor.index = pc, count
            self.registers.clock += 1
            early = self.loop.carried is not None and insn.op in _MAY_LEAVE and self._spare > 0
            self._spare -= early
            if (self._calls or self._resumed) and (exits.may_leave or exits.memory_changed):
                # A call keeps no vector in a register: the record takes what the stack would.
                exits.settle()
            elif self._forked(insn) or exits.memory_changed or early:
                exits.new_point()
            if not self._try(insn):
                exits.new_point()
                self.ir.br(exits.side_exit(Left.STEP, pc))
                # The code after it becomes a head of its own: there the step engine hands over
                # again.
                cut = self.listing.following(pc)
                break
            count += 1
            self.carried.forget(insn.writes().registers)
            after = self.listing.following(pc)
            if self.cursor.terminated:
                break
            if self.cursor.parted:
                pc = after
                continue
            if self.pieces.begins(insn, after):
                if self.edges.has_room(after):
                    self.ir.br(self.edges.falls(True))
                    assert self.edges.ahead is not None
                    self.edges.ahead.tokens = self.edges.tokens
                else:
                    self.pieces.end_piece(after)
                break
            turns = self.listing.turns
            flow = insn.op in turns.flow
            if flow or after in self.listing.heads or after not in self.listing.code:
                self.ir.br(self.edges.edge(after, flow or turns.starts_piece(after)))
                break
            pc = after
        if not self.cursor.parted:
            self.blocks.extents[head] = pc
        self.instruments.finish_block()
        exits.write_exits()
        return cut

    def _forked(self, insn: Any) -> bool:
        """Emit a fork before an instruction, where one is of use; whether it is there."""
        large = len(self.listing.code) > LARGE
        if not self.full or self.accesses.plain or self.instruments or large:
            return False
        if not self.forks.before(insn):
            return False
        self.ranges.pass_branch()
        return True

    def _begin(self, head: int, ahead: Fallthrough | None) -> None:
        """Emit the head of a block."""
        ir, cursor, exits = self.ir, self.cursor, self.exits
        cursor.pc, cursor.index = head, 0
        cursor.terminated = False
        self.instruments.clear()
        self.edges.tokens = () if ahead is None else ahead.tokens
        known = None if ahead is None else ahead.active
        if self.full:
            cursor.active = FULL if known is None else known
            self.cursor.parted = cursor.active != FULL
        if ahead is None:
            self.edges.behind = 0
            self.registers.now, self.addresses.shapes, self.addresses.same = NamedState(), {}, {}
            if self.loop.head < 0:
                ir.label(f"z{head}")
                self.registers.now = self.registers.initial()
            else:
                self.blocks.order.append(head)
                ir.label(f"b{head}")
            cursor.budget = ir.op("load i64, ptr %budget")
            exits.new_point()
            self._test_facts()
            if self.loop.carried is not None:
                # Back edges test the mark there, where values dead here are available.
                entry = ir.fresh("w")
                ir.choose(
                    self.merges.marked(head),
                    exits.exit_at(exits.point, Left.MARK),
                    entry,
                    UNLIKELY,
                )
                ir.label(entry)
                self.loop.phis = self.merges.enter(
                    entry, f"l{head}", self.loop.carried, self.loop.single, self.loop.facts
                )
                exits.new_point()
        elif ahead.piece:
            self.pieces.begin_piece(ahead)
            self.ranges.pass_branch()
        else:
            self._continue(ahead)
        if (ahead is not None or self.loop.carried is None) and not self.cursor.parted:
            ir.unless(self.merges.marked(head), exits.exit_at(exits.point, Left.MARK), UNLIKELY)
        cursor.within = () if ahead is None else ahead.within
        if not self.full:
            cursor.active = known or Msk(bits=ir.op("load i32, ptr %actives"))
        self.instruments.begin_block()

    def _test_facts(self) -> None:
        """Emit the test of what is guessed of registers, which holds behind it."""
        facts = self.loop.facts
        if facts:
            good = lane_facts.test(self.ints, facts)
            self.ir.provided(good, self.exits.exit_at(self.exits.point, Left.ELSEWHERE))
            self.registers.now.facts = dict(facts)
            if self.place_facts.noted and self.loop.carried is None:
                # Where all this is known, code goes on here.
                label = sure_label(self.cursor.pc)
                self.ir.br(label)
                self.ir.label(label)
                self.cursor.budget = self.ir.op("load i64, ptr %budget")
                self.exits.new_point()

    def _continue(self, ahead: Fallthrough) -> None:
        """Emit the head of a block's copy, with everything known before it."""
        ir = self.ir
        self.edges.behind = ahead.behind
        self.registers.now, self.addresses.shapes, self.addresses.same = (
            ahead.names,
            ahead.shapes,
            ahead.same,
        )
        self.ranges.pass_branch()
        ir.label(ahead.label)
        before, executed = ahead.left
        self.cursor.budget = ir.op(f"sub i64 {before}, {executed}")
        self.exits.new_point()
        if self.cursor.parted:
            # Asked for all of the way when the lanes parted.
            return
        over = ir.op(f"icmp sle i64 {self.cursor.budget}, 0")
        ir.unless(over, self.exits.exit_at(self.exits.point, Left.TURN), UNLIKELY)

    def _try(self, insn: Any) -> bool:
        """Emit one instruction. Returns False, with nothing emitted, where it has no compiled
        version.
        """
        self.emitted += 1
        marks = [part.mark() for part in self._revertible]
        try:
            self._emit(insn)
            self.exits.memory_changed |= insn.op in _CHANGES_MEMORY
            return True
        except Slow as why:
            self.slow[self.cursor.pc] = str(why)
        for part, mark in zip(self._revertible, marks, strict=True):
            part.revert(mark)
        return False

    def _emit(self, insn: Any) -> None:
        """Emit one instruction."""
        self.runtime.begin_instruction()
        function = self._table.get(insn.op)
        if function is None:
            raise Slow("no semantics")
        if self._wide and registry.reserved(insn):
            raise Slow("a reserved value")
        if registry.missing_registers(insn, *self.held):
            # Also where the semantics do not use the register, such as a prefetch.
            raise Slow("a register the warp does not have")
        condition = self.conditions.get(self.cursor.pc)
        if condition is not None:
            self._stops_where(condition)
        if self._wide:
            index, negated = (PT, False) if insn.tests_guard else insn.guard
            self._guard(index, negated, insn.uniform_guard)
        else:
            self._guard(*insn.guard)
        self.instruments.note_instruction(insn)
        goal = insn.o.get("d")
        self.cursor.wants_old = isinstance(goal, Reg) and goal.index != RZ
        if self.cursor.pc in self.listing.polling:
            self._polls()
        function(self.machine, insn)

    def _polls(self) -> None:
        """Emit the poll of a loop that waits for other blocks."""
        ir, field = self.ir, layout.FIELD["polls"]
        ir.put("ptr", "null", "%env", layout.SLOT_SURE)
        ir.put("ptr", ir.get("ptr", "%env", layout.SLOT), "%env", layout.PHASE_LAST)
        if isinstance(self.cursor.exec, int) and self.cursor.exec == FULL:
            ir.put("i64", 1, "%env", field)
            return
        some = ir.op(f"icmp ne i32 {self.values.mask_bits(self.cursor.exec)}, 0")
        polls = ir.op(f"or i64 {ir.op(f'zext i1 {some} to i64')}, {ir.get('i64', '%env', field)}")
        ir.put("i64", polls, "%env", field)

    def _stops_where(self, condition: Condition) -> None:
        """Emit an exit before the instruction where a breakpoint's condition holds in some lane."""
        self.cursor.exec = self.cursor.active
        lanes = self.ints.mand(self.cursor.active, condition.holds(self.machine))
        bits = self.values.mask_bits(lanes)
        self.exits.bail_unless(self.ir.op(f"icmp eq i32 {bits}, 0"))

    def _guard(self, index: int, negated: bool, uniform: bool = False) -> None:
        """Set the execution mask."""
        cursor = self.cursor
        cursor.guarded = index != PT or negated
        cursor.exec = cursor.active
        cursor.executing = Executing(cursor.active, None)
        if cursor.guarded:
            registers = self.registers
            held = registers.uniform.upred(index) if uniform else registers.pred_whole(index)
            place = index + 8 if uniform else index
            cursor.executing = Executing(cursor.active, (place, negated, held))
            cursor.exec = self.ints.mand(cursor.active, self.ints.mnot(held) if negated else held)
