"""A stop's colour role, the same in the stop line, the stops pane and History."""

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
)

ROLES: Final[dict[type[Stop], str]] = {
    ExitStop: "run",
    BreakpointStop: "now",
    WatchpointStop: "now",
    StepStop: "now",
    EntryStop: "now",
    FaultStop: "stop",
    TrapStop: "stop",
    DeadlockStop: "stop",
    LimitStop: "now",
    InterruptStop: "now",
    OpenedStop: "now",
}
"""Stop -> the colour role of its line."""


def role_of(stop: Stop) -> str:
    """The colour role of the stop line."""
    return ROLES[type(stop)]


def single_step(stop: Stop) -> bool:
    """Whether it is a step that lists fold away: the entry is none."""
    return isinstance(stop, StepStop) and not isinstance(stop, EntryStop)
