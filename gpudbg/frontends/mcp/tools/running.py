"""Tools that move a launch: running, stepping, going back, breakpoints."""

from __future__ import annotations

from typing import Annotated, Literal

from gpudbg.debug.stops import CUT_SHORT, Stop
from gpudbg.errors import UsageError
from gpudbg.frontends.mcp.tools.table import Expression, Location, SessionNumber, about, tool
from gpudbg.frontends.mcp.workshop import ToolAnswer, Workshop

Count = Annotated[int, about("how many", ge=1, le=100_000)]


@tool("run")
def run(
    workshop: Workshop,
    session: SessionNumber,
    until: Annotated[Location | None, about("stop there, too, this once")] = None,
    max_instructions: Annotated[
        int | None, about("stop after so many warp instructions", ge=1, le=2**62)
    ] = None,
) -> ToolAnswer:
    """Run on to the next breakpoint, to a fault or the end; answers with the stop's card: what
    happened, where, who, the nearest allocation, output buffers at the end."""
    at = workshop.session(session)
    most = min(max_instructions or workshop.limits.instructions, workshop.limits.instructions)
    with workshop.timed(at):
        if until is None:
            stop = at.cont(most)
        else:
            workshop.command(session, f"tbreak {until}")
            stop = at.cont(most)
    return workshop.stop_answer(session, stop, note=_cut(workshop, stop))


def _cut(workshop: Workshop, stop: Stop) -> str:
    """What to do where a limit ended a run."""
    if not isinstance(stop, CUT_SHORT):
        return ""
    limits = workshop.limits
    return (
        f"(stopped by a limit of this server or call: {limits.instructions:,} instructions, "
        f"{limits.seconds} s; `run` goes on)"
    )


@tool("step")
def step(
    workshop: Workshop,
    session: SessionNumber,
    unit: Annotated[
        Literal["line", "instruction", "finish"],
        about("a source line, an instruction of the focused warp, or out of the function"),
    ] = "line",
    count: Annotated[Count, about("how many lines or instructions")] = 1,
    over: Annotated[bool, about("over calls, not into them")] = False,
) -> ToolAnswer:
    """Step the focused warp."""
    at = workshop.session(session)
    with workshop.timed(at):
        match unit:
            case "line":
                stop = at.step_line(count, over)
            case "instruction":
                stop = at.step(count, over=over)
            case "finish":
                stop = at.finish()
    return workshop.stop_answer(session, stop)


@tool("back")
def back(
    workshop: Workshop,
    session: SessionNumber,
    to: Annotated[
        Literal["line", "instruction", "stop", "caller", "location", "tick", "begin"],
        about(
            "back by source lines or instructions; to the last breakpoint or watchpoint met "
            "before (stop); to where the function was called (caller); to a location; to a tick "
            "of the launch; to its begin"
        ),
    ] = "line",
    count: Annotated[Count, about("lines or instructions")] = 1,
    location: Annotated[Location | None, about("for to=location")] = None,
    tick: Annotated[int | None, about("for to=tick", ge=0, le=2**62)] = None,
) -> ToolAnswer:
    """Go backwards in a launch that has run, stopped, faulted or ended; nothing is lost: `run`
    and `step` go forward again."""
    at = workshop.session(session)
    with workshop.timed(at):
        match to:
            case "line":
                stop = at.reverse_step_line(count)
            case "instruction":
                stop = at.reverse_step(count)
            case "stop":
                stop = at.reverse_cont()
            case "caller":
                stop = at.reverse_finish()
            case "location":
                if location is None:
                    raise UsageError("to=location needs `location`")
                stop = at.reverse_until(location)
            case "tick":
                if tick is None:
                    raise UsageError("to=tick needs `tick`", f"the launch is at tick {at.tick}")
                stop = at.goto(tick)
            case "begin":
                stop = at.goto(0)
    return workshop.stop_answer(session, stop, note=f"tick {at.tick}")


@tool("who_wrote")
def who_wrote(
    workshop: Workshop,
    session: SessionNumber,
    expression: Annotated[Expression, about("a register, an element, a variable")],
    how: Annotated[
        Literal["go", "list", "why"],
        about(
            "go to the last write (the launch goes back there); list the writes; or why: the "
            "tree of values that it was computed from"
        ),
    ] = "list",
) -> ToolAnswer:
    """Who wrote a value of the launch, and from what."""
    at = workshop.session(session)
    with workshop.timed(at):
        if how == "go":
            return workshop.stop_answer(session, at.who_wrote(expression))
        line = f"why {expression}" if how == "why" else f"who-wrote /l {expression}"
        return workshop.answer(workshop.command(session, line), session=session)


@tool("breakpoint")
def breakpoint_(
    workshop: Workshop,
    session: SessionNumber,
    location: Annotated[Location | None, about("where; or what to watch is given")] = None,
    watch: Annotated[
        Expression | None, about("stop where this changes (what is in memory or a register)")
    ] = None,
    access: Annotated[
        Literal["write", "read", "any"], about("of `watch`: which accesses stop")
    ] = "write",
    condition: Annotated[str | None, about("only where this holds, in C", max_length=1000)] = None,
    once: Annotated[bool, about("for one stop only")] = False,
    delete: Annotated[int | None, about("delete the breakpoint of this number", ge=1)] = None,
) -> ToolAnswer:
    """Set or delete a breakpoint or watchpoint; without any of them: list those there are."""
    given = [x for x in (location, watch, delete) if x is not None]
    if len(given) > 1:
        raise UsageError("one of `location`, `watch` and `delete`, or none for a list")
    suffix = f" if {condition}" if condition else ""
    if location is not None:
        line = f"{'tbreak' if once else 'break'} {location}{suffix}"
    elif watch is not None:
        name = {"write": "watch", "read": "rwatch", "any": "awatch"}[access]
        line = f"{name} {watch}{suffix}"
    else:
        line = "info breakpoints" if delete is None else f"delete {delete}"
    said = workshop.command(session, line)
    return workshop.answer(said or "deleted", session=session)


@tool("restart")
def restart(workshop: Workshop, session: SessionNumber) -> ToolAnswer:
    """Launch the same again: memory as it was, breakpoints stay."""
    at = workshop.session(session)
    return workshop.stop_answer(session, at.restart())
