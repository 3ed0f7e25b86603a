"""Texture and surface instructions of sm_70 and later give what those of sm_52 give."""

from __future__ import annotations

import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import gpudbg
from tests.images.wide_forms import ARCHS, CUBINS, FETCHES, FORMS, inputs, objects

Result = tuple[np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cubins as files."""
    place = tmp_path_factory.mktemp("wide_forms")
    with zipfile.ZipFile(CUBINS) as archive:
        archive.extractall(place)
    return place


@cache
def result(folder: Path, arch: str, name: str) -> Result:
    """(what 32 lanes got, what the surface then holds)."""
    program = gpudbg.load(str(folder / f"{arch}.cubin"), engine="step")
    texture, surface = objects(program.device, name)
    out = program.device.buffer(np.zeros(128, np.uint32))
    session = program.launch(
        name, grid=1, block=32, args=[program.device.buffer(inputs()), out, texture, surface]
    )
    session.run().check()
    return np.array(out.array()), np.array(surface.array())


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", FORMS)
def test_as_on_maxwell(folder: Path, name: str) -> None:
    values, texels = result(folder, ARCHS[0], name)
    if name in FETCHES:
        assert len(set(values.tolist())) > 1, "the fetch is of something"
    for arch in ARCHS[1:]:
        got = result(folder, arch, name)
        assert np.array_equal(got[0], values), arch
        assert np.array_equal(got[1], texels), arch


def test_stores_and_reductions_change_the_surface(folder: Path) -> None:
    """Else the comparison above would say little."""
    for name in FORMS:
        if name.startswith(("sust", "sured")):
            program = gpudbg.load(str(folder / "sm_90.cubin"), engine="step")
            before = np.array(objects(program.device, name)[1].array())
            assert not np.array_equal(result(folder, "sm_90", name)[1], before), name
