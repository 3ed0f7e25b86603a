"""Branches of whole warps on comparisons of numbers that lie side by side: scalars tell whether all
lanes go one way, also where the numbers wrap around.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.sm.engines.llvm import job
from gpudbg.sm.engines.llvm.program import GOOD
from tests.variants import in_turn

_TESTS = [f"{how}{kind}" for kind in ("", ".U32") for how in ("LT", "LE", "GT", "GE", "EQ", "NE")]


_HOW = ("AND P0, PT, R2, {limit}, PT", "OR P0, PT, R2, {limit}, P1", "AND P0, PT, {limit}, R2, P1")


def _source(test: str) -> str:
    """A kernel whose threads leave it by a comparison alone, by it or another one, by both, each
    with an opposite guard after it; what is left counts."""
    lines = [
        ".arch sm_50",
        ".kernel probe",
        ".param out 8",
        ".param base 4",
        ".param limit 4",
        "    S2R R1, SR_TID.X ;",
        "    S2R R6, SR_TID.Y ;",
        "    IADD R2, R1, c[0x0][base] ;",
        "    IADD R7, R6, c[0x0][base] ;",
        "    MOV R10, c[0x0][limit] ;",
        "    XMAD R3, R6, c[0x0][0x8], R1 ;",
        "    ISCADD R8.CC, R3, c[0x0][out], 0x2 ;",
        "    IADD.X R9, RZ, c[0x0][out+4] ;",
    ]
    for n, how in enumerate(_HOW):
        limit = "R10" if how.index("{") < how.index("R2") else "c[0x0][limit]"
        lines += [
            f"    ISETP.{_TESTS[(5 * n + 1) % 12]}.AND P1, PT, R7, c[0x0][limit], PT ;",
            f"    ISETP.{test}.{how.format(limit=limit)} ;",
            f"{'@!P0' if n == 1 else '@P0'} EXIT ;",
            f"    MOV32I R5, {n + 1:#x} ;",
            "@P0 MOV32I R5, 0x7 ;",
            "    STG.E [R8], R5 ;",
        ]
    return "\n".join([*lines, "    EXIT ;"])


def _session(
    engine: str, test: str, block: tuple[int, int], base: int, limit: int
) -> tuple[Any, Any]:
    program = gpudbg.load(_cubin(test), engine=engine, num_sms=1)
    out = program.device.buffer(np.zeros(64, np.uint32))
    return program.launch("probe", grid=1, block=block, args=[out, base, limit]), out


@cache
def _cubin(test: str) -> bytes:
    return assemble_file(_source(test)).cubin()


_EDGES = (0, 1, 40, (1 << 31) - 3, 1 << 31, (1 << 32) - 3)


@pytest.mark.parametrize("block", [(64, 1), (16, 4)], ids=str)
@pytest.mark.parametrize("test", _TESTS)
def test_branches_agree(test: str, block: tuple[int, int]) -> None:
    wraps = (1 << (32 if "U32" in test else 31)) - 20
    for base in (wraps, *in_turn(_EDGES, lambda base: (test, block))):
        for apart in (-1, 0, 3, 15, 16, 31, 32, 63):
            limit = (base + apart) & 0xFFFF_FFFF
            found = []
            for engine in ("step", "run"):
                session, out = _session(engine, test, block, base, limit)
                assert session.run().kind == "exited"
                found.append((out.array().tolist(), session.grid.total))
            assert found[0] == found[1], (base, apart)


def test_scalars_decide() -> None:
    """So that these tests are of something: each of three branches has a test of scalars."""
    session, _ = _session("run", "LT", (64, 1), 0, 100)
    session.run()
    work, _ = session.grid.fast.engine.program._job(True, GOOD)
    begin = re.split(r"^b\d+:$", job.emit(work).text, maxsplit=1, flags=re.M)[0]
    assert len(re.findall(r"add i64 %v\d+, 31$", begin, re.M)) == 3
