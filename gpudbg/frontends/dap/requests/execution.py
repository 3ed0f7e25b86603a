"""Execution: continue, steps of lines and instructions, backwards, pause, goto."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.debug import step_into, step_targets
from gpudbg.errors import CommandError
from gpudbg.frontends.dap.adapter import EngineRun
from gpudbg.frontends.dap.protocol import Body
from gpudbg.frontends.dap.registry import request, text_of, whole_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpudbg.debug import DebugSession, StepTarget
    from gpudbg.debug.stops import Stop
    from gpudbg.frontends.dap.adapter import Adapter

ALL: Body = {"allThreadsContinued": True}


def _go(
    adapter: Adapter,
    arguments: Body,
    work: Callable[[DebugSession], Stop],
    reason: str = "step",
    again: bool = False,
    back: bool = False,
) -> None:
    """Run something with the thread that the client means."""
    session = adapter.opened()
    if not back and session.faulted:
        raise CommandError("the kernel was stopped by an error: it goes back, or restarts")
    if not back and session.focus is None:
        raise CommandError("the program has ended: it goes back, or restarts")
    thread = arguments.get("threadId")
    if thread is not None and session.focus is not None and not session.faulted:
        adapter.ids.sync(session)
        adapter.ids.select(session, whole_of(arguments, "threadId"))
    adapter.start(EngineRun(lambda: work(session), again, reason))


def _instructions(arguments: Body) -> bool:
    return text_of(arguments, "granularity", "statement") == "instruction"


@request("continue")
def continue_(adapter: Adapter, arguments: Body) -> Body:
    """Run on."""
    _go(adapter, {}, lambda s: s.cont(), "pause", again=True)
    return ALL


@request("next")
def next_(adapter: Adapter, arguments: Body) -> None:
    """A line or instruction, over calls."""
    if _instructions(arguments):
        _go(adapter, arguments, lambda s: s.step(over=True))
    else:
        _go(adapter, arguments, lambda s: s.step_line(over=True))


@request("stepInTargets")
def step_in_targets(adapter: Adapter, arguments: Body) -> Body:
    """The calls of the line where the innermost frame stands; other frames are in theirs."""
    session = adapter.stopped()
    thread, level = adapter.handles.frame_of(whole_of(arguments, "frameId"))
    if level:
        return {"targets": []}
    with adapter.selecting(thread):
        found = step_targets(session)
    return {
        "targets": [
            {"id": target.pc, "label": target.function, "line": target.line} for target in found
        ]
    }


def _target(adapter: Adapter, arguments: Body) -> StepTarget:
    """The call that a step is to enter.

    Raises:
        CommandError: the line has none there.
    """
    wanted = whole_of(arguments, "targetId")
    with adapter.selecting(whole_of(arguments, "threadId")) as session:
        found = step_targets(session)
    for target in found:
        if target.pc == wanted:
            return target
    raise CommandError(f"targetId {wanted}: the line calls nothing there", "stepInTargets")


@request("stepIn")
def step_in(adapter: Adapter, arguments: Body) -> None:
    """A line or instruction, into calls and inlined code; with a target, into that call."""
    if arguments.get("targetId") is not None:
        target = _target(adapter, arguments)
        _go(adapter, arguments, lambda s: step_into(s, target))
    elif _instructions(arguments):
        _go(adapter, arguments, lambda s: s.step())
    else:
        _go(adapter, arguments, lambda s: s.step_line())


@request("stepOut")
def step_out(adapter: Adapter, arguments: Body) -> None:
    """Out of the function; of the kernel, to its end."""
    session = adapter.opened()

    def work(here: DebugSession) -> Stop:
        from gpudbg.debug.values import frames

        frame = frames(here)[0]
        return here.cont() if frame.physical == 0 and not frame.inlined else here.finish()

    if session.focus is None:
        raise CommandError("the program has ended")
    _go(adapter, arguments, work)


@request("stepBack")
def step_back(adapter: Adapter, arguments: Body) -> None:
    """The line or instruction before."""
    if _instructions(arguments):
        _go(adapter, arguments, lambda s: s.reverse_step(), back=True)
    else:
        _go(adapter, arguments, lambda s: s.reverse_step_line(over=True), back=True)


@request("reverseContinue")
def reverse_continue(adapter: Adapter, arguments: Body) -> None:
    """Back to a breakpoint, or the launch's beginning."""
    _go(adapter, {}, lambda s: s.reverse_cont(), "entry", back=True)


@request("restartFrame")
def restart_frame(adapter: Adapter, arguments: Body) -> None:
    """Back to where a frame's function begins: the launch's past is gone back."""
    thread, level = adapter.handles.frame_of(whole_of(arguments, "frameId"))

    def work(session: DebugSession) -> Stop:
        from gpudbg.debug.values import frames

        rows = frames(session)
        if rows[min(level, len(rows) - 1)].own:
            return session.goto(0)
        inlined = rows[level].inlined
        for _ in rows[: level + 1]:
            stop = session.reverse_finish()
        return stop if inlined else session.step()

    _go(adapter, {"threadId": thread}, work, "restart", back=True)


@request("pause", running="ok")
def pause(adapter: Adapter, arguments: Body) -> None:
    """Stop the program."""
    adapter.pause()


@request("gotoTargets")
def goto_targets(adapter: Adapter, arguments: Body) -> Body:
    """Where a line's code begins in the functions that it is in."""
    from gpudbg.frontends.dap.requests.code import file_of

    session = adapter.opened()
    line = whole_of(arguments, "line")
    starts = session.symbols.line_starts(file_of(session, arguments), line)
    return {
        "targets": [
            {
                "id": pc,
                "label": session.symbols.describe(pc),
                # Where the line has no code it is the next one that has.
                "line": found.number if (found := session.symbols.line(pc)) else line,
                "instructionPointerReference": f"0x{pc:x}",
            }
            for pc in starts
        ]
    }


@request("goto")
def goto(adapter: Adapter, arguments: Body) -> None:
    """Let the warp go on at another place."""
    session = adapter.stopped()
    adapter.ids.select(session, whole_of(arguments, "threadId"))
    session.jump(f"*0x{whole_of(arguments, 'targetId'):x}")
    adapter.handles.forget()
    adapter.afterwards.append(lambda: adapter.tell_stop(None, "goto"))
