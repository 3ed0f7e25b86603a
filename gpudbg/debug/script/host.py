"""A session as what scripts run against."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpudbg.debug.part import Attached
from gpudbg.debug.script.blocks import Statement, head_of
from gpudbg.debug.script.scope import Scope
from gpudbg.errors import CommandError
from gpudbg.expr.types import VOID

if TYPE_CHECKING:
    from gpudbg.debug.breakpoints.table import BreakpointTable
    from gpudbg.expr import Result


def holds(result: Result, text: str, lane: int) -> bool:
    """Whether a condition's value is true in a lane; a void one is not.

    Raises:
        CommandError: it has no value there.
    """
    if result.type == VOID:
        return False
    if not result.valid[lane]:
        raise CommandError(f"{text}: no value in the focused lane: {result.why}")
    return bool(result.values[lane] != 0)


def keep_commands(
    table: BreakpointTable,
    argument: str,
    body: list[Statement],
    integer: Callable[[str], int],
) -> None:
    """`commands [N | N-M …]`; without numbers those of the breakpoints that were set last.

    Raises:
        CommandError: there is no such breakpoint.
    """
    for number in command_numbers(table, argument, integer):
        table.get(number).commands = body


def command_numbers(
    table: BreakpointTable, argument: str, integer: Callable[[str], int]
) -> list[int]:
    """The breakpoints that `commands ARGUMENT` means; errors as `keep_commands`."""
    if argument.strip():
        return table.numbers(argument, integer)
    if not table.latest:
        raise CommandError("Argument required (one or more breakpoint numbers).")
    return list(table.latest)


class SessionHost(Attached):
    """The `script.Host` of a session.

    Attributes:
        scope: what its scripts share.
        met: commands of the breakpoints that the last stop was at.
        silent: one of these breakpoints' commands begin with `silent`: the stop is not told.
        resumed: the program has run since this was asked for.
        interrupted: Ctrl-C was pressed.
    """

    def __init__(self, owner: object, scope: Scope) -> None:
        super().__init__(owner)  # type: ignore[arg-type]
        self.scope = scope
        self.met: list[list[Statement]] = []
        self.silent = False
        self.resumed = False
        self.interrupted = False

    def begin(self) -> None:
        """A script begins: what was pressed or met before is not about it."""
        self.met, self.interrupted, self.resumed = [], False, False

    def truth(self, text: str) -> bool:
        """See `script.Host`."""
        session = self._session
        lane = session.focus.lane if session.focus is not None else 0
        return holds(session.evaluate(text), text, lane)

    def formatted(self, argument: str) -> str:
        """See `script.Host`."""
        from gpudbg.debug.commands.expressions import formatted

        return formatted(self._session, argument, "eval")

    def is_command(self, line: str) -> bool:
        """See `script.Host`."""
        return is_command(line)

    def keep_commands(self, argument: str, body: list[Statement]) -> None:
        """See `script.Host`."""
        session = self._session
        keep_commands(session.breakpoints, argument, body, session.integer)

    def take_resumed(self) -> bool:
        """See `script.Host`."""
        resumed, self.resumed = self.resumed, False
        return resumed

    def take_hit_commands(self) -> list[list[Statement]]:
        """See `script.Host`."""
        met, self.met = self.met, []
        return met

    @property
    def ended(self) -> bool:
        """See `script.Host`."""
        return self._session.quit_requested

    def check_head(self, text: str) -> None:
        """Refuse the first line of a block that was typed before its lines are.

        Raises:
            CommandError: no condition, no such breakpoint, no such command.
        """
        head = head_of(text)
        session = self._session
        if head is not None and head[0] == "commands":
            command_numbers(session.breakpoints, head[1], session.integer)
        elif head is not None:
            check_head(head, self.scope)

    def script_interrupted(self) -> bool:
        """See `script.Host`."""
        if not self.interrupted:
            return False
        self._session.forget_interrupt()
        return True


def check_head(head: tuple[str, str], scope: Scope) -> None:
    """Refuse the first line of a block; errors as `SessionHost.check_head`."""
    kind, argument = head
    if kind in ("if", "while") and not argument:
        raise CommandError(f"{kind} command requires an argument.")
    if kind == "define":
        scope.checked(argument)
    if kind == "document":
        scope.documented(argument)


def is_command(line: str) -> bool:
    """Whether the table knows a line's command."""
    from gpudbg.debug.commands.registry import UndefinedCommandError, load

    try:
        load().resolve(line)
    except UndefinedCommandError:
        return False
    except CommandError:
        return True
    return True
