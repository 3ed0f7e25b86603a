"""Line tables: ranges, inlined calls, breakpoint places, PTX lines, damage."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudbg.errors import LoadError
from gpudbg.formats.cubin import read_cubin
from gpudbg.formats.lines import DEBUG_LINE, PTX_LINE, LineRow, LineTable, ptx_text, read_lines
from gpudbg.formats.program import Program
from tests.kernel_cases import DATA, KERNELS

HERE = Path(__file__).resolve().parent / "data"


@pytest.fixture(scope="module")
def inlined() -> Program:
    """Two kernels with calls inlined two deep (data/inlined.cu)."""
    return read_cubin(HERE / "inlined.cubin")


def row_at(table: LineTable, section: str, offset: int) -> LineRow:
    """The row of an instruction, which has one."""
    row = table.lookup(section, offset)
    assert row is not None
    return row


def test_rows_cover_every_instruction_once() -> None:
    for path in (KERNELS / "cubin/sm_50").glob("*.cubin"):
        program = read_cubin(path)
        table = read_lines(program)
        if DEBUG_LINE not in program.sections:
            assert table.rows == ()
            continue
        for kernel in program.kernels.values():
            rows = [r for r in table.rows if r.section == kernel.section and r.end > r.start]
            assert rows[0].start == 0
            assert rows[-1].end == len(kernel.code)
            assert all(a.end == b.start for a, b in pairwise(rows))
            for offset in range(0, len(kernel.code), 8):
                row = row_at(table, kernel.section, offset)
                assert row.start <= offset < row.end
            assert table.lookup(kernel.section, len(kernel.code)) is None


def test_lines_of_saxpy() -> None:
    table = read_lines(read_cubin(KERNELS / "cubin/sm_50/saxpy.cubin"))
    assert table.files == ("/saxpy.cu",)
    assert row_at(table, ".text.daxpy", 0x8).line == 8
    assert row_at(table, ".text.daxpy", 0x68).line == 11
    assert row_at(table, ".text.saxpy", 0x68).line == 5
    assert table.lookup(".text.other", 0) is None
    assert table.addresses("saxpy.cu", 11) == ((".text.daxpy", 0x68), (".text.daxpy", 0xF0))
    assert table.addresses("axpy.cu", 11) == ()
    assert table.breakpoints("saxpy.cu", 11) == ((".text.daxpy", 0x68),)
    assert table.breakpoints("saxpy.cu", 7) == table.breakpoints("/saxpy.cu", 8)
    assert table.breakpoints("saxpy.cu", 500) == ()
    assert table.lines_with_code("saxpy.cu") == (2, 4, 5, 6, 8, 10, 11, 12)


def test_inlined_calls(inlined: Program) -> None:
    table = read_lines(inlined)
    row = row_at(table, ".text.inl", 0xB8)
    assert (row.line, [(c.line, c.function) for c in row.inlined]) == (
        2,
        [(5, "_Z4leaff"), (11, "_Z3midff")],
    )
    row = row_at(table, ".text.inl", 0xD0)
    assert (row.line, [(c.line, c.function) for c in row.inlined]) == (2, [(12, "_Z4leaff")])
    assert row_at(table, ".text.inl", 0xD8).inlined == ()


def test_breakpoints_in_every_inlined_copy(inlined: Program) -> None:
    table = read_lines(inlined)
    assert table.breakpoints("inlined.cu", 2) == (
        (".text.inl", 0xB8),
        (".text.inl", 0xC8),
        (".text.inl", 0xD0),
        (".text.inl2", 0x78),
        (".text.inl2", 0x88),
        (".text.inl2", 0x90),
        (".text.inl2", 0x108),
    )
    # Line 5 has no instruction of its own left: it stands where its inlined callee starts.
    assert (".text.inl", 0xB8) in table.breakpoints("inlined.cu", 5)
    # A device function in the kernel's section is a place of its own.
    assert table.breakpoints("inlined.cu", 15) == ((".text.inl2", 0xF0),)


def test_functions_in_their_own_sections() -> None:
    table = read_lines(read_cubin(KERNELS / "cubin/sm_50-G/recursion.cubin"))
    assert {r.section for r in table.rows} >= {".text.recursion", ".text._Z3fibi", ".text._Z3ackjj"}


def test_ptx_lines(inlined: Program) -> None:
    table = read_lines(inlined, PTX_LINE)
    text = ptx_text(inlined)
    row = row_at(table, ".text.inl", 0x28)
    assert table.files == ("<ptx>",)
    assert text[row.line - 1].startswith("mad.lo.s32")


def test_damaged_table_is_a_load_error(inlined: Program) -> None:
    sections = dict(inlined.sections)
    old = sections[DEBUG_LINE]
    sections[DEBUG_LINE] = replace(old, data=old.data[:30])
    with pytest.raises(LoadError, match=r"at offset 0x\w+: damaged line table \.debug_line"):
        read_lines(replace(inlined, sections=sections))


@settings(max_examples=300)
@given(st.data())
def test_mutated_tables_end_quickly(data: st.DataObject) -> None:
    program = read_cubin(HERE / "inlined.cubin")
    sections = dict(program.sections)
    old = sections[DEBUG_LINE]
    body = bytearray(old.data)
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    sections[DEBUG_LINE] = replace(old, data=bytes(body))
    with suppress(LoadError):
        table = read_lines(replace(program, sections=sections))
        assert len(table.rows) <= len(body)
        for row in table.rows:
            assert 0 <= row.start <= row.end <= sections[row.section].size
            assert all(0 <= c.file < len(table.files) or c.file == -1 for c in row.inlined)


def test_benchmarks_have_tables_or_none() -> None:
    for path in DATA.glob("bench/cubin/*.cubin"):
        program = read_cubin(path)
        assert bool(read_lines(program).rows) == (DEBUG_LINE in program.sections)
