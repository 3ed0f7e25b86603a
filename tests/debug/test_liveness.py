"""Register liveness against runs: what is marked dead is never read, unwritten is never written."""

from __future__ import annotations

from typing import Any

import pytest

from gpudbg.analysis.liveness import CALLS, PREDICATE, REGISTERS, Liveness, of_kernel
from gpudbg.analysis.local_liveness import LocalLiveness
from gpudbg.debug.session import DebugSession
from gpudbg.debug.symbols import Symbols
from gpudbg.formats.files import read_program
from gpudbg.formats.layout import relocate
from tests.launching import FIRST
from tests.narrowing import a, there
from tests.tui.helpers import CUBINS, DIVERGE, open_kernel
from tests.variants import number


def analysed(symbols: Symbols) -> Liveness:
    """The liveness of a short kernel: of all of it at once."""
    return a(Liveness, of_kernel(symbols.program, symbols.image, symbols.kernel))


def kernel(name: str = "first") -> DebugSession:
    return open_kernel(FIRST) if name == "first" else open_kernel("divergence", DIVERGE)


def lone_lane(seed: int) -> DebugSession:
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
def test_along_a_run_every_read_register_was_live_since_its_write(seed: int) -> None:
    session = lone_lane(seed)
    symbols = session.symbols
    live = analysed(symbols)
    path, written = [], 0
    for _ in range(150):
        state = session.warp().state
        offset = session.shown_pc(state.pc)
        path.append(offset)
        # What has been written on this path is never called untouched.
        assert not live.untouched([offset], 255) & written
        written |= live.writes[offset]
        session.step()
        if there(session.stop).finished:
            break
    assert len(path) > 10
    simulated(live, path)


def test_marks_of_a_register_are_those_of_the_instruction() -> None:
    symbols = kernel("divergence").symbols
    live = analysed(symbols)
    # 0008 MOV R1, c[0x0][0x20]; 0010 S2R R0; 0048 ISETP R0; 00d0 @P0 BRA 0x1020
    assert live.mark(0x10, 0) == "^"
    assert live.mark(0x48, 0) == "v"
    assert live.mark(0x50, 0) == ":"
    assert live.mark(0x10, 5) == " "
    assert live.jumps[0xD0] == 0x1028
    assert live.untouched([0x10], 4) & REGISTERS == 0b1101
    assert live.untouched([0x10, 0x48], 5) & REGISTERS == 0b10000
    # A predicate is written by the comparison before the branch that it guards.
    compared, others = 1 << PREDICATE, live.untouched([0xD0], 4) >> PREDICATE
    assert live.untouched([0x10], 4) & compared
    assert not live.untouched([0xD0], 4) & compared
    assert others, "nothing writes the last predicates"


def test_tokens_name_the_instruction_that_pushed_them() -> None:
    symbols = kernel("divergence").symbols
    live = analysed(symbols)
    # 0070 PBK 0x11a0; 00d0 @P0 BRA 0x1020; 0148 SSY 0x1b8
    assert live.pushers("PBK", 0x11A0) == (0x70,)
    assert live.pushers("SSY", 0x1B8) == (0x148,)
    assert live.pushers("DIV", 0x1020) == (0xD0,)
    assert live.pushers("DIV", 0xD8) == (0xD0,)
    assert live.pushers("SSY", 0x8) == ()


def test_an_unknown_place_may_have_written_everything() -> None:
    symbols = kernel().symbols
    live = analysed(symbols)
    assert live.untouched([0x7FF8], 16) == 0


def nearby(symbols: Symbols) -> LocalLiveness:
    """The same section, looked at as a long one."""
    image = symbols.image
    place = next(p for p in image.placements if p.section == symbols.kernel.section)
    start = place.address - image.base
    known = {b.offset: b.targets for b in symbols.kernel.indirect_branches if b.targets}
    return LocalLiveness(image.code[start : start + place.size], symbols.program.arch, known)


def programs() -> Any:
    """Every kernel of the test programs that the whole walk takes."""
    for path in sorted(CUBINS.glob("*.cubin")):
        program = read_program(str(path))
        image = relocate(program, segment_addresses=dict.fromkeys(program.segments, 1 << 32))
        for kernel in program.kernels.values():
            symbols = Symbols(program, image, kernel)
            live = analysed(symbols)
            if isinstance(live, Liveness):
                yield path.stem, symbols, live


@pytest.mark.full(instead="test_marks_of_a_register_are_those_of_the_instruction")
def test_where_somebody_looks_it_is_as_in_the_whole_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudbg.analysis.local_liveness.BUDGET", 1 << 30)
    same = more = 0
    for name, symbols, live in programs():
        near = nearby(symbols)
        end = max(live.reads)
        assert near.window(0, end) == live.jumps, name
        assert near.window(end // 2, end // 2 + 64) == live.window(end // 2, end // 2 + 64), name
        assert near.branches == live.branches
        for offset in live.jumps:
            assert near.pushers("DIV", offset + 8) == live.pushers("DIV", offset + 8), name
        for kind, goal in near._pushes:
            assert near.pushers(kind, goal) == live.pushers(kind, goal), name
        calls = any(i is not None and i.op in CALLS for i in live._flow.instructions.values())
        step = max(len(live.reads) // number(12, 60), 1)
        for offset in list(live.reads)[::step]:
            assert calls or near.sets(offset) == live.sets(offset)
            for register in (0, 1, 2, 7, 20):
                one, two = near.mark(offset, register), live.mark(offset, register)
                if calls:
                    continue
                assert one == two or (one, two) == (":", " "), (name, hex(offset), register)
                same, more = same + (one == two), more + (one != two)
        if not calls:
            touched = near.untouched([8], 64)
            written = 0
            for mask in live.writes.values():
                written |= mask
            assert not touched & written, name
    # Where nothing is unknown there is nothing more to say.
    assert more * 20 < same
