"""Answers as JSON: one way for every `--json`, and the published schema of what comes out.

NumPy numbers and arrays become numbers and lists, sets become sorted lists, bytes hexadecimal
text.  JSON has no infinity and no NaN: such floats become the strings "inf", "-inf" and "nan".
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

import numpy as np

LONG = 256
"""A list of more than so many numbers stands in one line, which is written much quicker."""


def dumps(data: Any, indent: int | None = None) -> str:
    """Data of a command or verb as JSON text."""
    made = plain(data)
    if indent is None:
        return json.dumps(made, allow_nan=False)
    return "".join(_indented(made, " " * indent, "\n"))


def _indented(value: Any, step: str, line: str) -> Iterator[str]:
    """Pieces of the text, an element a line as `json.dumps(value, indent=…)` has it."""
    if not value or not isinstance(value, dict | list) or _is_long_row(value):
        yield json.dumps(value, allow_nan=False)
        return
    opened, closed = "{}" if isinstance(value, dict) else "[]"
    yield opened
    inner = line + step
    for number, item in enumerate(value):
        yield "," + inner if number else inner
        if isinstance(value, dict):
            yield json.dumps(item) + ": "
            item = value[item]
        yield from _indented(item, step, inner)
    yield line + closed


def _is_long_row(value: dict[str, Any] | list[Any]) -> bool:
    if isinstance(value, dict) or len(value) <= LONG:
        return False
    return {dict, list}.isdisjoint(map(type, value))


def plain(value: Any) -> Any:
    """The same data in JSON's own types."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, set | frozenset):
        return [plain(v) for v in sorted(value)]
    if isinstance(value, bytes):
        return value.hex()
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind in tuple("biu") or (kind == "f" and bool(np.isfinite(value).all())):
        return value.tolist()
    for name in ("to_json", "tolist"):
        if hasattr(value, name):
            return plain(getattr(value, name)())
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    return str(value)


def schema() -> dict[str, Any]:
    """The JSON Schema of `--json`: records of the console, data by command, output of verbs."""
    from importlib.resources import files

    found: dict[str, Any] = json.loads(files("gpudbg.debug").joinpath("schema.json").read_text())
    return found
