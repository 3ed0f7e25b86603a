"""gpudbg exec: run a host program with the emulated device in place of a GPU."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gpudbg.arguments import Parser
from gpudbg.errors import UsageError
from gpudbg.hosting import Execution, HostLaunches
from gpudbg.options import add_verb_options

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.frontends.console.console import Console


def parser() -> Parser:
    """The arguments of `gpudbg exec`."""
    p = Parser(
        prog="gpudbg exec",
        usage="gpudbg exec [options] PROGRAM [ARGUMENT ...]",
        description="Run a program that uses CUDA; its kernels run on an emulated GPU. "
        "The program keeps its standard input and output, and its exit code is the result.",
    )
    add_verb_options(p, "exec")
    return p


def main(argv: list[str]) -> int:
    """Run the verb."""
    args = parser().parse_args(argv)
    words = args.words[1:] if args.words[:1] == ["--"] else args.words
    if not words:
        raise UsageError("no program to run", "gpudbg exec PROGRAM [ARGUMENT ...]")
    debug = args.debug or args.batch or bool(args.script) or args.stop_at_launch is not None
    if args.check and debug:
        raise UsageError("--check runs launches without stops", "leave out one of the two")
    execution = Execution(
        words, arch=args.arch, sms=args.sms, engine=args.engine, debug=debug, check=args.check
    )
    code = _debugged(execution, args) if debug else execution.run()
    if execution.checks is not None:
        print("\n".join(execution.checks.lines()), file=sys.stderr)
        code = code or execution.checks.code
    said = execution.last_words()
    if said:
        print(f"gpudbg: {said}", file=sys.stderr)
    return code


def _debugged(execution: Execution, args: argparse.Namespace) -> int:
    """Play commands at launches; the program's exit code.

    Answers go to standard error and commands come from the terminal: the other two streams are the
    program's.
    """
    from gpudbg.frontends.console.console import Console

    launches = HostLaunches(execution, args.stop_at_launch)
    try:
        session = launches.first()
        if session is None:
            return execution.program.code
        console = Console(session, out=sys.stderr, err=sys.stderr)
        for kind, text in args.script or []:
            done = console.try_file(Path(text)) if kind == "-x" else console.execute(text)
            if session.quit_requested or not (done or args.batch):
                break
        if not args.batch and not session.quit_requested:
            _interact(console, session)
        if session.quit_requested:
            return session.quit_code or 0
        launches.run_on(session)
        return execution.program.code
    finally:
        execution.close()


def _interact(console: Console, session: DebugSession) -> None:
    """Take commands from the terminal, where there is one."""
    if session.stop is not None:
        print(session.stop.message, file=sys.stderr)
    try:
        terminal = open("/dev/tty", encoding="utf-8")
    except OSError:
        return
    with terminal:
        console.interact(terminal)
