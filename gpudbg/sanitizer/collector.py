"""Findings of a run: equal ones merged and counted."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace

from gpudbg.sanitizer.findings import SEVERITIES, CheckFinding


class FindingCollector:
    """Keeps the first finding of each key, and how often it was seen.

    Attributes:
        most: so many findings are kept at most; `full` once there are as many.
        launch: number of the launch that runs.
    """

    def __init__(self, most: int = 1000) -> None:
        self.most = most
        self.launch = 0
        self._found: dict[Hashable, CheckFinding] = {}
        self._counts: dict[Hashable, list[int]] = {}

    @property
    def full(self) -> bool:
        """Whether a new finding would not be kept."""
        return len(self._found) >= self.most

    def seen(self, key: Hashable, count: int = 1, amount: int = 0) -> bool:
        """Count another occurrence of a known finding. Returns False where it is new."""
        held = self._counts.get(key)
        if held is None:
            return self.full
        held[0] += count
        held[1] += amount
        return True

    def add(self, key: Hashable, make: Callable[[], CheckFinding], count: int = 1) -> None:
        """Count a finding, making it on its first occurrence."""
        if not self.seen(key, count):
            made = self._found[key] = replace(make(), launch=self.launch)
            self._counts[key] = [count, made.bytes]

    def worsen(self, key: Hashable, make: Callable[[], CheckFinding]) -> None:
        """Replace a finding by a more severe one; its count stays."""
        self._found[key] = replace(make(), launch=self._found[key].launch)

    def get(self, key: Hashable) -> CheckFinding | None:
        """A finding that was seen; its count is in `sorted`."""
        return self._found.get(key)

    def keys(self) -> set[Hashable]:
        """Of all findings."""
        return set(self._found)

    def sorted(self) -> tuple[CheckFinding, ...]:
        """The most severe first, then by first occurrence."""
        found = [
            replace(finding, count=self._counts[key][0], bytes=self._counts[key][1])
            for key, finding in self._found.items()
        ]
        return tuple(sorted(found, key=lambda f: SEVERITIES.index(f.severity)))
