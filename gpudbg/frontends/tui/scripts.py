"""Scripts on the screen: the engine's thread carries out lines up to one that is the screen's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.answers import Answer, Sections
from gpudbg.debug import Output
from gpudbg.debug.script import Player, Statement
from gpudbg.errors import GpudbgError, ModelGap

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpudbg.debug import DebugSession


class Script:
    """Statements on their way.

    Attributes:
        held: a line for the screen, which the engine's thread has come to.
        error: what ended the script; `gap` where the model lacks something.
    """

    def __init__(
        self, session: DebugSession, statements: list[Statement], screens: Callable[[str], bool]
    ) -> None:
        self._player = Player(session.scripting)
        self._player.add(statements)
        self._screens = screens
        self.held = ""
        self.error = ""
        self.gap = False
        session.scripting.begin()

    @property
    def done(self) -> bool:
        """Whether nothing is left to do."""
        return not self.held

    def work(self, session: DebugSession) -> Output:
        """Carry out lines, in the engine's thread; what they answer stays when one fails."""
        answers: list[Answer] = []
        self.held = ""
        try:
            while (line := self._player.next()) is not None:
                if self._screens(line.text):
                    self.held = line.text
                    break
                try:
                    answers.append(session.plain_command(line.text).answer)
                except GpudbgError as error:
                    self.gap = isinstance(error, ModelGap)
                    raise self._player.failed(error) from None
                self._player.hit()
        except GpudbgError as error:
            self.error = str(error)
        return Output(answers[0] if len(answers) == 1 else Sections(tuple(answers), None))
