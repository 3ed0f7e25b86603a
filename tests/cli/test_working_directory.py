"""Code that lies in the folder one stands in is never run, by any verb."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpudbg.frontends.verbs.serve import child
from tests import launching

ROOT = Path(__file__).resolve().parents[2]
FIRST = str(launching.FIRST)
PLANTED = (
    "gpudbg", "gpudbg_plugins", "numpy", "textual", "rich", "construct", "llvmlite", "lz4",
    "elftools",
    "platformdirs", "prompt_toolkit", "IPython", "json", "readline", "rlcompleter", "usercustomize",
    "sitecustomize", "first_steps", "tomllib", "zstandard", "pygments", "textual_serve", "aiohttp",
)  # fmt: skip


@pytest.fixture
def hostile_folder(tmp_path: Path) -> Path:
    """A folder full of modules that leave a mark when they are imported."""
    for name in PLANTED:
        words = f"open({str(tmp_path / 'ran')!r}, 'a').write({name + ' '!r})\n"
        (tmp_path / f"{name}.py").write_text(words)
    return tmp_path


SCRIPT = "print(gpudbg.__name__)\n"
WAYS = {
    "run": ["run", FIRST],
    "info": ["info", FIRST],
    "dis": ["dis", FIRST],
    "decode": ["decode", "insn", "0x50b0000000070f00"],
    "plugins": ["plugins"],
    "demo": ["demo"],
    "batch": ["--batch", "-ex", "run", FIRST],
    "repl": ["repl", FIRST],
    "mi": ["--interpreter=mi2", FIRST],
    "script": ["script", "SCRIPT"],
    "serve": ["serve", "--help"],
}


@pytest.mark.in_turn(1)
@pytest.mark.parametrize(
    ("way", "start"),
    [*((way, "script") for way in WAYS), ("repl", "-m"), ("run", "-m"), ("run", "served")],
)
def test_nothing_there_is_imported(way: str, start: str, hostile_folder: Path) -> None:
    begin = {
        "script": [str(Path(sys.executable).parent / "gpudbg")],
        "-m": [sys.executable, "-m", "gpudbg"],
        "served": child(),
    }[start]
    if start == "-m":
        # Python itself imports a package of this name from there; the others are ours to refuse.
        (hostile_folder / "gpudbg.py").unlink()
    apart = hostile_folder / "apart"
    apart.mkdir()
    (apart / "script.py").write_text(SCRIPT)
    words = [str(apart / "script.py") if word == "SCRIPT" else word for word in WAYS[way]]
    done = subprocess.run(
        [*begin, *words], cwd=hostile_folder, input="", text=True, capture_output=True,
        env={**os.environ, "HOME": str(apart)}, timeout=120, check=False,
    )  # fmt: skip
    marks = hostile_folder / "ran"
    assert not marks.exists(), marks.read_text()
    assert done.returncode == 0, done.stderr
