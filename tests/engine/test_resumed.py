"""Code for warps that go on in the middle of a trace: short, and with calls of the library."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.sm.engines.llvm import job
from gpudbg.sm.engines.llvm.run import RunEngine

CUBINS = Path(__file__).parents[1] / "data" / "bench" / "cubin"


def emitted(name: str, block: tuple[int, int, int]) -> job.EmittedVersion:
    """Code for whole warps of a kernel of the bench."""
    program = gpudbg.load(str(CUBINS / f"{name}.sm_50.cubin"), engine="step")
    kernel = program.kernels[name]
    grid = program.module.launch(name, (2, 1, 1), block, bytes(kernel.param_bytes), 0, None)
    made = RunEngine(grid.launched, program.module.image.entries[name]).program
    return job.emit(made._job(True, 1)[0])


def test_what_is_only_resumed_is_short() -> None:
    """Behind the bounds test of the stencil warps begin only when a turn has ended there: that
    block is emitted up to its branch, and its accesses are not done in place."""
    version = emitted("stencil", (16, 16, 1))
    listing = version.emitter.listing
    behind = [head for head in sorted(listing.heads) if listing.only_resumed(head)]
    assert listing.entry in behind
    first = min(head for head in behind if head != listing.entry)
    text = version.text.split(f"\nb{first}:\n")[1].split("\nb")[0]
    assert text.count("<16 x i32>") == 0
    assert version.emitter.blocks.extents[first] - first < 8 * 32


@pytest.mark.parametrize("name", ["reduce", "histogram"])
def test_what_barriers_let_go_is_not(name: str) -> None:
    """Warps that were released begin behind a barrier every time."""
    listing = emitted(name, (128, 1, 1)).emitter.listing
    barriers = [pc for pc, insn in listing.code.items() if insn.op == "BAR"]
    assert barriers
    assert not any(listing.only_resumed(listing.following(pc)) for pc in barriers)


def test_going_on_there_computes_the_same() -> None:
    """A run that stops behind the test in every warp has the outputs of one that does not."""
    data = np.arange(4096, dtype=np.float32)
    outputs = []
    for stops in (False, True):
        program = gpudbg.load(str(CUBINS / "stencil.sm_50.cubin"), engine="run")
        source, goal = program.device.buffer(data), program.device.buffer(np.zeros_like(data))
        arguments = [source, goal, np.int32(64), np.int32(64)]
        with program.launch(grid=(4, 4), block=(16, 16), args=arguments) as live:
            if stops:
                live.break_at("*0xa8")
            met = 0
            while live.cont().kind == "breakpoint":
                met += 1
            assert met == (128 if stops else 0)
            outputs.append(goal.array().copy())
    assert np.array_equal(outputs[0], outputs[1])
    assert outputs[0].any()
