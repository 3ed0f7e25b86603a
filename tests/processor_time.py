"""What test files cost, in processor time: printed after a run, so that growth is seen.

The clock says how loaded the machine is; processor time, that of processes a test began included,
says what the tests do.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Generator

import pytest

from tests import starter

PROPERTY = "processor_seconds"
MOST = 15
"""Files that are listed."""
FEW = 200
"""Tests below which nobody asks."""


def spent() -> float:
    """Seconds of this process and of those it began that have ended."""
    now = os.times()
    return now.user + now.system + now.children_user + now.children_system + starter.spent


class ProcessorTime:
    """The plugin: it measures where tests run and adds up where reports come together."""

    def __init__(self) -> None:
        self.files: defaultdict[str, float] = defaultdict(float)
        self.tests = 0
        self._begun = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        self._begun = spent()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown":
            report.user_properties.append((PROPERTY, spent() - self._begun))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == PROPERTY and isinstance(value, float):
                self.files[report.nodeid.partition("::")[0]] += value
                self.tests += 1

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.tests < FEW:
            return
        terminalreporter.section(f"processor time: {sum(self.files.values()):.0f} s of tests")
        files = sorted(self.files.items(), key=lambda item: -item[1])
        for name, seconds in files[:MOST]:
            terminalreporter.write_line(f"{seconds:7.1f} s  {name}")
