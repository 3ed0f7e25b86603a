"""Lanes that part and meet again in loops go on in place, as the step engine has it."""

from __future__ import annotations

import pytest

from gpudbg.assembler import assemble_file
from tests.engine import apart_programs, fuzz_random
from tests.engine.random_programs import RandomProgram

BLOCKS = ((32, 1, 1), (48, 1, 1), (20, 1, 1), (64, 2, 1))
ARCHS = ("sm_75", "sm_80", "sm_90")


@pytest.mark.parametrize("seed", range(12))
def test_lanes_apart(seed: int) -> None:
    arch = ARCHS[seed % len(ARCHS)]
    text = apart_programs.generate(seed, arch)
    cubin = assemble_file(text, path="apart.sass").cubin()
    program = RandomProgram("apart", text, 2, BLOCKS[seed % len(BLOCKS)])
    assert not fuzz_random.compare(cubin, program, seed)[1], text
    assert not fuzz_random.compare_stops(cubin, program, seed)[1], text
