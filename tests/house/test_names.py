"""A public class has a name of its own."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import gpudbg

ROOT = Path(gpudbg.__file__).parent
SHARED = """
Form 2
Instruction 2
RegisterFile 2
Sign 2
Site 2
"""
"""Names that two modules have for a class, and how many.  `isa/spa5` and `isa/volta` are the two
implementations of one interface, with the same parts; `gpudbg.RegisterFile` and the protocol
`gpudbg.plugin.RegisterFile` are both public."""


def classes(root: Path) -> dict[str, list[str]]:
    """Public classes at the top of modules -> the modules."""
    found: dict[str, list[str]] = defaultdict(list)
    for file in sorted(root.rglob("*.py")):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(file.relative_to(root).as_posix())
    return found


def test_no_two_public_classes_share_a_name() -> None:
    shared = {name: len(files) for name, files in classes(ROOT).items() if len(files) > 1}
    known = dict(line.split() for line in SHARED.strip().splitlines())
    assert {name: str(count) for name, count in shared.items()} == known


def test_a_planted_name_is_found(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("class Thing: ...\nclass _Own: ...\n")
    assert dict(classes(tmp_path)) == {"Thing": ["a.py", "b.py"]}
