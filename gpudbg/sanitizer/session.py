"""Checks of a session's launch: run from its beginning, to which it goes back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpudbg.sanitizer.findings import DEFAULT_CHECKS
from gpudbg.sanitizer.report import CheckReport
from gpudbg.sanitizer.run import check_plan

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


def check_session(session: DebugSession, names: Sequence[str] = ()) -> CheckReport:
    """Run a session's launch from its beginning with checks; then it stands there again.

    Args:
        names: of the checks; none: those that run by default.
    """

    def begin(_: Any) -> DebugSession:
        session.restart()
        return session

    report = check_plan(
        session.launch.loaded, [begin], checks=tuple(names) or DEFAULT_CHECKS, owned=False
    )
    session.restart()
    return report
