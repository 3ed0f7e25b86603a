"""A public class has a name of its own."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from tests.house import sources
from tests.house.sources import Source, parsed


def classes(source: Source) -> Iterator[str]:
    """Public classes at the top of a module."""
    for node in source.tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name


CLASSES = sources.collected(classes)


def shared(classes: dict[str, list[str]]) -> dict[str, list[str]]:
    """Names that several modules have for a class -> these modules."""
    found: dict[str, list[str]] = defaultdict(list)
    for file, names in classes.items():
        for name in names:
            found[name].append(file)
    return {name: files for name, files in found.items() if len(files) > 1}


def test_no_two_public_classes_share_a_name() -> None:
    ours = ("gpudbg/", "plugins/")
    assert shared({file: names for file, names in CLASSES().items() if file.startswith(ours)}) == {}


def test_a_planted_name_is_found() -> None:
    text = "class Thing: ...\nclass _Own: ...\n"
    planted = {name: list(classes(parsed(name, text))) for name in ("a.py", "b.py")}
    assert shared(planted) == {"Thing": ["a.py", "b.py"]}
