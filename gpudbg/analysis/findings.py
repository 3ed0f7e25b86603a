"""What the findings of every check can do, and how they are worded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


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


def heading(name: str, check: Check) -> str:
    """How many findings a check has."""
    count = len(check.findings)
    return f"{name}: {count or 'no'} finding{'s' if count != 1 else ''}"


def finding_lines(finding: ReportedFinding) -> list[str]:
    """A finding below others."""
    return ["", *finding.lines()]


def report(name: str, check: Check) -> list[str]:
    """A check's findings as text, with a heading."""
    found = [line for finding in check.findings for line in finding_lines(finding)]
    return [heading(name, check), *found]
