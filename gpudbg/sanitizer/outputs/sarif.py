"""The report as SARIF 2.1.0 (OASIS), as validators and GitHub's code scanning want it."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from gpudbg.sanitizer.findings import RULES
from gpudbg.sanitizer.outputs.source_files import in_checkout

if TYPE_CHECKING:
    from gpudbg.sanitizer.findings import CheckFinding, CheckResults, FindingAccess

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_HOME: Final = "https://github.com/gpudbg/gpudbg"


def document(report: CheckResults) -> dict[str, Any]:
    """The report."""
    used = sorted({f.kind for f in report.findings})
    rules = [_rule(kind) for kind in used]
    ran = not report.gap and not report.faults
    notes = [*report.faults, *([report.gap] if report.gap else [])]
    invocation: dict[str, Any] = {"executionSuccessful": ran, "exitCode": report.exit_code}
    if notes:
        invocation["toolExecutionNotifications"] = [
            {"level": "error", "message": {"text": note}} for note in notes
        ]
    run = {
        "tool": {
            "driver": {
                "name": "gpudbg",
                "version": version("gpudbg"),
                "informationUri": _HOME,
                "rules": rules,
            }
        },
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "where sources are"}}},
        "invocations": [invocation],
        "results": [_result(f, used.index(f.kind), report) for f in report.findings],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(kind: str) -> dict[str, Any]:
    text = RULES[kind]
    return {
        "id": kind,
        "shortDescription": {"text": text},
        "fullDescription": {"text": text},
        "help": {"text": f"{text}: see the page on checks in gpudbg's documentation"},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["gpu", "correctness"]},
    }


def _result(finding: CheckFinding, index: int, report: CheckResults) -> dict[str, Any]:
    found: dict[str, Any] = {
        "ruleId": finding.kind,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {"text": finding.where or RULES[finding.kind]},
        "partialFingerprints": {"gpudbg/v1": finding.fingerprint},
        "properties": {
            "cause": finding.cause,
            "relation": finding.relation,
            "space": finding.space,
            "count": finding.count,
            "threads": [
                {"block": list(a.block), "thread": list(a.thread)} for a in finding.accesses
            ],
        },
    }
    if finding.accesses:
        found["locations"] = [_location(finding.accesses[0], report)]
        if len(finding.accesses) > 1:
            found["relatedLocations"] = [
                {"id": n, "message": {"text": f"{a.kind} by {a.who}"}} | _location(a, report)
                for n, a in enumerate(finding.accesses[1:], 1)
            ]
    else:
        found["locations"] = [{"physicalLocation": {"artifactLocation": _artifact(report, None)}}]
    if finding.suppressed is not None:
        found["suppressions"] = [{"kind": "external", "justification": finding.suppressed}]
    return found


def _location(access: FindingAccess, report: CheckResults) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _artifact(report, access.file)}
    if access.file is not None and access.line is not None:
        physical["region"] = {"startLine": max(1, access.line)}
        return {"physicalLocation": physical}
    name = f"{access.function}+0x{access.offset:x}"
    return {"physicalLocation": physical, "logicalLocations": [{"fullyQualifiedName": name}]}


def _artifact(report: CheckResults, file: str | None) -> dict[str, Any]:
    path = in_checkout(report, file)
    if path.startswith("/"):
        return {"uri": f"file://{quote(path)}"}
    return {"uri": quote(path), "uriBaseId": "%SRCROOT%"}
