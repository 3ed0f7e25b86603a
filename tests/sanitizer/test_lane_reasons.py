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
