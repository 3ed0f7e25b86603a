"""gpudbg record: run a kernel and write a recording of the launch."""

from __future__ import annotations

import sys
from pathlib import Path

from gpudbg.answers import ROWS, Card, column, typed_row
from gpudbg.api import add_launch_flags, open_session
from gpudbg.arguments import Parser
from gpudbg.debug import interrupts, progress_shown
from gpudbg.debug.stops import Stop
from gpudbg.frontends.verbs.common import emit
from gpudbg.frontends.verbs.run import exit_code, on_one_thread
from gpudbg.options import add_verb_options


@typed_row
class WrittenRecording:
    """A recording that was written, and how its run ended."""

    stop: Stop = column(show=ROWS)
    file: str = column()
    size: int = column(key="bytes")
    tick: int = column()

    def lines(self) -> list[str]:
        """The recording for people; a failure has been reported as one."""
        said = [] if self.stop.failed else [self.stop.message]
        return [*said, f"{self.file}: {self.size:,} bytes; `gpudbg {self.file}` opens it"]


def main(argv: list[str]) -> int:
    """Run the verb."""
    p = Parser(
        prog="gpudbg record",
        # `-o` is the recording here, no output of the kernel.
        conflict_handler="resolve",
        description="Run a kernel to its end and write a recording of the launch: a file that "
        "`gpudbg FILE.gpurec` opens on any machine, with all of its past.",
    )
    add_launch_flags(p)
    add_verb_options(p, "record")
    args = p.parse_args(argv)
    path = args.recording or str(Path(args.program).with_suffix(".gpurec"))
    on_one_thread(args)
    session = open_session(args.program, args)
    if not args.json:
        session.output.listeners.append(lambda text: print(text, end="", flush=True))
    with interrupts(session), progress_shown(session):
        stop = session.run(max_instructions=args.max_instructions)
    size = session.save_recording(path)
    written = WrittenRecording(stop, path, size, session.tick)
    if stop.failed and not args.json:
        print(stop.message, file=sys.stderr)
    emit(Card(written, WrittenRecording.lines), args.json)
    return exit_code(stop)
