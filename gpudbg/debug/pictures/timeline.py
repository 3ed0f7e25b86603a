"""Pictures of a launch over time: warps by tick, events, what changed up to a stop.

They are taken while the machine is at rest, from the session's timeline and from the pictures of
earlier stops.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpudbg.answers import plain_coordinates
from gpudbg.dataclass import dataclass
from gpudbg.debug.pictures.lane_rows import register_text
from gpudbg.debug.trace.timeline import (
    BEFORE,
    LETTERS,
    READY,
    UNKNOWN,
    Event,
    Executed,
    Track,
    Warp,
)
from gpudbg.debug.values.unwritten import WORDS

if TYPE_CHECKING:
    from gpudbg.debug.pictures.stop_picture import StopPicture
    from gpudbg.debug.session import DebugSession
    from gpudbg.debug.snapshot import WarpRow

MOST_WRITERS = 16


@dataclass(frozen=True, slots=True)
class WarpTrack:
    """A warp's row: its slot (None: it is gone), CTA (of one that is gone, its number there, too),
    what it does, active lanes of lanes at the shown stop (empty where it is not there)."""

    slot: int | None
    sm: int
    cta: str
    track: Track
    alive: str
    mine: bool


@dataclass(frozen=True, slots=True)
class Writes:
    """A register's row: columns in which the focused warp wrote it; before column `known` that
    was not recorded, or is kept no longer."""

    name: str
    columns: frozenset[int]
    known: int


@dataclass(frozen=True, slots=True)
class TimelinePicture:
    """A window of ticks.

    Attributes:
        start, stop: the window.
        end: the last tick that is known: where the machine stands before it, in its past, what is
            yet to come from there is drawn too.
        here: the tick at which the machine stands.
        columns: of the window; each is drawn `stretch` times.
        first: tick from which on it is recorded; None: only stops are known.
        recording: whether what follows is.
        tracks: warps, the focused one first; `later` more have not begun.
        events, barriers: on the way; ticks at which the focused warp came to a barrier.
        executed: the instruction of the cursor's tick, or why it is not known.
    """

    start: int
    stop: int
    end: int
    here: int
    columns: int
    stretch: int
    first: int | None
    recording: bool
    tracks: tuple[WarpTrack, ...]
    later: int
    events: tuple[Event, ...]
    barriers: tuple[int, ...]
    writes: tuple[Writes, ...]
    executed: str

    def column(self, tick: int) -> int | None:
        """Where a tick is drawn; None outside the window.  The end is in the last column."""
        if not self.start <= tick <= self.stop:
            return None
        span = self.stop - self.start
        return min((tick - self.start) * self.columns // span, self.columns - 1)

    def tick(self, column: int) -> int:
        """The first tick of a column."""
        span = self.stop - self.start
        return self.start - (-column * span // self.columns)


@dataclass(frozen=True, slots=True)
class TickChange:
    """A register or predicate that differs: texts of the focused lane, and how many lanes."""

    name: str
    before: str
    after: str
    lanes: int


@dataclass(frozen=True, slots=True)
class Store:
    """An instruction that wrote memory: by which warp or how many, how often, most lanes."""

    pc: int
    text: str
    warp: str
    count: int
    lanes: int


@dataclass(frozen=True, slots=True)
class ChangesPicture:
    """What a stop changed since an earlier one of the same warp.

    `since` is the earlier stop's tick, None without one; with `first` it is another warp's stop, so
    that registers are not compared; `mine` counts the warp's instructions in between (None: not
    recorded).  `masks` are active lanes before and after; `stores` is None where nothing was
    recorded; `outputs` are (buffer, changed elements).  `register` is the one whose last writers
    (latest first, `texts` beside) are shown; writers before tick `kept_from` are not known (None:
    nothing is recorded).
    """

    since: int | None
    now: int
    first: bool
    mine: int | None = None
    changes: tuple[TickChange, ...] = ()
    masks: tuple[int, int] | None = None
    stores: tuple[Store, ...] | None = None
    outputs: tuple[tuple[str, int], ...] = ()
    register: int | None = None
    writers: tuple[Executed, ...] = ()
    texts: tuple[str, ...] = ()
    kept_from: int | None = None


def warp_of(view: StopPicture, row: WarpRow) -> Warp:
    """A row's warp as the timeline names it."""
    x, y, _ = view.snapshot.grid
    return row.block[0] + x * (row.block[1] + y * row.block[2]), row.index_in_cta


def _ordered(
    view: StopPicture, present: StopPicture, every: Iterable[Warp]
) -> list[tuple[Warp, WarpRow | None]]:
    """Warps of the focused SM: focus, troubled ones, its CTA, the others; of all SMs those that
    are gone, last."""
    focus = view.focus_row
    rows: dict[Warp, WarpRow | None] = dict.fromkeys(every)
    rows |= {warp_of(present, w): w for w in present.warps}
    rows |= {warp_of(view, w): w for w in view.warps}
    if focus is not None:
        rows = {w: row for w, row in rows.items() if row is None or row.sm == focus.sm}
    mine = warp_of(view, focus) if focus is not None else None

    def rank(item: tuple[Warp, WarpRow | None]) -> tuple[int, Warp]:
        warp, row = item
        if warp == mine:
            return 0, warp
        if row is not None and (row.faulty or row.state in ("error", "trap")):
            return 1, warp
        same = mine is not None and warp[0] == mine[0]
        gone = row is None or row.state == "exited"
        return (2 if same else 4 if gone else 3), warp

    return sorted(rows.items(), key=rank)


def _sampled(track: Track, start: int, stop: int, views: Iterable[StopPicture]) -> Track:
    """Fill a track from the pictures of stops where nothing was recorded."""
    if UNKNOWN not in track.states:
        return track
    states, lanes = list(track.states), list(track.lanes)
    for view in views:
        if not start <= view.tick <= stop:
            continue
        at = min((view.tick - start) * len(states) // (stop - start), len(states) - 1)
        found = next((w for w in view.warps if warp_of(view, w) == track.warp), None)
        if found is not None and states[at] == UNKNOWN and found.executed:
            states[at] = LETTERS.get(found.state, READY)
            lanes[at] = found.active.bit_count()
    return Track(track.warp, "".join(states), tuple(lanes))


def take_timeline(
    session: DebugSession,
    view: StopPicture,
    present: StopPicture,
    views: Sequence[StopPicture],
    cursor: int,
    window: tuple[int, int] | None,
    cells: int,
    most: int,
    registers: Sequence[int],
) -> TimelinePicture:
    """The window as it is drawn.

    Args:
        view, present: the stop that is shown, and the last one.
        views: the kept pictures of this launch.
        cursor: tick of the cursor.
        window: its ticks; None for the whole launch.
        cells: screen columns.
        most: rows for warps.
        registers: whose writes are shown.
    """
    line, end = session.timeline, max(present.tick, session.history.end_tick)
    start, stop = window or (0, max(end, 1))
    columns = max(min(cells, stop - start), 1)
    record = line.present()
    ordered = _ordered(view, present, line.warps(most))
    tracks = line.tracks([w for w, _ in ordered], start, stop, columns)
    rows = []
    focus = view.focus_row
    mine = warp_of(view, focus) if focus is not None else None
    for (warp, row), track in zip(ordered, tracks, strict=True):
        track = _sampled(track, start, stop, views)
        cta = plain_coordinates(line.block(warp), view.snapshot.grid)
        if row is None:
            rows.append(WarpTrack(None, 0, f"{cta} w{warp[1]}", track, "", warp == mine))
            continue
        alive = f"{row.active.bit_count()}/{row.valid.bit_count()}"
        rows.append(WarpTrack(row.slot, row.sm, cta, track, alive, warp == mine))
    shown = [r for r in rows if r.mine or r.track.states.strip(BEFORE + UNKNOWN)]
    exact = record.exact if record is not None else end
    return TimelinePicture(
        start=start,
        stop=stop,
        end=end,
        here=present.tick,
        columns=columns,
        stretch=max(cells // columns, 1),
        first=None if record is None else record.first,
        recording=line.recording,
        tracks=tuple(shown),
        later=sum(
            1 for w in present.warps if not w.executed and (focus is None or w.sm == focus.sm)
        ),
        events=tuple(line.events()),
        barriers=tuple(line.arrivals(mine, 0, end)) if mine is not None else (),
        writes=tuple(
            _writes(session, mine, number, start, stop, columns, exact) for number in registers
        ),
        executed=_at_tick(session, view, cursor) if cursor != present.tick else _next(view),
    )


def _writes(
    session: DebugSession, warp: Warp | None, register: int, start: int, stop: int, columns: int,
    exact: int,
) -> Writes:  # fmt: skip
    found: list[Executed] = []
    if warp is not None:
        found = session.timeline.written(warp, register, start, stop)
    span = stop - start
    at = frozenset((e.tick - start) * columns // span for e in found)
    return Writes(f"R{register}", at, max(exact - start, 0) * columns // span)


def _at_tick(session: DebugSession, view: StopPicture, tick: int) -> str:
    """The instruction executed at a tick, or why it is unknown."""
    found = session.timeline.executed(tick)
    if found is None:
        record = session.timeline.present()
        if record is None or tick < record.first:
            return "not recorded"
        return f"its instruction is kept no longer; those from {record.exact:,} on are"
    row = next((w for w in view.warps if warp_of(view, w) == found.warp), None)
    cta = plain_coordinates(session.timeline.block(found.warp), view.snapshot.grid)
    who = f"warp {row.slot}" if row is not None else f"CTA {cta} warp {found.warp[1]}"
    lanes = found.lanes.bit_count()
    count = f"{lanes} lane{'s' if lanes != 1 else ''}" if lanes else "guarded off"
    return f"{who}  {code_text(view, found.pc)}  {count}"


def _next(view: StopPicture) -> str:
    return "now" if view.pc is None else f"now, next is {code_text(view, view.pc)}"


def code_text(view: StopPicture, pc: int) -> str:
    """`0158  XMAD R4, R3, R5, R4` of a pc."""
    code = view.code.code(pc)
    return f"{view.code.shown(pc)}  {code.text if code is not None else ''}".rstrip()


# ---- what changed ----------------------------------------------------------------------------
def take_changes(
    session: DebugSession,
    view: StopPicture,
    before: StopPicture | None,
    earlier: StopPicture | None,
    register: int | None,
    letter: str,
) -> ChangesPicture:
    """What the shown stop changed.

    Args:
        view, before: the stop, and the one before of the same warp.
        earlier: the one before of any warp, where that has none.
        register: whose last writers are asked for; None: of the first that changed.
        letter: format of registers.
    """
    tick, focus = view.tick, view.focus_row
    found = differing(before, view, letter) if before is not None else ()
    if register is None:
        register = chosen_register(view, found)
    writers: list[Executed] = []
    record = session.timeline.present()
    if register is not None and focus is not None and record is not None:
        warp = warp_of(view, focus)
        writers = session.timeline.written(warp, register, 0, tick, view.lane)[-MOST_WRITERS:][::-1]
    base = before or earlier
    stores = mine = None
    if base is not None and focus is not None:
        mine = session.timeline.executions(warp_of(view, focus), base.tick, tick)
    if base is not None and record is not None and record.exact <= base.tick:
        stores = _stores(session, view, base.tick)
    masks = None
    if before is not None and focus is not None and before.focus_row is not None:
        masks = (before.focus_row.active, focus.active)
    return ChangesPicture(
        since=base.tick if base is not None else None,
        first=before is None,
        now=tick,
        mine=mine,
        changes=found,
        masks=masks,
        stores=stores,
        outputs=_outputs(base, view) if base is not None else (),
        register=register,
        writers=tuple(writers),
        texts=tuple(code_text(view, w.pc) for w in writers),
        kept_from=None if record is None else record.exact,
    )


def chosen_register(view: StopPicture, found: Sequence[TickChange]) -> int | None:
    """The register to explain by default: one that changed and is read here, else a changed one,
    else one read here, else R0.
    """
    changed = [c.name for c in found]
    names = [*(n for n in changed if n in view.operands), *changed, *sorted(view.operands)]
    numbers = [int(n[1:]) for n in names if n[0] == "R" and n[1:].isdecimal()]
    if numbers:
        return numbers[0]
    return view.tracked if view.tracked is not None or view.focus_row is None else 0


def differing(before: StopPicture, view: StopPicture, letter: str) -> tuple[TickChange, ...]:
    """Registers and predicates whose values differ between two pictures of one warp."""
    old, new = before.snapshot.detail, view.snapshot.detail
    if old is None or new is None or old.registers.shape != new.registers.shape:
        return ()
    lane, out = view.lane, []
    never = {r.name for r in before.registers if r.why == WORDS}
    for n, (was, now) in enumerate(zip(old.registers, new.registers, strict=True)):
        lanes = int((was != now).sum())
        if lanes:
            old_text, text = (register_text(int(v[lane]), letter) for v in (was, now))
            if f"R{n}" in never:
                old_text = WORDS
            out.append(TickChange(f"R{n}", old_text, text, lanes))
    for n, (one, two) in enumerate(zip(old.predicates, new.predicates, strict=True)):
        lanes = ((one ^ two) & new.row.valid).bit_count()
        if lanes:
            old_text, text = ("true" if v >> lane & 1 else "false" for v in (one, two))
            out.append(TickChange(f"P{n}", old_text, text, lanes))
    return tuple(out)


def _outputs(before: StopPicture, view: StopPicture) -> tuple[tuple[str, int], ...]:
    """Buffers with how many of their (shown) elements differ, bit by bit."""
    old = {o.name: o.values for o in before.outputs}
    out = []
    for buffer in view.outputs:
        was = old.get(buffer.name)
        if was is None or was.shape != buffer.values.shape or not was.size:
            continue
        one, two = (v.view(np.uint8).reshape(v.size, -1) for v in (was, buffer.values))
        count = int((one != two).any(axis=1).sum())
        if count:
            out.append((buffer.name, count))
    return tuple(out)


def _stores(session: DebugSession, view: StopPicture, since: int) -> tuple[Store, ...]:
    """By instruction: the focused warp's first, then those of all others together."""
    slots = {warp_of(view, w): f"warp {w.slot}" for w in view.warps}
    mine = warp_of(view, view.focus_row) if view.focus_row is not None else None
    found: dict[tuple[bool, int], list[tuple[Warp, int, int]]] = {}
    for pc, warp, count, lanes in session.timeline.stores(since, view.tick):
        found.setdefault((warp != mine, pc), []).append((warp, count, lanes))
    rows = []
    for (_, pc), parts in sorted(found.items()):
        warp = parts[0][0]
        cta = plain_coordinates(session.timeline.block(warp), view.snapshot.grid)
        who = slots.get(warp, f"CTA {cta} w{warp[1]}") if len(parts) == 1 else f"{len(parts)} warps"
        count, lanes = sum(p[1] for p in parts), max(p[2] for p in parts)
        rows.append(Store(pc, code_text(view, pc), who, count, lanes))
    return tuple(rows)
