"""The package as a type checker, an editor and `import *` see it."""

from __future__ import annotations

import builtins
import subprocess
import sys
from pathlib import Path

import pytest
from mypy import api

import gpudbg

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = Path(__file__).with_name("typed_user.py")


def check(tmp_path: Path, text: str) -> tuple[list[str], int]:
    """mypy's errors on a user's program, and its exit code."""
    file = tmp_path / "user.py"
    file.write_text(text)
    # The project's own settings are strict, and with them its cache serves where there is one.
    words = ["--config-file", str(ROOT / "pyproject.toml"), "--follow-imports=silent"]
    words += ["--cache-dir", str(ROOT / ".mypy_cache"), str(file)]
    out, _, code = api.run(words)
    return [line for line in out.splitlines() if "error:" in line], code


@pytest.mark.full(instead="the type checker itself, which reads the program too")
def test_a_type_checker_sees_types_and_typing_errors(tmp_path: Path) -> None:
    lines = PROGRAM.read_text().splitlines()
    wrong = [n for n, line in enumerate(lines, 1) if "# type: ignore" in line]
    found, _ = check(tmp_path, "\n".join(line.partition("  # type: ignore")[0] for line in lines))
    assert len(wrong) == 5
    assert [int(row.split(":")[1]) for row in found] == wrong, found


def test_import_star_leaves_the_builtins_alone() -> None:
    assert not set(gpudbg.__all__) & set(dir(builtins))
    space: dict[str, object] = {}
    exec("from gpudbg import *", space)
    assert "open" not in space
    assert "compile" not in space
    assert space["load"] is gpudbg.load


def test_the_tables_of_public_names_agree() -> None:
    names = {name for name in dir(gpudbg) if not name.startswith("_")}
    assert names - {"errors", "plugin"} == {*gpudbg.__all__, "open", "compile"} - {"__version__"}
    assert list(gpudbg.__all__) == sorted(gpudbg.__all__)
    assert gpudbg.errors.GpudbgError is gpudbg.GpudbgError


@pytest.mark.parametrize(
    ("typo", "meant"), [("laod", "load"), ("Session", "DebugSession"), ("Buffer", "DeviceBuffer")]
)
def test_a_name_that_is_not_there_says_what_is(typo: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=f"did you mean {meant!r}"):
        getattr(gpudbg, typo)


def test_importing_the_package_imports_nothing_of_it() -> None:
    words = "import sys, gpudbg; print(sorted(m for m in sys.modules if 'gpudbg.' in m or m in W))"
    code = f"W = ('numpy', 'llvmlite', 'textual', 'rich')\n{words}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # The list of its names, which loads none of them.
    assert done.stdout.strip() == "['gpudbg.doors']"
