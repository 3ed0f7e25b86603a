"""Checks of a session's launch: run from its beginning, to which it goes back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpudbg.sanitizer.launch_plan import LaunchPlan
from gpudbg.sanitizer.report import CheckReport
from gpudbg.sanitizer.run import check_plan
from gpudbg.sanitizer.settings import DEFAULTS, CheckSettings

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


def check_session(session: DebugSession, names: Sequence[str] = ()) -> CheckReport:
    """Run a session's launch from its beginning with checks; then it stands there again.

    Args:
        names: of the checks; none: those that run by default.

    >>> report = gpudbg.check_session(session, ("race",))
    >>> report.status, session.tick
    ('clean', 0)
    """

    def begin(_: Any) -> DebugSession:
        session.restart()
        return session

    settings = CheckSettings(checks=tuple(names) or DEFAULTS.checks)
    report = check_plan(LaunchPlan(session.launch.loaded, [begin], owned=False), settings)
    session.restart()
    return report
