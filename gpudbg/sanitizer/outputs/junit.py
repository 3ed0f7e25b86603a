"""The report as JUnit's XML: a test case for each launch and check."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as Xml

from gpudbg.sanitizer.findings import CHECKS

if TYPE_CHECKING:
    from gpudbg.sanitizer.findings import CheckResults

_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no way to write."""


def document(report: CheckResults) -> str:
    """The report."""
    program = report.program.get("file") or "program"
    suite = Xml.Element("testsuite", name=_clean(program))
    names = list(report.launches) or ["launch"]
    cases = failures = errors = skipped = 0
    for number, launch in enumerate(names):
        kernel = launch.partition("<<<")[0]
        for check, kinds in CHECKS.items():
            cases += 1
            case = Xml.SubElement(
                suite, "testcase", classname=_clean(f"{program}.{kernel}"),
                name=f"launch {number} {check}", time="0",
            )  # fmt: skip
            if check not in report.checks:
                Xml.SubElement(case, "skipped")
                skipped += 1
                continue
            if number == len(names) - 1 and report.gap:
                Xml.SubElement(case, "error", message=_clean(report.gap))
                errors += 1
                continue
            found = [f for f in report.counted if f.kind in kinds] if not number else []
            for finding in found:
                text = "\n".join(finding.explain())
                made = Xml.SubElement(
                    case, "failure", type=finding.kind, message=_clean(finding.where)
                )
                made.text = _clean(text)
            failures += bool(found)
    # What nothing was checked of has no test case that could say so.
    unjudged = [report.gap] if report.gap and not errors else []
    if report.faults or unjudged:
        cases += 1
        errors += 1
        case = Xml.SubElement(suite, "testcase", classname=_clean(program), name="ends", time="0")
        for fault in (*report.faults, *unjudged):
            Xml.SubElement(case, "error", message=_clean(fault))
    suite.attrib |= {
        "tests": str(cases), "failures": str(failures), "errors": str(errors),
        "skipped": str(skipped), "time": f"{report.seconds:.3f}",
    }  # fmt: skip
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return head + Xml.tostring(suite, encoding="unicode") + "\n"


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
