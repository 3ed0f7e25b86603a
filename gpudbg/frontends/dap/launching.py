"""A `launch` configuration as the launch flags that every front end has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpudbg.api import launch_parser, open_session
from gpudbg.errors import UsageError
from gpudbg.frontends.dap.protocol import Body

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession

SHAPES = ("grid", "block", "cluster")
TEXTS = {"kernel": "--kernel", "launchTable": "--launch", "arch": "--arch", "engine": "--engine"}
NUMBERS = {"shared": "--shared", "seed": "--seed", "numSMs": "--num-sms"}
LISTS = {"symbols": "--symbol", "outputs": "--output", "flags": ""}
"""Keys of a configuration -> flags; `flags` are words as they are."""


def open_configured(configuration: Body) -> DebugSession:
    """The session that a configuration describes.

    Raises:
        GpudbgError: a key of another type, an unreadable program, a launch that does not fit.
    """
    program = configuration.get("program")
    if not isinstance(program, str) or not program:
        raise UsageError("launch: `program` is missing", '"program": "${workspaceFolder}/k.cubin"')
    folder = configuration.get("cwd")
    if isinstance(folder, str) and folder:
        program = str(Path(folder) / program)
    words = list(flags_of(configuration))
    session = open_session(program, launch_parser().parse_args(words))
    for old, new in _pairs(configuration.get("sourceMap")):
        session.sources.substitute(old, new)
    session.sources.add_directories([*_words(configuration, "sourcePath")])
    return session


def flags_of(configuration: Body) -> Iterator[str]:
    """The launch flags of a configuration."""
    for key in SHAPES:
        if key in configuration:
            yield from (f"--{key}", _shape(key, configuration[key]))
    for key, flag in (TEXTS | NUMBERS).items():
        value = configuration.get(key)
        if value is None:
            continue
        wanted = str if key in TEXTS else int
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise UsageError(f"launch: {key} {value!r} is no {wanted.__name__}")
        yield from (flag, str(value))
    for argument in _arguments(configuration.get("args")):
        yield from ("--arg", argument)
    for key, flag in LISTS.items():
        for word in _words(configuration, key):
            yield from ((flag, word) if flag else (word,))


def _shape(key: str, value: Any) -> str:
    numbers = value if isinstance(value, list) else [value]
    if isinstance(value, str):
        return value
    if not numbers or not all(isinstance(n, int) and not isinstance(n, bool) for n in numbers):
        raise UsageError(f"launch: {key} {value!r} is no size", f'"{key}": [2, 1, 1]')
    return ",".join(map(str, numbers))


def _arguments(value: Any) -> Iterator[str]:
    """Arguments by position (a list), or by name (an object)."""
    if value is None:
        return
    if isinstance(value, dict):
        yield from (f"{name}={given}" for name, given in value.items())
        return
    if not isinstance(value, list):
        raise UsageError("launch: args is neither a list nor an object", '"args": ["i32:5"]')
    yield from map(str, value)


def _words(configuration: Body, key: str) -> list[str]:
    value = configuration.get(key) or []
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise UsageError(f"launch: {key} is no list of texts")
    return value


def _pairs(value: Any) -> Iterator[tuple[str, str]]:
    if value is None:
        return
    if not isinstance(value, dict):
        raise UsageError("launch: sourceMap is no object", '"sourceMap": {"/build": "/src"}')
    yield from ((str(old), str(new)) for old, new in value.items())
