"""Threads, frames, scopes, and why the program stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.debug.stops import StopCard, title
from gpudbg.debug.values import Frame, frames
from gpudbg.debug.views import frame_arguments
from gpudbg.frontends.dap.points import source_of
from gpudbg.frontends.dap.protocol import Body
from gpudbg.frontends.dap.registry import request, whole_of
from gpudbg.frontends.dap.scopes import scopes_of
from gpudbg.frontends.dap.telling import details_of

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.frontends.dap.adapter import Adapter


@request("threads", running="ok")
def threads(adapter: Adapter, arguments: Body) -> Body:
    """Resident warps: while the program runs, those that were there before."""
    if adapter.session is not None and adapter.run is None and adapter.session.focus is not None:
        adapter.ids.sync(adapter.session)
    rows = [{"id": n, "name": adapter.ids.title(n)} for n in adapter.ids.known()]
    return {"threads": rows or [{"id": 1, "name": "the kernel"}]}


@request("stackTrace")
def stack_trace(adapter: Adapter, arguments: Body) -> Body:
    """A warp's frames, inlined calls as frames of their own."""
    if adapter.opened().focus is None:
        return {"stackFrames": [], "totalFrames": 0}
    thread = whole_of(arguments, "threadId")
    with adapter.selecting(thread) as session:
        rows = frames(session)
        start = whole_of(arguments, "startFrame", 0)
        levels = whole_of(arguments, "levels", 0) or len(rows)
        shown = rows[start : start + levels]
        found = [_frame(adapter, session, thread, frame, arguments) for frame in shown]
    return {"stackFrames": found, "totalFrames": len(rows)}


def _frame(
    adapter: Adapter, session: DebugSession, thread: int, frame: Frame, arguments: Body
) -> Body:
    asked = arguments.get("format")
    name = frame.function
    if not isinstance(asked, dict) or asked.get("parameters", True):
        session.frame_level = frame.level
        rows = frame_arguments(session, frame)
        name += "(" + ", ".join(f"{a.entry}={a.text}" for a in rows) + ")"
    body: Body = {
        "id": adapter.handles.frame(thread, frame.level),
        "name": name + (" [inlined]" if frame.inlined else ""),
        "line": frame.line.number if frame.line else 0,
        "column": 1 if frame.line else 0,
        "instructionPointerReference": f"0x{frame.pc:x}",
    }
    if frame.line is not None:
        body["source"] = source_of(session, frame.line.file)
    return body


@request("scopes")
def scopes(adapter: Adapter, arguments: Body) -> Body:
    """What can be opened in a frame."""
    thread, level = adapter.handles.frame_of(whole_of(arguments, "frameId"))
    return {"scopes": scopes_of(adapter.handles, thread, level)}


@request("exceptionInfo")
def exception_info(adapter: Adapter, arguments: Body) -> Body:
    """The fault card."""
    session = adapter.opened()
    stop = session.stop
    words = stop.message if stop is not None else "the program has not stopped"
    shown = stop is not None and stop.failed
    lines = StopCard.of(session, stop).lines() if stop is not None and shown else [words]
    text = "\n".join(lines)
    return {
        "exceptionId": title(stop.errors[0]) if stop is not None and stop.errors else words,
        "description": text,
        "breakMode": "always",
        "details": details_of(stop, words, text) if stop is not None else {"message": words},
    }
