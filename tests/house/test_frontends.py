"""Frontends read frozen records: none reaches the machine through a session's `grid`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FRONTENDS = ROOT / "gpudbg" / "frontends"
RECORDS = {"launch", "snapshot", "shot", "form", "h", "self"}
"""Names of records with a field `grid`: the dimensions of a launch."""


def reads_of_grid(tree: ast.AST) -> Iterator[ast.expr]:
    """What `grid` is asked of, as an attribute or by `getattr`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "grid":
            yield node.value
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr":
            if any(isinstance(a, ast.Constant) and a.value == "grid" for a in node.args):
                yield node.args[0]


def of_a_record(asked: ast.expr) -> bool:
    """Whether what is asked is called as a record is, or made by `launch_shape`."""
    if isinstance(asked, ast.Call):
        return getattr(asked.func, "id", "") == "launch_shape"
    name = asked.attr if isinstance(asked, ast.Attribute) else getattr(asked, "id", "")
    return name in RECORDS


def found_in(text: str) -> list[str]:
    return [ast.unparse(n) for n in reads_of_grid(ast.parse(text)) if not of_a_record(n)]


def test_no_frontend_reads_the_machine_of_a_session() -> None:
    found = {
        str(file.relative_to(ROOT)): names
        for file in sorted(FRONTENDS.rglob("*.py"))
        if (names := found_in(file.read_text()))
    }
    assert found == {}


def test_a_planted_read_is_found() -> None:
    assert found_in("s = self.session\nx = s.grid.warps()") == ["s"]
    assert found_in("x = self.main.session.grid.total") == ["self.main.session"]
    assert found_in('x = getattr(session, "grid")') == ["session"]
    assert found_in("x = grid.grid") == ["grid"]
    assert found_in("x = launch_shape(session).grid, view.snapshot.grid") == []
