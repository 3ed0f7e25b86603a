"""The map of gpudbg/README.md and the glossary name what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAP = (ROOT / "gpudbg" / "README.md").read_text()
QUESTION = re.compile(
    r"^\| [^|]+\? \| `(?P<folder>[^`]+)` \| (?P<modules>[^|]+) \| (?P<names>[^|]+) \|$",
    re.MULTILINE,
)
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def files(folder: str, modules: str) -> list[Path]:
    """The files of a row's modules; a name that ends in `/` is a folder."""
    found = []
    for name in quoted(modules):
        place = ROOT / "gpudbg" / folder
        files = list(place.glob(f"{name}*.py" if name.endswith("/") else name))
        assert files, f"{folder}{name} is not there"
        found += files
    return found


def missing(texts: list[str], names: list[str]) -> list[str]:
    """Names that no text defines: as a function, a class or a value of the module."""
    defined = r"^\s*(?:(?:def|class) {0}\b|{0} = )"
    return [
        name
        for name in names
        if not any(re.search(defined.format(name), text, re.MULTILINE) for text in texts)
    ]


def test_there_are_forty_questions() -> None:
    assert len(QUESTION.findall(MAP)) == 40


@pytest.mark.parametrize("row", list(QUESTION.finditer(MAP)), ids=lambda row: row["folder"])
def test_a_question_leads_to_what_answers_it(row: re.Match[str]) -> None:
    texts = [file.read_text() for file in files(row["folder"], row["modules"])]
    assert missing(texts, quoted(row["names"])) == []


def test_a_planted_name_is_missed() -> None:
    assert missing(["def there(): ...\nTABLE = 1\n"], ["there", "TABLE", "gone"]) == ["gone"]


def test_a_term_stands_in_the_glossary_once() -> None:
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| [^|]+ \|$", GLOSSARY, re.MULTILINE)
    terms = [term.strip() for row in rows if row != "term" for term in row.split(",")]
    assert len(terms) > 80
    assert len(terms) == len(set(terms))
