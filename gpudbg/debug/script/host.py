"""SessionHost: a session as the host that scripts run against."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpudbg.debug.attached import Attached
from gpudbg.debug.script.blocks import Statement, head_of
from gpudbg.debug.script.scope import Scope
from gpudbg.debug.values.evaluation import evaluate, integer
from gpudbg.debug.values.printf import formatted
from gpudbg.errors import CommandError
from gpudbg.expr.types import VOID

if TYPE_CHECKING:
    from gpudbg.debug.breakpoints.table import Breakpoint, BreakpointTable
    from gpudbg.debug.inferior import Inferior
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


class SessionHost(Attached["Inferior"]):
    """The `script.Host` of an inferior.

    Attributes:
        scope: what its scripts share.
        met: commands of the breakpoints that the last stop was at.
        silent: one of these breakpoints' commands begin with `silent`: the stop is not printed.
        resumed: the program has run since this was asked for.
        interrupted: Ctrl-C was pressed.
        quit_requested: a script or a user said `quit`.
    """

    def __init__(
        self,
        inferior: Inferior,
        scope: Scope,
        breakpoints: BreakpointTable,
        is_command: Callable[[str], bool],
    ) -> None:
        super().__init__(inferior)
        self.scope = scope
        self.is_command = is_command
        self._breakpoints = breakpoints
        self.met: list[list[Statement]] = []
        self.silent = False
        self.resumed = False
        self.interrupted = False
        self.quit_requested = False

    def begin(self) -> None:
        """Begin a script: clear interrupts and breakpoint hits from before it."""
        self.met, self.interrupted, self.resumed = [], False, False

    def stopped_at(self, points: list[Breakpoint]) -> None:
        """Record that the program has run and stands at these breakpoints."""
        self.met = [row.commands for row in points if row.commands]
        self.resumed = True
        self.silent = any(row.silent for row in points)

    def truth(self, text: str) -> bool:
        """See `script.Host`."""
        return holds(self._value(text), text, self._inferior.lane)

    def formatted(self, argument: str) -> str:
        """See `script.Host`."""
        return formatted(self._inferior, self._value, argument, "eval")

    def _value(self, text: str) -> Result:
        return evaluate(self._inferior, text)

    def _integer(self, text: str) -> int:
        return integer(self._inferior, text)

    def keep_commands(self, argument: str, body: list[Statement]) -> None:
        """See `script.Host`."""
        keep_commands(self._breakpoints, argument, body, self._integer)

    def take_resumed(self) -> bool:
        """See `script.Host`."""
        resumed, self.resumed = self.resumed, False
        return resumed

    def take_hit_commands(self) -> list[list[Statement]]:
        """See `script.Host`."""
        met, self.met = self.met, []
        return met

    def check_head(self, text: str) -> None:
        """Check the first line of a block before its body is read.

        Raises:
            CommandError: no condition, no such breakpoint, no such command.
        """
        head = head_of(text)
        if head is not None and head[0] == "commands":
            command_numbers(self._breakpoints, head[1], self._integer)
        elif head is not None:
            check_head(head, self.scope)

    def script_interrupted(self) -> bool:
        """See `script.Host`."""
        if not self.interrupted:
            return False
        self._inferior.forget_interrupt()
        return True


def check_head(head: tuple[str, str], scope: Scope) -> None:
    """Check the first line of a block; errors as `SessionHost.check_head`."""
    kind, argument = head
    if kind in ("if", "while") and not argument:
        raise CommandError(f"{kind} command requires an argument.")
    if kind == "define":
        scope.checked(argument)
    if kind == "document":
        scope.documented(argument)
