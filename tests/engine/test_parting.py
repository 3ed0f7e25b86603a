"""Lanes of a whole warp that part at a branch and go on to their ends in place, one side after the
other: the same as by single instructions, at every stop.
"""

from __future__ import annotations

import random
import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.sm.engines.llvm import job
from gpudbg.sm.engines.llvm.program import GOOD
from tests.engine import machines

_WIDTH, _HEIGHT = 48, 48
_PARAMETERS = """
.kernel probe
.param in 8
.param out 8
.param w 4
.param h 4
.shared 32768
    S2R R3, SR_CTAID.Y ;
    S2R R4, SR_TID.Y ;
    S2R R0, SR_CTAID.X ;
    S2R R2, SR_TID.X ;
"""
_BEGIN = {
    "sm_50": """
    XMAD R3, R3, c[0x0][0xc], R4 ;
    XMAD R5, R4, c[0x0][0x8], R2 ;
    XMAD R0, R0, c[0x0][0x8], R2 ;
    SHL R22, R5, 0x2 ;
    XMAD R6, R3, c[0x0][w], R0 ;
    SHR.U32 R9, R6, 0x1e ;
    ISCADD R4.CC, R6, c[0x0][in], 0x2 ;
    IADD.X R5, R9, c[0x0][in+4] ;
    ISCADD R20.CC, R6, c[0x0][out], 0x2 ;
    IADD.X R21, R9, c[0x0][out+4] ;
    LDG.E R11, [R4] ;
    STS [R22], R11 ;
""",
    "sm_80": """
    IMAD R3, R3, c[0x0][0x4], R4 ;
    IMAD R5, R4, c[0x0][0x0], R2 ;
    IMAD R0, R0, c[0x0][0x0], R2 ;
    IMAD.SHL.U32 R22, R5, 0x4, RZ ;
    IMAD R6, R3, c[0x0][w], R0 ;
    MOV R23, 0x4 ;
    IMAD.WIDE R4, R6, R23, c[0x0][in] ;
    IMAD.WIDE R20, R6, R23, c[0x0][out] ;
    LDG.E R11, [R4] ;
    STS [R22], R11 ;
    ULDC UR4, c[0x0][w] ;
    R2UR UR5, R3 ;
""",
}
_PLUS_ONE = {"sm_50": "IADD32I R10, R{n}, 0x1 ;", "sm_80": "IADD3 R10, R{n}, 0x1, RZ ;"}
_EDGES = (
    "ISETP.EQ.OR P0, PT, R3, RZ, P0 ;",
    "{x} ISETP.EQ.OR P0, PT, R10, c[0x0][w], P0 ;",
    "{y} ISETP.EQ.OR P0, PT, R10, c[0x0][h], P0 ;",
    "{x} ISETP.EQ.OR P0, PT, R10, 0x9, P0 ;",
)
_STEPS = (
    "LDG.E R{a}, [R4+{near}] ;",
    "LDG.E R{a}, [R4+{far}] ;",
    "@P1 LDG.E R{a}, [R4+{near}] ;",
    "LDS R{a}, [R22] ;",
    "STS [R22], R{a} ;",
    "STG.E [R20], R{a} ;",
    "@!P1 STG.E [R20], R{a} ;",
    "ATOMS.ADD RZ, [R22], R{a} ;",
    "FADD R{a}, R{b}, R11 ;",
    "FFMA R{a}, R{b}, 0.5, R{a} ;",
    "ISETP.LT.AND P1, PT, R{a}, R{b}, PT ;",
    "@P1 MOV R{a}, R{b} ;",
    "MOV R{a}, c[0x0][w] ;",
    "MUFU.RCP R{a}, R{b} ;",
    "S2R R{a}, SR_LANEID ;",
    "VOTE.ALL R{a}, PT, P1 ;",
    "SHFL.BFLY PT, R{a}, R{b}, 0x1, 0x1f ;",
)
_MORE_STEPS = {
    "sm_50": (
        "IADD R{a}.CC, R{b}, R6 ;",
        "IADD.X R{a}, R{b}, R3 ;",
        "IADD R{a}, R0, -c[0x0][w] ;",
    ),
    "sm_80": (
        "IADD3 R{a}, P1, R{b}, R6, RZ ;",
        "IADD3.X R{a}, R{b}, R6, RZ, P1, !PT ;",
        "UIADD3 UR4, UR4, 0x3, URZ ;",
        "R2UR UR5, R{b} ;",
        "IADD3 R{a}, R{b}, UR4, RZ ;",
        "IADD3 R{a}, R{b}, UR5, RZ ;",
        "@P1 R2UR UR4, R3 ;",
        "UISETP.LT.AND UP1, UPT, UR4, UR5, UPT ;",
        "USEL UR5, UR4, UR5, UP1 ;",
    ),
}


def _side(rng: random.Random, arch: str, most: int = 14) -> str:
    lines, steps = [], (*_STEPS, *_MORE_STEPS[arch] * 2)
    for _ in range(rng.randint(0, most)):
        a, b = rng.choice((7, 8, 12, 13, 14, 15, 18)), rng.choice((0, 3, 6, 7, 8, 11, 12, 15))
        near, far = rng.choice(("0x4", "-0x4", "0x8")), rng.choice(("0xc0", "-0xc0"))
        lines.append(rng.choice(steps).format(a=a, b=b, near=near, far=far))
    return "\n".join(lines)


@cache
def _cubin(seed: int, arch: str) -> bytes:
    rng = random.Random(f"parting {arch} {seed}")
    x, y = (_PLUS_ONE[arch].format(n=n) for n in (0, 3))
    edges = " ".join(rng.sample(_EDGES, rng.randint(0, 4))).format(x=x, y=y)
    guard = rng.choice(("@P0", "@!P0"))
    tokens = "" if arch == "sm_80" else rng.choice(("", "", "", "SSY other ;", "PEXIT last ;"))
    leaves = f"{guard} BRA other ;\n{_side(rng, arch)} EXIT ;\nother:\n{_side(rng, arch)}"
    if rng.random() < 0.3:
        leaves = f"{_side(rng, arch)} {guard} EXIT ;\nother:\n{_side(rng, arch, 7)}"
    source = (
        f".arch {arch}\n{_PARAMETERS} {_BEGIN[arch]} {tokens} ISETP.EQ.AND P0, PT, R0, RZ, PT ;"
        f" {edges} {leaves} EXIT ;\nlast:\nMOV R12, R3 ; EXIT ;"
    )
    return assemble_file(source.replace("; ", ";\n")).cubin()


def _launched(
    engine: str, seed: int, arch: str, block: tuple[int, int], quantum: int
) -> tuple[Any, Any]:
    program = gpudbg.load(_cubin(seed, arch), engine=engine, num_sms=1)
    program.device.gpu.quantum = quantum
    rng = np.random.default_rng(seed)
    # With rows above and below those of the launch, and without: at a border loads fault then.
    rows = int(seed % 4 > 0)
    words = rng.integers(0, 1 << 32, _WIDTH * (_HEIGHT + 2 * rows), dtype=np.uint32)
    given = program.device.buffer(words)
    out = program.device.buffer(np.zeros(_WIDTH * _HEIGHT, np.uint32))
    grid = -(-_WIDTH // block[0]), -(-_HEIGHT // block[1])
    arguments = [given.address + 4 * _WIDTH * rows, out, _WIDTH, _HEIGHT]
    return program.launch("probe", grid=grid, block=block, args=arguments), out


def compare(seed: int, arch: str, whole: bool) -> str:
    """Run one program on both engines, to random stops unless `whole`; how it ended."""
    rng = random.Random(f"stops {seed}")
    block = rng.choice(((16, 16), (8, 24), (16, 2), (48, 4), (48, 12), (32, 8), (24, 24)))
    quantum = rng.choice((64, 64, 64, 100, 30))
    (step, first), (run, second) = (
        _launched(engine, seed, arch, block, quantum) for engine in ("step", "run")
    )
    kind = "limit"
    while kind == "limit":
        count = None if whole else rng.choice((1, 17, 150, 330, 330, 900))
        kind = step.run(max_instructions=count).kind
        assert run.run(max_instructions=count).kind == kind
        states = machines.grid_state(step.grid), machines.grid_state(run.grid)
        assert machines.difference(states[0], states[1]) == "", seed
    assert first.array().tolist() == second.array().tolist(), seed
    return kind


@pytest.mark.in_turn(8)
@pytest.mark.parametrize("arch", ["sm_50", "sm_80"])
@pytest.mark.parametrize("seed", range(24))
def test_both_engines_agree(seed: int, arch: str) -> None:
    assert compare(seed, arch, seed % 2 == 0) in ("exited", "warp_error")


@pytest.mark.parametrize("arch", ["sm_50", "sm_80"])
def test_sides_go_on_in_place(arch: str) -> None:
    """So that these tests are of something."""
    session, _ = _launched("run", 0, arch, (16, 4), 64)
    session.run()
    work, _ = session.grid.fast.engine.program._job(True, GOOD)
    assert re.search(r"^part\d+:$", job.emit(work).text, re.M)
