"""Waits that read a clock: those that no time ends are deadlocks, the others go on.

`python -m tests.sanitizer.test_waits FOLDER...` compiles `waits.cu` anew, with the headers of the
C++ library for CUDA and of its runtime in those folders, without line tables: these would name
them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.sm import hang_checks

HERE = Path(__file__).parent
ARCHITECTURES = ("sm_80", "sm_90")
HANGS = {
    "never": "1 of 65 arrivals is to come",
    "some": "32 of 64 arrivals are to come",
    "flag": "until another thread changes arg0[0] (now 0), at any time",
}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for hangs early, so that a test need not run long."""
    monkeypatch.setattr(hang_checks, "FIRST", 2000)


def launched(name: str, arch: str, engine: str) -> Any:
    program = gpudbg.load(str(HERE / f"waits.{arch}.cubin"), engine=engine)
    out = program.device.buffer(np.zeros(64, np.int32))
    return program.launch(name, block=64, args=[out])


@pytest.mark.in_turn(1, each="name")
@pytest.mark.parametrize("name", HANGS)
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_wait_that_no_time_ends(name: str, arch: str) -> None:
    stops = [launched(name, arch, engine).run() for engine in ("step", "run")]
    assert (stops[0].kind, stops[0].hang) == ("deadlock", True)
    assert stops[0].detail == stops[1].detail
    assert HANGS[name] in "\n".join(stops[0].detail)


@pytest.mark.in_turn(1, each="name")
@pytest.mark.parametrize("name", ["meets", "late", "gives_up"])
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_wait_that_ends(name: str, arch: str) -> None:
    for engine in ("step", "run"):
        s = launched(name, arch, engine)
        stop = s.run()
        assert stop.kind == "exited"
        assert name == "meets" or stop.instructions > 2 * hang_checks.FIRST


def test_it_is_a_finding_that_says_what_is_missing() -> None:
    program = gpudbg.load(str(HERE / "waits.sm_80.cubin"))
    out = program.device.buffer(np.zeros(64, np.int32))
    report = gpudbg.check(program, "never", block=64, args=[out], max_instructions=20_000)
    assert [(f.kind, f.cause) for f in report.findings] == [("sync", "deadlock")]
    assert "1 of 65 arrivals is to come; 64 arrivals came from" in report.findings[0].where


def build(folders: list[str]) -> None:
    """Compile the kernels."""
    from tests.kernels_own.build import nvrtc

    text = (HERE / "waits.cu").read_text()
    for arch in ARCHITECTURES:
        options = [
            f"--gpu-architecture={arch}",
            *(f"-I{folder}" for folder in folders),
            "--std=c++17",
        ]
        (HERE / f"waits.{arch}.cubin").write_bytes(nvrtc(text, "waits.cu", options))


if __name__ == "__main__":
    build(sys.argv[1:])
