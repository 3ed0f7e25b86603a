"""What code guesses of lanes in loops is tested, and right or of no consequence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.sm.engines.llvm import job
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.values import UNIFORM, Val, Values
from gpudbg.sm.engines.llvm.kernel.emitter import Emitter
from gpudbg.sm.engines.llvm.kernel.lane_facts import LaneFact, claims_of, fact_of, scalars
from gpudbg.sm.engines.llvm.program import GOOD
from tests.engine import fuzz_lanes, machines

CUBINS = Path(__file__).parents[1] / "data" / "bench" / "cubin"
SOURCE = """
.arch sm_50
.kernel probe
.param in 8
.param out 8
.param n 4
    S2R R0, SR_CTAID.X ;
    S2R R1, SR_TID.X ;
    XMAD R2, R0, c[0x0][0x8], R1 ;
    MOV R3, RZ ;
    MOV R9, R2 ;
again:
    SHL R4, R2, 0x2 ;
    SHR R5, R2, 0x1e ;
    IADD R4.CC, R4, c[0x0][in] ;
    IADD.X R5, R5, c[0x0][in+4] ;
    LDG.E R6, [R4] ;
    IADD R3, R3, R6 ;
    IADD R2, R2, 0x40 ;
    ISETP.LT.AND P0, PT, R2, c[0x0][n], PT ;
@P0 BRA again ;
    SHL R7, R9, 0x2 ;
    IADD R4.CC, R7, c[0x0][out] ;
    IADD.X R5, RZ, c[0x0][out+4] ;
    STG.E [R4], R3 ;
    EXIT ;
"""
N = 1024


def _session(engine: str) -> Any:
    program = gpudbg.load(assemble_file(SOURCE).cubin(), engine=engine, num_sms=1)
    data = program.device.buffer(np.arange(N + 64, dtype=np.uint32))
    out = program.device.buffer(np.zeros(64, np.uint32))
    return program.launch("probe", grid=2, block=32, args=[data, out, np.int32(N)])


def test_a_turn_that_is_over_before_the_loop() -> None:
    """Its warp goes on in the other code up to where turns end: there is no such place before the
    loop, at whose entry the guess does not hold."""
    states = []
    long = SOURCE.replace("again:", "    IADD R10, R10, 0x1 ;\n" * 61 + "again:").replace(
        "    XMAD R2, R0, c[0x0][0x8], R1 ;", "    XMAD R2, R0, c[0x0][0x8], R1 ;\n    MOV R8, R2 ;"
    )
    for engine in ("step", "run"):
        program = gpudbg.load(assemble_file(long).cubin(), engine=engine, num_sms=1)
        data = program.device.buffer(np.arange(N + 64, dtype=np.uint32))
        out = program.device.buffer(np.zeros(512, np.uint32))
        session = program.launch("probe", grid=2, block=128, args=[data, out, np.int32(N)])
        session.run(max_instructions=10)
        for warp in session.grid.warps():
            # In the record now, from where the loop's code takes it if it is as expected.
            warp.R[2][5] += 64
        session.run(max_instructions=400)
        states.append(machines.grid_state(session.grid))
    assert machines.difference(states[0], states[1]) == ""


@pytest.mark.parametrize("lane", [None, 5])
def test_a_changed_lane(lane: int | None) -> None:
    """A debugger changes the index of one lane in the loop: the engines still agree."""
    states = []
    for engine in ("step", "run"):
        session = _session(engine)
        session.run(max_instructions=60)
        warp = next(iter(session.grid.warps()))
        if lane is not None:
            warp.R[2][lane] += 64
        session.run(max_instructions=150)
        states.append(machines.grid_state(session.grid))
        session.run()
    assert machines.difference(states[0], states[1]) == ""


def test_the_loop_has_a_scalar() -> None:
    """The index goes round as one number: so much is guessed, tested and used."""
    session = _session("run")
    session.run()
    work, _ = session.grid.fast.engine.program._job(True, GOOD)
    emitted = job.emit(work)
    facts = [facts for facts in emitted.emitter.edges.facts.values() if facts]
    assert facts == [{2: LaneFact(1, tuple(range(32)))}]


def test_facts_of_values() -> None:
    ir = Builder()
    ints = Integers(ir, Values(ir))
    base = Val(32, "%base", UNIFORM)
    line = ints.affine((base,), tuple(3 + 4 * n for n in range(32)))
    fact = fact_of(ints, line)
    assert fact == LaneFact(1, tuple(4 * n for n in range(32)))
    assert fact_of(ints, line, 2) == LaneFact(2, tuple(4 * (n % 16) for n in range(32)))
    assert fact_of(ints, 7) == fact_of(ints, base) == LaneFact(1, (0,) * 32)
    assert fact_of(ints, Val(32, "%any")) is None
    assert len(scalars(ints, line, LaneFact(2, tuple(4 * (n % 16) for n in range(32)))) or ()) == 2
    assert scalars(ints, base, fact) is None


def test_what_is_claimed_at_the_head() -> None:
    """Offsets of rows of threads, through sums and round the loop; what the loop changes is none.

    The loop itself keeps only what it reads or writes."""
    session = _session("run")
    session.run()
    program = session.grid.fast.engine.program
    listing, head = program.listing, program.listing.loops[0][0]
    line, flat = LaneFact(1, tuple(range(32))), LaneFact(1, (0,) * 32)
    claims = claims_of(listing, program.registers, 32)
    assert claims is not None
    found = claims.at(head)
    assert (found[2], found[9], found[1], found[0]) == (line, line, line, flat)
    assert found.keys().isdisjoint({3, 6})
    short = claims_of(listing, program.registers, 16)
    assert short is not None
    assert short.at(head)[1] == LaneFact(1, tuple(n % 16 for n in range(32)))
    others = claims_of(listing, program.registers, 0)
    assert others is not None
    assert 2 not in others.at(head)


def test_calls_are_guessed_to_return_all_lanes_together() -> None:
    """Of a launch's first loop, behind a division that may call: the analysis itself says nothing
    of the counter, since lanes of sm_80 may return from the call one after the other."""
    program = gpudbg.load(str(CUBINS / "mandelbrot.sm_80.cubin"), engine="run")
    out = program.device.buffer(np.zeros((64, 64), np.int32))
    session = program.launch(grid=(4, 4), block=(16, 16), args=[out, 64, 64, 50])
    session.run()
    fast: Any = session.grid.fast
    made = fast.engine.program
    head, counter = made.listing.base + 0x360, 5
    claims = claims_of(made.listing, made.registers, 16)
    assert claims is not None
    assert claims.at(head)[counter] == LaneFact(1, (0,) * 32)
    assert counter not in fuzz_lanes.analysis(session).claims(0x360)


def test_a_loop_is_emitted_twice_with_facts_of_the_analysis(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = _session("run")
    session.run()
    work, _ = session.grid.fast.engine.program._job(True, GOOD)
    head = work.listing.loops[0][0]
    heads, trace = [], Emitter._trace

    def counted(self: Emitter, at: int, *more: Any, **named: Any) -> int | None:
        heads.append(at)
        return trace(self, at, *more, **named)

    monkeypatch.setattr(Emitter, "_trace", counted)
    job.emit(work)
    assert heads.count(head) == 2
