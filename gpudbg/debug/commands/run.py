"""Running and stepping: run, start, continue, stepi, nexti, until, finish, kill."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpudbg.answers import Card, Notice
from gpudbg.dataclass import dataclass
from gpudbg.debug.commands.launch import plan
from gpudbg.debug.commands.table import command
from gpudbg.debug.displays import DisplayedValue
from gpudbg.debug.finishing import finish_with_value
from gpudbg.debug.registry import quoted_words
from gpudbg.debug.settings import SCOPES
from gpudbg.debug.stops.stop import BreakpointStop, Stop
from gpudbg.debug.views.format import parse_int
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.debug.stops.cards import StopCard


@dataclass(frozen=True, slots=True)
class StopReport:
    """A stop as the console announces it: what breakpoints printed, the card, the displays."""

    stop: Stop
    printed: tuple[str, ...]
    card: StopCard | None = None
    displays: tuple[DisplayedValue, ...] = ()
    returned: str = ""

    def lines(self) -> list[str]:
        """The stop for people."""
        card = self.card.lines() if self.card is not None else []
        result = [f"Value returned is {self.returned}"] if self.returned else []
        return [
            *self.printed,
            *card,
            *result,
            *(t for shown in self.displays for t in shown.lines()),
        ]

    def to_json(self) -> dict[str, Any]:
        """The stop."""
        return self.stop.to_json()


def stop_answer(session: DebugSession, stop: Stop) -> Card:
    """The stop, its card and the displays; the card is left out where commands are silent."""
    from gpudbg.debug.stops.cards import StopCard

    report = StopReport(stop, tuple(session.breakpoints.take_printed()))
    if not (session.scripting.silent and isinstance(stop, BreakpointStop)):
        card, shown = StopCard.of(session, stop), session.displays.shown()
        report = replace(report, card=card, displays=shown)
    return Card(report, StopReport.lines)


@command(
    "run",
    "r",
    help="start the kernel from the beginning and run it",
    group="running",
    usage="run [FLAGS]",
    details="Device memory is set back to what the launch gave it first.\n"
    "FLAGS are those of the command line (--kernel, --grid, --block, --arg NAME=VALUE); they are\n"
    "laid over what was given so far, and stay.  `set args` replaces all of them.",
)
def run(session: DebugSession, argument: str) -> Card:
    """Restart when the launch has moved, then run."""
    plan(session, quoted_words(argument))
    entry = session.restart()
    if session.settings.shown("cuda break_on_launch") in ("application", "all"):
        return stop_answer(session, entry)
    return stop_answer(session, session.cont())


@command(
    "start",
    "starti",
    usage="start [FLAGS]",
    help="start the kernel and stop at its first instruction",
    group="running",
    details="FLAGS as of `run`.",
)
def start(session: DebugSession, argument: str) -> Card:
    """Restart and stay at the entry."""
    plan(session, quoted_words(argument))
    return stop_answer(session, session.restart())


@command(
    "continue",
    "c",
    "fg",
    usage="continue [N]",
    help="run until something stops the machine",
    group="running",
    needs="stopped",
    repeats=True,
    details="With N, the breakpoint just met is ignored N-1 times.",
)
def continue_(session: DebugSession, argument: str) -> Card:
    """Run on from the stop."""
    if argument:
        session.breakpoints.ignore_current(session.stop, parse_int(argument, "count") - 1)
    return stop_answer(session, session.cont())


@command(
    "jump",
    "j",
    usage="jump LOCATION",
    help="run on from another instruction of the focused warp's function",
    group="running",
    needs="stopped",
    completer=lambda s, text: s.symbols.complete_location(text),
)
def jump(session: DebugSession, argument: str) -> Card:
    """Move the focused warp, then run on."""
    if not argument.strip():
        raise CommandError("Argument required (starting address).", "jump LOCATION")
    session.jump(argument.strip())
    return stop_answer(session, session.cont())


def _step(session: DebugSession, argument: str, over: bool) -> Card:
    words = argument.split()
    scope = None
    if words and words[-1] in SCOPES:
        scope = words.pop()
    count = parse_int(words.pop(0), "count") if words else 1
    if words or count < 1:
        raise CommandError(f"'{argument}' is not understood", "stepi [COUNT] [warp|cta|sm|all]")
    return stop_answer(session, session.step(count, scope=scope, over=over))


@command(
    "stepi",
    "si",
    usage="stepi [N] [warp|cta|sm|all]",
    help="execute one instruction of the focused warp (or of every warp of its CTA, SM, or all)",
    group="running",
    needs="stopped",
    repeats=True,
)
def stepi(session: DebugSession, argument: str) -> Card:
    """Step instructions."""
    return _step(session, argument, over=False)


@command(
    "nexti",
    "ni",
    usage="nexti [N] [warp|cta|sm|all]",
    help="like stepi, but a call runs until it returns",
    group="running",
    needs="stopped",
    repeats=True,
)
def nexti(session: DebugSession, argument: str) -> Card:
    """Step over calls."""
    return _step(session, argument, over=True)


@command(
    "step",
    "s",
    usage="step [N]",
    group="running",
    needs="stopped",
    repeats=True,
    help="run the focused warp to another source line (an instruction where there are none)",
)
def step(session: DebugSession, argument: str) -> Card:
    """Step source lines."""
    count = parse_int(argument, "count") if argument else 1
    return stop_answer(session, session.step_line(count))


@command(
    "next",
    "n",
    usage="next [N]",
    group="running",
    needs="stopped",
    repeats=True,
    help="like step, but a call runs until it returns",
)
def next_(session: DebugSession, argument: str) -> Card:
    """Step source lines over calls."""
    count = parse_int(argument, "count") if argument else 1
    return stop_answer(session, session.step_line(count, over=True))


@command(
    "until",
    "u",
    "advance",
    usage="until [LOCATION]",
    group="running",
    needs="stopped",
    repeats=True,
    help="run the focused warp to a location, or past the end of this loop",
)
def until(session: DebugSession, argument: str) -> Card:
    """Run to a place."""
    return stop_answer(session, session.until(argument or None))


@command(
    "finish",
    "fin",
    help="run until the focused warp returns from its function",
    group="running",
    needs="stopped",
)
def finish(session: DebugSession, argument: str) -> Card:
    """Run to the caller."""
    stop, value = finish_with_value(session, session.frame_level)
    answer = stop_answer(session, stop)
    if value is None:
        return answer
    return Card(replace(answer.record, returned=value.words), StopReport.lines)


@command("kill", "k", help="end the launch; `run` starts it again", group="running")
def kill(session: DebugSession, argument: str) -> Notice:
    """Abandon the launch."""
    session.kill()
    return Notice("the launch was ended; `run` starts it again")
