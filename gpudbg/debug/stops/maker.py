"""Machine events to the session's stops: coordinates, the one-line message, error records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from gpudbg.debug.focus.focus import thread_of
from gpudbg.debug.stops.standing import standing_pc
from gpudbg.debug.stops.stop import ErrorRecord, Stop, arrival_words, dim

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.errors import UsageError
    from gpudbg.sm.events import StopEvent, WarpFault


def entry_stop(inferior: Inferior) -> Stop:
    """The stop before the first instruction."""
    return _located(inferior, "step", f"at the entry of {inferior.symbols.kernel_name}")


def opened_stop(inferior: Inferior, trouble: UsageError | None) -> Stop:
    """What stands for a stop while nothing has been launched: what is missing, if anything."""
    name = PurePath(inferior.program.path).name
    if trouble is None:
        message = f"{name} is open; `run` launches {inferior.symbols.kernel_name}"
    else:
        message = f"{name} is open, not launched: {trouble}"
    return Stop("opened", message, kernel=inferior.kernel.name)


def make_stop(
    inferior: Inferior,
    kind: str,
    event: StopEvent,
    hits: tuple[int, ...] = (),
    arrived: tuple[int, int] = (0, 0),
    watched: bool = False,
) -> Stop:
    """The stop that an event is, told from the session's focus.

    Args:
        inferior: focus already moved to what the stop is about.
        kind: a `StopKind`; what the session makes of the event's own.
        event: what the machine reported.
        hits: numbers of the breakpoints met.
        arrived: how many warps and threads stand there.
        watched: whether what was met is a watchpoint.
    """
    errors = tuple(_error(inferior, fault) for fault in event.faults)
    extra: dict[str, Any] = {
        "errors": errors,
        "breakpoints": hits,
        "instructions": event.total,
        "detail": event.detail,
        "hang": event.hang,
    }
    if inferior.focus is None or kind == "exited":
        name = inferior.symbols.kernel_name
        message = f"{name} ended after {event.total:,} warp instructions"
        return Stop("exited", message, kernel=inferior.kernel.name, **extra)
    extra |= {"arrived_warps": arrived[0], "arrived_threads": arrived[1]}
    message = _message(inferior, kind, errors, _points(hits, watched), event)
    stop = _located(inferior, kind, message, **extra)
    if words := arrival_words(stop):
        stop = replace(stop, message=f"{stop.message}; {words}")
    if stop.faulted or kind in ("trap", "warp_error"):
        from gpudbg.debug.views.text import stop_card

        # Now, while the warp stands there: `Stop.check` may be asked when the session is gone.
        stop = replace(stop, card=tuple(stop_card(inferior, stop)))
    return stop


def _located(inferior: Inferior, kind: Any, message: str, **extra: Any) -> Stop:
    if inferior.focus is None:
        return Stop(kind, message, kernel=inferior.kernel.name, **extra)
    warp = inferior.focused()
    lane = inferior.focus.lane
    return Stop(
        kind,
        message,
        sm=warp.sm,
        warp=warp.slot,
        lane=lane,
        pc=inferior.symbols.offset(standing_pc(inferior, warp, kind)),
        kernel=inferior.kernel.name,
        block=warp.cta.block,
        thread=thread_of(warp, lane),
        **inferior.symbols.place(standing_pc(inferior, warp, kind)).fields(),
        **extra,
    )


def _message(
    inferior: Inferior,
    kind: str,
    errors: tuple[ErrorRecord, ...],
    points: str,
    event: StopEvent,
) -> str:
    assert inferior.focus is not None
    warp = inferior.focused()
    where = inferior.symbols.describe_line(standing_pc(inferior, warp, kind))
    thread = thread_of(warp, inferior.focus.lane)
    who = f"block {dim(warp.cta.block)} thread {dim(thread)}"
    who += f" (sm {warp.sm} warp {warp.slot} lane {inferior.focus.lane})"
    if errors:
        e = errors[0]
        more = f"; {len(errors) - 1} more" if len(errors) > 1 else ""
        near = f", {e.nearest}" if e.nearest and e.nearest not in e.detail else ""
        return f"{e.name} at {where}, {who}: {e.detail or e.name}{near}{more}"
    if event.hang:
        return f"deadlock: no warp will ever go on; {where}, {who} repeats itself"
    words = {
        "breakpoint": f"{points} at {where}, {who}",
        "step": f"{where}, {who}",
        "trap": f"trap at {where}, {who}",
        "limit": f"stopped after {event.executed:,} warp instructions at {where}, {who}",
        "interrupted": f"interrupted at {where}, {who}",
        "deadlock": f"deadlock: no warp can go on; {where}, {who}",
    }
    return words[kind]


def _points(hits: tuple[int, ...], watched: bool) -> str:
    word = "watchpoint" if watched else "breakpoint"
    return f"{word} {', '.join(map(str, hits))}"


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
