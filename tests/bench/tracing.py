"""What a trace and a breakpoint's condition cost: CPU time beside the same run without.

    python tests/bench/tracing.py [--threads 131072] [--json OUT]

Of a trace of accesses: the whole run divided by its entries, and the difference to a run without;
with compiled code from the first instruction on ("run"), and with what steps before ("auto", which
costs the same without a trace).  The first run compiles and is not counted.  Entries made from a
finished log cost what the last column says.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]

import numpy as np  # noqa: E402

import gpudbg  # noqa: E402

CUBIN = Path(__file__).resolve().parents[1] / "data/bench/cubin/saxpy.sm_50.cubin"


def session(threads: int, engine: str = "auto") -> Any:
    """saxpy of many threads, before its first instruction."""
    program = gpudbg.load(CUBIN, engine=engine)
    x = program.device.buffer(np.arange(threads, dtype=np.float32))
    y = program.device.buffer(np.ones(threads, np.float32))
    args = [x, y, np.int32(threads), np.float32(2)]
    return program.launch(grid=threads // 256, block=256, args=args)


def cpu(run: Callable[[], Any]) -> float:
    """Seconds of CPU time of a call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def traced(threads: int, engine: str) -> dict[str, float]:
    """Seconds of a plain and a traced run, and microseconds and bytes an entry."""
    plain, noted, asked = [], [], []
    for _ in range(4):
        bare, whole = session(threads, engine), session(threads, engine)
        plain.append(cpu(bare.run))
        with whole.trace("access") as log:
            noted.append(cpu(whole.run))
    for _ in range(2):
        asked.append(cpu(lambda: sum(len(entry.lanes) for entry in log)))
    alone, both, count = min(plain[1:]), min(noted[1:]), len(log)
    return {
        "entries": count,
        "seconds": alone,
        "seconds_traced": both,
        "microseconds_per_entry_whole_run": 1e6 * both / count,
        "more_microseconds_per_entry": 1e6 * (both - alone) / count,
        "bytes_per_entry": log.nbytes / count,
        "microseconds_to_make_an_entry": 1e6 * min(asked) / count,
    }


def conditional(threads: int) -> dict[str, float]:
    """Seconds of a run without a breakpoint, and with one whose condition never holds."""
    plain, asked = [], []
    for _ in range(5):
        bare, watched = session(threads), session(threads)
        watched.break_at("saxpy+0x98", condition="$R4 == 12345678")
        plain.append(cpu(bare.run_to_stop))
        asked.append(cpu(watched.run_to_stop))
    return {
        "seconds": min(plain),
        "seconds_with_condition": min(asked),
        "more_microseconds_per_warp": 1e6 * (min(asked) - min(plain)) / (threads / 32),
    }


def main() -> int:
    """Print one line a case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1 << 17)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = {
        "trace run": traced(options.threads, "run"),
        "trace auto": traced(options.threads, "auto"),
        "condition": conditional(options.threads),
    }
    for case, values in results.items():
        print(case, "  ".join(f"{name} {value:.4g}" for name, value in values.items()))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
