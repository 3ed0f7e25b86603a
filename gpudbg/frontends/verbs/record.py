"""gpudbg record: run a kernel and write a recording of the launch."""

from __future__ import annotations

import sys
from pathlib import Path

from gpudbg.api import add_launch_flags, open_session
from gpudbg.debug import interrupts, progress_shown
from gpudbg.frontends.verbs.common import Parser, emit_json
from gpudbg.frontends.verbs.run import exit_code
from gpudbg.launch import whole


def main(argv: list[str]) -> int:
    """Run the verb."""
    p = Parser(
        prog="gpudbg record",
        # `-o` is the recording here, no output of the kernel.
        conflict_handler="resolve",
        description="Run a kernel to its end and write a recording of the launch: a file that "
        "`gpudbg FILE.gpurec` opens on any machine, with all of its past.",
    )
    p.add_argument("program")
    add_launch_flags(p)
    p.add_argument(
        "-o", dest="recording", metavar="FILE.gpurec", help="the recording (default: PROG.gpurec)"
    )
    p.add_argument(
        "--max-instructions", type=whole(1), metavar="N", help="stop after N warp instructions"
    )
    p.add_argument("--json", action="store_true")
    args = p.parse_args(argv)
    path = args.recording or str(Path(args.program).with_suffix(".gpurec"))
    session = open_session(args.program, args)
    if not args.json:
        session.output.listeners.append(lambda text: print(text, end="", flush=True))
    with interrupts(session), progress_shown(session):
        stop = session.run(max_instructions=args.max_instructions)
    size = session.save_recording(path)
    if args.json:
        emit_json({"stop": stop.to_json(), "file": path, "bytes": size, "tick": session.tick})
    else:
        print(stop.message, file=sys.stderr if stop.failed else sys.stdout)
        print(f"{path}: {size:,} bytes; `gpudbg {path}` opens it")
    return exit_code(stop)
