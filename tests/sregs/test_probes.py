"""PTX probes compiled by ptxas: every %register of every thread against what it must be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.regs.ptx import PTX_REGISTERS

HERE = Path(__file__).resolve().parent / "cubin"
NAMES = json.loads((HERE / "names.json").read_text())
GRID, BLOCK = (3, 2, 2), (10, 3, 2)
THREADS = BLOCK[0] * BLOCK[1] * BLOCK[2]
CTAS = GRID[0] * GRID[1] * GRID[2]
DYNAMIC = 300


def coordinates() -> dict[str, np.ndarray]:
    """By thread of the grid: index in the block, block, lane."""
    flat = np.arange(THREADS * CTAS)
    thread, cta = flat % THREADS, flat // THREADS
    return {"thread": thread, "cta": cta, "lane": thread % 32, "warp": thread // 32}


def expected(name: str) -> Any:
    """The values of a register; None where only a relation is known."""
    at = coordinates()
    base, _, axis = name.lstrip("%").partition(".")
    dims = {"tid": (at["thread"], BLOCK), "ctaid": (at["cta"], GRID)}
    if base in dims:
        number, (x, y, _) = dims[base]
        return {"x": number % x, "y": number // x % y, "z": number // (x * y), "w": 0}[axis]
    if base in ("ntid", "nctaid"):
        sizes = BLOCK if base == "ntid" else GRID
        return {"x": sizes[0], "y": sizes[1], "z": sizes[2], "w": 0}[axis]
    bit = 1 << at["lane"]
    every = {
        "laneid": at["lane"],
        "nwarpid": 64,
        "nsmid": 2,
        "gridid": 0,
        "lanemask_eq": bit,
        "lanemask_lt": bit - 1,
        "lanemask_le": 2 * bit - 1,
        "lanemask_gt": 0xFFFFFFFF & ~(2 * bit - 1),
        "lanemask_ge": 0xFFFFFFFF & ~(bit - 1),
        "total_smem_size": -(-(100 + DYNAMIC) // 128) * 128,
        "dynamic_smem_size": DYNAMIC,
        "clock_hi": 0,
        "globaltimer_hi": 0,
        "current_graph_exec": 0,
    }
    if base in ("envreg1", "envreg2"):
        return None
    if base.startswith("envreg"):
        return 0
    return every.get(base)


@pytest.fixture(scope="module", params=["sm_50", "sm_53", "sm_60", "sm_61"])
def probe(request: pytest.FixtureRequest) -> dict[str, np.ndarray]:
    """Register name -> value by thread of the grid."""
    program = gpudbg.load(HERE / f"probe.{request.param}.cubin", num_sms=2)
    out = np.zeros((len(NAMES), THREADS * CTAS), np.uint64)
    session = program.launch("probe", GRID, BLOCK, [out], shared_bytes=DYNAMIC)
    assert session.run().kind == "exited"
    return dict(zip(NAMES, session.buffer(0), strict=True))


@pytest.mark.in_turn(6)
@pytest.mark.parametrize("name", [n for n in NAMES if expected(n) is not None])
def test_value(probe: dict[str, np.ndarray], name: str) -> None:
    wanted = np.broadcast_to(np.asarray(expected(name), np.uint64), probe[name].shape)
    assert probe[name].tolist() == wanted.tolist()


def test_where_warps_are(probe: dict[str, np.ndarray]) -> None:
    at = coordinates()
    # CTAs go to the SMs in turn; a CTA's warps have slots of their own on it.
    assert probe["%smid"].tolist() == (at["cta"] % 2).tolist()
    slots = probe["%warpid"].reshape(CTAS, THREADS)
    for cta in range(CTAS):
        assert len(set(slots[cta][:32].tolist())) == 1
        assert len(set(slots[cta].tolist())) == 2
    assert slots.max() < 64


def test_clocks_grow(probe: dict[str, np.ndarray]) -> None:
    assert (probe["%clock64"] > probe["%clock"]).all()
    assert (probe["%globaltimer"] % 32 == 0).all()
    assert (probe["%globaltimer_lo"] >= probe["%globaltimer"]).all()


def test_counters_count(probe: dict[str, np.ndarray]) -> None:
    for n in range(8):
        assert (probe[f"%pm{n}_64"] >= probe[f"%pm{n}"]).all(), n
    # Warp instructions and stores so far, launched warps and CTAs.
    assert probe["%pm0"].min() > 0
    assert probe["%pm1"].min() > 0
    assert probe["%pm3"].min() > 0
    assert probe["%pm7"].min() > 0
    assert probe["%pm4"].max() == probe["%pm6"].max() == 0


def test_every_ptx_register_was_probed() -> None:
    here = [row.name for row in PTX_REGISTERS if row.lowerings[0].since <= (5, 0)]
    assert here == NAMES


@pytest.mark.parametrize("arch", ["sm_50", "sm_61", "sm_80"])
def test_info_ptx_and_expressions_agree_with_the_probe(arch: str) -> None:
    program = gpudbg.load(HERE / f"probe.{arch}.cubin", num_sms=2)
    out = np.zeros((len(NAMES), THREADS * CTAS), np.uint64)
    session = program.launch("probe", GRID, BLOCK, [out], shared_bytes=DYNAMIC)
    session.set_focus("block (1,0,0) thread (3,1,1)")
    assert session.focus is not None
    lane = session.focus.lane
    thread = 3 + 10 * (1 + 3)
    for name in NAMES:
        wanted = expected(name)
        if wanted is None:
            continue
        flat = np.broadcast_to(np.asarray(wanted), (THREADS * CTAS,))
        value = session.evaluate(name).values[lane]
        assert int(value) == int(flat[THREADS + thread]), name
    shown = {row["name"]: row["value"] for row in session.execute("info ptx")}
    assert shown["%tid.x"] == "3"
    assert shown["%total_smem_size"] == "512"


@pytest.mark.parametrize("arch", ["sm_50", "sm_61", "sm_80"])
def test_a_kernel_that_reads_envreg2_has_the_workspace_of_a_grids_barrier(arch: str) -> None:
    program = gpudbg.load(HERE / f"probe.{arch}.cubin", num_sms=2)
    out = np.zeros((len(NAMES), THREADS * CTAS), np.uint64)
    session = program.launch("probe", GRID, BLOCK, [out], shared_bytes=DYNAMIC)
    high, low = (int(session.evaluate(name).values[0]) for name in ("%envreg1", "%envreg2"))
    assert session.grid.gpu.memory.find(high << 32 | low) is not None
