"""The product's sources, parsed once a run for all tests that read them.

A test module registers what it looks for when it is imported; the first test that asks runs every
registered function over every file, so that one parsed file at a time is in memory:

    dialect = sources.collected(dialect_of)   # at import
    dialect()                                 # in a test: file name -> what the function found
"""

from __future__ import annotations

import ast
import fcntl
import hashlib
import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache as once
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from gpudbg.sm.engines.llvm import cache

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
_names: list[str] = []
"""Of what is registered, in order."""


def collected(find: Callable[[Source], Iterable[F]]) -> Callable[[], dict[str, list[F]]]:
    """What `find` finds in each file, asked for later; files where it finds nothing are left out.

    Raises:
        KeyError: registered after the sources were read.
    """

    def run(source: Source) -> list[F]:
        return list(find(source))

    _collectors.append(run)
    _names.append(f"{find.__module__}.{find.__qualname__}")
    return lambda: _found()[run]


@once
def _found() -> dict[Callable[[Source], list[Any]], dict[str, list[Any]]]:
    """What all found: by the first process that asks, for the others of a run too."""
    files = sorted(f for folder in FOLDERS for f in (ROOT / folder).rglob("*.py"))
    kept = _kept_at(files)
    with _alone(kept):
        rows = _read(kept)
        if rows is None:
            rows = _searched(files)
            made = kept.with_suffix(".new")
            made.write_bytes(pickle.dumps(rows))
            made.replace(kept)
    return dict(zip(_collectors, rows, strict=True))


def _searched(files: list[Path]) -> list[dict[str, list[Any]]]:
    """For each collector what it finds in the files where it finds something."""
    found: list[dict[str, list[Any]]] = [{} for _ in _collectors]
    for file in files:
        source = parsed(file.relative_to(ROOT).as_posix(), file.read_text())
        for collector, rows in zip(_collectors, found, strict=True):
            if hits := collector(source):
                rows[source.name] = hits
    return found


def _kept_at(files: list[Path]) -> Path:
    """A file named by all that is read, by the tests that read it, and by which there are."""
    digest = hashlib.sha256(" ".join(_names).encode())
    for file in (*files, *(ROOT / "gpudbg").rglob("*.pyi"), *Path(__file__).parent.glob("*.py")):
        digest.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes())
    folder = Path(os.environ[cache.FOLDER]).with_name("house")
    folder.mkdir(parents=True, exist_ok=True)
    return folder / digest.hexdigest()[:20]


def _read(kept: Path) -> list[dict[str, list[Any]]] | None:
    """What is kept; None: nothing yet."""
    try:
        rows: list[dict[str, list[Any]]] = pickle.loads(kept.read_bytes())
    except FileNotFoundError:
        return None
    return rows


@contextmanager
def _alone(kept: Path) -> Iterator[None]:
    """One process at a time; the others wait for what it finds."""
    with open(kept.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
