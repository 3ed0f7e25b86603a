"""Carry out console commands one line at a time and print what they answer.

Standard output carries answers, standard error carries complaints.  A failing command ends a
`-x` file (as in gdb) but not an interactive console.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from gpudbg.debug import interrupts, progress_shown
from gpudbg.debug.script import BlockReader, Player, ScriptLine, Statement, play
from gpudbg.debug.views import dumps
from gpudbg.errors import (
    EXIT_CLEAN,
    EXIT_FAULT,
    EXIT_FINDINGS,
    EXIT_GAP,
    GpudbgError,
    InternalError,
    ModelGap,
    UsageError,
    error_for_user,
)
from gpudbg.textlines import LONGEST, lines_of

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession

PROMPT = "(gpudbg) "
STANDARD_INPUT = "-"
MORE = ">"
"""The prompt inside a block."""


class Console:
    """A session driven by lines of text."""

    def __init__(
        self,
        session: DebugSession,
        out: TextIO | None = None,
        err: TextIO | None = None,
        as_json: bool = False,
    ) -> None:
        self.session = session
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self._json = as_json
        self._gap = False
        self._reader = BlockReader()

    # ---- one line ----------------------------------------------------------------------
    @property
    def pending(self) -> str:
        """The line that began a block that has no `end` yet; or nothing."""
        opened = self._reader.opened
        return opened.text if opened is not None else ""

    def execute(self, line: str) -> bool:
        """Carry out one line; False when it failed (the reason is on standard error).

        A line that begins a block waits for the lines up to its `end`.
        """
        text = line
        try:
            for text in line.split("\n"):
                statement = self._read(text)
                if statement is not None:
                    self._carry_out([statement])
        except GpudbgError as e:
            return self._failed(text, e)
        except BrokenPipeError:
            raise
        except Exception as e:
            return self._failed(text, error_for_user(e))
        return True

    def _failed(self, text: str, error: GpudbgError) -> bool:
        """A line that cannot be carried out; always False."""
        self._reader.clear()
        self._gap = self._gap or isinstance(error, ModelGap | InternalError)
        self._complain(text, error)
        return False

    def finish(self) -> bool:
        """No line follows: False, with a complaint, where a block is open."""
        try:
            statement = self._reader.finish()
            if statement is not None:
                self._carry_out([statement])
        except GpudbgError as e:
            self._complain("end", e)
            return False
        return True

    def _read(self, text: str) -> Statement | None:
        if not self._reader.pending and not text.strip():
            return ScriptLine(self.session.last_line) if self.session.last_line else None
        statement = self._reader.feed(text)
        if statement is None and (head := self._reader.opened) is not None:
            self.session.scripting.check_head(head.text)
        return statement

    def _carry_out(self, statements: list[Statement]) -> None:
        player = Player(self.session.scripting)
        player.add(statements)
        self._play(player)

    def _play(self, player: Player) -> None:
        session = self.session
        session.scripting.begin()

        def one(line: ScriptLine) -> None:
            try:
                self._run(line.text)
            except ModelGap:
                self._gap = True
                raise
            if player.scripted:
                session.last_line = ""

        with interrupts(session), progress_shown(session, self._err):
            play(player, one)

    def _run(self, line: str) -> None:
        seen = len(self.session.output.pieces)
        output = self.session.plain_command(line)
        printed = "".join(self.session.output.pieces[seen:])
        if self._json:
            record = {**self._named(line), "ok": True, "data": output.data}
            if printed:
                record["output"] = printed
            self._print(dumps(record))
            return
        if printed:
            self._print(printed.removesuffix("\n"))
        print(output.printed, end="", file=self._out, flush=True)

    def _named(self, line: str) -> dict[str, str]:
        """A record's line, and the full name of the command that it is."""
        from gpudbg.debug.commands import load

        try:
            found, _ = load().resolve(line.strip() or self.session.last_line)
        except GpudbgError:
            return {"command": line.strip()}
        return {"command": line.strip(), "name": found.name}

    def _print(self, text: str) -> None:
        print(text, file=self._out, flush=True)

    def _complain(self, line: str, error: GpudbgError) -> None:
        if self._json:
            record = {**self._named(line), "ok": False, "error": str(error)}
            self._print(dumps(record))
        else:
            print(f"gpudbg: {error}", file=self._err, flush=True)

    # ---- many lines --------------------------------------------------------------------
    def run_file(self, path: Path) -> None:
        """Carry out a file of commands (`-`: standard input); the first failing one ends it.

        Raises:
            CommandError: naming file, line and what failed.
        """
        if str(path) != STANDARD_INPUT:
            self._carry_out([ScriptLine(f"source {path}")])
            return
        player = Player(self.session.scripting)
        player.add_lines(lines_of(sys.stdin.buffer, "<stdin>"), "-")
        self._play(player)

    def try_file(self, path: Path) -> bool:
        """As `run_file`; False when it failed (the reason is on standard error)."""
        try:
            self.run_file(path)
        except GpudbgError as e:
            self._complain(f"source {path}", e)
            return False
        return True

    def interact(self, stream: TextIO) -> None:
        """Read commands from a stream to its end; prompts only on a terminal, where Ctrl-C drops
        what was typed, or what is carried out, as in gdb.
        """
        terminal = stream.isatty()
        going = True
        while going and not self.session.quit_requested:
            try:
                going = self._next_line(stream, terminal)
            except KeyboardInterrupt:
                if not terminal:
                    raise
                self._reader.clear()
                print("Quit", file=self._out, flush=True)

    def _next_line(self, stream: TextIO, terminal: bool) -> bool:
        """Read a line and carry it out; False at the end."""
        if terminal:
            mark = PROMPT if not self._reader.pending else MORE
            print(mark, end="", file=self._out, flush=True)
        line = stream.readline(LONGEST + 1)
        if len(line) > LONGEST:
            raise UsageError(f"a line of more than {LONGEST:,} characters is no command")
        if not line:
            if terminal:
                print(file=self._out)
            self.finish()
            return False
        self.execute(line.rstrip("\n"))
        return True

    def exit_code(self) -> int:
        """What the process should end with: 0 clean, 3 the kernel faulted, 4 a gap of the model.

        A number given to `quit` stands before the kernel's end.
        """
        if self._gap:
            return EXIT_GAP
        if self.session.quit_code is not None:
            return self.session.quit_code
        if self.session.stop is not None and self.session.stop.dropped:
            return EXIT_FINDINGS
        return EXIT_FAULT if self.session.faulted else EXIT_CLEAN
