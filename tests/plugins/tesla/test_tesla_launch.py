"""Launches: the notes' worked table, block order, initial contents, refusals."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from gpudbg_plugins.tesla.errors import DataError
from gpudbg_plugins.tesla.hierarchy import Chip, Hierarchy
from gpudbg_plugins.tesla.launch import TeslaLaunch, WarpMemory, warp_letter
from gpudbg_plugins.tesla.physid import PhysId
from hypothesis import given
from hypothesis import strategies as st

#: blockdim (2, 3, 4), 21 threads, 16 lanes: tid.x tid.y tid.z warp lane.
TABLE = """\
0 0 0 a 0
1 0 0 a 1
0 1 0 a 2
1 1 0 a 3
0 2 0 a 4
1 2 0 a 5
0 0 1 a 6
1 0 1 a 7
0 1 1 a 8
1 1 1 a 9
0 2 1 a 0xa
1 2 1 a 0xb
0 0 2 a 0xc
1 0 2 a 0xd
0 1 2 a 0xe
1 1 2 a 0xf
0 2 2 b 0
1 2 2 b 1
0 0 3 b 2
1 0 3 b 3
0 1 3 b 4
"""
GOOD = TeslaLaunch(
    grid=(3, 2), block=(2, 3, 4), threads=21, latched=True, shared_size=0x40, grid_id=0x1234,
    params=(0xCAFE, 0xF00D), registers=10,
)  # fmt: skip
NV86, NVA0 = Chip(0x86), Chip(0xA0)


def test_worked_table() -> None:
    rows = [
        "{} {} {} {} {}".format(
            *thread.tid,
            warp_letter(thread.warp),
            thread.lane if thread.lane < 10 else f"0x{thread.lane:x}",
        )
        for thread in GOOD.all_threads()
    ]
    assert "\n".join(rows) + "\n" == TABLE
    assert GOOD.cut_off == 3
    assert replace(GOOD, threads=25).cut_off == 0


def test_r0() -> None:
    assert GOOD.thread(20).r0 == 1 << 16 | 3 << 26
    wide = replace(GOOD, block=(512, 4, 4), threads=512 * 16, lanes32=1, warp_halves=2)
    last = wide.thread(512 * 16 - 1)
    assert last.r0 == 511 | 3 << 16 | 3 << 26


@given(st.tuples(*[st.integers(1, 12)] * 3), st.booleans(), st.data())
def test_threads_are_a_prefix_in_order(
    block: tuple[int, int, int], wide: bool, data: st.DataObject
) -> None:
    x, y, z = block
    threads = data.draw(st.integers(1, x * y * z))
    config = replace(
        GOOD, block=block, threads=threads, lanes32=int(wide), warp_halves=2 if wide else 1
    )
    found = list(config.all_threads())
    everyone = [(i, j, k) for k in range(z) for j in range(y) for i in range(x)]
    assert [thread.tid for thread in found] == everyone[:threads]
    assert [t.warp * config.lanes + t.lane for t in found] == list(range(threads))
    assert len({thread.warp for thread in found}) == config.warps


@pytest.mark.parametrize(
    ("lanes32", "halves", "lanes"),
    [(1, 2, 32), (1, 1, 16), (0, 2, 16), (0, 0, 16), (1, 0, 16)],
)
def test_lanes(lanes32: int, halves: int, lanes: int) -> None:
    assert replace(GOOD, lanes32=lanes32, warp_halves=halves).lanes == lanes


def test_blocks_start_by_y_then_x() -> None:
    assert list(GOOD.blocks()) == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]
    assert list(replace(GOOD, run_mode=0).blocks()) == [(0, 0)]
    assert list(replace(GOOD, grid=(0, 5)).blocks()) == []


def test_shared_header() -> None:
    data = GOOD.shared_header((2, 1))
    assert struct.unpack("<8H2I", data) == (0x1234, 2, 3, 4, 3, 2, 2, 1, 0xCAFE, 0xF00D)


REFUSALS = [
    ({"latched": False}, NV86, 0x2E),
    ({"threads": 25}, NV86, 0x2B),
    ({"threads": 0}, NV86, 0x04),
    ({"block": (0, 3, 4)}, NV86, 0x2B),
    ({"params": (0,) * 13}, NV86, 0x27),
    ({"params": (0,) * 12}, NV86, None),
    ({"shared_size": 0, "params": ()}, NV86, None),
    ({"block": (400, 1, 1), "threads": 385}, NV86, 0x2A),
    ({"block": (400, 1, 1), "threads": 384}, NV86, None),
    ({"block": (400, 1, 1), "threads": 400}, NVA0, None),
    ({"block": (513, 1, 1), "threads": 513}, NVA0, 0x2A),
    ({"block": (256, 1, 1), "threads": 256, "registers": 33, "warp_halves": 2}, NV86, 0x28),
    ({"block": (256, 1, 1), "threads": 256, "registers": 33, "warp_halves": 1}, NV86, 0x29),
    ({"block": (256, 1, 1), "threads": 256, "registers": 32}, NV86, None),
    ({"block": (256, 1, 1), "threads": 256, "registers": 33}, NVA0, None),
    ({"local": WarpMemory(3, 0, 0)}, NV86, 0x2C),
    ({"local": WarpMemory(3, 0, 1)}, NV86, None),
    ({"local": WarpMemory(3, 1, 0)}, NV86, None),
    ({"local": WarpMemory(0, 0, 0)}, NV86, None),
    ({"stack": WarpMemory(3, 0, 0)}, NV86, 0x2D),
    ({"stack": WarpMemory(3, 7, 0)}, NV86, None),
]


@pytest.mark.parametrize(("changes", "chip", "code"), REFUSALS)
def test_refusals(changes: dict[str, object], chip: Chip, code: int | None) -> None:
    config = replace(GOOD, **changes)  # type: ignore[arg-type]
    if code is None:
        config.check(chip)
        return
    with pytest.raises(DataError) as raised:
        config.check(chip)
    assert raised.value.code == code
    assert f"DATA_ERROR 0x{code:02x}" in str(raised.value)


def test_first_wave_shares_no_context() -> None:
    config = replace(GOOD, grid=(40, 40))
    units = Hierarchy(0b101, 0b11)
    placed = list(config.place(NV86, units))
    assert len(placed) == config.resident_blocks(NV86) * 4
    seen = {spot.physid(thread) for spot in placed for thread in config.all_threads()}
    assert len(seen) == len(placed) * 21
    for value in seen:
        ident = PhysId.decode(value)
        assert ident.tp in units.tps
        assert ident.mp in units.mps
        assert ident.warp < NV86.warps_per_mp
