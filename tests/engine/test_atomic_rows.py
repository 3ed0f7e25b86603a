"""Atomics of whole warps on words that follow one another, on one host thread and on several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.values import AccessHost, MaskHost
from gpudbg.sm.engines.llvm.runtime.library import module_with
from gpudbg.sm.engines.llvm.threads import ThreadPool

# Each round: sums and others of rows, and one lane's sum to a word of the first row, chosen by the
# block's number: other threads change words between a load and its exchange.
ROWS = """
.arch sm_50
.kernel rows
.param at 8
.param rounds 4
    MOV R2, c[0x0][at] ;
    MOV R3, c[0x0][at+4] ;
    S2R R8, SR_TID.X ;
    S2R R9, SR_CTAID.X ;
    XMAD R16, R9, 0x40, R8 ;
    LOP.AND R17, R9, 0x1f ;
    SHL R17, R17, 0x2 ;
    IADD R18.CC, R2, R17 ;
    IADD.X R19, R3, RZ ;
    SHL R8, R8, 0x2 ;
    IADD R2.CC, R2, R8 ;
    IADD.X R3, R3, RZ ;
    MOV R10, c[0x0][rounds] ;
    MOV32I R4, 0x1 ;
    ISETP.EQ.AND P1, PT, R8, RZ, PT ;
    BFE.U32 R14, R16, 0x500 ;
    SHL R14, R4, R14 ;
    LOP.PASS_B R15, RZ, ~R14 ;
again:
    RED.E.ADD [R2], R4 ;
    @P1 RED.E.ADD [R18], R4 ;
    RED.E.ADD.S32 [R2+0x100], R16 ;
    RED.E.MAX [R2+0x200], R16 ;
    RED.E.MIN [R2+0x300], R16 ;
    RED.E.MAX.S32 [R2+0x400], R15 ;
    RED.E.MIN.S32 [R2+0x500], R15 ;
    RED.E.OR [R2+0x600], R14 ;
    RED.E.AND [R2+0x700], R15 ;
    RED.E.XOR [R2+0x800], R16 ;
    IADD32I R10, R10, -0x1 ;
    ISETP.NE.U32.AND P0, PT, R10, RZ, PT ;
    @P0 BRA again ;
    EXIT ;
"""
# What each lane finds, of all words of a row and of its neighbour's.
OLD = """
.arch sm_50
.kernel old
.param at 8
    MOV R2, c[0x0][at] ;
    MOV R3, c[0x0][at+4] ;
    S2R R8, SR_TID.X ;
    SHL R9, R8, 0x2 ;
    IADD R2.CC, R2, R9 ;
    IADD.X R3, R3, RZ ;
    ATOM.E.ADD R4, [R2], R8 ;
    ATOM.E.XOR R5, [R2+0x4], R8 ;
    ATOM.E.MAX.S32 R6, [R2+0x8], R4 ;
    ST.E [R2+0x200], R4 ;
    ST.E [R2+0x300], R5 ;
    ST.E [R2+0x400], R6 ;
    EXIT ;
"""
WORDS = 64 * 9
BLOCKS, ROUNDS = 48, 1000


def _rows(offset: int, **options: Any) -> np.ndarray:
    """The rows after all blocks, which begin so many words behind an aligned place."""
    program = gpudbg.load(assemble_file(ROWS).cubin(), **options)
    words = program.device.buffer(
        np.arange(WORDS + offset, dtype=np.uint32) * np.uint32(0x9E3779B9)
    )
    arguments = [words.address + 4 * offset, np.int32(ROUNDS)]
    session = program.launch(grid=BLOCKS, block=64, args=arguments)
    assert session.run().kind == "exited"
    return words.array()


@pytest.mark.parametrize("offset", [0, 1])
def test_nothing_is_lost(offset: int, monkeypatch: pytest.MonkeyPatch) -> None:
    together: list[int] = []
    real = ThreadPool.run

    def run(pool: ThreadPool, work: Any) -> Any:
        together.append(len(work))
        return real(pool, work)

    monkeypatch.setattr(ThreadPool, "run", run)
    alone = _rows(offset, engine="run")
    # All of these can be done in any order.
    assert np.array_equal(alone, _rows(offset, engine="run", jobs=2))
    assert max(together) == 2
    first = np.arange(WORDS + offset, dtype=np.uint32) * np.uint32(0x9E3779B9)
    sums = (alone - first)[offset : offset + 64]
    assert sums.sum() == BLOCKS * ROUNDS * (64 + 1)


@pytest.mark.parametrize("offset", [0, 1])
def test_old_values(offset: int) -> None:
    found = []
    for engine in ("step", "run"):
        program = gpudbg.load(assemble_file(OLD).cubin(), engine=engine)
        start = np.arange(400, dtype=np.uint32) * np.uint32(0x9E3779B9)
        words = program.device.buffer(start)
        session = program.launch(grid=3, block=64, args=[words.address + 4 * offset])
        assert session.run().kind == "exited"
        found.append(words.array())
    assert np.array_equal(found[0], found[1])


@pytest.mark.parametrize(
    ("masks", "kind"), [(MaskHost.REGISTERS, "i128"), (MaskHost.VECTORS, "i64")]
)
def test_what_hosts_exchange(masks: MaskHost, kind: str) -> None:
    """Several words at once where others may access them, all of them where nobody does."""
    name = "atomic.global.ADD.U32"
    shared = module_with(layout.symbol(name, shared=True), AccessHost(masks), True, True).text
    (line,) = (line for line in shared.splitlines() if "cmpxchg" in line)
    assert f", {kind} " in line
    alone = module_with(layout.symbol(name), AccessHost(masks), True, True).text
    assert "cmpxchg" not in alone
    assert "add <32 x i32>" in alone
