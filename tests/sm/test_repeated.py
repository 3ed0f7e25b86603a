"""A kept grid begins again: what it computes and how it ends is a new grid's."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import gpudbg
from gpudbg.sm.engines.llvm import run
from gpudbg.sm.engines.llvm.run import CALL
from gpudbg.sm.repeated import RepeatedLaunches
from tests.launching import FIRST

SHAPE = (4, 1, 1), (64, 1, 1)


@pytest.fixture
def loaded() -> gpudbg.LoadedProgram:
    return gpudbg.load(FIRST, engine="run")


def test_it_computes_what_a_new_grid_does(loaded: gpudbg.LoadedProgram) -> None:
    """Other parameters, shared memory that a launch before has filled, numbers of launches."""
    repeated = RepeatedLaunches()
    module, rng = loaded.module, np.random.default_rng(3)
    values, out = (loaded.device.buffer(np.zeros(n, np.int32)) for n in (256, 4))
    kept = 0
    for length in (250, 250, 3, 129, 256):
        values[:] = rng.integers(0, 9999, 256, dtype=np.int32)
        params = struct.pack("<QQi", values.address, out.address, length)
        ends = []
        for again in (False, True):
            out[:] = 0
            if again:
                grid, launch = repeated.launch(module, "block_max", *SHAPE, params)
            else:
                grid, launch = module.launch("block_max", *SHAPE, params), None
            number = module.gpu.launches - 1
            assert grid.engine.sregs.machine.launch == number
            assert not grid.total
            assert len(list(grid.warps())) == 8
            event = grid.run()
            ends.append((event, grid.total, grid.ctas_done, out.array().tobytes()))
            kept += again and repeated.keep(module, launch)
            if not again:
                grid.dispose()
        assert ends[0] == ends[1]
    assert kept == 5
    assert len(repeated) == 1


def test_a_grid_that_somebody_has_had_is_not_kept(loaded: gpudbg.LoadedProgram) -> None:
    module, repeated = loaded.module, RepeatedLaunches()
    values, out = (loaded.device.buffer(np.zeros(n, np.int32)) for n in (256, 4))
    params = struct.pack("<QQi", values.address, out.address, 250)
    grid, launch = repeated.launch(module, "block_max", *SHAPE, params)
    assert not repeated.keep(module, launch), "it has not run"
    grid, launch = repeated.launch(module, "block_max", *SHAPE, params)
    grid.step_warp(next(iter(grid.warps())), 3)
    assert grid.run().kind == "exited"
    assert not repeated.keep(module, launch), "a warp was stepped"
    wild = struct.pack("<QQi", 64, out.address, 250)
    grid, launch = repeated.launch(module, "block_max", *SHAPE, wild)
    assert grid.run().kind == "warp_error"
    assert not repeated.keep(module, launch), "it faulted"
    assert not len(repeated)


@pytest.mark.parametrize("most", [50, 100, 200, CALL])
def test_blocks_that_ended_while_others_went_on(
    loaded: gpudbg.LoadedProgram, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are taken apart between calls, and their grid is not kept; in one call it is."""
    module, repeated = loaded.module, RepeatedLaunches()
    values, out = (loaded.device.buffer(np.zeros(n, np.int32)) for n in (256, 4))
    params = struct.pack("<QQi", values.address, out.address, 70)
    module.launch("block_max", *SHAPE, params).run()
    monkeypatch.setattr(run, "CALL", most)
    for _ in range(3):
        grid, launch = repeated.launch(module, "block_max", *SHAPE, params)
        assert grid.run().kind == "exited"
        assert repeated.keep(module, launch) == (most == CALL)
