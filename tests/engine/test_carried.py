"""Tests of registers' lanes that hold from one piece of straight code to the next (`carried`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.sm.engines.llvm.ir.values import FULL
from gpudbg.sm.engines.llvm.kernel.emitter import Emitter
from gpudbg.sm.engines.llvm.kernel.listing import KernelListing
from gpudbg.sm.engines.llvm.kernel.options import EmitterOptions
from gpudbg.sm.engines.llvm.kernel.patterns import patterns_of
from gpudbg.sm.engines.llvm.start import FastEngine
from tests.engine import machines
from tests.narrowing import a

_LONG = "    IADD R12, R12, R2 ;\n    IADD R13, R13, R12 ;\n" * 40
"""More than one piece of code."""
SOURCE = f"""
.arch sm_50
.kernel probe
.shared 4096
.param out 8
    S2R R2, SR_TID.X ;
    SHL R8, R2, 0x2 ;
    LOP32I.XOR R9, R8, 0x7c ;
    MOV32I R12, 0x1234567 ;
    MOV R13, R2 ;
    MOV R18, RZ ;
    MOV R20, RZ ;
again:
    STS [R8], R12 ;
    LDS.U.32 R16, [R9] ;
{_LONG}
    STS [R8+0x200], R13 ;
    LDS.U.32 R17, [R9+0x200] ;
{{between}}
{_LONG}
    STS [R8+0x400], R13 ;
    LDS.U.32 R19, [R9+0x400] ;
    IADD R18, R18, R17 ;
    IADD R18, R18, R16 ;
    IADD R18, R18, R19 ;
    IADD R20, R20, 0x1 ;
    ISETP.LT.AND P1, PT, R20, 0x4, PT ;
    BAR.SYNC 0x0 ;
    @P1 BRA again ;
    MOV R6, c[0x0][out] ;
    MOV R7, c[0x0][out+4] ;
    IADD R6.CC, R6, R8 ;
    IADD.X R7, R7, RZ ;
    STG.E [R6], R18 ;
    EXIT ;
"""
BETWEEN = ("", "    @P0 IADD R9, R9, 0x4 ;", "    LOP32I.XOR R9, R9, 0x4 ;")


def _run(engine: str, between: str, stop: int, lane: int) -> Any:
    """The whole state after launches of which the last one is interrupted where a debugger changes
    an address.

    Args:
        between: text behind the second piece's access.
        stop: instructions before that; 0: none.
        lane: whose address is another one from then on.
    """
    source = SOURCE.replace("{between}", between)
    program = gpudbg.load(assemble_file(source).cubin(), engine=engine, num_sms=1)
    out = program.device.buffer(np.zeros(256, np.uint32))
    for again in range(3):
        session = program.launch("probe", grid=1, block=128, args=[out])
        if again == 2 and stop:
            assert session.run(max_instructions=stop).kind == "limit"
            for cta in session.grid.ctas():
                for warp in cta.warps:
                    warp.R[9][lane] ^= 8
        event = session.run()
        if engine == "run":
            compiled = a(FastEngine, session.grid.fast).engine
            assert compiled is not None
            compiled.program.improve()
    return event.kind, machines.grid_state(session.grid), out.array().tolist()


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("stop", [40, 0, 90, 300, 1000])
def test_what_a_debugger_changes_is_seen(between: str, stop: int) -> None:
    """Both engines agree on everything, wherever the register is changed."""
    one, two = (_run(engine, between, stop, stop % 32) for engine in ("step", "run"))
    assert one[0] == two[0] == "exited"
    assert one[2] == two[2]
    assert machines.difference(one[1], two[1]) == ""


def _text(between: str) -> str:
    """The code for whole warps."""
    program = gpudbg.load(assemble_file(SOURCE.replace("{between}", between)).cubin())
    image = program.module.image
    listing = KernelListing.of(image, image.entries["probe"], (image.entries["probe"],))
    banks = dict.fromkeys(range(4), 0x1000)
    options = EmitterOptions(True, 32, banks, patterns=patterns_of(listing, 128))
    return Emitter(listing, options).text("warp")


def test_a_piece_tests_where_it_is_entered_from_the_record() -> None:
    """Not on the way from the piece before; a register that has been written is tested anew."""
    lies = [-4 * n for n in range(32)]
    on_the_path, at_entries = (
        f", <{', '.join(f'i32 {n & mask if mask else n}' for n in lies)}>\n" for mask in (0, FULL)
    )
    same, written = _text(BETWEEN[0]), _text(BETWEEN[1])
    assert same.count(on_the_path) == 1
    assert same.count(at_entries) == 3
    # Under a guard a register is another one in some lanes.
    assert written.count(at_entries) < 3
    assert written.count(on_the_path) > 1
