"""The report as annotations of GitHub Actions (workflow commands)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpudbg.sanitizer.findings import RULES, SEVERITIES
from gpudbg.sanitizer.outputs.source_files import in_checkout

if TYPE_CHECKING:
    from gpudbg.sanitizer.findings import CheckFinding, CheckResults

SHOWN: Final = 10
"""Most annotations of each level that GitHub shows for a step."""
_LEVELS: Final = {"error": "error", "warning": "warning", "note": "notice"}


def commands(report: CheckResults) -> str:
    """The most severe first; what a step would not show is counted in a line of its own."""
    out: list[str] = []
    for severity in SEVERITIES:
        rows = [f for f in report.findings if f.severity == severity and f.suppressed is None]
        out += [_annotation(f, report) for f in rows[:SHOWN]]
        if len(rows) > SHOWN:
            more = f"{len(rows) - SHOWN} more of level {severity} are in the report"
            out.append(f"::notice title=gpudbg check::{_data(more)}")
    notes = [*report.faults, *([report.gap] if report.gap else [])]
    out += [f"::error title=gpudbg check::{_data(note)}" for note in notes]
    return "\n".join(out) + ("\n" if out else "")


def _annotation(finding: CheckFinding, report: CheckResults) -> str:
    place = ""
    access = finding.accesses[0] if finding.accesses else None
    if access is not None and access.file is not None and access.line is not None:
        place = f"file={_property(in_checkout(report, access.file))},line={access.line},"
    title = _property(RULES[finding.kind])
    text = "\n".join(finding.explain()[1:]) or RULES[finding.kind]
    return f"::{_LEVELS[finding.severity]} {place}title={title}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
