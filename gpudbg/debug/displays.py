"""Expressions shown at every stop (`display`)."""

from __future__ import annotations

from collections.abc import Callable

from gpudbg.answers import column, typed_row
from gpudbg.dataclass import dataclass
from gpudbg.debug.attached import Attached, Owner
from gpudbg.errors import CommandError, error_for_user


@dataclass(frozen=True, slots=True)
class Display:
    """One displayed expression: `command` is the output or x command that shows it."""

    number: int
    command: str

    @property
    def title(self) -> str:
        """The format and the expression: `/x $R4`, `x/4xw $R2`, `$R4`."""
        return self.command.removeprefix("output").strip()

    @property
    def expression(self) -> str:
        """The expression alone; empty for memory."""
        if self.command.startswith("x"):
            return ""
        return self.title.partition(" ")[2].strip() if self.title[0] == "/" else self.title

    @property
    def letter(self) -> str | None:
        """The format's letter, if one was given."""
        return self.title[1] if self.title[0] == "/" else None


@typed_row
class DisplayedValue:
    """What a display shows now: its command's answer, or why there is none."""

    number: int = column()
    title: str = column()
    text: str = column()
    below: bool = column(key="")
    """Whether the answer goes on lines of its own below the title, as memory does."""

    def lines(self) -> list[str]:
        """The display for people."""
        link = "\n" if self.below else " = "
        return f"{self.number}: {self.title}{link}{self.text}".splitlines()


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

    def shown(self, number: int | None = None) -> tuple[DisplayedValue, ...]:
        """What is shown now, of one display or all; an expression without a value says why."""
        if self._inferior.focus is None:
            return ()
        return tuple(
            DisplayedValue(row.number, row.title, self._text(row), row.command.startswith("x"))
            for row in self.rows.values()
            if number in (None, row.number)
        )

    def lines(self, number: int | None = None) -> list[str]:
        """The lines of every display, or of one by number, with their present values."""
        return [line for shown in self.shown(number) for line in shown.lines()]

    def _text(self, row: Display) -> str:
        try:
            return self._answer(self._inferior, row.command)
        except Exception as e:
            # An error is shown in place of the value: the stop and the other displays must still
            # appear.
            return f"<error: {error_for_user(e)}>"
