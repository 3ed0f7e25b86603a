"""The Jupyter tutorial shows what it showed when it was written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.manual.notebook import by_kernel, cells, in_process, shown, source

CODE = [cell for cell in cells() if cell["cell_type"] == "code"]


def test_cells_show_what_the_file_says(tmp_path: Path) -> None:
    """Texts and tables; `python -m tests.manual.notebook` writes them anew."""
    for cell, now in zip(CODE, in_process(tmp_path), strict=True):
        assert now == shown(cell), source(cell)


def test_every_kind_of_view_is_in_it() -> None:
    """Stops, warps, lanes, listings, memory, findings and words are tables or texts of HTML."""
    rich = [shown(cell).get("text/html", "") for cell in CODE]
    for word in (
        "exited: ",
        "warp 1 on sm 0",
        "lane 28",
        "instruction",
        "Memory global",
        "error: ",
    ):
        assert any(word in text for text in rich), word


@pytest.mark.full(instead="test_cells_show_what_the_file_says")
def test_a_jupyter_kernel_carries_it_out(tmp_path: Path) -> None:
    for stored, made in zip(cells(), by_kernel(tmp_path), strict=True):
        if stored["cell_type"] == "code":
            assert shown(made) == shown(stored), source(stored)
