"""The product's sources, parsed once for all tests that read them.

A test module registers what it looks for when it is imported; the first test that asks runs every
registered function over every file, so that one parsed file at a time is in memory:

    dialect = sources.collected(dialect_of)   # at import
    dialect()                                 # in a test: file name -> what the function found
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("gpudbg", "plugins")

F = TypeVar("F")


class Source(NamedTuple):
    """A file: its path below the project, its text, and its nodes in the order of `ast.walk`."""

    name: str
    text: str
    tree: ast.Module
    nodes: list[ast.AST]


def parsed(name: str, text: str) -> Source:
    """A source whose text is given: what tests plant."""
    tree = ast.parse(text)
    return Source(name, text, tree, _walked(tree))


def _walked(tree: ast.Module) -> list[ast.AST]:
    """The nodes in the order of `ast.walk`, in half its time; contexts (`Load`) are no nodes."""
    nodes: list[ast.AST] = [tree]
    for node in nodes:
        for field in node._fields:
            if field == "ctx":
                continue
            child = getattr(node, field, None)
            if type(child) is list:
                nodes.extend(c for c in child if isinstance(c, ast.AST))
            elif isinstance(child, ast.AST):
                nodes.append(child)
    return nodes


_collectors: list[Callable[[Source], list[Any]]] = []


def collected(find: Callable[[Source], Iterable[F]]) -> Callable[[], dict[str, list[F]]]:
    """What `find` finds in each file, asked for later; files where it finds nothing are left out.

    Raises:
        KeyError: registered after the sources were read.
    """

    def run(source: Source) -> list[F]:
        return list(find(source))

    _collectors.append(run)
    return lambda: _found()[run]


@cache
def _found() -> dict[Callable[[Source], list[Any]], dict[str, list[Any]]]:
    found: dict[Callable[[Source], list[Any]], dict[str, list[Any]]] = {c: {} for c in _collectors}
    for file in sorted(f for folder in FOLDERS for f in (ROOT / folder).rglob("*.py")):
        source = parsed(file.relative_to(ROOT).as_posix(), file.read_text())
        for collector, files in found.items():
            if hits := collector(source):
                files[source.name] = hits
    return found
