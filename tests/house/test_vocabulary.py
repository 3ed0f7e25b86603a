"""The words of the glossary: a private dialect that stood for them does not come back."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DIALECT = "way ways share shares team told stain stained doing doings look nearby ended".split()
"""No name has one of these as a word of its own; the glossary has the terms for what they meant:
path, edge, direction; host threads, a launch's workers; notified, reported; dirty, written;
actions; appearance, inspection; finished, exited, terminated."""
NAMES_THAT_STAY = {"look_at"}
"""A key of `--json`."""
PROSE = re.compile(r"\b(told|teams?|stained|doings|nearby)\b", re.IGNORECASE)
"""No docstring and no comment has these."""

Found = Iterator[tuple[int, str]]


def words_of(name: str) -> set[str]:
    """`CopyTold`, `_copy_told` and `COPY_TOLD` have the words copy and told."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def given_names(tree: ast.AST) -> Found:
    """Names that code gives: of modules' contents, parameters, attributes and variables."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node.lineno, name
            case ast.ClassDef(name=name) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name


def prose(text: str) -> Found:
    """Comments, and strings that are statements of their own."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.lineno, str(node.value.value)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def dialect_of(name: str, text: str) -> list[str]:
    """Where a module, by its name and text, speaks the dialect."""
    names = [(0, Path(name).stem), *given_names(ast.parse(text))]
    found = [
        f"{name}:{line}: {given}"
        for line, given in names
        if given not in NAMES_THAT_STAY and words_of(given) & set(DIALECT)
    ]
    return found + [
        f"{name}:{line}: {hit.group()}"
        for line, said in prose(text)
        for hit in PROSE.finditer(said)
    ]


@pytest.mark.parametrize("folder", ["gpudbg", "plugins"])
def test_names_and_docstrings_use_the_words_of_the_glossary(folder: str) -> None:
    found = []
    for file in sorted((ROOT / folder).rglob("*.py")):
        found += dialect_of(file.relative_to(ROOT).as_posix(), file.read_text())
    assert found == []


def test_planted_words_are_found() -> None:
    planted = '"""What is told."""\nclass CopyTold:\n    def look_for(self, team):\n        pass\n'
    assert sorted(dialect_of("gpudbg/sm/doings.py", planted + "SHARES = 1  # nearby\n")) == [
        "gpudbg/sm/doings.py:0: doings",
        "gpudbg/sm/doings.py:1: told",
        "gpudbg/sm/doings.py:2: CopyTold",
        "gpudbg/sm/doings.py:3: look_for",
        "gpudbg/sm/doings.py:3: team",
        "gpudbg/sm/doings.py:5: SHARES",
        "gpudbg/sm/doings.py:5: nearby",
    ]
    assert dialect_of("gpudbg/lookup.py", "shared, weekend, always = 1, 2, 3\n") == []
