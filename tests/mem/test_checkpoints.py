"""What a restart goes back to: kept when somebody writes, by whichever engine, for every launch."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.errors import UsageError
from gpudbg.launch import prepare as launching
from gpudbg.mem import device as device_module
from gpudbg.mem.device import DeviceMemory
from gpudbg.mem.windows import SM_5X
from tests import kernel_cases as kc
from tests.engine import machines

SAXPY = Path(__file__).resolve().parents[1] / "data" / "bench" / "cubin" / "saxpy.sm_50.cubin"
COUNT = 4096
KERNELS = (
    "atomics_global", "generic_ptr", "memory_widths", "saxpy", "surface_rw", "transpose",
)  # fmt: skip
"""Every form of access that writes to global memory."""


@pytest.fixture(params=["step", "run"])
def program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """saxpy, which loads y[i] and stores it again; nothing is copied before it is written to."""
    monkeypatch.setattr(launching, "SMALL_BYTES", -1)
    return gpudbg.load(str(SAXPY), engine=request.param)


def _arguments(program: Any, count: int = COUNT) -> tuple[Any, Any, list[Any]]:
    x = program.device.buffer(np.arange(count, dtype=np.float32))
    y = program.device.buffer(np.ones(count, np.float32))
    return x, y, [x, y, np.int32(count), np.float32(2)]


def _launch(program: Any, arguments: list[Any], count: int = COUNT) -> Any:
    return program.launch(grid=count // 256, block=256, args=arguments)


def _kept(session: Any) -> int:
    return int(session.launch.beginnings.checkpoint.nbytes)


def test_only_what_is_written_is_kept(program: Any) -> None:
    """Not what is there beside it, nor what is only read."""
    beside = program.device.buffer(np.zeros(1 << 20, np.uint8))
    _, y, arguments = _arguments(program)
    session = _launch(program, arguments)
    assert _kept(session) == 0
    session.run()
    assert _kept(session) == y.nbytes
    assert (y.array() == 2 * np.arange(COUNT) + 1).all()
    assert not beside.array().any()


def test_restarts(program: Any) -> None:
    """Back to what was there, as often as one likes, whoever wrote: kernel, host or debugger."""
    x, y, arguments = _arguments(program)
    session = _launch(program, arguments)
    for _ in range(2):
        session.run()
        x.write(np.zeros(COUNT, np.float32))
        session.restart()
        assert (y.array() == 1).all()
        assert (x.array() == np.arange(COUNT)).all()
    address = y.address
    session.execute(f"set var *(@global float*)0x{address:x} = 7")
    assert y.array()[0] == 7
    session.restart()
    assert (y.array() == 1).all()


def test_launches_beside_each_other(program: Any) -> None:
    """Each goes back to its own beginning; one copy serves those that began with the same."""
    _, y, arguments = _arguments(program)
    first, second = _launch(program, arguments), _launch(program, arguments)
    first.run()
    contents = [s.launch.beginnings.checkpoint.contents[y.allocation] for s in (first, second)]
    assert contents[0] is contents[1]
    third = _launch(program, arguments)
    third.run()
    ramp = 2 * np.arange(COUNT)
    assert (y.array() == 2 * ramp + 1).all()
    third.restart()
    assert (y.array() == ramp + 1).all()
    second.restart()
    assert (y.array() == 1).all()
    third.restart()
    assert (y.array() == ramp + 1).all()
    first.restart()
    assert (y.array() == 1).all()


def test_a_store_that_never_comes(program: Any) -> None:
    """Compiled code asks for memory it only loads, where a store relies on it: no more than once
    an allocation, though the store is predicated off in every warp."""
    _, y, arguments = _arguments(program)
    arguments[2] = np.int32(0)
    session = _launch(program, arguments)
    session.run()
    engine = session.grid.fast and session.grid.fast.engine
    assert engine is None or sum(engine.exits.values()) <= 2
    assert (y.array() == 1).all()


def test_launches_do_not_look_at_memory(program: Any) -> None:
    """A launch looks at no allocation but its own, however many there are."""
    _, _, arguments = _arguments(program)
    _launch(program, arguments).run()
    others = [program.device.buffer(np.zeros(64, np.uint8)) for _ in range(500)]
    rows = program.device.gpu.memory.table()
    session = _launch(program, arguments)
    assert program.device.gpu.memory.table().base is rows.base
    assert len(others) < len(rows)
    session.run()


def test_freed_memory() -> None:
    """Its bytes are given back, messages know of it for a while, and its place last."""
    memory = DeviceMemory(SM_5X)
    made = [memory.allocate(100, f"buffer {n}") for n in range(4)]
    memory.free(made[1])
    assert made[1].data.size == 0
    assert memory.find(made[1].base) is None
    assert memory.describe(made[1].base).endswith("buffer 1 (100 bytes), which was freed")
    with pytest.raises(UsageError, match=r"buffer 1 at 0x[0-9a-f]+ was freed before"):
        memory.free(made[1])
    assert memory.live == 3
    for _ in range(3 * device_module.MOST_FREED):
        memory.free(memory.allocate(100, "short-lived"))
    assert len(list(memory.allocations(freed=True))) <= 3 + 2 * device_module.MOST_FREED
    assert [a.name for a in memory.allocations()] == ["buffer 0", "buffer 2", "buffer 3"]
    table = memory.table()
    assert {int(row[0]) for row in table if row[1]} == {a.base for a in memory.allocations()}


def test_addresses_come_again_when_there_are_no_others() -> None:
    """A full address space is looked through for gaps."""
    memory = DeviceMemory(SM_5X)
    room = (1 << SM_5X.bits) - SM_5X.heap_base
    memory.next_address += room - (4 << 20)
    last = memory.allocate(100, "last")
    gap = memory.allocate(0, "gap")
    with pytest.raises(UsageError, match="no room"):
        memory.allocate(room, "too much")
    first = memory.allocate(1 << 20, "first")
    assert first.base < last.base < gap.base or first.base > gap.base
    more = [memory.allocate(1 << 20, f"more {n}") for n in range(8)]
    bases = [a.base for a in memory.allocations()]
    assert bases == sorted(bases)
    assert all(memory.find(a.base + 5) is a for a in more)
    for a, b in pairwise(bases):
        assert memory.find(a).end <= b  # type: ignore[union-attr]
    memory.write(more[3].base, b"\1\2")
    assert memory.read(more[3].base, 3) == b"\1\2\0"


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_come_back(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code asks before it writes, whatever the form of its store: all that changed was
    kept, and is back after a restart."""
    monkeypatch.setattr(launching, "SMALL_BYTES", -1)
    case = next(iter(kc.load(name, "sm_50")))
    session = machines.launch(case, "run")
    memory = session.grid.gpu.memory
    before = {a.base: a.data.tobytes() for a in memory.allocations()}
    session.run(max_instructions=300_000)
    changed = {
        a.base
        for a in memory.allocations()
        if a.base in before and a.data.tobytes() != before[a.base]
    }
    kept = {a.base for a in session.launch.beginnings.checkpoint.contents}
    assert changed
    assert changed <= kept
    session.restart()
    after = {a.base: a.data.tobytes() for a in memory.allocations() if a.base in before}
    assert after == before
