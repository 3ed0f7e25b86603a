"""Whole warps that execute guarded accesses in all lanes go on by themselves (`kernel.forks`)."""

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

GUARDED = """
.arch sm_80
.kernel probe
.param table 8
.param n 4
.param least 4
    S2R R0, SR_CTAID.X ;
    S2R R1, SR_TID.X ;
    IMAD R2, R0, c[0x0][0x0], R1 ;
    ISETP.GE.AND P0, PT, R2, c[0x0][n], PT ;
    ISETP.LT.OR P0, PT, R2, c[0x0][least], P0 ;
    MOV R3, 0x4 ;
    MOV R10, 0x7 ;
    MOV R11, R2 ;
    IMAD.WIDE R8, R2, R3, c[0x0][table] ;
@!P0 IADD3 R11, R11, 0x1, RZ ;
@!P0 LDG.E R10, [R8.64] ;
@P0 IADD3 R11, R11, 0x5, RZ ;
    IADD3 R12, R10, R11, RZ ;
@!P0 STG.E [R8.64], R12 ;
    {last}
    IADD3 R12, R12, R12, RZ ;
    EXIT ;
"""
"""Threads from `least` up to `n` add to their word."""

BEHIND = """
.arch sm_80
.kernel probe
.param table 8
.param n 4
.param least 4
    S2R R1, SR_TID.X ;
    MOV R3, 0x4 ;
    ISETP.GE.AND P1, PT, R1, c[0x0][least], PT ;
    IMAD.WIDE R8, R1, R3, c[0x0][table] ;
    LDG.E R12, [R8.64] ;
@P1 IADD3 R11, R1, 0x1, RZ ;
@P1 LDG.E R10, [R8.64+0x4] ;
@P1 IADD3 R10, R10, R12, R11 ;
@P1 STG.E [R8.64+0x100], R10 ;
    EXIT ;
"""
"""Where the entry is resumed, the load before has brought the record up to date."""

PARTED = """
.arch sm_80
.kernel probe
.param table 8
.param n 4
.param least 4
    S2R R0, SR_CTAID.X ;
    S2R R1, SR_TID.X ;
    IMAD R2, R0, c[0x0][0x0], R1 ;
    MOV R3, 0x4 ;
    IMAD.WIDE R8, R2, R3, c[0x0][table] ;
    ISETP.GE.AND P0, PT, R2, c[0x0][n], PT ;
    ISETP.GE.AND P1, PT, R2, c[0x0][least], PT ;
@P0 BRA `(OTHER) ;
@P1 IADD3 R10, R2, 0x7, RZ ;
@P1 STG.E [R8.64], R10 ;
    EXIT ;
OTHER:
@P1 IADD3 R10, R2, 0x9, RZ ;
@P1 STG.E [R8.64], R10 ;
    EXIT ;
"""
"""Lanes part before their ends, and each side has guarded accesses."""

LASTS = ("@!P0 EXIT ;", "@P0 EXIT ;", "NOP ;")
THREADS = 512


def _session(source: str, engine: str, n: int, least: int) -> Any:
    program = gpudbg.load(assemble_file(source).cubin(), engine=engine, num_sms=1)
    table = program.device.buffer(np.arange(THREADS, dtype=np.uint32))
    return program.launch("probe", grid=4, block=128, args=[table, n, least])


def _outcome(source: str, engine: str, n: int, least: int) -> tuple[Any, Any]:
    session = _session(source, engine, n, least)
    stop = session.run()
    words = (getattr(stop, name, None) for name in ("kind", "code", "pc", "address", "lanes"))
    return tuple(map(str, words)), machines.grid_state(session.grid)


def _text(source: str) -> str:
    session = _session(source, "run", THREADS, 0)
    session.run()
    work, _ = session.grid.fast.engine.program._job(True, GOOD)
    made = job.emit(work)
    job.assemble(work, made)
    return made.text


@pytest.mark.parametrize("last", LASTS)
@pytest.mark.parametrize(
    ("n", "least"),
    [(THREADS, 0), (THREADS - 9, 3), (64, 0), (0, 0), (200, 190), (1 << 30, -(1 << 31))],
)
def test_engines_agree(last: str, n: int, least: int) -> None:
    """All lanes, none or some execute; the end is one of all lanes, none or some."""
    source = GUARDED.replace("{last}", last)
    one, two = (_outcome(source, engine, n, least) for engine in ("step", "run"))
    assert one[0] == two[0]
    assert machines.difference(one[1], two[1]) == ""


def test_nothing_is_masked_where_all_lanes_execute() -> None:
    """Up to the end of a warp that begins: no old value, no mask of a store, one test of addresses,
    and the last EXIT asks for no lanes that are left."""
    begin = _text(GUARDED.replace("{last}", "@!P0 EXIT ;")).split("\nends:")[0]
    begin = re.split(r"^(?:[bx]\d+|ends):$", begin.split("\nz")[1], maxsplit=1, flags=re.M)[0]
    behind = re.split(r"^every\d+:$", begin, flags=re.M)
    assert len(behind) == 2
    assert "masked" not in behind[1]
    assert "select <32 x i1>" not in behind[1]
    assert len(re.findall(r"^ask\d+:$", behind[1], re.M)) == 1
    assert "groups" not in behind[1]


def test_no_fork_in_what_is_resumed() -> None:
    """It is emitted last: nothing would be where a fork there goes."""
    _text(BEHIND)
    one, two = (_outcome(BEHIND, engine, 3, 70) for engine in ("step", "run"))
    assert one == two


@pytest.mark.parametrize(("n", "least"), [(37, 0), (37, 45), (37, 34), (0, 70), (THREADS, 70)])
def test_lanes_that_have_parted_do_not_fork(n: int, least: int) -> None:
    """What a fork leads to is for all lanes."""
    one, two = (_outcome(PARTED, engine, n, least) for engine in ("step", "run"))
    assert one[0] == two[0]
    assert machines.difference(one[1], two[1]) == ""


BYTES = """
.arch sm_80
.kernel probe
.param table 8
.param first 4
.param spare 4
    S2R R0, SR_CTAID.X ;
    S2R R1, SR_TID.X ;
    IMAD R2, R0, c[0x0][0x0], R1 ;
    IADD3 R4, R2, c[0x0][first], RZ ;
    IADD3 R8, P0, R4, c[0x0][table], RZ ;
    {high}
    LDG.E.U8 R10, [R8.64+0x1] ;
    LEA R12, P0, R4, c[0x0][table], 0x2 ;
    {higher}
    LDG.E R11, [R12.64] ;
    EXIT ;
"""
SIGNED = (
    "LEA.HI.X.SX32 R9, R4, c[0x0][table+4], 0x1, P0 ;",
    "LEA.HI.X.SX32 R13, R4, c[0x0][table+4], 0x2, P0 ;",
)
ZEROS = (
    "IADD3.X R9, RZ, c[0x0][table+4], RZ, P0, !PT ;",
    "LEA.HI.X R13, R4, c[0x0][table+4], RZ, 0x2, P0 ;",
)


@pytest.mark.parametrize("form", [SIGNED, ZEROS], ids=["signed", "zeros"])
def test_high_words_of_an_index_have_one_test(form: tuple[str, str]) -> None:
    """Words that LEA.HI makes are those of an index, extended with its sign or with zeros."""
    source = BYTES.replace("{high}", form[0]).replace("{higher}", form[1])
    begin = re.split(r"^(?:[bx]\d+|ends):$", _text(source).split("\nz")[1], maxsplit=1, flags=re.M)[
        0
    ]
    assert len(re.findall(r"^ask\d+:$", begin, re.M)) == 2
    assert "i64>" not in begin
    for first in (0, -1, -200, 1 << 30, -(1 << 31)):
        one, two = (_outcome(source, engine, first & 0xFFFF_FFFF, 0) for engine in ("step", "run"))
        assert one[0] == two[0]
        assert machines.difference(one[1], two[1]) == ""
