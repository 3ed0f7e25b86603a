"""A stop in one line: what it is and where, for lists and for the line above panes."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from gpudbg.dataclass import dataclass
from gpudbg.debug.breakpoints.watched import line_of
from gpudbg.debug.launched import launch_shape, run_counts
from gpudbg.debug.stops.fault_cards import title as title_of
from gpudbg.debug.stops.spinning import hangs
from gpudbg.debug.stops.standing import standing_pc
from gpudbg.debug.stops.stop import (
    CUT_SHORT,
    BreakpointStop,
    DeadlockStop,
    EntryStop,
    ExitStop,
    FaultStop,
    InterruptStop,
    LimitStop,
    OpenedStop,
    StepStop,
    Stop,
    TrapStop,
    WatchpointStop,
)

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

NAMES: Final[dict[type[Stop], str]] = {
    ExitStop: "Finished",
    BreakpointStop: "Breakpoint",
    WatchpointStop: "Watchpoint",
    StepStop: "Step",
    EntryStop: "Entry",
    FaultStop: "Fault",
    TrapStop: "Trap",
    DeadlockStop: "Deadlock",
    LimitStop: "Limit",
    InterruptStop: "Interrupted",
    OpenedStop: "Not launched",
}
"""Stop -> noun phrase."""


@dataclass(frozen=True, slots=True)
class Headline:
    """A stop in one line.

    Attributes:
        title: what it is.
        where: the place in the code; empty where it has none.
        line: the source line; empty where it has none.
        hangs: warps were found to wait in vain where a run was cut short.
    """

    title: str
    where: str = ""
    line: str = ""
    hangs: bool = False


def name_of(stop: Stop) -> str:
    """`Breakpoint`, or what the first error is."""
    return title_of(stop.errors[0]) if stop.errors else NAMES[type(stop)]


def headline(s: DebugSession, stop: Stop) -> Headline:
    """What a stop's line says, as the focus stands."""
    title, hanging = name_of(stop), False
    if isinstance(stop, WatchpointStop):
        title = "; ".join(line_of(trigger) for trigger in stop.watch)
    elif isinstance(stop, BreakpointStop) and stop.breakpoints:
        title += " " + ", ".join(map(str, stop.breakpoints))
        title += f", {stop.arrived_warps} warps" if stop.arrived_warps > 1 else ""
    elif isinstance(stop, CUT_SHORT) and not stop.errors and hangs(s):
        title, hanging = f"{title} in a hang", True
    elif isinstance(stop, ExitStop) and not stop.errors:
        counts = run_counts(s)
        title = f"Finished, {counts.done:,} of {counts.done + counts.waiting:,} CTAs, no faults"
    if stop.pc is None:
        return Headline(title, hangs=hanging)
    pc = s.symbols.pc(stop.pc)
    focus = s.focus
    elsewhere = focus is not None and (focus.sm, focus.warp) != (stop.sm, stop.warp)
    if focus is not None and stop.warp is not None and elsewhere:
        # The line names the focused warp: show that warp's place.
        here = standing_pc(s, s.warp().state)
        if not (here == pc and _gathered(s, stop)):
            sm = f" on SM {stop.sm}" if launch_shape(s).sms > 1 and focus.sm != stop.sm else ""
            title = f"{title} (of warp {stop.warp}{sm})"
        pc = here
    line = s.symbols.line(pc)
    shown = str(line) if line else ""
    if stop.file is not None and pc == s.symbols.pc(stop.pc):
        # The stop's own place: it leaves out inlined calls not entered yet.
        shown = f"{PurePath(stop.file).name}:{stop.line}"
    return Headline(title, s.symbols.describe(pc), shown, hanging)


def _gathered(s: DebugSession, stop: Stop) -> bool:
    """Whether a stop is that of every warp that stands where it is."""
    points = {b.number: b for b in s.breakpoints}
    met = [points.get(number) for number in stop.breakpoints]
    plain = all(b is not None and not b.condition for b in met)
    return isinstance(stop, BreakpointStop) and stop.arrived_warps > 1 and plain
