"""Launches of a host program begin again as those of a program do."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.hosting.launching import HostLaunch, session_of
from gpudbg.hosting.process import HostFunction, HostModule, LaunchRequest

CUBIN = Path(__file__).resolve().parents[1] / "sm/data/syscalls.sm_61.cubin"


@pytest.mark.parametrize("engine", ["step", "run"])
def test_the_kernels_heap_is_as_it_was(engine: str) -> None:
    """What `malloc` gave before a restart is free again."""
    loaded = gpudbg.load(CUBIN, engine=engine)
    pointers, out = (loaded.device.buffer(np.zeros(32, t)) for t in (np.uint64, np.int32))
    params = struct.pack("<QQ", pointers.address, out.address)
    function = HostFunction(HostModule(1, loaded, {}), loaded.kernels["mal"], 0)
    request = LaunchRequest(function, (1, 1, 1), (32, 1, 1), None, 0, False, params, 1)
    process: Any = None
    heap = loaded.device.gpu.heap
    with session_of(HostLaunch(process, request)) as session:
        while not heap.blocks:
            assert session.run(max_instructions=1).kind == "limit"
        tick, given = session.tick, set(heap.blocks)
        session.restart()
        assert not heap.blocks
        while session.tick < tick:
            session.run(max_instructions=1)
        assert len(heap.blocks) == len(given)
        assert session.run().kind == "exited"
    assert (heap.used, heap.blocks) == (0, set())
