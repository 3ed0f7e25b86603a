"""gpudbg run: a kernel to its end without a terminal; the exit code says what happened."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from gpudbg.analysis import ReportedFinding, report
from gpudbg.answers import ROWS, Card, Format, column, typed_row
from gpudbg.api import add_launch_flags, open_session
from gpudbg.arguments import Parser
from gpudbg.debug import CHECKS, engine_trouble, interrupts, progress_shown
from gpudbg.debug.stops import ExitStop, Stop, StopCard
from gpudbg.errors import EXIT_CLEAN, EXIT_FAULT, EXIT_FINDINGS
from gpudbg.frontends.verbs.common import emit
from gpudbg.options import add_verb_options

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession


FINDINGS = Format(
    data=lambda found: {name: [f.to_json() for f in rows] for name, rows in found.items()}
)


def main(argv: list[str]) -> int:
    """Run the verb."""
    p = Parser(prog="gpudbg run", description="Run a kernel to its end and show its outputs.")
    add_launch_flags(p)
    words = "; ".join(f"{name}: {kind.help}" for name, kind in CHECKS.items())
    add_verb_options(p, "run", check={"help": words})
    args = p.parse_args(argv)
    if args.record_on_fault:
        on_one_thread(args)
    session = open_session(args.program, args)
    if not args.json:
        session.output.listeners.append(lambda text: print(text, end="", flush=True))
    checks = {name: session.check(name) for name in args.check}
    with interrupts(session), progress_shown(session):
        # A recording may stand at the launch's end already.
        last = session.stop if session.finished or session.faulted else None
        stop = last or session.run(max_instructions=args.max_instructions)
    if args.quiet and stop.recorded:
        print(f"gpudbg: {stop.recorded}", file=sys.stderr)
    trouble = engine_trouble(session)
    if trouble and (args.engine == "run" or args.jobs > 1):
        print(f"gpudbg: {trouble}", file=sys.stderr)
    if args.json or not args.quiet:
        failed = not (args.json or isinstance(stop, ExitStop))
        result = Card(RunResult.of(session, stop, checks), RunResult.lines)
        emit(result, args.json, sys.stderr if failed else sys.stdout)
    if any(check.findings for check in checks.values()):
        return exit_code(stop) or EXIT_FINDINGS
    return exit_code(stop)


def on_one_thread(args: argparse.Namespace) -> None:
    """Have a run that is recorded take one host thread: on several it is not the same again."""
    if args.jobs > 1:
        print("gpudbg: a run that is recorded takes one host thread", file=sys.stderr)
        args.jobs = 1


def exit_code(stop: Stop) -> int:
    """0 ended, 3 faulted or deadlocked, 1 stopped before the end or went on without accesses."""
    if stop.failed:
        return EXIT_FAULT
    return EXIT_CLEAN if isinstance(stop, ExitStop) and not stop.dropped else EXIT_FINDINGS


@typed_row
class RunResult:
    """How a run ended: the stop, the output buffers, what was printed, what checks found.

    `card` is the stop in full, `reports` are the lines of the checks.
    """

    stop: Stop = column(show=ROWS)
    outputs: dict[str, NDArray[Any]] = column()
    printed: str = column()
    findings: dict[str, tuple[ReportedFinding, ...]] = column(show=FINDINGS)
    card: StopCard = column(key="")
    reports: tuple[str, ...] = column(key="")

    @classmethod
    def of(cls, session: DebugSession, stop: Stop, checks: dict[str, Any]) -> RunResult:
        """The result of a session's run with some checks."""
        rows = [a for a in session.launch.arguments if a.buffer is not None]
        marked = [a for a in rows if a.output] or rows
        return cls(
            stop,
            {a.name: a.buffer.array() for a in marked},
            session.output.text,
            {name: tuple(check.findings) for name, check in checks.items()},
            StopCard.of(session, stop),
            tuple(line for name, check in checks.items() for line in report(name, check)),
        )

    def lines(self) -> list[str]:
        """The result for people."""
        return [*self.card.lines(), *self.reports]
