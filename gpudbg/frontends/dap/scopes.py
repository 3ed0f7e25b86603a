"""The scopes of a frame: what each holds, listed when it is opened."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from gpudbg.answers import lane_list
from gpudbg.debug.commands import variable_rows
from gpudbg.debug.values import group_rows, shared_extent
from gpudbg.debug.views import frame_arguments, register_names, register_text
from gpudbg.errors import GpudbgError
from gpudbg.frontends.dap.values import lanes_row, variable

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.debug.values import GroupRow
    from gpudbg.frontends.dap.handles import Children, Handles, Node
    from gpudbg.frontends.dap.protocol import Body

ROW = 16
MOST_ROWS = 4096
"""Rows of shared memory that are listed."""


def scopes_of(handles: Handles, thread: int, level: int) -> list[Body]:
    """Locals, Arguments, Registers, Special registers, Shared memory, Lanes, Paths, Globals."""
    rows: tuple[tuple[str, str, Children, bool], ...] = (
        ("Locals", "locals", lambda s, n: _variables(s, handles, n, False), False),
        ("Arguments", "arguments", lambda s, n: _arguments(s, handles, n), False),
        ("Registers", "registers", lambda s, n: _registers(s, handles, n), True),
        ("Special registers", "registers", _special, True),
        ("Shared memory", "", _shared, True),
        ("Lanes", "", lambda s, n: _lanes(s, handles, n), True),
        ("Paths", "", lambda s, n: _paths(s, handles, n), True),
        ("Globals", "", lambda s, n: _globals(s, handles, n), True),
    )
    return [
        {
            "name": name,
            **({"presentationHint": hint} if hint else {}),
            "variablesReference": handles.add(thread, level, children),
            "expensive": expensive,
        }
        for name, hint, children, expensive in rows
    ]


def _variables(session: DebugSession, handles: Handles, node: Node, parameters: bool) -> list[Body]:
    """Variables in scope; one that another hides is shown as it is, without children."""
    known = session.context().variables()
    if known is None:
        return []
    found: list[Body] = []
    for row in variable_rows(session, known, parameters):
        if "@" in row.name:
            body = {"name": row.name, "value": row.text, "type": row.type, "variablesReference": 0}
            found.append(body)
        else:
            found.append(variable(session, handles, node, row.name, row.name, False))
    return found


def _arguments(session: DebugSession, handles: Handles, node: Node) -> list[Body]:
    """A frame's parameters; without -G what was passed to the kernel."""
    found = _variables(session, handles, node, True)
    if found:
        return found
    frame = session.execute("info frame")["level"]
    from gpudbg.debug.values import frames

    rows = frame_arguments(session, frames(session)[frame])
    return [
        {"name": a.entry, "value": a.text, "type": a.type, "variablesReference": 0} for a in rows
    ]


def _registers(session: DebugSession, handles: Handles, node: Node) -> list[Body]:
    found: list[Body] = []
    for name in register_names(session):
        body: Body = {"name": name, "value": register_text(session, name, "x")}
        reference = 0
        if name[:1] in "RP" and name[1:].isdigit():
            node.paths[name] = f"${name}"
            body["evaluateName"] = f"${name}"
            reference = handles.add(
                node.thread,
                node.level,
                lambda s, n, path=f"${name}": [lanes_row(s, handles, n, path)],  # type: ignore[misc]
            )
        found.append({**body, "variablesReference": reference})
    return found


def _special(session: DebugSession, node: Node) -> list[Body]:
    lane = session.focus.lane if session.focus is not None else 0
    found: list[Body] = []
    for name in session.special_names():
        with suppress(GpudbgError):
            value = session.sreg(name)
            fields = ", ".join(f"{k} = {v}" for k, v in value.fields.items())
            text = f"0x{int(value.values[lane]):x}" + (f" ({fields})" if fields else "")
            found.append({"name": name, "value": text, "variablesReference": 0})
    return found


def _shared(session: DebugSession, node: Node) -> list[Body]:
    """Shared memory of the block in rows of words."""
    extent = shared_extent(session)
    data = session.memory.read("shared", 0, extent.size) if extent.size else b""
    return [
        {
            "name": f"0x{at:04x}",
            "value": data[at : at + ROW].hex(" ", 4),
            "memoryReference": f"shared:0x{at:x}",
            "variablesReference": 0,
        }
        for at in range(0, min(len(data), ROW * MOST_ROWS), ROW)
    ]


def _lanes(session: DebugSession, handles: Handles, node: Node) -> list[Body]:
    """The warp's lanes: thread, whether it is active, from sm_70 on where it stands and what it
    waits for; open, the variables as it has them.
    """
    warp = session.warp()
    active, exited, groups = warp.state.active, warp.state.exited, group_rows(session, warp.state)
    found: list[Body] = []
    for number in range(32):
        try:
            thread = str(warp.lane(number).thread)
        except GpudbgError:
            thread = "no thread"
        state = "active" if active >> number & 1 else "inactive"
        group = next((g for g in groups if g.lanes >> number & 1), None)
        if exited >> number & 1:
            state = "exited"
        elif group is not None and state == "inactive":
            state += f" at {group.where}, {group.brief}"
        reference = handles.add(
            node.thread,
            node.level,
            lambda s, n: _in_lane(s, handles, n),
            number,
        )
        found.append(
            {
                "name": f"lane {number}",
                "value": f"thread {thread}, {state}",
                "variablesReference": reference,
            }
        )
    return found


def _paths(session: DebugSession, handles: Handles, node: Node) -> list[Body]:
    """Lanes that stand together and what they wait for, that which runs next first; before sm_70
    the divergence stack.
    """
    describe = session.symbols.describe_line
    groups = group_rows(session, session.warp().state)
    if not groups:
        return [
            {
                "name": row["kind"],
                "value": f"lanes {lane_list(row['mask'])} at {describe(row['target'])}",
                "variablesReference": 0,
            }
            for row in session.execute("info stack")
        ]
    return [
        {
            "name": f"lane{'s' * (group.lanes.bit_count() > 1)} {lane_list(group.lanes)}",
            "value": f"{describe(group.pc)}: {group.words}",
            "memoryReference": f"0x{group.pc:x}",
            "variablesReference": handles.add(
                node.thread,
                node.level,
                lambda s, n, group=group: _group(group),  # type: ignore[misc]
            ),
        }
        for group in groups
    ]


def _group(group: GroupRow) -> list[Body]:
    """Where lanes stand, and of those that wait: at which barrier, for whom."""
    parts = {
        "state": group.state,
        "pc": f"0x{group.pc:x}",
        "waits at": group.waits_at,
        "waits for": lane_list(group.members) if group.members else "",
        "have not come": lane_list(group.missing) if group.missing else "",
    }
    return [
        {"name": name, "value": value, "variablesReference": 0}
        for name, value in parts.items()
        if value
    ]


def _in_lane(session: DebugSession, handles: Handles, node: Node) -> list[Body]:
    """Arguments and locals of the node's lane."""
    return _arguments(session, handles, node) + _variables(session, handles, node, False)


def _globals(session: DebugSession, handles: Handles, node: Node) -> list[Body]:
    """Variables of the module by their names in the source."""
    found: list[Body] = []
    for name in session.program.globals:
        if name.startswith(("$", "__")):
            continue
        found.append(variable(session, handles, node, name, name, False))
    return found
