"""Expressions shown at every stop (`display`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpudbg.debug.attached import Attached, Owner
from gpudbg.errors import CommandError, GpudbgError


@dataclass(frozen=True, slots=True)
class Display:
    """One displayed expression: `command` is the output or x command that shows it."""

    number: int
    command: str

    @property
    def title(self) -> str:
        """The format and the expression: `/x $R4`, `x/4xw $R2`, `$R4`."""
        return self.command.removeprefix("output").strip()


class Displays(Attached[Owner]):
    """Numbered displays of a session."""

    def __init__(self, owner: Owner, answer: Callable[[Owner, str], str]) -> None:
        """Args: answer: what a command line answers, in a session."""
        super().__init__(owner)
        self._answer = answer
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
        owner = self._inferior
        out: list[str] = []
        if owner.focus is None:
            return out
        for row in self.rows.values():
            if number not in (None, row.number):
                continue
            try:
                text = self._answer(owner, row.command)
            except GpudbgError as e:
                text = f"<error: {e}>"
            link = "\n" if row.command.startswith("x") else " = "
            out.extend(f"{row.number}: {row.title}{link}{text}".splitlines())
        return out
