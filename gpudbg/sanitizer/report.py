"""The report of a check: its results, and the forms they are written in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError
from gpudbg.html import ROWS, heading, pre
from gpudbg.sanitizer.findings import CheckResults, PerfSite
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
        """The findings as SARIF 2.1.0, for code scanning: one run, a result for each finding."""
        return sarif.document(self)

    def to_junit(self) -> str:
        """The findings as JUnit's XML, for test reports of CI: a case for each program."""
        return junit.document(self)

    def to_github(self) -> str:
        """Annotations of GitHub Actions."""
        return github.commands(self)

    def assert_clean(self) -> None:
        """Nothing was found, and every launch ran.

        Raises:
            AssertionError: the report, and the card of a fault.
        """
        __tracebackhide__ = True
        if self.exit_code:
            raise AssertionError("\n".join([*self.lines(), *self.card()]))

    def card(self) -> list[str]:
        """What a fault, a trap or a deadlock shows of its place, where the last launch had one."""
        shown = getattr(self.stop, "card", ())
        return ["", *shown] if shown else []

    def assert_no_bank_conflicts(self, line: int | None = None) -> None:
        """No access to shared memory (of a line) takes more than one pass.

        Raises:
            AssertionError: those that do; UsageError: `performance` was not asked for.
        """
        __tracebackhide__ = True
        _fails(
            f"{s.place}: {s.degree}-way bank conflict"
            for s in _figures(self, line)
            if s.kind == "bank_conflict" and s.degree > 1
        )

    def assert_coalesced(self, min_efficiency: float = 1.0, line: int | None = None) -> None:
        """Accesses to global memory (of a line) fetch no more than they ask for.

        Args:
            min_efficiency: least part of what is fetched that must be asked for.

        Raises:
            AssertionError: those that do; UsageError: `performance` was not asked for.
        """
        __tracebackhide__ = True
        _fails(
            f"{s.place}: {s.efficiency:.0%} of what is fetched is asked for"
            for s in _figures(self, line)
            if s.kind == "uncoalesced" and s.efficiency < min_efficiency
        )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        shown = [finding for finding in self.findings if finding.suppressed is None]
        rest = [line for line in text.lines(replace(self, findings=())) if line]
        found = "".join(finding._repr_html_() for finding in shown[:ROWS])
        return heading(text.summary(self)) + found + (pre(rest[:-1]) if rest[:-1] else "")

    def __str__(self) -> str:
        return "\n".join(self.lines())


def _figures(report: CheckReport, line: int | None) -> list[PerfSite]:
    """What was counted at a line, or everywhere."""
    if not report.counted_costs:
        raise UsageError("no performance figures", "check with performance=True")
    return [s for s in report.performance if line in (None, s.line)]


def _fails(worst: Iterable[str]) -> None:
    """Raise AssertionError with what is given; equal lines, of several instructions, are one."""
    __tracebackhide__ = True
    lines = (
        line + f" ({count} instructions)" * (count > 1) for line, count in Counter(worst).items()
    )
    text = "\n".join(lines)
    if text:
        raise AssertionError(text)
