"""Layers import downward only: the contracts hold, and they would notice a violation."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    tool = Path(sys.executable).parent / "lint-imports"
    return subprocess.run(
        [str(tool), "--no-cache"],
        cwd=root,
        env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_contracts_are_kept() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.in_turn(1)
@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("isa/planted.py", "import gpudbg.sm.grid"),
        ("sm/planted.py", "import gpudbg.debug.session"),
        ("debug/planted.py", "import textual"),
        ("analysis/planted.py", "import gpudbg.debug.symbols"),
        ("expr/planted.py", "import gpudbg.launch.flags"),
        ("debug/planted.py", "import gpudbg.api.load"),
        ("frontends/mi/planted.py", "from gpudbg.debug.session import DebugSession"),
        ("frontends/verbs/planted.py", "from gpudbg.sm.cfg import Flow"),
    ],
)
def test_a_planted_violation_is_found(tmp_path: Path, module: str, line: str) -> None:
    shutil.copytree(
        ROOT / "gpudbg", tmp_path / "gpudbg", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "gpudbg" / module).write_text(f"{line}\n")
    done = lint(tmp_path)
    assert done.returncode != 0
    assert "planted" in done.stdout
