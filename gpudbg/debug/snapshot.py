"""Snapshot: the stopped machine as frozen data, taken once per stop and shown by every view.

Taking one copies what the views need and nothing else: a row per resident warp, and the focused
warp's registers, predicates and divergence stack.  A snapshot never changes and never asks the
machine again, so it can cross threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpudbg import html
from gpudbg.answers import column, computed, typed_row
from gpudbg.answers.formats import COORDINATES, COUNT, HERE
from gpudbg.answers.words import dim, lane_list, lane_marks
from gpudbg.dataclass import dataclass
from gpudbg.debug.focus.focus import Focus
from gpudbg.debug.stops.spinning import known_spin
from gpudbg.debug.stops.standing import standing_pc
from gpudbg.debug.stops.stop import Stop, stop_html
from gpudbg.debug.values import shared_registers
from gpudbg.debug.values.lane_groups import (
    GROUPS,
    GroupRow,
    group_rows,
    shown_group,
    waiting_entries,
)
from gpudbg.debug.values.lanes import array_mask, fixed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpudbg.debug.inferior import Inferior
    from gpudbg.sm.state import WarpState

Dim3 = tuple[int, int, int]

_STATUS_WORDS = {
    "exited": "all lanes have ended",
    "error": "stopped by an error",
    "trap": "trapped",
}


@typed_row
class WarpRow:
    """One resident warp.

    `state` is ready, barrier, trap, error or exited; `why` says in words why it does not run.
    Masks are ints, bit n for lane n.  `barrier` is the barrier it waits at (-1: none), `arrived`
    of `expected` threads have come there.  From sm_70 on `groups` are its lanes by their pcs; `pc`
    and `active` are those of the focused lane's group, and of the group that runs next in others.
    """

    sm: int = column("SM", COUNT)
    slot: int = column("Warp", COUNT, "warp")
    block: Dim3 = column("Block", COORDINATES)
    index_in_cta: int = column(key="")
    pc: int = column(key="")
    short: str = column("PC", key="")
    offset: int = column(key="pc")
    where: str = column()
    state: str = column("State")
    valid: int = column()
    active: int = column()
    exited: int = column()
    lanes = computed("Lanes 0..31", lane_marks)
    executed: int = column("Insns", COUNT, "instructions")
    depth: int = column(key="stack_depth")
    why: str = column("Why not running")
    focus: bool = column("", HERE, default=False)
    faulty: int = column(key="", default=0)
    barrier: int = column(key="", default=-1)
    arrived: int = column(key="", default=0)
    expected: int = column(key="", default=0)
    groups: tuple[GroupRow, ...] = column(None, GROUPS, default=())


@dataclass(frozen=True, slots=True)
class StackEntry:
    """One divergence-stack token: its kind, waiting or returning lanes, target.

    From sm_70 on a group of lanes: its state, and what it waits at (`B0`, `WARPSYNC`).
    """

    kind: str
    mask: int
    target: int
    offset: int
    where: str
    waits_at: str = ""


@dataclass(frozen=True, slots=True)
class SharedRow:
    """A register that the lanes of a warp share: UR4, UP0, B1.

    Attributes:
        name, file, number: as instructions name it; "uniform", "uniform predicate" or "barrier"; 4.
        values: what each lane sees; a barrier's are lane masks.
        changed: lanes in which it differs from the previous stop of the same warp.
    """

    name: str
    file: str
    number: int
    values: NDArray[np.uint32]
    changed: int = 0


def _shared(
    inferior: Inferior, warp: WarpState, before: tuple[SharedRow, ...]
) -> tuple[SharedRow, ...]:
    old = {row.name: row.values for row in before}
    out = []
    for register in shared_registers.used(inferior.symbols, warp):
        values = fixed(shared_registers.read(warp, register))
        changed = array_mask(values != old[register.name]) if register.name in old else 0
        out.append(SharedRow(register.name, register.file, register.number, values, changed))
    return tuple(out)


@dataclass(frozen=True, slots=True)
class WarpDetail:
    """The focused warp in full.

    `shared` are the uniform registers and predicates and the convergence barriers that the program
    uses, from sm_70 on; `flags` the condition code, up to sm_62.
    `registers` has shape (count, 32); `written` tells which registers were ever written since
    the warp began (None: unknown); `changed` are the registers and `changed_predicates` the
    predicates that differ from the previous stop of the same warp.
    """

    row: WarpRow
    registers: NDArray[np.uint32]
    predicates: tuple[int, ...]
    flags: tuple[int, ...]
    stack: tuple[StackEntry, ...]
    threads: NDArray[np.uint32]
    changed: frozenset[int] = frozenset()
    changed_predicates: frozenset[int] = frozenset()
    changed_lanes: NDArray[np.bool_] | None = None
    shared: tuple[SharedRow, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Snapshot:
    """Everything the views draw at one stop.

    >>> snapshot = session.snapshot()
    >>> snapshot.kernel, snapshot.grid, len(snapshot.warps), snapshot.detail.registers.shape
    ('block_max', (4, 1, 1), 8, (16, 32))
    """

    stop: Stop
    focus: Focus | None
    kernel: str
    arch: str
    grid: Dim3
    block: Dim3
    num_sms: int
    warps: tuple[WarpRow, ...]
    detail: WarpDetail | None
    ctas_total: int
    ctas_done: int
    ctas_waiting: int
    instructions: int
    breakpoints: tuple[dict[str, Any], ...]
    finished: bool

    def warp_row(self, sm: int, slot: int) -> WarpRow | None:
        """The row of a resident warp."""
        return next((w for w in self.warps if (w.sm, w.slot) == (sm, slot)), None)

    def __repr__(self) -> str:
        words = f"{len(self.warps)} warps, {self.instructions:,} warp instructions"
        return f"<Snapshot {self.kernel}: {self.stop.kind}, {words}>"

    def _repr_html_(self) -> str:
        return snapshot_html(self)


def group_lines(row: WarpRow) -> list[str]:
    """Lines below a warp's row: its groups of lanes, where they stand at different places."""
    if len(row.groups) < 2:
        return []
    return [f"{'*' if group.here else ' '}    {group.line}" for group in row.groups]


def why_not_running(inferior: Inferior, warp: WarpState) -> str:
    """Why a warp does not execute, or gets nowhere, in words; empty when it can."""
    status = warp.status
    if status == "barrier":
        return barrier_words(inferior, warp)
    words = _STATUS_WORDS.get(status, "")
    group = shown_group(inferior, warp)
    if not words and group is not None and group.waiting:
        words = "; ".join(row.line.partition("  ")[2] for row in group_rows(inferior, warp))
    if not warp.in_trap:
        spin = known_spin(inferior, warp)
        return words or (spin.words if spin is not None else "")
    cause = inferior.grid.traps.state(warp)["cause"]
    paused = "pauses " if status == "trap" else ""
    return f"{paused}in the trap handler: {cause}"


def barrier_words(inferior: Inferior, warp: WarpState) -> str:
    """Which barrier a warp waits at, how many threads came, and which warps have not."""
    words = inferior.grid.barrier_words(warp)
    if warp.barrier is None:
        absent = warp.cta.cluster.missing()
        names = [f"warp {w.slot} of block {dim(w.block)}" for w in absent]
        more = " …" if len(names) > 3 else ""
        return words + (f"; not there: {', '.join(names[:3])}{more}" if names else "")
    missing = [name for w in warp.cta.live if (name := _not_there(w, warp.barrier))]
    if missing:
        words += f"; not there: warp {', '.join(missing[:6])}{' …' if len(missing) > 6 else ''}"
    return words


def _not_there(warp: WarpState, number: int | None) -> str:
    """Words for a warp that has not, or only partly, arrived at a barrier; "" where all of it waits
    there.
    """
    if not warp.has_groups or number is None:
        return "" if warp.barrier == number else str(warp.slot)
    away = warp.valid & ~warp.exited & ~warp.shown_groups.at_barrier(number)
    if not away:
        return ""
    whole = away == warp.valid & ~warp.exited
    return str(warp.slot) if whole else f"{warp.slot} lanes {lane_list(away)}"


def warp_row(inferior: Inferior, warp: WarpState) -> WarpRow:
    """The row of one warp."""
    faulty = 0
    if inferior.stop is not None:
        for e in inferior.stop.errors:
            if (e.sm, e.warp) == (warp.sm, warp.slot):
                faulty |= sum(1 << lane for lane in e.lanes)
    group = shown_group(inferior, warp)
    number = warp.barrier
    barriers = warp.cta.barriers
    pc = standing_pc(inferior, warp)
    return WarpRow(
        sm=warp.sm,
        slot=warp.slot,
        block=warp.cta.block,
        index_in_cta=warp.index,
        pc=pc,
        short=inferior.symbols.short(pc),
        offset=inferior.symbols.offset(pc),
        where=inferior.symbols.describe(pc),
        state=warp.status,
        valid=warp.valid,
        active=warp.active if group is None else group.mask,
        exited=warp.exited,
        executed=warp.executed,
        depth=len(warp.stack),
        groups=group_rows(inferior, warp),
        why=why_not_running(inferior, warp),
        focus=inferior.focus is not None
        and (inferior.focus.sm, inferior.focus.warp) == (warp.sm, warp.slot),
        faulty=faulty,
        barrier=-1 if number is None else number,
        arrived=barriers.slots[number].arrived if number is not None else 0,
        expected=warp.cta.expected(number) if number is not None else 0,
    )


def _detail(inferior: Inferior, warp: WarpState, previous: Snapshot | None) -> WarpDetail:
    registers = fixed(np.array(warp.R, dtype=np.uint32, copy=True))
    predicates = tuple(int(p) for p in warp.predicates)[:7]
    entries = tuple(
        StackEntry(
            kind,
            mask,
            target,
            inferior.symbols.offset(target),
            inferior.symbols.describe(target),
            waits_at,
        )
        for kind, mask, target, waits_at in waiting_entries(inferior, warp)
    )
    changed: frozenset[int] = frozenset()
    changed_predicates: frozenset[int] = frozenset()
    lanes = None
    before = previous.detail if previous is not None else None
    same = (
        before is not None
        and (before.row.sm, before.row.slot, before.row.block)
        == (warp.sm, warp.slot, warp.cta.block)
        and before.registers.shape == registers.shape
    )
    if same and before is not None:
        lanes = registers != before.registers
        changed = frozenset(int(i) for i in np.flatnonzero(lanes.any(axis=1)))
        changed_predicates = frozenset(
            i for i, (a, b) in enumerate(zip(predicates, before.predicates, strict=True)) if a != b
        )
    return WarpDetail(
        row=warp_row(inferior, warp),
        registers=registers,
        predicates=predicates,
        flags=() if warp.has_groups else tuple(int(f) for f in warp.cc)[:4],
        stack=entries,
        threads=fixed(np.array(warp.tid, dtype=np.uint32, copy=True)),
        changed=changed,
        changed_predicates=changed_predicates,
        changed_lanes=lanes,
        shared=_shared(inferior, warp, before.shared if same and before is not None else ()),
    )


def take(
    inferior: Inferior, breakpoints: Iterable[dict[str, Any]], previous: Snapshot | None = None
) -> Snapshot:
    """The machine as it stands; `previous` decides what counts as changed."""
    grid = inferior.grid
    detail = None
    if inferior.focus is not None:
        detail = _detail(inferior, grid.warp(inferior.focus.sm, inferior.focus.warp), previous)
    assert inferior.stop is not None
    total = grid.grid[0] * grid.grid[1] * grid.grid[2]
    return Snapshot(
        stop=inferior.stop,
        focus=inferior.focus,
        kernel=inferior.kernel.name,
        arch=inferior.program.arch,
        grid=grid.grid,
        block=grid.block,
        num_sms=len(grid.sms),
        warps=tuple(warp_row(inferior, w) for w in grid.warps()),
        detail=detail,
        ctas_total=total if inferior.launched else 0,
        ctas_done=grid.ctas_done if inferior.launched else 0,
        ctas_waiting=grid.ctas_waiting,
        instructions=grid.total,
        breakpoints=tuple(breakpoints),
        finished=grid.finished,
    )


def snapshot_html(taken: Snapshot) -> str:
    """The machine at a stop: a row for each resident warp."""
    rows = [(w.sm, w.slot, dim(w.block), w.where, w.state, w.executed, w.why) for w in taken.warps]
    header = ("SM", "warp", "block", "at", "state", "instructions", "why not running")
    focus = taken.focus
    here = [
        html.HERE if focus is not None and (w.sm, w.slot) == (focus.sm, focus.warp) else ""
        for w in taken.warps
    ]
    head = f"{taken.kernel}<<<{dim(taken.grid)}, {dim(taken.block)}>>> on {taken.arch}"
    return html.heading(head) + stop_html(taken.stop) + html.table(header, rows, here)
