"""Addresses of every pattern: in rows, at one place, scattered, at borders, wrong ones.

Each program runs on both engines; what must agree is everything, a fault's pc and state included.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from tests.engine import machines

BLOCK = 64
BYTES = 8192

PROGRAM = """
.arch sm_50
.kernel probe
.shared 2048
.local 256
.param table 8
.param memory 8
    S2R R0, SR_TID.X ;
    ISCADD R2.CC, R0, c[0x0][table], 0x3 ;
    MOV R3, c[0x0][table+4] ;
    IADD.X R3, R3, RZ ;
    LDG.E.64 R4, [R2] ;
    ISETP.NE.AND P0, PT, R0, 0x21, PT ;
    LOP.AND.NZ P1, RZ, R0, 0x4 ;
    MOV R6, c[0x0][memory] ;
    MOV R7, c[0x0][memory+4] ;
    IADD R6.CC, R6, R4 ;
    IADD.X R7, R7, R5 ;
    MOV R8, R4 ;
    MOV R9, R4 ;
    MOV R10, R0 ;
    MOV32I R11, 0x1234567 ;
    IADD R12, R10, R11 ;
    IADD R13, R12, R11 ;
    IADD R14, R13, R11 ;
    IADD R15, R14, R11 ;
{body}
    IADD R20, R20, R0 ;
    EXIT ;
"""

ACCESSES = (
    "LDG.E R16, [R6] ;",
    "LDG.E R17, [R6+0x4] ;",
    "LDG.E R18, [R6+-0x4] ;",
    "@P1 LDG.E R16, [R6+0x10] ;",
    "LDG.E.U8 R20, [R6] ;",
    "LDG.E.S16 R21, [R6+0x2] ;",
    "LDG.E.64 R16, [R6] ;",
    "LDG.E.128 R16, [R6] ;",
    "STG.E [R6], R12 ;",
    "@P1 STG.E [R6+0x8], R13 ;",
    "@P0 STG.E.64 [R6], R12 ;",
    "STG.E.128 [R6], R12 ;",
    "STG.E.U8 [R6], R12 ;",
    "LDS.U.32 R16, [R8] ;",
    "@!P1 LDS.U.32 R17, [R8+0x40] ;",
    "LDS.U.64 R18, [R8] ;",
    "LDS.U.128 R16, [R8] ;",
    "STS [R8], R12 ;",
    "@P1 STS [R8+0x20], R14 ;",
    "STS.64 [R8], R12 ;",
    "STS.128 [R8], R12 ;",
    "ATOMS.ADD RZ, [R8], R12 ;",
    "@P1 ATOMS.ADD RZ, [R8], R13 ;",
    "ATOMS.ADD R22, [R8], R12 ;",
    "RED.E.ADD [R6], R12 ;",
    "IADD R6.CC, R6, 0x4 ;\n    IADD.X R7, R7, RZ ;",
    "IADD R8, R8, 0x4 ;",
    "IADD R12, R12, R16 ;",
    "@P1 IADD R13, R12, R16 ;",
    "@P1 BRA next ;\n    IADD R14, R14, R12 ;\nnext:",
)


def _offsets(rng: random.Random) -> tuple[list[int], int]:
    """(One signed offset for each thread, in a pattern that is mostly regular; its step)."""
    step = rng.choice((4, 4, 4, 16, 16, 16, 0, 8, -4, 1))
    start = rng.choice((0, 64, 64, 256, 256, 512, 512, 2048 - 512, 1 << 32, BYTES - 512, 2))
    rows = rng.choice((32, 32, 32, 16, 8))
    out = [start + step * (n % rows) + 256 * (n // rows % 4) for n in range(BLOCK)]
    kind = rng.randrange(8)
    if kind < 2:
        step, out = 16, [16 * rng.randrange(100) for _ in range(BLOCK)]
    elif kind == 2:
        step, out = 16, [256 + 16 * (n ^ rng.choice((1, 2, 4))) for n in range(BLOCK)]
    elif kind == 3:
        out[rng.randrange(BLOCK)] += rng.choice((1, 2, -4, 1 << 20, 1 << 32, -(1 << 14)))
    return out, step


def _access(rng: random.Random, step: int) -> str:
    """One that the pattern keeps aligned, mostly."""
    while True:
        text = rng.choice(ACCESSES)
        size = 16 if ".128" in text else 8 if ".64" in text else 4
        if not step % size or not rng.randrange(20):
            return text


def outcome(source: str, engine: str, offsets: list[int], width: int, base: int = 0) -> Any:
    """How a run ends, and the state it leaves; `base`: where the memory begins."""
    program = gpudbg.load(assemble_file(source).cubin(), engine=engine)
    table = program.device.buffer(np.array(offsets, np.int64))
    if base:
        program.device.gpu.memory.next_address = base
    memory = program.device.buffer(np.arange(BYTES, dtype=np.uint32).astype(np.uint8))
    block = (width, len(offsets) // width, 1)
    session = program.launch(grid=2, block=block, args=[table, memory])
    event = session.run()
    return event.kind, machines.grid_state(session.grid)


def probe(rng: random.Random) -> tuple[str, list[int], int]:
    """(Source of a program, its offsets, threads of a block in x)."""
    offsets, step = _offsets(rng)
    accesses = [_access(rng, step) for _ in range(rng.randrange(2, 9))]
    body = [f"    {text.replace('next', f'next{n}')}" for n, text in enumerate(accesses)]
    source = PROGRAM.replace("{body}", "\n".join(body))
    return source, offsets, rng.choice((64, 64, 16, 32))


@pytest.mark.in_turn(6)
@pytest.mark.parametrize("number", range(48))
def test_engines_agree(number: int) -> None:
    source, offsets, width = probe(random.Random(number))
    one, two = (outcome(source, engine, offsets, width) for engine in ("step", "run"))
    assert one[0] == two[0]
    assert machines.difference(one[1], two[1]) == ""


BANK_BYTES = 0x150
"""Of constant bank 0 with two parameters."""
CONSTANTS = (
    "LDC R16, c[0x0][R8]", "LDC R17, c[0x0][R8+0x4]", "LDC.U8 R18, c[0x0][R8+0x1]",
    "LDC.S16 R19, c[0x0][R8+0x2]", "LDC.64 R20, c[0x0][R8]", "@P1 LDC R16, c[0x0][R8+0x8]",
    "@P1 LDC.64 R20, c[0x0][R8+0x8]", "LDC R16, c[0x0][0x140]",
)  # fmt: skip


@pytest.mark.full(instead="test_a_debugger_writes_to_local_memory")
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("text", CONSTANTS)
def test_constants(text: str) -> None:
    """One offset for all lanes, inside, at the end, beyond and misaligned; and others."""
    one = [0x140, 0, 4, 1, 2, BANK_BYTES - 16, BANK_BYTES - 8, BANK_BYTES - 4, BANK_BYTES - 3, -4]
    for first in one:
        offsets = [first] * BLOCK
        for other in (first, 0x140, BANK_BYTES):
            # Under the guard P1 lane 2 does not execute.
            offsets[34] = other
            source = PROGRAM.replace("{body}", f"    {text} ;")
            outcomes = [outcome(source, engine, offsets, BLOCK) for engine in ("step", "run")]
            assert outcomes[0][0] == outcomes[1][0]
            assert machines.difference(outcomes[0][1], outcomes[1][1]) == ""


EDGE = """
.arch sm_50
.kernel edge
.param table 8
.param memory 8
    S2R R0, SR_TID.X ;
    ISCADD R2.CC, R0, c[0x0][table], 0x3 ;
    MOV R3, c[0x0][table+4] ;
    IADD.X R3, R3, RZ ;
    LDG.E.64 R4, [R2] ;
    IADD R6.CC, R4, c[0x0][memory] ;
    IADD.X R7, R5, c[0x0][memory+4] ;
    {first} ;
    {second} ;
    EXIT ;
"""


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("distance", [-0x40, -0x4, 0x4, 0x8, 0x40, 0x400])
@pytest.mark.parametrize("second", ["LDG.E R9, [R6+{at}]", "STG.E [R6+{at}], R0"])
@pytest.mark.parametrize("first", ["LDG.E R8, [R6]", "STG.E [R6], R0"])
def test_a_second_access_beyond_the_memory(first: str, second: str, distance: int) -> None:
    """The first warps find the memory and stay inside; the last one's second access does not."""
    source = EDGE.replace("{first}", first).replace("{second}", second.format(at=hex(distance)))
    most = BYTES - 32 * 4
    inside = range(1024, 1024 + 7 * 128, 128)
    for last in (0, -distance, most, most - distance, most - distance + 4, -distance - 4):
        starts = [*inside, max(0, min(most, last))]
        offsets = [start + 4 * n for start in starts for n in range(32)]
        one, two = (outcome(source, engine, offsets, 256) for engine in ("step", "run"))
        assert one[0] == two[0]
        assert machines.difference(one[1], two[1]) == ""


@pytest.mark.in_turn(6)
@pytest.mark.parametrize("number", range(24))
def test_around_a_multiple_of_4_gib(number: int) -> None:
    """Low words of a warp's addresses wrap around in the middle of the memory, with and without a
    carry to the high ones."""
    rng = random.Random(1000 + number)
    step, rows = rng.choice((4, 8, 16)), rng.choice((16, 32))
    load = {4: "LDG.E", 8: "LDG.E.64", 16: "LDG.E.128"}[step]
    accesses = [f"{load} R16, [R6] ;", *(_access(rng, step) for _ in range(rng.randrange(3)))]
    source = PROGRAM.replace("{body}", "\n".join(f"    {text}" for text in accesses))
    start = BYTES // 2 - step * rng.randrange(1, rows)
    offsets = [start + step * (n % rows) for n in range(BLOCK)]
    if number % 2:
        source = source.replace("IADD.X R7, R7, R5", "IADD R7, R7, R5")
        # The first warp finds out where the memory is.
        offsets[:32] = [1024 + step * n for n in range(32)]
    base = (11 << 32) - BYTES // 2
    one, two = (outcome(source, engine, offsets, BLOCK, base) for engine in ("step", "run"))
    assert one[0] == two[0]
    assert machines.difference(one[1], two[1]) == ""


LOCAL = """
.arch sm_50
.kernel stain
.local 64
.param out 8
    S2R R0, SR_TID.X ;
    S2R R1, SR_CTAID.X ;
    XMAD R2, R1, 0x20, R0 ;
    ISCADD R4.CC, R2, c[0x0][out], 0x2 ;
    MOV R5, c[0x0][out+4] ;
    IADD.X R5, R5, RZ ;
    MOV32I R6, 0xffffc8 ;
    MOV32I R10, 0xffffd0 ;
    SHR.U32 R7, R0, 0x10 ;
    IADD R6, R6, R7 ;
    LDL R8, [R10] ;
    LDL R9, [R6] ;
    LOP.OR R8, R8, R9 ;
    STG.E [R4], R8 ;
    LOP.AND.NZ P0, RZ, R1, 0x1 ;
    ISETP.LT.AND P1, PT, R1, 0xc8, PT ;
    @P1 BRA first ;
    @P0 STL [R10], R2 ;
    EXIT ;
first:
    @P0 STL [R6], R2 ;
    EXIT ;
"""


def test_local_memory_of_a_new_block_is_zero() -> None:
    """Whoever wrote to it before: blocks follow one another in the same storage."""
    blocks = 400
    program = gpudbg.load(assemble_file(LOCAL).cubin(), engine="run", num_sms=1)
    out = program.device.buffer(np.ones(32 * blocks, np.uint32))
    session = program.launch("stain", grid=blocks, block=32, args=[out])
    while session.run(max_instructions=4001).kind == "limit":
        pass
    assert not out.array().any()


def _to_the_end(session: Any, first: int) -> list[Any]:
    """States at stops on the way."""
    states = []
    for more in (first, *(31,) * 8):
        assert session.run(max_instructions=more).kind == "limit"
        states.append(machines.grid_state(session.grid))
    assert session.run().kind == "exited"
    return states


def _assert_same(found: list[tuple[list[Any], Any]]) -> None:
    """Both engines had the same states at all stops and wrote the same, which is not nothing."""
    one, two = found
    assert one[1].any()
    assert np.array_equal(one[1], two[1])
    for state, other in zip(one[0], two[0], strict=True):
        assert machines.difference(state, other) == ""


READS = """
.arch sm_50
.kernel reads
.local 64
.param out 8
    S2R R0, SR_TID.X ;
    S2R R1, SR_CTAID.X ;
    XMAD R2, R1, 0x20, R0 ;
    ISCADD R4.CC, R2, c[0x0][out], 0x2 ;
    MOV R5, c[0x0][out+4] ;
    IADD.X R5, R5, RZ ;
    MOV32I R6, 0xffffd0 ;
    LOP.AND.NZ P0, RZ, R1, 0x3 ;
    LDL R8, [R6] ;
    IADD R8, R8, R8 ;
    STG.E [R4], R8 ;
    @!P0 EXIT ;
    STL [R6+0x4], R8 ;
    EXIT ;
"""


@pytest.mark.full(instead="test_engines_agree")
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("limit", [0, 1, 203, 2000])
def test_a_debugger_writes_to_local_memory(limit: int) -> None:
    """It is there for who reads it, and gone in the block that follows in the same place."""
    blocks, found = 600, []
    for engine in ("step", "run"):
        program = gpudbg.load(assemble_file(READS).cubin(), engine=engine, num_sms=1)
        out = program.device.buffer(np.zeros(32 * blocks, np.uint32))
        # The second launch begins with code that is there.
        for _ in range(2):
            session = program.launch("reads", grid=blocks, block=32, args=[out])
            if limit:
                assert session.run(max_instructions=limit).kind == "limit"
            for n, cta in enumerate(session.grid.ctas()):
                for lane in range(32):
                    cta.warps[0].local.write(lane, 0xFFFFD0, bytes([n + 1, lane, 0, 0]))
            states = _to_the_end(session, 3000)
        found.append((states, out.array()))
    _assert_same(found)


STAIN = """
.arch sm_50
.kernel stain
.regs 16
.param out 8
    S2R R0, SR_TID.X ;
    S2R R1, SR_CTAID.X ;
    XMAD R2, R1, 0x40, R0 ;
    ISCADD R4, R2, c[0x0][out], 0x2 ;
    MOV R5, c[0x0][out+4] ;
    IADD.X R6, R14, RZ ;
    BAR.SYNC 0x0 ;
    @P3 IADD R6, R6, 0x100 ;
    STG.E [R4], R6 ;
    EXIT ;
"""


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("limit", [0, 1, 203, 2000])
def test_what_no_code_writes_is_zero_in_a_new_block(limit: int) -> None:
    """Somebody has written to registers, predicates and flags of blocks that others follow."""
    blocks, found = 400, []
    for engine in ("step", "run"):
        program = gpudbg.load(assemble_file(STAIN).cubin(), engine=engine, num_sms=1)
        out = program.device.buffer(np.zeros(64 * blocks, np.uint32))
        session = program.launch("stain", grid=blocks, block=64, args=[out])
        if limit:
            assert session.run(max_instructions=limit).kind == "limit"
        for cta in session.grid.ctas():
            for warp in cta.warps:
                warp.R[14][:] = 7
                warp.predicates[3] = 0xFFFF
                warp.cc[3] = 1
        found.append((_to_the_end(session, 1500), out.array()))
    _assert_same(found)
