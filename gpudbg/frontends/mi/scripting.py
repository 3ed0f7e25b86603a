"""A bridge as what scripts run against: with a program or without one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, cast

from gpudbg.debug.commands.families import load
from gpudbg.debug.script import Scope, Statement
from gpudbg.debug.script.blocks import head_of
from gpudbg.debug.script.host import (
    check_head,
    command_numbers,
    holds,
    keep_commands,
)
from gpudbg.debug.values.ended import BareContext
from gpudbg.debug.values.printf import formatted
from gpudbg.errors import CommandError
from gpudbg.expr import Result, evaluate, parse

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.frontends.mi.bridge import Bridge

NO_PROGRAM = 'No symbol table is loaded.  Use the "file" command.'


class NoProgramContext(BareContext):
    """What expressions see before a program is loaded."""

    def _gone(self, what: str) -> NoReturn:
        raise CommandError(NO_PROGRAM)


class BridgeHost:
    """The `script.Host` of a bridge.

    Attributes:
        scope: what scripts of all its clients share.
        interrupted: Ctrl-C was pressed while a script was carried out.
    """

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self.scope = Scope()
        self.interrupted = False

    @property
    def _owner(self) -> DebugSession:
        """The session, or what stands for it."""
        from gpudbg.frontends.mi.bridge import NoProgram

        return self._bridge.session or cast("DebugSession", NoProgram(self._bridge))

    def evaluate(self, text: str) -> Result:
        """An expression's value, also where nothing runs or is loaded."""
        return evaluate_without_program(self._owner, text)

    def truth(self, text: str) -> bool:
        """See `script.Host`."""
        session = self._owner
        lane = session.focus.lane if session.focus is not None else 0
        return holds(session.evaluate(text), text, lane)

    def formatted(self, argument: str) -> str:
        """See `script.Host`."""
        owner = self._owner
        return formatted(owner, owner.evaluate, argument, "eval")

    def is_command(self, line: str) -> bool:
        """See `script.Host`."""
        from gpudbg.frontends.mi.console import is_own

        return is_own(line) or load().knows(line)

    def keep_commands(self, argument: str, body: list[Statement]) -> None:
        """See `script.Host`."""
        keep_commands(self._bridge.breakpoints, argument, body, self._owner.integer)

    def check_head(self, text: str) -> None:
        """Refuse the first line of a block; errors as `SessionHost.check_head`."""
        head = head_of(text)
        if head is not None and head[0] == "commands":
            command_numbers(self._bridge.breakpoints, head[1], self._owner.integer)
        elif head is not None:
            check_head(head, self.scope)

    def take_resumed(self) -> bool:
        """See `script.Host`."""
        session = self._bridge.session
        return session is not None and session.scripting.take_resumed()

    def take_hit_commands(self) -> list[list[Statement]]:
        """See `script.Host`."""
        session = self._bridge.session
        return session.scripting.take_hit_commands() if session is not None else []

    @property
    def ended(self) -> bool:
        """See `script.Host`."""
        return self._bridge.exiting

    def script_interrupted(self) -> bool:
        """See `script.Host`."""
        pressed, self.interrupted = self.interrupted, False
        return pressed


def evaluate_without_program(stand_in: Any, text: str) -> Result:
    """The value of an expression of variables and constants."""
    return evaluate(parse(text), NoProgramContext(stand_in))
