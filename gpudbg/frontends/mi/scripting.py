"""What scripts run against under GDB/MI: a program's session, or what stands for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, cast

from gpudbg.debug.script import (
    Scope,
    Statement,
    check_head,
    command_numbers,
    head_of,
    holds,
    keep_commands,
)
from gpudbg.debug.values import BareContext, formatted
from gpudbg.errors import CommandError
from gpudbg.expr import Result, evaluate, parse
from gpudbg.frontends.mi.opened import NO_PROGRAM, NOT_STARTED
from gpudbg.frontends.mi.parser import MiError

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.frontends.mi.opened import Opened
    from gpudbg.latest import Latest


class NoProgramContext(BareContext):
    """What expressions see before a program is loaded."""

    def no_variables(self) -> str:
        """Nothing is said: there is no program."""
        return ""

    def _gone(self, what: str) -> NoReturn:
        raise CommandError(NO_PROGRAM)


class BridgeHost:
    """The `script.Host` of a bridge.

    Attributes:
        scope: what scripts of all its clients share.
        interrupted: Ctrl-C was pressed while a script was carried out.
    """

    def __init__(self, opened: Opened, is_command: Callable[[str], bool]) -> None:
        self._opened = opened
        self.is_command = is_command
        self.scope = Scope()
        self.interrupted = False

    @property
    def owner(self) -> DebugSession:
        """The session, or what stands for it."""
        return self._opened.session or cast("DebugSession", NoProgram(self._opened, self))

    def evaluate(self, text: str) -> Result:
        """An expression's value, also where nothing runs or is loaded."""
        return evaluate_without_program(self.owner, text)

    def truth(self, text: str) -> bool:
        """See `script.Host`."""
        session = self.owner
        lane = session.focus.lane if session.focus is not None else 0
        return holds(session.evaluate(text), text, lane)

    def formatted(self, argument: str) -> str:
        """See `script.Host`."""
        owner = self.owner
        return formatted(owner, owner.evaluate, argument, "eval")

    def keep_commands(self, argument: str, body: list[Statement]) -> None:
        """See `script.Host`."""
        keep_commands(self._opened.breakpoints, argument, body, self.owner.integer)

    def check_head(self, text: str) -> None:
        """Refuse the first line of a block; errors as `SessionHost.check_head`."""
        head = head_of(text)
        if head is not None and head[0] == "commands":
            command_numbers(self._opened.breakpoints, head[1], self.owner.integer)
        elif head is not None:
            check_head(head, self.scope)

    def take_resumed(self) -> bool:
        """See `script.Host`."""
        session = self._opened.session
        return session is not None and session.scripting.take_resumed()

    def take_hit_commands(self) -> list[list[Statement]]:
        """See `script.Host`."""
        session = self._opened.session
        return session.scripting.take_hit_commands() if session is not None else []

    @property
    def quit_requested(self) -> bool:
        """See `script.Host`."""
        return self._opened.exiting

    def script_interrupted(self) -> bool:
        """See `script.Host`."""
        pressed, self.interrupted = self.interrupted, False
        return pressed


def evaluate_without_program(stand_in: Any, text: str) -> Result:
    """The value of an expression of variables and constants."""
    return evaluate(parse(text), NoProgramContext(stand_in))


class NoProgram:
    """Stands for the session where no program is loaded: what `set`, `show` and `help` need."""

    def __init__(self, opened: Opened, host: BridgeHost) -> None:
        self.settings = opened.settings
        self.breakpoints = opened.breakpoints
        self.sources = opened.sources
        self.focus = None
        self.stop = None
        self.finished = True
        self.quit_requested = False
        self.last_line = ""
        self.scripting = host
        self.variables = host.scope.variables
        self.value_history: Latest[Result] = opened.values

    def evaluate(self, text: str) -> Result:
        """What needs no program."""
        return evaluate_without_program(self, text)

    def integer(self, text: str, what: str = "a number") -> int:
        """The same, as an integer."""
        result = self.evaluate(text)
        if result.values.dtype.kind == "f" or not result.valid[0]:
            raise CommandError(f"{text}: {what} must be an integer")
        return int(result.values[0])

    def context(self) -> NoProgramContext:
        """What expressions see."""
        return NoProgramContext(cast("DebugSession", self))

    def require_stopped(self) -> None:
        """There is nothing to look at."""
        raise MiError(NOT_STARTED)

    def __getattr__(self, name: str) -> Any:
        """What only a program has."""
        raise MiError(NO_PROGRAM)
