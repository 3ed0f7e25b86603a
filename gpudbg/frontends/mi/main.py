"""gdb's command line: what starts gdb can start gpudbg.

gpudbg --interpreter=mi2 PROG [launch flags]      gpudbg -i=mi --args PROG [launch flags]
gpudbg -q -iex 'new-ui mi /dev/pts/3' PROG        gpudbg --mi-listen 127.0.0.1:4000 PROG
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError
from gpudbg.frontends.mi.bridge import interpreter_kind
from gpudbg.frontends.mi.parser import MiError
from gpudbg.frontends.mi.server import Server, interrupts
from gpudbg.frontends.mi.ui import Kind, Ui
from gpudbg.launch import program_first
from gpudbg.options import RECORD_ON_FAULT

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession

FLAGS = {
    **dict.fromkeys(("q", "quiet", "silent"), "quiet"),
    **dict.fromkeys(("nx", "n", "nh", "nw", "nowindows", "readnow"), ""),
    **dict.fromkeys(("fullname", "f"), "annotate"),
    **dict.fromkeys(("batch", "batch-silent"), "batch"),
    **dict.fromkeys(("configuration",), "configuration"),
    **dict.fromkeys(("allow-shell",), "shell"),
    **dict.fromkeys(("args",), "args"),
}
"""gdb's options without a value -> what they set ("" for nothing)."""

VALUES = {
    **dict.fromkeys(("i", "interpreter", "ui"), "interpreter"),
    **dict.fromkeys(("iex", "init-eval-command"), "iex"),
    **dict.fromkeys(("ix", "init-command"), "ix"),
    **dict.fromkeys(("ex", "eval-command"), "ex"),
    **dict.fromkeys(("x", "command"), "x"),
    **dict.fromkeys(("tty",), "tty"),
    **dict.fromkeys(("cd",), "cd"),
    **dict.fromkeys(("d", "directory"), "directory"),
    **dict.fromkeys(("mi-listen",), "listen"),
    **dict.fromkeys(("annotate",), "annotate"),
    **dict.fromkeys((RECORD_ON_FAULT.flag,), "recording"),
    **dict.fromkeys(("data-directory", "D", "sysroot", "l", "baud"), "ignored"),
}
"""gdb's options with a value -> what they set."""


@dataclass(slots=True)
class CommandLine:
    """A parsed command line.

    Attributes:
        interpreter: console or mi….
        annotate: tell places to an editor (`--fullname`, `--annotate=1`).
        early, late: console lines before and after the program is loaded.
        program: the file and its launch flags.
    """

    interpreter: str = "console"
    quiet: bool = False
    batch: bool = False
    configuration: bool = False
    shell: bool = False
    annotate: bool = False
    listen: str | None = None
    early: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    program: list[str] = field(default_factory=list)


def _split(word: str) -> tuple[str, str | None]:
    """Name without dashes and the value behind `=`."""
    name, equals, value = word.lstrip("-").partition("=")
    return name, value if equals else None


def parse_arguments(args: list[str]) -> CommandLine:
    """Read the command line; what is not gdb's goes to the program.

    Raises:
        UsageError: an option without its value.
    """
    out = CommandLine()
    words = list(args)
    while words:
        word = words.pop(0)
        name, value = _split(word)
        dashed = word.startswith("-") and len(word) > 1
        if dashed and name in FLAGS and value is None:
            if FLAGS[name] == "args":
                out.program += words
                break
            if FLAGS[name]:
                setattr(out, FLAGS[name], True)
        elif dashed and name in VALUES:
            if value is None:
                if not words:
                    raise UsageError(f"option {word} needs a value")
                value = words.pop(0)
            _take(out, VALUES[name], value)
        else:
            out.program.append(word)
    return out


def _take(out: CommandLine, what: str, value: str) -> None:
    if what == "interpreter":
        out.interpreter = value
    elif what == "listen":
        out.listen = value
    elif what == "annotate":
        out.annotate = value != "0"
    elif what == "iex":
        out.early.append(value)
    elif what == "ix":
        out.early.append(f"source {value}")
    elif what == "ex":
        out.late.append(value)
    elif what == "x":
        out.late.append(f"source {value}")
    elif what == "tty":
        out.early.append(f"tty {value}")
    elif what == "directory":
        out.early.append(f"directory {value}")
    elif what == "recording":
        out.early.append(record_line(value))
    elif what == "cd":
        os.chdir(Path(value))


def record_line(path: str) -> str:
    """The console line that has failing launches recorded."""
    return f"set {RECORD_ON_FAULT.flag} {path}"


def startup_lines(args: CommandLine) -> list[str]:
    """Console lines that bring the session to where the client takes over."""
    lines = list(args.early)
    if args.program:
        import shlex

        path, *flags = program_first(args.program)
        if flags:
            lines.append(f"set args {shlex.join(flags)}")
        lines.append(f"file {shlex.quote(path)}")
    return lines + args.late


def interpreter_of(name: str) -> tuple[Kind, int]:
    """Kind and MI version of an interpreter's name.

    Raises:
        UsageError: no such interpreter.
    """
    try:
        return interpreter_kind(name)
    except MiError as e:
        raise UsageError(e.message, "mi, mi2, mi3, mi4 or console") from None


def main(argv: list[str]) -> int:
    """Run gdb's command line."""
    args = parse_arguments(argv)
    if args.configuration:
        print("This GDB was configured as follows:\n   configure --host=sm-emulator")
        return 0
    kind, version = interpreter_of(args.interpreter)
    if args.listen is not None:
        from gpudbg.frontends.mi.listen import listen

        return listen(args.listen, startup_lines(args))
    serve(args, kind, version)
    return 0


def serve(
    args: CommandLine,
    kind: Kind,
    version: int,
    opener: Callable[[str, list[str]], DebugSession] | None = None,
) -> None:
    """Serve the client at standard input and output.

    Args:
        opener: makes sessions, where a program is no GPU program.
    """
    # Records go to the real standard output; anything printed by mistake must not break them.
    out = os.dup(1)
    os.dup2(2, 1)
    ui = Ui(0, out, kind, version)
    ui.annotate = args.annotate
    if kind == "mi":
        ui.quiet_terminal()
    server = Server(ui)
    server.bridge.host.scope.shell = args.shell
    if opener is not None:
        server.bridge.opener = opener
    if args.batch:
        server.bridge.settings.set("gather", "off")
    sys.stdout.flush()
    with interrupts(server.bridge):
        server.serve(startup_lines(args), args.quiet, args.batch)
