"""Code that goes from warp to warp by itself: turns, barriers and ends are the step engine's."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.sm.engines.llvm import job
from gpudbg.sm.engines.llvm.program import GOOD
from tests.engine import machines

ENDS = """
.arch sm_50
.kernel probe
.param out 8
    S2R R0, SR_CTAID.X ;
    S2R R1, SR_TID.X ;
    XMAD R2, R0, c[0x0][0x8], R1 ;
    SHL R3, R2, 0x2 ;
    IADD R4.CC, R3, c[0x0][out] ;
    IADD.X R5, RZ, c[0x0][out+4] ;
    ISETP.GE.AND P0, PT, R1, 0x70, PT ;
@P0 EXIT ;
    STG.E [R4], R2 ;
    EXIT ;
"""
"""The last warp of a block parts with some of its lanes."""

WAITS = """
.arch sm_50
.kernel probe
.param out 8
.shared 1024
    S2R R0, SR_CTAID.X ;
    S2R R1, SR_TID.X ;
    SHL R2, R1, 0x2 ;
    STS [R2], R1 ;
    BAR.SYNC 0x0 ;
    LOP32I.XOR R3, R2, 0x1fc ;
    LDS R4, [R3] ;
    BAR.SYNC 0x0 ;
    IADD R4, R4, R0 ;
    XMAD R5, R0, c[0x0][0x8], R1 ;
    SHL R5, R5, 0x2 ;
    IADD R6.CC, R5, c[0x0][out] ;
    IADD.X R7, RZ, c[0x0][out+4] ;
    STG.E [R6], R4 ;
    EXIT ;
"""

PHASES = """
.arch sm_50
.kernel probe
.param out 8
.shared 1024
    S2R R0, SR_CTAID.X ;
    S2R R1, SR_TID.X ;
    SHL R2, R1, 0x2 ;
    MOV R4, R1 ;
    MOV32I R8, 0x6 ;
    LOP32I.XOR R3, R2, 0x1fc ;
again:
    STS [R2], R4 ;
    BAR.SYNC 0x0 ;
    LDS R5, [R3] ;
    ISETP.GE.AND P0, PT, R1, 0x40, PT ;
@P0 BRA longer ;
    IADD R4, R4, R5 ;
    BRA meet ;
longer:
    XMAD R4, R4, R5, R8 ;
    LOP32I.AND R9, R8, 0x3 ;
more:
    IADD32I R4, R4, 0x11 ;
    IADD32I R9, R9, -0x1 ;
    ISETP.GT.AND P1, PT, R9, RZ, PT ;
@P1 BRA more ;
meet:
    BAR.SYNC 0x1 ;
    IADD R4, R4, R0 ;
    BAR.SYNC 0x1 ;
    IADD32I R8, R8, -0x1 ;
    ISETP.EQ.AND P2, PT, R8, 0x2, PT ;
    ISETP.LT.AND P2, PT, R1, 0x20, P2 ;
@P2 BRA done ;
    ISETP.GT.AND P1, PT, R8, RZ, PT ;
@P1 BRA again ;
done:
    XMAD R5, R0, c[0x0][0x8], R1 ;
    SHL R5, R5, 0x2 ;
    IADD R6.CC, R5, c[0x0][out] ;
    IADD.X R7, RZ, c[0x0][out+4] ;
    STG.E [R6], R4 ;
    EXIT ;
"""
"""Warps of a block differ in what they do between barriers, of which there are two; one ends before
the others, which go on to wait without it."""

LASTS = """
.arch sm_50
.kernel probe
.param out 8
    S2R R1, SR_TID.X ;
    LOP32I.AND R2, R1, 0x60 ;
    SHL R2, R2, 0x2 ;
    IADD32I R2, R2, 0x20 ;
again:
    IADD32I R3, R3, 0x1 ;
    ISETP.LT.AND P0, PT, R3, R2, PT ;
@P0 BRA again ;
    SHL R5, R1, 0x2 ;
    IADD R6.CC, R5, c[0x0][out] ;
    IADD.X R7, RZ, c[0x0][out+4] ;
    STG.E [R6], R3 ;
    EXIT ;
"""
"""Warps of 100 to 1,300 instructions: some turns are longer than others."""

SOURCES = pytest.mark.parametrize(
    "source", [ENDS, WAITS, PHASES, LASTS], ids=["ends", "waits", "phases", "lasts"]
)


def _session(source: str, engine: str, blocks: int, threads: int = 128) -> tuple[Any, Any]:
    program = gpudbg.load(assemble_file(source).cubin(), engine=engine, num_sms=1)
    out = program.device.buffer(np.zeros(threads * blocks, np.uint32))
    return program.launch("probe", grid=blocks, block=threads, args=[out]), out


@SOURCES
@pytest.mark.parametrize("threads", [128, 120])
def test_stops_on_the_way(source: str, threads: int) -> None:
    for count in (7, 61, 200, 1003, 2000 if source is PHASES else 5000):
        states = []
        for engine in ("step", "run"):
            session, _ = _session(source, engine, 6 if source is PHASES else 90, threads)
            session.run(max_instructions=count)
            states.append(machines.grid_state(session.grid))
        assert machines.difference(states[0], states[1]) == "", count


def test_turns_grow() -> None:
    session, _ = _session(LASTS, "step", 1)
    found: list[tuple[int, int]] = []
    while (kind := session.run(max_instructions=1).kind) == "limit":
        warp = session.grid.schedule.warp
        if not found or found[-1][0] != warp.index:
            found.append((warp.index, warp.executed - 1))
    assert kind == "exited"
    begun = [executed for index, executed in found if index == 3]
    lengths = [after - before for before, after in pairwise(begun)]
    assert max(lengths[:4]) < 64 + 3 <= 256 <= lengths[4]


@SOURCES
def test_counts_and_results(source: str) -> None:
    found = []
    for engine in ("step", "run"):
        session, out = _session(source, engine, 20 if source is PHASES else 90)
        assert session.run().kind == "exited"
        issued = [sm.issued for sm in session.grid.sms]
        found.append((session.grid.total, issued, out.array().tolist()))
    assert found[0] == found[1]


def test_both_ways_are_in_the_code() -> None:
    """So that these tests are of something."""
    session, _ = _session(WAITS, "run", 2)
    session.run()
    work, _ = session.grid.fast.engine.program._job(True, GOOD)
    text = job.emit(work).text
    assert len(re.findall(r"^wait\..*:$", text, re.M)) >= 2
    assert re.search(r"^end\..*:$", text, re.M)
    # One more where code relies on what is known of a warp that a barrier lets go on.
    relies = "surely" in text
    assert len(re.findall(r"^next\d+:$", text, re.M)) == 6 + relies
    assert "indirectbr ptr %goal, [label %seek, label %b" in text
