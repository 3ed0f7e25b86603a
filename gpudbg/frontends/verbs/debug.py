"""gpudbg PROG: the terminal UI; with --batch, -x or -ex, or without a terminal, the console."""

from __future__ import annotations

import sys
from pathlib import Path

from gpudbg.api import add_launch_flags, open_session
from gpudbg.arguments import Parser
from gpudbg.errors import CommandError
from gpudbg.frontends.starting import collect_again
from gpudbg.frontends.verbs.common import has_screen
from gpudbg.options import add_verb_options


def parser() -> Parser:
    """The arguments of `gpudbg PROG`."""
    p = Parser(
        prog="gpudbg",
        description="Debug a GPU program on an emulated SM; no GPU is needed.",
    )
    add_launch_flags(p)
    add_verb_options(p, "tui")
    return p


def main(argv: list[str]) -> int:
    """Run the verb."""
    args = parser().parse_args(argv)
    steps: list[tuple[str, str]] = args.script or []
    session = open_session(args.program, args, may_wait=True)
    session.scripting.scope.shell = args.allow_shell
    if not (args.batch or args.console or args.json) and has_screen():
        from gpudbg.frontends.tui.app import run_app

        return run_app(
            session, [text if kind == "-ex" else f"source {text}" for kind, text in steps]
        )
    from gpudbg.frontends.console.console import STANDARD_INPUT, Console

    collect_again()
    console = Console(session, as_json=args.json)
    failed = False
    for kind, text in steps:
        if kind == "-x" and text != STANDARD_INPUT and not Path(text).exists():
            raise CommandError(f"cannot read {text}: no such file")
        if not (console.try_file(Path(text)) if kind == "-x" else console.execute(text)):
            failed = True  # as gdb: the next command still runs, the exit code tells
        if session.quit_requested:
            break
    if args.batch and console.pending:
        failed = not console.finish() or failed
    if not args.batch and not session.quit_requested:
        if sys.stdin.isatty() and not args.json and session.stop is not None and not steps:
            print(session.stop.message)
        console.interact(sys.stdin)
    code = console.exit_code()
    return code or (2 if failed else 0)
