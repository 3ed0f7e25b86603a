"""Feature levels that a host can stand for, so that its compiled code is that of an older one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gpudbg.sm.engines.llvm import build, program, workers

LEVELS = {
    "x86-64-v3": "+avx2,+fma,+f16c",
    "znver1": "+avx2,+fma,+f16c,-sse4a",
    "x86-64-v2": "+sse4.2,+popcnt",
}
"""Feature levels -> what they have of what our code asks for; of one maker's, what others lack is
left out."""


def has(level: str) -> bool:
    """Whether this host has what a level has."""
    asked = {name for name in LEVELS[level].split(",") if name.startswith("+")}
    return asked <= set(build.host().features.split(","))


def stand_for(level: str) -> None:
    """Have compiled code be for a host of a level, in this process from now on."""
    host = build.BuildHost(build.host().triple, level, LEVELS[level])
    build.host = lambda: host  # type: ignore[assignment]


def _forget() -> None:
    """Have all code be made anew."""
    for cached in (build._machine, build._library, workers._functions, workers._loop):
        cached.cache_clear()
    program._programs.clear()


@contextmanager
def standing_for(level: str) -> Iterator[None]:
    """Context: as `stand_for`; this host has more, or as much."""
    kept = build.host
    stand_for(level)
    _forget()
    try:
        yield
    finally:
        build.host = kept
        _forget()
