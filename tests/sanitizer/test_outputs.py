"""What a report looks like to people, CI systems and scripts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import numpy as np
import pytest

import gpudbg
from gpudbg.cli import main
from gpudbg.errors import UsageError
from gpudbg.sanitizer.findings import CheckFinding, PerfSite
from gpudbg.sanitizer.outputs import github
from gpudbg.sanitizer.report import CheckReport
from tests.sanitizer.cases import FOLDER, cases, prepare

SHIFT = str(FOLDER / "cubin" / "sm_52" / "shift-1.cubin")


@pytest.fixture(scope="module")
def racy() -> CheckReport:
    case = next(c for c in cases() if c.id == "shift-no_barrier")
    program, _, launches = prepare(case)
    report: CheckReport = gpudbg.check(program, launches=launches)
    return report


def test_text_names_both_sides(racy: CheckReport) -> None:
    text = str(racy)
    assert "shift.cu:9" in text
    assert "shift.cu:5" in text
    assert text.endswith("60 instructions")
    assert "1 finding (1 error)" in racy.lines()[-1]


def test_sarif_has_what_code_scanning_asks_for(racy: CheckReport) -> None:
    made: dict[str, Any] = json.loads(json.dumps(racy.to_sarif()))
    assert made["version"] == "2.1.0"
    (run,) = made["runs"]
    (result,) = run["results"]
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert rule["id"] == result["ruleId"] == "race"
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] >= 1
    assert len(result["relatedLocations"]) == 1
    assert set(result["partialFingerprints"]) == {"gpudbg/v1"}
    assert run["invocations"][0]["executionSuccessful"]


def test_junit_has_a_case_for_each_check(racy: CheckReport) -> None:
    suite = Xml.fromstring(racy.to_junit())
    assert suite.get("failures") == "1"
    failed = [case for case in suite if case.find("failure") is not None]
    assert [case.get("name") for case in failed] == ["launch 0 race"]
    skipped = [case.get("name") for case in suite if case.find("skipped") is not None]
    assert skipped == ["launch 0 hazards"]


def test_findings_are_told_of_their_launch_and_what_did_not_run() -> None:
    late = CheckFinding("race", "error", "read_write", where="here", launch=1)
    report = CheckReport(
        findings=(late,), launches=("a<<<1, 1>>>", "b<<<1, 1>>>"), launches_run=2, launches_asked=3,
        checks=("race",), program={"file": "k.cu"},
    )  # fmt: skip
    assert "; 2 of 3 launches, " in report.lines()[-1]
    cases = {c.get("name"): c for c in Xml.fromstring(report.to_junit())}
    judged = {name: [row.tag for row in c] for name, c in cases.items() if "race" in str(name)}
    assert judged == {
        "launch 0 race": [], "launch 1 race": ["failure"], "launch 2 race": ["skipped"],
    }  # fmt: skip
    assert cases["launch 2 race"][0].get("message") == "not run: a launch before it did not end"
    assert report.to_json()["findings"][0]["launch"] == 1


def test_sources_are_named_from_the_checkout_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, racy: CheckReport
) -> None:
    (tmp_path / "kernels").mkdir()
    monkeypatch.chdir(tmp_path)
    (compiled,) = racy.findings
    sides = tuple(replace(a, file=str(tmp_path / "kernels" / "a b.cu")) for a in compiled.accesses)
    report = replace(racy, findings=(replace(compiled, accesses=sides),))
    assert report.to_github().startswith("::error file=kernels/a b.cu,line=")
    place = report.to_sarif()["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "kernels/a%20b.cu", "uriBaseId": "%SRCROOT%"}
    # A cubin's line table has the name alone.
    (tmp_path / "kernels" / "shift.cu").write_text("")
    named = replace(racy, program={"file": "kernels/shift.cubin"})
    assert named.to_github().startswith("::error file=kernels/shift.cu,line=")


def test_annotations_are_escaped() -> None:
    finding = CheckFinding("leak", "error", "", where="50% lost\nsee a:b, c")
    (line,) = github.commands(CheckReport(findings=(finding,))).splitlines()
    assert line == (
        "::error title=memory that a kernel allocated and never freed::  50%25 lost%0Asee a:b, c"
    )


def test_a_fault_is_not_clean() -> None:
    report = CheckReport(faults=("illegal instruction",))
    assert (report.status, report.exit_code) == ("fault", 3)
    assert not report.to_sarif()["runs"][0]["invocations"][0]["executionSuccessful"]
    assert Xml.fromstring(report.to_junit()).get("errors") == "1"
    assert CheckReport(gap="no semantics").exit_code == 4


def test_nothing_launched_is_not_called_clean() -> None:
    assert CheckReport().lines()[-1].startswith("gpudbg check: nothing was launched; 0 launches")


def test_findings_stand_though_the_rest_could_not_be_judged() -> None:
    found = CheckFinding("leak", "error", "", where="64 bytes")
    report = CheckReport(findings=(found,), gap="no semantics")
    assert (report.status, report.exit_code) == ("findings", 1)
    assert "1 finding (1 error), and could not judge the rest;" in report.lines()[-1]
    assert not report.to_sarif()["runs"][0]["invocations"][0]["executionSuccessful"]
    assert Xml.fromstring(report.to_junit()).get("errors") == "1"
    note = CheckReport(findings=(CheckFinding("leak", "note", "", where="64 bytes"),), gap="no")
    assert (note.status, note.exit_code) == ("gap", 4)


# ---- suppressions, baselines -----------------------------------------------------------------
def test_a_rule_suppresses(tmp_path: Path) -> None:
    case = next(c for c in cases() if c.id == "shift-no_barrier")
    for rule, code in (("race shift.cu:5", 0), ("race:scope *", 1), ("leak *", 1)):
        program, _, launches = prepare(case)
        report = gpudbg.check(program, launches=launches, suppressions=[rule])
        assert report.exit_code == code
        assert report.unused == (() if code == 0 else (rule,))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("race\n", "rules:1: a rule is"),
        ("\n# a comment\nfrogs *\n", "rules:3: no kind 'frogs'"),
        ("<a><b></a>", "rules:1: the XML does not parse"),
    ],
)
def test_a_file_of_rules_that_does_not_parse(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "rules"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        gpudbg.check(SHIFT, suppressions=str(path))
    assert said in str(caught.value)


# ---- the verb ----------------------------------------------------------------------------------
ARGS = ["--block", "128", "--arg", "i32[128]:arange", "--arg", "i32[128]:zeros"]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["check", *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_verb_finds_and_says(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, SHIFT, *ARGS)
    assert code == 1
    assert "data race" in out
    known = tmp_path / "known.json"
    assert run(capsys, SHIFT, *ARGS, "--write-baseline", str(known))[0] == 1
    code, out, _ = run(capsys, SHIFT, *ARGS, "--baseline", str(known))
    assert code == 0
    assert "1 suppressed" in out


@pytest.mark.parametrize("form", ["json", "sarif", "junit", "github"])
def test_the_verb_writes_each_form(
    form: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "report"
    code, _, _ = run(capsys, SHIFT, *ARGS, "--format", form, "-o", str(file))
    assert code == 1
    text = file.read_text()
    if form in ("json", "sarif"):
        json.loads(text)
    elif form == "junit":
        Xml.fromstring(text)
    else:
        assert text.startswith("::error file=")


@pytest.mark.parametrize(
    "words",
    [
        ("--checks", "race,frogs"),
        ("--suppressions", "/nowhere"),
        ("--baseline", "/nowhere"),
        ("--max-findings", "0"),
    ],
)
def test_wrong_words_are_usage(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, SHIFT, *ARGS, *words)
    assert code == 2
    assert len(err.splitlines()) <= 2


def test_a_launch_that_does_not_end_is_not_clean(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, SHIFT, *ARGS, "--max-instructions", "5")
    assert code == 3
    assert "did not end" in out


# ---- the device --------------------------------------------------------------------------------
def test_empty_memory_is_nobodys() -> None:
    with gpudbg.Device() as device:
        made = device.empty((2, 3), np.int16, name="work")
        assert (made.shape, made.nbytes) == ((2, 3), 12)
        assert made.allocation.uninitialized
        made[0, 1:] = 7
        assert np.flatnonzero(made.allocation.marked()).tolist() == [2, 3, 4, 5]
        with pytest.raises(UsageError):
            device.empty(-1)


def test_assertions_of_costs_name_a_line_once() -> None:
    """The instructions of an unrolled loop have the same line."""
    sites = [PerfSite("bank_conflict", 16 * n, "k", "k.cu", 3, degree=8) for n in range(3)]
    sites += [PerfSite("uncoalesced", 64, "k", "k.cu", 4, efficiency=0.25)]
    report = CheckReport(performance=tuple(sites), counted_costs=True)
    with pytest.raises(AssertionError) as raised:
        report.assert_no_bank_conflicts()
    assert str(raised.value) == "k.cu:3: 8-way bank conflict (3 instructions)"
    with pytest.raises(AssertionError, match=r"^k.cu:4: 25% of what is fetched is asked for$"):
        report.assert_coalesced(0.5)
    report.assert_coalesced(0.25)
    report.assert_no_bank_conflicts(line=4)
