"""The report as data: schema `gpudbg-check/1`."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpudbg.sanitizer.findings import CheckResults


def document(report: CheckResults) -> dict[str, Any]:
    """The report."""
    return {
        "schema": "gpudbg-check/1",
        "status": report.status,
        "exit_code": report.exit_code,
        "findings": [f.to_json() for f in report.findings],
        "performance": [s.to_json() for s in report.performance],
        "launches": list(report.launches),
        "launches_run": report.launches_run,
        "launches_asked": report.launches_asked,
        "instructions": report.instructions,
        "schedules_run": report.schedules_run,
        "schedule": report.schedule.to_json() if report.schedule is not None else None,
        "checks": list(report.checks),
        "faults": list(report.faults),
        "gap": report.gap,
        "unused_suppressions": list(report.unused),
        "tool": {"name": "gpudbg", "version": version("gpudbg")},
        "program": dict(report.program),
        "policies": list(report.policies),
    }
