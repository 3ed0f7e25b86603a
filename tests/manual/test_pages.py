"""Every page of the site does what it says: its commands are carried out, their output compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doc_blocks import ANY, PLAYED_ALONE, ROOT, refreshed

WITH_TRITON = "triton-kernel"
"""`test_triton_page.py` plays it, `test_notebook.py` what `make docs` makes a page of."""
PAGES = sorted(
    p
    for folder in PLAYED_ALONE
    for p in (ROOT / "docs" / folder).glob("*.md")
    if p.stem != WITH_TRITON and not p.with_suffix(".ipynb").is_file()
)
PLAYED = [page for page in PAGES if ANY.search(page.read_text(encoding="utf-8"))]
COSTLY = ("checker", "clusters", "ptx-to-sass")
"""Pages that compile, or begin processes: what they do the pages on plugins and CI do, too."""


def _name(page: Path) -> str:
    """The name of a case."""
    return page.stem


def test_there_are_pages() -> None:
    assert len(PLAYED) >= 8


@pytest.mark.parametrize("page", [p for p in PLAYED if p.stem not in COSTLY], ids=_name)
def test_page(page: Path, tmp_path: Path) -> None:
    """`python -m tests.doc_blocks docs/tutorials/*.md` writes outputs anew."""
    _play(page, tmp_path)


@pytest.mark.full(instead="test_page")
@pytest.mark.parametrize("page", [p for p in PLAYED if p.stem in COSTLY], ids=_name)
def test_costly_page(page: Path, tmp_path: Path) -> None:
    _play(page, tmp_path)


def test_page_on_programs_of_the_repository() -> None:
    """It is played in the project's folder, where its programs are."""
    page = ROOT / "docs" / "source-level.md"
    text = page.read_text(encoding="utf-8")
    assert refreshed(text, page.name, ROOT) == text


def _play(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert refreshed(text, page.name, tmp_path) == text
