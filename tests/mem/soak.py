"""Soak: many launches of a working set, and nothing grows.

    python -m tests.mem.soak [--launches 1000] [--megabytes 64]

Launches are run, faulted, restarted, stopped half way, closed and dropped in turn, on both engines,
with the garbage collector switched off; the process's resident memory and the device's live bytes
are told every tenth of the way, and must end where they were after the first tenth.
"""

from __future__ import annotations

import argparse
import gc
import sys
from pathlib import Path
from typing import Any

import numpy as np

import gpudbg

CUBIN = Path(__file__).resolve().parents[1] / "data" / "bench" / "cubin" / "saxpy.sm_50.cubin"
ROOM_MB = 24
"""Resident megabytes that may be more at the end: the host's allocator, caches that fill up."""


def resident_mb() -> float:
    """Of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / (1 << 20)


def live_bytes(program: Any) -> int:
    """Of device memory."""
    return sum(a.data.nbytes for a in program.device.gpu.memory.allocations())


def one(program: Any, n: int, x: Any, y: Any, own: Any) -> None:
    """A launch, used in one of several ways."""
    count = 4096
    # A device's buffer in its place: arguments that live longer, written to in every launch.
    arguments = [x, own if n % 3 == 0 else y, np.int32(count), np.float32(2)]
    if n % 7 == 3:
        # Far more threads than elements: the kernel's bound is wrong, and it faults.
        arguments[2] = np.int32(1 << 30)
        arguments[1] = y[:16]
    session = program.launch(grid=count // 256, block=256, args=arguments)
    if n % 5 == 1:
        session.step(3)
        session.break_at("*0x28", callback=lambda session, stop: False)
        session.on("warp_end", lambda warp: None)
    if n % 5 != 2:
        session.run()
    if n % 5 == 3:
        session.restart()
        session.run()
    if n % 2:
        session.close()


def soak(launches: int, megabytes: int, say: Any = print) -> tuple[float, int]:
    """Growth of resident megabytes after the first tenth, and live bytes that are left over."""
    size = (megabytes << 20) // 8
    x, y = np.ones(size, np.float32), np.ones(size, np.float32)
    worst, left = 0.0, 0
    gc.collect()
    gc.disable()
    try:
        for engine in ("step", "run"):
            program = gpudbg.load(str(CUBIN), engine=engine)
            own = program.device.buffer(y)
            before, first = live_bytes(program), 0.0
            step = max(1, launches // 20)
            for n in range(launches // 2):
                one(program, n, x, y, own)
                if n % step == step - 1:
                    now = resident_mb()
                    first = first or now
                    say(f"{engine}: {n + 1} launches, {now:.0f} MB resident")
            worst = max(worst, resident_mb() - first)
            left += live_bytes(program) - before
    finally:
        gc.enable()
    return worst, left


def main() -> int:
    """Soak, and say whether it was flat."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--launches", type=int, default=1000)
    p.add_argument("--megabytes", type=int, default=64)
    args = p.parse_args()
    growth, left = soak(args.launches, args.megabytes)
    print(f"{growth:.1f} MB more than after the first tenth, {left} bytes of device memory left")
    return int(growth > ROOM_MB or left != 0)


if __name__ == "__main__":
    sys.exit(main())
