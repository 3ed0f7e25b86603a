"""Checks of a run by name: observers that collect findings.

check = session.check("hazards")     # from now on
session.run()
check.findings                       # frozen data; each has .lines() and .to_json()
"""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpudbg.dataclass import dataclass
from gpudbg.debug.attached import Attached
from gpudbg.debug.observing import subscribe, unsubscribe
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior


@dataclass(frozen=True, slots=True)
class CheckKind:
    """A check: where its observer class is, and what it looks for."""

    module: str
    observer: str
    help: str


CHECKS: dict[str, CheckKind] = {
    "hazards": CheckKind(
        "gpudbg.analysis.hazards",
        "HazardObserver",
        "control words: results read before stall counts or scoreboards allow it",
    ),
}
"""Name -> check.  Observer classes take the session's code image."""


class Checks(Attached["Inferior"]):
    """The checks of an inferior that are on."""

    def __init__(self, inferior: Inferior) -> None:
        super().__init__(inferior)
        self._on: dict[str, Any] = {}

    def get(self, name: str) -> Any:
        """A check that is on; None where it is off."""
        return self._on.get(name)

    def attach(self, name: str) -> Any:
        """Start a check; the same object when it is running already.

        Raises:
            CommandError: no check of that name.
        """
        kind = CHECKS.get(name)
        if kind is None:
            near = difflib.get_close_matches(name, CHECKS, n=1)
            hint = f"did you mean {near[0]}?" if near else "checks: " + ", ".join(CHECKS)
            raise CommandError(f"no check {name!r}", hint)
        if name not in self._on:
            make = getattr(import_module(kind.module), kind.observer)
            self._on[name] = make(self._inferior.launch.image)
            subscribe(self._inferior, self._on[name])
        return self._on[name]

    def detach(self, name: str) -> None:
        """Stop a check and forget its findings."""
        observer = self._on.pop(name, None)
        if observer is not None:
            unsubscribe(self._inferior, observer)

    def renew(self) -> None:
        """Checks look at one code image: for another one they begin anew."""
        for name in list(self._on):
            self.detach(name)
            self.attach(name)
