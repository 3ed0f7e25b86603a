"""Call frames of lanes with return addresses in registers, against calls counted while they run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.architectures import real
from gpudbg.bits import lanes_of
from gpudbg.debug.values.backtrace import call_depth, frames
from gpudbg.debug.values.lane_groups import group_of
from gpudbg.debug.values.operands import instruction_at
from gpudbg.debug.values.unwinding import return_addresses
from gpudbg.errors import UsageError
from gpudbg.launch.flags import launch_parser
from gpudbg.toolchain.options import word_options
from tests import variants
from tests.debug.modern import launched

DATA = Path(__file__).parent / "data"

ARCHS = ("sm_75", "sm_80", "sm_90", "sm_120")


@pytest.mark.full(instead="test_frames_and_finish_follow_the_focused_lane")
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", ["recursion", "func_ptr"])
def test_return_addresses_are_those_of_the_calls_that_were_made(name: str, arch: str) -> None:
    """Lanes call at different times and to different depths; each has its own addresses."""
    session = launched(name, arch)
    warp = session.warp().state
    calls: list[list[int]] = [[] for _ in range(32)]
    deepest = 0
    for number in range(1000):
        pc, lanes = warp.pc, warp.active
        insn = instruction_at(session, pc)
        assert insn is not None
        assert insn.op not in ("CALL", "RET") or insn.unconditional
        if session.grid.step_warp(warp).kind != "step" or warp.status == "exited":
            break
        for lane in lanes_of(lanes):
            if insn.op == "CALL":
                calls[lane].append(pc + 16)
            elif insn.op == "RET":
                calls[lane].pop()
        deepest = max(deepest, *map(len, calls))
        if number % 11:
            continue
        for lane in lanes_of(warp.active | 1 & warp.valid & ~warp.exited):
            group = group_of(warp, lane)
            assert group is not None
            found = return_addresses(session.symbols, warp, lane, group.pc)
            assert found == calls[lane][::-1], (hex(group.pc), lane)
    assert deepest > (2 if name == "recursion" else 0)


def test_frames_and_finish_follow_the_focused_lane() -> None:
    """`finish` ends where the lane's own call returns, whatever its siblings do meanwhile."""
    session = launched("recursion", "sm_80", engine="step")
    session.command("break ack")
    session.cont()
    session.command("delete")
    session.command("lane 5")
    for _ in range(variants.number(1, 3)):
        before = frames(session)
        depth = call_depth(session, session.warp().state)
        assert before[-1].function == "recursion"
        assert before[0].physical == depth == len(before) - 1
        if depth == 0:
            break
        session.command("finish")
        assert session.warp().state.active >> 5 & 1
        after = frames(session)
        assert len(after) < len(before)
        assert after[0].pc == before[len(before) - len(after)].pc
    assert session.focus is not None
    assert session.focus.lane == 5


def test_architectures_by_the_names_compilers_have() -> None:
    """`compute_90` means sm_90, as a flag and in Python; what there is not is named."""
    assert real("compute_90a") == "sm_90a"
    parser = launch_parser()
    assert parser.parse_args(["--arch", "compute_80"]).arch == "sm_80"
    with pytest.raises(UsageError, match="unknown architecture 'compute_81'"):
        parser.parse_args(["--arch", "compute_81"])
    assert word_options(["-arch=compute_86"]).arch == "sm_86"


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("arch", ["sm_52", "sm_80"])
@pytest.mark.parametrize("engine", ["step", "run"])
def test_a_function_of_rust_has_its_caller_and_no_arguments_of_the_kernel(
    arch: str, engine: str
) -> None:
    """Its return address comes in one register that nothing writes, and leaves by a copy of it."""
    text = (DATA / "facts.ptx").read_text().replace("sm_80", arch)
    program = gpudbg.compile(text, arch=arch, engine=engine)
    out = program.device.buffer(np.zeros(10, np.uint32))
    session = program.launch("facts", grid=1, block=10, args=[out])
    session.break_at("fact")
    assert session.cont().kind == "breakpoint"
    assert [(f.function, f.own) for f in frames(session)] == [("fact", False), ("facts", True)]
    assert session.command("info args").text.startswith("No symbol table info available for fact.")
    stop = session.finish()
    assert (frames(session)[0].function, stop.kind) == ("facts", "step")
    session.run().check()
    assert out.array().tolist() == [1, 1, 2, 6, 24, 120, 720, 5040, 40320, 362880]
