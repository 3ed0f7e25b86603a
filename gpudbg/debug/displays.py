"""Expressions shown at every stop (`display`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpudbg.debug.part import Attached
from gpudbg.errors import CommandError, GpudbgError

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


@dataclass(frozen=True, slots=True)
class Display:
    """One displayed expression: `command` is the output or x command that shows it."""

    number: int
    command: str

    @property
    def title(self) -> str:
        """The format and the expression: `/x $R4`, `x/4xw $R2`, `$R4`."""
        return self.command.removeprefix("output").strip()


class Displays(Attached):
    """Numbered displays of a session."""

    def __init__(self, session: DebugSession) -> None:
        super().__init__(session)
        self.rows: dict[int, Display] = {}
        self._next = 1

    def add(self, command: str) -> Display:
        """Show `command`'s answer at every stop."""
        row = Display(self._next, command)
        self.rows[row.number] = row
        self._next += 1
        return row

    def remove(self, number: int | None) -> None:
        """Delete one, or all."""
        if number is None:
            self.rows.clear()
        elif self.rows.pop(number, None) is None:
            raise CommandError(f"no display {number}")

    def lines(self, number: int | None = None) -> list[str]:
        """What is shown now, of one display or all; an expression without a value says why."""
        from gpudbg.debug.commands.registry import TABLE

        out: list[str] = []
        if self._session.focus is None:
            return out
        for row in self.rows.values():
            if number not in (None, row.number):
                continue
            try:
                text = self._session.dispatch(*TABLE.resolve(row.command)).text
            except GpudbgError as e:
                text = f"<error: {e}>"
            link = "\n" if row.command.startswith("x") else " = "
            out.extend(f"{row.number}: {row.title}{link}{text}".splitlines())
        return out
