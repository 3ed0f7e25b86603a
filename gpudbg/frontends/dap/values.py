"""Values as the protocol's variables: trees of expressions, and the 32 lanes of a scalar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.debug.views import data_text, listed_text, style_of, value_text
from gpudbg.errors import GpudbgError
from gpudbg.expr import Array, Pointer, Scalar, Struct, spelled

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.expr import Result
    from gpudbg.frontends.dap.handles import Handles, Node
    from gpudbg.frontends.dap.protocol import Body

MOST_CHILDREN = 1000
"""Elements of an array that are listed at once."""
LANES = "32 lanes"
VECTORS = ("threadIdx", "blockIdx", "blockDim", "gridDim")


def variable(
    session: DebugSession, handles: Handles, node: Node, name: str, path: str, hexadecimal: bool
) -> Body:
    """A variable of a node: its value in the focused lane, and a number for its children."""
    node.paths[name] = path
    return {"name": name, **described(session, handles, node, path, hexadecimal)}


def described(
    session: DebugSession, handles: Handles, node: Node, path: str, hexadecimal: bool = False
) -> Body:
    """value, type, variablesReference and memoryReference of an expression."""
    if path in VECTORS:
        parts = [f"{axis} = {session.integer(f'{path}.{axis}')}" for axis in "xyz"]
        return {"value": "{" + ", ".join(parts) + "}", "type": "dim3", "variablesReference": 0}
    try:
        result = session.evaluate(path)
        return of_result(session, handles, node, path, result, hexadecimal)
    except GpudbgError as error:
        return {"value": f"<{error}>", "variablesReference": 0}


def of_result(
    session: DebugSession,
    handles: Handles,
    node: Node,
    path: str,
    result: Result,
    hexadecimal: bool = False,
) -> Body:
    """The same of a value that is known."""
    lane = session.focus.lane if session.focus is not None else 0
    body: Body = {
        "type": spelled(result.type),
        "evaluateName": path,
        "value": text_of(session, result, lane, "x" if hexadecimal else None),
    }
    place = result.place
    if place is not None and place.kind == "memory" and place.addresses is not None:
        body["memoryReference"] = f"{place.space}:0x{int(place.addresses[lane]):x}"
    if isinstance(result.type, Pointer) and result.valid[lane]:
        body["memoryReference"] = f"{result.type.space}:0x{int(result.values[lane]):x}"
    if isinstance(result.type, Array):
        body["indexedVariables"] = result.type.count
    reference = 0
    if result.valid[lane]:
        reference = handles.add(
            node.thread,
            node.level,
            lambda s, n: _children(s, handles, n, path, hexadecimal),
            node.lane,
        )
    return {**body, "variablesReference": reference}


def text_of(session: DebugSession, result: Result, lane: int, letter: str | None = None) -> str:
    """A value in a lane as `print` shows it."""
    style = style_of(session)
    if not result.valid[lane]:
        why = result.why or "no value in this lane"
        return why if why.startswith("<") else f"<{why}>"
    if isinstance(result.type, Struct | Array):
        raw = session.memory.bytes_of(result, lane)
        return data_text(result.type, raw, letter, style, follow=session.memory.at)
    if letter is None:
        return listed_text(session, result, lane)
    return value_text(result, lane, style.letter(result.type, letter))


def in_hexadecimal(session: DebugSession, path: str) -> str:
    """An expression's value in the focused lane."""
    lane = session.focus.lane if session.focus is not None else 0
    return text_of(session, session.evaluate(path), lane, "x")


def _children(
    session: DebugSession, handles: Handles, node: Node, path: str, hexadecimal: bool
) -> list[Body]:
    """Members, elements, what a pointer points at; of a scalar its lanes."""
    result = session.evaluate(path)

    def child(name: str, expression: str) -> Body:
        return variable(session, handles, node, name, expression, hexadecimal)

    inner = f"({path})"
    match result.type:
        case Struct():
            # A base class or a union without a name is shown with its own members.
            return [
                row for f in result.type.fields for row in _member(child, f.name, inner, f.type)
            ]
        case Array():
            count = min(result.type.count, MOST_CHILDREN)
            return [child(f"[{n}]", f"{inner}[{n}]") for n in range(count)]
        case Pointer():
            lanes = lanes_row(session, handles, node, path)
            return [child(f"*{path}", f"*{inner}"), lanes]
        case Scalar():
            return [lanes_row(session, handles, node, path)]
    return []


def _member(child, name: str, inner: str, type_: object) -> list[Body]:  # type: ignore[no-untyped-def]
    if name and not name.startswith("<"):
        return [child(name, f"{inner}.{name}")]
    if isinstance(type_, Struct):
        return [row for f in type_.fields for row in _member(child, f.name, inner, f.type)]
    return []


def lanes_row(session: DebugSession, handles: Handles, node: Node, path: str) -> Body:
    """The row that opens into a value's 32 lanes."""
    reference = handles.add(node.thread, node.level, lambda s, n: _lanes(s, n, path))
    active = session.warp().state.active
    result = session.evaluate(path)
    lanes = [n for n in range(32) if active >> n & 1 and result.valid[n]]
    texts = {text_of(session, result, n) for n in lanes}
    words = f"{next(iter(texts))} in all" if len(texts) == 1 else f"{len(texts)} values"
    return {
        "name": LANES,
        "value": words if lanes else "no active lane has a value",
        "variablesReference": reference,
        "indexedVariables": 32,
        "presentationHint": {"kind": "virtual"},
    }


def _lanes(session: DebugSession, node: Node, path: str) -> list[Body]:
    """A value in each lane; inactive ones are marked."""
    result = session.evaluate(path)
    for lane in range(32):
        node.paths[f"lane {lane}"], node.lanes[f"lane {lane}"] = path, lane
    active = session.warp().state.active
    return [
        {
            "name": f"lane {lane}",
            "value": text_of(session, result, lane) + ("" if active >> lane & 1 else " (inactive)"),
            "type": spelled(result.type),
            "variablesReference": 0,
        }
        for lane in range(32)
    ]
