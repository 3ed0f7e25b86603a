"""Products with a sparse A in compiled code, word for word what the step engine computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from tests.engine.modern_forms import Words, agree
from tests.variants import in_turn

_BITS = {"F16": 16, "BF16": 16, "TF32": 32, "8": 8, "4": 4}


def _forms() -> list[tuple[str, str, str]]:
    """(Architecture, mnemonic with `#` for operands, type of the elements)"""
    found = []
    for arch in ("sm_80", "sm_90", "sm_120"):
        for shape, kind in (
            ("16816.F32", "F16"), ("16832.F32", "F16"), ("16832.F16", "F16"),
            ("16832.F32.BF16", "BF16"), ("1688.F32.TF32", "TF32"), ("16816.F32.TF32", "TF32"),
        ):  # fmt: skip
            found.append((arch, f"HMMA.SP.{shape} R32, R8, R16, R24, R28, #", kind))
    for shape, kind in (
        ("16832.S8.U8", "8"), ("16864.S8.S8.SAT", "8"), ("16864.U4.S4", "4"),
        ("168128.S4.S4.SAT", "4"),
    ):  # fmt: skip
        text = f"IMMA.SP.{shape} R32, R8.ROW, R16.COL, R24, R28, #"
        found.append(("sm_80", text, kind))
    sides = {"sm_89": ("R8.ROW", "R16.COL"), "sm_120": ("R8", "R16")}
    for arch, (left, right) in sides.items():
        for kinds in ("16864.F32.E4M3.E5M2", "16864.F16.E5M2.E4M3", "16832.F32.E4M3.E4M3"):
            found.append((arch, f"QMMA.SP.{kinds} R32, {left}, {right}, R24, R28, #", kinds[-4:]))
    return found


def _mnemonic(form: tuple[str, str, str]) -> str:
    return form[1].partition(".SP")[0]


def _selectors(text: str, kind: str) -> int:
    """How many parts of a quad may hold the metadata."""
    depth = int(text.split(".")[2].removeprefix("168"))
    return 16 * {32: 2, 4: 8}.get(_BITS.get(kind, 8), 4) // depth


def _metadata(random: np.random.Generator, kind: str) -> npt.NDArray[np.uint32]:
    """Eight nibbles for each lane, that name two different columns."""
    pairs = [a | b << 2 for a in range(4) for b in range(4) if a != b]
    chosen = random.choice([0x4, 0xE] if kind == "TF32" else pairs, (32, 8)).astype(np.uint32)
    found: npt.NDArray[np.uint32] = (chosen << np.arange(0, 32, 4, dtype=np.uint32)).sum(
        1, dtype=np.uint32
    )
    return found


def _data(kind: str, seed: int, halves: bool = False) -> Words:
    """Registers of a warp: elements in R8 to R23, addends from R24 on, metadata in R28."""
    random = np.random.default_rng(seed)
    held = random.integers(0, 1 << 32, (32, 32), dtype=np.uint32)
    values = random.standard_normal((32, 16, 2)) * np.exp2(random.integers(-3, 4, (32, 16, 2)))
    values[random.random(values.shape) < 0.1] = 0
    if kind == "F16":
        held[:, :16] = values.astype(np.float16).view(np.uint32)[..., 0]
    elif kind in ("BF16", "TF32"):
        single = values.astype(np.float32).view(np.uint32)
        held[:, :16] = single[..., 0]
        if kind == "BF16":
            held[:, :16] = single[..., 0] & 0xFFFF0000 | (single[..., 1] >> 16)
    elif kind not in "84":
        held[:, :16] &= 0xBBBBBBBB
    addends = random.standard_normal((32, 4))
    held[:, 16:20] = addends.astype(np.float32).view(np.uint32)
    if halves:
        held[:, 16:18] = addends.astype(np.float16).view(np.uint32)
    held[:, 20] = _metadata(random, kind)
    return held


SOME = in_turn(_forms(), _mnemonic)


@pytest.mark.parametrize(("arch", "text", "kind"), SOME)
def test_sparse_products(arch: str, text: str, kind: str, tmp_path: Path) -> None:
    """Every shape and type, metadata of any lanes of a quad; nothing is left to the step engine
    again and again."""
    for selector in range(_selectors(text, kind)):
        line = text.replace("#", f"{selector:#x}")
        exits = agree([line], _data(kind, selector, ".F16" in text), arch, tmp_path)
        assert not {name for name in exits if "MMA" in name}, (line, exits)


def test_elements_of_one_column(tmp_path: Path) -> None:
    """Metadata that names a column twice is left to the step engine."""
    held = _data("F16", 9)
    held[5, 20] = 0x55555555
    exits = agree(["HMMA.SP.16832.F32 R32, R8, R16, R24, R28, 0x0"], held, "sm_80", tmp_path)
    assert exits.get("HMMA")
