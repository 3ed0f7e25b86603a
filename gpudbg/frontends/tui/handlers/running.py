"""Run to a stop, by steps, to the cursor, from the start; interrupt; open the launch form."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gpudbg.debug.stops import StepStop
from gpudbg.frontends.tui.handlers import HANDLERS, STEPS, handles
from gpudbg.frontends.tui.handlers.breakpoints import cursor_pc, place_of
from gpudbg.frontends.tui.widgets.console import ConsolePane

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.frontends.tui.screens.main import MainScreen


def _runs(name: str, label: str, line: str) -> None:
    """Enter a handler that carries out a running command in the engine thread."""

    def run(screen: MainScreen) -> None:
        screen.query_one(ConsolePane).log_command(line)
        screen.run_job(label, lambda session: session.command(line))

    HANDLERS[name] = run


for _name, _label, _line in (
    ("continue", "Running", "continue"),
    ("finish", "Finishing the call", "finish"),
    ("until", "Past the loop", "until"),
    ("back_stepi", "An instruction back", "reverse-stepi"),
    ("back_next", "A line back", "reverse-next"),
    ("back_continue", "Running back", "reverse-continue"),
    ("back_finish", "Back to the call", "reverse-finish"),
    ("back_until", "Back to before the loop", "reverse-until"),
    ("restart", "Starting", "start"),
):
    _runs(_name, _label, _line)

HELD_S = 0.5
"""Seconds without a repeat after which a held key counts as released."""
PRESSED = 8
"""Presses up to which each is one step, however long the steps take."""


def steps(session: DebugSession, line: str, count: int, last: float) -> None:
    """Carry out `count` steps and make one picture at the end; stops early at any stop that is no
    end of a step.

    Args:
        session: the machine.
        line: the command of one step.
        count: presses of its key.
        last: when the last one came (`time.monotonic`): a machine slower than the key repeats
            ends soon after the key is released.
    """
    for done in range(count):
        if done >= PRESSED and time.monotonic() > last + HELD_S:
            return
        session.command(line)
        if not isinstance(session.stop, StepStop):
            return


def _steps(name: str) -> None:
    """Enter a handler that steps once for every press of its key in the queue."""

    def run(screen: MainScreen) -> None:
        pressed = screen.gpudbg.pressed
        keys = [pressed, *screen.gpudbg.inputs.take_repeats(pressed)] if pressed else []
        count, last = max(len(keys), 1), keys[-1].time if keys else time.monotonic()
        screen.run_job(STEPS[name], lambda session: steps(session, name, count, last))

    HANDLERS[name] = run


for _name in STEPS:
    _steps(_name)


@handles("launch")
def launch_form(screen: MainScreen) -> None:
    """Open the launch form; a launch that it starts stops at the kernel's entry."""
    from gpudbg.frontends.tui.screens.launch import LaunchScreen

    def answered(begin: bool | None) -> None:
        if begin:
            HANDLERS["restart"](screen)

    form = LaunchScreen(screen.session, lambda: screen.quick(lambda session: None))
    screen.app.push_screen(form, answered)


@handles("cursor")
def run_to_cursor(screen: MainScreen) -> None:
    """A temporary breakpoint at the cursor's row, and run."""
    pc = cursor_pc(screen)
    if pc is None:
        return
    line = f"until {place_of(screen, pc)}"
    screen.query_one(ConsolePane).log_command(line)
    screen.run_job("To the cursor", lambda session: session.command(line))


@handles("back_cursor")
def run_back_to_cursor(screen: MainScreen) -> None:
    """Run backwards to the last tick at which the warp stood at the cursor's row."""
    pc = cursor_pc(screen)
    if pc is None:
        return
    line = f"reverse-until {place_of(screen, pc)}"
    screen.query_one(ConsolePane).log_command(line)
    screen.run_job("Back to the cursor", lambda session: session.command(line))


@handles("interrupt")
def interrupt(screen: MainScreen) -> None:
    """Interrupt what runs; at rest, name the key that quits."""
    if screen.engine.busy:
        screen.engine.interrupt()
    else:
        screen.note("nothing runs; q quits", "muted")
