"""Spills of compiled code are read from its assembly text, and executions counted in it."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from gpudbg.sm.engines.llvm import build

BENCH = Path(__file__).resolve().parents[1] / "bench"
TEXT = """\t.text
\t.globl\tsum
sum:                                    # @sum
# %bb.0:                                # %entry
\tpushq\t%rbp
\tmovq\t%rdi, -8(%rsp)                  # 8-byte Spill
\txorl\t%eax, %eax
\tcmpq\t$100, %rdi
\t.p2align\t4
.LBB0_1:                                # %loop
                                        # =>This Inner Loop Header: Depth=1
\tadcq\t-8(%rsp), %rax                  # 8-byte Folded Reload
\tsubq\t$1, %rdi                        # imm = 0x1
\tjne\t.LBB0_1
# %bb.2:
\tpopq\t%rbp
\tretq
.Lfunc_end0:
other:                                  # @other
# %bb.0:
\tvmovups\t%zmm0, 64(%rsp)              # 64-byte Spill
\tvmovups\t%zmm1, (%rsp)                # 64-byte Folded Spill
\tretq
"""
"""`sum` adds n times n to the carry of a comparison with which a block ends (1 below 100)."""


@pytest.fixture
def spills(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    import spills

    return spills


def test_blocks_and_their_traffic(spills: ModuleType) -> None:
    found = [(b.function, b.name, tuple(b.traffic)) for b in spills.blocks_of(TEXT)]
    assert found == [
        ("sum", "entry", (1, 8, 0, 0)),
        ("sum", "loop", (0, 0, 1, 8)),
        ("sum", "", (0, 0, 0, 0)),
        ("other", "", (2, 128, 0, 0)),
    ]
    arm = "f:\n// %bb.0:\n\tstr\tq0, [sp, #16]                  // 16-byte Folded Spill\n"
    assert spills.blocks_of(arm)[0].traffic == (1, 16, 0, 0)


def test_counters_change_neither_flags_nor_registers(spills: ModuleType, tmp_path: Path) -> None:
    if not spills.can_count():
        pytest.skip("there is no GNU as for an x86-64")
    blocks = spills.blocks_of(TEXT)
    source, made = tmp_path / "sum.s", tmp_path / "sum.o"
    source.write_text(spills.counting(TEXT, blocks))
    subprocess.run(["as", str(source), "-o", str(made)], check=True)
    version = spills.Version.__new__(spills.Version)
    version.blocks, version.code = blocks, build.Code(made.read_bytes())
    called = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint64)(version.code.address("sum"))
    assert [called(n) for n in (3, 5)] == [10, 26]
    assert version.counts() == [2, 8, 2, 0]
    # They begin anew.
    assert version.counts() == [0, 0, 0, 0]


def test_of_a_launch(spills: ModuleType) -> None:
    if not spills.can_count():
        pytest.skip("there is no GNU as for an x86-64")
    row = spills.Measured("saxpy", "tiny").result()
    assert row["correct"]
    assert row["executed_instructions"] == row["warps"] * 22
    first = {b["function"] for b in row["most"]}
    assert first <= {"warp"}
    # A few on the way, hundreds of times fewer than a spill of each vector would be.
    assert 0 < row["executed"]["for_each_warp"]["reloads"] < 22
    assert row["path"]["reloads"] < row["text"]["whole"]["reloads"]
    assert "| saxpy |" in spills.table([row])
