"""Answers as JSON: one way for every `--json`, and the published schema of what comes out.

NumPy numbers and arrays become numbers and lists, sets become sorted lists, bytes hexadecimal
text.  JSON has no infinity and no NaN: such floats become the strings "inf", "-inf" and "nan".
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any


def dumps(data: Any, indent: int | None = None) -> str:
    """Data of a command or verb as JSON text."""
    return json.dumps(plain(data), indent=indent, allow_nan=False)


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
    if getattr(getattr(value, "dtype", None), "kind", "") in tuple("biu"):
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
