"""Breakpoints: break, tbreak, delete, disable, enable, condition, ignore, info breakpoints."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpudbg.answers import Notice, Table
from gpudbg.debug.breakpoints.rows import BreakpointRow, breakpoint_row, located_row
from gpudbg.debug.commands.engine import stepped_now
from gpudbg.debug.commands.table import command
from gpudbg.debug.values.evaluation import check_names
from gpudbg.debug.views import gdb_text
from gpudbg.debug.views.format import parse_int
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.breakpoints.table import Breakpoint
    from gpudbg.debug.breakpoints.watched import Watch, WatchKind
    from gpudbg.debug.session import DebugSession

LOCATIONS = """\
LOCATION is one of
  KERNEL            the kernel's entry            KERNEL+0x48   an instruction of it
  *0x48             an address of this kernel     FILE:LINE, LINE   a source line
  +0x10             relative to the focused pc    FILE:FUNCTION  a function of a file
  FUNCTION, ns::f, f(int), f<4>   a device function: every overload, instantiation and inlined
                    copy that the name means, as locations 1.1, 1.2, … of one breakpoint
  -function F -source FILE -line N -qualified   the same in parts, as gdb writes them
The condition is an expression; it is tested in every active lane of every warp that arrives,
and the first lane for which it holds gets the focus:  break saxpy+0x48 if $R4 > 3
  blockIdx.x == 1 && threadIdx.x == 5    $lane == 3    $warp == 0 && $P0"""


def _add(session: DebugSession, argument: str, temporary: bool) -> Notice:
    location, _, condition = argument.partition(" if ")
    if argument.startswith("if "):
        location, condition = "", argument[3:]
    point = session.break_at(
        location.strip() or None,
        condition=condition.strip() or None,
        temporary=temporary,
        pending=session.settings.shown("breakpoint pending") == "on",
    )
    return Notice(gdb_text.announcement(session, point), breakpoint_row(point))


@command(
    "break",
    "b",
    "br",
    "hbreak",
    usage="break [LOCATION] [if CONDITION]",
    help="stop at a location",
    group="breakpoints",
    details=LOCATIONS,
    completer=lambda s, text: s.symbols.complete_location(text),
)
def break_(session: DebugSession, argument: str) -> Notice:
    """Set a breakpoint."""
    return _add(session, argument, temporary=False)


@command(
    "tbreak",
    "tb",
    "thbreak",
    usage="tbreak [LOCATION] [if CONDITION]",
    help="stop at a location once",
    group="breakpoints",
    details=LOCATIONS,
    completer=lambda s, text: s.symbols.complete_location(text),
)
def tbreak(session: DebugSession, argument: str) -> Notice:
    """Set a temporary breakpoint."""
    return _add(session, argument, temporary=True)


@command(
    "dprintf",
    usage='dprintf LOCATION, "FORMAT", EXPRESSION, …',
    help="print at a location and go on",
    group="breakpoints",
    details="Values are those of the first lane of each warp that arrives (`condition` chooses).",
)
def dprintf(session: DebugSession, argument: str) -> Notice:
    """Set a breakpoint that prints."""
    location, comma, text = argument.partition(",")
    if not comma or not text.strip().startswith('"'):
        raise CommandError("Format string required", 'dprintf LOCATION, "FORMAT", EXPRESSION, …')
    point = session.break_at(location.strip() or None)
    point.dprintf = text.strip()
    words = gdb_text.announcement(session, point).replace("Breakpoint", "Dprintf", 1)
    return Notice(words, breakpoint_row(point))


WATCHES = """\
EXPRESSION names a place: bins[3], *(@shared int*)0x20, a variable, $R4, $P0 or CC of the focused
lane, a constant c[0x0][0x148], a special register %tid.x or SR_TID.X.
  watch    stop when it changes      rwatch   when it is read      awatch   read or written
  watch -store …   at each write, of the same value too
  watch -l …       the place, for good: one on variables of a function ends, with a stop, when
                   that returns
The stop is after the instruction that touched it, with the focus on the lane that did.
What cannot touch the place runs compiled; `info watchpoints` says what each one costs."""


def _watch(session: DebugSession, argument: str, kind: WatchKind) -> Notice:
    expression, _, condition = argument.partition(" if ")
    expression, stays = expression.strip(), False
    while (word := expression.partition(" ")[0]) in ("-l", "-location", "-store"):
        if word == "-store" and kind != "write":
            break
        expression = expression.removeprefix(word).strip()
        stays, kind = stays or word != "-store", "store" if word == "-store" else kind
    if not expression:
        raise CommandError("an expression is missing", "watch bins[3]")
    point = session.watch_at(expression, kind, condition=condition.strip() or None, stays=stays)
    return Notice(point.announce(), breakpoint_row(point))


def _watch_command(name: str, kind: WatchKind, help_: str) -> None:
    @command(
        name,
        usage=f"{name} {'[-store] ' if kind == 'write' else ''}EXPRESSION [if CONDITION]",
        help=help_,
        group="breakpoints",
        needs="stopped",
        details=WATCHES,
        completer=lambda s, text: s.complete_expression(text),
    )
    def handler(session: DebugSession, argument: str) -> Notice:
        return _watch(session, argument, kind)


_watch_command("watch", "write", "stop where memory or a register changes")
_watch_command("rwatch", "read", "stop where memory, a register or a constant is read")
_watch_command("awatch", "access", "stop where memory or a register is read or written")


def _numbers(session: DebugSession, argument: str) -> list[int]:
    """Numbers of a list like `1 3-5`; all when empty."""
    if not argument:
        return [b.number for b in session.breakpoints]
    return session.breakpoints.numbers(argument, session.integer)


def _number(session: DebugSession, word: str) -> int:
    """One number."""
    numbers = _numbers(session, word)
    if len(numbers) != 1:
        raise CommandError(f"{word!r} is not the number of one breakpoint")
    return numbers[0]


@command(
    "delete",
    "d",
    "delete breakpoints",
    usage="delete [N …]",
    help="remove breakpoints (all without numbers)",
    group="breakpoints",
    needs="nothing",
)
def delete(session: DebugSession, argument: str) -> Notice:
    """Remove breakpoints."""
    numbers = _numbers(session, argument)
    for number in numbers:
        session.breakpoints.remove(number)
    return _quietly(session, f"{len(numbers)} deleted", numbers)


def _quietly(session: DebugSession, words: str, data: object) -> Notice:
    """The answer of a command for which gdb prints nothing."""
    return Notice("" if gdb_text.wanted(session) else words, data)


@command(
    "clear",
    usage="clear LOCATION",
    help="remove the breakpoints at a location",
    group="breakpoints",
)
def clear(session: DebugSession, argument: str) -> Notice:
    """Remove breakpoints by place."""
    addresses = set(session.symbols.resolve(argument or None, session.origin()).addresses)
    hit = [b.number for b in session.breakpoints if addresses & set(b.addresses)]
    if not hit:
        raise CommandError(f"No breakpoint at {argument or 'this line'}.")
    for number in hit:
        session.breakpoints.remove(number)
    word = "breakpoint" if len(hit) == 1 else "breakpoints"
    return Notice(f"Deleted {word} {' '.join(map(str, hit))} ", hit)


def _enable(session: DebugSession, argument: str, on: bool) -> Notice:
    words = argument.split()
    places = [w.partition(".")[::2] for w in words if "." in w]
    for row, place in places:
        session.breakpoints.enable_place(
            parse_int(row, "breakpoint number"), parse_int(place, "location number"), on
        )
    if places:
        argument = " ".join(w for w in words if "." not in w)
        if not argument:
            return _quietly(session, f"{'enabled' if on else 'disabled'} {' '.join(words)}", words)
    numbers = _numbers(session, argument)
    for number in numbers:
        session.breakpoints.enable(number, on)
    word = "enabled" if on else "disabled"
    return _quietly(session, f"{word} {', '.join(map(str, numbers)) or 'nothing'}", numbers)


@command(
    "disable",
    "dis",
    "disable breakpoints",
    usage="disable [N | N.PLACE …]",
    help="keep breakpoints but ignore them",
    group="breakpoints",
    needs="nothing",
)
def disable(session: DebugSession, argument: str) -> Notice:
    """Switch breakpoints off."""
    return _enable(session, argument, False)


@command(
    "enable",
    "en",
    "enable breakpoints",
    usage="enable [N | N.PLACE …]",
    help="switch breakpoints on again",
    group="breakpoints",
    needs="nothing",
)
def enable(session: DebugSession, argument: str) -> Notice:
    """Switch breakpoints on."""
    return _enable(session, argument, True)


@command(
    "condition",
    "cond",
    usage="condition N [EXPRESSION]",
    help="make a breakpoint conditional (or unconditional)",
    group="breakpoints",
    needs="nothing",
)
def condition(session: DebugSession, argument: str) -> Notice:
    """Set or drop a condition."""
    number, _, text = argument.partition(" ")
    if not number:
        raise CommandError("a breakpoint number is missing", "condition N EXPRESSION")
    if text.strip():
        check_names(session, text)
    point = session.breakpoints.set_condition(_number(session, number), text.strip() or None)
    if not text.strip():
        return Notice(f"Breakpoint {point.number} now unconditional.", breakpoint_row(point))
    return _quietly(session, point.announce(), breakpoint_row(point))


@command(
    "ignore",
    usage="ignore N COUNT",
    help="pass a breakpoint COUNT times",
    group="breakpoints",
    needs="nothing",
)
def ignore(session: DebugSession, argument: str) -> Notice:
    """Set the ignore count."""
    words = argument.split()
    if len(words) != 2:
        raise CommandError("two numbers are needed", "ignore N COUNT")
    number, count = _number(session, words[0]), parse_int(words[1])
    point = session.breakpoints.set_ignore(number, count)
    if point.ignore:
        crossings = "crossing" if point.ignore == 1 else f"{point.ignore} crossings"
        text = f"Will ignore next {crossings} of breakpoint {number}."
    else:
        text = f"Will stop next time breakpoint {number} is reached."
    return Notice(text, breakpoint_row(point))


@command(
    "info breakpoints",
    "info b",
    "info br",
    "info bre",
    "info break",
    help="breakpoints with addresses, conditions and hits",
    group="breakpoints",
    needs="nothing",
)
def info_breakpoints(session: DebugSession, argument: str) -> Table:
    """List breakpoints."""
    return Table(
        BreakpointRow,
        tuple(located_row(session, point) for point in session.breakpoints),
        empty="no breakpoints; `break LOCATION` sets one",
        below=BreakpointRow.below,
    )


@command(
    "info watchpoints",
    help="watchpoints alone, and what each costs a run",
    group="breakpoints",
    needs="nothing",
)
def info_watchpoints(session: DebugSession, argument: str) -> Table:
    """List watchpoints."""
    rows = tuple(
        replace(located_row(session, point), cost=_cost(session, point, point.watch))
        for point in session.breakpoints
        if point.watch is not None
    )
    return Table(
        BreakpointRow,
        rows,
        empty="No watchpoints.",
        below=BreakpointRow.below,
    )


def _cost(session: DebugSession, point: Breakpoint, watch: Watch) -> str:
    """How runs observe a watchpoint, in words."""
    if not point.enabled:
        return "disabled: costs nothing"
    if session.launched and session.grid.fast is None:
        return "the step engine runs everything: `engine` is step"
    stepped = stepped_now(session.grid) if session.launched else ""
    if stepped:
        return f"the step engine runs everything: {stepped}"
    return watch.cost
