"""Launches of a host program with the checks of `gpudbg check`, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.errors import EXIT_CLEAN, EXIT_FAULT, EXIT_FINDINGS, EXIT_GAP, GpudbgError
from gpudbg.hosting.cuda_errors import CudaError
from gpudbg.hosting.launching import (
    FAILED,
    ILLEGAL_ADDRESS,
    HostLaunch,
    code_of,
    is_assert,
    require_possible,
    session_of,
)
from gpudbg.sanitizer.launch_plan import LaunchPlan
from gpudbg.sanitizer.report import CheckReport
from gpudbg.sanitizer.run import check_plan
from gpudbg.sanitizer.settings import CheckSettings
from gpudbg.sanitizer.suppressions import Suppressions

if TYPE_CHECKING:
    from gpudbg.api.programs import LoadedProgram
    from gpudbg.debug.session import DebugSession
    from gpudbg.hosting.process import HostProcess, LaunchRequest


BAD_ACCESSES = frozenset(("out_of_bounds", "misaligned", "use_after_free"))
"""Kinds of findings that end a launch on a GPU."""


class CheckedRuns:
    """Carries launches out to their end, with checks.

    Attributes:
        settings: what is looked for.
        reports: of launches that have findings, or could not be judged.
        checked: launches so far.
    """

    def __init__(self, settings: CheckSettings | None = None) -> None:
        """Begin without a launch.

        Raises:
            UsageError: suppressions or a baseline that do not parse; at a launch it would look like
                a failure of the program's.
        """
        self.settings = settings or CheckSettings()
        Suppressions.read(self.settings.suppressions, self.settings.baseline)
        self.reports: list[CheckReport] = []
        self.checked = 0
        self._known: set[str] = set()

    def __call__(self, process: HostProcess, request: LaunchRequest) -> None:
        """Run and check a kernel; a fault is what later calls of the process get."""
        loaded = request.function.module.loaded
        require_possible(request)
        made: list[DebugSession] = []

        def session(_: LoadedProgram) -> DebugSession:
            made.append(session_of(HostLaunch(process, request)))
            return made[-1]

        self.checked += 1
        try:
            report = check_plan(LaunchPlan(loaded, [session]), self.settings)
        except GpudbgError as error:
            process.sticky = FAILED
            raise CudaError(FAILED, f"{request.function.kernel.name}: {error}") from error
        stop = made[0].stop
        if stop is not None and stop.failed:
            process.sticky = code_of(stop, is_assert(stop))
        elif report.gap:
            # It did not come to its end, whatever was found on the way.
            process.sticky = FAILED
        elif not process.machine.device.gpu.on_fault.goes_on:
            if any(f.kind in BAD_ACCESSES for f in report.findings):
                # The check reports such an access in place of the stop.
                process.sticky = ILLEGAL_ADDRESS
        new = {f.fingerprint for f in report.findings} - self._known
        if new or report.exit_code in (EXIT_GAP, EXIT_FAULT):
            self.reports.append(report)
            self._known |= new

    @property
    def code(self) -> int:
        """What the program ends with where it says 0 itself."""
        codes = {report.exit_code for report in self.reports}
        if codes & {EXIT_FINDINGS, EXIT_FAULT}:
            return EXIT_FINDINGS
        return EXIT_GAP if EXIT_GAP in codes else EXIT_CLEAN

    def clean(self) -> CheckReport:
        """The report where no launch has anything in it."""
        return CheckReport(launches_run=self.checked, schedules_run=1)

    @property
    def count(self) -> str:
        """How many launches were checked, in words."""
        return f"{self.checked} launch" + ("es" if self.checked != 1 else "")

    def all_well(self) -> str:
        """What is said where nothing else is: something was looked for; "" without a launch."""
        return f"{self.count} checked, nothing found" if self.checked else ""

    def summary(self) -> str:
        """What was found, in one line; "" where all is well."""
        count = self.count
        found = [finding for report in self.reports for finding in report.findings]
        gaps = [report.gap for report in self.reports if report.gap]
        if found:
            words = f"{len(found)} finding{'' if len(found) == 1 else 's'} in {count}"
            first, kernel = found[0], found[0].function
            return f"{words}: {first.explain()[0]}{', in ' if kernel else ''}{kernel}"
        return f"a launch of {count} cannot be judged: {gaps[0]}" if gaps else ""
