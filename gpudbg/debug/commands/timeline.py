"""The timeline: what every warp did by tick, what lies on the way, bookmarks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpudbg.answers.words import dim
from gpudbg.debug.commands.table import command
from gpudbg.debug.registry import Output
from gpudbg.debug.trace.timeline import BARRIER, BEFORE, EXITED, UNKNOWN, Track
from gpudbg.debug.views.format import parse_int
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

COLUMNS = 64
"""Columns of a warp's line."""
ENDED = 64
"""Most warps that have ended and are shown."""
MARKS = {BARRIER: "=", EXITED: ".", BEFORE: " ", UNKNOWN: "?"}
OFF = "only stops: `set timeline on` records what warps execute, and `run` all of it"


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
def info_timeline(session: DebugSession, argument: str) -> Output:
    """Draw warps over a window of ticks."""
    line, total = session.timeline, session.grid.total
    record = line.present()
    start, stop = _window(argument, max(total, 1))
    columns = min(COLUMNS, stop - start)
    tracks = line.tracks(line.warps(ENDED), start, stop, columns)
    events = [e for e in line.events() if start <= e.tick <= stop]
    rows = [_row(session, track) for track in tracks]
    begun = [r for r in rows if r["timeline"].strip()]
    lines = [f"ticks {start:,} to {stop:,}, {-(-(stop - start) // columns):,} a column"]
    if record is not None:
        lines += [_line(r) for r in begun]
    if record is not None and len(rows) > len(begun):
        lines.append(f"  {len(rows) - len(begun)} warps have not begun")
    lines += [f"{e.tick:>12,}  {e.kind:8}  {e.text}" for e in events]
    if record is None:
        lines.append(OFF)
    elif record.first > start:
        lines.append(f"recorded from tick {record.first:,} on; `run` records all of it")
    data = {
        "recording": line.recording,
        "recorded_from": None if record is None else record.first,
        "window": [start, stop],
        "ticks": total,
        "warps": rows,
        "events": [
            {"tick": e.tick, "kind": e.kind, "text": e.text, "number": e.stop, "warp": e.warp}
            for e in events
        ],
    }
    return Output(tuple(lines), data)


def _row(session: DebugSession, track: Track) -> dict[str, Any]:
    state = session.timeline.resident(track.warp)
    focus = session.focus
    return {
        "block": list(session.timeline.block(track.warp)),
        "index": track.warp[1],
        "sm": None if state is None else state.sm,
        "warp": None if state is None else state.slot,
        "focus": bool(state and focus and (state.sm, state.slot) == (focus.sm, focus.warp)),
        "timeline": marks(track),
    }


def _line(row: dict[str, Any]) -> str:
    mark = "*" if row["focus"] else " "
    return f"{mark} block {dim(tuple(row['block']))} warp {row['index']:2}  {row['timeline']}"


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
def bookmark(session: DebugSession, argument: str) -> Output:
    """A name for where the machine stands."""
    tick = session.grid.total
    name = session.timeline.mark(tick, argument)
    return Output((f"bookmark {name!r} at tick {tick:,}",), {"tick": tick, "text": name})
