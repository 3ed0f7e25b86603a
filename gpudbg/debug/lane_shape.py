"""What 32 values have in common, as a word, levels for a bar, and the lanes that stand out.

Only active lanes count.  The words are a closed set: `uniform`, `uniform in a`, `416+lane`,
`base+4·lane`, `3 values`, `2..60`, each with `× 12` for an outlier lane.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LANES = 32
LEVELS = 7
OUTLIER_SPREADS = 8
MIN_LANES = 8
"""Fewer active lanes have no outliers."""
WORDS_WIDTH = 11
"""A range longer than this is given as a count."""
FEW_VALUES = 6
"""Up to so many different values are counted; more are given as a range."""


@dataclass(frozen=True, slots=True)
class LaneShape:
    """Shape of 32 values.

    Attributes:
        words: what the values have in common.
        levels: per lane 0..6, the height of its bar over the active lanes without outliers.
        flat: every active lane holds the same value.
        odd: lanes (a mask) whose value is far from all others.
        kind: how the words read the bits: u, i or f.
    """

    words: str
    levels: tuple[int, ...]
    flat: bool
    odd: int
    kind: str


def guess_kind(values: NDArray[np.uint32]) -> str:
    """How a register's bits read best: i (small or negative numbers), f (floats), u (the rest)."""
    used = values[values != 0]
    if not used.size:
        return "i"
    small = (used < 1 << 20) | (used >= (1 << 32) - (1 << 20))
    if small.sum() * 2 >= used.size:
        return "i"
    exponent = (used >> np.uint32(23)) & np.uint32(0xFF)
    return "f" if ((exponent > 95) & (exponent < 159)).sum() * 4 >= used.size * 3 else "u"


def as_kind(values: NDArray[np.uint32], kind: str) -> NDArray[np.float64]:
    """The bits as numbers: exact for integers of 32 bits."""
    bits = np.ascontiguousarray(values, np.uint32)
    view = {"i": bits.view(np.int32), "f": bits.view(np.float32), "u": bits}[kind]
    with np.errstate(invalid="ignore", over="ignore"):
        return view.astype(np.float64)


def shape(values: NDArray[np.float64], active: int, everyone: int, kind: str = "i") -> LaneShape:
    """The shape of 32 numbers.

    Args:
        values: shape (32,).
        active: mask of the lanes that count; `everyone` of those that exist.
        kind: u, i or f, for the way numbers are written.
    """
    lanes = np.array([i for i in range(LANES) if active >> i & 1], np.int64)
    if not lanes.size:
        return LaneShape("no lane", (0,) * LANES, True, 0, kind)
    clean = np.nan_to_num(values, nan=0.0, posinf=3.4e38, neginf=-3.4e38)
    chosen = clean[lanes]
    odd = _outliers(chosen, lanes)
    kept = chosen[[not odd >> int(n) & 1 for n in lanes]]
    low, high = float(kept.min()), float(kept.max())
    span = high - low
    scaled = np.clip((clean - low) / span, 0, 1) * (LEVELS - 1) if span else np.zeros(LANES)
    levels = tuple(round(float(v)) for v in scaled)
    flat = bool((chosen == chosen[0]).all())
    words = _words(chosen, kept, lanes, kind, flat, clean, everyone & ~active)
    if odd:
        marks = ", ".join(str(n) for n in range(LANES) if odd >> n & 1)
        words = f"{words}  × {marks}"
    return LaneShape(words, levels, flat, odd, kind)


def _outliers(chosen: NDArray[np.float64], lanes: NDArray[np.int64]) -> int:
    """Lanes over eight median deviations from the median; at most one lane in twelve."""
    if chosen.size < MIN_LANES or (chosen == chosen[0]).all():
        return 0
    far = np.abs(chosen - _median(chosen))
    spread = max(_median(far), 1.0)
    found = lanes[far > OUTLIER_SPREADS * spread]
    if not 0 < found.size <= max(chosen.size // 12, 1):
        return 0
    return sum(1 << int(n) for n in found)


def _median(values: NDArray[np.float64]) -> float:
    """As np.median, which takes longer for so few numbers than everything else here."""
    ordered = np.sort(values)
    return float(ordered[(ordered.size - 1) // 2] + ordered[ordered.size // 2]) / 2


def _words(
    chosen: NDArray[np.float64],
    kept: NDArray[np.float64],
    lanes: NDArray[np.int64],
    kind: str,
    flat: bool,
    values: NDArray[np.float64],
    others: int,
) -> str:
    if flat:
        same = all(values[i] == chosen[0] for i in range(LANES) if others >> i & 1)
        return "uniform" if same else "uniform in a"
    if len(kept) == len(chosen) and len(chosen) > 2:
        step = (chosen[1] - chosen[0]) / (lanes[1] - lanes[0])
        base = chosen[0] - step * lanes[0]
        if step and np.array_equal(base + step * lanes, chosen):
            return _affine(base, step, kind)
    distinct = np.unique(kept).size
    if distinct == 1:
        return f"all {number(float(kept[0]), kind)} but"
    if distinct <= FEW_VALUES:
        return f"{distinct} values"
    text = f"{number(float(kept.min()), kind)}..{number(float(kept.max()), kind)}"
    return text if len(text) <= WORDS_WIDTH else f"{distinct} values"


def _affine(base: float, step: float, kind: str) -> str:
    lane = "lane" if step == 1 else f"{number(step, kind)}·lane"
    if not base:
        return lane
    if kind == "u" or abs(base) > 999_999:
        return f"base+{lane}"
    return f"{number(base, kind)}+{lane}"


def number(value: float, kind: str) -> str:
    """A number in few characters."""
    if kind == "f":
        return f"{value:.4g}"
    if abs(value) >= 1 << 24:
        return f"{int(value) & 0xFFFFFFFFFFFFFFFF:x}"
    return str(int(value))
