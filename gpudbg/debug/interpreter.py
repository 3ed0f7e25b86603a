"""Console commands of a session: a line or a script in, an answer out."""

from __future__ import annotations

from collections.abc import Callable

from gpudbg.answers import Sections
from gpudbg.debug.attached import Attached, Owner
from gpudbg.debug.direction import directed
from gpudbg.debug.registry import Command, CommandTable, Output
from gpudbg.debug.script import Player, ScriptLine, play
from gpudbg.debug.script.blocks import statements
from gpudbg.debug.script.host import SessionHost
from gpudbg.debug.stops.stop import InterruptStop
from gpudbg.errors import for_user


class CommandInterpreter(Attached[Owner]):
    """Carries out the commands of a table on an inferior.

    Attributes:
        table: gives the table, which is made at the first command.
        last_line: what an empty line repeats.
    """

    def __init__(
        self, owner: Owner, scripting: SessionHost, table: Callable[[], CommandTable[Owner]]
    ) -> None:
        super().__init__(owner)
        self._scripting = scripting
        self.table = table
        self.last_line = ""

    def command(self, line: str) -> Output:
        """Carry out a line or a script; see `DebugSession.command`."""
        text = line if "\n" in line else line.strip() or self.last_line
        player = Player(self._scripting)
        player.add(statements(text.split("\n")))
        return self.carry_out(player)

    def carry_out(self, player: Player) -> Output:
        """Carry out all that is left of a script; what it answers, put together.

        Raises:
            GpudbgError: what failed, naming file and line.
        """
        self._scripting.begin()
        answers: list[tuple[str, Output]] = []
        scripted = False

        def one(line: ScriptLine) -> None:
            nonlocal scripted
            scripted = scripted or player.scripted
            answers.append((line.text, self.plain(line.text)))

        for_user(play, player, one)
        if scripted:
            self.last_line = ""
        elif not answers:
            return Output()
        elif len(answers) == 1:
            return answers[0][1]
        data = [{"command": text.strip(), "data": output.data} for text, output in answers]
        return Output(Sections(tuple(output.answer for _, output in answers), data))

    def plain(self, line: str) -> Output:
        """Carry out a line that is neither block nor file nor user command."""
        text = line.strip()
        inferior = self._inferior
        self._scripting.met = []
        found, argument = self.table().resolve(text)
        self.last_line = text if found.repeats else ""
        before = inferior.stop
        output = self.dispatch(found, argument)
        if inferior.stop is not before and isinstance(inferior.stop, InterruptStop):
            self._scripting.interrupted = True
        return output

    def shown(self, line: str) -> str:
        """The text of a command that only shows something."""
        return self.dispatch(*self.table().resolve(line)).text

    def dispatch(self, found: Command[Owner], argument: str) -> Output:
        """Carry out a resolved command without touching what an empty line repeats.

        Raises:
            CommandError: the machine runs in another thread.
        """
        inferior = self._inferior
        found = directed(self.table(), found, inferior.settings)
        if found.needs == "stopped":
            inferior.require_stopped()
        return found.carry_out(inferior, argument)
