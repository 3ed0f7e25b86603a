"""Tests of what is known of registers' lanes from trace to trace (`place_facts`)."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.sm.engines.llvm.ir.values import MaskHost
from gpudbg.sm.engines.llvm.kernel.emitter import Emitter
from gpudbg.sm.engines.llvm.kernel.lane_facts import claims_of
from gpudbg.sm.engines.llvm.kernel.listing import KernelListing
from gpudbg.sm.engines.llvm.kernel.options import EmitterOptions
from gpudbg.sm.engines.llvm.start import FastEngine
from tests.engine import machines
from tests.narrowing import a

_LONG = "    IADD R12, R12, R21 ;\n    IADD R13, R13, R12 ;\n" * 36
"""More than one piece of code, and more than a trace."""
SOURCE = f"""
.arch sm_50
.kernel probe
.shared 4096
.param out 8
    S2R R2, SR_TID.X ;
    SHL R8, R2, 0x2 ;
    MOV32I R12, 0x1234567 ;
    MOV32I R21, 0x5 ;
    MOV R13, R2 ;
    MOV R18, RZ ;
    MOV R20, RZ ;
again:
    STS [R8], R12 ;
    BAR.SYNC 0x0 ;
    LDS.U.32 R16, [R8] ;
    IADD R18, R18, R16 ;
    IADD R18, R18, R21 ;
    STS [R8+0x400], R18 ;
    BAR.SYNC 0x0 ;
    LDS.U.32 R17, [R8+0x400] ;
{_LONG}
    IADD R18, R18, R17 ;
    IADD R18, R18, R13 ;
    IADD R20, R20, 0x1 ;
    ISETP.LT.AND P1, PT, R20, 0x6, PT ;
    BAR.SYNC 0x0 ;
    @P1 BRA again ;
    MOV R6, c[0x0][out] ;
    MOV R7, c[0x0][out+4] ;
    IADD R6.CC, R6, R8 ;
    IADD.X R7, R7, RZ ;
    STG.E [R6], R18 ;
    EXIT ;
"""


def _run(engine: str, register: int, stop: int) -> Any:
    """The whole state after launches of which the last one is interrupted where a debugger changes
    one lane of a register of each warp."""
    program = gpudbg.load(assemble_file(SOURCE).cubin(), engine=engine, num_sms=1)
    out = program.device.buffer(np.zeros(512, np.uint32))
    for again in range(3):
        session = program.launch("probe", grid=2, block=128, args=[out])
        if again == 2 and stop:
            assert session.run(max_instructions=stop).kind == "limit"
            for cta in session.grid.ctas():
                for warp in cta.warps:
                    warp.R[register][stop % 32] ^= 8
        event = session.run()
        if engine == "run":
            compiled = a(FastEngine, session.grid.fast).engine
            assert compiled is not None
            compiled.program.improve()
    return event.kind, machines.grid_state(session.grid), out.array().tolist()


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("register", [8, 21])
@pytest.mark.parametrize("stop", [0, 45, 90, 333, 1000, 2001])
def test_what_a_debugger_changes_is_seen(register: int, stop: int) -> None:
    """Both engines agree on everything, wherever warps wait or are in a turn."""
    one, two = (_run(engine, register, stop) for engine in ("step", "run"))
    assert one[0] == two[0] == "exited"
    assert one[2] == two[2]
    assert machines.difference(one[1], two[1]) == ""


def _text(masks: MaskHost) -> str:
    """The code for whole warps."""
    program = gpudbg.load(assemble_file(SOURCE).cubin())
    image = program.module.image
    listing = KernelListing.of(image, image.entries["probe"], (image.entries["probe"],))
    banks = dict.fromkeys(range(4), 0x1000)
    claims = claims_of(listing, 32, 32)
    return Emitter(listing, EmitterOptions(True, 32, banks, masks=masks, claims=claims)).text(
        "warp"
    )


def test_code_goes_on_behind_tests() -> None:
    """From other traces, and behind barriers, where all is known; others are tested first."""
    text = _text(MaskHost.PACKED)
    sure = set(re.findall(r"^(sure\d+):$", text, re.M))
    assert len(sure) >= 3
    reached = set(re.findall(r"label %(sure\d+)", text))
    assert reached == sure
    assert re.search(r"blockaddress\(@warp, %sure\d+\)", text)


def test_hosts_with_mask_registers_do_without() -> None:
    assert "sure" not in _text(MaskHost.REGISTERS)
