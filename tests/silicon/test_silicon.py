"""Kernels on a real GPU and on the emulated SM: no word differs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.kernel_cases import Case, cases, run
from tests.silicon.compare import differences, image_of, on_card, plain
from tests.silicon.driver import Gpu, NoDriverError
from tests.silicon.pack import Pack

CASES = [case for case in cases("sm_75", "sm_80", "sm_90", "sm_120", faults=False) if plain(case)]


@pytest.fixture(scope="module")
def gpu() -> Gpu:
    try:
        return Gpu()
    except NoDriverError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_no_word_differs(case: Case, gpu: Gpu) -> None:
    """Results of the same program, bit for bit."""
    image = image_of(case, gpu)
    if image is None:
        pytest.skip(f"{gpu.name} ({gpu.arch}) runs no cubin for {case.variant}; there is no PTX")
    assert not differences(case, on_card(case, gpu, image), run(case).arrays)


def test_a_word_that_differs_is_named() -> None:
    """The comparison itself needs no card."""
    case = next(case for case in CASES if case.kernel == "saxpy")
    arrays = {name: np.zeros(8, np.uint32) for name in case.buffers}
    name = next(iter(arrays))
    other = {**arrays, name: np.array([0, 0, 5, 0, 0, 0, 0, 0], np.uint32)}
    assert not differences(case, arrays, arrays)
    assert differences(case, other, arrays) == [
        f"{case.id}: {name}: 1 of 8 words differ: [2] card 5, model 0"
    ]


@pytest.mark.parametrize(
    ("capability", "arch", "runs"),
    [
        ((8, 6), "sm_80", True),
        ((8, 0), "sm_86", False),
        ((9, 0), "sm_80", False),
        ((9, 0), "sm_90a", True),
        ((12, 0), "sm_120", True),
    ],
)
def test_which_cubins_a_card_runs(capability: tuple[int, int], arch: str, runs: bool) -> None:
    card = object.__new__(Gpu)
    card.capability = capability
    assert card.runs(arch) == runs


def test_a_pack_and_its_judge_say_in_a_line_what_is_missing(tmp_path: Path) -> None:
    """No driver, no file: exit status 2, no traceback."""
    pack = Pack()
    pack.write(tmp_path / "empty.pyz")
    words = [sys.executable, str(tmp_path / "empty.pyz"), str(tmp_path / "out.zip")]
    judge = [sys.executable, "-m", "tests.silicon.judge", "none.pyz", "none.zip"]
    for command, said in ((words, "no CUDA driver"), (judge, "cannot read none.pyz")):
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        if command is words and done.returncode == 0:
            continue  # There is a card here.
        assert done.returncode == 2
        assert said in done.stderr
        assert "Traceback" not in done.stderr
