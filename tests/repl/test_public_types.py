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

CLEAN = """\
from collections.abc import Sequence

import gpudbg
import numpy as np


def fault_line(stop: gpudbg.Stop) -> int | None:
    for error in stop.errors:
        if error.file is not None:
            return error.line
    return stop.line


def lanes(warp: gpudbg.WarpView) -> list[gpudbg.LaneView]:
    return [warp.lane(n) for n in range(32)]


def rows(snapshot: gpudbg.Snapshot) -> list[gpudbg.WarpRow]:
    return list(snapshot.warps)


program: gpudbg.LoadedProgram = gpudbg.load("k.cubin")
device: gpudbg.Device = program.device
buffer: gpudbg.DeviceBuffer = device.buffer(np.zeros(4, np.float32))
session: gpudbg.DebugSession = program.launch("k", grid=1, block=32, args=[buffer])
try:
    stop: gpudbg.Stop = session.run().check()
except gpudbg.KernelError as error:
    print(error.stop.thread, fault_line(error.stop))
with session.trace("access") as log:
    entries: Sequence[gpudbg.TraceEntry] = log
point: gpudbg.Breakpoint = session.break_at("k")
mine: list[gpudbg.LaneView] = lanes(session.warp())
mine[0].R[4] = 3
image: gpudbg.DeviceImage = device.texture(np.zeros((4, 4), np.float32))
"""

WRONG = """\
import gpudbg

gpudbg.laod("k.cubin")
def f(stop: gpudbg.Stopp) -> None: ...
gpudbg.load("k.cubin").lunch()
gpudbg.load("k.cubin").launch(griid=1)
gpudbg.open("k.cubin").run().chek()
"""


def check(tmp_path: Path, text: str) -> tuple[list[str], int]:
    """mypy's errors on a user's program, and its exit code."""
    file = tmp_path / "user.py"
    file.write_text(text)
    # The project's own settings are strict, and with them its cache serves where there is one.
    words = ["--config-file", str(ROOT / "pyproject.toml"), "--follow-imports=silent"]
    words += ["--cache-dir", str(ROOT / ".mypy_cache"), str(file)]
    out, _, code = api.run(words)
    return [line for line in out.splitlines() if "error:" in line], code


def test_a_type_checker_sees_types_and_typing_errors(tmp_path: Path) -> None:
    found, _ = check(tmp_path, CLEAN + "\n" + WRONG)
    first = CLEAN.count("\n") + 1
    lines = [int(row.split(":")[1]) - first for row in found]
    assert lines == [3, 4, 5, 6, 7], found


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
