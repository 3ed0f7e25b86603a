"""Loads of lanes whose elements lie in a row, up, down or in one place, or in fours, near the ends
of memory between protected pages; some lanes execute, others may be anywhere.

    python -m tests.engine.hostile_lines --count 400
"""

from __future__ import annotations

import argparse
import ctypes
import json
import random
import struct

import numpy as np
import numpy.typing as npt

from gpudbg.sm.engines.llvm import build, layout
from gpudbg.sm.engines.llvm.ir.values import AccessHost, MaskHost
from gpudbg.sm.engines.llvm.runtime.library import module_with
from tests.engine import guards

FULL = 0xFFFF_FFFF
BASE = 0x7_0000_1000
"""Address of the allocation."""
NAMES = {"load.global.1": 1, "load.global.1s": -1, "load.global.2": 2, "load.global.2s": -2,
         "load.global.4": 4}  # fmt: skip
"""Functions -> bytes of an element, negative: with its sign."""


def _row(count: int) -> npt.NDArray[np.uint8]:
    """Memory that begins at a multiple of 128."""
    whole = np.zeros(count + 128, np.uint8)
    start = -guards.address_of(whole) % 128
    return whole[start : start + count]


class Lines:
    """One function, and an allocation that ends, or begins, at a protected page."""

    def __init__(self, name: str, by_lane: bool, memory: guards.Guards, count: int) -> None:
        self.size, self.signed, self.bytes = abs(NAMES[name]), NAMES[name] < 0, count
        made = module_with(layout.symbol(name), AccessHost(MaskHost.PACKED, by_lane), True, True)
        self._code = build.Code(build.object_of(made.text, 1, made.passes), made.names)
        kind = ctypes.CFUNCTYPE(
            ctypes.c_bool, *[ctypes.c_void_p] * 5, ctypes.c_int64, ctypes.c_uint32, ctypes.c_void_p
        )
        self._call = kind(self._code.address(layout.symbol(name)))
        self.memory, _ = memory.storage(count)
        self.memory[:] = np.random.default_rng(count).integers(0, 256, count, dtype=np.uint8)
        self._site, self._environment = _row(layout.SITE_BYTES), _row(layout.ENVIRONMENT_BYTES)
        about = struct.pack("<QQQ", BASE, count, guards.address_of(self.memory))
        for place in (0, layout.SITE_WHOLE):
            self._site[place : place + 24] = np.frombuffer(about, np.uint8)

    def load(
        self, offsets: npt.NDArray[np.int64], mask: int, add: int
    ) -> npt.NDArray[np.uint32] | None:
        """What lanes load at offsets from the allocation; None: refused."""
        low, high, out = _row(128), _row(128), _row(128)
        address = BASE + offsets - add
        low.view(np.uint32)[:] = (address & FULL).astype(np.uint32)
        high.view(np.uint32)[:] = (address >> 32 & FULL).astype(np.uint32)
        rows = (self._environment, self._environment, self._site, low, high)
        given = [guards.address_of(row) for row in rows]
        good = self._call(*given, add, mask, guards.address_of(out))
        return out.view(np.uint32).copy() if good else None

    def wanted(self, offsets: npt.NDArray[np.int64], mask: int) -> npt.NDArray[np.uint32] | None:
        """The same, by the definition."""
        words = np.zeros(32, np.uint32)
        for lane in range(32):
            if mask >> lane & 1:
                at = int(offsets[lane])
                if not 0 <= at <= self.bytes - self.size or at % self.size:
                    return None
                found = self.memory[at : at + self.size].tobytes()
                value = int.from_bytes(found, "little", signed=self.signed)
                words[lane] = value & FULL
        return words


def case(rng: random.Random, size: int, count: int) -> tuple[npt.NDArray[np.int64], int, int]:
    """(Offsets of lanes, mask, constant in the address)."""
    lanes = np.arange(32, dtype=np.int64)
    edge = rng.choice((0, count - size, count - 32 * size, 31 * size, rng.randrange(count)))
    start = (edge + rng.choice((0, 0, size, -size, 5 * size, -5 * size))) // size * size
    step = rng.choice((size, -size, 0, size, -size, 2 * size))
    offsets = start + step * lanes
    if rng.randrange(4) == 0:
        fours = np.array([rng.randrange(count // size) for _ in range(8)]) * size
        offsets = np.repeat(fours, 4) + size * (lanes % 4)
    if rng.randrange(6) == 0:
        offsets[rng.randrange(32)] += rng.choice((size, -size, 1))
    mask = rng.choice((FULL, rng.getrandbits(32), 1 << rng.randrange(32), FULL << 7, FULL >> 9))
    mask = rng.choice((mask, rng.getrandbits(32) & mask)) & FULL or FULL
    if rng.randrange(2):
        # Lanes that would be outside do not execute.
        inside = (offsets >= 0) & (offsets <= count - size)
        mask &= sum(1 << n for n in range(32) if inside[n])
    wild = np.array([rng.getrandbits(34) - (1 << 33) for _ in range(32)])
    silent = np.array([not mask >> n & 1 for n in range(32)])
    if rng.randrange(2):
        offsets = np.where(silent, wild, offsets)
    return offsets, mask, rng.choice((0, 16, -32, 0x1000))


def _text(words: npt.NDArray[np.uint32] | None) -> bytes | None:
    return None if words is None else words.tobytes()


def main() -> int:
    """Call every function; 1 when any differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=400)
    count = parser.parse_args().count
    guards.quiet()
    memory, rng, different, done = guards.Guards(), random.Random(20261127), 0, 0
    for name in NAMES:
        for by_lane in (False, True):
            for memory.at_end in (False, True):
                for room in (16, 32, 64, 272, 4096):
                    one = Lines(name, by_lane, memory, room)
                    for _ in range(count // 20):
                        given = case(rng, one.size, room)
                        got, want = one.load(*given), one.wanted(*given[:2])
                        same = _text(got) == _text(want)
                        different, done = different + (not same), done + (want is not None)
    print(json.dumps({"loaded": done, "differ": different}))
    return int(different > 0)


if __name__ == "__main__":
    raise SystemExit(main())
