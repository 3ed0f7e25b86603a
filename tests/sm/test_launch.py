"""Launch checks, sizes, constant bank 0, residency, special registers."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpudbg.errors import UsageError
from gpudbg.formats.program import runs_on
from gpudbg.mem.windows import WINDOW_BYTES
from gpudbg.sm.gpu import Gpu
from gpudbg.sm.grid import Grid
from gpudbg.sm.launch import LIMITS, local_bytes, plan
from tests.sm.machine import EXIT, bra, launch, raw_program, sample


def planned(**changes: Any) -> Any:
    """The plan of a plain kernel with some of its facts or sizes changed."""
    sizes = {"grid": (1, 1, 1), "block": (32, 1, 1), "shared_dynamic": 0, "arch": "sm_50"}
    options = {"stack_bytes": None, "stack_entries": None, "calls": False, "raw": False}
    facts = {k: v for k, v in changes.items() if k not in sizes and k not in options}
    given = {**sizes, **options, **{k: v for k, v in changes.items() if k not in facts}}
    kernel = dataclasses.replace(
        next(iter(raw_program([EXIT]).kernels.values())),
        **{"num_regs": 16, "num_barriers": 0, **facts},
    )
    return plan(
        kernel,
        given["arch"],
        given["grid"],
        given["block"],
        given["shared_dynamic"],
        given["stack_bytes"],
        given["stack_entries"],
        calls=given["calls"],
        raw=given["raw"],
    )


@pytest.mark.parametrize(
    ("changes", "resident"),
    [
        ({}, 32),
        ({"block": (64, 1, 1)}, 32),
        ({"block": (96, 1, 1)}, 21),
        ({"block": (1024, 1, 1)}, 2),
        ({"block": (33, 1, 1)}, 32),
        ({"num_regs": 255}, 8),
        ({"num_regs": 33, "block": (256, 1, 1)}, 6),
        ({"shared_static_bytes": 48 << 10}, 1),
        ({"shared_static_bytes": 48 << 10, "arch": "sm_52"}, 2),
        ({"shared_static_bytes": 1}, 32),
        ({"shared_static_bytes": 4096, "shared_dynamic": 1}, 15),
        ({"num_barriers": 16}, 32),
    ],
)
def test_ctas_per_sm(changes: dict[str, Any], resident: int) -> None:
    assert planned(**changes).ctas_per_sm == resident


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"grid": (0, 1, 1)}, "grid"),
        ({"grid": (1, 65536, 1)}, "grid"),
        ({"block": (1, 1, 65)}, "block"),
        ({"block": (1024, 2, 1)}, "2048 is more than 1024 threads"),
        ({"shared_dynamic": -1}, "-1 bytes"),
        ({"shared_dynamic": (48 << 10) + 1}, "shared memory of a block"),
        ({"num_regs": 65, "block": (1024, 1, 1)}, "registers of a block"),
        ({"num_regs": 64, "block": (1024, 1, 1), "arch": "sm_53"}, "registers of a block"),
        ({"max_threads": (64, 1, 1), "block": (65, 1, 1)}, "launch bound"),
        ({"required_threads": (64, 1, 1)}, "must be launched with block"),
        ({"frame_bytes": 1 << 20}, "local memory of a thread"),
    ],
)
def test_launches_that_do_not_fit(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        planned(**changes)


def test_local_stack_sizes() -> None:
    kernel = next(iter(sample("local_array").kernels.values()))
    assert local_bytes(kernel, None, calls=False) == 224
    assert local_bytes(kernel, None, calls=True) == 1024
    assert local_bytes(kernel, 4000, calls=False) == 4000
    unknown = dataclasses.replace(kernel, min_stack_bytes=None)
    assert local_bytes(unknown, None, calls=False) == 1024
    assert local_bytes(unknown, 100, calls=False) == 224


def words_of(grid: Grid) -> dict[int, int]:
    data = grid.engine.constants.banks[0].data.tobytes()
    return {n: struct.unpack_from("<I", data, n)[0] for n in range(0, len(data) - 3, 4)}


def test_constant_bank_0_on_sm_50() -> None:
    program = sample("saxpy")
    gpu = Gpu("sm_50")
    params = bytes(range(24))
    module = gpu.load(program)
    module.launch("saxpy", (1, 1, 1), (1, 1, 1), params)
    grid = module.launch("saxpy", (4, 5, 6), (7, 8, 9), params, shared_bytes=96)
    words = words_of(grid)
    assert words[0x00] == gpu.layout.shared_window
    assert words[0x04] == gpu.layout.local_window
    assert [words[n] for n in range(0x08, 0x20, 4)] == [7, 8, 9, 4, 5, 6]
    assert words[0x20] == WINDOW_BYTES
    assert words[0x28] == 1
    assert words[0xFC] == 96
    assert words[0x100] == 0
    assert grid.engine.constants.banks[0].data[0x140:0x158].tobytes() == params


def test_constant_bank_0_on_sm_60() -> None:
    program = sample("generic_ptr", "sm_60")
    gpu = Gpu("sm_60")
    grid = gpu.load(program).launch("generic_ptr", (1, 1, 1), (32, 1, 1), b"")
    words = words_of(grid)
    assert words[0x100] << 32 | words[0x00] == gpu.layout.shared_window
    assert words[0x104] << 32 | words[0x04] == gpu.layout.local_window
    assert words[0x108] == 0
    assert words[0x10C] != 0


def test_parameters_that_are_too_long_are_refused() -> None:
    module = Gpu("sm_50").load(sample("saxpy"))
    with pytest.raises(UsageError, match="25 parameter bytes"):
        module.launch("saxpy", (1, 1, 1), (1, 1, 1), bytes(25))
    with pytest.raises(UsageError, match="no kernel 'nope'"):
        module.launch("nope", (1, 1, 1), (1, 1, 1), b"")


def test_devices_that_do_not_exist() -> None:

    makes: tuple[Callable[[], Gpu], ...] = (
        lambda: Gpu("sm_30"),
        lambda: Gpu("sm_50", num_sms=0),
        lambda: Gpu("sm_50", quantum=0),
        lambda: Gpu("sm_50", heap_bytes=-1),
        lambda: Gpu("sm_50", stack_bytes=-1),
        lambda: Gpu("sm_50", seed=-1),
    )
    for make in makes:
        with pytest.raises(UsageError):
            make()


def test_code_runs_on_later_chips_of_the_same_major() -> None:
    assert runs_on("sm_50", "sm_52")
    assert not runs_on("sm_52", "sm_50")
    assert not runs_on("sm_50", "sm_60")
    # `sm_90` and `sm_90a` are one GPU; what asks for its own features runs on no other.
    assert runs_on("sm_90a", "sm_90")
    assert runs_on("sm_90", "sm_90a")
    assert runs_on("sm_100f", "sm_103")
    assert not runs_on("sm_100a", "sm_103")
    assert not runs_on("sm_103f", "sm_100")
    with pytest.raises(UsageError, match="sm_50 code does not run on sm_60"):
        Gpu("sm_60").load(sample("saxpy"))
    assert Gpu("sm_53").load(sample("saxpy")).image.entries["saxpy"]


# ---- residency ---------------------------------------------------------------------------


def test_ctas_are_spread_and_replaced_in_order() -> None:
    grid = launch(raw_program([EXIT], regs=255), block=256, grid=7, num_sms=2)
    assert grid.config.ctas_per_sm == 1
    assert [(c.sm, c.block[0]) for c in grid.ctas()] == [(0, 0), (1, 1)]
    order = []
    while not grid.finished:
        cta = next(grid.ctas())
        order.append(cta.block[0])
        for warp in list(cta.warps):
            grid.step_warp(warp)
    assert order == [0, 2, 3, 4, 5, 6, 1]
    assert (grid.ctas_done, grid.ctas_waiting) == (7, 0)


def test_state_grows_with_resident_warps_only() -> None:
    grid = launch(raw_program([bra(0, 0)]), grid=1 << 30, num_sms=2)
    assert len(list(grid.warps())) == 2 * 32
    assert grid.ctas_waiting == (1 << 30) - 64


def test_warps_know_their_threads() -> None:
    program = raw_program([EXIT])
    grid = Gpu("sm_50", 1).load(program).launch("test", (2, 3, 1), (5, 4, 3), b"")
    cta = grid.find_block((1, 2, 0))
    assert cta is not None
    assert grid.find_block((2, 0, 0)) is None
    first, second = cta.warps
    assert first.valid == 0xFFFFFFFF
    assert second.valid == (1 << 28) - 1
    for n in range(60):
        warp, lane = cta.warps[n // 32], n % 32
        assert warp.thread(lane) == (n % 5, n // 5 % 4, n // 20)
    assert [w.slot for w in first.cta.warps] == [first.slot, first.slot + 1]


def test_slots_are_reused() -> None:
    grid = launch(raw_program([EXIT]), block=1024, grid=5, num_sms=1)
    assert [w.slot for w in grid.warps()] == list(range(64))
    assert grid.run().kind == "exited"
    assert grid.total == 5 * 32


# ---- special registers -------------------------------------------------------------------


def sregs(grid: Grid, number: int) -> list[int]:
    """SR`number` in the lanes of the second warp."""
    warp = list(grid.warps())[1]
    value = grid.engine.sregs.read(warp, grid.sms[warp.sm], number)
    return value.tolist() if len(value) == 32 else [int(value[0])] * 32


def test_special_registers() -> None:
    program = raw_program([EXIT], regs=20, shared=300)
    grid = Gpu("sm_50", 3).load(program).launch("test", (9, 1, 1), (16, 4, 1), b"")
    lanes = range(32)
    warp = list(grid.warps())[1]
    assert (warp.sm, warp.slot, warp.cta.slot) == (0, 1, 0)
    expected = {
        0: list(lanes),
        2: [32 | 64 << 8 | 3 << 20 | 2 << 29] * 32,
        3: [n | 1 << 8 for n in lanes],
        32: [(n % 16) | (2 + n // 16) << 16 for n in lanes],
        33: [n % 16 for n in lanes],
        34: [2 + n // 16 for n in lanes],
        35: [0] * 32,
        37: [0] * 32,
        40: [64] * 32,
        42: [64] * 32,
        49: [1 << 24] * 32,
        50: [384] * 32,
        51: [32] * 32,
        54: [0] * 32,
        55: [(1 << 24) - 1024] * 32,
        56: [1 << n for n in lanes],
        57: [(1 << n) - 1 for n in lanes],
        58: [(2 << n) - 1 for n in lanes],
        59: [0xFFFFFFFF & ~((2 << n) - 1) for n in lanes],
        60: [0xFFFFFFFF & ~((1 << n) - 1) for n in lanes],
        61: [24] * 32,
        200: [0] * 32,
    }
    for number, values in expected.items():
        assert sregs(grid, number) == values, number
    assert sregs(grid, 48)[0] == grid.gpu.layout.shared_window
    assert sregs(grid, 52)[0] == grid.gpu.layout.local_window


def test_window_registers_of_sm_60() -> None:
    gpu = Gpu("sm_60")
    grid = gpu.load(sample("generic_ptr", "sm_60")).launch(
        "generic_ptr", (1, 1, 1), (64, 1, 1), b""
    )
    assert sregs(grid, 47)[0] << 32 | sregs(grid, 48)[0] == gpu.layout.shared_window
    assert sregs(grid, 46)[0] << 32 | sregs(grid, 52)[0] == gpu.layout.local_window


def test_clocks_count_instructions_and_only_coupled_registers_read_by_cs2r() -> None:
    grid = launch(raw_program([bra(0, 0)]), block=64, num_sms=2, grid=2)
    grid.run(max_instructions=1000)
    total = [sm.issued for sm in grid.sms]
    assert sum(total) == 1000
    file = grid.engine.sregs
    for warp in grid.warps():
        sm = grid.sms[warp.sm]
        sm.clock_base = sm.issued - warp.executed
        assert file.read(warp, sm, 80).item() == total[warp.sm]
        assert file.read_coupled(warp, sm, 80).item() == total[warp.sm]
        assert file.read(warp, sm, 82).item() == 1000 // 32 * 32
        assert file.read_coupled(warp, sm, 33).tolist() == [0]


def test_every_architecture_has_limits() -> None:
    from gpudbg.formats.program import SUPPORTED_ARCHS

    assert {arch.rstrip("af") for arch in SUPPORTED_ARCHS} <= set(LIMITS)
    assert all(np.log2(limits.registers) == 16 for limits in LIMITS.values())
