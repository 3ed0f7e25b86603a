"""Checks of a run by name.

check = session.check("hazards")     # from now on
session.run()
check.findings                       # frozen data; each has .lines() and .to_json()

report = session.check("race")       # the launch, run from its beginning and begun again
report.findings
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpudbg.dataclass import dataclass
from gpudbg.debug.attached import Attached
from gpudbg.debug.observing import subscribe, unsubscribe
from gpudbg.doors import public
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior


@dataclass(frozen=True, slots=True)
class CheckKind:
    """A check: the module and class that carry it out, and its description.

    Attributes:
        module, observer: the class that follows a run; none: the check looks at whole launches.
    """

    help: str
    module: str = ""
    observer: str = ""

    @property
    def whole(self) -> bool:
        """Whether it checks a launch from its beginning, not the present run."""
        return not self.observer


CHECKS: dict[str, CheckKind] = {
    "memory": CheckKind("accesses outside of what is allocated, misaligned or freed"),
    "race": CheckKind("accesses in no order, in shared and global memory"),
    "init": CheckKind("values that nobody has written, where they decide something"),
    "sync": CheckKind("barriers and shuffles that not all take part in, deadlocks"),
    "leak": CheckKind("memory that kernels allocate and nobody frees"),
    "hazards": CheckKind(
        "control words: results read before stall counts or scoreboards allow it",
        "gpudbg.analysis.hazards",
        "HazardObserver",
    ),
}
"""Name -> check."""
DEFAULT = ("memory", "race", "init", "sync", "leak")
"""The checks that `all` stands for; hazards (control words) are checked only by name."""


def kind_of(name: str) -> CheckKind:
    """A check by its name.

    Raises:
        CommandError: there is none of that name.
    """
    kind = CHECKS.get(name)
    if kind is None:
        near = difflib.get_close_matches(name, CHECKS, n=1)
        hint = f"did you mean {near[0]}?" if near else "checks: " + ", ".join(CHECKS)
        raise CommandError(f"no check {name!r}", hint)
    return kind


class Checks(Attached["Inferior"]):
    """The active checks of an inferior, and the report of the last check of its launch.

    Attributes:
        report: of the last check of the whole launch; None: there was none.
    """

    def __init__(self, inferior: Inferior) -> None:
        super().__init__(inferior)
        self._on: dict[str, Any] = {}
        self.report: Any = None

    def get(self, name: str) -> Any:
        """The active check object, or the report that covers it; None where it is off."""
        if self.report is not None and name in self.report.checks:
            return self.report
        return self._on.get(name)

    def attach(self, name: str) -> Any:
        """Start a check, the same object when it is running already; or check the launch.

        Raises:
            CommandError: no check of that name.
        """
        kind = kind_of(name)
        if kind.whole:
            return self.launch((name,))
        if name not in self._on:
            make = getattr(import_module(kind.module), kind.observer)
            self._on[name] = make(self._inferior.launch.image)
            subscribe(self._inferior, self._on[name])
        return self._on[name]

    def launch(self, names: Sequence[str] = DEFAULT) -> Any:
        """Run the launch from its beginning with checks, and begin it again; their report."""
        for name in names:
            kind_of(name)
        # Looked up by name: whole-launch checks lie in a layer above sessions.
        check: Any = public("check_session")
        self.report = check(self._inferior, tuple(names))
        return self.report

    def detach(self, name: str) -> None:
        """Stop a check and forget its findings."""
        if self.report is not None and name in self.report.checks:
            self.report = None
        observer = self._on.pop(name, None)
        if observer is not None:
            unsubscribe(self._inferior, observer)

    def renew(self) -> None:
        """Restart the active checks: they hold facts of one code image."""
        self.report = None
        for name in list(self._on):
            self.detach(name)
            self.attach(name)
