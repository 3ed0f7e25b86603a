"""Warps inside and outside a trap handler together: each has local memory of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.formats.cubin import read_cubin
from tests.engine import machines
from tests.trap.kit import handle, program

KERNEL = """
.kernel k
.local 64
.param out 8
    S2R R0, SR_TID.X ;
    S2R R1, SR_CTAID.X ;
    XMAD R2, R1, 0x80, R0 ;
    ISCADD R4.CC, R2, c[0x0][out], 0x2 ;
    MOV R5, c[0x0][out+4] ;
    IADD.X R5, R5, RZ ;
    MOV32I R6, 0xffffc0 ;
    MOV R10, RZ ;
    LDL R11, [R6+0x10] ;
again:
    IADD R7, R2, R10 ;
    STL [R6], R7 ;
    STL [R6+0x10], R7 ;
    IADD R8, R0, R10 ;
    LOP.AND.NZ P0, R8, R8, 0x60 ;
    @P0 BRA on ;
    BPT.TRAP 0x1 ;
on:
    LDL R9, [R6] ;
    IADD R11, R11, R9 ;
    IADD R10, R10, 0x20 ;
    ISETP.LT.AND P1, PT, R10, 0x80, PT ;
    @P1 BRA again ;
    STG.E [R4], R11 ;
    EXIT ;
"""
HANDLER = """
    STL [0x0], R6 ;
    STL [0x4], R7 ;
    MOV32I R6, 0x99 ;
    MOV R7, R6 ;
    STL [0x10], R7 ;
    LDL R7, [0x4] ;
    LDL R6, [0x0] ;
    RTT ;
"""


def states(engine: str, slice_: int) -> tuple[list[Any], Any]:
    """State after every stop, and what the kernel wrote."""
    device = gpudbg.Device(num_sms=2, engine=engine)
    loaded = device.adopt(read_cubin(program(KERNEL), "k.sass"))
    out = device.buffer(np.zeros(40 * 128, np.uint32))
    session = loaded.launch("k", grid=40, block=128, args=[out])
    handle(session, HANDLER)
    found = []
    kind = ""
    while kind != "exited":
        kind = session.run(max_instructions=slice_).kind
        found.append((kind, machines.grid_state(session.grid)))
        assert kind in ("limit", "trap", "exited")
    return found, out.array()


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("slice_", [83, 1009])
def test_local_memory_in_and_out_of_the_handler(slice_: int) -> None:
    one, two = states("step", slice_), states("run", slice_)
    assert np.array_equal(one[1], two[1])
    assert one[1].any()
    for (kind, state), (other_kind, other) in zip(one[0], two[0], strict=True):
        assert kind == other_kind
        assert machines.difference(state, other) == ""
