"""Builds of one kernel for several architectures: a run takes some in turn, a campaign all.

GPUDBG_ALL_VARIANTS=1 in the environment (`make fuzz`) takes every variant.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

T = TypeVar("T")

ALL = bool(os.environ.get("GPUDBG_ALL_VARIANTS"))


def in_turn(variants: Iterable[T], what: Callable[[T], Hashable], count: int = 1) -> list[T]:
    """`count` variants of each thing, beginning at a different one for each; with ALL, every one.

    Args:
        variants: of all things, in any order.
        what: the thing that a variant is one of; its text decides where to begin.
        count: of variants of one thing.
    """
    things: dict[Hashable, list[T]] = {}
    for variant in variants:
        things.setdefault(what(variant), []).append(variant)
    if ALL:
        return [variant for found in things.values() for variant in found]
    return [variant for thing, found in things.items() for variant in _some(thing, found, count)]


def _some(thing: Hashable, found: list[T], count: int) -> list[T]:
    start = zlib.crc32(str(thing).encode())
    return [found[(start + n) % len(found)] for n in range(min(count, len(found)))]
