"""Performance figures say how the lanes of an address lie, and why lanes part."""

from __future__ import annotations

import numpy as np

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.sanitizer.outputs.text import _performance

SOURCE = """
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
    SYNC ;
THERE:
    STG.E [R4], R2 ;
    SYNC ;
MEET:
    EXIT ;
"""


def test_why_a_site_costs_more() -> None:
    program = gpudbg.load(assemble_file(SOURCE, path="p.sass").cubin())
    out = program.device.buffer(np.zeros(32 * 64, np.uint32))
    report = gpudbg.check(program, "probe", grid=1, block=32, args=[out], performance=True)
    reasons = {site.kind: site.reason for site in report.performance}
    assert reasons["uncoalesced"] == "R4 is base + 256*lane"
    assert reasons["divergence"].startswith("P0 varies: ISETP.GT.AND P0, PT, R0, 0x3, PT")
    assert reasons["divergence"].endswith(", R0 is lane")
    assert report.to_json()["performance"][0]["reason"]
    assert "    R4 is base + 256*lane" in _performance(report.performance)


APART = """
.arch sm_80
.kernel probe
.param out 8
    S2R R0, SR_TID.X ;
    ISETP.GT.AND P0, PT, R0, 0x3, PT ;
    MOV R6, c[0x0][out] ;
    MOV R7, c[0x0][out+4] ;
@P0 BRA `(THERE) ;
    STG.E [R6.64], R0 ;
    BAR.SYNC.DEFER_BLOCKING 0x0 ;
THERE:
    LDG.E R4, [R6.64+0x40] ;
    EXIT ;
"""
BECAUSE = "the BRA at 0x40: P0 varies: ISETP.GT.AND P0, PT, R0, 0x3, PT at 0x10, R0 is lane"


def test_findings_say_why_lanes_part() -> None:
    program = gpudbg.load(assemble_file(APART, path="p.sass").cubin())
    out = program.device.buffer(np.zeros(32, np.uint32))
    report = gpudbg.check(program, "probe", grid=1, block=32, args=[out])
    found = {finding.cause: finding for finding in report.findings}
    assert found["divergent_barrier"].reason == f"lanes part at {BECAUSE}"
    assert found["divergent_barrier"].to_json()["reason"] == f"lanes part at {BECAUSE}"
    race = found["write_write"]
    assert race.reason == f"at 0x50 R6 is uniform, lanes part at {BECAUSE}"
    assert f"  {race.reason}" in race.explain()


def test_races_of_warps_are_no_matter_of_lanes() -> None:
    source = APART.replace("@P0 BRA `(THERE) ;", "")
    program = gpudbg.load(assemble_file(source, path="p.sass").cubin())
    out = program.device.buffer(np.zeros(32, np.uint32))
    report = gpudbg.check(program, "probe", grid=1, block=64, args=[out])
    reasons = {finding.relation: finding.reason for finding in report.findings}
    assert reasons == {"lanes": "at 0x40 R6 is uniform", "warps": ""}
