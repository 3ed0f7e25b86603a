"""Launches of a host program with the checks of `gpudbg check`, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.errors import EXIT_CLEAN, EXIT_FINDINGS, EXIT_GAP, GpudbgError
from gpudbg.hosting.cuda_errors import CudaError
from gpudbg.hosting.launching import (
    FAILED,
    ILLEGAL_ADDRESS,
    HostLaunch,
    begin,
    code_of,
    is_assert,
    session_of,
)
from gpudbg.sanitizer.launch_plan import LaunchPlan
from gpudbg.sanitizer.run import check_plan

if TYPE_CHECKING:
    from gpudbg.api.programs import LoadedProgram
    from gpudbg.debug.session import DebugSession
    from gpudbg.hosting.process import HostProcess, LaunchRequest
    from gpudbg.sanitizer.report import CheckReport


BAD_ACCESSES = frozenset(("out_of_bounds", "misaligned", "use_after_free"))
"""Kinds of findings that end a launch on a GPU."""


class CheckedRuns:
    """Carries launches out to their end, with checks.

    Attributes:
        reports: of launches that have findings, or could not be judged.
        checked: launches so far.
    """

    def __init__(self) -> None:
        self.reports: list[CheckReport] = []
        self.checked = 0
        self._known: set[str] = set()

    def __call__(self, process: HostProcess, request: LaunchRequest) -> None:
        """Run and check a kernel; a fault is what later calls of the process get."""
        loaded = request.function.module.loaded
        # What cannot begin is the program's mistake, and no launch.
        begin(request).dispose()
        loaded.device.gpu.launches -= 1
        made: list[DebugSession] = []

        def session(_: LoadedProgram) -> DebugSession:
            made.append(session_of(HostLaunch(process, request)))
            return made[-1]

        self.checked += 1
        try:
            report = check_plan(LaunchPlan(loaded, [session]))
        except GpudbgError as error:
            process.sticky = FAILED
            raise CudaError(FAILED, f"{request.function.kernel.name}: {error}") from error
        stop = made[0].stop
        if stop is not None and stop.failed:
            process.sticky = code_of(stop, is_assert(stop))
        elif any(f.kind in BAD_ACCESSES for f in report.findings):
            # The check reports such an access in place of the stop.
            process.sticky = ILLEGAL_ADDRESS
        new = {f.fingerprint for f in report.findings} - self._known
        if new or report.exit_code == EXIT_GAP:
            self.reports.append(report)
            self._known |= new

    @property
    def code(self) -> int:
        """What the program ends with where it says 0 itself."""
        codes = {report.exit_code for report in self.reports}
        if codes & {EXIT_FINDINGS, 3}:
            return EXIT_FINDINGS
        return EXIT_GAP if EXIT_GAP in codes else EXIT_CLEAN

    def lines(self) -> list[str]:
        """The reports as text, and a line that counts them."""
        made = [line for report in self.reports for line in report.lines()]
        count = f"{self.checked} launch" + ("es" if self.checked != 1 else "")
        found = sum(len(report.findings) for report in self.reports)
        return [
            *made,
            f"gpudbg exec: {found or 'no'} finding{'' if found == 1 else 's'} in {count}",
        ]
