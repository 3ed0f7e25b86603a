"""Large allocations: contents kept for a restart without a second copy, and what launches need."""

from __future__ import annotations

import math
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.history import pace
from gpudbg.mem import pages
from gpudbg.mem.store import ByteStore
from gpudbg.sm.engines.llvm.program import CompiledProgram

SAXPY = Path(__file__).resolve().parents[1] / "data" / "bench" / "cubin" / "saxpy.sm_50.cubin"
MIB = 1 << 20
linux = pytest.mark.skipif(sys.platform != "linux", reason="memory files are Linux's")


@pytest.fixture(params=["pages", "copies"])
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ByteStore:
    """Three pieces and a bit, in pages or as an array."""
    if request.param == "pages" and sys.platform != "linux":
        pytest.skip("memory files are Linux's")
    monkeypatch.setattr(pages, "LARGE", 1 if request.param == "pages" else 1 << 60)
    made = ByteStore(3 * MIB + 100)
    assert (made.pages is not None) == (request.param == "pages")
    return made


def test_contents_come_back(store: ByteStore) -> None:
    """Kept twice, at different contents: each restores its own."""
    store.data[:] = np.arange(store.size) % 251
    first, before = pages.Kept(store), store.data.copy()
    store.data[5], store.data[2 * MIB + 7] = 200, 201
    second, between = pages.Kept(store), store.data.copy()
    store.data[MIB:] = 9
    second.restore()
    assert np.array_equal(store.data, between)
    first.restore()
    assert np.array_equal(store.data, before)
    store.words[0] = 7
    assert store.data[0] == 7
    second.restore()
    assert np.array_equal(store.data, between)


def test_a_host_that_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the mapping cannot be changed, contents are copied."""
    monkeypatch.setattr(pages, "LARGE", 1)

    def refuse(address: int, size: int, fd: int) -> None:
        raise OSError("no")

    monkeypatch.setattr(pages, "_map_private", refuse)
    store = ByteStore(100)
    store.data[:] = 3
    kept = pages.Kept(store)
    store.data[:] = 4
    kept.restore()
    assert (store.data == 3).all()


def _peak(blocks: int, large: int) -> int:
    """Most bytes that a launch, a run and a restart held at once, beside device memory."""
    program = gpudbg.load(str(SAXPY), engine="run")
    big = program.device.buffer(np.zeros(large, np.uint8))
    y = program.device.buffer(np.ones(32 * blocks, np.float32))
    arguments = [big, y, np.int32(32 * blocks), np.float32(2)]
    program.launch(grid=1, block=32, args=[*arguments[:2], np.int32(0), np.float32(0)]).run()
    tracemalloc.start()
    try:
        session = program.launch(grid=blocks, block=32, args=arguments)
        assert session.run().kind == "exited"
        session.restart()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@linux
def test_a_launch_does_not_copy_large_buffers() -> None:
    assert _peak(64, 64 * MIB) < 8 * MIB


def test_state_grows_with_residents_not_with_the_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    # No checkpoint on the way and no better code made beside it, however slow the machine.
    monkeypatch.setattr(pace, "FIRST", math.inf)
    monkeypatch.setattr(CompiledProgram, "has_run", lambda self, seconds: None)
    small, large = _peak(128, MIB), _peak(4096, MIB)
    # The small buffer is kept as a copy: 4 bytes for each thread.
    assert large - small < 4 * 32 * 4096 + MIB // 4


@linux
def test_pages_that_are_written_again_cost_no_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host's copies stay when contents are kept again, and are not kept twice."""
    import resource

    monkeypatch.setattr(pages, "LARGE", 1)
    store = ByteStore(4 * MIB)
    faults, kept = [], None
    for n in range(4):
        # Nobody needs the one before.
        del kept
        kept = pages.Kept(store)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        store.data[:] = n
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    assert faults[0] >= 1024
    assert faults[3] < 100
    last = pages.Kept(store, kept)
    store.data[0] = 77
    again = pages.Kept(store, last)
    assert sum(map(len, again.held())) <= 4 * MIB
    last.restore()
    assert (store.data == 3).all()
