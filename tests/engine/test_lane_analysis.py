"""Every claim of the lane analysis holds at random stops of random programs and of the benchmark's
kernels, on the step engine."""

from __future__ import annotations

import random
from typing import Any

import pytest

import gpudbg
from gpudbg.analysis import lane_analysis, lane_values
from gpudbg.analysis.lane_analysis import LaneAnalysis
from gpudbg.architectures import is_wide
from gpudbg.assembler import assemble_file
from gpudbg.errors import GpudbgError
from gpudbg.sm import record as rec
from gpudbg.sm.lane_patterns import LANE_IDS, ZEROS, normal, thread_offsets
from tests import kernel_cases as kc
from tests.engine import fuzz_random, machines, random_modern
from tests.engine.random_programs import make, source
from tests.variants import number


def _analysis(session: Any) -> LaneAnalysis:
    symbols = session.symbols
    block = session.grid.launched.config.block
    found = lane_analysis.of_kernel(symbols.program, symbols.image, symbols.kernel, block)
    assert found is not None
    return found


def _start(session: Any) -> int:
    symbols = session.symbols
    place = next(p for p in symbols.image.placements if p.section == symbols.kernel.section)
    return int(place.address)


def wrong_claims(session: Any, known: LaneAnalysis, start: int) -> tuple[int, str]:
    """(Claims that were looked at, the first wrong one or "") of all warps where they stand."""
    count = 0
    for warp in session.grid.warps():
        if warp.words[rec.STATUS] == rec.DONE or not warp.active:
            continue
        for index, shape in known.claims(warp.pc - start).items():
            if shape.given or index >= len(warp.R):
                continue
            count += 1
            if not shape.holds(warp.R[index].tolist(), warp.active):
                text = f"R{index} is not {shape.words()} at {warp.pc - start:#x}"
                return count, f"{text} in {warp.active:#x}: {warp.R[index].tolist()}"
    return count, ""


def walk(session: Any, stops: int, rng: random.Random, most: int = 40) -> tuple[int, str]:
    """The same at random stops on the way."""
    known, start = _analysis(session), _start(session)
    total = 0
    for _ in range(stops):
        try:
            stop = session.run(max_instructions=rng.randrange(1, most))
        except GpudbgError:
            break
        count, wrong = wrong_claims(session, known, start)
        total += count
        if wrong:
            return total, wrong
        if stop.kind != "limit":
            break
    return total, ""


PROGRAMS = [("sm_50", range(16)), ("sm_80", range(number(6, 12)))]


@pytest.mark.parametrize(("arch", "seeds"), PROGRAMS)
def test_claims_hold_in_random_programs(arch: str, seeds: range) -> None:
    total = 0
    maker = random_modern.make if is_wide(arch) else make
    for seed in seeds:
        program = maker(seed, arch)
        cubin = assemble_file(source([program], arch), path="r.sass").cubin()
        session = fuzz_random.launched(cubin, program, "step", seed)
        count, wrong = walk(session, 12, random.Random(seed))
        assert not wrong, f"{arch} {seed}: {wrong}"
        total += count
    assert total > number(4, 20)


CASES = kc.cases("sm_50")[::9] + kc.cases("sm_80")[::12]


def test_claims_hold_in_kernels() -> None:
    total = 0
    for case in CASES:
        count, wrong = walk(machines.launch(case, "step"), 8, random.Random(case.id))
        assert not wrong, f"{case.id}: {wrong}"
        total += count
    assert total > 20 * len(CASES)


PROGRAM = """
.arch sm_50
.kernel probe
.param out 8
    S2R R0, SR_TID.X ;
    S2R R1, SR_TID.Y ;
    SHL R2, R0, 0x2 ;
    MOV R3, c[0x0][0x140] ;
    XMAD R4, R1, c[0x0][0x8], R0 ;
    LOP32I.AND R5, R0, 0x7 ;
    SSY `(MEET) ;
    ISETP.GT.AND P0, PT, R0, 0x3, PT ;
    MOV32I R6, 0x1 ;
    MOV32I R7, 0x5 ;
    @P0 BRA `(THERE) ;
    MOV32I R6, 0x2 ;
    SYNC ;
THERE:
    SYNC ;
MEET:
    IADD R8, R6, R7 ;
    EXIT ;
"""


def test_shapes_of_a_program() -> None:
    program = gpudbg.load(assemble_file(PROGRAM, path="p.sass").cubin(), engine="step")
    session = program.launch(grid=(1, 1), block=(16, 4), args=[0])
    known = _analysis(session)
    words = {}
    for offset in known.flow.instructions:
        for index, shape in known.results(offset).items():
            words[index] = "varying" if shape is None else shape.words()
    assert words[0] == "(lane % 16)"
    assert words[1] == "base + (lane / 16)"
    assert words[2] == "4*(lane % 16)"
    assert words[3] == "uniform"
    assert words[4] == "base of each 16 lanes + (lane % 16)"
    assert words[5] == "(lane % 8)"
    # Lanes that went different ways meet with different numbers in R6, and the same in R7.
    assert words[8] == "varying"
    assert words[7] == "uniform 0x5"
    assert len(known.divergent) == 1
    found = next(iter(known.divergent.values()))
    assert found.predicate == "P0"
    assert known.flow.instructions[found.setter or 0].op == "ISETP"  # type: ignore[union-attr]


def test_patterns() -> None:
    assert thread_offsets((64, 2, 1), 0) == (LANE_IDS, None)
    assert thread_offsets((64, 2, 1), 2) == (ZEROS, 0)
    assert thread_offsets((12, 4, 1), 0) is None
    assert normal(tuple(range(5, 37)), 2) == ((5, 21), tuple(n % 16 for n in range(32)))
    shape = lane_values.ValueShape(2, ZEROS)
    assert shape.holds([1] * 16 + [2] * 16, 0xFFFFFFFF)
    assert not shape.holds([1] * 15 + [2] * 17, 0xFFFFFFFF)
    assert shape.holds([1] * 15 + [2] * 17, 0xFFFF7FFF)
