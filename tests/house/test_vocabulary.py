"""The words of the glossary: a private dialect that stood for them does not come back."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.house import sources
from tests.house.sources import Source, parsed

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


def given_names(source: Source) -> Found:
    """Names that code gives: of modules' contents, parameters, attributes and variables."""
    for node in source.nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node.lineno, name
            case ast.ClassDef(name=name) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name


def prose(source: Source) -> Found:
    """Comments, and strings that are statements of their own."""
    for node in source.nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.lineno, str(node.value.value)
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def dialect_of(source: Source) -> list[str]:
    """Where a module speaks the dialect."""
    name = source.name
    names = [(0, Path(name).stem), *given_names(source)]
    found = [
        f"{name}:{line}: {given}"
        for line, given in names
        if given not in NAMES_THAT_STAY and words_of(given) & set(DIALECT)
    ]
    if not PROSE.search(source.text):
        return found
    return found + [
        f"{name}:{line}: {hit.group()}"
        for line, said in prose(source)
        for hit in PROSE.finditer(said)
    ]


DIALECTS = sources.collected(dialect_of)


def test_names_and_docstrings_use_the_words_of_the_glossary() -> None:
    assert DIALECTS() == {}


def test_planted_words_are_found() -> None:
    planted = '"""What is told."""\nclass CopyTold:\n    def look_for(self, team):\n        pass\n'
    assert sorted(
        dialect_of(parsed("gpudbg/sm/doings.py", planted + "SHARES = 1  # nearby\n"))
    ) == [
        "gpudbg/sm/doings.py:0: doings",
        "gpudbg/sm/doings.py:1: told",
        "gpudbg/sm/doings.py:2: CopyTold",
        "gpudbg/sm/doings.py:3: look_for",
        "gpudbg/sm/doings.py:3: team",
        "gpudbg/sm/doings.py:5: SHARES",
        "gpudbg/sm/doings.py:5: nearby",
    ]
    assert dialect_of(parsed("gpudbg/lookup.py", "shared, weekend, always = 1, 2, 3\n")) == []
