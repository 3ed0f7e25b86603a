"""What is said of warps that wait for mbarriers and clusters; deadlocks are found at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg

CUBIN = Path(__file__).resolve().parent / "cubin"


def launched(name: str, kernel: str, **given: Any) -> Any:
    program = gpudbg.load(str(CUBIN / f"{name}.cubin"), engine="step")
    return program.launch(kernel, **given)


def test_bytes_that_never_come_are_a_deadlock() -> None:
    session = launched("hangs", "bytes", grid=1, block=64, args=[np.zeros(64, np.int32)] * 2)
    stop = session.run()
    assert (stop.kind, stop.hang) == ("deadlock", True)
    assert session.grid.total < 20_000
    text = "\n".join(stop.details) if hasattr(stop, "details") else "\n".join(stop.detail)
    assert "mbarrier shared 0x" in text
    assert "phase 0 goes on: 16 bytes are to come" in text
    rows = session.command("info mbarriers").data
    (row,) = rows if isinstance(rows, list) else rows["rows"]
    assert (row["phase"], row["pending"], row["bytes"]) == (0, 0, 16)


@pytest.mark.full(instead="test_bytes_that_never_come_are_a_deadlock")
def test_a_block_that_does_not_come_to_its_cluster() -> None:
    session = launched("hangs", "cluster", grid=2, block=64, args=[np.zeros(1, np.int32)])
    stop = session.run()
    assert stop.kind == "deadlock"
    assert "waits for its cluster: 3 of 4 warps arrived" in "\n".join(stop.detail)
    text = session.command("info warps").text
    assert "not there: warp 1 of block (1,0,0)" in text
    assert "waits for its cluster" in session.command("info barriers").text


def test_memory_of_the_cluster_is_looked_at_and_watched() -> None:
    values = np.arange(256, dtype=np.int32)
    args = [values, np.zeros(256, np.int32)]
    session = launched("bulk", "neighbour", grid=2, block=64, args=args)
    # The neighbour's copy reaches r, which begins behind s.
    session.command("watch *(@shared int*)0x508")
    stop = session.cont()
    assert stop.kind == "breakpoint"
    assert session.warp().state.cta.block == (1, 0, 0)
    assert session.command("print *(@shared int*)0x508").text.endswith("= 6")
    session.command("block 0,0,0")
    assert session.command("print *(@shared int*)0x508").text.endswith("= 198")
    # The other block's word by its address in the cluster.
    assert session.command("print *(@shared int*)0x1000508").text.endswith("= 6")
    assert session.cont().kind == "exited"


def test_stepping_over_a_cluster_barrier() -> None:
    args = [np.zeros(256, np.int32)] * 2
    session = launched("bulk", "neighbour", grid=2, block=64, args=args)
    while "UCGABAR_WAIT" not in session.command("x/i $pc").text:
        assert session.step().kind == "step"
    assert session.step(2).kind == "step"
    assert session.warp().state.cta.cluster.phase == 1


def test_stepping_through_a_wait_lets_the_others_run() -> None:
    """The consumers' warp is stepped; the producer's copies come meanwhile."""
    values = np.arange(512, dtype=np.int32)
    session = launched(
        "barriers", "roles", grid=1, block=256, args=[values, np.zeros(128, np.int32)]
    )
    session.command("thread 128")
    warp = session.warp().state
    for _ in range(40):
        if warp.exited or session.step(50).kind != "step":
            break
    assert warp.exited == 0xFFFFFFFF
