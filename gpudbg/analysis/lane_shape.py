"""What 32 values have in common, as a word, levels for a bar, and the lanes that stand out.

Only active lanes count.  The words are a closed set: `uniform`, `uniform in a`, `416+lane`,
`base+4·lane`, `3 values`, `2..60`, `all NaN`, each with `× 12` for an outlier lane.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpudbg.dataclass import dataclass

LANES = 32
LEVELS = 7
OUTLIER_SPREADS = 8
MIN_LANES = 8
"""Fewer active lanes have no outliers."""
VIEWS = {"i": np.dtype(np.int32), "f": np.dtype(np.float32), "u": np.dtype(np.uint32)}
"""Kind -> how a register is seen as it."""
WORDS_WIDTH = 11
"""A range longer than this is given as a count."""
SPECIAL_FLOATS = np.array([0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000], np.uint32)
"""Bits of the infinities, and of the NaNs that hosts make."""
FEW_VALUES = 6
"""Up to so many different values are counted; more are given as a range."""


@dataclass(frozen=True, slots=True)
class LaneShape:
    """Shape of 32 values.

    Attributes:
        words: what the values have in common.
        levels: per lane 0..6, the height of its bar over the active lanes without outliers.
        flat: every active lane holds the same value.
        odd: lanes (a mask) whose value is far from all others, and those with NaN or infinity.
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
    plain = ((exponent > 95) & (exponent < 159)).sum()
    if plain:
        # The NaN that arithmetic makes is an integer's greatest value as well.
        plain += (used == 0x7FFFFFFF).sum()
    return "f" if (plain + np.isin(used, SPECIAL_FLOATS).sum()) * 4 >= used.size * 3 else "u"


def as_kind(values: NDArray[np.uint32], kind: str) -> NDArray[Any]:
    """The bits as numbers of 32 bits: int32, float32 or uint32."""
    return np.ascontiguousarray(values, np.uint32).view(VIEWS[kind])


def shape(values: NDArray[Any], active: int, everyone: int, kind: str = "i") -> LaneShape:
    """The shape of 32 numbers.

    NaN and infinities stand out in whatever number, and are no part of a range.

    Args:
        values: shape (32,), of any number type: 64-bit integers are compared exactly.
        active: mask of the lanes that count; `everyone` of those that exist.
        kind: u, i or f, for the way numbers are written.
    """
    lanes = np.array([i for i in range(LANES) if active >> i & 1], np.int64)
    if not lanes.size:
        return LaneShape("no lane", (0,) * LANES, True, 0, kind)
    exact = comparable(values, kind)
    numbers = _wide(values)
    finite = np.isfinite(numbers)
    good = lanes[finite[lanes]]
    strange = sum(1 << int(n) for n in lanes[~finite[lanes]])
    odd = strange | _outliers(numbers[good], good)
    kept = np.array([n for n in lanes if not odd >> int(n) & 1], np.int64)
    levels = _levels(numbers, finite, kept)
    same = exact == exact[lanes[0]]
    flat = bool(same[lanes].all())
    if flat:
        alone = all(same[i] for i in range(LANES) if (everyone & ~active) >> i & 1)
        words = "uniform" if alone else "uniform in a"
        if strange:
            words = f"all {_strange_words(numbers[lanes])}"
        return LaneShape(words, levels, True, odd, kind)
    words = _words(exact, numbers, lanes, kept, kind) if kept.size else ""
    words = words or f"all {_strange_words(numbers[lanes])}"
    if odd and kept.size:
        words = f"{words}  × {_ranges(odd)}"
    return LaneShape(words, levels, False, odd, kind)


def _wide(values: NDArray[Any]) -> NDArray[np.float64]:
    """As double-precision numbers; a signalling NaN is one of them, and no reason to warn."""
    with np.errstate(invalid="ignore"):
        return values.astype(np.float64)


def comparable(values: NDArray[Any], kind: str) -> NDArray[Any]:
    """Numbers to compare bit by bit: 0 is not -0, but one NaN is like another."""
    if values.dtype.kind != "f":
        return values
    wide = _wide(values)
    if kind != "f" and np.isfinite(wide).all():
        return wide.astype(np.int64)
    return np.where(np.isnan(wide), np.nan, wide).view(np.int64)


def _strange_words(values: NDArray[np.float64]) -> str:
    names = {"NaN": np.isnan(values), "inf": np.isposinf(values), "-inf": np.isneginf(values)}
    return ", ".join(name for name, found in names.items() if found.any())


def _levels(
    numbers: NDArray[np.float64], finite: NDArray[np.bool_], kept: NDArray[np.int64]
) -> tuple[int, ...]:
    """Heights of the bars over the range of the lanes `kept`."""
    if not kept.size:
        return (0,) * LANES
    # A quarter of each, so that no range of doubles overflows.
    clean = np.where(finite, numbers, 0.0) / 4
    low, high = clean[kept].min(), clean[kept].max()
    if high == low:
        return (0,) * LANES
    scaled = np.clip((clean - low) / (high - low), 0, 1) * (LEVELS - 1)
    return tuple(round(float(v)) for v in np.where(finite, scaled, 0))


def _outliers(chosen: NDArray[np.float64], lanes: NDArray[np.int64]) -> int:
    """Lanes over eight median deviations from the median; at most one lane in twelve."""
    if chosen.size < MIN_LANES or (chosen == chosen[0]).all():
        return 0
    with np.errstate(over="ignore"):
        far = np.abs(chosen - _median(chosen))
    spread = max(_median(far), 1.0)
    found = lanes[far > OUTLIER_SPREADS * spread]
    if not 0 < found.size <= max(chosen.size // 12, 1):
        return 0
    return sum(1 << int(n) for n in found)


def _median(values: NDArray[np.float64]) -> float:
    """As np.median, which takes longer for so few numbers than everything else here."""
    ordered = np.sort(values)
    return float(ordered[(ordered.size - 1) // 2] / 2 + ordered[ordered.size // 2] / 2)


def _distinct(values: NDArray[Any]) -> int:
    """As the size of np.unique, which imports numpy.ma."""
    ordered = np.sort(values)
    return ordered.size - int((ordered[1:] == ordered[:-1]).sum())


def _words(
    exact: NDArray[Any],
    numbers: NDArray[np.float64],
    lanes: NDArray[np.int64],
    kept: NDArray[np.int64],
    kind: str,
) -> str:
    """What the lanes `kept` have in common, where not all lanes are the same."""
    if len(kept) == len(lanes) and len(lanes) > 2:
        words = _affine_words(exact, numbers, lanes, kind)
        if words:
            return words
    distinct = _distinct(exact[kept])
    if distinct == 1:
        return f"all {_shown(exact, numbers, int(kept[0]), kind)} but"
    if distinct <= FEW_VALUES:
        return f"{distinct} values"
    low, high = kept[np.argmin(numbers[kept])], kept[np.argmax(numbers[kept])]
    text = "..".join(_shown(exact, numbers, int(n), kind) for n in (low, high))
    return text if len(text) <= WORDS_WIDTH else f"{distinct} values"


def _shown(exact: NDArray[Any], numbers: NDArray[np.float64], lane: int, kind: str) -> str:
    return number(float(numbers[lane]) if kind == "f" else int(exact[lane]), kind)


def _affine_words(
    exact: NDArray[Any], numbers: NDArray[np.float64], lanes: NDArray[np.int64], kind: str
) -> str:
    """`416+lane`, where the values are a line over the lanes; empty where they are not."""
    one, two = int(lanes[0]), int(lanes[1])
    if kind == "f":
        with np.errstate(over="ignore", invalid="ignore"):
            step = (numbers[two] - numbers[one]) / (two - one)
            base = numbers[one] - step * one
            line = base + step * lanes
        fits = bool(np.isfinite(step)) and np.array_equal(line, numbers[lanes])
        return _affine(float(base), float(step), kind) if step and fits else ""
    found = line_of(exact[lanes].tolist(), lanes.tolist())
    return _affine(*found, kind) if found else ""


def line_of(values: list[int], lanes: list[int]) -> tuple[int, int] | None:
    """(value at lane 0, step) of integers that are a line over the lanes; None where they are not.

    Plain integers: no width that could wrap.
    """
    if len(lanes) < 2:
        return None
    step = (values[1] - values[0]) // (lanes[1] - lanes[0])
    base = values[0] - step * lanes[0]
    fits = all(v == base + step * n for v, n in zip(values, lanes, strict=True))
    return (base, step) if step and fits else None


def _affine(base: float, step: float, kind: str) -> str:
    lane = "lane" if step == 1 else f"{number(step, kind)}·lane"
    if not base:
        return lane
    if kind == "u" or abs(base) > 999_999:
        return f"base+{lane}"
    return f"{number(base, kind)}+{lane}"


def strange_words(values: NDArray[Any], lanes: list[int]) -> str:
    """`NaN in lane 28, inf in lanes 0-3`: lanes with no finite number; empty where all have one."""
    if values.dtype.kind != "f":
        return ""
    chosen = {n: float(values[n]) for n in lanes}
    names = {n: str(value) for n, value in chosen.items() if value - value != 0}
    out = []
    for text, name in (("nan", "NaN"), ("inf", "inf"), ("-inf", "-inf")):
        mask = sum(1 << n for n, found in names.items() if found == text)
        if mask:
            out.append(f"{name} in lane{'s' if mask & (mask - 1) else ''} {_ranges(mask)}")
    return ", ".join(out)


def _ranges(mask: int) -> str:
    """`3, 8-31`: the lanes of a mask."""
    lanes = [i for i in range(LANES) if mask >> i & 1]
    parts: list[list[int]] = []
    for lane in lanes:
        if parts and lane == parts[-1][-1] + 1:
            parts[-1].append(lane)
        else:
            parts.append([lane])
    return ", ".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts)


def number(value: float, kind: str) -> str:
    """A number in few characters."""
    if kind == "f":
        return f"{value:.4g}"
    if abs(value) >= 1 << 24:
        return f"{int(value) & 0xFFFFFFFFFFFFFFFF:x}"
    return str(int(value))
