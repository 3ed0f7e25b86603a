"""The benchmark of compiling adds up what a launch compiles, and tells kernels apart by lanes."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("llvmlite")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def compiling(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "bench"))
    import compiling

    return compiling


def test_classes(compiling: ModuleType) -> None:
    assert [compiling.class_of(share) for share in (1, 0.67, 0.66, 0.34, 0.33, 0)] == [
        "uniform", "uniform", "mixed", "mixed", "varying", "varying",
    ]  # fmt: skip


def test_a_kernel_beside_another_checkout(compiling: ModuleType) -> None:
    found = compiling.row("saxpy", "tiny", [ROOT, ROOT], 1)
    ours = found["trees"][0]
    assert ours["correct"]
    assert ours["instructions"] == 19
    assert ours["compile"]["versions"] == [True]
    assert 0 < ours["compile"]["library_s"] < ours["compile"]["s"]
    assert found["class"] == "uniform"
    assert found["ratio"].keys() == {"compile", "quick"}
    assert compiling.line(found).startswith("| saxpy | uniform 0.75 | 19 | ")
    assert compiling.means([found])[0].startswith("uniform: 1 kernels, compile ")


def test_what_a_checkout_cannot_do_is_said(compiling: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "gpudbg.py").write_text("raise ImportError('not this one')\n")
    found = compiling.row("saxpy", "tiny", [ROOT, tmp_path], 1)
    assert "ratio" not in found
    assert "not this one" in compiling.line(found)
