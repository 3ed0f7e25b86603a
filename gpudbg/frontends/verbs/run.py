"""gpudbg run: a kernel to its end without a terminal; the exit code says what happened."""

from __future__ import annotations

import sys

from gpudbg.analysis import report
from gpudbg.api import add_launch_flags, open_session
from gpudbg.debug import CHECKS, engine_trouble, interrupts, progress_shown
from gpudbg.debug.stops import ExitStop, Stop
from gpudbg.debug.views import stop_card
from gpudbg.errors import EXIT_CLEAN, EXIT_FAULT, EXIT_FINDINGS
from gpudbg.frontends.verbs.common import Parser, emit_json
from gpudbg.launch import whole


def main(argv: list[str]) -> int:
    """Run the verb."""
    p = Parser(prog="gpudbg run", description="Run a kernel to its end and show its outputs.")
    p.add_argument("program")
    add_launch_flags(p)
    p.add_argument(
        "--max-instructions", type=whole(1), metavar="N", help="stop after N warp instructions"
    )
    p.add_argument(
        "--check",
        action="append",
        default=[],
        metavar="NAME",
        help="watch for mistakes; " + "; ".join(f"{n}: {k.help}" for n, k in CHECKS.items()),
    )
    p.add_argument(
        "--record-on-fault",
        metavar="FILE.gpurec",
        help="where the kernel fails, write a recording that `gpudbg FILE.gpurec` opens",
    )
    p.add_argument("--quiet", "-q", action="store_true", help="only the exit code")
    p.add_argument("--json", action="store_true")
    args = p.parse_args(argv)
    session = open_session(args.program, args)
    if not args.json:
        session.output.listeners.append(lambda text: print(text, end="", flush=True))
    checks = {name: session.check(name) for name in args.check}
    with interrupts(session), progress_shown(session):
        # A recording may stand at the launch's end already.
        last = session.stop if session.finished or session.faulted else None
        stop = last or session.run(max_instructions=args.max_instructions)
    if stop.failed and args.record_on_fault:
        size = session.save_recording(args.record_on_fault)
        print(f"gpudbg: {args.record_on_fault}: {size:,} bytes", file=sys.stderr)
    trouble = engine_trouble(session)
    if trouble and (args.engine == "run" or args.jobs > 1):
        print(f"gpudbg: {trouble}", file=sys.stderr)
    if args.json:
        emit_json(
            {
                "stop": stop.to_json(),
                "outputs": _outputs(session),
                "printed": session.output.text,
                "findings": {n: [f.to_json() for f in c.findings] for n, c in checks.items()},
            }
        )
    elif not args.quiet:
        stream = sys.stdout if isinstance(stop, ExitStop) else sys.stderr
        print("\n".join(stop_card(session, stop)), file=stream)
        for name, check in checks.items():
            print("\n".join(report(name, check)), file=stream)
    if any(check.findings for check in checks.values()):
        return exit_code(stop) or EXIT_FINDINGS
    return exit_code(stop)


def exit_code(stop: Stop) -> int:
    """0 ended, 3 faulted or deadlocked, 1 stopped before the end."""
    if stop.failed:
        return EXIT_FAULT
    return EXIT_CLEAN if isinstance(stop, ExitStop) else EXIT_FINDINGS


def _outputs(session: object) -> dict[str, object]:
    from gpudbg.debug import DebugSession

    assert isinstance(session, DebugSession)
    rows = [a for a in session.launch.arguments if a.buffer is not None]
    marked = [a for a in rows if a.output] or rows
    return {a.name: a.buffer.array() for a in marked}
