"""What a check looks for and how: one table for `gpudbg.check`, its flags and the checks of a
session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from gpudbg import validation
from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError
from gpudbg.sanitizer.findings import CHECKS, DEFAULT_CHECKS, SEVERITIES, Severity

WORDS: Final = {
    "init": ("use", "load"),
    "volatile": ("relaxed", "data"),
    "views": ("error", "warning", "ignore"),
    "fail_on": SEVERITIES,
}
"""Of settings that are words: which there are."""


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """The keywords of `gpudbg.check`, which explains them, with their defaults."""

    checks: Sequence[str] = DEFAULT_CHECKS
    performance: bool = False
    portability: bool = False
    init: str = "use"
    volatile: str = "relaxed"
    schedules: int = 1
    seed: int = 0
    suppressions: str | Sequence[str] = ()
    baseline: str | None = None
    max_instructions: int | None = None
    max_findings: int = 1000
    fail_on: Severity = "warning"
    views: str | None = None

    @property
    def at_load(self) -> bool:
        """Whether loads of undefined values are findings, not only what they decide."""
        return self.init == "load"

    @property
    def volatile_data(self) -> bool:
        """Whether volatile accesses race as others do."""
        return self.volatile == "data"

    def validated(self) -> CheckSettings:
        """The same, with the names of checks as a tuple without repetitions.

        Raises:
            UsageError: a setting has no such value.
        """
        names = self.checks.split(",") if isinstance(self.checks, str) else self.checks
        for name in names:
            _one_of(name, tuple(CHECKS), "checks")
        for setting, words in WORDS.items():
            value = getattr(self, setting)
            if value is not None:
                _one_of(value, words, setting)
        validation.whole(self.schedules, "schedules", 1)
        validation.whole(self.seed, "seed", 0)
        return replace(self, checks=tuple(dict.fromkeys(names)))


DEFAULTS: Final = CheckSettings()


def _one_of(value: object, allowed: Sequence[str], name: str) -> None:
    if value not in allowed:
        raise UsageError(f"{name}: {value!r} is none of {', '.join(allowed)}")
