"""Operands of tensor-core instructions as matrices: what they hold, and what comes of them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.session import DebugSession
from gpudbg.debug.values.fragment_view import decoded
from tests.debug.modern import launched


def at_instruction(name: str, arch: str, words: str) -> DebugSession:
    """A session whose focused warp stands at the first instruction that has some words."""
    session = launched(name, arch)
    row = next(r for r in session.symbols.listing if words in r.text)
    session.command(f"break *0x{row.offset:x}")
    session.cont()
    session.command("delete")
    return session


@pytest.mark.parametrize(
    ("arch", "name", "words"),
    [
        ("sm_75", "wmma_gemm", "HMMA.1688.F32"),
        ("sm_80", "mma_f16", "HMMA.16816.F32"),
        ("sm_90", "mma_f16", "HMMA.16816.F32"),
    ],
)
def test_the_result_is_the_product_of_the_operands(arch: str, name: str, words: str) -> None:
    """A, B and C before the instruction, D after it; the kernels' inputs are small integers."""
    session = at_instruction(name, arch, words)
    before = session.fragments()
    assert before.here
    assert words in before.text
    a, b, c = (matrix.values[0] for matrix in (before.A, before.B, before.C))
    assert a.any()
    assert b.any()
    session.step()
    after = session.fragments(before.offset)
    assert not after.here
    assert np.array_equal(after.D.values[0], a @ b + c)


def test_lanes_hold_what_is_said() -> None:
    """A place's lane, register and element lead to its value."""
    session = at_instruction("mma_f16", "sm_80", "HMMA.16816.F32")
    view = session.fragments()
    for matrix in (view.A, view.B, view.C):
        for row, column in ((0, 0), (3, 5), (7, 7), (matrix.shape[1] - 1, matrix.shape[2] - 1)):
            lane, slot, element = (
                int(part[0, row, column]) for part in (matrix.lanes, matrix.slots, matrix.elements)
            )
            word = session.warp().R[matrix.registers[slot]][lane]
            size = 16 if matrix.kind == "F16" else 32
            raw = np.array([int(word) >> size * element & ((1 << size) - 1)], np.uint64)
            assert decoded(raw, matrix.kind)[0] == matrix.values[0, row, column]


def test_info_fragment_marks_the_focused_lane() -> None:
    session = at_instruction("mma_f16", "sm_80", "HMMA.16816.F32")
    session.command("lane 5")
    text = session.command("info fragment A").text.split("\n")
    # Lane 5: rows 1 and 9, columns 2, 3, 10 and 11.
    marked = [n for n, line in enumerate(text) if "[" in line]
    assert len(marked) == 2
    assert all(text[n].count("[") == 4 for n in marked)
    assert text[marked[0]].split()[0] == "1"
    holders = session.command("info fragment B lanes").text
    assert "[5:R" in holders
    data = session.command("info fragment").data
    json.dumps(data)
    assert [m["name"] for m in data["matrices"]] == ["A", "B", "C", "D"]
    assert data["shape"] == "m16n8k16"
    with pytest.raises(gpudbg.CommandError, match="has no M"):
        session.command("info fragment M")


def test_matrices_that_ldmatrix_loads() -> None:
    """Four 8x8 matrices, and A of the product that reads them."""
    session = at_instruction("mma_f16", "sm_80", "LDSM.16.M88.4")
    place = session.fragments().offset
    session.step()
    moved = session.fragments(place).M
    quarters = moved.values
    product = next(r for r in session.symbols.listing if "HMMA.16816.F32" in r.text)
    a = session.fragments(product.offset).A
    if a.registers == moved.registers:
        top = np.hstack([quarters[0], quarters[2]])
        whole = np.vstack([top, np.hstack([quarters[1], quarters[3]])])
        assert np.array_equal(a.values[0], whole)
    assert quarters.shape == (4, 8, 8)


def test_what_has_no_tensor_cores_is_refused_by_name() -> None:
    for arch, name in (("sm_50", "divergence"), ("sm_80", "divergence")):
        with pytest.raises(gpudbg.CommandError, match="no tensor-core instruction near"):
            launched(name, arch).command("info fragment")


def test_every_element_type_reads_as_its_numbers() -> None:
    """Values of the formats' own definitions."""
    cases = {
        "F16": (0x3C00, 1.0),
        "BF16": (0xC040, -3.0),
        "TF32": (0x40490000, 3.140625),
        "E4M3": (0x7E, 448.0),
        "E5M2": (0x7B, 57344.0),
        "E3M2": (0x1F, 28.0),
        "E2M3": (0x1F, 7.5),
        "E2M1": (0x7, 6.0),
        "S4": (0xF, -1),
        "U4": (0xF, 15),
        "S8": (0x80, -128),
        "F64": (0x4000000000000000, 2.0),
    }
    for kind, (bits, value) in cases.items():
        assert decoded(np.array([bits], np.uint64), kind)[0] == value, kind
    assert np.isnan(decoded(np.array([0x7F], np.uint64), "E4M3")[0])
    assert np.isinf(decoded(np.array([0x7C], np.uint64), "E5M2")[0])
