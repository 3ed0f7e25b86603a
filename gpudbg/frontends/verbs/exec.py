"""gpudbg exec: run a host program with the emulated device in place of a GPU."""

from __future__ import annotations

import argparse
import sys

from gpudbg.arguments import Parser
from gpudbg.errors import EXIT_USAGE, UsageError
from gpudbg.hosting import Execution

DEFAULT_ARCH = "sm_80"


def parser() -> Parser:
    """The arguments of `gpudbg exec`."""
    p = Parser(
        prog="gpudbg exec",
        usage="gpudbg exec [options] PROGRAM [ARGUMENT ...]",
        description="Run a program that uses CUDA; its kernels run on an emulated GPU. "
        "The program keeps its standard input and output, and its exit code is the result.",
    )
    p.add_argument("--arch", default=DEFAULT_ARCH, help=f"of the GPU (default: {DEFAULT_ARCH})")
    p.add_argument("--sms", type=int, help="streaming multiprocessors of the GPU")
    p.add_argument("--engine", default="auto", choices=("auto", "step", "run"), help="as for `run`")
    p.add_argument("words", nargs=argparse.REMAINDER, metavar="PROGRAM [ARGUMENT ...]")
    return p


def main(argv: list[str]) -> int:
    """Run the verb."""
    args = parser().parse_args(argv)
    words = args.words[1:] if args.words[:1] == ["--"] else args.words
    if not words:
        raise UsageError("no program to run", "gpudbg exec PROGRAM [ARGUMENT ...]")
    execution = Execution(words, arch=args.arch, sms=args.sms, engine=args.engine)
    code = execution.run()
    said = execution.last_words()
    if said:
        print(f"gpudbg: {said}", file=sys.stderr)
    return code if code is not None else EXIT_USAGE
