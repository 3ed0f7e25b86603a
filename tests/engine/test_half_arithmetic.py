"""Arithmetic on f16 numbers, in compiled code, beside exact results."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import numpy.typing as npt
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.sm.engines.llvm.kernel.half_arithmetic import half_bits_to_f64
from tests.levels import has, standing_for
from tests.variants import number

U16s = npt.NDArray[np.uint16]
TEXT = """\
.kernel halves
.param 8, 8
S2R R0, SR_TID.X
S2R R1, SR_CTAID.X
SHL R1, R1, 0x6
IADD R0, R0, R1
SHL R1, R0, 0x4
SHR R9, R0, 0x1c
IADD R2.CC, R1, c[0x0][0x140]
IADD.X R3, R9, c[0x0][0x144]
LDG.E.128 R4, [R2]
HFMA2 R8, R4, R5, R6
HADD2 R9, R4, R6
HMUL2 R10, R4, R5
MOV32I R11, 0x0
SHR R13, R0, 0x1c
IADD R12.CC, R1, c[0x0][0x148]
IADD.X R13, R13, c[0x0][0x14c]
STG.E.128 [R12], R8
EXIT
"""
FLOATS = """\
.kernel floats
.param 8, 8
S2R R0, SR_TID.X
S2R R1, SR_CTAID.X
IMAD R0, R1, 0x40, R0
MOV R1, 0x10
IMAD.WIDE R2, R0, R1, c[0x0][0x160]
IMAD.WIDE R12, R0, R1, c[0x0][0x168]
LDG.E.128 R4, [R2]
HADD2.F32 R8, R4.H0_H0, R6.H1_H1
HADD2.F32 R9, -RZ, R4.H0_H0
HADD2.F32 R10, -R4.H1_H1, R6.H1_H1
HADD2.F32 R11, R5.H0_H0, 1.5, 1.5
STG.E.128 [R12], R8
EXIT
"""
SPECIAL = np.array(
    [0, 1, 0x3FF, 0x400, 0x7BFF, 0x7C00, 0x7E00, 0x7D01, 0x3C00, 0x3C01, 0x3BFF, 0x1400], np.uint16
)


def _rounded(exact: npt.NDArray[np.float64]) -> U16s:
    """f16 results; NaN is 0x7fff."""
    with np.errstate(all="ignore"):
        bits = exact.astype(np.float16).view(np.uint16).copy()
    bits[np.isnan(exact)] = 0x7FFF
    return bits


def _factors(seed: int, count: int) -> tuple[U16s, U16s, U16s]:
    """Numbers, a third of them special, and sums that cancel out or lie between two results."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.integers(0, 1 << 16, (3, count), np.uint16)
    for row in (a, b, c):
        some = rng.random(count) < 1 / 3
        row[some] = rng.choice(SPECIAL, int(some.sum())) | rng.choice([0, 0x8000], int(some.sum()))
    near = rng.random(count) < 1 / 3
    with np.errstate(all="ignore"):
        product = a.view(np.float16).astype(np.float64) * b.view(np.float16)
        beside = (-product).astype(np.float16).view(np.uint16)
    c[near] = beside[near] + rng.integers(-2, 3, int(near.sum())).astype(np.uint16)
    return a, b, c


@pytest.mark.parametrize("arch", ["sm_53", "sm_60"])
def test_results_are_rounded_once(arch: str) -> None:
    _check_roundings(arch)


def test_results_are_rounded_once_without_directed_products() -> None:
    """A host without AVX-512 finds what a sum has lost by sums."""
    if not has("x86-64-v3"):
        pytest.skip("the host has less")
    with standing_for("x86-64-v3"):
        _check_roundings("sm_53")


def _check_roundings(arch: str) -> None:
    """Compare results with exact ones."""
    count = number(1 << 14, 1 << 20)
    a, b, c = _factors(1, 2 * count)
    words = np.zeros((count, 4), np.uint32)
    for n, row in enumerate((a, b, c)):
        words[:, n] = row.view(np.uint32)
    program = gpudbg.load(assemble_file(TEXT, arch=arch).cubin(), engine="run")
    given, out = program.device.buffer(words), program.device.buffer(np.zeros_like(words))
    session = program.launch(grid=count // 64, block=64, args=[given, out])
    assert session.run().kind == "exited"
    with np.errstate(all="ignore"):
        x, y, z = (row.view(np.float16).astype(np.float64) for row in (a, b, c))
        exact = x * y + z, x + z, x * y
    found = out.array()
    for n, result in enumerate(exact):
        column = np.ascontiguousarray(found[:, n]).view(np.uint16)
        assert np.array_equal(column, _rounded(result))


@pytest.mark.parametrize("level", ["", "x86-64-v3", "x86-64-v2"])
def test_sums_as_floats_are_rounded_once(level: str) -> None:
    if level and not has(level):
        pytest.skip("the host has less")
    count = 1 << 12
    a, b, c = _factors(2, 2 * count)
    words = np.zeros((count, 4), np.uint32)
    for n, row in enumerate((a, b, c)):
        words[:, n] = row.view(np.uint32)
    with standing_for(level) if level else nullcontext():
        program = gpudbg.load(assemble_file(FLOATS, arch="sm_80").cubin(), engine="run")
        given, out = program.device.buffer(words), program.device.buffer(np.zeros_like(words))
        session = program.launch(grid=count // 64, block=64, args=[given, out])
        assert session.run().kind == "exited"
    with np.errstate(all="ignore"):
        x, y, z = (row.view(np.float16).astype(np.float64) for row in (a, b, c))
        exact = x[::2] + z[1::2], x[::2], z[1::2] - x[1::2], y[::2] + 1.5
        wanted = [row.astype(np.float32) for row in exact]
    for found, result in zip(out.array().T, wanted, strict=True):
        bits = np.where(np.isnan(result), np.uint32(0x7FFFFFFF), result.view(np.uint32))
        assert np.array_equal(found, bits)


def test_numbers_that_are_known() -> None:
    for bits in range(0, 1 << 16, 7):
        number_ = np.array([bits], np.uint16).view(np.float16)
        known = half_bits_to_f64(bits)
        assert (known is None) == bool(np.isnan(number_[0]))
        if known is not None:
            assert known == int(number_.astype(np.float64).view(np.uint64)[0])
