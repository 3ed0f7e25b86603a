"""Clocks of compiled code: the same numbers as step by step, wherever in a turn they are read."""

from __future__ import annotations

import numpy as np
import pytest

import gpudbg

BARRIERS = """\
.arch sm_53
.kernel clocks
.registers 16
.barriers 1
.param 8
MOV R4, c[0x0][0x140]
MOV R5, c[0x0][0x144]
S2R R0, SR_TID.X
XMAD R6, R0, 0x14, RZ
IADD R4.CC, R4, R6
IADD.X R5, R5, RZ
{body}
EXIT
"""

ROUND = """\
{wait}
S2R R2, {clock}
STG.E [R4+{at}], R2
"""


def written(engine: str, wait: str, clock: str) -> list[int]:
    """What 3 warps of 2 blocks read, five times, each time after `wait`."""
    rounds = (ROUND.format(wait=wait, clock=clock, at=hex(4 * n)) for n in range(5))
    text = BARRIERS.format(body="".join(rounds))
    program = gpudbg.assemble_program(text, engine=engine)
    with program.launch(grid=2, block=96, args=[np.zeros(96 * 5, np.uint32)]) as session:
        assert session.run().kind == "exited"
        return [int(value) for value in session.buffer(0)]


@pytest.mark.parametrize("clock", ["SR_CLOCKLO", "SR_GLOBALTIMERLO"])
@pytest.mark.parametrize(
    "wait",
    [
        "BAR.SYNC 0x0",
        # Without a compiled version: the step engine goes on in the middle of a turn.
        "@!PT LDC.S16.ISL R7, c[0x0][R2+0x30]",
        "BAR.SYNC 0x0\n@!PT LDC.S16.ISL R7, c[0x0][R2+0x30]",
        "@!PT LDC.S16.ISL R7, c[0x0][R2+0x30]\nBAR.SYNC 0x0",
    ],
)
def test_clocks_are_those_of_the_step_engine(wait: str, clock: str) -> None:
    assert written("run", wait, clock) == written("step", wait, clock)
