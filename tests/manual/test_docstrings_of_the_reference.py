"""What the Python reference shows says more than a name does."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import gpudbg
from gpudbg.manual.reference.python_api import DATA, in_text, names


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """Methods and properties that a class itself has, as the reference lists them."""
    for name, value in vars(kind).items():
        found = getattr(value, "__func__", value)
        if not name.startswith("_") and (inspect.isfunction(found) or isinstance(value, property)):
            yield f"{kind.__name__}.{name}", found


def _public() -> Iterator[tuple[str, Any]]:
    for name in names():
        thing = getattr(gpudbg, name)
        yield name, thing
        if inspect.isclass(thing):
            yield from _members(thing)


def test_every_public_name_has_a_docstring_that_says_something() -> None:
    short = [
        name
        for name, thing in _public()
        if name not in DATA and len((inspect.getdoc(thing) or "").split()) < 3
    ]
    assert short == []


def test_functions_say_what_their_arguments_are() -> None:
    """A public function names each of its arguments in its docstring."""
    missing = []
    for name in names():
        thing = getattr(gpudbg, name)
        if inspect.isfunction(thing):
            text = inspect.getdoc(thing) or ""
            missing += [
                f"{name}({argument})"
                for argument in inspect.signature(thing).parameters
                if argument not in text
            ]
    assert missing == []


def test_hooks_and_entries_say_what_they_are_given() -> None:
    """Each hook of `Observer` and each `note` of `TraceLog` that takes something but a warp."""
    for kind in (gpudbg.Observer, gpudbg.TraceLog):
        for name, thing in _members(kind):
            if isinstance(thing, property):
                continue
            given = [a for a in inspect.signature(thing).parameters if a not in ("self", "warp")]
            text = inspect.getdoc(thing) or ""
            assert not given or len(text.split()) > 10, name


def test_words_for_stops_are_explained() -> None:
    text = in_text("StopKind").replace("\\_", "_")
    for word in ("exited", "warp_error", "deadlock"):
        assert text.count(word) == 2
