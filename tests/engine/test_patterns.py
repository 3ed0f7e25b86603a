"""Memory at addresses that are computed from the thread's number: guessed, right and wrong.

Each program runs on both engines, which must agree on everything, a fault's pc and state included.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.sm.engines.llvm.ir.values import MaskHost
from gpudbg.sm.engines.llvm.kernel import patterns
from gpudbg.sm.engines.llvm.start import FastEngine
from tests import variants
from tests.engine import machines, test_gathers
from tests.levels import has, standing_for
from tests.narrowing import a

PROGRAM = """
.arch sm_50
.kernel probe
.shared 4096
.param out 8
    S2R R0, SR_TID.X ;
    S2R R1, SR_TID.Y ;
    ISCADD R2, R1, R0, 0x4 ;
    SHL R3, R2, 0x2 ;
    LOP.AND.NZ P1, RZ, R0, 0x4 ;
    ISETP.GT.AND P2, PT, R2, 0x28, PT ;
    MOV32I R11, 0x1234567 ;
    IADD R12, R2, R11 ;
    IADD R13, R12, R11 ;
    IADD R14, R13, R11 ;
    IADD R15, R14, R11 ;
    STS [R3], R12 ;
    STS [R3+0x300], R13 ;
    STS [R3+0x800], R14 ;
    STS [R3+0xc00], R15 ;
    BAR.SYNC 0x0 ;
{body}
    EXIT ;
"""

LANE = "LOP32I.AND R4, R0, 0x1f ;\n"
PLACES = (
    ("SHL R8, R2, 0x2 ;", 4),
    ("SHL R8, R2, 0x3 ;", 8),
    ("SHL R8, R2, 0x4 ;", 16),
    ("SHL R8, R0, 0x2 ;", 4),
    ("SHL R8, R1, 0x4 ;", 16),
    ("MOV R8, RZ ;", 16),
    ("LOP32I.XOR R8, R3, 0x1c ;", 4),
    ("LOP32I.AND R8, R3, 0xffffffe0 ;", 16),
    (
        "LOP32I.AND R4, R2, 0xfffffffc ;\n    LOP3.LUT R4, R4, 0x3, R2, 0xf8 ;\n"
        "    SHL R8, R4, 0x2 ;",
        4,
    ),
    (
        "IADD R4, R2, R2 ;\n    LOP32I.AND R4, R4, 0xfffffff8 ;\n"
        "    LOP3.LUT R4, R4, 0x3, R2, 0xf8 ;\n    SHL R8, R4, 0x2 ;",
        4,
    ),
    # Lanes far apart: 68, 20, 80 and 24 bytes, and from the last one down.
    (f"{LANE}    SHL R5, R4, 0x4 ;\n    IADD R5, R5, R4 ;\n    SHL R8, R5, 0x2 ;", 4),
    (f"{LANE}    SHL R5, R4, 0x2 ;\n    IADD R5, R5, R4 ;\n    SHL R8, R5, 0x2 ;", 4),
    (f"{LANE}    SHL R5, R4, 0x2 ;\n    IADD R5, R5, R4 ;\n    SHL R8, R5, 0x4 ;", 16),
    (f"{LANE}    IADD R5, R4, R4 ;\n    IADD R5, R5, R4 ;\n    SHL R8, R5, 0x3 ;", 8),
    (f"{LANE}    SHL R5, R4, 0x6 ;\n    LOP32I.XOR R8, R5, 0x7c0 ;", 16),
)
"""Where R8 points to, and the bytes from lane to lane."""

MOVES = (
    "IADD R8, R8, 0x10 ;",
    "LOP32I.OR R8, R8, 0x20 ;",
    "IADD32I R8, R8, 0x100 ;",
    # Guesses know nothing of predicates.
    "@P2 IADD R8, R8, 0x10 ;",
    "@P1 IADD R8, R8, 0x40 ;",
    "SEL R8, R8, R3, P2 ;",
)

ACCESSES = (
    "LDS.U.32 R16, [R8] ;",
    "LDS.U.32 R17, [R8+0x400] ;",
    "@!P1 LDS.U.32 R18, [R8+0x40] ;",
    "@P2 LDS.U.32 R16, [R8+0x760] ;",
    "LDS.U.32 R16, [R8+0x600] ;",
    "@P2 LDS.U.32 R18, [R8+0xf80] ;",
    "LDS.U8 R17, [R8+0x3] ;",
    "LDS.S16 R18, [R8+0x2] ;",
    "LDS.U.64 R16, [R8] ;",
    "@P1 LDS.U.64 R18, [R8+0x8] ;",
    "LDS.U.128 R16, [R8] ;",
    "STS [R8], R12 ;",
    "@P1 STS [R8+0x20], R14 ;",
    "@P2 STS [R8+0x760], R16 ;",
    "STS.U8 [R8+0x1], R13 ;",
    "STS.64 [R8], R12 ;",
    "@!P1 STS.64 [R8+0x8], R14 ;",
    "STS.128 [R8], R12 ;",
    "@P1 STS.128 [R8+0x10], R16 ;",
    "LDG.E R16, [R6] ;",
    "LDG.E R17, [R6+0x4] ;",
    "@P1 LDG.E R18, [R6+0x8] ;",
    "@P2 LDG.E R18, [R6+0xf80] ;",
    "LDG.E.64 R16, [R6] ;",
    "LDG.E.128 R16, [R6] ;",
    "STG.E [R6], R12 ;",
    "STG.E [R6+0x4], R16 ;",
    "@!P1 STG.E [R6+0x8], R13 ;",
    "@P1 STG.E.64 [R6], R14 ;",
    "STG.E.128 [R6], R12 ;",
    "ATOMS.ADD RZ, [R8], R12 ;",
    "ATOMS.ADD RZ, [R8+0x10], R11 ;",
    "IADD R12, R12, R16 ;",
)


GLOBAL = ("IADD R6.CC, R8, c[0x0][out] ;", "MOV R7, c[0x0][out+4] ;", "IADD.X R7, R7, RZ ;")
"""R6 and R7 point to the same place in global memory."""


def _source(rng: random.Random) -> str:
    body = []
    for _ in range(3):
        place, step = rng.choice(PLACES)
        body.append(place)
        if not rng.randrange(3):
            body.append(rng.choice(MOVES))
        body += GLOBAL
        body += [_access(rng, step) for _ in range(4)]
    return PROGRAM.replace("{body}", "\n".join(f"    {text}" for text in body))


def _access(rng: random.Random, step: int) -> str:
    """One that is aligned and inside, mostly."""
    while True:
        text = rng.choice(ACCESSES)
        size = 16 if ".128" in text else 8 if ".64" in text else 4
        if (step % size == 0 and "0xf80" not in text) or not rng.randrange(20):
            return text


def _outcome(source: str, engine: str, block: tuple[int, int, int]) -> Any:
    program = gpudbg.load(assemble_file(source).cubin(), engine=engine)
    out = program.device.buffer(np.arange(1024, dtype=np.uint32))
    session = program.launch("probe", grid=2, block=block, args=[out])
    event = session.run()
    return event.kind, machines.grid_state(session.grid)


@pytest.mark.in_turn(5)
@pytest.mark.parametrize("number", range(40))
def test_engines_agree(number: int) -> None:
    _check_engines(number)


def test_engines_agree_where_eight_words_are_gathered() -> None:
    """On a host with AVX2 alone, which stores words of lanes far apart one by one."""
    if not has("x86-64-v3"):
        pytest.skip("the host has less")
    with standing_for("x86-64-v3"):
        for seed in range(100, 100 + variants.number(1, 60)):
            _check_engines(seed)


def _check_engines(number: int) -> None:
    """Compare both engines' results of one program."""
    rng = random.Random(number)
    source = _source(rng)
    block = rng.choice(((128, 1, 1), (64, 1, 1), (16, 6, 1), (32, 3, 1), (8, 16, 1), (40, 1, 1)))
    one, two = (_outcome(source, engine, block) for engine in ("step", "run"))
    assert one[0] == two[0]
    assert machines.difference(one[1], two[1]) == ""


def test_a_wrong_guess_costs_once() -> None:
    """The second launch runs without the step engine."""
    body = "    @P2 IADD R8, R3, 0x10 ;\n    @!P2 MOV R8, R3 ;\n    LDS.U.32 R16, [R8] ;\n"
    source = PROGRAM.replace("{body}", f"{body}    STS [R8], R16 ;")
    program = gpudbg.load(assemble_file(source).cubin(), engine="run")
    out = program.device.buffer(np.arange(1024, dtype=np.uint32))
    left = []
    for _ in range(2):
        session = program.launch("probe", grid=2, block=(64, 1, 1), args=[out])
        session.run()
        engine = a(FastEngine, session.grid.fast).engine
        assert engine is not None
        left.append((engine.program.refuted, len(engine.exits)))
    assert left == [(1, 1), (1, 0)]


def test_hosts_that_gather_eight_words_do_not_call_for_a_transposition() -> None:
    """A column of a tile in shared memory."""
    made = test_gathers.text("transpose", False, MaskHost.PACKED, full=True, row=32)
    quick = made[: made.index("\nx")]
    assert quick.count("@llvm.x86.avx2.gather") >= 4 * 4
    older = test_gathers.text("transpose", False, MaskHost.VECTORS, full=True, row=32)
    assert "gather" not in older


def test_gathers_and_scatters_cover_the_pattern() -> None:
    """Where a host has them, lanes far apart are at constant distances from the lowest one."""
    for step, size in ((68, 4), (24, 8), (80, 16), (-68, 4)):
        pattern = tuple(step * n if step > 0 else step * (n - 31) for n in range(32))
        assert patterns.load_parts(pattern, size) is None
        for n, halves in enumerate(patterns.load_parts(pattern, size, True) or ()):
            for half, part in enumerate(halves):
                places = [part.offset + pick for pick in part.picks]
                assert places == [place + 4 * n for place in pattern[16 * half :][:16]]
                assert part.end(size) == max(places) + 4
        steps = patterns.scatter_steps(pattern, size)
        assert [min(pattern) + each for each in steps] == list(pattern)
    assert patterns.scatter_steps((0, *range(0, 31 * 68, 68)), 4) == ()
    assert patterns.load_parts(tuple(n << 26 for n in range(32)), 4, True) is None


def test_parts_and_pieces_cover_the_pattern() -> None:
    """Every lane gets the word at its address, and writes it there."""
    words = np.arange(1024)
    made = 0
    for shift, mask in ((2, 0), (3, 0), (4, 0), (2, 8), (2, 24), (3, 8), (2, 4)):
        for size in (4, 8, 16):
            lanes = [(n << shift) ^ (n << shift & mask) << 1 for n in range(32)]
            pattern = tuple(lanes)
            parts = patterns.load_parts(pattern, size)
            for n, halves in enumerate(parts or ()):
                for half, part in enumerate(halves):
                    start = part.offset // 4
                    picks = {"splat": [0] * 16, "line": range(16)}.get(part.kind, part.picks)
                    found = words[start:][list(picks)]
                    wanted = np.array(lanes[16 * half :][:16]) // 4 + n
                    assert np.array_equal(found, wanted)
                    made += 1
            for inside in (False, True):
                stored = {}
                pieces = patterns.store_pieces(pattern, size, inside)
                for piece in pieces or ():
                    end = max(lanes) + size
                    if inside and end - min(lanes) >= 64 and size == 4:
                        assert min(lanes) <= piece.offset <= end - 64
                    for at, word in enumerate(piece.words):
                        if word is not None:
                            stored[piece.offset + 4 * at] = word
                if pieces is not None:
                    assert stored == {
                        place + 4 * n: (n, lane)
                        for lane, place in enumerate(lanes)
                        for n in range(size // 4)
                    }
                    made += 1
    assert made > 40
    assert patterns.store_pieces((0,) * 32, 4) is None
    assert patterns.load_parts(tuple(range(0, 32 * 256, 256)), 4) is None
