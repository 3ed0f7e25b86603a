"""Carry out console commands one line at a time and print what they answer.

Standard output carries answers, standard error carries complaints.  A failing command ends a
`-x` file (as in gdb) but not an interactive console.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from gpudbg.debug import progress
from gpudbg.debug.interrupts import interrupts
from gpudbg.debug.json_text import dumps
from gpudbg.errors import (
    EXIT_CLEAN,
    EXIT_FAULT,
    EXIT_GAP,
    CommandError,
    GpudbgError,
    LoadError,
    ModelGap,
    UsageError,
)
from gpudbg.textlines import LONGEST, lines_of, script_text

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

PROMPT = "(gpudbg) "
STANDARD_INPUT = "-"
MAX_SOURCE_DEPTH = 20
"""How deep `source` files may nest."""


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
        self._depth = 0

    # ---- one line ----------------------------------------------------------------------
    def execute(self, line: str) -> bool:
        """Carry out one line; False when it failed (the reason is on standard error)."""
        try:
            with interrupts(self.session), progress.shown(self.session, self._err):
                self._run(line)
        except GpudbgError as e:
            self._gap = self._gap or isinstance(e, ModelGap)
            self._complain(line, e)
            return False
        return True

    def _run(self, line: str) -> None:
        word, _, rest = line.strip().partition(" ")
        if word == "source":
            self.run_file(Path(rest.strip()))
            return
        seen = len(self.session.output.pieces)
        output = self.session.command(line)
        printed = "".join(self.session.output.pieces[seen:])
        if self._json:
            record = {**self._named(line), "ok": True, "data": output.data}
            if printed:
                record["output"] = printed
            self._print(dumps(record))
            return
        if printed:
            self._print(printed.removesuffix("\n"))
        for text in output.lines:
            self._print(text)

    def _named(self, line: str) -> dict[str, str]:
        """A record's line, and the full name of the command that it is."""
        from gpudbg.debug.commands.registry import load

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
        if self._depth >= MAX_SOURCE_DEPTH:
            raise CommandError(f"{path}: command files nest more than {MAX_SOURCE_DEPTH} deep")
        try:
            if str(path) == STANDARD_INPUT:
                lines: Iterable[str] = lines_of(sys.stdin.buffer, "<stdin>")
            else:
                lines = script_text(path).splitlines()
        except LoadError as e:
            raise CommandError(str(e)) from None
        self._depth += 1
        try:
            for number, line in enumerate(lines, 1):
                text = line.strip()
                if not text or text.startswith("#"):
                    continue
                try:
                    self._run(text)
                except GpudbgError as e:
                    self._gap = self._gap or isinstance(e, ModelGap)
                    raise CommandError(f"{path}:{number}: {text}: {e}") from None
                if self.session.quit_requested:
                    return
        finally:
            self._depth -= 1

    def run_lines(self, lines: Iterable[str]) -> bool:
        """Carry out lines until one fails; whether all went well."""
        for line in lines:
            if not self.execute(line):
                return False
            if self.session.quit_requested:
                break
        return True

    def interact(self, stream: TextIO) -> None:
        """Read commands from a stream to its end; prompts only on a terminal."""
        terminal = stream.isatty()
        while not self.session.quit_requested:
            if terminal:
                print(PROMPT, end="", file=self._out, flush=True)
            line = stream.readline(LONGEST + 1)
            if len(line) > LONGEST:
                raise UsageError(f"a line of more than {LONGEST:,} characters is no command")
            if not line:
                if terminal:
                    print(file=self._out)
                return
            self.execute(line.rstrip("\n"))

    def exit_code(self) -> int:
        """What the process should end with: 0 clean, 3 the kernel faulted, 4 a gap of the model.

        A number given to `quit` stands before the kernel's end.
        """
        if self._gap:
            return EXIT_GAP
        if self.session.quit_code is not None:
            return self.session.quit_code
        return EXIT_FAULT if self.session.faulted else EXIT_CLEAN
