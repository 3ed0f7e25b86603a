"""Machine events to the session's stops: coordinates, the one-line message, error records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from gpudbg.debug.breakpoints.gathering import arrival_words
from gpudbg.debug.focus.focus import thread_of
from gpudbg.debug.stops.standing import standing_pc
from gpudbg.debug.stops.stop import ErrorRecord, Stop, dim

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.sm.events import StopEvent, WarpFault


def entry_stop(session: DebugSession) -> Stop:
    """The stop before the first instruction."""
    return _located(session, "step", f"at the entry of {session.symbols.kernel_name}")


def opened_stop(session: DebugSession) -> Stop:
    """What stands for a stop while nothing has been launched: what is missing, if anything."""
    opening = session.opening
    trouble = opening.trouble(session.program) if opening is not None else None
    name = PurePath(session.program.path).name
    if trouble is None:
        message = f"{name} is open; `run` launches {session.symbols.kernel_name}"
    else:
        message = f"{name} is open, not launched: {trouble}"
    return Stop("opened", message, kernel=session.kernel.name)


def make_stop(
    session: DebugSession,
    kind: str,
    event: StopEvent,
    hits: tuple[int, ...],
    arrived: tuple[int, int] = (0, 0),
) -> Stop:
    """The stop that an event is, told from the session's focus.

    Args:
        session: focus already moved to what the stop is about.
        kind: a `StopKind`; what the session makes of the event's own.
        event: what the machine reported.
        hits: numbers of the breakpoints met.
        arrived: how many warps and threads stand there.
    """
    errors = tuple(_error(session, fault) for fault in event.faults)
    extra: dict[str, Any] = {
        "errors": errors,
        "breakpoints": hits,
        "instructions": event.total,
        "detail": event.detail,
        "hang": event.hang,
    }
    if session.focus is None or kind == "exited":
        name = session.symbols.kernel_name
        message = f"{name} ended after {event.total:,} warp instructions"
        return Stop("exited", message, kernel=session.kernel.name, **extra)
    extra |= {"arrived_warps": arrived[0], "arrived_threads": arrived[1]}
    stop = _located(session, kind, _message(session, kind, errors, hits, event), **extra)
    if words := arrival_words(stop):
        stop = replace(stop, message=f"{stop.message}; {words}")
    if stop.faulted or kind in ("trap", "warp_error"):
        from gpudbg.debug.views.text import stop_card

        # Now, while the warp stands there: `Stop.check` may be asked when the session is gone.
        stop = replace(stop, card=tuple(stop_card(session, stop)))
    return stop


def _located(session: DebugSession, kind: Any, message: str, **extra: Any) -> Stop:
    if session.focus is None:
        return Stop(kind, message, kernel=session.kernel.name, **extra)
    warp = session.warp().state
    lane = session.focus.lane
    return Stop(
        kind,
        message,
        sm=warp.sm,
        warp=warp.slot,
        lane=lane,
        pc=session.symbols.offset(standing_pc(session, warp, kind)),
        kernel=session.kernel.name,
        block=warp.cta.block,
        thread=thread_of(warp, lane),
        **session.symbols.place(standing_pc(session, warp, kind)).fields(),
        **extra,
    )


def _message(
    session: DebugSession,
    kind: str,
    errors: tuple[ErrorRecord, ...],
    hits: tuple[int, ...],
    event: StopEvent,
) -> str:
    assert session.focus is not None
    warp = session.warp().state
    where = session.symbols.describe_line(standing_pc(session, warp, kind))
    thread = thread_of(warp, session.focus.lane)
    who = f"block {dim(warp.cta.block)} thread {dim(thread)}"
    who += f" (sm {warp.sm} warp {warp.slot} lane {session.focus.lane})"
    if errors:
        e = errors[0]
        more = f"; {len(errors) - 1} more" if len(errors) > 1 else ""
        near = f", {e.nearest}" if e.nearest and e.nearest not in e.detail else ""
        return f"{e.name} at {where}, {who}: {e.detail or e.name}{near}{more}"
    if event.hang:
        return f"deadlock: no warp will ever go on; {where}, {who} repeats itself"
    words = {
        "breakpoint": f"{_point(session, hits)} {', '.join(map(str, hits))} at {where}, {who}",
        "step": f"{where}, {who}",
        "trap": f"trap at {where}, {who}",
        "limit": f"stopped after {event.executed:,} warp instructions at {where}, {who}",
        "interrupted": f"interrupted at {where}, {who}",
        "deadlock": f"deadlock: no warp can go on; {where}, {who}",
    }
    return words[kind]


def _point(session: DebugSession, hits: tuple[int, ...]) -> str:
    watched = hits and session.breakpoints.get(hits[0]).watch is not None
    return "watchpoint" if watched else "breakpoint"


def _error(session: DebugSession, fault: WarpFault) -> ErrorRecord:
    place = (fault.sm, fault.warp)
    warp = next((w for w in session.grid.warps() if (w.sm, w.slot) == place), None)
    thread = thread_of(warp, fault.lanes[0]) if warp is not None and fault.lanes else None
    return ErrorRecord(
        name=fault.name,
        code=fault.code,
        sm=fault.sm,
        warp=fault.warp,
        lanes=fault.lanes,
        pc=session.symbols.offset(fault.pc),
        kernel=session.kernel.name,
        address=fault.address,
        space=fault.space,
        access=fault.access,
        size=fault.size,
        block=fault.block,
        thread=thread,
        nearest=fault.nearest,
        detail=fault.detail,
        **session.symbols.place(fault.pc).fields(),
    )
