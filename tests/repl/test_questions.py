"""A stranger's questions about a faulty kernel, each answered by a short script that is run."""

from __future__ import annotations

import re

import pytest

from tests.doc_blocks import ROOT, blocks, printed, private_names

TEXT = (ROOT / "docs/questions/questions.md").read_text()
QUESTIONS = re.findall(r"^## (\d+\..*)$", TEXT, re.MULTILINE)
ANSWERS = blocks(TEXT)


def test_there_are_ten_and_each_has_an_answer() -> None:
    assert len(QUESTIONS) >= 10
    assert len(ANSWERS) == len(QUESTIONS)


@pytest.mark.parametrize(("code", "shown"), ANSWERS, ids=[q.split(".")[0] for q in QUESTIONS])
def test_answer(code: str, shown: str) -> None:
    assert len(code.splitlines()) < 10
    assert all(len(line) <= 100 for line in code.splitlines())
    assert private_names(code) == set()
    assert shown
    assert printed(code, "questions.md") == shown
