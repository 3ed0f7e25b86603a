"""Checks of a run by name: observers that collect findings.

check = session.check("hazards")     # from now on
session.run()
check.findings                       # frozen data; each has .lines() and .to_json()
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


class ReportedFinding(Protocol):
    """What every check's findings can do."""

    def lines(self) -> list[str]:
        """The finding as text."""

    def to_json(self) -> dict[str, Any]:
        """The finding as plain data."""


class Check(Protocol):
    """An observer with findings."""

    @property
    def findings(self) -> Sequence[ReportedFinding]:
        """What was found so far."""


@dataclass(frozen=True, slots=True)
class CheckKind:
    """A check: where its observer class is, and what it looks for."""

    module: str
    observer: str
    help: str


CHECKS: dict[str, CheckKind] = {
    "hazards": CheckKind(
        "gpudbg.analysis.hazards",
        "HazardObserver",
        "control words: results read before stall counts or scoreboards allow it",
    ),
}
"""Name -> check.  Observer classes take the session's code image."""


def attach(session: DebugSession, name: str) -> Any:
    """Start a check; the same object when it is running already.

    Raises:
        CommandError: no check of that name.
    """
    kind = CHECKS.get(name)
    if kind is None:
        near = difflib.get_close_matches(name, CHECKS, n=1)
        hint = f"did you mean {near[0]}?" if near else "checks: " + ", ".join(CHECKS)
        raise CommandError(f"no check {name!r}", hint)
    if name not in session.checks:
        make = getattr(import_module(kind.module), kind.observer)
        session.checks[name] = make(session.launch.image)
        session.subscribe(session.checks[name])
    return session.checks[name]


def detach(session: DebugSession, name: str) -> None:
    """Stop a check and forget its findings."""
    observer = session.checks.pop(name, None)
    if observer is not None:
        session.unsubscribe(observer)


def report(name: str, check: Check) -> list[str]:
    """A check's findings as text, with a heading."""
    if not check.findings:
        return [f"{name}: no findings"]
    count = len(check.findings)
    out = [f"{name}: {count} finding{'s' if count != 1 else ''}"]
    for finding in check.findings:
        out += ["", *finding.lines()]
    return out
