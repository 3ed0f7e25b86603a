"""The test that compiled code makes of a guess about lanes, as code of its own, on any numbers.

What holds unless a sum wraps around is a guess: code tests the record where a loop begins, and
goes on with scalars where the test passes (`kernel.lane_facts`).  With its test a claim must always
hold.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from gpudbg.mem.lanes import FULL
from gpudbg.sm.engines.llvm import build
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.values import Values
from gpudbg.sm.engines.llvm.kernel import lane_facts
from gpudbg.sm.engines.llvm.kernel.lane_facts import LaneFact
from gpudbg.sm.lane_patterns import LANES
from gpudbg.sm.lanes.values import ValueShape
from gpudbg.sm.record import HEADER_BYTES

_LINE = 64


@cache
def _passes(fact: LaneFact) -> tuple[Callable[[int], int], build.Code]:
    """The test of a fact about R0, as a function of a record's address; and its code, to keep."""
    ir = Builder()
    right = lane_facts.test(Integers(ir, Values(ir)), {0: fact})
    ir.line(f"ret i1 {right}")
    text = ir.close("define zeroext i1 @guard(ptr %rec)")
    code = build.Code(build.object_of(text, 0))
    return ctypes.CFUNCTYPE(ctypes.c_uint8, ctypes.c_void_p)(code.address("guard")), code


_room = np.zeros(HEADER_BYTES + 4 * LANES + _LINE, np.uint8)
_record = int(_room.ctypes.data) + -int(_room.ctypes.data) % _LINE
_row = (ctypes.c_uint32 * LANES).from_address(_record + HEADER_BYTES)


def passes(shape: ValueShape, values: Sequence[int]) -> bool:
    """Whether code takes a register of all lanes with these values to be as claimed."""
    # What compiled code makes of a claim: bases are read from the record.
    fact = lane_facts._normal(shape.rows, shape.offsets)
    _row[:] = list(values)
    return bool(_passes(fact)[0](_record))


def wrong_guard(shape: ValueShape, values: list[int]) -> str:
    """What a test of a claim says that is not so, or "": of a register's values, then of the same
    with a bit of one lane changed, as a debugger may."""
    shape = ValueShape(shape.rows, shape.offsets)
    rng = random.Random(repr(values))
    changed = list(values)
    changed[rng.randrange(LANES)] ^= 1 << rng.randrange(32)
    for tried in (values, changed):
        said, holds = passes(shape, tried), shape.holds(tried, FULL)
        if said != holds:
            return f"the test of {shape.words()} {'passes' if said else 'fails'} for {tried}"
    return ""
