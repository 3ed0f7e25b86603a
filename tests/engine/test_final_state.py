"""Registers of warps that have exited are those of the step engine, wherever somebody looks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.sm import record as rec
from gpudbg.sm.engines.llvm.kernel.final_state import BEGIN, CALL, END, FinalStates
from tests.engine import machines

SOURCE = """
.arch sm_50
.kernel probe
.param out 8
    S2R R0, SR_CTAID.X ;
    S2R R1, SR_TID.X ;
    XMAD R2, R0, c[0x0][0x8], R1 ;
    SHL R3, R2, 0x2 ;
    IADD R4.CC, R3, c[0x0][out] ;
    IADD.X R5, RZ, c[0x0][out+4] ;
    ISETP.GT.AND P1, PT, R2, 0x30, PT ;
    LDG.E R6, [R4] ;
    IADD R7.CC, R6, R2 ;
    STG.E [R4], R7 ;
    MOV32I R8, 0x1234 ;
    EXIT ;
"""
STG = 0x68
"""Where the store is: behind 9 instructions and 3 control words."""


def _session(engine: str, blocks: int, jobs: int = 1) -> Any:
    program = gpudbg.load(assemble_file(SOURCE).cubin(), engine=engine, jobs=jobs, num_sms=1)
    out = program.device.buffer(np.arange(128 * blocks, dtype=np.uint32))
    return program.launch("probe", grid=blocks, block=128, args=[out])


def test_at_the_end() -> None:
    """Those of the CTAs in whose places no other one began, on either engine."""
    sessions = [_session(engine, 3) for engine in ("step", "run")]
    warps = [list(session.grid.warps()) for session in sessions]
    for session in sessions:
        assert session.run().kind == "exited"
    for one, other in zip(*warps, strict=True):
        step, run = machines.warp_state(one), machines.warp_state(other)
        assert {name for name in step if step[name] != run[name]} <= {"active"}


@pytest.mark.parametrize("jobs", [1, 2])
def test_at_the_end_of_many(jobs: int) -> None:
    """Those of the CTAs that were the last ones in their places."""
    session = _session("run", 2000, jobs)
    warps = list(session.grid.warps())
    assert session.run().kind == "exited"
    blocks = [warp.words[rec.CTAID] for warp in warps]
    assert max(blocks) > len(warps)
    for block, warp in zip(blocks, warps, strict=True):
        thread = 32 * warp.words[rec.INDEX] + np.arange(32)
        element = 128 * block + thread
        found = [row.astype(np.int64) for row in warp.R[:9]]
        assert np.array_equal(found[:3], [np.full(32, block), thread, element])
        assert np.array_equal(found[4] - found[4][0], 4 * np.arange(32))
        assert np.array_equal(found[6:], [element, 2 * element, np.full(32, 0x1234)])
        assert warp.words[rec.PRED + 1] == 0xFFFF_FFFF


@pytest.mark.parametrize("count", [50, 333, 4000])
def test_on_the_way(count: int) -> None:
    """Those of warps whose CTA goes on."""
    states = []
    for engine in ("step", "run"):
        session = _session(engine, 300)
        session.run(max_instructions=count)
        states.append(machines.grid_state(session.grid))
    assert machines.difference(states[0], states[1]) == ""


UNIFORM = """
.arch sm_80
.kernel probe
.param out 8
    ULDC UR4, c[0x0][0x8] ;
    UIADD3 UR5, UR4, 0x7, URZ ;
    S2R R0, SR_TID.X ;
    MOV R2, c[0x0][out] ;
    MOV R3, c[0x0][out+4] ;
    IMAD.WIDE.U32 R4, R0, 0x4, R2 ;
    LDG.E R6, [R4.64] ;
    ISETP.GT.AND P1, PT, R6, 0x30, PT ;
    IADD3 R0, R6, R6, RZ ;
    MOV R2, R6 ;
    IADD3 R3, R6, 0x1, RZ ;
    IADD3 R4, R6, 0x2, RZ ;
    IADD3 R5, R6, 0x3, RZ ;
    EXIT ;
"""


@pytest.mark.parametrize("count", [180, 420])
def test_scalars_in_the_places_of_uniform_registers(count: int) -> None:
    """They are not stored over at the exit behind: a mask is made from what is there."""
    states = []
    for engine in ("step", "run"):
        program = gpudbg.load(assemble_file(UNIFORM).cubin(), engine=engine, num_sms=1)
        out = program.device.buffer(np.arange(512, dtype=np.uint32))
        session = program.launch("probe", grid=4, block=512, args=[out])
        session.run(max_instructions=count)
        states.append(machines.grid_state(session.grid))
    assert machines.difference(states[0], states[1]) == ""


def test_at_a_breakpoint_of_a_later_warp() -> None:
    states = []
    for engine in ("step", "run"):
        session = _session(engine, 300)
        session.break_at(f"probe+{STG:#x}", condition="blockIdx.x == 290 && threadIdx.x == 96")
        assert session.cont().kind == "breakpoint"
        states.append(machines.grid_state(session.grid))
    assert machines.difference(states[0], states[1]) == ""


def test_only_what_follows_from_scalars_is_left() -> None:
    """A loaded row is stored at once; a row that follows from a scalar, and a mask, are made later
    from the scalar, which is stored in the row's place."""
    lines = [
        "  %v1 = load i32, ptr %env",
        "  %v2 = insertelement <32 x i32> poison, i32 %v1, i64 0",
        "  %v3 = shufflevector <32 x i32> %v2, <32 x i32> poison, <32 x i32> zeroinitializer",
        "  %v4 = load <32 x i32>, ptr %env",
        "  %v5 = icmp ult <32 x i32> %v3, splat (i32 7)",
        BEGIN,
        f"  %v6 = getelementptr i8, ptr %rec, i64 {rec.HEADER_BYTES}",
        "  store <32 x i32> %v3, ptr %v6, align 64",
        f"  %v7 = getelementptr i8, ptr %rec, i64 {rec.HEADER_BYTES + rec.ROW_BYTES}",
        "  store <32 x i32> %v4, ptr %v7, align 64",
        "  %v8 = bitcast <32 x i1> %v5 to i32",
        "  %v9 = getelementptr i8, ptr %rec, i64 32",
        "  store i32 %v8, ptr %v9",
        END,
        CALL,
    ]
    finals = FinalStates()
    left = finals.taken_out(lines)
    assert "  store <32 x i32> %v4, ptr %v7, align 64" in left
    assert "  store i32 %v1, ptr %f1.0" in left
    assert not any(line.startswith(("  store <32 x i32> %v3", "  store i32 %v8")) for line in left)
    (made,) = finals.functions
    for line in (*lines[1:3], lines[4], lines[7], lines[12]):
        assert line in made
    assert "%v4" not in made


def test_nothing_is_left_where_all_is_loaded() -> None:
    lines = [
        "  %v1 = load <32 x i32>, ptr %env",
        BEGIN,
        f"  %v2 = getelementptr i8, ptr %rec, i64 {rec.HEADER_BYTES}",
        "  store <32 x i32> %v1, ptr %v2, align 64",
        END,
    ]
    finals = FinalStates()
    assert finals.taken_out(lines) == [lines[0], *lines[2:4]]
    assert not finals.functions
