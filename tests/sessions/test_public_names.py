"""Documents and stories do with public names alone: what they show, readers copy."""

from __future__ import annotations

import ast

import pytest

from gpudbg.debug.story_files import SCRIPT, stories
from tests.doc_blocks import ROOT, blocks, private_names
from tests.variants import rows

PROGRAMS = {
    f"{path.relative_to(ROOT)}:{number}": code
    for path in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")))
    for number, (code, _) in enumerate(blocks(path.read_text()), 1)
} | {
    str(script.relative_to(ROOT)): script.read_text()
    for cubin in stories().values()
    if (script := cubin.parent / SCRIPT).is_file()
}


TESTS = [ROOT / "tests/repl/test_api.py", ROOT / "tests/sessions/test_lessons.py"]
"""Tests that use the API as a script does."""

PROGRAMS |= {str(path.relative_to(ROOT)): path.read_text() for path in TESTS}


@rows("name", PROGRAMS)
def test_no_private_names(name: str) -> None:
    assert private_names(PROGRAMS[name]) == set()


@pytest.mark.parametrize("name", [n for n in PROGRAMS if not n.startswith("tests/")])
def test_everything_comes_from_gpudbg_itself(name: str) -> None:
    modules: set[str] = set()
    for node in ast.walk(ast.parse(PROGRAMS[name])):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(node.module or "")
    assert not {m for m in modules if m.startswith("gpudbg.")}


def test_the_check_sees_private_names() -> None:
    assert private_names("import gpudbg\ngpudbg.load('x')._whole.grid") == {"_whole"}
    assert private_names("from gpudbg import _find") == {"_find"}
    assert private_names("x.__class__") == set()
