"""One test for the accesses of a block whose lanes follow one another: at ends, in several
allocations, behind branches.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.sm.engines.llvm import job
from gpudbg.sm.engines.llvm.program import GOOD
from tests.engine import machines

NEIGHBOURS = """
.arch sm_50
.kernel probe
.param table 8
.param n 4
    S2R R0, SR_CTAID.X ;
    S2R R1, SR_TID.X ;
    XMAD R2, R0, c[0x0][0x8], R1 ;
    SHR R7, R2, 0x1e ;
    ISCADD R8.CC, R2, c[0x0][table], 0x2 ;
    IADD.X R9, R7, c[0x0][table+4] ;
    LDG.E R10, [R8] ;
    LDG.E R11, [R8+{near}] ;
    ISETP.GE.AND P0, PT, R2, c[0x0][n], PT ;
@P0 EXIT ;
    LDG.E R12, [R8+{far}] ;
    IADD R13, R10, R11 ;
    IADD R13, R13, R12 ;
    STG.E [R8+{near}], R13 ;
    EXIT ;
"""
"""What is behind the branch only some threads may touch."""

WORDS = 1024


def _session(source: str, engine: str, blocks: int, size: int, n: int) -> Any:
    program = gpudbg.load(assemble_file(source).cubin(), engine=engine, num_sms=1)
    table = program.device.buffer(np.arange(size, dtype=np.uint32))
    out = program.device.buffer(np.zeros(WORDS, np.uint32))
    more = [0, out] if ".param out" in source else []
    return program.launch("probe", grid=blocks, block=64, args=[table, n, *more])


def _outcome(engine: str, source: str, size: int, n: int) -> tuple[Any, Any]:
    session = _session(source, engine, 16, size, n)
    stop = session.run()
    words = (getattr(stop, name, None) for name in ("kind", "code", "pc", "address", "lanes"))
    return tuple(map(str, words)), machines.grid_state(session.grid)


@pytest.mark.parametrize("size", [WORDS, WORDS + 1, WORDS + 31, 512])
@pytest.mark.parametrize(
    ("near", "far"), [("0x4", "0x8"), ("0x4", "0x200"), ("-0x4", "0x40"), ("0x80", "0x3")]
)
def test_engines_agree_at_the_ends(near: str, far: str, size: int) -> None:
    """Whatever is beyond an end, and whoever must not get there."""
    source = NEIGHBOURS.replace("{near}", near).replace("{far}", far)
    for n in (WORDS, WORDS - 2, WORDS - 64, 100):
        one, two = (_outcome(e, source, size, n) for e in ("step", "run"))
        assert one[0] == two[0]
        assert machines.difference(one[1], two[1]) == ""


def test_one_test_for_neighbours() -> None:
    """Three loads and a store at one index have one test in common, and no way around it."""
    source = NEIGHBOURS.replace("{near}", "0x4").replace("{far}", "0x8")
    session = _session(source, "run", 2, WORDS, WORDS)
    session.run()
    work, _ = session.grid.fast.engine.program._job(True, GOOD)
    begin = job.emit(work).text.split("\nz")[1]
    begin = re.split(r"^(?:[bx]\d+|ends):$", begin, maxsplit=1, flags=re.M)[0]
    assert begin.count("call i1 %") == len(re.findall(r"^ask\d+:$", begin, re.M)) == 1
    assert len(re.findall(r"load <16 x i32>", begin)) == 6
    assert len(re.findall(r"store <16 x i32>", begin)) == 2


ELSEWHERE = """
.arch sm_50
.kernel probe
.param table 8
.param n 4
.param spare 4
.param out 8
    S2R R0, SR_CTAID.X ;
    S2R R1, SR_TID.X ;
    XMAD R2, R0, c[0x0][0x8], R1 ;
    SHR R7, R2, 0x1e ;
    ISCADD R8.CC, R2, c[0x0][table], 0x2 ;
    IADD.X R9, R7, c[0x0][table+4] ;
    LDG.E R10, [R8] ;
    IADD R4.CC, R8, c[0x0][n] ;
    IADD.X R5, R9, RZ ;
    LDG.E R11, [R4] ;
    IADD R13, R10, R11 ;
    ISCADD R14.CC, R2, c[0x0][out], 0x2 ;
    IADD.X R15, R7, c[0x0][out+4] ;
    STG.E [R14], R13 ;
    EXIT ;
"""
"""Two places at a distance from one pointer."""


@pytest.mark.parametrize("apart", [256, 4 * WORDS, 0, 1 << 30])
def test_one_pointer_into_two_allocations(apart: int) -> None:
    """Accesses that take a cache entry from one another leave the block; they do not go round."""
    if not apart:
        device = gpudbg.load(assemble_file(ELSEWHERE).cubin()).device
        one, two = (device.buffer(np.zeros(size, np.uint32)) for size in (2 * WORDS, WORDS))
        apart = two.address - one.address
    first, second = (_outcome(engine, ELSEWHERE, 2 * WORDS, apart) for engine in ("step", "run"))
    assert first[0] == second[0]
    assert machines.difference(first[1], second[1]) == ""


def test_accesses_from_one_pointer_share_an_entry() -> None:
    session = _session(ELSEWHERE, "run", 2, 2 * WORDS, 256)
    session.run()
    work, _ = session.grid.fast.engine.program._job(True, GOOD)
    begin = re.split(r"^b\d+:$", job.emit(work).text, maxsplit=1, flags=re.M)[0]
    asked = re.findall(r"call i1 %\w+\(ptr %env, ptr (%\w+), i64", begin)
    assert len(asked) == 3
    assert len(set(asked)) == 2


BYTES = """
.arch sm_50
.kernel probe
.param table 8
.param first 4
.param spare 4
.param out 8
    S2R R0, SR_CTAID.X ;
    S2R R1, SR_TID.X ;
    XMAD R2, R0, c[0x0][0x8], R1 ;
    IADD R3, R2, c[0x0][first] ;
    {top}
    IADD R8.CC, R3, c[0x0][table] ;
    IADD.X R9, {high}, c[0x0][table+4] ;
    LDG.E.U8 R10, [R8+0x1] ;
    SHR R7, R2, 0x1e ;
    ISCADD R14.CC, R2, c[0x0][out], 0x2 ;
    IADD.X R15, R7, c[0x0][out+4] ;
    STG.E [R14], R10 ;
    EXIT ;
"""
"""An index of bytes, extended with its sign or with zeros."""


def _bytes(signed: bool) -> str:
    top, high = ("SHR R7, R3, 0x1f ;", "R7") if signed else ("", "RZ")
    return BYTES.replace("{top}", top).replace("{high}", high)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("first", [0, -200, -512, 512, (1 << 31) - 700, -1000])
def test_bytes_by_index(signed: bool, first: int) -> None:
    found = []
    for engine in ("step", "run"):
        program = gpudbg.load(assemble_file(_bytes(signed)).cubin(), engine=engine, num_sms=1)
        table = program.device.buffer((np.arange(2048) * 7 & 255).astype(np.uint8))
        out = program.device.buffer(np.zeros(WORDS, np.uint32))
        args = [table.address + 512, first & 0xFFFF_FFFF, 0, out]
        session = program.launch("probe", grid=16, block=64, args=args)
        stop = session.run()
        found.append(
            (stop.kind, str(getattr(stop, "address", "")), machines.grid_state(session.grid))
        )
    assert found[0][:2] == found[1][:2]
    assert machines.difference(found[0][2], found[1][2]) == ""


@pytest.mark.parametrize("signed", [True, False])
def test_bytes_have_one_test(signed: bool) -> None:
    program = gpudbg.load(assemble_file(_bytes(signed)).cubin(), engine="run", num_sms=1)
    out = program.device.buffer(np.zeros(WORDS, np.uint32))
    session: Any = program.launch("probe", grid=2, block=64, args=[out, 0, 0, out])
    session.run()
    work, _ = session.grid.fast.engine.program._job(True, GOOD)
    begin = re.split(r"^b\d+:$", job.emit(work).text, maxsplit=1, flags=re.M)[0]
    assert len(re.findall(r"^ask\d+:$", begin, re.M)) == 2
