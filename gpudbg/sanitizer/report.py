"""The report of a check: its results, and the forms they are written in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudbg.dataclass import dataclass
from gpudbg.html import ROWS, heading, pre
from gpudbg.sanitizer.findings import CheckResults
from gpudbg.sanitizer.outputs import github, json, junit, sarif, text


@dataclass(frozen=True, slots=True)
class CheckReport(CheckResults):
    """What a check found, and how it is written.

    >>> file = "sessions/out_of_bounds/out_of_bounds.cubin"
    >>> numbers, out = np.zeros(250, np.float32), np.zeros(250, np.float32)
    >>> report = gpudbg.check(file, block=256, args=[numbers, out, 250])
    >>> report.status, report.exit_code, report.findings[0].allocation
    ('findings', 1, 'at the end of argument 0 (1000 bytes)')
    """

    def lines(self) -> list[str]:
        """The report as text."""
        return text.lines(self)

    def to_json(self) -> dict[str, Any]:
        """The report as data, schema gpudbg-check/1."""
        return json.document(self)

    def to_sarif(self) -> dict[str, Any]:
        """SARIF 2.1.0."""
        return sarif.document(self)

    def to_junit(self) -> str:
        """JUnit's XML."""
        return junit.document(self)

    def to_github(self) -> str:
        """Annotations of GitHub Actions."""
        return github.commands(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        shown = [finding for finding in self.findings if finding.suppressed is None]
        rest = [line for line in text.lines(replace(self, findings=())) if line]
        found = "".join(finding._repr_html_() for finding in shown[:ROWS])
        return heading(text.summary(self)) + found + (pre(rest[:-1]) if rest[:-1] else "")

    def __str__(self) -> str:
        return "\n".join(self.lines())
