"""Lanes of a whole warp that a branch leaves before a near BSYNC go on in place: as the step engine
has it, wherever the turn ends on the way."""

from __future__ import annotations

import pytest

from gpudbg.assembler import assemble_file
from tests.engine import fuzz_random
from tests.engine.random_programs import RandomProgram

PROGRAM = """
.arch sm_80
.kernel rejoin
.registers 255
.shared 4096
.local 1024
.param 8, 8, 8, 8
.barriers 16
    S2R R0, SR_TID.X
    MOV R4, RZ
    MOV R6, RZ
TURN:
    IADD3 R4, R4, 0x1, RZ
    ISETP.GT.AND P0, PT, R0, R4, PT
    BSSY B0, `(MEET)
    @P0 BRA `(THERE)
    IADD3 R6, R6, R4, RZ
    R2UR UR4, R4
    {inside}
    IADD3 R7, R6, UR4, R0
THERE:
    BSYNC B0
MEET:
    ISETP.LT.AND P1, PT, R4, 0x28, PT
    @P1 BRA `(TURN)
    EXIT
    NOP
"""


@pytest.mark.parametrize("inside", ["STS [R244], R6", "LDG.E R8, [R240.64]", "BPT.TRAP 0x1", "NOP"])
@pytest.mark.parametrize("block", [(32, 1, 1), (64, 2, 1), (48, 1, 1)])
def test_lanes_rejoin(inside: str, block: tuple[int, int, int]) -> None:
    text = PROGRAM.format(inside=inside)
    cubin = assemble_file(text, path="rejoin.sass").cubin()
    program = RandomProgram("rejoin", text, 2, block)
    for seed in range(3):
        assert not fuzz_random.compare(cubin, program, seed)[1]
        assert not fuzz_random.compare_stops(cubin, program, seed)[1]
