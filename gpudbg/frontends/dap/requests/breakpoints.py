"""Breakpoints of lines, functions, instructions and data; where some can be set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from gpudbg.debug.breakpoints import Breakpoint
from gpudbg.debug.values import frames
from gpudbg.errors import CommandError, GpudbgError
from gpudbg.frontends.dap.points import WatchedPlace
from gpudbg.frontends.dap.protocol import Body
from gpudbg.frontends.dap.registry import request, rows_of, text_of, whole_of
from gpudbg.frontends.dap.requests.code import code_address, file_of

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.debug.breakpoints import WatchKind
    from gpudbg.frontends.dap.adapter import Adapter

ACCESS = {"write": "write", "read": "read", "readWrite": "access"}
STORE = "-store "
"""Before an expression as in the console's `watch`: each write, of the same value too."""


def _condition(row: Body) -> str | None:
    text = row.get("condition")
    return str(text) if text else None


@request("setBreakpoints", running="pause")
def set_breakpoints(adapter: Adapter, arguments: Body) -> Body:
    """All line breakpoints of a source file."""
    session = adapter.opened()
    try:
        file = file_of(session, arguments)
    except GpudbgError as error:
        rows = rows_of(arguments, "breakpoints")
        return {"breakpoints": [{"verified": False, "message": str(error)} for _ in rows]}

    def make(session: DebugSession, row: Body) -> Breakpoint:
        return session.break_at(f"{file}:{whole_of(row, 'line')}", _condition(row))

    found = adapter.points.replace(
        f"line {file}",
        rows_of(arguments, "breakpoints"),
        lambda row: (str(whole_of(row, "line")),),
        make,
    )
    return {"breakpoints": found}


@request("setFunctionBreakpoints", running="pause")
def set_function_breakpoints(adapter: Adapter, arguments: Body) -> Body:
    """All function breakpoints."""

    def make(session: DebugSession, row: Body) -> Breakpoint:
        return session.break_at(text_of(row, "name"), _condition(row))

    rows = rows_of(arguments, "breakpoints")
    found = adapter.points.replace("function", rows, lambda row: (text_of(row, "name"),), make)
    return {"breakpoints": found}


@request("setInstructionBreakpoints", running="pause")
def set_instruction_breakpoints(adapter: Adapter, arguments: Body) -> Body:
    """All breakpoints of instructions."""

    def place(row: Body) -> int:
        return code_address(text_of(row, "instructionReference")) + whole_of(row, "offset", 0)

    def make(session: DebugSession, row: Body) -> Breakpoint:
        return session.break_at(f"*0x{place(row):x}", _condition(row))

    rows = rows_of(arguments, "breakpoints")
    found = adapter.points.replace("instruction", rows, lambda row: (str(place(row)),), make)
    return {"breakpoints": found}


@request("setExceptionBreakpoints", running="ok")
def set_exception_breakpoints(adapter: Adapter, arguments: Body) -> Body:
    """Faults, traps and deadlocks stop always."""
    return {"breakpoints": []}


@request("dataBreakpointInfo")
def data_breakpoint_info(adapter: Adapter, arguments: Body) -> Body:
    """What a watchpoint on a variable or expression would watch."""
    name = text_of(arguments, "name")
    stores = name.startswith(STORE)
    name = name.removeprefix(STORE).strip()
    reference = arguments.get("variablesReference")
    thread, level, path = adapter.ids.focused(adapter.stopped()) or 1, 0, name
    lane: int | None = None
    if reference:
        node = adapter.handles.node(whole_of(arguments, "variablesReference"))
        thread, level, path = node.thread, node.level, node.paths.get(name, name)
        lane = node.lane_of(name)
    elif arguments.get("frameId") is not None:
        thread, level = adapter.handles.frame_of(whole_of(arguments, "frameId"))
    with adapter.selecting(thread, level, lane) as session:
        outside = len(frames(session)) - 1 - level
        try:
            place = session.evaluate(path).place
        except GpudbgError as error:
            return {"dataId": None, "description": str(error)}
        if place is None:
            return {"dataId": None, "description": f"{path} is no place that can be watched"}
    return {
        "dataId": adapter.points.place_of(WatchedPlace(path, thread, outside, lane, stores)),
        "description": f"{path}, each store" if stores else path,
        "accessTypes": ["write"] if stores else list(ACCESS),
        "canPersist": False,
    }


@request("setDataBreakpoints", running="pause")
def set_data_breakpoints(adapter: Adapter, arguments: Body) -> Body:
    """All watchpoints."""

    def make(session: DebugSession, row: Body) -> Breakpoint:
        asked = text_of(row, "accessType", "write")
        if asked not in ACCESS:
            raise CommandError(f"accessType {asked!r}: {', '.join(ACCESS)}")
        kind = cast("WatchKind", ACCESS[asked])
        asked_id = text_of(row, "dataId")
        place = adapter.points.places.get(asked_id)
        if asked == "write" and (asked_id.startswith(STORE) or (place and place.store)):
            kind = "store"
        if place is None:
            return session.watch_at(asked_id.removeprefix(STORE), kind, _condition(row))
        with adapter.selecting(place.thread, 0, place.lane) as session:
            session.frame_level = len(frames(session)) - 1 - place.outside
            if session.frame_level < 0:
                raise CommandError(f"the frame of {place.path} has ended")
            return session.watch_at(place.path, kind, _condition(row))

    def key(row: Body) -> tuple[str, ...]:
        return text_of(row, "dataId"), text_of(row, "accessType", "write")

    return {
        "breakpoints": adapter.points.replace("data", rows_of(arguments, "breakpoints"), key, make)
    }


@request("breakpointLocations", running="ok")
def breakpoint_locations(adapter: Adapter, arguments: Body) -> Body:
    """Lines with code."""
    session = adapter.opened()
    first = whole_of(arguments, "line")
    last = whole_of(arguments, "endLine", first)
    lines: Any = session.symbols.lines_with_code(file_of(session, arguments))
    return {"breakpoints": [{"line": n} for n in lines if first <= n <= last]}
