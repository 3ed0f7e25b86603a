"""What the findings of every check can do, and how they are told."""

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


def report(name: str, check: Check) -> list[str]:
    """A check's findings as text, with a heading."""
    if not check.findings:
        return [f"{name}: no findings"]
    count = len(check.findings)
    out = [f"{name}: {count} finding{'s' if count != 1 else ''}"]
    for finding in check.findings:
        out += ["", *finding.lines()]
    return out
