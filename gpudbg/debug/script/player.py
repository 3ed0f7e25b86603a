"""Player: carries out statements; control flow is its own, plain lines are handed to the frontend.

A frontend feeds what was typed or read and takes plain lines until there are none.  It need not
stay in one call: GDB/MI goes on after the program has stopped, in another turn of its loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import Protocol

from gpudbg.dataclass import dataclass
from gpudbg.debug.script.blocks import BlockReader, ScriptBlock, ScriptLine, Statement, short
from gpudbg.debug.script.scope import Scope, UserCommand, arguments, substituted
from gpudbg.errors import CommandError, GpudbgError, LoadError, UsageError
from gpudbg.textlines import script_text

MAX_CALLS = 1024
"""How deep user commands may call each other, as in gdb."""
MAX_FILES = 20
"""How deep `source` files may nest."""
MAX_TRACE = 4
"""Most calls that an error message names."""
INTERRUPTED = "interrupted: the rest of the commands is dropped"


class Host(Protocol):
    """What statements need of a debugger."""

    @property
    def scope(self) -> Scope:
        """What scripts have defined."""

    def truth(self, text: str) -> bool:
        """Whether a condition holds."""

    def formatted(self, argument: str) -> str:
        """`"FORMAT", VALUE, …` as printf makes it a text."""

    def is_command(self, line: str) -> bool:
        """Whether a line names a command of the table."""

    def keep_commands(self, argument: str, body: list[Statement]) -> None:
        """`commands ARGUMENT`: carry these out when the breakpoint stops the program."""

    def take_resumed(self) -> bool:
        """Whether the last line let the program run."""

    def take_hit_commands(self) -> list[list[Statement]]:
        """Commands of the breakpoints that the last line has met; then none."""

    @property
    def quit_requested(self) -> bool:
        """Whether `quit` was given: nothing is carried out any more."""

    def script_interrupted(self) -> bool:
        """Whether Ctrl-C was pressed since the script began."""


@dataclass(slots=True)
class _Frame:
    """A body being carried out; `given` are the arguments of a user command."""

    kind: str
    body: list[Statement]
    given: list[str] | None
    at: int = 0
    condition: str = ""
    call: ScriptLine | None = None
    source: Iterator[Statement] | None = None
    hooks: frozenset[str] = field(default_factory=frozenset)

    def next(self) -> Statement | None:
        if self.source is not None:
            return next(self.source, None)
        if self.at >= len(self.body):
            return None
        self.at += 1
        return self.body[self.at - 1]


class Player:
    """The stack of statements being carried out.

    Attributes:
        line: the line given out last.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._stack: list[_Frame] = []
        self.line = ScriptLine("")
        self._calls = self._files = 0

    @property
    def done(self) -> bool:
        """Whether nothing is left."""
        return not self._stack

    @property
    def scripted(self) -> bool:
        """Whether the last line came out of a file, a block or a user command."""
        return len(self._stack) > 1 or bool(self._stack and self._stack[0].kind != "typed")

    def add(self, statements: Iterable[Statement]) -> None:
        """Append statements that were typed."""
        self._stack.append(_Frame("typed", list(statements), None))

    def add_lines(self, lines: Iterable[str], name: str) -> None:
        """Append the lines of a file."""
        self._push(_Frame("file", [], None, source=self._statements(lines, name)))

    def hit(self) -> None:
        """Push the commands of the breakpoints that the last line met."""
        if self._host.take_resumed():
            # As in gdb: commands that follow one which resumes the program are dropped.
            outer = next((n for n, f in enumerate(self._stack) if f.kind == "hit"), None)
            while outer is not None and len(self._stack) > outer:
                self._drop()
        groups = self._host.take_hit_commands()
        for body in reversed(groups):
            first = body[0] if body else None
            silent = isinstance(first, ScriptLine) and first.text.strip() == "silent"
            self._push(_Frame("hit", body[1:] if silent else body, None))

    def next(self) -> ScriptLine | None:
        """The next line to carry out; None: there is none.

        Raises:
            CommandError: a statement is wrong, naming file and line.
        """
        while self._stack:
            if self._host.quit_requested:
                self.clear()
                break
            frame = self._stack[-1]
            try:
                statement = frame.next()
                if statement is None:
                    self._leave(frame)
                    continue
                self._check_interrupt()
                self.line = statement if isinstance(statement, ScriptLine) else statement.head
                if isinstance(statement, ScriptBlock):
                    self._block(statement, frame)
                    continue
                line = self._plain(statement, frame)
            except GpudbgError as error:
                raise self.failed(error) from None
            if line is not None:
                return line
        return None

    def clear(self) -> None:
        """Drop all remaining statements."""
        self._stack.clear()
        self._calls = self._files = 0

    def failed(self, error: GpudbgError) -> GpudbgError:
        """The last line's error with the places it came through; drops all remaining statements."""
        calls = [f"{f.call.place}{short(f.call.text)}: " for f in self._stack if f.call is not None]
        if len(calls) > MAX_TRACE:
            calls = [*calls[: MAX_TRACE // 2], "… ", *calls[-MAX_TRACE // 2 :]]
        error.__context__ = None
        here = f"{self.line.place}{short(self.line.text)}: " if self.scripted else ""
        # Syntax errors already name their place.
        text = str(error)
        if self.line.file and text.startswith(f"{self.line.file}:"):
            here = ""
        if calls and not self.line.file and calls[-1].endswith(here):
            here = ""
        self.clear()
        if not calls and not here:
            return error
        if isinstance(error, CommandError | UsageError | LoadError):
            return CommandError("".join(calls) + here + text)
        error.message = "".join(calls) + here + error.message
        return error

    def _check_interrupt(self) -> None:
        if self._host.script_interrupted():
            self.clear()
            raise CommandError(INTERRUPTED)

    # ---- statements --------------------------------------------------------------------
    def _push(self, frame: _Frame) -> None:
        self._calls += frame.kind == "call"
        self._files += frame.kind == "file"
        self._stack.append(frame)

    def _leave(self, frame: _Frame) -> None:
        """Handle the end of a body: a loop tests its condition again."""
        if frame.kind == "while":
            self._check_interrupt()
            self.line = frame.call or self.line
            if self._holds(frame.condition, frame.given):
                frame.at = 0
                return
        self._drop()

    def _drop(self) -> _Frame:
        frame = self._stack.pop()
        self._calls -= frame.kind == "call"
        self._files -= frame.kind == "file"
        return frame

    def _holds(self, condition: str, given: list[str] | None) -> bool:
        return self._host.truth(substituted(condition, given))

    def _block(self, block: ScriptBlock, frame: _Frame) -> None:
        given, scope = frame.given, self._host.scope
        if block.kind in ("if", "while"):
            if not block.argument:
                raise CommandError(f"{block.kind} command requires an argument.")
            holds = self._holds(block.argument, given)
            if block.kind == "while":
                if holds:
                    self._push(_Frame("while", block.body, given, 0, block.argument))
            elif holds or block.other:
                self._push(_Frame("if", block.body if holds else block.other or [], given))
        elif block.kind == "define":
            scope.define(substituted(block.argument, given), block.body)
        elif block.kind == "document":
            found = scope.documented(substituted(block.argument, given))
            found.help = tuple(one.text for one in block.body if isinstance(one, ScriptLine))
        elif block.kind == "commands":
            self._host.keep_commands(substituted(block.argument, given), block.body)
        else:
            raise CommandError("Python scripting is not supported here", "gpudbg script FILE.py")

    def _plain(self, line: ScriptLine, frame: _Frame) -> ScriptLine | None:
        """A line to hand out; None where it was control flow and has been carried out."""
        text = substituted(line.text, frame.given).lstrip()
        for mark, verb in (("!", "shell "), ("|", "pipe ")):
            text = verb + text[1:] if text.startswith(mark) else text
        text = self._host.scope.expanded(text)
        word = text.strip().partition(" ")[0]
        if word in ("loop_break", "loop_continue"):
            self._leave_loop(word)
            return None
        if word in ("end", "else"):
            why = "This command cannot be used at the top level."
            raise CommandError(why if word == "end" else 'Undefined command: "else".  Try "help".')
        if word == "source":
            self._source(text.strip()[6:].strip(), line)
            return None
        if word == "eval":
            made = self._host.formatted(text.strip()[4:].strip())
            self._push(_Frame("eval", [ScriptLine(made, line.file, line.number)], frame.given))
            return None
        scope = self._host.scope
        found = scope.find(text)
        if found is None and scope.commands and not self._host.is_command(text):
            found = scope.abbreviated(text)
        if found is not None:
            self._call(*found, line)
            return None
        line = ScriptLine(text, line.file, line.number)
        return None if self._hooked(line, frame) else line

    def _hooked(self, line: ScriptLine, frame: _Frame) -> bool:
        """Push the hooks of a line, and the line itself, where it has hooks. Returns whether it
        has.
        """
        scope = self._host.scope
        word = line.text.strip().split("/")[0].partition(" ")[0]
        if word in frame.hooks:
            return False
        before, after = scope.commands.get(f"hook-{word}"), scope.commands.get(f"hookpost-{word}")
        if before is None and after is None:
            return False
        inside = frame.hooks | {word}
        if after is not None:
            self._push(_Frame("hook", after.body, [], hooks=inside))
        self._push(_Frame("hook", [line], None, hooks=inside))
        if before is not None:
            self._push(_Frame("hook", before.body, [], hooks=inside))
        return True

    def _leave_loop(self, word: str) -> None:
        """Carry out `loop_break` or `loop_continue` for the innermost loop; outside a loop, end the
        body.
        """
        inside = False
        while self._stack:
            frame = self._stack[-1]
            if frame.kind == "while":
                if word == "loop_break":
                    self._drop()
                else:
                    frame.at = len(frame.body)
                return
            if frame.kind != "if":
                if frame.kind not in ("typed", "file"):
                    self._drop()
                elif not inside:
                    raise CommandError(f'Undefined command: "{word}".  Try "help".')
                return
            inside = True
            self._drop()

    def _call(self, command: UserCommand, text: str, line: ScriptLine) -> None:
        if self._calls >= MAX_CALLS:
            raise CommandError("Max user call depth exceeded -- command aborted.")
        self._push(_Frame("call", command.body, arguments(text), call=line))

    def _source(self, name: str, line: ScriptLine) -> None:
        words = name.removeprefix("-v ").removeprefix("-s ").strip()
        if not words:
            raise CommandError("source command requires file name of file to source.")
        if self._files >= MAX_FILES:
            raise CommandError(f"{words}: command files nest more than {MAX_FILES} deep")
        call = line if self.scripted else None
        self._push(_Frame("file", [], None, call=call, source=self._file(words)))

    def _file(self, name: str) -> Iterator[Statement]:
        """The statements of a file, parsed lazily: an error is raised when its line is reached."""
        yield from self._statements(script_text(name).splitlines(), name)

    def _statements(self, lines: Iterable[str], name: str) -> Iterator[Statement]:
        reader = BlockReader(name)
        for number, text in enumerate(lines, 1):
            self.line = ScriptLine(text, name, number)
            if self._host.quit_requested:
                return
            statement = reader.feed(text, number)
            if statement is not None:
                yield statement
        last = reader.finish()
        if last is not None:
            yield last


def play(player: Player, carry_out: Callable[[ScriptLine], None]) -> None:
    """Carry out all remaining statements.

    Raises:
        GpudbgError: what failed, naming file and line.
    """
    while (line := player.next()) is not None:
        try:
            carry_out(line)
        except GpudbgError as error:
            raise player.failed(error) from None
        player.hit()
