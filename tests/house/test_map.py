"""The map of gpudbg/README.md and the glossary name what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAP = (ROOT / "gpudbg" / "README.md").read_text()
QUESTION = re.compile(r"^\| [^|]+\? \| `(?P<folder>[^`]+)` \| (?P<modules>.+) \|$", re.MULTILINE)
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()


def modules() -> list[tuple[str, str]]:
    return [
        (found["folder"], name)
        for found in QUESTION.finditer(MAP)
        for name in re.findall(r"`([^`]+)`", found["modules"])
    ]


def test_there_are_twenty_questions() -> None:
    assert len(QUESTION.findall(MAP)) == 20


@pytest.mark.parametrize(("folder", "name"), modules())
def test_a_question_leads_to_a_module(folder: str, name: str) -> None:
    assert list((ROOT / "gpudbg" / folder).glob(name))


def test_a_term_stands_in_the_glossary_once() -> None:
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| [^|]+ \|$", GLOSSARY, re.MULTILINE)
    terms = [term.strip() for row in rows if row != "term" for term in row.split(",")]
    assert len(terms) > 80
    assert len(terms) == len(set(terms))
