"""SARIF against its published schema, JUnit's XML read back, and broken rules."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as Xml

import jsonschema
import pytest

import gpudbg
from gpudbg.cli import main
from gpudbg.sanitizer.report import CheckReport
from tests.kernel_cases import DATA
from tests.sanitizer.cases import FOLDER, cases, cases_beside, prepare

CHOSEN = ("shift-no_barrier", "shift-clean", "edge-past_end", "dsmem-early_exit-sm_90a")
SHIFT = str(FOLDER / "cubin" / "sm_52" / "shift-1.cubin")


def reports() -> list[CheckReport]:
    found = []
    for case in (*cases(), *cases_beside()):
        if case.id in CHOSEN:
            program, _, launches = prepare(case)
            found.append(gpudbg.check(program, launches=launches))
    found.append(CheckReport(gap="no such instruction", program={"file": "a/b.cubin"}))
    found.append(CheckReport(faults=("a trap",), program={"file": "/k n.cubin"}))
    return found


@pytest.fixture(scope="module", name="made")
def _made() -> list[CheckReport]:
    return reports()


def test_sarif_follows_its_schema(made: list[CheckReport]) -> None:
    schema = json.loads((DATA / "sarif" / "sarif-schema-2.1.0.json").read_text())
    validator = jsonschema.Draft4Validator(schema)
    for report in made:
        document = report.to_sarif()
        assert [e.message for e in validator.iter_errors(document)] == []
        run = document["runs"][0]
        assert run["invocations"][0]["executionSuccessful"] == (
            report.status in ("clean", "findings")
        )
    assert list(validator.iter_errors({"version": "2.1.0"})), "the schema refuses nothing"


def test_junit_is_read_back(made: list[CheckReport]) -> None:
    for report in made:
        suite = Xml.fromstring(report.to_junit())
        held = list(suite.iter("testcase"))
        failures, errors = (sum(c.find(n) is not None for c in held) for n in ("failure", "error"))
        assert (suite.get("failures"), suite.get("errors")) == (str(failures), str(errors))
        assert bool(failures) == bool(report.counted)
        assert bool(errors) == (report.status in ("gap", "fault"))


@pytest.mark.parametrize(
    ("flag", "text", "place"),
    [
        ("--suppressions", "race *\nrace\n", ":2: a rule is"),
        ("--suppressions", "# why\nraces *\n", ":2: no kind 'races'"),
        ("--suppressions", "<a>\n<b></a>", ":2: the XML does not parse"),
        ("--baseline", '["a",\n', ":2: the baseline does not parse"),
        ("--baseline", '{"a": 1}', ":1: a baseline is"),
    ],
)
def test_broken_rules_name_file_and_line(
    flag: str, text: str, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = tmp_path / "rules"
    rules.write_text(text)
    assert main(["check", SHIFT, "--arg", "4096", "--arg", "4096", flag, str(rules)]) == 2
    assert f"{rules}{place}" in capsys.readouterr().err


def test_a_folder_says_what_did_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(DATA / "checks-async" / "cubin" / "sm_52"), SHIFT]) == 4
    out = capsys.readouterr().out
    assert "no launch" in out
    assert "2 programs, 0 clean, 2 not judged (" in out


def test_policies_are_named(made: list[CheckReport]) -> None:
    for report in made:
        names = report.to_json()["policies"]
        assert "check-views" in names
        wide = report.program.get("arch") == "sm_90a"
        assert ("check-proxy-fence" in names) == wide
