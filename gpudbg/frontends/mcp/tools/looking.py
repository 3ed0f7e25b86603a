"""Tools that look at a stopped launch."""

from __future__ import annotations

from typing import Annotated, Literal

from gpudbg.errors import UsageError
from gpudbg.frontends.mcp.tools.table import Expression, SessionNumber, about, tool
from gpudbg.frontends.mcp.workshop import ToolAnswer, Workshop


@tool("stop_card", reads=True)
def stop_card(workshop: Workshop, session: SessionNumber) -> ToolAnswer:
    """Why the machine stands and where: errors with address and nearest allocation, the
    instruction, loops of a hang, outputs at the end."""
    stop = workshop.session(session).stop
    if stop is None:
        raise UsageError(f"session {session} has not stopped yet")
    return workshop.stop_answer(session, stop)


@tool("print", reads=True)
def print_(
    workshop: Workshop,
    session: SessionNumber,
    expression: Expression,
    format: Annotated[  # noqa: A002 - the argument's name for clients
        Literal["", "x", "d", "u", "t", "f", "c", "s"], about("as gdb's p/x, p/f …")
    ] = "",
    lanes: Annotated[bool, about("the value in each of the warp's 32 lanes")] = False,
) -> ToolAnswer:
    """Print the value of an expression in the focused thread."""
    if "\n" in expression:
        raise UsageError("an expression is one line")
    letters = format + ("/a" if lanes else "")
    if lanes:
        value = workshop.session(session).evaluate(expression)
        return workshop.answer(f"{expression} = {value}", session=session)
    line = f"print{'/' + letters if letters else ''} {expression}"
    return workshop.answer(workshop.command(session, line), session=session)


@tool("memory", reads=True)
def memory(
    workshop: Workshop,
    session: SessionNumber,
    address: Annotated[str, about("an address or expression, such as out, &shared[4], 0x…")],
    count: Annotated[int, about("units", ge=1, le=4096)] = 16,
    format: Annotated[  # noqa: A002 - the argument's name for clients
        Literal["x", "d", "u", "f", "c", "i"], about("i: instructions")
    ] = "x",
    unit: Annotated[Literal["b", "h", "w", "g"], about("1, 2, 4 or 8 bytes")] = "w",
) -> ToolAnswer:
    """Memory as the focused thread sees it (gdb's x)."""
    if "\n" in address:
        raise UsageError("an address is one line")
    line = f"x/{count}{format}{unit if format != 'i' else ''} {address}"
    return workshop.answer(workshop.command(session, line), session=session)


_VIEWS = {
    "warps": "info warps", "lanes": "info lanes", "registers": "info registers",
    "locals": "info locals", "args": "info args", "backtrace": "backtrace",
    "buffers": "info buffers", "barriers": "info barriers", "blocks": "info blocks",
    "source": "list", "stops": "info stops", "engine": "info engine", "timeline": "info timeline",
    "allocations": "info allocations", "launch": "info launch", "special": "info special",
}  # fmt: skip


@tool("show", reads=True)
def show(
    workshop: Workshop,
    session: SessionNumber,
    what: Annotated[
        Literal[
            "warps", "lanes", "registers", "locals", "args", "backtrace", "buffers", "barriers",
            "blocks", "source", "stops", "engine", "timeline", "allocations", "launch", "special",
        ],
        about("which view"),
    ],
) -> ToolAnswer:  # fmt: skip
    """A view of the stopped machine: warps, lanes, registers, variables, the stack, …"""
    return workshop.answer(workshop.command(session, _VIEWS[what]), session=session)


@tool("focus")
def focus(
    workshop: Workshop,
    session: SessionNumber,
    place: Annotated[
        str,
        about(
            "block 1,0,0 thread 5,0,0, or sm 0 warp 2 lane 7; parts that are left out stay",
            max_length=200,
        ),
    ],
) -> ToolAnswer:
    """Choose the thread that questions are about."""
    return workshop.answer(workshop.command(session, f"focus {place}"), session=session)


@tool("set")
def set_(
    workshop: Workshop,
    session: SessionNumber,
    target: Annotated[Expression, about("a register, an element, a variable")],
    value: Annotated[Expression, about("its new value")],
) -> ToolAnswer:
    """Write a value into the stopped machine."""
    if "\n" in target + value or "=" in target:
        raise UsageError("target and value are one expression each")
    said = workshop.command(session, f"set var {target} = {value}")
    return workshop.answer(said or f"{target} is set", session=session)


@tool("command")
def command(
    workshop: Workshop,
    session: SessionNumber,
    line: Annotated[str, about("one line, such as `info threads` or `help x`", max_length=2000)],
) -> ToolAnswer:
    """Any other command of the debugger's console (gdb's names; `help` lists them). Those that
    run programs or scripts are not there."""
    at = workshop.session(session)
    with workshop.timed(at):
        text = workshop.command(session, line)
    printed = workshop.printed(session)
    return workshop.answer("\n".join(filter(None, [text, printed])), session=session)
