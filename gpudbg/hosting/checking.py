"""Launches of a host program with the checks of `gpudbg check`, one after the other."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from gpudbg.debug.progress import progress_logged
from gpudbg.errors import EXIT_CLEAN, EXIT_FAULT, EXIT_FINDINGS, EXIT_GAP, GpudbgError
from gpudbg.formats.names import plain_name
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
        seconds: how long the check of one launch may take; None: as long as it takes.
        reports: of launches that have findings, or could not be judged.
        checked: launches so far.
    """

    def __init__(self, settings: CheckSettings | None = None, seconds: float | None = None) -> None:
        """Begin without a launch.

        Raises:
            UsageError: suppressions or a baseline that do not parse; at a launch it would look like
                a failure of the program's.
        """
        self.settings = (settings or CheckSettings()).validated()
        self.seconds = seconds
        Suppressions.read(self.settings.suppressions, self.settings.baseline)
        self.reports: list[CheckReport] = []
        self.checked = 0
        self._clean = CheckReport(checks=tuple(self.settings.checks))
        self._clean_launches: list[str] = []
        self._known: set[str] = set()

    def __call__(self, process: HostProcess, request: LaunchRequest) -> None:
        """Run and check a kernel; a fault is what later calls of the process get."""
        require_possible(request)
        made: list[DebugSession] = []
        self.checked += 1
        try:
            report = self._report(process, request, made)
            stop = made[0].stop
        except GpudbgError as error:
            process.sticky = FAILED
            raise CudaError(FAILED, f"{request.function.kernel.name}: {error}") from error
        finally:
            for session in made:
                session.close()
        if stop is not None and stop.failed:
            process.sticky = code_of(stop, is_assert(stop))
        elif report.gap and not report.launches_run:
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
        elif report.status == "clean":
            self._add_clean(report)

    def _report(
        self, process: HostProcess, request: LaunchRequest, made: list[DebugSession]
    ) -> CheckReport:
        """Check a launch; `made` gets its session, which stands at the launch's end."""

        def session(_: LoadedProgram) -> DebugSession:
            made.append(session_of(HostLaunch(process, request)))
            return made[-1]

        loaded = request.function.module.loaded
        plan = LaunchPlan(loaded, [session], owned=False)
        kernel = plain_name(request.function.kernel.name)
        said = partial(plan.stopper.checking, f"launch {request.number} ({kernel})")
        with progress_logged(loaded.device.gpu, said), plan.stopper.limited(self.seconds):
            report = check_plan(plan, self.settings)
        why = plan.stopper.why
        return _to_its_end(made[0], report, why) if why else report

    def _add_clean(self, report: CheckReport) -> None:
        """Count a launch that has nothing in it."""
        held = self._clean
        self._clean_launches += report.launches
        first = not held.launches_run or held.program == report.program
        self._clean = replace(
            held,
            launches_run=held.launches_run + 1,
            launches_asked=held.launches_run + 1,
            instructions=held.instructions + report.instructions,
            # Several modules have no name in common.
            program=report.program if first else {"file": "several modules", "arch": ""},
        )

    @property
    def code(self) -> int:
        """What the program ends with where it says 0 itself."""
        codes = {report.exit_code for report in self.reports}
        if codes & {EXIT_FINDINGS, EXIT_FAULT}:
            return EXIT_FINDINGS
        return EXIT_GAP if EXIT_GAP in codes else EXIT_CLEAN

    def all_reports(self) -> list[CheckReport]:
        """`reports`, and one of all launches that have nothing in them."""
        if self.reports and not self._clean.launches_run:
            return self.reports
        return [*self.reports, replace(self._clean, launches=tuple(self._clean_launches))]

    @property
    def count(self) -> str:
        """How many launches were checked, in words."""
        return f"{self.checked} launch" + ("es" if self.checked != 1 else "")

    def all_well(self) -> str:
        """What is said where nothing else is: what was looked for; "" without a launch."""
        if not self.checked:
            return ""
        looked = f"{self._clean.instructions:,} instructions ({', '.join(self.settings.checks)})"
        return f"{self.count} checked, {looked}: nothing found"

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


def _to_its_end(session: DebugSession, report: CheckReport, why: str) -> CheckReport:
    """Run a launch whose check had no time left again, unchecked: the program needs its results.

    Returns the report of what was found, as one that cannot judge the rest.
    """
    # The fault that it is in the report names the place, too.
    known = [fault for fault in report.faults if fault.startswith(why)]
    words = known[0] if known else why
    gpu = session.grid.gpu
    own, gpu.marking = gpu.marking, True
    try:
        session.restart()
        session.forget_interrupt()
        stop = session.run()
    finally:
        gpu.marking = own
    return replace(
        report,
        faults=tuple(fault for fault in report.faults if fault not in known),
        gap=report.gap or f"{session.symbols.kernel_name} was checked in part: {words}",
        launches_run=1,
        instructions=max(report.instructions, stop.instructions),
    )
