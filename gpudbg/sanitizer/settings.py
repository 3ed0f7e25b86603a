"""The keywords of `gpudbg.check` as one record; their schema is `options/checking.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from gpudbg import validation
from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError
from gpudbg.options import CHECK_OPTIONS, OptionKind, OptionScope, OptionSpec, check_option
from gpudbg.sanitizer.findings import Severity


def _default(name: str) -> Any:
    """Default of a keyword; False for a switch."""
    row = check_option(name)
    return False if row.kind is OptionKind.SWITCH else row.default


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """The keywords of `gpudbg.check`, which explains them, with their defaults."""

    checks: Sequence[str] = _default("checks")
    performance: bool = _default("performance")
    portability: bool = _default("portability")
    init: str = _default("init")
    volatile: str = _default("volatile")
    schedules: int = _default("schedules")
    seed: int = _default("seed")
    suppressions: str | Sequence[str] = ()
    baseline: str | None = _default("baseline")
    max_instructions: int | None = _default("max_instructions")
    max_findings: int = _default("max_findings")
    fail_on: Severity = _default("fail_on")
    views: str | None = _default("views")

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
        for row in CHECK_OPTIONS:
            if row.scope is OptionScope.CHECK:
                value = names if row.kind is OptionKind.WORDS else getattr(self, row.name)
                if value is not None or row.default is not None:
                    _check_value(row, value)
        return replace(self, checks=tuple(dict.fromkeys(names)))


DEFAULTS: Final = CheckSettings()


def _check_value(row: OptionSpec, value: Any) -> None:
    """Raise UsageError for a value that an option does not allow."""
    if row.kind is OptionKind.WHOLE:
        validation.whole(value, row.name, row.least)
    elif row.choices:
        for word in value if row.kind is OptionKind.WORDS else (value,):
            if word not in row.choices:
                allowed = ", ".join(row.choices)
                raise UsageError(f"{row.name}: {word!r} is none of {allowed}")
