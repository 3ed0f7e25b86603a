"""Random files of commands: each is carried out or refused in one line.

python -m tests.scripts.fuzz_files --count 5000
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import gpudbg
from gpudbg.debug.script import host
from gpudbg.debug.session import DebugSession
from gpudbg.debug.values.evaluation import evaluate
from gpudbg.errors import GpudbgError
from tests.launching import FIRST

LINES = (
    "if 1|if 0|if $x|if|while $i < 3|while 0|while|else|end|end|end|end|define f|define|define g h"
    "|document f|commands|commands 1|commands 99|loop_break|loop_continue|f|f 1 2|f $arg0"
    '|echo a\\n|echo $argc $arg0\\n|set $i = $i + 1|set $i++|set $x = "s"|print $i|silent'
    '|printf "%d\\n", $i|printf "%s"|eval "print %d", 3|break block_max+0x178|continue|stepi'
    '|python|# c|echo \\|source f.gdb|define hook-echo|print "|print "a" + 1|$_isvoid(|info b'
).split("|")


def files(seed: int, count: int) -> Iterator[str]:
    """Texts of files, the same for the same seed; the first ones nest deeply."""
    dice = random.Random(seed)
    yield "if 1\n" * 100_000
    yield "if 1\n" * 150 + "echo in\\n\n" + "end\n" * 150
    yield "define f\nf\nend\nf\n"
    yield "".join(chr(dice.randrange(256)) for _ in range(5000))
    for _ in range(count):
        lines = [dice.choice(LINES) for _ in range(dice.randrange(1, 40))]
        yield "set $i = 0\n" + "\n".join(lines)


def trouble(session: DebugSession, path: Path, text: str) -> str:
    """What is wrong with the answer to a file; nothing when it is good."""
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    left = 3000

    def tested(inferior: Any, expression: str) -> Any:
        # A `while` without end ends as Ctrl-C ends it.
        nonlocal left
        left -= 1
        if left < 0:
            session.interrupt()
        return evaluate(inferior, expression)

    try:
        with mock.patch.object(host, "evaluate", tested):
            session.command(f"source {path}")
    except GpudbgError as error:
        said = str(error)
        if "\n" in said or len(said) > 3000 or "internal error" in said:
            return f"a bad message: {said[:300]}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def main() -> int:
    """Report bad answers; 1 when there are any."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    bad = 0
    session = gpudbg.open(str(FIRST))
    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(files(args.seed, args.count)):
            if number % 200 == 0:
                session = gpudbg.open(str(FIRST))
            said = trouble(session, Path(folder) / "f.gdb", text)
            if said:
                bad += 1
                print(f"{text[:500]!r}\n  {said}")
    print(f"{args.count} files, {bad} answered badly")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
