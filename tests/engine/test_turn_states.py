"""State that goes round a loop is kept where a turn ends, and is there for whoever reads it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.sm.engines.llvm.ir.values import MaskHost
from gpudbg.sm.engines.llvm.kernel.emitter import Emitter
from gpudbg.sm.engines.llvm.kernel.lane_facts import claims_of
from gpudbg.sm.engines.llvm.kernel.listing import KernelListing
from gpudbg.sm.engines.llvm.kernel.options import EmitterOptions
from gpudbg.sm.engines.llvm.kernel.patterns import patterns_of
from tests.engine import fuzz_turns, machines

REDUCE = Path(__file__).parent.parent / "data" / "bench" / "cubin" / "reduce.sm_50.cubin"
LOOP = 0x90
"""Where the loop of the reduction begins."""


def _emitted(image: bytes) -> Emitter:
    """The emitter of a kernel's code for warps of whole lanes, when it has emitted it."""
    module = gpudbg.load(image, engine="step").module.image
    (entry,) = module.entries.values()
    listing = KernelListing.of(module, entry, (entry,))
    options = EmitterOptions(
        True,
        64,
        dict.fromkeys(range(4), 0x1000),
        wide_vectors=False,
        masks=MaskHost.PACKED,
        patterns=patterns_of(listing, 32),
        claims=claims_of(listing, 64, 32),
    )
    emitter = Emitter(listing, options)
    emitter.text("probe")
    return emitter


@pytest.mark.parametrize("arch", ["sm_50", "sm_80"])
@pytest.mark.parametrize("seed", range(1, 13))
def test_random_loops(seed: int, arch: str) -> None:
    assert fuzz_turns.difference(seed, arch) == ""


@pytest.mark.parametrize("arch", ["sm_50", "sm_80"])
def test_random_loops_keep_state(arch: str) -> None:
    """Of most of those programs; else they would show nothing."""
    images = [assemble_file(fuzz_turns.program(n, arch)[0]).cubin() for n in range(1, 13)]
    assert sum(bool(_emitted(image).turn_states.resumed) for image in images) >= 4


def test_what_is_not_stored() -> None:
    """Where a turn ends in the reduction's loop, what follows from its index is made by a function
    that nobody calls who goes on there."""
    emitter = _emitted(REDUCE.read_bytes())
    assert list(emitter.turn_states.resumed.values()) == ["resume1"]
    assert emitter.finals.functions[0].count("store <32 x i32>") >= 4


def test_a_breakpoint_set_where_a_turn_has_ended() -> None:
    """Warps that go on in a loop stop at a breakpoint that has been set there since."""
    program = gpudbg.load(REDUCE.read_bytes(), engine="run", num_sms=1)
    data = program.device.buffer(np.arange(1 << 15, dtype=np.uint32))
    out = program.device.buffer(np.zeros(8, np.uint32))
    session = program.launch("reduce", grid=2, block=256, args=[data, out, np.int32(1 << 15)])
    assert session.run(max_instructions=3000).kind == "limit"
    session.break_at(f"reduce+{LOOP:#x}")
    assert session.cont().kind == "breakpoint"


@pytest.mark.parametrize("count", [1500, 2777, 4001])
def test_registers_changed_where_a_turn_has_ended(count: int) -> None:
    """What a debugger writes there is what the loop goes on with."""
    states = []
    for engine in ("step", "run"):
        program = gpudbg.load(REDUCE.read_bytes(), engine=engine, num_sms=1)
        data = program.device.buffer(np.arange(1 << 15, dtype=np.uint32))
        out = program.device.buffer(np.zeros(8, np.uint32))
        session = program.launch("reduce", grid=2, block=256, args=[data, out, np.int32(1 << 15)])
        session.run(max_instructions=count)
        for warp in session.grid.warps():
            warp.R[3][5] += 7
        session.run()
        states.append(machines.grid_state(session.grid))
    assert machines.difference(states[0], states[1]) == ""
