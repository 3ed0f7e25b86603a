"""`cvt.rs` (F2FP.RS): what is discarded plus random bits carries into the last place, or not."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from gpudbg.sm.semantics.wide.formats import FORMATS
from tests.semantics.test_variants import program

LANES = 32


def _value(word: int) -> Fraction:
    return Fraction(float(np.uint32(word).view(np.float32)))


def _code(word: int, kind: str, random: int, finite: bool) -> int:
    """A float rounded to a format in exact arithmetic; `random`: sixteenth-bit fractions."""
    form = FORMATS[kind]
    sign = (word >> 31) << form.bits - 1
    if word & 0x7FFFFFFF > 0x7F800000:
        return form.nan
    if word & 0x7FFFFFFF == 0x7F800000:
        return sign | (form.largest if finite else form.infinity)
    size = abs(_value(word))
    exponent = max((word >> 23 & 0xFF) - 127, form.lowest)
    place = Fraction(2) ** (exponent - form.mantissa)
    units = (size / place + Fraction(random, 1 << 16)) // 1
    # The codes of a binade follow one another, and the next binade follows them.
    code = int(units) + ((exponent - form.lowest) << form.mantissa)
    if code > form.largest:
        code = form.largest if finite else form.infinity
    return sign | code


def _words(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 1 << 32, LANES, dtype=np.uint32)
    near = (words & 0x807FFFFF) | (rng.integers(96, 148, LANES).astype(np.uint32) << 23)
    words = np.where(rng.random(LANES) < 0.85, near, words)
    words[:6] = 0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x477FEFFF
    return words


def _random(kind: str, word: int) -> tuple[int, int]:
    """For a and b."""
    low, high = word & 0xFFFF, word >> 16
    if kind == "F16":
        return (high & 0x1FFF) << 3, (low & 0x1FFF) << 3
    if kind == "BF16":
        return high, low
    return (high & 0xFF00, low & 0xFF00) if kind == "E2M1" else (high, high)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("kind", ["F16", "BF16", "E4M3", "E5M2", "E2M3", "E3M2", "E2M1"])
def test_random_bits_carry(kind: str, tmp_path: Path) -> None:
    small = kind not in ("F16", "BF16")
    for finite in (True,) if small else (False, True):
        name = f"F2FP{'.SATFINITE' * finite}.{kind}.F32.PACK_AB{'_MERGE_C' * small}.RS"
        session = program(tmp_path / "v.bin", "sm_100", "NOP", f"{name} R4, R5, R6, R7")
        session.step()
        rows = session.warp(0).state.R
        a, b, c = (_words(n) for n in (1, 2, 3))
        for row, words in zip((5, 6, 7), (a, b, c), strict=True):
            rows[row][:] = words
        session.step()
        bits = 4 if kind == "E2M1" else 8 if small else 16
        for lane, got in enumerate(session.warp(0).state.R[4].tolist()):
            upper, lower = (
                _code(int(word[lane]), kind, random, finite)
                for word, random in zip((a, b), _random(kind, int(c[lane])), strict=True)
            )
            want = upper << bits | lower | (int(c[lane]) << 2 * bits if small else 0)
            assert got == want & 0xFFFFFFFF, (lane, hex(got), hex(want & 0xFFFFFFFF))
