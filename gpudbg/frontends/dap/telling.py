"""Stops as the protocol tells them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.debug.stops import (
    BreakpointStop,
    DeadlockStop,
    EntryStop,
    ExitStop,
    FaultStop,
    InterruptStop,
    LimitStop,
    StepStop,
    Stop,
    TrapStop,
    WatchpointStop,
    signal_of,
)

if TYPE_CHECKING:
    from gpudbg.frontends.dap.points import Points
    from gpudbg.frontends.dap.protocol import Body

REASONS: tuple[tuple[type[Stop], str], ...] = (
    (WatchpointStop, "data breakpoint"),
    (BreakpointStop, "breakpoint"),
    (EntryStop, "entry"),
    (FaultStop, "exception"),
    (TrapStop, "exception"),
    (DeadlockStop, "exception"),
    (InterruptStop, "pause"),
    (LimitStop, "pause"),
    (ExitStop, "exit"),
)
"""Kinds of stops, the particular ones first -> the protocol's reason."""


def stopped_body(thread: int, points: Points, stop: Stop | None, reason: str) -> Body:
    """The body of `stopped`; a step's reason is that of what was asked."""
    kind = next((word for type_, word in REASONS if isinstance(stop, type_)), reason)
    if reason in ("goto", "restart") or (isinstance(stop, EntryStop) and reason != "entry"):
        kind = reason
    if kind == "breakpoint" and stop is not None:
        kind = points.reason(stop.breakpoints)
    words = stop.message if stop is not None else ""
    body: Body = {
        "reason": kind,
        "threadId": thread,
        "allThreadsStopped": True,
    }
    if kind == "exception" or not isinstance(stop, StepStop):
        body |= {"description": words, "text": words}
    if stop is not None and stop.breakpoints:
        body["hitBreakpointIds"] = points.known(stop.breakpoints)
    return body | errors_of(stop)


def errors_of(stop: Stop | None) -> Body:
    """Warp errors as data, as `--json` has them; nothing for a stop without errors."""
    if stop is None or not stop.errors:
        return {}
    return {"errors": [error.to_json() for error in stop.errors]}


def details_of(stop: Stop, words: str, text: str) -> Body:
    """The protocol's details of an exception: the first error, the others within it."""
    body: Body = {"message": words, "stackTrace": text, **errors_of(stop)}
    signal = signal_of(stop)
    if stop.errors and signal is not None:
        body |= {
            "typeName": stop.errors[0].name,
            "fullTypeName": f"{signal.name}, {signal.meaning}",
        }
        inner = [{"typeName": e.name, "message": e.detail or e.name} for e in stop.errors[1:]]
        body |= {"innerException": inner} if inner else {}
    return body
