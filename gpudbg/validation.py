"""What callers of the Python API gave, checked by the name of the parameter.

Without these a wrong type shows as an exception from deep inside the machine, or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpudbg.errors import UsageError


def whole(value: Any, name: str, least: int | None = None, most: int | None = None) -> int:
    """An integer, NumPy's included; no bool, no float.

    Raises:
        UsageError: something else, or outside its range.
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise UsageError(f"{name} must be an integer{_range(least, most)}, not {_shown(value)}")
    number = int(value)
    if (least is not None and number < least) or (most is not None and number > most):
        raise UsageError(f"{name} must be an integer{_range(least, most)}, not {number}")
    return number


def maybe_whole(value: Any, name: str, least: int | None = None) -> int | None:
    """The same, where None stands for "not given"."""
    return None if value is None else whole(value, name, least)


def text(value: Any, name: str, example: str = "") -> str:
    """A text.

    Raises:
        UsageError: something else.
    """
    if not isinstance(value, str):
        words = f", such as {example!r}" if example else ""
        raise UsageError(f"{name} must be a text{words}, not {_shown(value)}")
    return value


def one_of(value: Any, name: str, known: Sequence[str]) -> str:
    """One of some words.

    Raises:
        UsageError: none of them; what was probably meant is named.
    """
    if value in known and isinstance(value, str):
        return value
    raise UsageError(f"{name} must be one of {', '.join(known)}, not {_shown(value)}")


def function(value: Any, name: str) -> Any:
    """Something that can be called.

    Raises:
        UsageError: something else.
    """
    if not callable(value):
        raise UsageError(f"{name} must be a function, not {_shown(value)}")
    return value


def words(value: Any, name: str, example: str) -> list[str]:
    """A list of texts; a text alone is none.

    Raises:
        UsageError: something else.
    """
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise UsageError(f"{name} must be a list of texts, such as {example}, not {_shown(value)}")
    return [
        os.fspath(item) if isinstance(item, os.PathLike) else text(item, name) for item in value
    ]


def index3(value: Any, name: str) -> tuple[int, int, int]:
    """A blockIdx or threadIdx from an integer or up to three; those left out are 0.

    Raises:
        UsageError: something else.
    """
    numbers = list(value) if isinstance(value, tuple | list | np.ndarray) else [value]
    if not 1 <= len(numbers) <= 3:
        raise UsageError(f"{name} must be an integer or up to three, not {_shown(value)}")
    x, y, z = [*(whole(n, name, 0) for n in numbers), 0, 0][:3]
    return x, y, z


def _range(least: int | None, most: int | None) -> str:
    if least is not None and most is not None:
        return f" from {least} to {most}"
    return f" of at least {least}" if least is not None else ""


def _shown(value: Any) -> str:
    """A wrong value for a message: short, with its type where that is what is wrong."""
    words = repr(value)
    kind = type(value).__name__
    return f"{words[:60]} ({kind})" if len(words) <= 60 else f"a {kind}"
