"""What stands out in whole arrays: values that are no finite numbers, counted without a copy."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpudbg.dataclass import dataclass

PIECE = 1 << 20
"""Elements looked at at a time: no array of booleans as long as a large buffer is made."""


@dataclass(frozen=True, slots=True)
class NotFinite:
    """NaN and infinities of an array of floats.

    Attributes:
        nan, inf: how many there are; `inf` counts both signs.
        first_nan, first_inf: index of the first, counted in memory order; None without one.
    """

    nan: int = 0
    inf: int = 0
    first_nan: int | None = None
    first_inf: int | None = None

    def __bool__(self) -> bool:
        return bool(self.nan or self.inf)

    def __str__(self) -> str:
        """`2 NaN, first 17  1 inf, first 3`; empty where all are finite."""
        kinds = (("NaN", self.nan, self.first_nan), ("inf", self.inf, self.first_inf))
        return "  ".join(f"{n:,} {name}, first {at:,}" for name, n, at in kinds if n)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "nan": self.nan,
            "first_nan": self.first_nan,
            "inf": self.inf,
            "first_inf": self.first_inf,
        }


NOTHING = NotFinite()


def not_finite(array: NDArray[Any]) -> NotFinite:
    """The NaNs and infinities of a whole array, of any shape."""
    if array.dtype.kind not in "fc":
        return NOTHING
    flat = array.reshape(-1)
    counts = {"nan": 0, "inf": 0}
    firsts: dict[str, int | None] = {"nan": None, "inf": None}
    for start in range(0, flat.size, PIECE):
        piece = flat[start : start + PIECE]
        if np.isfinite(piece).all():
            continue
        for name, test in (("nan", np.isnan), ("inf", np.isinf)):
            at = np.flatnonzero(test(piece))
            counts[name] += len(at)
            if len(at) and firsts[name] is None:
                firsts[name] = start + int(at[0])
    return NotFinite(counts["nan"], counts["inf"], firsts["nan"], firsts["inf"])


def means(array: NDArray[Any], parts: int) -> tuple[float, ...]:
    """The means of an array's parts in memory order; NaN where a part has a value not finite."""
    flat = array.reshape(-1)
    if not flat.size or flat.dtype.kind not in "iufb":
        return ()
    parts = min(parts, flat.size)
    edges = [flat.size * n // parts for n in range(parts + 1)]
    return tuple(_mean(flat[a:b]) for a, b in pairwise(edges))


def _mean(part: NDArray[Any]) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        found = float(part.mean(dtype=np.float64))
        if not np.isfinite(found) and np.isfinite(part).all():
            found = float((part.astype(np.float64) / len(part)).sum())
    return found if np.isfinite(found) else float("nan")


def differing(old: NDArray[np.uint8], new: NDArray[np.uint8], size: int) -> NDArray[np.bool_]:
    """Which elements of `size` bytes differ, bit by bit: a NaN that stays has not changed."""
    word = next((w for w in (8, 4, 2, 1) if size % w == 0), 1)
    one, two = (v.view(f"u{word}").reshape(-1, size // word) for v in (old, new))
    found: NDArray[np.bool_] = (one != two).any(axis=1) if size > word else (one != two)[:, 0]
    return found
