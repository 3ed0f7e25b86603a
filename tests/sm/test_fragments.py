"""Layouts of tensor-core fragments: every element has one place, and products come out right."""

from __future__ import annotations

import numpy as np
import pytest

import gpudbg
from gpudbg.isa.family import decode
from gpudbg.isa.volta.insn import WideInstruction
from gpudbg.sm import fragments
from gpudbg.sm.engines import tensor_product

INSTRUCTIONS = {
    "sm_75": (
        "HMMA.1688.F32 R8, R2, R4, R12",
        "HMMA.1688.F16 R8, R2, R4, R12",
        "IMMA.8816.S8.U8 R4, R2.ROW, R3.COL, R6",
        "IMMA.8832.S4.U4 R4, R2.ROW, R3.COL, R6",
        "BMMA.88128.XOR.POPC R4, R2.ROW, R3.COL, R6",
    ),
    "sm_80": (
        "HMMA.16816.F32.BF16 R8, R4, R2, R12",
        "HMMA.1684.F32.TF32 R8, R4, R2, R12",
        "HMMA.1688.F32.TF32 R8, R4, R2, R12",
        "DMMA.884 R8, R4, R2, R12",
        "IMMA.16832.S8.S8 R8, R4.ROW, R2.COL, R12",
        "IMMA.16864.S4.S4 R8, R4.ROW, R2.COL, R12",
        "BMMA.168256.AND.POPC R8, R4.ROW, R2.COL, R12",
    ),
    "sm_89": ("QMMA.16832.F32.E4M3.E5M2 R8, R4.ROW, R2.COL, R12",),
    "sm_90": (
        "DMMA.16x8x4 R8, R24, R40, R64",
        "DMMA.16x8x8 R8, R24, R40, R64",
        "DMMA.16x8x16 R8, R24, R40, R64",
        "HGMMA.64x128x16.F32 R24, gdesc[UR4], R24",
        "HGMMA.64x64x16.F16 R24, R4, gdesc[UR4], R24",
        "IGMMA.64x64x32.S8.S8 R24, gdesc[UR4], R24",
    ),
}
CASES = [(arch, text) for arch, texts in INSTRUCTIONS.items() for text in texts]


def instruction(text: str, arch: str) -> WideInstruction:
    found = decode(gpudbg.assemble(text, arch=arch), arch)
    assert isinstance(found, WideInstruction)
    return found


def layout_of(operand: fragments.Operand) -> fragments.Layout:
    assert operand.layout is not None
    return operand.layout


@pytest.mark.parametrize(("arch", "text"), CASES)
def test_every_element_is_held_once(arch: str, text: str) -> None:
    """32 lanes and their registers hold each element of A, B, C and D, none twice."""
    insn = instruction(text, arch)
    shape = fragments.multiplication(insn)
    assert shape is not None
    sizes = {"A": (shape.m, shape.k), "B": (shape.k, shape.n), "C": (shape.m, shape.n)}
    if insn.op in fragments.WARPGROUP:
        sizes["A"], sizes["C"] = (16, shape.k), (16, shape.n)
    sizes["D"] = sizes["C"]
    for operand in (shape.a, shape.b, shape.c, shape.d):
        layout = operand.layout
        if layout is None:
            assert insn.op in fragments.WARPGROUP
            continue
        assert (layout.rows, layout.columns) == sizes[operand.name]
        lane, register, element = layout.holders()
        places = set(zip(lane.flat, register.flat, element.flat, strict=True))
        assert len(places) == layout.row.size == layout.rows * layout.columns
        assert lane.min() == 0
        words = np.random.default_rng(5).integers(0, 1 << 32, (layout.registers, 32), np.uint32)
        assert np.array_equal(layout.words(layout.matrix(list(words))), words)


def test_places_that_ptx_documents() -> None:
    """Elements of the figures of mma.m16n8k16, and of ldmatrix."""
    a = fragments.matrix_a("F16", 16, 16)
    lane, register, element = a.holders()
    # a6 of a lane: row groupID + 8, column threadID * 2 + 8.
    assert (lane[0, 12, 11], register[0, 12, 11], element[0, 12, 11]) == (17, 3, 1)
    b, c = fragments.matrix_b("F16", 16), fragments.matrix_c("F32", 16)
    assert [int(x[0, 9, 3]) for x in b.holders()] == [12, 1, 1]
    assert [int(x[0, 9, 3]) for x in c.holders()] == [5, 3, 0]
    m = fragments.small_matrices(4, transposed=True)
    assert [int(x[2, 5, 1]) for x in m.holders()] == [6, 2, 1]


def test_doubles_of_hopper_are_chains_of_multiply_adds() -> None:
    """DMMA.16x8x16 against NumPy; sums of small integers are exact in any order."""
    shape = fragments.multiplication(instruction("DMMA.16x8x16 R8, R24, R40, R64", "sm_90"))
    assert shape is not None
    draw = np.random.default_rng(11)
    a, b, c = (draw.integers(-50, 50, size).astype(float) for size in ((16, 16), (16, 8), (16, 8)))
    left, right, held = (
        layout_of(operand).words(matrix.view(np.uint64)[None])
        for operand, matrix in ((shape.a, a), (shape.b, b), (shape.c, c))
    )
    made = tensor_product.product("DMMA", (), "sm_90", shape, (left, right, held))
    assert np.array_equal(layout_of(shape.d).matrix(made)[0].view(np.float64), a @ b + c)


@pytest.mark.parametrize("rows", ["ROW", "COL"])
@pytest.mark.parametrize("columns", ["ROW", "COL"])
def test_four_products_of_octets(rows: str, columns: str) -> None:
    """HMMA.884, step by step, against NumPy."""
    draw = np.random.default_rng(3)
    a, b = draw.integers(-9, 9, (4, 8, 4)), draw.integers(-9, 9, (4, 4, 8))
    c = draw.integers(-99, 99, (4, 8, 8)).astype(np.float32)
    found = np.zeros((4, 8, 8), np.float32)
    for step in range(4):
        text = f"HMMA.884.F32.F32.STEP{step} R8, R2.{rows}, R4.{columns}, R12"
        shape = fragments.multiplication(instruction(text, "sm_75"))
        assert shape is not None
        left, right = (
            layout_of(operand).words(matrix.astype(np.float16).view(np.uint16))
            for operand, matrix in ((shape.a, a), (shape.b, b))
        )
        addend = layout_of(shape.c).words(c.view(np.uint32))
        made = tensor_product.product("HMMA", (), "sm_75", shape, (left, right, addend))
        layout = layout_of(shape.d)
        part = layout.matrix(made).astype(np.uint32).view(np.float32)
        found[layout.tile, layout.row, layout.column] = part[layout.tile, layout.row, layout.column]
    assert np.array_equal(found, a @ b + c)
