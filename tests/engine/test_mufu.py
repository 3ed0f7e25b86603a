"""MUFU of compiled code has the bits of the definition, next to every kind of border."""

from __future__ import annotations

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.sm.engines.llvm import build, program
from tests.engine import fuzz_mufu as campaign

SOURCE = """
.arch sm_52
.kernel apply
.param values 8
    S2R R0, SR_TID.X ;
    S2R R1, SR_CTAID.X ;
    XMAD R0, R1, 0x80, R0 ;
    MOV R3, c[0x0][values+4] ;
    ISCADD R2.CC, R0, c[0x0][values], 0x2 ;
    IADD.X R3, R3, RZ ;
    LDG.E R4, [R2] ;
    MUFU.{function} R4, R4 ;
    STG.E [R2], R4 ;
    EXIT ;
"""
SPECIAL = (
    0x00000000, 0x00000001, 0x007FFFFF, 0x00800000, 0x00800001, 0x3F7FFFFF, 0x3F800000, 0x3F800001,
    0x40000000, 0x7DFFFFFF, 0x7E000000, 0x7E7FFFFF, 0x7E800000, 0x7EFFFFFF, 0x7F000000, 0x7F7FFFFF,
    0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF,
)  # fmt: skip


HARDEST = (0x4009F038, 0x407FFFFE, 0x403A18E3, 0x3FBA2A39, 0x3FED3230)
"""Operands whose 1/sqrt lies so close to the middle of two f32 that a correction of one term gives
the wrong one."""


def _operands(function: str) -> np.ndarray:
    """Random bits, values whose results lie next to the middle of two f32, and special ones."""
    rng = np.random.default_rng(5)
    anything = rng.integers(0, 1 << 32, 1 << 15, np.uint32)
    # The middle above a random result, taken back through the function.
    middle = rng.uniform(1, 2, 1 << 15).astype(np.float32).astype(np.float64) + 2.0**-24
    inverse = {"RCP": 1 / middle, "RSQ": 1 / middle**2, "SQRT": middle**2}[function]
    near = inverse.astype(np.float32).view(np.uint32)
    special = np.array(SPECIAL, np.uint32)
    steps = np.arange(-126, 126, 2, dtype=np.int64)[:, None] << 23
    hardest = (np.array(HARDEST) + steps).astype(np.uint32).ravel()
    all_of = np.concatenate([special, special | 0x80000000, hardest, near, anything])
    return np.ascontiguousarray(all_of[: len(all_of) // 128 * 128])


def _check(function: str) -> None:
    operands = _operands(function)
    source = SOURCE.replace("{function}", function)
    loaded = gpudbg.load(assemble_file(source).cubin(), engine="run")
    values = loaded.device.buffer(operands)
    session = loaded.launch("apply", grid=len(operands) // 128, block=128, args=[values])
    assert session.run().kind == "exited"
    np.testing.assert_array_equal(values.array(), campaign.defined(function, operands))


@pytest.mark.parametrize("function", campaign.FUNCTIONS)
def test_bits(function: str) -> None:
    _check(function)


@pytest.mark.parametrize("start", [*campaign.starts(), ""])
def test_other_hosts(start: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the host begins with, the result is the same."""
    monkeypatch.setattr(build.BuildHost, "start", start)
    program._programs.clear()
    _check("RSQ")
    program._programs.clear()


def test_every_estimate_is_corrected() -> None:
    """A sample of the campaign: all results that a first step can give."""
    rng = np.random.default_rng(6)
    operands = rng.integers(127 << 23, 129 << 23, 1 << 16, np.uint32)
    operands[: len(HARDEST)] = HARDEST
    assert campaign.correction_errors(operands) == 0


@pytest.mark.parametrize("function", campaign.CALLED)
def test_library(function: str) -> None:
    """Random bits, operands of usual size, integers and special ones."""
    rng = np.random.default_rng(7)
    anything = rng.integers(0, 1 << 32, 1 << 15, np.uint32)
    usual = (rng.normal(0, 20, 1 << 15)).astype(np.float32)
    whole = np.arange(-256, 256).astype(np.float32)
    angles = (np.arange(1, 513) * (np.pi / 2)).astype(np.float32)
    special = np.array(SPECIAL, np.uint32)
    floats = np.concatenate([usual, whole, angles]).view(np.uint32)
    both = np.concatenate([anything, floats, special, special | 0x80000000])
    # Nearly all rows of the usual ones are of a kind; the others show that rows may be mixed.
    assert campaign.called_errors(function, both[: len(both) // 32 * 32]) == 0
