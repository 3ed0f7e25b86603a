"""Start-up times: processor time and wall time of each way into gpudbg, medians.

    python tests/bench/startup.py [--reps 7] [PROGRAM]

The terminal UI runs on a pseudo terminal until its first screen is painted.  `tests/cli/
test_startup.py` holds what the times come from: the modules each way may load.
"""

from __future__ import annotations

import argparse
import os
import pty
import select
import signal
import statistics
import struct
import sys
import termios
import time
from fcntl import ioctl
from pathlib import Path

FIRST = Path(__file__).resolve().parents[2] / "sessions" / "first_steps" / "first_steps.cubin"
PATIENCE_S = 120

WAYS: dict[str, tuple[list[str], str]] = {
    "python": (["-c", "pass"], ""),
    "import numpy": (["-c", "import numpy"], ""),
    "imports of gpudbg.load": (["-c", "import gpudbg.api.load"], ""),
    "gpudbg.load(PROG)": (["-c", "import sys, gpudbg; gpudbg.load(sys.argv[1])", "PROG"], ""),
    "gpudbg --batch PROG": (["-m", "gpudbg", "--batch", "PROG"], ""),
    "gpudbg run PROG": (["-m", "gpudbg", "run", "PROG"], ""),
    "gpudbg PROG, first line": (["-m", "gpudbg", "PROG"], "opening"),
    "gpudbg PROG, first screen": (["-m", "gpudbg", "PROG"], "Entry"),
}
"""Name -> arguments of python, the text on the terminal that ends the measurement (or the end)."""


def measure(words: list[str], until: str) -> tuple[float, float]:
    """(processor seconds, wall seconds) of one start."""
    began = time.monotonic()
    pid, terminal = pty.fork()
    if not pid:
        os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", LANG="C.UTF-8")
        os.execv(sys.executable, [sys.executable, *words])
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    seen = b""
    while not until or until.encode() not in seen:
        if not select.select([terminal], [], [], PATIENCE_S)[0]:
            raise TimeoutError(f"{words}: nothing for {PATIENCE_S} s")
        try:
            seen += os.read(terminal, 1 << 16)
        except OSError:
            break
    wall = time.monotonic() - began
    if until:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        os.kill(pid, signal.SIGKILL)
        os.wait4(pid, 0)
    else:
        usage = os.wait4(pid, 0)[2]
        used = usage.ru_utime + usage.ru_stime
    os.close(terminal)
    return used, wall


def main() -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", nargs="?", default=str(FIRST))
    parser.add_argument("--reps", type=int, default=7)
    parser.add_argument("--only", default="", help="ways whose name holds this")
    args = parser.parse_args()
    print(f"{'start-up':28} {'CPU s':>6} {'wall s':>7}   least: {'CPU':>5} {'wall':>5}")
    for name, (words, until) in WAYS.items():
        if args.only not in name:
            continue
        words = [args.program if w == "PROG" else w for w in words]
        measure(words, until)  # writes byte code, fills the page cache
        rows = [measure(words, until) for _ in range(args.reps)]
        used, wall = ([row[n] for row in rows] for n in (0, 1))
        print(
            f"{name:28} {statistics.median(used):6.2f} {statistics.median(wall):7.2f}"
            f"          {min(used):5.2f} {min(wall):5.2f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
