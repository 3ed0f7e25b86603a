"""The launches that a check runs, and how each begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from gpudbg.api.programs import LoadedProgram
from gpudbg.dataclass import dataclass
from gpudbg.sanitizer.stopping import CheckStopper

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

Begin = Callable[[LoadedProgram], "DebugSession"]
"""Function that makes the session of one launch."""


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """Launches to check, one after the other.

    Attributes:
        program: what they are launches of.
        begins: functions that begin them.
        given: the arguments of each launch, where they are known.
        overlap: whether each may begin before the one before it has ended.
        started: is given each session before it runs.
        owned: sessions are closed when all is done.
        stopper: ends the check early.
    """

    program: LoadedProgram
    begins: Sequence[Begin]
    given: Sequence[Sequence[object]] = ()
    overlap: Sequence[bool] = ()
    started: Callable[[DebugSession], None] = lambda session: None
    owned: bool = True
    stopper: CheckStopper = field(default_factory=CheckStopper)
