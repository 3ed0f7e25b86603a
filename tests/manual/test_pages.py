"""Every page of the site does what it says: its commands are carried out, their output compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doc_blocks import ANY, PLAYED_ALONE, ROOT, refreshed

PAGES = sorted(p for folder in PLAYED_ALONE for p in (ROOT / "docs" / folder).glob("*.md"))
PLAYED = [page for page in PAGES if ANY.search(page.read_text(encoding="utf-8"))]


def test_there_are_pages() -> None:
    assert len(PLAYED) >= 8


@pytest.mark.parametrize("page", PLAYED, ids=lambda page: page.stem)
def test_page(page: Path, tmp_path: Path) -> None:
    """`python -m tests.doc_blocks docs/tutorials/*.md` writes outputs anew."""
    text = page.read_text(encoding="utf-8")
    assert refreshed(text, page.name, tmp_path) == text
