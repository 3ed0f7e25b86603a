"""Register liveness against runs: what is marked dead is never read, unwritten is never written."""

from __future__ import annotations

import pytest

from gpudbg.debug.liveness import Liveness, of_kernel
from tests.tui.helpers import DIVERGE, FIRST, open_kernel


def kernel(name="first"):
    return open_kernel(FIRST) if name == "first" else open_kernel("divergence", DIVERGE)


def lone_lane(seed):
    """One thread of a branchy kernel: what it executes is one path."""
    return open_kernel(
        "divergence",
        ["--grid", "1", "--block", "1", "--arg", f"in=u32[1]:lcg(seed={seed})",
         "--arg", "out=u32[1]:zeros", "--arg", "i32:1"],
    )  # fmt: skip


def simulated(live: Liveness, path: list[int]) -> None:
    """Along one path, a read needs its register live right after whoever wrote it."""
    for at, offset in enumerate(path):
        for register in range(255):
            if not live.reads[offset] >> register & 1:
                continue
            for before in range(at, 0, -1):
                assert live.live[path[before]] >> register & 1, hex(path[before])
                if live.writes[path[before - 1]] >> register & 1:
                    break


@pytest.mark.parametrize("seed", [1, 7, 241])
def test_along_a_run_every_read_register_was_live_since_its_write(seed):
    session = lone_lane(seed)
    live = of_kernel(session.symbols)
    path, written = [], 0
    for _ in range(150):
        state = session.warp().state
        offset = session.shown_pc(state.pc)
        path.append(offset)
        # What has been written on this path is never called untouched.
        assert not live.untouched([offset], 255) & written
        written |= live.writes[offset]
        session.step()
        if session.stop.finished:
            break
    assert len(path) > 10
    simulated(live, path)


def test_marks_of_a_register_are_those_of_the_instruction():
    live = of_kernel(kernel("divergence").symbols)
    # 0008 MOV R1, c[0x0][0x20]; 0010 S2R R0; 0048 ISETP R0; 00d0 @P0 BRA 0x1020
    assert live.mark(0x10, 0) == "^"
    assert live.mark(0x48, 0) == "v"
    assert live.mark(0x50, 0) == ":"
    assert live.mark(0x10, 5) == " "
    assert live.jumps[0xD0] == 0x1028
    assert live.untouched([0x10], 4) == 0b1101
    assert live.untouched([0x10, 0x48], 5) == 0b10000


def test_tokens_name_the_instruction_that_pushed_them():
    live = of_kernel(kernel("divergence").symbols)
    # 0070 PBK 0x11a0; 00d0 @P0 BRA 0x1020; 0148 SSY 0x1b8
    assert live.pushers("PBK", 0x11A0) == (0x70,)
    assert live.pushers("SSY", 0x1B8) == (0x148,)
    assert live.pushers("DIV", 0x1020) == (0xD0,)
    assert live.pushers("DIV", 0xD8) == (0xD0,)
    assert live.pushers("SSY", 0x8) == ()


def test_an_unknown_place_may_have_written_everything():
    live = of_kernel(kernel().symbols)
    assert live.untouched([0x7FF8], 16) == 0
