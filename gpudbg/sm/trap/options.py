"""The readings of what public texts say about traps that a user can choose between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from operator import attrgetter
from typing import Any, Final

from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError

OPTION_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "warp_trap_bits": ("count", "immediate"),
    "error_bits": ("both", "exclusive"),
    "precision": ("precise", "imprecise"),
    "status_clear": ("zero", "clear"),
    "error_in_trap": ("stop", "terminate"),
}


@dataclass(slots=True)
class TrapOptions:
    """Which reading holds where public texts leave a choice (`gpudbg.sm.policy` says why).

    Attributes:
        warp_trap_bits: SR_GlobalErrorStatus bits 10 and 11 tell one trapping warp from more
            ("count"), or immediate 1 from others ("immediate").
        error_bits: bit 9 is set with one erring warp and stays with more ("both"), or gives way
            to bit 7 ("exclusive").
        precision: memory errors are precise, or reported `skid` instructions later.
        skid: instructions between an imprecise error and its report.
        status_clear: SR67 reads zero, or reads and clears SR_WarpErrorStatus.
        error_in_trap: an error inside the handler stops the machine or ends the warp.
        call_limit: calls of a warp at once before API_STACK_ERROR; 0 is no limit.
    """

    warp_trap_bits: str = "count"
    error_bits: str = "both"
    precision: str = "precise"
    skid: int = 3
    status_clear: str = "zero"
    error_in_trap: str = "stop"
    call_limit: int = 0

    def set(self, name: str, value: str | int) -> None:
        """Change an option; hyphens count as underscores.

        Raises:
            UsageError: no such option or value.
        """
        key = name.strip().replace("-", "_")
        if key not in OPTION_NAMES:
            known = ", ".join(n.replace("_", "-") for n in OPTION_NAMES)
            raise UsageError(f"no trap option is called {name!r}", f"known: {known}")
        choices = OPTION_CHOICES.get(key)
        if choices is None:
            self._set_number(key, value)
        elif value in choices:
            setattr(self, key, value)
        else:
            raise UsageError(f"{name} cannot be {value!r}", "one of " + ", ".join(choices))

    def _set_number(self, key: str, value: str | int) -> None:
        text = str(value).strip()
        if not text.isdecimal() or not 0 <= int(text) <= 1_000_000:
            raise UsageError(f"{key.replace('_', '-')} cannot be {value!r}", "0 to 1000000")
        setattr(self, key, int(text))

    def to_json(self) -> dict[str, Any]:
        """Every option and its value."""
        return {name: getattr(self, name) for name in OPTION_NAMES}

    @property
    def values(self) -> tuple[str | int, ...]:
        """All values, in the order of `OPTION_NAMES`."""
        return _values(self)

    @contextmanager
    def as_they_were(self, values: tuple[str | int, ...]) -> Iterator[None]:
        """Have other values for a while."""
        now = self.values
        if now == values:
            yield
            return
        self._take(values)
        try:
            yield
        finally:
            self._take(now)

    def _take(self, values: tuple[str | int, ...]) -> None:
        for name, value in zip(OPTION_NAMES, values, strict=True):
            setattr(self, name, value)


OPTION_NAMES: Final = tuple(f.name for f in fields(TrapOptions))
_values: Final[Callable[[TrapOptions], tuple[str | int, ...]]] = attrgetter(*OPTION_NAMES)
