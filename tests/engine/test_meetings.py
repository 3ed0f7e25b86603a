"""Lanes that part in a loop and meet again: in place where the token is known or on top of the
stack, by the library elsewhere, with the same state at every stop.
"""

from __future__ import annotations

import random
import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.sm.engines.llvm.kernel.emitter import Emitter
from gpudbg.sm.engines.llvm.kernel.listing import KernelListing
from gpudbg.sm.engines.llvm.kernel.options import EmitterOptions
from tests.engine import machines

_FAR = "\n".join(f"    IADD32I R4, R4, {n:#x} ;" for n in range(1, 12))
"""More than a short trace has room for."""

_BODIES = {
    # The token of this trace, met right behind it.
    "near": "SSY meet ; @P0 SYNC ; IADD32I R4, R4, 0x1 ; SYNC ; meet: IADD32I R5, R5, 0x1 ;",
    # Met further down; what lies between belongs to lanes that left before.
    "over": "SSY meet ; @P0 SYNC ; IADD32I R4, R4, 0x1 ; @P1 SYNC ; BRA on ; IADD32I R5, R5, 0x7 ;"
    " on: IADD32I R4, R4, 0x2 ; SYNC ; NOP ; meet: IADD32I R5, R5, 0x1 ;",
    # One in the other.
    "nested": "SSY meet ; SSY inner ; @P0 SYNC ; IADD32I R4, R4, 0x1 ; SYNC ;"
    " inner: IADD32I R4, R4, 0x3 ; @P1 SYNC ; IADD32I R5, R5, 0x2 ; SYNC ; meet: NOP ;",
    # Pushed in another trace.
    "far": f"SSY meet ; {_FAR} @P0 SYNC ; {_FAR} SYNC ; meet: IADD32I R5, R5, 0x1 ;",
    # A branch's entry lies on the token; BRK of lanes from several places.
    "broken": "PBK meet ; @P0 BRA other ; IADD32I R4, R4, 0x1 ; @P1 BRK ;"
    " IADD32I R4, R4, 0x4 ; BRK ;"
    f" other: {_FAR} BRK ; meet: IADD32I R5, R5, 0x1 ;",
    # Some end inside.
    "ends": "SSY meet ; @P0 SYNC ; ISETP.GT.AND P2, PT, R6, 0x5, PT ; @P2 EXIT ; SYNC ;"
    " meet: IADD32I R5, R5, 0x1 ;",
}


@cache
def _cubin(body: str, behind: str) -> bytes:
    source = f"""
.arch sm_50
.kernel probe
.param out 8
    S2R R1, SR_TID.X ;
    ISCADD R8.CC, R1, c[0x0][out], 0x2 ;
    IADD.X R9, RZ, c[0x0][out+4] ;
    LOP32I.AND R7, R1, 0x7 ;
    IADD32I R7, R7, 0x2 ;
again:
    LOP.AND R10, R1, R6 ;
    LOP32I.AND R11, R10, 0x3 ;
    ISETP.EQ.AND P0, PT, R11, 0x1, PT ;
    ISETP.EQ.AND P1, PT, R11, 0x2, PT ;
    {_BODIES[body]}
    XMAD R12, R4, 0x11, R5 ;
    STG.E [R8], R12 ;
    IADD32I R6, R6, 0x1 ;
    ISETP.LT.AND P3, PT, R6, R7, PT ;
@P3 BRA again ;
    {behind}
    EXIT ;
"""
    return assemble_file(source.replace("; ", ";\n").replace(": ", ":\n")).cubin()


def _launched(engine: str, cubin: bytes) -> tuple[Any, Any]:
    program = gpudbg.load(cubin, engine=engine, num_sms=1)
    out = program.device.buffer(np.zeros(64, np.uint32))
    return program.launch("probe", grid=1, block=61, args=[out]), out


@pytest.mark.in_turn(take="nested-go broken-leave")
@pytest.mark.parametrize("behind", ["", "IADD32I R6, R6, 0x9 ;"], ids=["leave", "go"])
@pytest.mark.parametrize("body", _BODIES)
def test_both_engines_agree_at_stops(body: str, behind: str) -> None:
    cubin = _cubin(body, behind)
    (step, first), (run, second) = (_launched(engine, cubin) for engine in ("step", "run"))
    rng, kind = random.Random(f"{body} {behind}"), "limit"
    while kind == "limit":
        count = rng.choice((1, 2, 3, 5, 17, 60, 150))
        kind = step.run(max_instructions=count).kind
        assert run.run(max_instructions=count).kind == kind
        states = machines.grid_state(step.grid), machines.grid_state(run.grid)
        assert machines.difference(states[0], states[1]) == ""
    assert kind == "exited"
    assert first.array().tolist() == second.array().tolist()


def _round(body: str) -> str:
    """A loop's code for any lanes, without what is out of the way."""
    program = gpudbg.load(_cubin(body, "IADD32I R6, R6, 0x9 ;"), engine="step")
    image = program.module.image
    entry = image.entries["probe"]
    listing = KernelListing.of(image, entry, (entry,))
    banks = dict.fromkeys(range(4), 0x1000)
    made = Emitter(listing, EmitterOptions(False, 64, banks, wide_vectors=True)).text("warp")
    found = re.search(r"^l\d+:$.*?br label %l\d+$", made, re.M | re.S)
    assert found is not None
    return found[0]


def test_known_tokens_need_no_call() -> None:
    assert "call i64" not in _round("near")
