"""Where shared memory ends: to the byte, but behind a vector for kernels that load vectors."""

from __future__ import annotations

import numpy as np
import pytest

import gpudbg

TEXT = """
.kernel seventh
.param to 8
MOV R2, 0x10
LDS{size} R4, [R2]
MOV R8, c[0x0][to]
MOV R9, c[0x0][to+4]
S2R R10, SR_TID.X
STG.E [R8], R4
EXIT
"""


def ended(engine: str, size: str, shared: int) -> str:
    """How a launch ends that loads `size` from byte 16 of its shared memory."""
    program = gpudbg.assemble_program(TEXT.format(size=size), engine=engine)
    out = program.device.buffer(np.zeros(1, np.int32))
    with program.launch("seventh", 1, 1, [out], shared_bytes=shared) as session:
        stop = session.run()
        return "exited" if stop.kind == "exited" else stop.message


@pytest.mark.parametrize("engine", ["step", "run"])
def test_a_vector_reaches_over_the_end(engine: str) -> None:
    """The last of seven words comes with one that nobody asked for."""
    assert ended(engine, ".128", 28) == "exited"
    assert "outside the CTA's memory" in ended(engine, ".128", 12)
    assert ended(engine, "", 20) == "exited"
    assert "beyond its end" in ended(engine, "", 18)
