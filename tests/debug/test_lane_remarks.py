"""`disassemble /u`: how lanes lie and why they part, beside each instruction."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.errors import CommandError

STEPS = Path(__file__).parents[2] / "sessions/first_steps/first_steps.cubin"
EARLY = """
.arch sm_50
.kernel probe
.param out 8
    S2R R0, SR_TID.X ;
    SHL R2, R0, 0x8 ;
    IADD R4.CC, R2, c[0x0][out] ;
    IADD.X R5, RZ, c[0x0][out+4] ;
    ISETP.GT.AND P0, PT, R0, 0x3, PT ;
    SSY `(MEET) ;
@P0 BRA `(THERE) ;
    BAR.SYNC 0x0 ;
    SYNC ;
THERE:
    STG.E [R4], R2 ;
    SYNC ;
MEET:
@P0 BAR.SYNC 0x0 ;
    BAR.SYNC 0x0 ;
    EXIT ;
"""
LATE = """
.arch sm_80
.kernel probe
.param out 8
    S2R R0, SR_TID.X ;
    ISETP.GT.AND P0, PT, R0, 0x3, PT ;
    MOV R3, 0x2 ;
    MOV R6, c[0x0][out] ;
    MOV R7, c[0x0][out+4] ;
LOOP:
    IADD3 R3, R3, -0x1, RZ ;
    ISETP.NE.AND P1, PT, R3, RZ, PT ;
@P1 BRA `(LOOP) ;
@P0 BRA `(THERE) ;
    BAR.SYNC.DEFER_BLOCKING 0x0 ;
THERE:
    LDG.E R4, [R6.64] ;
    ISETP.NE.AND P2, PT, R4, RZ, PT ;
    WARPSYNC 0xffffffff ;
@P2 EXIT ;
    BAR.SYNC.DEFER_BLOCKING 0x0 ;
@P0 BRA `(DONE) ;
    MOV R8, 0x1 ;
DONE:
    BAR.SYNC.DEFER_BLOCKING 0x0 ;
    EXIT ;
"""


def remarks(source: str) -> dict[str, list[str]]:
    """Instruction -> what is said of it, in order."""
    program = gpudbg.load(assemble_file(source, path="p.sass").cubin())
    out = program.device.buffer(np.zeros(32 * 64, np.uint32))
    with program.launch("probe", grid=1, block=32, args=[out]) as session:
        answer = session.command("disassemble/u probe")
        found: dict[str, list[str]] = {}
        for row, line in zip(answer.data, answer.text.splitlines(), strict=True):
            found.setdefault(row["text"], []).append(row["remark"])
            end = row["remark"] and f"  # {row['remark']}"
            assert line.endswith(end or row["text"])
        return found


COMPARED = "P0 varies: ISETP.GT.AND P0, PT, R0, 0x3, PT at {}, R0 is lane"


def test_remarks_of_early_code() -> None:
    found, why = remarks(EARLY), COMPARED.format("0x30")
    assert found["SHL R2, R0, 0x8"] == ["R2 256*lane"]
    assert found["ISETP.GT.AND P0, PT, R0, 0x3, PT"] == ["P0 varying"]
    assert found["STG.E [R4], R2"] == ["address R4 is base + 256*lane"]
    assert found["@P0 BRA 0x68"] == [f"lanes may part: {why}"]
    inside, behind = found["BAR.SYNC 0x0"]
    assert inside == f"lanes part at the BRA at 0x48: {why}"
    assert behind == "all lanes come"
    assert found["@P0 BAR.SYNC 0x0"] == [f"lanes part at its guard: {why}"]
    assert found["SSY 0x78"] == [""]


def test_remarks_of_late_code() -> None:
    found, why = remarks(LATE), COMPARED.format("0x10")
    loaded = (
        "P2 varies: ISETP.NE.AND P2, PT, R4, RZ, PT at 0xb0, R4 varies: LDG.E R4, [R6.64] at 0xa0"
    )
    assert found["@P1 BRA 0x50"] == ["all lanes go one way"]
    # What wrote the predicate lies before the loop.
    assert found["@P0 BRA 0xa0"] == [f"lanes may part: {why}"]
    assert found["LDG.E R4, [R6.64]"] == ["R4 varying; address R6 is uniform"]
    assert found["WARPSYNC 0xffffffff"] == ["all lanes come"]
    assert found["@P2 EXIT"] == [f"lanes may part: {loaded}"]
    first, *others = found["BAR.SYNC.DEFER_BLOCKING 0x0"]
    assert first == f"lanes part at the BRA at 0x80: {why}"
    # They meet behind the branch, not behind the EXIT.
    assert others == [f"lanes part at the EXIT at 0xd0: {loaded}"] * 2


def test_other_letters_are_refused() -> None:
    with gpudbg.open(str(STEPS)) as session:
        with pytest.raises(CommandError, match="/u lanes"):
            session.command("disassemble/z")
        plain = session.command("disassemble").text
        assert "#" not in plain
        assert len(session.command("disassemble/u").text.splitlines()) == len(plain.splitlines())


WITHOUT_TOKEN = """
.arch sm_50
.kernel probe
.param out 8
    S2R R0, SR_TID.X ;
    ISETP.GT.AND P0, PT, R0, 0x3, PT ;
@P0 BRA `(THERE) ;
    MOV32I R1, 0x1 ;
THERE:
    BAR.SYNC 0x0 ;
    EXIT ;
"""


def test_early_lanes_meet_only_where_a_token_leads() -> None:
    why = COMPARED.format("0x10")
    found = remarks(WITHOUT_TOKEN)
    assert found["BAR.SYNC 0x0"] == [f"lanes part at the BRA at 0x18: {why}"]
    late = remarks(WITHOUT_TOKEN.replace("sm_50", "sm_80").replace("MOV32I", "MOV"))
    assert late["BAR.SYNC 0x0"] == ["all lanes come"]
