"""gpudbg PROG: the terminal UI; with --batch, -x or -ex, or without a terminal, the console."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpudbg.api import add_launch_flags, open_session
from gpudbg.arguments import Parser
from gpudbg.errors import CommandError
from gpudbg.frontends.starting import collect_again
from gpudbg.frontends.verbs.common import has_screen


def parser() -> Parser:
    """The arguments of `gpudbg PROG`."""
    p = Parser(
        prog="gpudbg",
        description="Debug a GPU program on an emulated SM; no GPU is needed.",
    )
    p.add_argument("program", help="a cubin, or raw words with PROG.toml beside them")
    add_launch_flags(p)
    script = p.add_argument_group("scripted sessions")
    script.add_argument(
        "--batch", action="store_true", help="no terminal UI; end after the commands"
    )
    script.add_argument("-x", dest="script", action=Step, metavar="FILE", help="a file of commands")
    script.add_argument("-ex", dest="script", action=Step, metavar="COMMAND", help="one command")
    script.add_argument(
        "--allow-shell", action="store_true", help="let `shell`, `make` and `pipe` run programs"
    )
    script.add_argument("--json", action="store_true", help="answers as JSON, one object a line")
    script.add_argument(
        "--console", action="store_true", help="the line console, not the terminal UI"
    )
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


class Step(argparse.Action):
    """Collects -x and -ex in the order they were given."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        steps = list(getattr(namespace, self.dest) or [])
        steps.append((option_string, values))
        setattr(namespace, self.dest, steps)
