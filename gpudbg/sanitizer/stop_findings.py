"""Turns a launch's early end into findings: bad accesses, impossible barriers."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from gpudbg.sanitizer.findings import CheckFinding

if TYPE_CHECKING:
    from gpudbg.debug.stops.records import ErrorRecord
    from gpudbg.sanitizer.collector import FindingCollector
    from gpudbg.sanitizer.places import AccessPlaces

_BAD_ACCESSES: Final = {
    "MISALIGNED_ADDR": "misaligned", "OOR_ADDR": "out_of_bounds", "MMU_FAULT": "out_of_bounds",
}  # fmt: skip
"""Warp error that is a bad access -> kind of finding."""
_ENDS: Final = {
    "too high": "past_end", "too low": "before_start", "negative": "before_start",
    "outside the block's": "past_end",
}  # fmt: skip
"""Words in an error's detail -> cause of the finding."""
_BAD_BARRIERS: Final = {
    "which is no multiple of 32": "wrong_count", "a WARPSYNC of no lanes": "mask",
}  # fmt: skip
"""Words in a barrier error's detail -> cause of the finding."""


def add_error(
    findings: FindingCollector, error: ErrorRecord, places: AccessPlaces, checks: Collection[str]
) -> bool:
    """Add the error that ended a warp as a finding. Returns whether it is one of the checks'."""
    return ("sync" in checks and _add_barrier(findings, error, places)) or (
        "memory" in checks and _add_access(findings, error, places)
    )


def _add_access(findings: FindingCollector, error: ErrorRecord, places: AccessPlaces) -> bool:
    kind = _BAD_ACCESSES.get(error.name)
    if kind is None or error.space is None:
        return False
    one = places.access_of(
        error.access or "load", error.pc + places.base, error.block or (0, 0, 0),
        error.thread or (0, 0, 0), next(iter(error.lanes), 0), error.warp,
        address=error.address, size=error.size,
    )  # fmt: skip
    ends = (c for words, c in _ENDS.items() if words in error.detail)
    cause = "" if kind == "misaligned" else next(ends, "no_allocation")
    space = "global" if error.space == "generic" else error.space
    text = f"{one.place}: {error.detail or error.nearest or error.name}"
    found = CheckFinding(
        kind, "error", cause, space, None, (one,), allocation=error.nearest, where=text
    )
    findings.add((kind, cause, one.pc), lambda: found, max(len(error.lanes), 1))
    return True


def _add_barrier(findings: FindingCollector, error: ErrorRecord, places: AccessPlaces) -> bool:
    """Add the finding of an operand that no barrier accepts."""
    cause = next((c for words, c in _BAD_BARRIERS.items() if words in error.detail), None)
    if cause is None:
        return False
    pc, lane = error.pc + places.base, next(iter(error.lanes), 0)
    one = places.access_of(
        "barrier", pc, error.block or (0, 0, 0), error.thread or (0, 0, 0), lane, error.warp
    )
    text = f"{one.place}: {error.detail}"
    found = CheckFinding("sync", "error", cause, None, None, (one,), where=text)
    findings.add(("sync", cause, pc), lambda: found)
    return True
