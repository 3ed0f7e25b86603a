"""Marks of shared memory that sums without result write, where all of it may be marked already."""

from __future__ import annotations

import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from tests.engine import machines

TEXT = """\
.kernel sums
.param cleared 4
.param last 4
.shared {size}
S2R R0, SR_TID.X
SHL R1, R0, 0x2
ISETP.LT.AND P0, PT, R1, c[0x0][0x140], PT
@P0 STS [R1], RZ
BAR.SYNC 0x0
LOP.AND R0, R0, 0x3
SHL R2, R0, 0x2
MOV32I R3, 0x1
again:
ATOMS.ADD RZ, [R2], R3
IADD R2, R2, 0x10
MOV32I R5, 0x10
spin:
IADD R5, R5, -0x1
ISETP.GT.AND P1, PT, R5, RZ, PT
@P1 BRA spin
ISETP.LT.AND P1, PT, R2, c[0x0][0x144], PT
@P1 BRA again
EXIT
"""
"""Four words a round, so that one round after the other needs marks.  Rounds are long: the last
instructions before a stop are not compiled code's."""


@pytest.mark.parametrize(
    ("size", "cleared", "last"),
    [(256, 256, 256), (256, 96, 200), (252, 128, 240), (112, 0, 112), (28, 28, 16), (64, 0, 64)],
)
def test_marks_are_those_of_the_step_engine(size: int, cleared: int, last: int) -> None:
    """Blocks follow one another in the same places, where marks begin anew."""
    cubin = assemble_file(TEXT.format(size=size), arch="sm_52").cubin()
    sessions = []
    for engine in ("step", "run"):
        program = gpudbg.load(cubin, engine=engine, num_sms=1)
        sessions.append(program.launch(grid=70, block=64, args=[cleared, last]))
    seen = set()
    for most in (700, 90, 1400):
        for session in sessions:
            session.run(max_instructions=most)
        one, two = (machines.grid_state(session.grid) for session in sessions)
        assert machines.difference(one, two) == ""
        seen |= {bytes(cta.shared.marked()[:size]) for cta in sessions[1].grid.ctas()}
    assert len(seen) > 1
