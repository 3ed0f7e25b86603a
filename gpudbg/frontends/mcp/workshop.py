"""What calls work on: the programs and sessions that earlier calls opened."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypedDict

from gpudbg.dataclass import dataclass
from gpudbg.debug import Command, CommandTable
from gpudbg.debug.commands import load
from gpudbg.debug.stops import StopCard
from gpudbg.errors import UsageError
from gpudbg.frontends.mcp.limits import CallLimits
from gpudbg.frontends.mcp.sandbox import Sandbox
from gpudbg.frontends.mcp.shortening import Answers

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.debug.stops import Stop

_ELSEWHERE = "gpudbg mcp runs no other programs and no scripts"
_REFUSED = ("shell", "make", "pipe", "python", "source", "cd", "quit")
"""Console commands that reach out of a session."""


class ToolAnswer(TypedDict):
    """What a tool answers.

    `text` is for reading; `more` is the number of the whole answer where it was cut short (tool
    `more`), `session` and `program` are numbers for further calls, `stop` says why the machine
    stands: entry, opened, breakpoint, watchpoint, step, exit, fault, deadlock, trap, limit,
    interrupt.
    """

    text: str
    more: int | None
    session: int | None
    program: int | None
    stop: str | None


@dataclass(frozen=True, slots=True)
class OpenProgram:
    """A program that a call opened.

    Attributes:
        name: as the caller called it.
        path: where it is.
        flags: compiler flags, as launch flags.
    """

    name: str
    path: str
    flags: tuple[str, ...] = ()
    program: Any = None


class Workshop:
    """Programs and sessions by number.

    Attributes:
        sandbox, limits: what calls are held to.
        held: whether the kernel holds the process to its folder.
    """

    def __init__(self, sandbox: Sandbox, limits: CallLimits, held: bool = False) -> None:
        self.sandbox, self.limits, self.held = sandbox, limits, held
        self.answers = Answers(limits.answer_chars)
        self.programs: dict[int, OpenProgram] = {}
        self.sessions: dict[int, tuple[DebugSession, int]] = {}
        self._printed: dict[int, int] = {}
        self._numbers = {"program": 0, "session": 0}

    # ---- numbers -----------------------------------------------------------------------
    def add_program(self, opened: OpenProgram) -> int:
        """Keep a program; its number."""
        self._numbers["program"] += 1
        self.programs[self._numbers["program"]] = opened
        return self._numbers["program"]

    @property
    def next_program(self) -> int:
        """The number that the next program gets."""
        return self._numbers["program"] + 1

    def require_program_room(self) -> None:
        """UsageError where no program more may be open."""
        self._room("program", len(self.programs), self.limits.programs)

    def require_room(self) -> None:
        """UsageError where no session more may be open."""
        self._room("session", len(self.sessions), self.limits.sessions)

    def add_session(self, session: DebugSession, program: int) -> int:
        """Keep a session; its number."""
        session.command_table = session.interpreter.table = offered_commands
        self._numbers["session"] += 1
        number = self._numbers["session"]
        self.sessions[number] = session, program
        self._printed[number] = len(session.output.pieces)
        return number

    def _room(self, what: str, there: int, most: int) -> None:
        if there >= most:
            raise UsageError(f"{there} {what}s are open, the most there may be", "`close` one")

    def program(self, number: int) -> OpenProgram:
        """A program; UsageError where there is none of that number."""
        found = self.programs.get(number)
        if found is None:
            known = ", ".join(map(str, self.programs)) or "none; `load` or `compile` opens one"
            raise UsageError(f"no program {number}", f"open programs: {known}")
        return found

    def session(self, number: int) -> DebugSession:
        """A session; UsageError where there is none of that number."""
        found = self.sessions.get(number)
        if found is None:
            known = ", ".join(map(str, self.sessions)) or "none; `launch` makes one"
            raise UsageError(f"no session {number}", f"open sessions: {known}")
        return found[0]

    def close_session(self, number: int) -> None:
        """Let go of a session and its device."""
        self.session(number).close()
        del self.sessions[number]

    # ---- answers -----------------------------------------------------------------------
    def answer(
        self, text: str, *, session: int | None = None, program: int | None = None
    ) -> ToolAnswer:
        """An answer, shortened."""
        shown, more = self.answers.shown(text)
        stop = self.sessions[session][0].stop if session in self.sessions else None
        return ToolAnswer(
            text=shown, more=more, session=session, program=program, stop=reason_of(stop)
        )

    def stop_answer(self, number: int, stop: Stop, *, note: str = "") -> ToolAnswer:
        """The card of a stop, with what the kernel has printed since the last one."""
        session = self.session(number)
        lines = StopCard.of(session, stop).lines()
        printed = self.printed(number)
        text = "\n".join(
            [*lines, *(["printed:", printed] if printed else []), *filter(None, [note])]
        )
        return self.answer(text, session=number)

    def printed(self, number: int) -> str:
        """What a session's device has printed since this was last asked."""
        pieces = self.session(number).output.pieces
        seen = self._printed.get(number, 0)
        self._printed[number] = len(pieces)
        return "".join(pieces[seen:]).rstrip("\n")

    def command(self, number: int, line: str) -> str:
        """What a console command answers."""
        if "\n" in line:
            raise UsageError("one command at a time, without line ends")
        return self.session(number).command(line).text

    # ---- limits ------------------------------------------------------------------------
    @contextmanager
    def timed(self, session: DebugSession) -> Iterator[None]:
        """Inside, a run of the session is stopped when the call's time is over."""
        timer = threading.Timer(self.limits.seconds, session.interrupt)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            session.forget_interrupt()


def reason_of(stop: Stop | None) -> str | None:
    """Why a machine stands, in a word: `EntryStop` is `entry`."""
    return None if stop is None else type(stop).__name__.removesuffix("Stop").lower()


def offered_commands() -> CommandTable[DebugSession]:
    """The console's commands without those that reach out of a session."""
    full = load()
    absent = {**full.absent, **dict.fromkeys(_REFUSED, (_ELSEWHERE, "its tools do"))}
    table: CommandTable[DebugSession] = CommandTable(absent)
    for command in full.commands:
        if not _refused(command):
            table.add(command)
    return table


def _refused(command: Command[DebugSession]) -> bool:
    return bool(set(_REFUSED) & set(command.names))
