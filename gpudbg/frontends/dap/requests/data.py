"""Variables, expressions, console lines, completions, memory."""

from __future__ import annotations

import base64
import binascii
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from gpudbg.debug import complete
from gpudbg.debug.stops import Stop
from gpudbg.errors import CommandError, GpudbgError, error_for_user
from gpudbg.expr import parse
from gpudbg.frontends.dap.adapter import EngineRun
from gpudbg.frontends.dap.handles import Node
from gpudbg.frontends.dap.protocol import Body
from gpudbg.frontends.dap.registry import LATER, request, text_of, whole_of
from gpudbg.frontends.dap.values import VECTORS, described, in_hexadecimal, of_result

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession, Outcome, Output
    from gpudbg.frontends.dap.adapter import Adapter

MOST_BYTES = 1 << 22
"""Bytes of one readMemory."""
SPACES = ("global", "shared", "local", "generic", "const", "code")


def _nothing(session: object, node: Node) -> list[Body]:
    return []


@request("variables")
def variables(adapter: Adapter, arguments: Body) -> Body:
    """What is in a scope or variable."""
    node = adapter.handles.node(whole_of(arguments, "variablesReference"))
    shown = bool((arguments.get("format") or {}).get("hex"))
    with adapter.selecting(node.thread, node.level, node.lane) as session:
        rows = node.children(session, node)
        for row in rows if shown else ():
            if path := row.get("evaluateName"):
                with suppress(GpudbgError):
                    row["value"] = in_hexadecimal(session, str(path))
    start, count = whole_of(arguments, "start", 0), whole_of(arguments, "count", 0)
    if arguments.get("filter") == "indexed" or count:
        rows = rows[start : start + count] if count else rows[start:]
    return {"variables": rows}


@request("setVariable")
def set_variable(adapter: Adapter, arguments: Body) -> Body:
    """Write a variable, member, element or register."""
    node = adapter.handles.node(whole_of(arguments, "variablesReference"))
    name = text_of(arguments, "name")
    if name not in node.paths:  # Its rows were not asked for yet.
        with adapter.selecting(node.thread, node.level, node.lane) as session:
            node.children(session, node)
    path = node.paths.get(name)
    if path is None:
        known = ", ".join(node.paths)
        raise CommandError(f"{name} cannot be set", f"here can be: {known}" if known else "")
    return _assigned(adapter, node, path, text_of(arguments, "value"), node.lane_of(name))


@request("setExpression")
def set_expression(adapter: Adapter, arguments: Body) -> Body:
    """Write what an expression names."""
    node = _node(adapter, arguments)
    return _assigned(adapter, node, text_of(arguments, "expression"), text_of(arguments, "value"))


def _assigned(adapter: Adapter, node: Node, path: str, value: str, lane: int | None = None) -> Body:
    with adapter.selecting(node.thread, node.level, lane) as session:
        session.execute(f"set var {path} = {value}")
        body = described(session, adapter.handles, node, path)
        place, size = session.evaluate(path).place, session.evaluate(path).type.size
        here = session.focus.lane if session.focus is not None else 0
    adapter.afterwards.append(lambda: adapter.changed("variables"))
    if place is not None and place.kind == "memory" and place.addresses is not None:
        where = f"{place.space}:0x{int(place.addresses[here]):x}"
        adapter.afterwards.append(lambda: adapter.memory_changed(where, size))
    return body


def _node(adapter: Adapter, arguments: Body) -> Node:
    """The frame that a request is asked in; by default the focus."""
    if arguments.get("frameId"):
        thread, level = adapter.handles.frame_of(whole_of(arguments, "frameId"))
        return Node(thread, level, _nothing)
    session = adapter.opened()
    return Node(adapter.ids.focused(session) or 1, session.frame_level, _nothing)


@request("evaluate")
def evaluate(adapter: Adapter, arguments: Body) -> Body:
    """An expression; in the console, a command."""
    text = text_of(arguments, "expression")
    session = adapter.opened()
    node = _node(adapter, arguments)
    if arguments.get("context") == "repl" and _is_command(adapter, node, text):
        return _command(adapter, arguments, text)
    hexadecimal = bool((arguments.get("format") or {}).get("hex"))
    if text.strip() in VECTORS and session.focus is not None:
        with adapter.selecting(node.thread, node.level) as session:
            body = described(session, adapter.handles, node, text.strip())
    elif session.focus is None:
        body = of_result(session, adapter.handles, node, text, session.evaluate(text), hexadecimal)
        body["variablesReference"] = 0
    else:
        with adapter.selecting(node.thread, node.level) as session:
            result = session.evaluate(text)
            body = of_result(session, adapter.handles, node, text, result, hexadecimal)
    body["result"] = body.pop("value")
    if "=" in text and arguments.get("context") == "repl":
        # It may have assigned.
        adapter.afterwards.append(lambda: adapter.changed("variables"))
    return body


def _is_command(adapter: Adapter, node: Node, text: str) -> bool:
    """Whether a console line is a command: a short form is none where a variable is called so."""
    session = adapter.opened()
    table = session.command_table()
    if not table.knows(text):
        return False
    word = re.match(r"[A-Za-z_]\w*", text.strip())
    if word is None or word[0] in table.words() or session.focus is None:
        return True
    with adapter.selecting(node.thread, node.level) as session:
        known = session.context().variables()
        if known is None or word[0] not in {v.name for v, _ in known.variables()}:
            return True
    try:
        parse(text)
    except GpudbgError:
        return True
    return False


def _command(adapter: Adapter, arguments: Body, text: str) -> Body:
    """A console line: it may run the program, so the engine's thread carries it out."""
    session, asked = adapter.opened(), adapter.current
    if arguments.get("frameId") and session.focus is not None:
        thread, level = adapter.handles.frame_of(whole_of(arguments, "frameId"))
        adapter.ids.select(session, thread)
        session.frame_level = level
    before, tick = session.stop, session.tick

    def done(outcome: Outcome[Output]) -> None:
        if outcome.error is not None:
            adapter.writer.refuse(asked, str(error_for_user(outcome.error)))
        else:
            words = outcome.answer.text if outcome.answer is not None else ""
            adapter.writer.answer(asked, {"result": words, "variablesReference": 0})
        adapter.tell_breakpoints()
        if session.quit_requested:
            adapter.end()
        elif session.stop is not before or session.tick != tick:
            adapter.tell_stop(session.stop if isinstance(session.stop, Stop) else None, "step")
        else:
            adapter.changed("variables", "stacks")

    adapter.start(EngineRun(lambda: session.command(text), done=done))
    return LATER


@request("completions", running="ok")
def completions(adapter: Adapter, arguments: Body) -> Body:
    """What could end a console line."""
    if adapter.run is not None or adapter.session is None:
        return {"targets": []}
    session = adapter.session
    first = int(bool(adapter.client.get("columnsStartAt1", True)))
    text = text_of(arguments, "text")[: max(whole_of(arguments, "column", first) - first, 0)]
    lines = complete(session, text)
    if session.focus is not None:
        node = _node(adapter, arguments)
        with adapter.selecting(node.thread, node.level) as session:
            # An expression is a console line, too.
            lines = list(dict.fromkeys([*session.complete_expression(text), *lines]))
    start = len(text) - len(re.search(r"\w*$", text)[0])  # type: ignore[index]
    return {
        "targets": [
            {
                "label": line[start:] or line,
                "text": line[start:] or line,
                "start": start,
                "length": len(text) - start,
            }
            for line in lines[:200]
        ]
    }


def _memory(arguments: Body) -> tuple[str, int]:
    """Address space and address of a memory reference (`shared:0x40`) and its offset.

    Raises:
        CommandError: it is none.
    """
    text = text_of(arguments, "memoryReference")
    space, colon, number = text.partition(":")
    if not colon:
        space, number = "generic", text
    try:
        address = int(number, 0)
    except ValueError:
        raise CommandError(f"{text!r} is no memory reference", "shared:0x40, 0x705000000") from None
    if space not in SPACES:
        raise CommandError(f"there is no address space {space!r}", ", ".join(SPACES))
    return space, address + whole_of(arguments, "offset", 0)


@request("readMemory")
def read_memory(adapter: Adapter, arguments: Body) -> Body:
    """Bytes; as many as are readable; the rest is reported as unreadable."""
    space, address = _memory(arguments)
    count = whole_of(arguments, "count")
    if not 0 <= count <= MOST_BYTES:
        raise CommandError(f"count {count}: at most {MOST_BYTES}")
    data = _beginning(adapter.opened(), space, address, count)
    return {
        "address": f"0x{address:x}",
        "unreadableBytes": count - len(data),
        "data": base64.b64encode(data).decode(),
    }


def _beginning(session: DebugSession, space: str, address: int, count: int) -> bytes:
    """The longest beginning of some bytes that can be read."""
    data = b""
    low, high = 0, count
    while low < high:
        middle = (low + high + 1) // 2
        try:
            data, low = session.memory.read(space, address, middle), middle
        except GpudbgError:
            high = middle - 1
    return data


@request("writeMemory")
def write_memory(adapter: Adapter, arguments: Body) -> Body:
    """Replace bytes; with `allowPartial` those in front of the first that is no memory."""
    space, address = _memory(arguments)
    try:
        data = base64.b64decode(text_of(arguments, "data"), validate=True)
    except binascii.Error as error:
        raise CommandError(f"data is no base64: {error}") from None
    session = adapter.stopped()
    if arguments.get("allowPartial"):
        # Where nothing can be written, all of it says why.
        data = data[: len(_beginning(session, space, address, len(data))) or len(data)]
    session.memory.write(space, address, data)
    adapter.afterwards.append(lambda: adapter.changed("variables"))
    where = f"{space}:0x{address:x}"
    adapter.afterwards.append(lambda: adapter.memory_changed(where, len(data)))
    return {"bytesWritten": len(data)}
