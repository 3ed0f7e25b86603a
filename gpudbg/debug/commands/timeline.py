"""The timeline: what every warp did by tick, stops and events, bookmarks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpudbg.answers import NOTHING, Card, Notice, Table, column, typed_row
from gpudbg.answers.formats import COORDINATES, LIST, ROWS
from gpudbg.answers.words import dim
from gpudbg.debug.commands.table import command
from gpudbg.debug.focus.focus import Dim3
from gpudbg.debug.trace.timeline import BARRIER, BEFORE, EXITED, UNKNOWN, Track
from gpudbg.debug.views.format import parse_int
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

COLUMNS = 64
"""Columns of a warp's line."""
AFTER_EXIT = 64
"""Most warps that have ended and are shown."""
MARKS = {BARRIER: "=", EXITED: ".", BEFORE: " ", UNKNOWN: "?"}
OFF = "only stops: `set timeline on` records what warps execute, and `run` all of it"


@typed_row
class TrackRow:
    """What a warp did over a window of ticks."""

    block: Dim3 = column(None, COORDINATES)
    index: int = column()
    sm: int | None = column()
    warp: int | None = column()
    focus: bool = column()
    timeline: str = column()

    def __str__(self) -> str:
        mark = "*" if self.focus else " "
        return f"{mark} block {dim(self.block)} warp {self.index:2}  {self.timeline}"


@typed_row
class EventRow:
    """A stop, trap or bookmark."""

    tick: int = column()
    kind: str = column()
    text: str = column()
    number: int | None = column()
    warp: int | None = column()

    def __str__(self) -> str:
        return f"{self.tick:>12,}  {self.kind:8}  {self.text}"


@typed_row
class TimelineWindow:
    """What warps did from one tick to another; `recorded_from` is None where nothing is kept."""

    recording: bool = column()
    recorded_from: int | None = column()
    window: tuple[int, int] = column(None, LIST)
    ticks: int = column()
    warps: tuple[TrackRow, ...] = column(None, ROWS)
    events: tuple[EventRow, ...] = column(None, ROWS)
    ticks_a_column: int = column(key="")

    def lines(self) -> Iterator[str]:
        """The window for people."""
        start, stop = self.window
        yield f"ticks {start:,} to {stop:,}, {self.ticks_a_column:,} a column"
        if self.recorded_from is not None:
            begun = [track for track in self.warps if track.timeline.strip()]
            yield from map(str, begun)
            if len(self.warps) > len(begun):
                yield f"  {len(self.warps) - len(begun)} warps have not begun"
        yield from map(str, self.events)
        if self.recorded_from is None:
            yield OFF
        elif self.recorded_from > start:
            yield f"recorded from tick {self.recorded_from:,} on; `run` records all of it"


def marks(track: Track) -> str:
    """A warp's line: 1 to 8 where it executes or could, one for each four lanes."""
    return "".join(
        MARKS.get(state) or str(max(-(-lanes // 4), 1))
        for state, lanes in zip(track.states, track.lanes, strict=True)
    )


@command(
    "info timeline",
    usage="info timeline [FROM TO]",
    help="what every warp did by tick, with stops, traps and bookmarks",
    group="status",
    needs="nothing",
    details="A tick is one warp instruction of the launch.  `set timeline on` records; digits are "
    "lanes that execute,\nin fours (8: all 32), = waits at a barrier, . has exited, ? was not "
    "recorded.\nRecording makes compiled runs two to four times as long.  On the screen: h.\nUnder "
    "`set timeline small`, as the terminal UI starts, launches of up to 1,024 warps are recorded "
    "until\n262,144 instructions.",
)
def info_timeline(session: DebugSession, argument: str) -> Card:
    """Draw warps over a window of ticks."""
    line, total = session.timeline, session.grid.total
    record = line.present()
    start, stop = _window(argument, max(total, 1))
    columns = min(COLUMNS, stop - start)
    tracks = line.tracks(line.warps(AFTER_EXIT), start, stop, columns)
    shown = TimelineWindow(
        recording=line.recording,
        recorded_from=None if record is None else record.first,
        window=(start, stop),
        ticks=total,
        warps=tuple(_track(session, track) for track in tracks),
        events=tuple(
            EventRow(e.tick, e.kind, e.text, e.stop, e.warp)
            for e in line.events()
            if start <= e.tick <= stop
        ),
        ticks_a_column=-(-(stop - start) // columns),
    )
    return Card(shown, lambda window: tuple(window.lines()))


def _track(session: DebugSession, track: Track) -> TrackRow:
    state = session.timeline.resident(track.warp)
    focus = session.focus
    return TrackRow(
        block=session.timeline.block(track.warp),
        index=track.warp[1],
        sm=None if state is None else state.sm,
        warp=None if state is None else state.slot,
        focus=bool(state and focus and (state.sm, state.slot) == (focus.sm, focus.warp)),
        timeline=marks(track),
    )


def _window(argument: str, end: int) -> tuple[int, int]:
    words = argument.replace(",", " ").split()
    if len(words) not in (0, 2):
        raise CommandError("two ticks are wanted, or none", "info timeline 4000 4800")
    start, stop = (parse_int(w) for w in words) if words else (0, end)
    if not 0 <= start < stop <= end:
        raise CommandError(f"no ticks {start:,} to {stop:,}", f"the launch has 0 to {end:,}")
    return start, stop


@command(
    "bookmark",
    usage="bookmark [NAME]",
    help="mark the present tick on the timeline",
    group="running",
    needs="nothing",
    details="`info timeline` and the history screen (h) show it.",
)
def bookmark(session: DebugSession, argument: str) -> Notice:
    """Include the words before the value: the misspelling may be in `set print elemnts 4`."""
    tick = session.grid.total
    name = session.timeline.mark(tick, argument)
    return Notice(f"bookmark {name!r} at tick {tick:,}", {"tick": tick, "text": name})


@command(
    "note",
    usage="note [TEXT]",
    help="write a note at the present tick",
    group="running",
    needs="nothing",
    details="A note has quotes or none and takes the place of the one there is; `note` alone\n"
    "forgets that. `info bookmarks` shows notes, recordings keep them.",
)
def note(session: DebugSession, argument: str) -> Notice:
    """gdb prints nothing here"""
    tick, text = session.grid.total, argument.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1].strip()
    if not text and tick not in session.timeline.notes:
        raise CommandError(f"no note at tick {tick:,}", "note TEXT writes one")
    session.timeline.annotate(tick, text)
    done = "note" if text else "no note"
    return Notice(f"{done} at tick {tick:,}", {"tick": tick, "note": text})


@typed_row
class BookmarkRow:
    """A bookmark, a note, or both at one tick."""

    tick: int = column("Tick")
    text: str = column("Name")
    note: str = column("Note")


@command(
    "info bookmarks",
    help="bookmarks and notes of the launch, by tick",
    group="running",
    needs="nothing",
    details="`bookmark NAME`, `note TEXT` set one, `goto NAME` goes there; recordings keep them.",
)
def info_bookmarks(session: DebugSession, argument: str) -> Table:
    """List them."""
    names, notes = session.timeline.bookmarks, session.timeline.notes
    rows = (
        BookmarkRow(tick, names.get(tick, ""), " ".join(notes.get(tick, "").split()))
        for tick in sorted({*names, *notes})
    )
    return Table(BookmarkRow, tuple(rows), empty="No bookmarks.")


@command(
    "delete bookmark",
    usage="delete bookmark NAME",
    help="forget a bookmark",
    group="running",
    needs="nothing",
)
def delete_bookmark(session: DebugSession, argument: str) -> Notice:
    """Forget it."""
    if not session.timeline.unmark(argument):
        raise CommandError(f"no bookmark {argument.strip()!r}", "`info bookmarks` lists them")
    return NOTHING
