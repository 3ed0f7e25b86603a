"""The engine of the Python prompt: lines in, Python or commands carried out, values shown.

It knows no terminal: `prompt` (prompt_toolkit), `ipython` and tests all drive it.  A line is
Python or a console command (`lines.as_command`); Ctrl-C stops a running machine (sessions see to
that themselves) and otherwise interrupts Python.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from gpudbg.debug.commands import load
from gpudbg.errors import (
    EXIT_CLEAN,
    EXIT_FAULT,
    EXIT_GAP,
    CommandError,
    GpudbgError,
    ModelGap,
)
from gpudbg.frontends.repl.lines import as_block, as_command, open_block, python_state
from gpudbg.frontends.repl.show import lines_of
from gpudbg.textlines import script_text

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession

MAX_RC_BYTES = 1 << 20
_GOES_ON = re.compile(r"(elif|else|except|finally)\b")


class Shell:
    """A namespace and a session behind a prompt.

    Attributes:
        dbg: the session; Python may assign another to `dbg`.
        names: the variables of the prompt.
        quit_requested: `quit` or `exit()` was given.
    """

    def __init__(
        self, session: DebugSession, out: TextIO | None = None, err: TextIO | None = None
    ) -> None:
        import numpy

        import gpudbg

        self._out, self._err = out or sys.stdout, err or sys.stderr
        self.table = load()
        self.quit_requested = False
        self._gap = False
        self._seen = 0
        self._session = session
        self._repeat = False
        self.names: dict[str, Any] = {
            "__name__": "__main__",
            "__builtins__": __builtins__,
            "dbg": session,
            "program": session.launch.loaded,
            "device": session.launch.loaded.device,
            "np": numpy,
            "gpudbg": gpudbg,
        }
        self.given = frozenset(self.names)

    @property
    def dbg(self) -> DebugSession:
        """The session that commands act on: what `dbg` is, or was before somebody deleted it."""
        self._session = self.names.get("dbg", self._session)
        return self._session

    # ---- input -------------------------------------------------------------------------
    def wants_more(self, text: str) -> bool:
        """Whether another line has to follow before this can be carried out."""
        first = text.split("\n", 1)[0]
        block = as_block(first, self.table, self._own_names())
        if block is not None:
            return open_block([block, *text.split("\n")[1:]])
        if "\n" not in text and as_command(first, self.table, self._own_names()) is not None:
            return False
        return python_state(text) == "open"

    def _own_names(self) -> dict[str, Any]:
        return {k: v for k, v in self.names.items() if not k.startswith("__")}

    def push(self, text: str) -> bool:
        """Carry out an input of one or more lines; whether it went well."""
        if not text.strip():
            return self._again()
        line = as_block(text, self.table, self._own_names())
        if line is None and "\n" not in text:
            line = as_command(text, self.table, self._own_names())
        self._repeat = line is not None
        try:
            return self.command(line) if line is not None else self.python(text)
        except KeyboardInterrupt:
            print("interrupted", file=self._err, flush=True)
            return False

    def _again(self) -> bool:
        """An empty line repeats a command that repeats, as in gdb; after Python it does nothing."""
        if not self._repeat or not self.dbg.last_line:
            return True
        return self.command("")

    # ---- commands ----------------------------------------------------------------------
    def command(self, line: str) -> bool:
        """Carry out a console command and print what it answers; `_` becomes its data."""
        session = self.dbg
        self.mark_output()
        try:
            if line.partition(" ")[0] == "source":
                self.run_file(Path(line.partition(" ")[2].strip()))
                return True
            output = session.command(line)
            printed = output.printed
        except GpudbgError as error:
            return self.complain(error)
        finally:
            self.print_output()
        print(printed, end="", file=self._out)
        if output.data is not None:
            self.names["_"] = output.data
        if line.partition(" ")[0] == "check" and session.checks.report is not None:
            self.names["report"] = session.checks.report
        self.quit_requested = self.quit_requested or session.quit_requested
        self._out.flush()
        return True

    def mark_output(self) -> None:
        """What device code prints from here on is the next `print_output`'s."""
        self._seen = len(self.dbg.output.pieces)

    def print_output(self) -> None:
        """Print what device code has printed since `mark_output`."""
        text = "".join(self.dbg.output.pieces[self._seen :])
        self.mark_output()
        if text:
            print(text.removesuffix("\n"), file=self._out, flush=True)

    def complain(self, error: GpudbgError) -> bool:
        """Say what went wrong, in a line; always False."""
        self._gap = self._gap or isinstance(error, ModelGap)
        print(f"gpudbg: {error}", file=self._err, flush=True)
        return False

    # ---- Python ------------------------------------------------------------------------
    def python(self, text: str) -> bool:
        """Run Python, showing the value of an expression; whether it raised nothing."""
        previous, sys.displayhook = sys.displayhook, self.show
        self.mark_output()
        try:
            exec(compile(text + "\n", "<gpudbg>", "single"), self.names)
        except GpudbgError as error:
            return self.complain(error)
        except SystemExit:
            self.quit_requested = True
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self._traceback(error)
            return False
        finally:
            sys.displayhook = previous
            self.print_output()
            self._out.flush()
        return True

    def _traceback(self, error: BaseException) -> None:
        """Python's own words, from the user's first line on."""
        frames = error.__traceback__.tb_next if error.__traceback__ else None
        lines = traceback.format_exception(type(error), error, frames)
        print("".join(lines).rstrip(), file=self._err, flush=True)

    def show(self, value: object) -> None:
        """Print a value as the prompt shows it, and keep it in `_`."""
        if value is None:
            return
        self.names["_"] = value
        lines = lines_of(value, self.dbg)
        print("\n".join(lines) if lines is not None else repr(value), file=self._out)

    # ---- files -------------------------------------------------------------------------
    def run_file(self, path: Path) -> None:
        """Carry out a file of commands and Python; the first line that fails ends it.

        Raises:
            CommandError: the file cannot be read, or a line of it failed.
        """
        text = script_text(path.expanduser(), MAX_RC_BYTES)
        for number, chunk in self.chunks(text.splitlines()):
            first = chunk.lstrip()
            if first and not first.startswith("#") and not self.push(chunk):
                raise CommandError(f"{path}:{number}: a line of the file failed")
            if self.quit_requested:
                return

    def chunks(self, lines: list[str]) -> Iterator[tuple[int, str]]:
        """Lines joined where Python needs more of them, with the number of the first."""
        at = 0
        while at < len(lines):
            start, held = at + 1, [lines[at]]
            at += 1
            if as_block(held[0], self.table, self._own_names()) is not None:
                while at < len(lines) and self.wants_more("\n".join(held)):
                    held.append(lines[at])
                    at += 1
                yield start, "\n".join(held)
                continue
            while at < len(lines) and self._takes(held, lines[at:]):
                held.append(lines[at])
                at += 1
            yield start, "\n".join(held)

    def _takes(self, held: list[str], rest: list[str]) -> bool:
        """Whether the next line of a file belongs to what is held."""
        text = "\n".join(held)
        more = self.wants_more(text)
        if more and python_state(text + "\n") != "whole":
            return True
        following = next((line for line in rest if line.strip()), "")
        block = more or (len(held) > 1 and python_state(text) == "whole")
        return block and bool(following[:1].isspace() or _GOES_ON.match(following))

    def exit_code(self) -> int:
        """0 clean, 3 the kernel faulted, 4 a gap of the model was met."""
        if self._gap:
            return EXIT_GAP
        return EXIT_FAULT if self.dbg.faulted else EXIT_CLEAN
