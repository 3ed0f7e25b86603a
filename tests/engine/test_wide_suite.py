"""The kernels of `tests/bench/wide.py` are right on the run engine; so is their plain C."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

BENCH = Path(__file__).resolve().parents[1] / "bench"
NAMES = sorted(path.stem for path in (BENCH / "kernels" / "wide").glob("*.cu"))


def cell(peer: str, kernel: str) -> dict[str, Any]:
    """One cell of the benchmark, at its smallest size."""
    done = subprocess.run(
        [sys.executable, str(BENCH / "bench.py"), "--cell", peer, kernel, "tiny", "1"],
        env=os.environ | {"GPUDBG_CODE_EFFORT": "least"},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.in_turn(take="search tcgemm")
@pytest.mark.parametrize("name", NAMES)
def test_the_run_engine_computes_it(name: str) -> None:
    found = cell("run", name)
    assert found["correct"]
    assert found["exits"] == 0


@pytest.mark.full(instead="test_the_run_engine_computes_it")
@pytest.mark.parametrize("name", NAMES)
def test_plain_c_computes_it(name: str) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    assert cell("native", name)["correct"]


def test_a_plot_has_every_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    import scaling

    found = {
        name: scaling.Scaled([(1000, 1e-4), (9000, 2e-4), (200_000 + n, 1e-3)], n % 32 + 1)
        for n, name in enumerate(NAMES)
    }
    drawn = ElementTree.fromstring(scaling.plot_wide(found))
    words = [element.text or "" for element in drawn.iter() if element.tag.endswith("text")]
    for name in NAMES:
        assert sum(word.startswith(name) for word in words) >= 2, name
    assert words.count("1 ms") == len(NAMES)
