"""Barriers of some threads, arrivals without waiting and reductions, in compiled code."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from tests.engine import machines

NAMED = """
.arch sm_50
.kernel named
.barriers 16
.shared 1024
.param at 8
    S2R R8, SR_TID.X ;
    SHR.U32 R9, R8, 0x5 ;
    SHL R10, R8, 0x2 ;
    MOV R2, c[0x0][at] ;
    MOV R3, c[0x0][at+4] ;
    S2R R12, SR_CTAID.X ;
    SHL R12, R12, 0x9 ;
    IADD R2.CC, R2, R12 ;
    IADD.X R3, R3, RZ ;
    ISETP.LT.U32.AND P0, PT, R9, 0x2, PT ;
    MOV32I R15, 0x8 ;
    MOV R14, RZ ;
again:
    SSY joined ;
    @!P0 BRA consume ;
    IADD R11, R8, R15 ;
    STS [R10], R11 ;
    BAR.ARV 0x1, 0x80 ;
    BAR.SYNC 0x2, 0x80 ;
    SYNC ;
consume:
    BAR.SYNC 0x1, 0x80 ;
    LDS R11, [R10+-0x100] ;
    IADD R14, R14, R11 ;
    BAR.ARV 0x2, 0x80 ;
    SYNC ;
joined:
    ISETP.GT.U32.AND P1, PT, R8, R15, PT ;
    BAR.RED.POPC 0x3, P1 ;
    B2R.RESULT R16 ;
    IADD R14, R14, R16 ;
    BAR.RED.AND 0x4, P1 ;
    B2R.RESULT RZ, P2 ;
    @P2 IADD32I R14, R14, 0x1000 ;
    BAR.RED.OR 0x5, P1 ;
    B2R.RESULT RZ, P2 ;
    @P2 IADD32I R14, R14, 0x10000 ;
    BAR.SYNC 0x0 ;
    IADD32I R15, R15, -0x1 ;
    ISETP.NE.U32.AND P1, PT, R15, RZ, PT ;
    @P1 BRA again ;
    SHL R10, R8, 0x2 ;
    IADD R2.CC, R2, R10 ;
    IADD.X R3, R3, RZ ;
    STG.E [R2], R14 ;
    EXIT ;
"""

BLOCKS, THREADS = 6, 128


def _launch(engine: str, **options: Any) -> Any:
    program = gpudbg.load(assemble_file(NAMED).cubin(), engine=engine, **options)
    out = program.device.buffer(np.zeros(BLOCKS * THREADS, np.uint32))
    return program.launch(grid=BLOCKS, block=THREADS, args=[out])


def _expected() -> np.ndarray:
    """What each thread of a block has in the end."""
    rounds = range(1, 9)
    above = sum(THREADS - 1 - n for n in rounds)
    either = sum(0x10000 for n in rounds)
    made = np.full(THREADS, above + either, np.uint32)
    consumers = np.arange(64)
    made[64:] += np.sum([consumers + n for n in rounds], 0).astype(np.uint32)
    return np.tile(made, BLOCKS)


@pytest.mark.parametrize("jobs", [1, 2])
def test_results(jobs: int) -> None:
    session = _launch("run", jobs=jobs)
    assert session.run().kind == "exited"
    assert np.array_equal(session.buffer(0), _expected())
    assert not session.grid.fast.engine.exits


def test_stops_and_changes_of_engine() -> None:
    """Arrivals, counts and votes of a phase in progress pass from engine to engine."""
    step, run = _launch("step"), _launch("run")
    fast = run.grid.fast
    rng = random.Random(4)
    kind = "limit"
    while kind == "limit":
        run.grid.fast = rng.choice((fast, fast, None))
        count = rng.randrange(1, 120)
        kinds = [s.run(max_instructions=count).kind for s in (step, run)]
        states = machines.grid_state(step.grid), machines.grid_state(run.grid)
        assert machines.difference(*states) == ""
        assert kinds[0] == kinds[1]
        kind = kinds[0]
    assert kind == "exited"
