"""Execution: run, continue, step, finish, until, jump, interrupt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpudbg.debug import is_backwards
from gpudbg.frontends.mi.commands.registry import Answer, Handler, MiCall, mi
from gpudbg.frontends.mi.opened import NOT_STARTED
from gpudbg.frontends.mi.parser import MiError, take_options
from gpudbg.frontends.mi.settings import set_arguments
from gpudbg.frontends.mi.shown import frame_fields, selected_frame

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.debug.stops import Stop
    from gpudbg.frontends.mi.bridge import Bridge

STEP_END = "end-stepping-range"
OUTERMOST = '"finish" not meaningful in the outermost frame.'
"""gdb's words."""


def start(bridge: Bridge, stop_at_entry: bool = False) -> Answer:
    """Launch and run."""
    launch = bridge.settings.shown("cuda break_on_launch") in ("application", "all")
    if (stop_at_entry or launch) and bridge.run is None and bridge.path is not None:
        if bridge.session is None:
            bridge.open(bridge.path)
        bridge.loaded().require_launchable()
        bridge.loaded().break_at(bridge.loaded().kernel.name, temporary=True)
        bridge.breakpoint_changes()
    session = bridge.begin()
    bridge.resume(session.cont, STEP_END)
    return Answer("running")


def resume(bridge: Bridge, work: Callable[[DebugSession], Stop], finished: str) -> Answer:
    """Let a stopped program do something.

    Raises:
        MiError: it is not stopped, or is stopped by an error it cannot go on from.
    """
    session = bridge.process(NOT_STARTED)
    if session.faulted:
        raise MiError(
            "The program is stopped by an error and cannot be stepped; continue ends it, "
            "run starts it again."
        )
    bridge.resume(lambda: work(session), finished, _again(session, work, finished))
    return Answer("running")


def _again(
    session: DebugSession, work: Callable[[DebugSession], Stop], finished: str
) -> Callable[[], Stop]:
    return lambda: work(session)


def back(bridge: Bridge, work: Callable[[DebugSession], Stop]) -> Answer:
    """Let a stopped program go back, also after an error or its end.

    Raises:
        MiError: nothing has been started.
    """
    bridge.revive()
    session = bridge.process(NOT_STARTED)
    bridge.resume(lambda: work(session), STEP_END, _again(session, work, STEP_END))
    return Answer("running")


def go(bridge: Bridge) -> Answer:
    """Continue; after an error the program ends, as it does on hardware."""
    session = bridge.process(NOT_STARTED)
    if session.faulted:
        return Answer("killed")
    return resume(bridge, lambda s: s.cont(), STEP_END)


def _select(call: MiCall) -> None:
    if call.thread is not None:
        session = call.bridge.process(NOT_STARTED)
        call.bridge.ids.select(session, call.thread)


def _is_back(call: MiCall, asked: bool) -> bool:
    """Whether a command goes backwards: it was asked to, or all do.

    Raises:
        MiError: both; gdb's words.
    """
    all_do = is_backwards(call.bridge.settings)
    if asked and all_do:
        raise MiError("Already in reverse mode.")
    return asked or all_do


def _steps(call: MiCall) -> tuple[int, bool]:
    """How many, and whether backwards."""
    opts = take_options(call.name, call.words, flags="--reverse")
    back = _is_back(call, opts.has("--reverse"))
    if not opts.rest:
        return 1, back
    try:
        count = int(opts.rest[0], 0)
    except ValueError:
        raise MiError(f'No symbol "{opts.rest[0]}" in current context.') from None
    if count < 1:
        raise MiError(f"-{call.name}: a count is 1 or more")
    return count, back


@mi("exec-run", running="ok", selects=False)
def exec_run(call: MiCall) -> Answer:
    """Launch from the beginning."""
    opts = take_options(call.name, call.words, flags="--start --all", values="--thread-group")
    if call.bridge.run is not None:
        raise MiError("The program is already being run.")
    return start(call.bridge, opts.has("--start"))


@mi("exec-continue", selects=False)
def exec_continue(call: MiCall) -> Answer:
    """Run on."""
    opts = take_options(call.name, call.words, flags="--all --reverse", values="--thread-group")
    _select(call)
    if _is_back(call, opts.has("--reverse")):
        return back(call.bridge, lambda s: s.reverse_cont())
    return go(call.bridge)


@mi("exec-step", selects=False)
def exec_step(call: MiCall) -> Answer:
    """A line, into calls."""
    count, reverse = _steps(call)
    _select(call)
    if reverse:
        return back(call.bridge, lambda s: s.reverse_step_line(count))
    return resume(call.bridge, lambda s: s.step_line(count), STEP_END)


@mi("exec-next", selects=False)
def exec_next(call: MiCall) -> Answer:
    """A line, over calls."""
    count, reverse = _steps(call)
    _select(call)
    if reverse:
        return back(call.bridge, lambda s: s.reverse_step_line(count, over=True))
    return resume(call.bridge, lambda s: s.step_line(count, over=True), STEP_END)


@mi("exec-step-instruction", selects=False)
def exec_stepi(call: MiCall) -> Answer:
    """An instruction."""
    count, reverse = _steps(call)
    _select(call)
    if reverse:
        return back(call.bridge, lambda s: s.reverse_step(count))
    return resume(call.bridge, lambda s: s.step(count), STEP_END)


@mi("exec-next-instruction", selects=False)
def exec_nexti(call: MiCall) -> Answer:
    """An instruction, over calls."""
    count, reverse = _steps(call)
    _select(call)
    if reverse:
        return back(call.bridge, lambda s: s.reverse_next(count))
    return resume(call.bridge, lambda s: s.step(count, over=True), STEP_END)


def finish(bridge: Bridge) -> Answer:
    """Run to the caller of the selected frame."""
    from gpudbg.debug import finish_with_value
    from gpudbg.debug.values import frames

    session = bridge.process(NOT_STARTED)
    level = session.frame_level
    frame = frames(session)[level]
    if frame.own:
        raise MiError(OUTERMOST)

    def work(here: DebugSession) -> Stop:
        stop, bridge.finished_value = finish_with_value(here, level)
        return stop

    return resume(bridge, work, "function-finished")


def reverse_finish(bridge: Bridge) -> Answer:
    """Go back to the call of the present function.

    Raises:
        MiError: it is the kernel itself.
    """
    from gpudbg.debug.values import frames

    bridge.revive()
    session = bridge.process(NOT_STARTED)
    if session.focus is not None and frames(session)[0].own:
        raise MiError(OUTERMOST)
    return back(bridge, lambda s: s.reverse_finish())


@mi("exec-finish", selects=False)
def exec_finish(call: MiCall) -> Answer:
    """Out of the function."""
    opts = take_options(call.name, call.words, flags="--reverse")
    _select(call)
    if _is_back(call, opts.has("--reverse")):
        return reverse_finish(call.bridge)
    if call.frame is not None:
        call.bridge.process(NOT_STARTED).frame_level = call.frame
    return finish(call.bridge)


def until(bridge: Bridge, location: str | None) -> Answer:
    """Run to a place, or past the line."""
    session = bridge.process(NOT_STARTED)
    if location is not None:
        session.symbols.resolve(location, session.origin())
    done = "location-reached" if location is not None else STEP_END
    return resume(bridge, lambda s: s.until(location), done)


@mi("exec-until", "exec-advance", selects=False)
def exec_until(call: MiCall) -> Answer:
    """To a place."""
    opts = take_options(call.name, call.words, flags="--reverse")
    _select(call)
    location = " ".join(opts.rest) or None
    if _is_back(call, opts.has("--reverse")):
        return back(call.bridge, lambda s: s.reverse_until(location))
    return until(call.bridge, location)


_BACKWARDS = {
    "exec-reverse-continue": exec_continue,
    "exec-reverse-step": exec_step,
    "exec-reverse-next": exec_next,
    "exec-reverse-step-instruction": exec_stepi,
    "exec-reverse-stepi": exec_stepi,
    "exec-reverse-next-instruction": exec_nexti,
    "exec-reverse-nexti": exec_nexti,
    "exec-reverse-finish": exec_finish,
    "exec-reverse-until": exec_until,
}
"""Names of their own for what `--reverse` does; gdb has the option alone."""


def _reversed(handler: Handler) -> Handler:
    return lambda call: handler(replace(call, words=["--reverse", *call.words]))


for _name, _handler in _BACKWARDS.items():
    mi(_name, selects=False)(_reversed(_handler))


@mi("exec-jump", selects=False)
def exec_jump(call: MiCall) -> Answer:
    """Go on somewhere else."""
    _select(call)
    if not call.words:
        raise MiError("-exec-jump: Argument required (starting address).")
    session = call.bridge.process(NOT_STARTED)
    session.jump(" ".join(call.words))
    return go(call.bridge)


@mi("exec-return", selects=False)
def exec_return(call: MiCall) -> dict[str, Any]:
    """Leave the selected frame's function; the caller's frame."""
    _select(call)
    session = call.bridge.process("No selected frame.")
    session.leave_function(" ".join(call.words))
    call.bridge.mark_selection()
    return {"frame": frame_fields(session, selected_frame(session), args=True)}


@mi("exec-interrupt", running="ok")
def exec_interrupt(call: MiCall) -> None:
    """Stop the program; nothing when it does not run."""
    call.bridge.interrupt()


@mi("exec-arguments", running="ok")
def exec_arguments(call: MiCall) -> None:
    """Launch flags of the next run."""
    set_arguments(call.bridge, call.text)


@mi("exec-show-arguments", running="ok")
def exec_show_arguments(call: MiCall) -> dict[str, str]:
    """Launch flags."""
    return {"args": " ".join(call.bridge.arguments)}
