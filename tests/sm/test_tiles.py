"""Tiles of a warp: each votes and matches among its own lanes, wherever the warp runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpudbg

TILES = Path(__file__).parent / "data" / "tiles"
"""tiles.cu, compiled by NVRTC 12.9 for each architecture."""


@pytest.mark.in_turn(take="sm_80-step sm_120-step")
@pytest.mark.parametrize("engine", ["step", "run"])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
def test_tiles_vote_and_match_among_their_lanes(arch: str, engine: str) -> None:
    """From sm_90 on by WARPSYNC.COLLECTIVE, after which tiles must not meet at one pc."""
    values = np.random.default_rng(1).integers(0, 250, 32).astype(np.int32)
    program = gpudbg.load(str(TILES / f"{arch}.cubin"), engine=engine)
    buffers = [program.device.buffer(x) for x in (values, np.zeros(192, np.uint32))]
    assert program.launch(grid=1, block=32, args=buffers).run().kind == "exited"
    warp, tiles = values, values.reshape(4, 8)
    bits = 1 << np.arange(32)
    lanes = np.arange(32)
    tile = tiles[lanes // 8]
    expected = [
        (bits * (warp[None] % 4 == warp[:, None] % 4)).sum(1),
        (tile > 200).any(1),
        (bits[:8] * (tile & 2 != 0)).sum(1),
        np.append(warp[3:], warp[-3:]),
        warp[lanes ^ 5],
        (bits[:8] * (tile % 3 == warp[:, None] % 3)).sum(1),
    ]
    assert np.array_equal(buffers[1].array().reshape(6, 32), np.array(expected, np.uint32))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_tiles_of_two_warps_leave_the_programs_shared_memory_alone(arch: str) -> None:
    """The toolkit's code has shared memory of its own for them."""
    program = gpudbg.load(str(TILES / f"two_warps.{arch}.cubin"), engine="step")
    sums, kept = (program.device.buffer(np.zeros(256, np.int32)) for _ in "ab")
    assert program.launch(grid=1, block=256, args=[sums, kept]).run().kind == "exited"
    threads = np.arange(256)
    assert np.array_equal(sums.array(), np.repeat(threads.reshape(4, 64).sum(1), 64))
    assert np.array_equal(kept.array(), 3 * (threads ^ 1))


@pytest.mark.parametrize("arch", ["sm_90", "sm_120"])
def test_a_kernel_may_use_the_systems_shared_memory_alone(arch: str) -> None:
    """reserved.ptx by ptxas 12.9: no section tells of the bytes, an attribute does."""
    program = gpudbg.load(str(TILES / f"reserved.{arch}.cubin"), engine="step")
    out = program.device.buffer(np.zeros(64, np.int32))
    assert program.launch(grid=1, block=64, args=[out]).run().kind == "exited"
    assert np.array_equal(out.array(), np.arange(64) ^ 1)
