"""gpudbg exec: run a host program with the emulated device in place of a GPU."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gpudbg.arguments import Parser
from gpudbg.errors import UsageError
from gpudbg.frontends.verbs.common import has_screen
from gpudbg.hosting import found_program, is_program_source
from gpudbg.options import RECORD_ON_FAULT, add_compiler_options, add_verb_options
from gpudbg.toolchain import flag_options

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.frontends.console.console import Console
    from gpudbg.hosting import CheckedRuns, Execution
    from gpudbg.sanitizer import CheckSettings


def parser() -> Parser:
    """The arguments of `gpudbg exec`."""
    p = Parser(
        prog="gpudbg exec",
        usage="gpudbg exec [options] PROGRAM [ARGUMENT ...]",
        description="Run a program that uses CUDA; its kernels run on an emulated GPU. "
        "A .cu file with a main() is built first, with clang. "
        "The program keeps its standard input and output, and its exit code is the result.",
    )
    add_verb_options(p, "exec")
    add_compiler_options(p)
    return p


def main(argv: list[str]) -> int:
    """Run the verb."""
    args = parser().parse_args(argv)
    words = args.words[1:] if args.words[:1] == ["--"] else args.words
    if not words:
        raise UsageError("no program to run", "gpudbg exec PROGRAM [ARGUMENT ...]")
    asked = args.debug, args.console, args.batch, args.script, args.stop_at_launch
    debug = any(asked)
    if args.check and debug:
        raise UsageError("--check runs launches without stops", "leave out one of the two")
    if args.check and args.record_on_fault:
        raise UsageError(
            "--check goes on behind faults", "--record-on-fault without it records one"
        )
    for flag in ("report", "checks", "suppressions", "timeout"):
        if getattr(args, flag) and not args.check:
            raise UsageError(f"--{flag} is of --check", "add --check")
    if is_program_source(words[0]):
        from gpudbg.hosting import built_source

        with built_source(words, args.arch, flag_options(args)) as built:
            return _executed(args, built, debug, words[0])
    return _executed(args, words, debug)


def _executed(args: argparse.Namespace, words: list[str], debug: bool, called: str = "") -> int:
    """Run a program as the flags say; `called` is how its user names it."""
    if args.interpreter:
        return _served(args, words)
    screen = debug and not (args.batch or args.console) and has_screen()
    found_program(words[0])
    # Loaded behind the checks of the command line: a mistake is reported at once.
    from gpudbg.hosting import Execution

    execution = Execution(
        words,
        arch=args.arch,
        on_fault=args.on_fault,
        sms=args.sms,
        engine=args.engine,
        debug=debug,
        check=_settings(args) if args.check else None,
        check_seconds=args.timeout,
        captured=screen,
        recording="" if args.check else args.record_on_fault or "",
        called=called,
        terminal=args.tty or "",
    )
    if screen:
        return _drawn(execution, args)
    code = _debugged(execution, args) if debug else execution.run()
    if execution.checks is not None:
        code = code or execution.checks.code
        _report(execution.checks, args)
    code = code or execution.dropped_code
    said = _said(execution, args)
    if said:
        print(f"gpudbg: {said}", file=sys.stderr)
    return code


def _settings(args: argparse.Namespace) -> CheckSettings:
    """What the flags ask of the checks; they are loaded for a run with `--check` alone."""
    from gpudbg.sanitizer import DEFAULTS, CheckSettings

    return CheckSettings(
        checks=args.checks or DEFAULTS.checks, suppressions=args.suppressions or ()
    ).validated()


def _report(checks: CheckedRuns, args: argparse.Namespace) -> None:
    """Write what checks found to the file that the flags name."""
    if args.report:
        from gpudbg.frontends.verbs.check import FORMATS, write_report

        write_report(args.report, FORMATS[args.format](checks.all_reports()))


def _said(execution: Execution, args: argparse.Namespace) -> str:
    """The line at the end."""
    checks = execution.checks
    found = "" if checks is None else checks.summary()
    if not found:
        return execution.last_words() or ("" if checks is None else checks.all_well())
    return f"{found} ({args.report or '`--report FILE` writes the report'})"


def _served(args: argparse.Namespace, words: list[str]) -> int:
    """GDB/MI: a client that starts the program, as often as it likes."""
    from gpudbg.frontends.mi.main import CommandLine, interpreter_of, record_line, serve
    from gpudbg.hosting import Execution, open_host_program

    made: list[Execution] = []

    def opened(path: str, given: list[str]) -> DebugSession:
        for earlier in made:
            earlier.close()
        made[:] = [
            Execution(
                [path, *given],
                arch=args.arch,
                on_fault=args.on_fault,
                sms=args.sms,
                engine=args.engine,
                debug=True,
                captured=True,
                terminal=args.tty or "",
            )
        ]
        return open_host_program(made[0])

    kind, version = interpreter_of(args.interpreter)
    steps = [t if k == "-ex" else f"source {t}" for k, t in args.script or []]
    program = [found_program(words[0]), *words[1:]]
    early = [record_line(args.record_on_fault)] if args.record_on_fault else []
    line = CommandLine(batch=args.batch, early=early, late=steps, program=program)
    try:
        serve(line, kind, version, opened)
    finally:
        for execution in made:
            execution.close()
    return 0


def _record_failures(session: DebugSession, args: argparse.Namespace) -> None:
    """Have the session write a recording where a launch fails, if the flags say so."""
    session.settings.set(RECORD_ON_FAULT.flag, args.record_on_fault or "")


def _drawn(execution: Execution, args: argparse.Namespace) -> int:
    """The terminal UI at the first launch; what the program prints is in its output pane."""
    from gpudbg.frontends.tui.app import run_app
    from gpudbg.hosting import HostLaunches

    launches = HostLaunches(execution, args.stop_at_launch)
    try:
        session = launches.first()
        if session is None:
            sys.stdout.write(execution.machine.device.gpu.output.text)
            return execution.program.code
        _record_failures(session, args)
        steps = [t if k == "-ex" else f"source {t}" for k, t in args.script or []]
        code = run_app(session, steps)
        return execution.program.code if launches.over else code
    finally:
        execution.close()


def _debugged(execution: Execution, args: argparse.Namespace) -> int:
    """Play commands at launches; the program's exit code.

    Answers go to standard error and commands come from the terminal: the other two streams are the
    program's.
    """
    from gpudbg.frontends.console.console import Console
    from gpudbg.hosting import HostLaunches

    launches = HostLaunches(execution, args.stop_at_launch)
    try:
        session = launches.first()
        if session is None:
            return execution.program.code
        _record_failures(session, args)
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
