"""`.FTZ` products next to the smallest normal f32: flushed where they are tiny after rounding."""

from __future__ import annotations

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.sm.engines import numeric

SOURCE = """
.arch sm_50
.kernel apply
.param values 8
    S2R R0, SR_TID.X ;
    S2R R1, SR_CTAID.X ;
    XMAD R0, R1, 0x80, R0 ;
    MOV R3, c[0x0][values+4] ;
    ISCADD R2.CC, R0, c[0x0][values], 0x4 ;
    IADD.X R3, R3, RZ ;
    LDG.E.128 R4, [R2] ;
    {instruction} ;
    STG.E [R2+0xc], R7 ;
    EXIT ;
"""
BORDER = 2.0**-126


def _operands() -> np.ndarray:
    """Rows of a, b, c with a * b or a * b + c within some last places of the border, and others:
    large ones whose products cancel, zeros, infinities, NaN."""
    rng = np.random.default_rng(8)
    count = 1 << 12
    a = rng.uniform(1, 2, count) * 2.0 ** rng.integers(-60, 60, count)
    b = BORDER * (1 + rng.integers(-16, 16, count) * 2.0**-25) / a
    c = np.where(rng.integers(0, 2, count), 0, BORDER * rng.choice([-1, 1, 0.5, 2], count))
    rows = np.stack([a, b, c, c], 1).astype(np.float32)
    rows[::2, 1] *= -1
    edge = np.array([0, -0.0, BORDER, 2**64, 2.0**127, -(2.0**100), np.inf, np.nan], np.float32)
    mixed = rng.integers(0, 8, (512, 4))
    cancelling = np.array([2.0**70, 2.0**-30, -(2.0**40), 0], np.float32)
    more = np.concatenate([edge[mixed], np.tile(cancelling, (128, 1))])
    return np.ascontiguousarray(np.concatenate([rows, more]).view(np.uint32))


@pytest.mark.parametrize("name", ["FMUL", "FFMA"])
def test_border(name: str) -> None:
    operands = _operands()
    third = ", R6" if name == "FFMA" else ""
    source = SOURCE.replace("{instruction}", f"{name}.FTZ R7, R4, R5{third}")
    program = gpudbg.load(assemble_file(source).cubin(), engine="run")
    values = program.device.buffer(operands)
    session = program.launch("apply", grid=len(operands) // 128, block=128, args=[values])
    assert session.run().kind == "exited"
    a, b, c = (numeric.ftz(operands[:, n].copy()) for n in range(3))
    with np.errstate(all="ignore"):
        expected = numeric.ffma(a, b, c, "RN", True) if third else numeric.fmul(a, b, "RN", True)
    np.testing.assert_array_equal(values.array().reshape(-1, 4)[:, 3], expected)
    size = expected & 0x7FFFFFFF
    assert 100 < (size == 0x00800000).sum()
    assert 100 < (size == 0).sum()


SMALL = "FSETP.GEU.AND P0, PT, |R4|, 1.1754943508222875e-38, PT"
SCALED = (
    (SMALL, "@!P0 FMUL R4, R4, 16777216"),
    (SMALL, "@!P0 FMUL R4, R4, -8388608"),
    ("FSETP.LT.AND P0, PT, |R4|, 1.1754943508222875e-38, PT", "@P0 FMUL R4, R4, 16777216"),
    # In these, subnormals are left.
    (SMALL, "@!P0 FMUL R4, R4, 4194304"),
    (SMALL, "@P0 FMUL R4, R4, 16777216"),
    (SMALL, "MOV R4, R5", "@!P0 FMUL R4, R4, 16777216"),
    (SMALL, "@!P0 FMUL R4, R5, 16777216"),
    (SMALL, "@!P0 FMUL R4, R4, 16777216", "MOV R4, R5"),
    ("FSETP.GEU.AND P0, PT, R4, 1.1754943508222875e-38, PT", "@!P0 FMUL R4, R4, 16777216"),
    ("FSETP.GEU.AND P0, PT, |R4|, 5.877471754111438e-39, PT", "@!P0 FMUL R4, R4, 16777216"),
    ("FSETP.GEU.AND P0, PT, |R5|, 1.1754943508222875e-38, PT", "@!P0 FMUL R4, R4, 16777216"),
    ("FSETP.LEU.AND P0, PT, |R4|, 1.1754943508222875e-38, PT", "@!P0 FMUL R4, R4, 16777216"),
)
"""What a compiler does so that MUFU finds no subnormals, and what is like it."""


@pytest.mark.in_turn(2, each="function")
@pytest.mark.parametrize("lines", SCALED)
@pytest.mark.parametrize("function", ["RSQ", "RCP"])
def test_subnormals_scaled_before_mufu(lines: tuple[str, ...], function: str) -> None:
    """The run engine leaves out the flush where it finds nothing, and only there."""
    rng = np.random.default_rng(9)
    operands = rng.integers(0, 1 << 25, (512, 4)).astype(np.uint32)
    operands[:128] >>= rng.integers(0, 25, (128, 4)).astype(np.uint32)
    operands[128:192] = rng.choice(
        np.array([0, 0x80, 0x800000, 0x7F800000, 0x7FC00000], np.uint32), (64, 4)
    )
    operands[rng.integers(0, 4, operands.shape) == 0] |= 0x80000000
    source = SOURCE.replace("{instruction}", " ;\n".join([*lines, f"MUFU.{function} R7, R4"]))
    results = []
    for engine in ("step", "run"):
        program = gpudbg.load(assemble_file(source).cubin(), engine=engine)
        values = program.device.buffer(operands)
        session = program.launch("apply", grid=len(operands) // 128, block=128, args=[values])
        assert session.run().kind == "exited"
        results.append(values.array())
    np.testing.assert_array_equal(results[0], results[1])
