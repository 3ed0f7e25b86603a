"""The report as JUnit's XML: a test case for each launch and check."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as Xml

from gpudbg.sanitizer.findings import CHECKS

if TYPE_CHECKING:
    from gpudbg.sanitizer.findings import CheckResults

_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot represent."""
_COUNTED: Final = {"failures": "failure", "errors": "error", "skipped": "skipped"}
"""Attribute of a test suite -> the element of test cases that it counts."""


def document(report: CheckResults) -> str:
    """The report."""
    program = report.program.get("file") or "program"
    suite = Xml.Element("testsuite", name=_clean(program))
    asked = max(report.launches_asked, len(report.launches), 1)
    for number in range(asked):
        ran = number < len(report.launches)
        kernel = report.launches[number].partition("<<<")[0] if ran else "launch"
        for check in CHECKS:
            case = Xml.SubElement(
                suite, "testcase", classname=_clean(f"{program}.{kernel}"),
                name=f"launch {number} {check}", time="0",
            )  # fmt: skip
            _judge(case, report, number, check)
    # A gap without any test case would otherwise not be reported.
    unjudged = [report.gap] if report.gap and suite.find("testcase/error") is None else []
    if report.faults or unjudged:
        case = Xml.SubElement(suite, "testcase", classname=_clean(program), name="ends", time="0")
        for fault in (*report.faults, *unjudged):
            Xml.SubElement(case, "error", message=_clean(fault))
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for name, of in _COUNTED.items():
        suite.set(name, str(sum(case.find(of) is not None for case in cases)))
    suite.set("time", f"{report.seconds:.3f}")
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return head + Xml.tostring(suite, encoding="unicode") + "\n"


def _judge(case: Xml.Element, report: CheckResults, number: int, check: str) -> None:
    """Fill a test case with a check's result for one launch."""
    stopped = len(report.launches)
    if check not in report.checks:
        Xml.SubElement(case, "skipped")
        return
    for finding in report.counted:
        if finding.launch == number and finding.kind in CHECKS[check]:
            message = _clean(finding.where)
            made = Xml.SubElement(case, "failure", type=finding.kind, message=message)
            made.text = _clean("\n".join(finding.explain()))
    if report.gap and number == max(min(stopped, report.launches_asked - 1), 0):
        Xml.SubElement(case, "error", message=_clean(report.gap))
    elif number >= stopped and report.launches_asked:
        why = "not run: a launch before it did not end"
        Xml.SubElement(case, "skipped", message=why)


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
