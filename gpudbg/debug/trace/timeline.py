"""Timeline: what every warp did by tick, the stops, the last writer of a register.

Stops, traps and bookmarks are known always.  What warps execute is recorded while it is switched
on (`set timeline on`, or by opening the history screen); nobody pays for it before.  Under
`set timeline small`, as the terminal UI has it, launches of at most `SMALL_WARPS` warps are
recorded from their first instruction, until they have taken `SMALL_TICKS`.

session.timeline.switch(True)
session.restart(); session.run()
print(session.execute("info timeline")["end"])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Final

import numpy as np

from gpudbg.dataclass import dataclass
from gpudbg.debug.attached import Attached
from gpudbg.debug.observing import subscribe, unsubscribe
from gpudbg.debug.stops.stop import AT_ENTRY, EntryStop, Stop
from gpudbg.debug.trace.record import KEPT, Record, lane_counts
from gpudbg.debug.values.operands import instruction_at
from gpudbg.isa.family import has_modifier
from gpudbg.sm.observer import Observer

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.debug.traps import SessionTraps
    from gpudbg.sm.state import WarpState
    from gpudbg.sm.trace import Batch

RUNS, READY, BARRIER, EXITED, BEFORE, UNKNOWN = "r", "w", "b", "x", " ", "?"
"""What a warp does in a column: executes, could but another one's turn it is, waits at a barrier,
has exited, has not begun; or nothing is known."""

LETTERS: Final = {"barrier": BARRIER, "exited": EXITED}
"""Letters of a warp's status where it does not stand ready."""

SMALL_WARPS: Final = 1024
"""Warps of a launch that is recorded by itself, at most."""
SMALL_TICKS: Final = KEPT
"""Instructions of such a launch until that ends: as long as each is kept exactly."""

STOPS: Final = 2000
"""Most stops among the events."""

STORES: Final = ("ST", "ATOM", "RED", "SUST", "SURED", "SUATOM")
"""First letters of instructions that write memory."""

Warp = tuple[int, int]
"""A warp of a launch: number of its CTA in the grid (x fastest), index in the CTA."""


@dataclass(frozen=True, slots=True)
class Track:
    """One warp over the columns of a window.

    Attributes:
        warp: which.
        states: a letter for each column, see `RUNS`.
        lanes: lanes that execute, or did last, for each column.
    """

    warp: Warp
    states: str
    lanes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Event:
    """An event at a tick: a stop, a trap, a bookmark.

    Attributes:
        tick: warp instructions of the launch before it.
        kind: "stop", "trap", "bookmark".
        text: in words.
        stop: number of the stop in the session, or None.
        warp: slot of the warp it is about, or None.
    """

    tick: int
    kind: str
    text: str
    stop: int | None = None
    warp: int | None = None


@dataclass(frozen=True, slots=True)
class Executed:
    """One executed instruction: when, where (a pc), by which lanes (a mask) of which warp."""

    tick: int
    pc: int
    lanes: int
    warp: Warp


@dataclass(slots=True)
class _Start:
    """How warps stood when recording began: lanes, and the state's letter."""

    warps: dict[Warp, tuple[int, str]] = field(default_factory=dict)


class Timeline(Attached["Inferior"], Observer):
    """See the module text.

    Attributes:
        bookmarks: tick -> name.
        notes: tick -> what its user wrote there.
        record: of the present launch; None while nothing is recorded.
    """

    looks_only = True

    def __init__(self, inferior: Inferior, traps: SessionTraps) -> None:
        self.bookmarks: dict[int, str] = {}
        self.notes: dict[int, str] = {}
        self.record: Record | None = None
        super().__init__(inferior)
        self._traps = traps
        self._grid: object = None
        self._recording = False
        self._small = self._tentative = False
        self._held = False
        self._start = _Start()

    # ---- recording ---------------------------------------------------------------------
    @property
    def recording(self) -> bool:
        """Whether what is executed from now on is recorded."""
        return self._recording

    def switch(self, on: bool) -> None:
        """Record from now on, or no longer; what was recorded stays until recording begins anew."""
        self._tentative = False
        if on == self.recording:
            return
        self._recording = on
        if not on:
            unsubscribe(self._inferior, self)
            if self.record is not None and self.record.end == self.record.first:
                self.record = None
            return
        self._begin()
        subscribe(self._inferior, self)

    def set_mode(self, mode: str) -> None:
        """Take over the setting `timeline`."""
        self._small = mode == "small"
        if not self._small:
            self.switch(mode == "on")
        elif not self._inferior.grid.total:
            self.launched()

    def launched(self) -> None:
        """A launch begins: a small one is recorded, where that is set, as long as it is."""
        self._held = False
        if not self._small or (self._recording and not self._tentative):
            return
        config = self._inferior.grid.config
        small = config.warps * config.ctas <= SMALL_WARPS
        self.switch(small)
        self._tentative = small

    def looked_at(self) -> None:
        """Begin to record when the timeline is first asked for, unless it is switched off."""
        if self._inferior.settings.shown("timeline") != "off":
            self.switch(True)

    def _begin(self) -> None:
        grid = self._inferior.grid
        self._grid = grid
        self.record = Record(grid.total)
        rows = {_warp(w): (w.active.bit_count(), LETTERS.get(w.status, READY))
                for w in grid.warps() if w.executed}  # fmt: skip
        self._start = _Start(rows if grid.total else {})

    def instructions(self, batch: Batch) -> None:
        """Record a batch of executed instructions; called by the machine as an observer."""
        if not self._recording or self._held:
            return
        if self._inferior.grid is not self._grid or self.record is None:
            # Launched again: from the first instruction on.
            self._grid, self._start = self._inferior.grid, _Start()
            self.record = Record(0)
        rows = batch.rows.copy()
        rows[:, 2] = batch.cta << 32 | batch.warp
        self.record.add(rows)
        if self._tentative and self.record.end > SMALL_TICKS:
            # Longer than its size promised: it runs as fast as without from here on.
            self.switch(False)
            self.record = None

    def hold(self) -> None:
        """The launch stands in its past: what it executes there has been recorded already, and
        what is yet to come from there stays."""
        if self.record is not None and self._recording:
            self._grid, self._held = self._inferior.grid, True

    def onward(self) -> None:
        """It moves by itself again, from where it stands: at its present, or where a branch begins
        that has another future."""
        if not self._held:
            return
        self._grid, self._held = self._inferior.grid, False
        if self.record is not None:
            self.record.align(self._grid.total)

    def present(self) -> Record | None:
        """The record of the present launch, brought to where the machine stands; in its past, of
        all that was recorded.

        The machine must be at rest.
        """
        grid = self._inferior.grid
        if self.record is not None and grid is not self._grid:
            if not self.recording:
                return None
            self._begin()
        if self._held and self.record is not None and grid.total >= self.record.end:
            # Recording began in the past: what comes is not known yet.
            self._held = False
        if self.record is not None and self.recording and not self._held:
            self.record.align(grid.total)
        return self.record

    # ---- the picture -------------------------------------------------------------------
    def tracks(self, warps: Sequence[Warp], start: int, stop: int, columns: int) -> list[Track]:
        """What warps did in the ticks from `start` to before `stop`, in as many columns."""
        record = self.present()
        if record is None or columns < 1 or not warps:
            return [Track(w, UNKNOWN * columns, (0,) * columns) for w in warps]
        found = record.turns(start, stop, columns)
        numbers = np.array([cta << 32 | index for cta, index in warps], np.int64)
        order = np.argsort(numbers)
        at = np.searchsorted(numbers[order], found.who).clip(max=len(warps) - 1)
        wanted = numbers[order][at] == found.who
        mine, row = found.picked(wanted), order[at[wanted]]
        lanes = np.full((len(warps), columns + 2), -1, np.int64)
        last = np.full((len(warps), columns + 2), -1, np.int64)
        np.maximum.at(lanes, (row, mine.bucket), mine.lanes)
        last[row, mine.bucket] = mine.pc
        now = None
        if not self._held:
            now = {_warp(w): LETTERS.get(w.status, READY) for w in self._inferior.grid.warps()}
        span = max(stop - start, 1)
        # Columns that lie in what was recorded.
        known = range(
            (record.first - start) * columns // span + 1,
            -((start - record.end) * columns // span) + 1,
        )
        return [
            self._track(
                w,
                lanes[n].tolist(),
                last[n].tolist(),
                known,
                None if now is None else now.get(w, EXITED),
            )
            for n, w in enumerate(warps)
        ]

    def _track(
        self, warp: Warp, lanes: list[int], last: list[int], known: range, now: str | None
    ) -> Track:
        """Fill what lies between the turns; `now` is the present state's letter, where the launch
        stands at the end of what was recorded."""
        height, state = self._start.warps.get(warp, (0, BEFORE))
        final = max((n for n, pc in enumerate(last) if pc >= 0), default=-1)
        states, heights = [], []
        for n, pc in enumerate(last):
            if pc >= 0:
                height = lanes[n] or height
                state = now if now is not None and n == final else self._after(pc)
            if not 0 < n < len(last) - 1:
                continue
            seen = pc >= 0 or n in known
            states.append(RUNS if pc >= 0 else state if seen else UNKNOWN)
            heights.append(height if seen else 0)
        return Track(warp, "".join(states), tuple(heights))

    def _after(self, pc: int) -> str:
        insn = instruction_at(self._inferior, pc)
        if insn is not None and insn.op == "EXIT" and insn.unconditional:
            return EXITED
        # An arrival alone does not wait.
        waits = insn is not None and insn.op == "BAR" and not has_modifier(insn, "ARV")
        return BARRIER if waits else READY

    def warps(self, most: int) -> list[Warp]:
        """Warps to show: all that are resident, and those of `most` that ended last."""
        resident = [_warp(w) for w in self._inferior.grid.warps()]
        record = self.present()
        if record is None:
            return resident
        who = record.turns(0, record.end, 1).who
        late, first = np.unique(who[::-1], return_index=True)
        here = set(resident)
        order = late[np.argsort(first)][: len(resident) + most + 1].tolist()
        found = [(n >> 32, n & 0xFFFF_FFFF) for n in order if n >= 0]
        return resident + sorted([w for w in found if w not in here][:most])

    def executions(self, warp: Warp, start: int, stop: int) -> int | None:
        """Instructions a warp executed; None where not all ticks are kept exactly."""
        first, rows = self._exact(start, stop)
        if first > start:
            return None
        return int((rows[:, 2] == (warp[0] << 32 | warp[1])).sum())

    def block(self, warp: Warp) -> tuple[int, int, int]:
        """The CTA of a warp, as blockIdx."""
        x, y, _ = self._inferior.grid.grid
        number = warp[0]
        return number % x, number // x % y, number // (x * y)

    def resident(self, warp: Warp) -> WarpState | None:
        """A warp that is there now; None: it has not begun, or its CTA has ended."""
        return next((w for w in self._inferior.grid.warps() if _warp(w) == warp), None)

    def events(self) -> list[Event]:
        """The latest stops of the present launch, entries into the trap handler and bookmarks,
        by tick."""
        stops = self._inferior.stops
        latest = stops[-STOPS:]
        first, before = first_stop(latest), len(stops) - len(latest)
        out = [
            Event(s.instructions, "stop", s.message, before + n, s.warp)
            for n, s in enumerate(latest[first:], first)
        ]
        out += [
            Event(a.tick, "trap", a.register)
            for a in self._traps.port.log
            if a.kind == "event" and "enters" in a.register
        ]
        out += [Event(t, "bookmark", self.said(t)) for t in {*self.bookmarks, *self.notes}]
        return sorted(out, key=lambda e: e.tick)

    def mark(self, tick: int, name: str = "") -> str:
        """Set a bookmark, or name it anew; its name."""
        kept = name.strip() or self.bookmarks.get(tick) or f"mark {len(self.bookmarks) + 1}"
        self.bookmarks[tick] = kept
        return kept

    def annotate(self, tick: int, text: str) -> None:
        """Write a note at a tick, in place of the one there is; without words forget that."""
        if text := text.strip():
            self.notes[tick] = text
        else:
            self.notes.pop(tick, None)

    def said(self, tick: int) -> str:
        """The bookmark and the note of a tick in one line."""
        words = (self.bookmarks.get(tick), self.notes.get(tick))
        return ": ".join(" ".join(each.split()) for each in words if each)

    def tick_of(self, name: str) -> int | None:
        """The tick of a bookmark; None: none has that name."""
        found = (tick for tick, kept in self.bookmarks.items() if kept == name.strip())
        return next(found, None)

    def unmark(self, name: str) -> bool:
        """Forget a bookmark by its name; whether there was one."""
        tick = self.tick_of(name)
        return tick is not None and self.bookmarks.pop(tick, None) is not None

    # ---- questions ---------------------------------------------------------------------
    def _exact(self, start: int, stop: int) -> tuple[int, np.ndarray]:
        record = self.present()
        if record is None:
            return 0, np.empty((0, 3), np.int64)
        return max(start, record.exact), record.rows(start, stop)

    def executed(self, tick: int) -> Executed | None:
        """The instruction of a tick; None where it was not recorded, or is kept no longer."""
        first, rows = self._exact(tick, tick + 1)
        if first != tick or not len(rows) or rows[0, 2] < 0:
            return None
        pc, lanes, who = (int(v) for v in rows[0])
        return Executed(tick, pc, lanes, (who >> 32, who & 0xFFFF_FFFF))

    def written(self, warp: Warp, register: int, start: int, stop: int, lane: int | None = None
                ) -> list[Executed]:  # fmt: skip
        """When a warp (one of its lanes) wrote a register, in ticks that are kept exactly."""
        first, rows = self._exact(start, stop)
        mine = np.flatnonzero(rows[:, 2] == (warp[0] << 32 | warp[1]))
        pcs = [pc for pc in np.unique(rows[mine, 0]).tolist() if self.writes(pc, register)]
        wanted = np.isin(rows[mine, 0], pcs) & (rows[mine, 1] != 0)
        if lane is not None:
            wanted &= (rows[mine, 1] >> lane & 1).astype(bool)
        return [
            Executed(first + int(n), int(rows[n, 0]), int(rows[n, 1]), warp) for n in mine[wanted]
        ]

    def arrivals(self, warp: Warp, start: int, stop: int) -> list[int]:
        """Ticks at which a warp came to a barrier and waited, where they are kept exactly."""
        first, rows = self._exact(start, stop)
        mine = np.flatnonzero(rows[:, 2] == (warp[0] << 32 | warp[1]))
        pcs = [pc for pc in np.unique(rows[mine, 0]).tolist() if self._after(pc) == BARRIER]
        return [first + int(n) for n in mine[np.isin(rows[mine, 0], pcs)]]

    def writes(self, pc: int, register: int) -> bool:
        """Whether the instruction at a pc writes a register."""
        insn = instruction_at(self._inferior, pc)
        return insn is not None and register in insn.writes().registers

    def stores(self, start: int, stop: int) -> list[tuple[int, Warp, int, int]]:
        """Instructions that wrote memory: (pc, warp, how often, most lanes), by pc."""
        _, rows = self._exact(start, stop)
        rows = rows[rows[:, 1] != 0]
        out = []
        for pc in np.unique(rows[:, 0]).tolist():
            insn = instruction_at(self._inferior, pc)
            if insn is None or not insn.op.startswith(STORES):
                continue
            mine = rows[rows[:, 0] == pc]
            for who in np.unique(mine[:, 2]).tolist():
                his = mine[mine[:, 2] == who]
                lanes = int(lane_counts(his[:, 1]).max())
                out.append((pc, (who >> 32, who & 0xFFFF_FFFF), len(his), lanes))
        return out


def _warp(warp: WarpState) -> Warp:
    return warp.cta.number, warp.index


def first_stop(stops: Sequence[Stop]) -> int:
    """The number of the stop with which the present launch began; who has come back to its
    beginning has not begun another one."""
    first = len(stops) - 1
    while first > 0 and not _begins(stops[first]):
        first -= 1
    return max(first, 0)


def _begins(stop: Stop) -> bool:
    return isinstance(stop, EntryStop) and stop.message.startswith(AT_ENTRY)
