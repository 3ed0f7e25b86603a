"""Rows of matrices that products of warp groups read, by descriptors that point anywhere.

    python -m tests.engine.hostile_rows --count 2000

calls the compiled functions with shared memory between protected pages: a read outside of it ends
the process.  Prints how many calls there were, and how many lay inside.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import random

from gpudbg.sm.engines.llvm import build, layout
from gpudbg.sm.engines.llvm.runtime.warpgroup import operand_rows
from tests.engine import guards

NAMES = ("wgmma.along", "wgmma.across")
SIZES = (16, 128, 1024, 16384, 227 << 10)
FIELDS = (0, 1, 2, 8, 16, 64, 0x3FFF)
"""Of the start and both distances, in units of 16 bytes."""


def texts() -> str:
    """Both functions."""
    return "\n".join(operand_rows(name) for name in NAMES)


def descriptor(rng: random.Random, size: int) -> int:
    """A word whose fields are at the edges, near the end of the memory, or random."""

    def field() -> int:
        near = max(0, (size >> 4) - rng.randrange(20))
        return rng.choice((*[rng.choice(FIELDS)] * 3, near, near, rng.getrandbits(14))) & 0x3FFF

    word = field() | field() << 16 | field() << 32
    return word | rng.getrandbits(3) << 49 | rng.getrandbits(2) << 62 | rng.getrandbits(2) << 14


def main() -> int:
    """Call both with every size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    count = parser.parse_args().count
    guards.quiet()
    code = build.Code(build.object_of(texts(), 0))
    kind = ctypes.CFUNCTYPE(
        ctypes.c_bool, ctypes.c_void_p, *[ctypes.c_uint64] * 4, ctypes.c_uint32,
        ctypes.c_void_p, ctypes.c_void_p,
    )  # fmt: skip
    functions = [kind(code.address(layout.symbol(name))) for name in NAMES]
    memory = guards.Guards()
    rng, total, inside = random.Random(20261126), 0, 0
    held = [memory.storage(128)[0] for _ in range(2)]
    rows = [guards.address_of(row) for row in held]
    for size in SIZES:
        for memory.at_end in (True, False):
            shared = memory.storage(size)[0]
            shared[:] = 0xA5
            for _ in range(count // len(SIZES)):
                word, first = descriptor(rng, size), 8 * rng.randrange(32)
                about = size, word, first, rng.choice((0, 2)), 0
                for function in functions:
                    total += 1
                    inside += function(guards.address_of(shared), *about, *rows)
    print(json.dumps({"total": total, "inside": inside}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
