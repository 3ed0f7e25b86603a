"""What the kernel run and an engine that runs many warps agree on.

The kernel run calls `advance` again and again.  The engine runs warps by the schedule of the launch
until something needs attention, and returns what that is; it makes no call to its caller.  Before
the kernel run does anything else with the launch it calls `suspend`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import Enum
from typing import Protocol

from gpudbg.dataclass import dataclass
from gpudbg.isa.spa5.insn import Instruction
from gpudbg.sm.conditions import Conditions
from gpudbg.sm.state import WarpState


@dataclass(frozen=True, slots=True)
class Request:
    """Where a run is to stop.

    Attributes:
        stops: breakpoint addresses.
        conditions: of a breakpoint's pc, the condition under which it stops a warp.
        last: instructions of the launch at which to stop, or None.
        soon: instructions of the launch at which to hand over at the end of a turn, or None.
    """

    stops: frozenset[int] = frozenset()
    conditions: Conditions | None = None
    last: int | None = None
    soon: int | None = None


class Pause(Enum):
    """Why an engine returned, where no warp needs attention."""

    HAND_OVER = "the step engine takes the next turn"
    """Why: near a limit, no warp ready, or no compiled code."""
    FINISHED = "every CTA has ended"
    TICK = "some time has passed"
    """Time to look for interrupts and to report progress."""
    VACANT = "CTAs may begin where there is room"
    """CTAs that a host thread had taken were given back."""


@dataclass(frozen=True, slots=True)
class WarpExited:
    """A warp has exited; its barriers, its CTA and observers are to be updated."""

    warp: WarpState


@dataclass(frozen=True, slots=True)
class AtBreakpoint:
    """A warp stands at a breakpoint's address; calling `advance` again lets it go on."""

    warp: WarpState


@dataclass(frozen=True, slots=True)
class NeedsStep:
    """A warp stands before instructions for the step engine, which it executes before `advance` is
    called again; the schedule's turn is the warp's."""

    warp: WarpState
    count: int


ExitReason = Pause | WarpExited | AtBreakpoint | NeedsStep


@dataclass(frozen=True, slots=True)
class EngineReport:
    """How an engine has run a launch so far.

    Attributes:
        code: instructions it has compiled, by address.
        seconds: spent compiling.
        slow: instructions without a compiled version, address to reason.
        exits: pc of an instruction that compiled code was left for -> how often.
    """

    code: Mapping[int, Instruction]
    seconds: float
    slow: Mapping[int, str]
    exits: Counter[int]


class WarpEngine(Protocol):
    """An engine that runs all warps of a launch."""

    trouble: str
    """Why there is no compiled code, or ""."""

    def report(self) -> EngineReport | None:
        """Statistics of the launch in compiled code; None where nothing is compiled."""

    def waits(self) -> str:
        """In words: why nothing is compiled where nothing is wrong."""

    def compiling(self) -> bool:
        """Whether it is worth waiting for code; waits for a moment itself."""

    def ready(self) -> bool:
        """Whether there is compiled code; makes it now where that was decided."""

    def advance(self, request: Request) -> ExitReason:
        """Run warps until something needs attention."""

    def suspend(self) -> list[WarpState]:
        """Write everything back to the launch's state. Returns warps whose exit is unreported."""

    def ask_to_stop(self) -> None:
        """Have `advance` return soon; safe from any thread."""

    def renew(self) -> None:
        """Drop code: the launch's code was changed before anything ran."""

    def again(self) -> WarpEngine:
        """A new engine for the same launch after its state was replaced from outside."""

    def dispose(self) -> None:
        """Free what the engine holds: the launch will not run again."""
