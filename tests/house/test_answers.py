"""Commands answer with records: text and data are made from them, not beside them."""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import gpudbg
from gpudbg.answers import Card, Listing, lines_of
from gpudbg.debug.commands.families import load
from tests.variants import rows

ROOT = Path(gpudbg.__file__).parent
ANSWERS = {"Answer", "Table", "Listing", "Card", "Notice", "Printed", "Sections", "NoReturn"}
RENDERED = ("Card", "Listing")


def calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    for file in sorted(ROOT.rglob("*.py")):
        text = file.read_text()
        if f"{name}(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                if node.func.id == name:
                    yield file.relative_to(ROOT).as_posix(), node


def ignores(value: ast.expr) -> bool:
    """Whether an argument is a function that does not look at what it is given."""
    return isinstance(value, ast.Lambda) and [a.arg for a in value.args.args] == ["_"]


def beside() -> Counter[str]:
    found: Counter[str] = Counter()
    for name in RENDERED:
        for file, call in calls(name):
            given = [*call.args, *(k.value for k in call.keywords)]
            found[file] += sum(map(ignores, given))
    return +found


def test_no_answer_is_a_pair_of_lines_and_data() -> None:
    pairs = [file for file, call in calls("Output") if len(call.args) + len(call.keywords) > 1]
    assert pairs == []


def test_no_lines_stand_beside_their_record() -> None:
    assert dict(beside()) == {}


@rows("command", load().commands, ids=lambda c: str(c.name))
def test_a_command_says_which_answer_it_gives(command: object) -> None:
    handler = command.handler  # type: ignore[attr-defined]
    said = str(inspect.signature(handler).return_annotation)
    assert set(said.replace("|", " ").split()) <= ANSWERS


def test_an_element_is_one_line_although_a_value_takes_several() -> None:
    """A structure printed with `set print pretty`, a message with a newline in it."""
    shown = lambda value: f"x = {value}"  # noqa: E731
    assert lines_of(Listing(("{\n  a = 1\n}",), shown)) == ["x = {", "  a = 1", "}"]
    assert lines_of(Card("two\nlines", lambda text: [text])) == ["two", "lines"]
