"""The pytest plugin: a fixture `gpu` that runs kernels with checks.

    @pytest.mark.gpucheck("race", "memory")
    def test_shift(gpu):
        program = gpu.load("shift.cu")
        out = program.device.buffer(np.zeros(128, np.int32))
        gpu.run(program, "shift", block=128, args=[np.arange(128, dtype=np.int32), out])

`gpu.run` (or `gpu.launch`) fails the test with the report where a check finds something, and with
the card of a fault; `gpu.check` returns the report.
Without the fixture nothing of the debugger is imported.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpudbg.api import Device, LoadedProgram
    from gpudbg.sanitizer import CheckReport

_REPORTS: pytest.StashKey[list[CheckReport]] = pytest.StashKey()
_WORKER_KEY = "gpudbg_sarif_runs"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--gpu-schedules N`, `--gpudbg-sarif FILE`."""
    group = parser.getgroup("gpudbg", "kernels on an emulated GPU")
    group.addoption("--gpu-schedules", type=int, default=1, help="run checked launches so often")
    group.addoption("--gpudbg-sarif", metavar="FILE", help="write what checks find as SARIF")


def pytest_configure(config: pytest.Config) -> None:
    """The marker."""
    config.addinivalue_line("markers", "gpucheck(*names): the checks of the fixture `gpu`")
    config.stash[_REPORTS] = []


class GpuFixture:
    """What tests do with kernels.

    Attributes:
        checks: names of the checks that `run` makes.
        schedules: how many seeds it runs.
    """

    def __init__(self, checks: tuple[str, ...], schedules: int, keep: list[CheckReport]) -> None:
        self.checks, self.schedules = checks, schedules
        self._keep = keep
        self._programs: list[LoadedProgram] = []
        self._device: Device | None = None

    @property
    def device(self) -> Device:
        """The device of the program that was loaded last; before the first one, a device for
        those to come."""
        import gpudbg

        if self._programs:
            return self._programs[-1].device
        if self._device is None:
            self._device = gpudbg.Device()
        return self._device

    def load(self, source: Any, arch: str | None = None, **options: Any) -> LoadedProgram:
        """A program on a device that ends with the test: on `device` where the test has asked for
        that before, else on a fresh one; as `gpudbg.load`."""
        import gpudbg

        device = self._device
        if device is not None and arch in (None, device.arch) and set(options) <= {"options"}:
            self._programs.append(device.load(source, **options))
        else:
            self._programs.append(gpudbg.load(source, arch, **options))
        return self._programs[-1]

    def check(self, program: Any, kernel: str | None = None, **options: Any) -> CheckReport:
        """`gpudbg.check` with the test's checks and schedules; the report."""
        import gpudbg

        given: dict[str, Any] = {"checks": self.checks, "schedules": self.schedules} | options
        report: CheckReport = gpudbg.check(program, kernel, **given)
        self._keep.append(report)
        return report

    def run(self, program: Any, kernel: str | None = None, **options: Any) -> CheckReport:
        """`check`, which fails the test unless it is clean."""
        __tracebackhide__ = True
        report = self.check(program, kernel, **options)
        self.assert_clean(report)
        return report

    launch = run

    @staticmethod
    def assert_clean(report: CheckReport) -> None:
        """Fail with the report, and the card of a fault, unless it is clean."""
        __tracebackhide__ = True
        _fails(report.assert_clean)

    @staticmethod
    def assert_no_bank_conflicts(report: CheckReport, line: int | None = None) -> None:
        """Fail where an access to shared memory (of a line) takes more than one pass."""
        __tracebackhide__ = True
        _fails(report.assert_no_bank_conflicts, line)

    @staticmethod
    def assert_coalesced(
        report: CheckReport, min_efficiency: float = 1.0, line: int | None = None
    ) -> None:
        """Fail where accesses to global memory (of a line) fetch more than they ask for."""
        __tracebackhide__ = True
        _fails(report.assert_coalesced, min_efficiency, line)

    def close(self) -> None:
        """End the devices."""
        if self._device is not None:
            self._device.close()
        for program in self._programs:
            program.device.close()


def _fails(check: Callable[..., None], *args: Any) -> None:
    """Fail the test with what an assertion of a report says, and nothing else."""
    __tracebackhide__ = True
    text = ""
    try:
        check(*args)
    except AssertionError as error:
        text = str(error)
    if text:
        pytest.fail(text, pytrace=False)


@pytest.fixture
def gpu(request: pytest.FixtureRequest) -> Any:
    """An emulated GPU: `gpu.load`, `gpu.run`, `gpu.check`."""
    marker = request.node.get_closest_marker("gpucheck")
    names = marker.args if marker is not None else ("memory", "race", "init", "sync", "leak")
    schedules = request.config.getoption("--gpu-schedules")
    made = GpuFixture(tuple(names), schedules, request.config.stash[_REPORTS])
    yield made
    made.close()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """What was found, as SARIF; of a pytest-xdist worker it goes to the process that writes."""
    config = session.config
    reports = config.stash.get(_REPORTS, [])
    runs = [run for report in reports for run in report.to_sarif()["runs"]]
    output = getattr(config, "workeroutput", None)
    if output is not None:
        output[_WORKER_KEY] = json.dumps(runs)
    elif config.getoption("--gpudbg-sarif"):
        runs += getattr(config, _WORKER_KEY, [])
        schema = "https://json.schemastore.org/sarif-2.1.0.json"
        made = {"$schema": schema, "version": "2.1.0", "runs": runs}
        Path(config.getoption("--gpudbg-sarif")).write_text(json.dumps(made, indent=1))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker of pytest-xdist has ended: keep what it found."""
    found = json.loads(getattr(node, "workeroutput", {}).get(_WORKER_KEY, "[]"))
    kept = getattr(node.config, _WORKER_KEY, [])
    setattr(node.config, _WORKER_KEY, kept + found)
