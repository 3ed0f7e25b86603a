"""Machine events to the session's stops: coordinates, the one-line message, error records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from gpudbg.answers.words import dim, lane_list
from gpudbg.debug.focus.focus import thread_of
from gpudbg.debug.stops.deadlocks import group_lines
from gpudbg.debug.stops.records import ErrorRecord
from gpudbg.debug.stops.standing import standing_pc
from gpudbg.debug.stops.stop import (
    AT_ENTRY,
    LIVELOCK,
    BreakpointStop,
    DeadlockStop,
    EntryStop,
    ExitStop,
    FaultStop,
    InterruptStop,
    LimitStop,
    OpenedStop,
    StepStop,
    Stop,
    TrapStop,
    WatchpointStop,
    arrival_words,
)

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.debug.stops.records import Trigger
    from gpudbg.errors import UsageError
    from gpudbg.formats.program import Kernel, Program
    from gpudbg.sm.events import StopEvent, StopKind, WarpFault
    from gpudbg.sm.on_fault import DroppedAccess
    from gpudbg.sm.state import WarpState


BY_EVENT: Final[dict[StopKind, type[Stop]]] = {
    "exited": ExitStop,
    "breakpoint": BreakpointStop,
    "step": StepStop,
    "warp_error": FaultStop,
    "trap": TrapStop,
    "deadlock": DeadlockStop,
    "limit": LimitStop,
    "interrupted": InterruptStop,
}
"""What the machine calls the end of a run -> the stop that it is."""


def entry_stop(inferior: Inferior) -> Stop:
    """The stop before the first instruction."""
    message = f"{AT_ENTRY} {inferior.symbols.kernel_name}"
    if inferior.focus is None:
        return EntryStop(message, kernel=inferior.kernel.name)
    # Nothing has run: all lanes stand where the warp does.
    warp = inferior.focused()
    return _at(inferior, warp, inferior.symbols.layout.first(warp.pc), EntryStop, message)


def opened_stop(inferior: Inferior, trouble: UsageError | None) -> Stop:
    """What stands for a stop while nothing has been launched: what is missing, if anything."""
    name = PurePath(inferior.program.path).name
    if trouble is None:
        message = f"{name} is open; `run` launches {inferior.symbols.kernel_name}"
    else:
        message = f"{name} is open, not launched: {trouble}"
    return OpenedStop(message, kernel=inferior.kernel.name)


def make_stop(
    inferior: Inferior,
    kind: StopKind,
    event: StopEvent,
    hits: tuple[int, ...] = (),
    arrived: tuple[int, int] = (0, 0),
    watched: bool = False,
    watch: tuple[Trigger, ...] = (),
) -> Stop:
    """The stop for an event, seen from the session's focus.

    Args:
        inferior: focus already moved to what the stop is about.
        kind: what the session makes of the event's own.
        event: what the machine reported.
        hits: numbers of the breakpoints met.
        arrived: how many warps and threads stand there.
        watched: whether what was met is a watchpoint.
        watch: what watchpoints saw.
    """
    errors = tuple(_error(inferior, fault) for fault in event.faults)
    extra: dict[str, Any] = {
        "errors": errors,
        "breakpoints": hits,
        "instructions": event.total,
        "detail": event.detail,
        "hang": event.hang,
        "watch": watch,
    }
    if inferior.focus is None or kind == "exited":
        message = _exit_message(inferior.symbols.kernel_name, event)
        dropped, rows = _dropped(inferior)
        if dropped:
            times = sum(held.times for held in _places_of(inferior))
            message += f"; {times:,} wild access{'es' * (times != 1)} dropped"
            extra |= {"dropped": dropped, "detail": (*event.detail, *rows)}
        return ExitStop(message, kernel=inferior.kernel.name, **extra)
    extra |= {"arrived_warps": arrived[0], "arrived_threads": arrived[1]}
    made = _class(kind, event, watch)
    if issubclass(made, DeadlockStop) and not event.hang:
        extra["detail"] = (*event.detail, *group_lines(inferior))
    points = _points(hits, watched, any(trigger.over for trigger in watch[:1]))
    message = _message(inferior, made, errors, points, event)
    stop = _located(inferior, made, message, **extra)
    if words := arrival_words(stop):
        stop = replace(stop, message=f"{stop.message}; {words}")
    return with_card(inferior, stop) if stop.failed else stop


def exit_stop(program: Program, kernel: Kernel, event: StopEvent) -> ExitStop:
    """The stop after a launch that came to its end, where no session has looked at it."""
    message = _exit_message(program.shown(kernel.name), event)
    return ExitStop(message, kernel=kernel.name, instructions=event.total, detail=event.detail)


def _exit_message(name: str, event: StopEvent) -> str:
    return f"{name} ended after {event.total:,} warp instructions"


def with_card(inferior: Inferior, stop: Stop) -> Stop:
    """The stop with its card: made now, while the warp stands there, since `Stop.check` may be
    asked when the session is gone."""
    from gpudbg.debug.stops.cards import StopCard

    return replace(stop, card=tuple(StopCard.of(inferior, stop).lines()))


def _class(kind: StopKind, event: StopEvent, watch: tuple[Trigger, ...]) -> type[Stop]:
    """The class of a stop: watchpoint and entry stops are distinguished here."""
    if watch and kind == "breakpoint":
        return WatchpointStop
    if kind == "step" and not event.total:
        return EntryStop
    return BY_EVENT[kind]


def _located(inferior: Inferior, made: type[Stop], message: str, **extra: Any) -> Stop:
    if inferior.focus is None:
        return made(message, kernel=inferior.kernel.name, **extra)
    warp = inferior.focused()
    pc = standing_pc(inferior, warp, issubclass(made, DeadlockStop))
    return _at(inferior, warp, pc, made, message, **extra)


def _at(
    inferior: Inferior, warp: WarpState, pc: int, made: type[Stop], message: str, **extra: Any
) -> Stop:
    """A stop at a pc of the focused warp."""
    lane = inferior.lane
    return made(
        message,
        sm=warp.sm,
        warp=warp.slot,
        lane=lane,
        pc=inferior.symbols.offset(pc),
        kernel=inferior.kernel.name,
        block=warp.cta.block,
        thread=thread_of(warp, lane),
        **inferior.symbols.place(pc, inferior.skipped_inline).fields(),
        **extra,
    )


def _message(
    inferior: Inferior,
    made: type[Stop],
    errors: tuple[ErrorRecord, ...],
    points: str,
    event: StopEvent,
) -> str:
    assert inferior.focus is not None
    warp = inferior.focused()
    pc = standing_pc(inferior, warp, issubclass(made, DeadlockStop))
    where = inferior.symbols.describe_line(pc, inferior.skipped_inline)
    thread = thread_of(warp, inferior.focus.lane)
    who = f"block {dim(warp.cta.block)} thread {dim(thread)}"
    who += f" (sm {warp.sm} warp {warp.slot} lane {inferior.focus.lane})"
    if errors:
        e = errors[0]
        more = f"; {len(errors) - 1} more" if len(errors) > 1 else ""
        near = f", {e.nearest}" if e.nearest and e.nearest not in e.detail else ""
        return f"{e.name} at {where}, {who}: {e.detail or e.name}{near}{more}"
    if event.hang and event.detail[0].startswith(LIVELOCK):
        return f"livelock: the launch repeats itself for ever; {where}, {who}"
    if event.hang:
        return f"deadlock: no warp will ever go on; {where}, {who} repeats itself"
    words: dict[type[Stop], str] = {
        BreakpointStop: f"{points} at {where}, {who}",
        StepStop: f"{where}, {who}",
        TrapStop: f"trap at {where}, {who}",
        LimitStop: f"stopped after {event.executed:,} warp instructions at {where}, {who}",
        InterruptStop: f"interrupted at {where}, {who}",
        DeadlockStop: f"deadlock: no warp can go on; {where}, {who}",
    }
    return next(text for kind, text in words.items() if issubclass(made, kind))


def _points(hits: tuple[int, ...], watched: bool, over: bool) -> str:
    if over:
        return f"watchpoint {hits[0]} is deleted, its frame has been left,"
    word = "watchpoint" if watched else "breakpoint"
    return f"{word} {', '.join(map(str, hits))}"


def _places_of(inferior: Inferior) -> list[DroppedAccess]:
    """Bad accesses that the launch continued after (`on-fault continue`)."""
    grid = inferior.grid
    return grid.gpu.on_fault.of_launch(grid.launched.sregs.machine.launch)


def _dropped(inferior: Inferior) -> tuple[tuple[ErrorRecord, ...], list[str]]:
    """Those accesses as error records, and a line for each."""
    records, words, symbols = [], [], inferior.symbols
    for held in _places_of(inferior):
        error, pc = _error(inferior, held.fault), held.fault.pc
        records.append(error)
        where = " ".join(filter(None, (symbols.describe(pc), str(symbols.line(pc) or ""))))
        near = f", {error.nearest}" if error.nearest else ""
        lanes = lane_list(sum(1 << n for n in error.lanes))
        who = f"block {dim(error.block)} sm {error.sm} warp {error.warp} lanes {lanes}"
        words.append(f"  dropped {held.times:,}x  {error.detail}{near}, first at {where}, {who}")
    return tuple(records), words


def _error(inferior: Inferior, fault: WarpFault) -> ErrorRecord:
    place = (fault.sm, fault.warp)
    warp = next((w for w in inferior.grid.warps() if (w.sm, w.slot) == place), None)
    thread = thread_of(warp, fault.lanes[0]) if warp is not None and fault.lanes else None
    return ErrorRecord(
        name=fault.name,
        code=fault.code,
        sm=fault.sm,
        warp=fault.warp,
        lanes=fault.lanes,
        pc=inferior.symbols.offset(fault.pc),
        kernel=inferior.kernel.name,
        address=fault.address,
        space=fault.space,
        access=fault.access,
        size=fault.size,
        block=fault.block,
        thread=thread,
        nearest=fault.nearest,
        detail=fault.detail,
        **inferior.symbols.place(fault.pc).fields(),
    )
