"""A stop's noun phrase and colour role, the same in the stop line, the stops pane and History."""

from __future__ import annotations

from typing import Final

from gpudbg.debug.stops import (
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
    title,
)

WORDS: Final[dict[type[Stop], tuple[str, str]]] = {
    ExitStop: ("Finished", "run"),
    BreakpointStop: ("Breakpoint", "now"),
    WatchpointStop: ("Watchpoint", "now"),
    StepStop: ("Step", "now"),
    EntryStop: ("Entry", "now"),
    FaultStop: ("Fault", "stop"),
    TrapStop: ("Trap", "stop"),
    DeadlockStop: ("Deadlock", "stop"),
    LimitStop: ("Limit", "now"),
    InterruptStop: ("Interrupted", "now"),
    OpenedStop: ("Not launched", "now"),
}
"""Stop -> noun phrase, and its colour role."""


def name_of(stop: Stop) -> str:
    """`Breakpoint`, or what the first error is."""
    return title(stop.errors[0]) if stop.errors else WORDS[type(stop)][0]


def role_of(stop: Stop) -> str:
    """The colour role of the stop line."""
    return WORDS[type(stop)][1]


def single_step(stop: Stop) -> bool:
    """Whether it is a step that lists fold away: the entry is none."""
    return isinstance(stop, StepStop) and not isinstance(stop, EntryStop)
