"""Feature levels that a host can stand for, so that its compiled code is that of an older one."""

from __future__ import annotations

from gpudbg.sm.engines.llvm import build

LEVELS = {"x86-64-v3": "+avx2,+fma,+f16c", "x86-64-v2": "+sse4.2,+popcnt"}
"""Feature levels -> what they have of what our code asks for."""


def has(level: str) -> bool:
    """Whether this host has what a level has."""
    return set(LEVELS[level].split(",")) <= set(build.host().features.split(","))


def stand_for(level: str) -> None:
    """Have compiled code be for a host of a level, in this process from now on."""
    host = build.BuildHost(build.host().triple, level, LEVELS[level])
    build.host = lambda: host  # type: ignore[assignment]
