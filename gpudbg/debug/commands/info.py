"""Status: info warps, lanes, registers, kernels, sms, blocks, threads, policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpudbg.analysis.liveness import PREDICATE
from gpudbg.answers import Card, Listing, Table, column, computed, typed_row
from gpudbg.answers.formats import (
    ABSENT,
    ADDRESS,
    COORDINATES,
    COUNT,
    HERE,
    LANES,
    NUMBERS,
    Format,
)
from gpudbg.answers.words import dim, lane_list
from gpudbg.dataclass import dataclass
from gpudbg.debug import snapshot
from gpudbg.debug.commands.table import command
from gpudbg.debug.focus.focus import Dim3, thread_of
from gpudbg.debug.stops.spinning import spins
from gpudbg.debug.stops.standing import standing_pc
from gpudbg.debug.stops.stop import Stop
from gpudbg.debug.values import shared_registers
from gpudbg.debug.values.lane_groups import GroupRow, group_rows
from gpudbg.debug.values.mbarriers import MbarrierRow, mbarriers
from gpudbg.debug.values.unwritten import WORDS, untouched_registers
from gpudbg.debug.views import gdb_text
from gpudbg.debug.views import text as views
from gpudbg.debug.views.format import float_of, float_text, format_bits, parse_int, split_spec
from gpudbg.errors import CommandError
from gpudbg.expr.types import VOID

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.sm.state import WarpState


@command(
    "info warps",
    "info w",
    usage="info warps [all|CONDITION]",
    help="resident warps: block, pc, state, lanes, and why one does not run",
    group="status",
    details="CONDITION is an expression; warps with an active lane where it holds are shown.",
)
def info_warps(session: DebugSession, argument: str) -> Table:
    """List warps."""
    spins(session)
    condition = argument.strip() if argument.strip() != "all" else ""
    rows = (snapshot.warp_row(session, state) for state in session.warps_where(condition))
    empty = "no such warp is resident"
    return Table(snapshot.WarpRow, tuple(rows), empty=empty, below=snapshot.group_lines)


@typed_row
class LaneState:
    """A lane of the focused warp."""

    lane: int = column("Lane", COUNT)
    state: str = column("State")
    thread: Dim3 = column("Thread", COORDINATES)
    predicates: str = column("P0-P6")
    here: bool = column("", HERE, key="")


@typed_row
class GroupedLane:
    """A lane of the focused warp that has a pc of its own."""

    lane: int = column("Lane", COUNT)
    state: str = column("State")
    thread: Dim3 = column("Thread", COORDINATES)
    pc: int | None = column()
    short: str = column("PC", key="")
    predicates: str = column("P0-P6")
    group: str = column("Group")
    here: bool = column("", HERE, key="")


@command(
    "info lanes",
    "info la",
    usage="info lanes",
    help="lanes of the focused warp",
    group="status",
    needs="stopped",
)
def info_lanes(session: DebugSession, argument: str) -> Table:
    """List lanes."""
    assert session.focus is not None
    state, focused = session.warp().state, session.focus.lane
    lanes = (lane for lane in range(32) if state.valid >> lane & 1)
    rows = tuple(_lane(state, lane, lane == focused) for lane in lanes)
    if not state.has_groups:
        return Table(LaneState, rows)
    groups = group_rows(session, state)
    return Table(GroupedLane, tuple(_grouped(row, groups) for row in rows))


def _grouped(row: LaneState, groups: Sequence[GroupRow]) -> GroupedLane:
    """A lane and the group it is in; one that has ended is in none."""
    mine = next((g for g in groups if g.lanes >> row.lane & 1), None)
    pc, short, words = (mine.offset, mine.short, mine.brief) if mine else (None, "", "")
    return GroupedLane(row.lane, row.state, row.thread, pc, short, row.predicates, words, row.here)


def _lane(state: WarpState, lane: int, here: bool) -> LaneState:
    bit = 1 << lane
    word = "exited" if state.exited & bit else "active" if state.active & bit else "inactive"
    predicates = "".join(str(int(p) >> lane & 1) for p in list(state.predicates)[:7])
    return LaneState(lane, word, thread_of(state, lane), predicates, here)


@typed_row
class RegisterRow:
    """A register of the focused lane, and what the other lanes hold."""

    name: str = column("")
    value: int | float | bool | str = column()
    text: str = column("")
    more: str = column("", default="")
    others: str = column("active lanes", default="")


@command(
    "info registers",
    "info r",
    "info all-registers",
    usage="info registers[/x|/d|/f] [R4 P0 …]",
    help="registers of the focused lane, with what the other lanes hold",
    group="status",
    needs="stopped",
)
def info_registers(session: DebugSession, argument: str) -> Table | Listing:
    """List registers."""
    spec, text = split_spec(argument)
    assert session.focus is not None
    words = text.replace(",", " ").split()
    if gdb_text.wanted(session):
        return gdb_text.register_listing(session, words, spec.letter)
    rows = _registers(session, [w.lstrip("$") for w in words], spec.letter)
    heading = f"lane {session.focus.lane}"
    return Table(RegisterRow, tuple(rows), by="name", value="value", headings=(("text", heading),))


def _registers(
    session: DebugSession, wanted: Sequence[str], letter: str | None
) -> Iterator[RegisterRow]:
    state = session.warp().state
    for name in wanted or [f"R{i}" for i in range(int(state.R.shape[0]))]:
        if name[:1] in "Rr" and name[1:].isdecimal():
            yield _general_register(session, name.upper(), letter)
        else:
            yield _named_register(session, name, letter)
    if not wanted:
        yield from _other_registers(session, state)


def _general_register(session: DebugSession, name: str, letter: str | None) -> RegisterRow:
    assert session.focus is not None
    number = parse_int(name[1:], "register")
    values = session.context().register(number)
    bits = int(values[session.focus.lane])
    never = untouched_registers(session) >> number & 1 and not values.any()
    words = WORDS if never else views.shape_words(values, session.warp().state.active)
    return RegisterRow(name, bits, *_register_text(bits, letter), words)


def _named_register(session: DebugSession, name: str, letter: str | None) -> RegisterRow:
    assert session.focus is not None
    lane, result = session.focus.lane, session.evaluate("$" + name)
    if result.type == VOID:
        raise CommandError(f"Invalid register `{name}'")
    return RegisterRow(name, result.values[lane].item(), views.value_text(result, lane, letter))


def _other_registers(session: DebugSession, state: WarpState) -> Iterator[RegisterRow]:
    """Predicates, the condition code, and where the warp stands."""
    assert session.focus is not None
    lane = session.focus.lane
    never = untouched_registers(session)
    for i in range(7):
        mask = int(state.predicates[i])
        on = bool(mask >> lane & 1)
        words = f"lanes {lane_list(mask & state.active)}"
        if never >> PREDICATE + i & 1 and not mask:
            words = WORDS
        yield RegisterRow(f"P{i}", on, "true" if on else "false", "", words)
    if state.has_groups:
        yield from _shared_registers(session, state)
    else:
        flags = "".join(f for i, f in enumerate("ZSCO") if int(state.cc[i]) >> lane & 1) or "-"
        yield RegisterRow("CC", flags, flags)
    pc = standing_pc(session, state)
    shown, where = f"0x{session.shown_pc(pc):x}", session.symbols.describe_line(pc)
    yield RegisterRow("pc", session.symbols.offset(pc), shown, "", where)


def _shared_registers(session: DebugSession, state: WarpState) -> Iterator[RegisterRow]:
    """Uniform registers and predicates and convergence barriers that the program uses."""
    assert session.focus is not None
    lane, active = session.focus.lane, snapshot.warp_row(session, state).active
    for register in shared_registers.used(session.symbols, state):
        values = shared_registers.read(state, register)
        value = int(values[lane])
        same = views.shape_words(values, active)
        if register.file == shared_registers.PREDICATE:
            yield RegisterRow(register.name, bool(value), "true" if value else "false", "", same)
        elif register.file == shared_registers.BARRIER:
            waits = f"lanes {lane_list(value)}" if value else "-"
            yield RegisterRow(register.name, value, f"0x{value:08x}", waits)
        else:
            yield RegisterRow(register.name, value, *_register_text(value, None), same)


def _register_text(bits: int, letter: str | None) -> tuple[str, str]:
    if letter:
        return format_bits(bits, 4, letter), ""
    value = float_of(bits, 4)
    as_float = float_text(value, 4) if bits and 1e-6 < abs(value) < 1e9 else ""
    signed = bits - (1 << 32) if bits >> 31 else bits
    return f"0x{bits:08x}", f"{signed}" + (f"  {as_float}f" if as_float else "")


@typed_row
class KernelRow:
    """A kernel of the program; of one in another cubin of the file only the name is known."""

    name: str = column("Kernel")
    registers: int = column("Regs", COUNT, default=ABSENT)
    parameters: Sequence[int] = column(
        "Parameter bytes", Format(lambda sizes: NUMBERS.text(sizes) or "-", list), default=ABSENT
    )
    shared_bytes: int = column("Shared", COUNT, default=ABSENT)
    local_bytes: int = column("Local", COUNT, default=ABSENT)
    current: bool = column("", HERE, default=False)


@command(
    "info kernels",
    help="kernels of the program",
    group="status",
    needs="nothing",
)
def info_kernels(session: DebugSession, argument: str) -> Table:
    """List kernels."""
    here = (
        KernelRow(
            k.name,
            k.num_regs,
            [p.size for p in k.params],
            k.shared_static_bytes,
            k.local_bytes,
            k.name == session.kernel.name,
        )
        for k in session.program.kernels.values()
    )
    return Table(KernelRow, (*here, *map(KernelRow, session.program.elsewhere)))


@typed_row
class SmRow:
    """An SM, and how full it is."""

    sm: int = column("SM", COUNT)
    ctas: int = column("CTAs", COUNT)
    warps: int = column("Warps", COUNT)
    ready: int = column("Ready", COUNT)


@command("info sms", help="SMs and how full they are", group="status")
def info_sms(session: DebugSession, argument: str) -> Table:
    """List SMs."""
    rows = []
    for sm in session.grid.sms:
        warps = list(sm.resident())
        ctas = sum(1 for c in sm.ctas if c is not None)
        ready = sum(1 for w in warps if w.status == "ready")
        rows.append(SmRow(sm.index, ctas, len(warps), ready))
    return Table(SmRow, tuple(rows))


def _state_counts(states: dict[str, int]) -> str:
    return ", ".join(f"{n} {state}" for state, n in states.items())


@typed_row
class BlockRow:
    """A resident block."""

    block: Dim3 = column("Block", COORDINATES)
    sm: int = column("SM", COUNT)
    warps: Sequence[int] = column("Warps", NUMBERS)
    states: dict[str, int] = column("State", Format(_state_counts))


@command("info blocks", "info ctas", help="resident blocks", group="status")
def info_blocks(session: DebugSession, argument: str) -> Table:
    """List blocks."""
    grid = session.grid
    seen: dict[tuple[int, Dim3], list[WarpState]] = {}
    for w in grid.warps():
        seen.setdefault((w.sm, w.cta.block), []).append(w)
    rows = []
    for (sm, block), warps in seen.items():
        states = [w.status for w in warps]
        counts: dict[str, int] = {state: states.count(state) for state in sorted(set(states))}
        rows.append(BlockRow(block, sm, [w.slot for w in warps], counts))
    total = grid.grid[0] * grid.grid[1] * grid.grid[2]
    tail = f"{grid.ctas_done} of {total} done, {grid.ctas_waiting} not begun"
    return Table(BlockRow, tuple(rows), foot=(tail,))


@typed_row
class ThreadGroup:
    """Threads of a warp that stand at one place."""

    block: Dim3 = column("Block", COORDINATES)
    first: Dim3 = column(None, COORDINATES, "from")
    last: Dim3 = column(None, COORDINATES, "to")
    threads = computed("Threads", lambda g: f"{dim(g.first)}..{dim(g.last)}")
    count: int = column("Count", COUNT)
    state: str = column("State")
    pc: int | None = column(default=None)
    where: str = column("Where", key="", default="")


@command(
    "info threads",
    usage="info threads [BLOCK]",
    help="threads grouped by place, as cuda-gdb does",
    group="status",
)
def info_threads(session: DebugSession, argument: str) -> Table:
    """Threads of resident blocks, grouped by block and pc."""
    rows = [group for w in session.grid.warps() for group in _thread_groups(session, w)]
    return Table(ThreadGroup, tuple(rows), empty="no thread is running")


def _thread_groups(session: DebugSession, warp: WarpState) -> Iterator[ThreadGroup]:
    """Those that run, then those that wait by the token they wait for."""
    if warp.has_groups:
        yield from _pc_groups(session, warp)
        return
    left = warp.valid & ~warp.exited
    groups = [("running", warp.active)]
    groups += [(f"waiting ({kind})", mask & left & ~warp.active) for kind, mask, _ in warp.stack]
    for word, mask in groups:
        mask &= left
        if not mask:
            continue
        left &= ~mask
        lanes = [i for i in range(32) if mask >> i & 1]
        first, last = thread_of(warp, lanes[0]), thread_of(warp, lanes[-1])
        group = ThreadGroup(warp.cta.block, first, last, len(lanes), word)
        if word == "running":
            pc = standing_pc(session, warp)
            where = session.symbols.describe_line(pc)
            group = replace(group, pc=session.symbols.offset(pc), where=where)
        yield group


def _pc_groups(session: DebugSession, warp: WarpState) -> Iterator[ThreadGroup]:
    """The groups of a warp whose lanes have pcs of their own."""
    for group in group_rows(session, warp):
        lanes = [i for i in range(32) if group.lanes >> i & 1]
        first, last = thread_of(warp, lanes[0]), thread_of(warp, lanes[-1])
        where = session.symbols.describe_line(group.pc)
        word = group.state if group.state == "running" else group.words
        block = warp.cta.block
        yield ThreadGroup(block, first, last, len(lanes), word, group.offset, where)


@typed_row
class TokenRow:
    """A token of the divergence stack, or where the warp is now."""

    kind: str = column("Token")
    mask: int = column("Lanes", LANES)
    target: int = column()
    where: str = column("Goes to", key="")


@typed_row
class GroupToken:
    """A group of lanes of the focused warp."""

    here: bool = column("", HERE, key="focus")
    kind: str = column("State")
    mask: int = column("Lanes", LANES)
    target: int = column()
    where: str = column("Goes on at", key="")
    words: str = column("What they do")
    members: int = column()
    missing: int = column()


@command(
    "info stack",
    "info s",
    "info divergence",
    "info groups",
    help="divergence stack of the focused warp, or its groups of lanes: who waits for what",
    group="status",
    needs="stopped",
    details="Up to sm_62 the divergence stack, the top first; from sm_70 on the groups of lanes\n"
    "that have one pc, that which runs next first.",
)
def info_stack(session: DebugSession, argument: str) -> Table:
    """Show the divergence stack, top first; or the groups of lanes."""
    state, symbols = session.warp().state, session.symbols
    if state.has_groups:
        groups = group_rows(session, state)
        lines = (symbols.describe_line(g.pc) for g in groups)
        found = (
            GroupToken(g.here, g.state, g.lanes, g.offset, line, g.words, g.members, g.missing)
            for g, line in zip(groups, lines, strict=True)
        )
        return Table(GroupToken, tuple(found))
    tokens = [("now", state.active, standing_pc(session, state)), *reversed(list(state.stack))]
    rows = (
        TokenRow(str(kind), int(mask), symbols.offset(pc), symbols.describe_line(pc))
        for kind, mask, pc in ((kind, mask, int(target)) for kind, mask, target in tokens)
    )
    return Table(TokenRow, tuple(rows))


@typed_row
class BarrierRow:
    """A warp that waits at a barrier, and who has not come."""

    warp: int = column()
    why: str = column()


@command("info barriers", help="barriers of the focused block", group="status", needs="stopped")
def info_barriers(session: DebugSession, argument: str) -> Listing:
    """Who waits at which barrier."""
    warps = session.warp().state.cta.warps
    rows = [
        BarrierRow(w.slot, snapshot.barrier_words(session, w))
        for w in warps
        if w.status == "barrier"
    ]
    # A warp may go on while groups of its lanes wait: list these, too.
    rows += [
        BarrierRow(w.slot, group.line)
        for w in warps
        if w.status != "barrier"
        for group in group_rows(session, w)
        if group.state == "barrier"
    ]
    return Listing(
        tuple(rows),
        lambda w: f"warp {w.warp}: {w.why}",
        empty="no warp of this block waits at a barrier",
    )


@command(
    "info mbarriers",
    help="mbarriers of the focused block: phase, arrivals and bytes to come",
    group="status",
    needs="stopped",
)
def info_mbarriers(session: DebugSession, argument: str) -> Table:
    """What every mbarrier waits for."""
    return Table(MbarrierRow, mbarriers(session), empty="no mbarrier of this block has begun")


@command("info program", help="how the launch stands", group="status")
def info_program(session: DebugSession, argument: str) -> Card:
    """Launch, progress and the last stop."""
    grid = session.grid
    total = grid.grid[0] * grid.grid[1] * grid.grid[2]
    lines = (
        f"{session.program.path}  {session.program.arch}",
        f"{session.symbols.kernel_name} grid {dim(grid.grid)} block {dim(grid.block)}",
        f"{grid.ctas_done} of {total} blocks done, {grid.total:,} warp instructions",
    )
    return Card(session.stop, lambda stop: (*lines, stop.message if stop else ""))


@typed_row
class AllocationRow:
    """An allocation of device memory."""

    base: int = column("Begin", ADDRESS)
    end = computed("End", lambda a: a.base + a.size, show=ADDRESS)
    size: int = column("Bytes", COUNT)
    name: str = column("What")


@command("info allocations", "info memory", help="device memory: every allocation", group="status")
def info_allocations(session: DebugSession, argument: str) -> Table:
    """List allocations."""
    rows = (AllocationRow(a.base, a.size, a.name) for a in session.allocations())
    return Table(AllocationRow, tuple(rows))


@dataclass(frozen=True, slots=True)
class EarlierStop:
    """A stop of this session, by its number."""

    number: int
    stop: Stop

    def __str__(self) -> str:
        return f"{self.number:3}  {self.stop.instructions:>10,}  {self.stop.message}"

    def to_json(self) -> dict[str, Any]:
        """The stop."""
        return self.stop.to_json()


@command(
    "info stops",
    "info history",
    help="earlier stops of this session",
    group="status",
    needs="nothing",
)
def info_stops(session: DebugSession, argument: str) -> Listing:
    """List stops."""
    rows = enumerate(session.stops, session.stops.first)
    return Listing(tuple(EarlierStop(n, stop) for n, stop in rows), str)


@command(
    "info policy",
    help="what the model assumes where public documents are silent",
    group="status",
    needs="nothing",
)
def info_policy(session: DebugSession, argument: str) -> Listing:
    """List policies."""
    from gpudbg.sm.policy import POLICIES, Policy

    word = argument.strip().lower()
    rows = tuple(p for p in POLICIES if word in f"{p.name} {p.rule}".lower())
    if not rows:
        raise CommandError(f"no policy speaks of {word!r}")
    return Listing(rows, Policy.lines)
