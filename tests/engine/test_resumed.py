"""Code for warps that go on in the middle of a trace: short, and with calls of the library."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.sm.engines.llvm import job
from gpudbg.sm.engines.llvm.run import RunEngine

CUBINS = Path(__file__).parents[1] / "data" / "bench" / "cubin"


def emitted(
    name: str, block: tuple[int, int, int], traced: tuple[str, ...] = ()
) -> job.EmittedVersion:
    """Code for whole warps of a kernel of the bench."""
    program = gpudbg.load(str(CUBINS / f"{name}.sm_50.cubin"), engine="step")
    kernel = program.kernels[name]
    grid = program.module.launch(name, (2, 1, 1), block, bytes(kernel.param_bytes), 0, None)
    made = RunEngine(grid.launched, program.module.image.entries[name]).program
    work = made._job(True, 1)[0]
    return job.emit(replace(work, options=replace(work.options, traced=traced)))


def _behind(version: job.EmittedVersion) -> int:
    """A place behind the bounds test of the stencil: warps begin there only when a turn has ended
    there."""
    listing = version.emitter.listing
    found = [head for head in sorted(listing.heads) if listing.only_resumed(head)]
    assert listing.entry in found
    return min(head for head in found if head != listing.entry)


def test_what_is_only_resumed_has_no_block() -> None:
    """The code for any lanes goes on there."""
    version = emitted("stencil", (16, 16, 1))
    place = _behind(version)
    assert place in version.emitter.left_out
    assert f"i64 {place}, label %rest" in version.text
    assert f"\nb{place}:\n" not in version.text


def test_loops_have_all_blocks() -> None:
    """A turn ends anywhere in a loop, again and again."""
    version = emitted("mandelbrot", (16, 16, 1))
    listing = version.emitter.listing
    assert any(listing.only_resumed(head) and listing.repeats(head) for head in listing.heads)
    assert not any(map(listing.repeats, version.emitter.left_out))


def test_with_observers_it_is_short() -> None:
    """Whoever looks, stops, and goes on in the middle: a block up to its branch, whose accesses are
    not done in place."""
    version = emitted("stencil", (16, 16, 1), ("instructions",))
    place = _behind(version)
    text = version.text.split(f"\nb{place}:\n")[1].split("\nb")[0]
    assert text.count("<16 x i32>") == 0
    assert version.emitter.blocks.extents[place] - place < 8 * 32


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
