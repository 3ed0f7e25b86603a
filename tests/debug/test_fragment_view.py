"""Operands of tensor-core instructions as matrices: what they hold, and what comes of them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.session import DebugSession
from gpudbg.debug.values.fragment_view import FragmentView, decoded
from gpudbg.sm import fragments
from tests.debug.modern import launched
from tests.variants import rows


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
        "E2M1": (0x1C, 6.0),
        "F4": (0x7, 6.0),
        "E8": (0x80, 2.0),
        "UE4M3": (0xC0, 2.0),
        "S4": (0xF, -1),
        "U4": (0xF, 15),
        "S8": (0x80, -128),
        "F64": (0x4000000000000000, 2.0),
    }
    for kind, (bits, value) in cases.items():
        assert decoded(np.array([bits], np.uint64), kind)[0] == value, kind
    assert np.isnan(decoded(np.array([0x7F], np.uint64), "E4M3")[0])
    assert np.isinf(decoded(np.array([0x7C], np.uint64), "E5M2")[0])


PRODUCTS = [
    ("sm_75", "HMMA.1688.F32 R40, R8, R16, R24"),
    ("sm_75", "HMMA.884.F32.F32.STEP1 R42, R8.ROW, R16.COL, R26"),
    ("sm_75", "IMMA.8816.S8.U8 R40, R8.ROW, R16.COL, R24"),
    ("sm_80", "HMMA.16816.F32.BF16 R40, R8, R16, R24"),
    ("sm_80", "HMMA.SP.16832.F32 R40, R8, R16, R24, R32, 0x1"),
    ("sm_80", "HMMA.SP.1688.F32.TF32 R40, R8, R16, R24, R32, 0x1"),
    ("sm_80", "IMMA.SP.16864.S8.S8 R40, R8.ROW, R16.COL, R24, R32, 0x0"),
    ("sm_80", "IMMA.SP.168128.S4.S4 R40, R8.ROW, R16.COL, R24, R32, 0x0"),
    ("sm_80", "IMMA.16864.S4.U4 R40, R8.ROW, R16.COL, R24"),
    ("sm_80", "DMMA.884 R40, R8, R16, R24"),
    ("sm_80", "BMMA.168256.AND.POPC R40, R8.ROW, R16.COL, R24"),
    ("sm_89", "QMMA.16832.F32.E4M3.E5M2 R40, R8.ROW, R16.COL, R24"),
    ("sm_89", "QMMA.SP.16864.F32.E4M3.E4M3 R40, R8.ROW, R16.COL, R24, R32, 0x0"),
    ("sm_90", "DMMA.16x8x16 R64, R8, R24, R32"),
    ("sm_120", "QMMA.16832.F32.E3M2.E2M1 R40, R8, R16, R24"),
    ("sm_120", "QMMA.SF.16832.F32.E4M3.E4M3.E8 R40, R8, R16, R24, R32, R33, UR4"),
    ("sm_120", "OMMA.SF.16864.F32.E2M1.E2M1.UE4M3.4X R40, R8, R16, R24, R32, R33, UR4"),
]  # fmt: skip
"""(architecture, product): every family, sparse and scaled forms."""


@rows(("arch", "text"), PRODUCTS)
def test_every_form_s_result_is_that_of_its_matrices(arch: str, text: str) -> None:
    """D is A * B + C as they are shown, A's stored elements where E says, factors as SA and SB."""
    program = gpudbg.assemble_program(f".arch {arch}\n.kernel k\nMOV R100, RZ\n{text}\nEXIT\n")
    session = program.launch("k", args=[])
    session.step()
    random = np.random.default_rng(list(text.encode()))
    _fill(session, random)
    before = session.fragments()
    assert before.here
    session.step()
    after = session.fragments(before.offset)
    # A step of HMMA.884 writes a part of its matrices.
    held = after.D.lanes >= 0
    assert np.array_equal(after.D.values[held], _product(before)[held])
    json.dumps(session.command("info fragment").data)
    for show in ("raw", "lanes"):
        assert session.command(f"info fragment {show} *0x{before.offset:x}").lines


def _fill(session: DebugSession, random: np.random.Generator) -> None:
    """Small numbers in A, B and C, ascending pairs of columns as metadata, factors 1 to 4."""
    view = session.fragments()
    insn, text = session.symbols.call_frames.instruction(view.pc), view.text
    product = fragments.multiplication(insn)  # type: ignore[arg-type]
    assert product is not None
    registers = session.focused().R
    for operand in (product.a, product.b, product.c):
        assert operand.layout is not None
        layout = operand.layout
        raws = _raws(layout.kind)
        shape = layout.tiles, layout.rows, layout.columns
        for n, word in enumerate(layout.words(random.choice(raws, shape))):
            registers[operand.register + n][:] = word
    if product.sparse:
        nibbles = np.array([4, 8, 12, 9, 13, 14] if product.kinds[0] != "TF32" else [4, 14])
        chosen = random.choice(nibbles, (8, 32)).astype(np.uint32)
        places = np.arange(0, 32, 4, dtype=np.uint32)[:, None]
        registers[32][:] = np.bitwise_or.reduce(chosen << places)
    elif ".SF." in text:
        kind = (0x38, 0x40) if "UE4M3" in text else (127, 128)
        for register in (32, 33):
            words = random.choice(kind, (32, 4)).astype(np.uint8).view(np.uint32)
            registers[register][:] = words[:, 0]


def _raws(kind: str) -> Any:
    """Raw elements of a few small numbers, whose products are exact everywhere."""
    if kind in ("F16", "BF16", "F32", "TF32", "F64"):
        values = np.arange(-3.0, 4.0)
        if kind == "BF16":
            return values.astype(np.float32).view(np.uint32) >> 16
        size = {"F16": "2", "F64": "8"}.get(kind, "4")
        return values.astype(f"f{size}").view(f"u{size}").astype(np.uint64)
    every = np.arange(1 << min(fragments.bits_of(kind), 8), dtype=np.uint64)
    if kind == "E2M1":
        every = every[:64:4]
    values = decoded(every, kind).astype(np.float64)
    return every[np.isin(values, np.arange(-4, 4.5, 0.5))]


def _product(view: FragmentView) -> Any:
    a, b, c = (matrix.values.astype(np.float64) for matrix in (view.A, view.B, view.C))
    if any(matrix.name == "E" for matrix in view.matrices):
        dense = np.zeros((1, a.shape[1], b.shape[1]))
        np.put_along_axis(dense[0], view.E.values[0], a[0], axis=1)
        a = dense
    if any(matrix.name == "SA" for matrix in view.matrices):
        each = a.shape[2] // view.SA.values.shape[2]
        a = a * np.repeat(view.SA.values, each, axis=2)
        b = b * np.repeat(view.SB.values, each, axis=1)
    return a @ b + c
