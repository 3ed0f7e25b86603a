"""mbarriers, bulk copies, copies of tensors and clusters of sm_90, against NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg

CUBIN = Path(__file__).resolve().parent / "cubin"
COMPILED = pytest.param("run", marks=pytest.mark.full(instead="the same on the step engine"))
pytestmark = pytest.mark.usefixtures("engine")
_now = {"engine": "step"}


@pytest.fixture(params=["step", COMPILED])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `load` takes."""
    monkeypatch.setitem(_now, "engine", request.param)


def load(name: str) -> Any:
    return gpudbg.load(str(CUBIN / f"{name}.cubin"), engine=_now["engine"])


def ended(session: Any) -> Any:
    stop = session.run(max_instructions=100_000)
    assert stop.kind == "exited", stop.message
    assert session.grid.fast is None or not session.grid.fast.trouble
    return session


# ---- bulk copies -------------------------------------------------------------------------
def test_a_multicast_reaches_every_block_of_the_cluster() -> None:
    values = np.arange(128, dtype=np.int32) * 7 + 3
    session = ended(
        load("bulk").launch("multicast", grid=4, block=128, args=[values, np.zeros(512, np.int32)])
    )
    expected = np.concatenate([values[::-1] + rank for rank in (0, 1, 0, 1)])
    np.testing.assert_array_equal(session.buffer(1), expected)


def test_a_block_copies_to_its_neighbour() -> None:
    values = np.arange(256, dtype=np.int32)
    session = ended(
        load("bulk").launch("neighbour", grid=4, block=64, args=[values, np.zeros(256, np.int32)])
    )
    halves = (values * 3).reshape(2, 2, 64)[:, ::-1] + np.arange(64)
    np.testing.assert_array_equal(session.buffer(1), halves.reshape(-1))


def test_reductions_to_global_memory() -> None:
    rng = np.random.default_rng(5)
    given = np.linspace(-3, 5, 32).astype(np.float32).view(np.uint32)
    old = rng.integers(0, 1 << 31, (9, 32), dtype=np.uint32)
    old[5] = np.linspace(2, -1, 32).astype(np.float32).view(np.uint32)
    old[6] = np.linspace(-2, 3, 64).astype(np.float16).view(np.uint32)
    old[7] &= 0x7F7F7F7F
    session = ended(load("bulk").launch("reduce", grid=1, block=32, args=[given, old]))
    found = session.buffer(1)
    with np.errstate(all="ignore"):
        expected: list[Any] = [
            old[0] + given,
            np.minimum(old[1].view(np.int32), given.view(np.int32)).view(np.uint32),
            np.maximum(old[2], given),
            old[3] ^ given,
            (old[4].view(np.uint64) + given.view(np.uint64)).view(np.uint32),
            (old[5].view(np.float32) + given.view(np.float32)).view(np.uint32),
        ]
        np.testing.assert_array_equal(found[:6], expected)
        halves = old[6].view(np.float16) + given.view(np.float16)
    np.testing.assert_array_equal(found[6].view(np.float16), halves)
    a, b, least = (
        (v.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        for v in (old[7], given, np.ascontiguousarray(found[7]))
    )
    np.testing.assert_array_equal(least, np.fmin(a, b))
    counted = np.where(old[8] >= given, 0, old[8] + np.uint32(1))
    np.testing.assert_array_equal(found[8], counted)


def test_stores_reductions_arrivals_and_atomics_in_another_block() -> None:
    values = np.arange(128, dtype=np.int32) + 100
    session = ended(
        load("bulk").launch("remote", grid=2, block=64, args=[values, np.zeros(128, np.int32)])
    )
    most = (63 + 7, 63)
    expected = np.concatenate(
        [values.reshape(2, 64)[1 - n][::-1] + 2016 * 1000 + most[n] * 10_000_000 for n in (0, 1)]
    )
    np.testing.assert_array_equal(session.buffer(1), expected)


# ---- mbarriers ---------------------------------------------------------------------------
def test_forms_of_arrivals_and_waits() -> None:
    session = ended(
        load("barriers").launch("forms", grid=1, block=64, args=[np.zeros(128, np.uint32)])
    )
    out = session.buffer(0)
    assert set(out[:64].tolist()) == {7}
    # Arrivals that were missing when each lane came; either warp may be first.
    missing = [warp[::-1] for warp in np.sort(out[64:].reshape(2, 32)[:, ::-1], axis=0)]
    np.testing.assert_array_equal(np.concatenate(missing[::-1]), np.arange(64, 0, -1))


def test_copies_arrive_on_an_mbarrier() -> None:
    for name in ("copies", "copies.sm_80"):
        values = np.arange(512, dtype=np.int32)
        session = ended(
            load(name).launch("copies", grid=1, block=64, args=[values, np.zeros(256, np.int32)])
        )
        second = values[256:].reshape(64, 4).copy()
        second[::2, 1:] = 0
        expected = values[255::-1] + 3 * second.reshape(-1)
        np.testing.assert_array_equal(session.buffer(1), expected)


def test_warps_with_roles() -> None:
    values = np.arange(512, dtype=np.int32)
    session = ended(
        load("barriers").launch("roles", grid=1, block=256, args=[values, np.zeros(128, np.int32)])
    )
    acc = np.zeros(128, np.int32)
    for n in range(4):
        acc = acc * 3 + values[128 * n : 128 * n + 128][np.arange(128) ^ 5]
    np.testing.assert_array_equal(session.buffer(1), acc)


def test_matrices_are_stored_by_rows_and_by_columns() -> None:
    given = np.arange(128, dtype=np.uint32) * np.uint32(0x10003)
    session = ended(
        load("matrices").launch(grid=1, block=32, args=[given, np.zeros(256, np.uint32)])
    )
    out = session.buffer(1).view(np.uint16).reshape(64, 8)
    halves = given.view(np.uint16).reshape(4, 8, 8)
    for matrix in range(4):
        for row in range(8):
            lane = (8 * matrix + row) ^ 5
            np.testing.assert_array_equal(out[lane], halves[matrix, row])
    for matrix in range(2):
        np.testing.assert_array_equal(out[32 + 8 * matrix : 40 + 8 * matrix], halves[matrix].T)


def test_work_of_other_blocks_is_refused_and_memory_filled() -> None:
    session = ended(load("work.sm_120a").launch(grid=2, block=1, args=[np.full(2, 7, np.uint32)]))
    assert session.buffer(0)[0] == 0


# ---- clusters ----------------------------------------------------------------------------
@pytest.mark.in_turn(1)
@pytest.mark.parametrize(
    ("name", "grid", "cluster"),
    [("names", (6, 4), (3, 2)), ("names", (4, 2), None), ("names.sm_120", (6, 4), (3, 2))],
)
def test_special_registers_of_clusters(name: str, grid: Any, cluster: Any) -> None:
    out = np.zeros(grid[0] * grid[1] * 16, np.uint32)
    session = ended(load(name).launch(grid=grid, block=32, args=[out], cluster=cluster))
    rows = session.buffer(0).reshape(grid[0], grid[1], 16)
    cx, cy = cluster or (1, 1)
    for x in range(grid[0]):
        for y in range(grid[1]):
            rx, ry = x % cx, y % cy
            expected = [
                ry * cx + rx, cx * cy, rx, ry, 0, x // cx, y // cy, grid[0] // cx, grid[1] // cy,
                int(cluster is not None), cx, cy, 1, 0, 1,
            ]  # fmt: skip
            assert rows[x, y, :15].tolist() == expected


def test_clusters_that_do_not_fit_are_refused() -> None:
    program = load("names")
    out = np.zeros(512, np.uint32)
    for cluster, words in (
        (32, "cluster: 32 is more than 16 blocks"),
        (3, r"grid \(4, 1, 1\) is no multiple of its cluster \(3, 1, 1\)"),
        (0, "cluster dimensions must be at least 1"),
    ):
        with pytest.raises(gpudbg.UsageError, match=words):
            program.launch(grid=4, block=32, args=[out], cluster=cluster)
    with pytest.raises(gpudbg.UsageError, match=r"was compiled for clusters of \(2, 1, 1\)"):
        load("bulk").launch("multicast", grid=4, block=128, args=[out, out], cluster=4)
    small = gpudbg.load(str(CUBIN / "names.cubin"), num_sms=1)
    with pytest.raises(gpudbg.UsageError, match="16 blocks; 1 SMs hold 2"):
        small.launch(grid=16, block=1024, args=[out], cluster=16)
    grown = program.launch(grid=16, block=1024, args=[np.zeros(256, np.uint32)], cluster=16)
    assert len(grown.grid.sms) == 8


# ---- copies of tensors -------------------------------------------------------------------
@pytest.mark.parametrize(
    ("swizzle", "corner"), [(None, (16, 10)), (128, (48, 60)), (64, (-16, -5)), (None, (200, 0))]
)
def test_a_box_of_a_tensor_there_and_back(swizzle: int | None, corner: tuple[int, int]) -> None:
    """What lies outside the tensor is neither read nor written; tensor maps come as parameter and
    in global memory."""
    program = load("tiles")
    device = program.device
    given = np.random.default_rng(1).integers(0, 250, (100, 96), dtype=np.uint8)
    x, y, z = (device.buffer(a) for a in (given, given * 0, given * 0))
    maps = [device.tensor_map(b, box=(64, 64), swizzle=swizzle) for b in (x, y, z)]
    there = device.buffer(np.frombuffer(maps[2], np.uint8))
    column, row = corner
    ended(
        program.launch(grid=1, block=128, args=[*maps[:2], there, np.int32(column), np.int32(row)])
    )
    expected = np.zeros_like(given)
    rows, columns = slice(max(row, 0), row + 64), slice(max(column, 0), column + 64)
    expected[rows, columns] = given[rows, columns]
    # The kernel adds 1 to the first 128 bytes of shared memory.
    flat = np.zeros(4096, np.uint8)
    flat[:128] = 1
    at = np.arange(4096)
    mode = {None: 0, 32: 1, 64: 2, 128: 3}[swizzle]
    first = flat[at ^ (at >> 7 & (1 << mode) - 1) << 4 if mode else at].reshape(64, 64)
    whole = np.zeros((200, 300), np.uint8)
    whole[16 + row : 80 + row, 16 + column : 80 + column] = first
    expected += whole[16:116, 16:112]
    np.testing.assert_array_equal(y.array(), expected)
    np.testing.assert_array_equal(z.array(), expected)
