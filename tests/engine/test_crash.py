"""Crashes of compiled code end in a message and a file; all others are as they were."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from gpudbg.errors import EXIT_GAP
from gpudbg.formats.cubin import read_cubin
from gpudbg.sm.engines.llvm import build, crash

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux has it alone")


def _crash(
    folder: Path, *how: str, options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TMPDIR": str(folder)}
    command = [sys.executable, *options, "-m", "tests.engine.crashing", *how]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def full(*case: object) -> Any:
    """A case of the second tier: another way to crash, or to run, has its other half."""
    return pytest.param(*case, marks=pytest.mark.full(instead="the pairs beside it"))


@pytest.mark.in_turn(1)
@pytest.mark.parametrize(
    ("how", "name"),
    [
        (["store"], "SIGSEGV"),
        full(["jump"], "SIGSEGV"),
        (["trap"], "SIGILL"),
        (["store", "2"], "SIGSEGV"),
        full(["store", "thread"], "SIGSEGV"),
        full(["deep"], "SIGSEGV"),
        full(["deep", "2"], "SIGSEGV"),
        (["deep", "thread"], "SIGSEGV"),
    ],
)
def test_a_message_and_a_file(tmp_path: Path, how: list[str], name: str) -> None:
    done = _crash(tmp_path, *how)
    assert done.returncode == EXIT_GAP, done.stderr
    assert done.stdout == "begin\n"
    first = done.stderr.splitlines()[0]
    assert f"compiled code of kernel broken crashed ({name} at host address 0x" in first
    assert "began at pc 0x1008 (warp 0 of block [" in first
    path = re.search(r"\S+gpudbg-crash-\S+\.zip", done.stderr)
    assert path is not None
    assert [str(p) for p in tmp_path.iterdir()] == [path[0]]
    with zipfile.ZipFile(io.BytesIO(Path(path[0]).read_bytes())) as archive:
        facts = json.loads(archive.read("crash.json"))
        assert read_cubin(archive.read("program")).kernels.keys() == {"broken"}
    assert facts["kernel"] == "broken"
    assert facts["block"] == [64, 1, 1]
    assert facts["signal"] == name
    assert facts["stack_full"] is ("deep" in how)
    assert ("the stack of its host thread is full" in first) is ("deep" in how)


@pytest.mark.full(instead="test_a_message_and_a_file")
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="others do not trap")
def test_a_division_by_zero(tmp_path: Path) -> None:
    done = _crash(tmp_path, "divide")
    assert done.returncode == EXIT_GAP, done.stderr
    assert "SIGFPE" in done.stderr


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("how", ["else", "raise"])
@pytest.mark.parametrize("options", [(), ("-X", "faulthandler")])
def test_other_crashes_are_as_they_were(tmp_path: Path, how: str, options: tuple[str, ...]) -> None:
    done = _crash(tmp_path, how, options=options)
    assert done.returncode == -signal.SIGSEGV
    assert ("Fatal Python error: Segmentation fault" in done.stderr) is bool(options)
    assert "gpudbg:" not in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.full(instead="test_other_crashes_are_as_they_were")
def test_tracebacks_of_faulthandler_follow_the_message(tmp_path: Path) -> None:
    done = _crash(tmp_path, "store", options=("-X", "faulthandler"))
    assert done.returncode == EXIT_GAP
    message, _, traceback = done.stderr.partition("most recent call first")
    assert "kernel broken" in message
    assert "crashing.py" in traceback


@pytest.mark.full(instead="test_a_message_and_a_file")
def test_without_a_folder_to_write_to(tmp_path: Path) -> None:
    """The message comes all the same."""
    gone = tmp_path / "gone"
    script = (
        "import sys, tempfile; sys.argv = ['x', 'store']; from tests.engine import crashing\n"
        f"tempfile.tempdir = {str(gone)!r}\ncrashing.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == EXIT_GAP
    assert "kernel broken" in done.stderr
    assert "No file to report could be written" in done.stderr


def test_the_handler_assembles_for_every_machine_it_knows() -> None:
    binding = build.llvm()
    for context in crash._CONTEXTS.values():
        made = binding.parse_assembly(crash.handler_text(context), context=binding.create_context())
        made.verify()
