"""gpudbg export surface PROG NAME FILE: run a kernel and write a surface to a file."""

from __future__ import annotations

import sys

from gpudbg.answers import ROWS, Notice, column, typed_row
from gpudbg.api import add_launch_flags, open_session
from gpudbg.arguments import Parser
from gpudbg.debug import interrupts
from gpudbg.debug.stops import BreakpointStop, ExitStop, Stop
from gpudbg.errors import EXIT_CLEAN, UsageError
from gpudbg.frontends.verbs.common import emit
from gpudbg.frontends.verbs.run import exit_code
from gpudbg.options import add_verb_options


@typed_row
class WrittenImage:
    """A surface that was written to a file, and how its run ended."""

    name: str = column()
    file: str = column()
    text: str = column()
    stop: Stop = column(show=ROWS)


def main(argv: list[str]) -> int:
    """Run the verb."""
    p = Parser(
        prog="gpudbg export",
        description="Run a kernel, to its end or to a place, and write a surface to a file.",
    )
    add_launch_flags(p)
    add_verb_options(p, "export")
    args = p.parse_args(argv)
    if not args.file.endswith((".png", ".npy")):
        raise UsageError(f"{args.file}: the name must end in .png or .npy")
    from gpudbg.debug.values import image_named
    from gpudbg.device import export_image

    session = open_session(args.program, args)
    image = image_named(session, args.name, args.kind)
    if args.until:
        session.execute(f"tbreak {args.until}")
    with interrupts(session):
        stop = session.cont() if args.until else session.run(max_instructions=args.max_instructions)
    if not isinstance(stop, ExitStop | BreakpointStop):
        print(stop.message, file=sys.stderr)
    said = export_image(image, args.file, args.slice, args.zoom)
    emit(Notice(said, WrittenImage(args.name, args.file, said, stop)), args.json)
    return EXIT_CLEAN if args.until and isinstance(stop, BreakpointStop) else exit_code(stop)
