"""`why` through matrices: what is named makes the value, and nothing else does.

Everything that is not named is changed at once, and the value stays; then each thing that is named,
and the value changes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.debug.history_walks import gemm
from tests.semantics.test_variants import loaded

Named = set[tuple[str, int, int]]
"""Register or byte of shared memory, its number, and the lane (-1: of memory)."""


def small_halves(draw: random.Random) -> int:
    """Two halves whose sums are exact."""
    pair = np.array([draw.choice((-1, 1)) * draw.randint(1, 6) for _ in range(2)], np.float16)
    return int(pair.view(np.uint32)[0])


def any_word(draw: random.Random) -> int:
    """Any."""
    return draw.randrange(1 << 32)


def named_by(cause: Any) -> Named:
    """What the causes of a value are."""
    found: Named = set()
    for child in cause.children:
        place, lane, _ = child.origin
        if place.space == "register":
            found |= {("register", number, lane) for number in place.numbers}
        elif place.space == "shared":
            found |= {("shared", place.address + n, -1) for n in range(place.size)}
    return found


class Experiment:
    """One instruction, carried out again with other inputs."""

    def __init__(self, session: Any, register: int, lane: int) -> None:
        self.session, self.tick = session, session.tick
        self._register, self._lane = register, lane
        state = session.warp().state
        self.registers = np.asarray(state.R).copy()
        self.shared = state.cta.shared.data.copy()
        self.value = self.made(self.registers, self.shared)

    def made(self, registers: Any, shared: Any) -> int:
        """The value with these inputs."""
        session = self.session
        session.goto(self.tick)
        state = session.warp().state
        session.grid.note_edit()
        np.asarray(state.R)[:] = registers
        state.cta.shared.data[:] = shared
        session.step()
        return int(session.warp().state.R[self._register][self._lane])

    def check(self, named: Named, read: list[int], fill: Callable[[random.Random], int]) -> None:
        """Whether exactly what is named makes the value."""
        draw = random.Random(1)
        registers, shared = self.registers.copy(), self.shared.copy()
        for number in read:
            for lane in range(32):
                if ("register", number, lane) not in named:
                    registers[number][lane] = fill(draw)
        for at in range(len(shared)):
            if ("shared", at, -1) not in named:
                shared[at] = 0
        assert self.made(registers, shared) == self.value
        for kind, at, lane in draw.sample(sorted(named), min(len(named), 17)):
            registers, shared = self.registers.copy(), self.shared.copy()
            if kind == "register":
                # As halves 12 and 100, which are not among the others.
                registers[at][lane] = 0x56404A00
            elif at & 1:
                shared[at] ^= 0x80
            else:
                continue
            assert self.made(registers, shared) != self.value, (kind, at, lane)


@pytest.mark.parametrize(
    ("arch", "line", "count"),
    [
        ("sm_80", "HMMA.16816.F32 R8, R16, R20, R24", 17),
        ("sm_75", "MOVM.16.MT88 R8, R16", 2),
    ],
)
def test_other_lanes_fragments(arch: str, line: str, count: int, tmp_path: Path) -> None:
    fill = small_halves if line.startswith("HMMA") else any_word
    draw = random.Random(2)
    with loaded(tmp_path / "v.bin", arch, "NOP", line, "NOP").launch(
        "v", grid=1, block=32, args=[]
    ) as session:
        session.step()
        session.grid.note_edit()
        registers = np.asarray(session.warp().state.R)
        for number in range(len(registers)):
            registers[number] = [fill(draw) for _ in range(32)]
        session.command("focus lane 19")
        before = Experiment(session, 8, 19)
        session.goto(before.tick + 1)
        named = named_by(session.why("$R8", 2))
        assert len(named) == count
        before.check(named, [n for n in range(16, 28) if n < len(registers)], fill)


@pytest.mark.full(instead="test_other_lanes_fragments")
def test_words_behind_descriptors() -> None:
    """Rows of A and columns of B in shared memory, swizzled as their descriptors say."""
    with gemm()[1]("step", 0) as session:
        rows = session.symbols.listing
        for row in rows:
            if row.text.startswith("HGMMA"):
                session.command(f"break *0x{session.symbols.offset(row.pc):x}")
        for _ in range(2):
            assert session.cont().kind == "breakpoint"
        session.command("delete")
        lane = session.focus.lane + 5
        session.command(f"focus lane {lane}")
        before = Experiment(session, 24, lane)
        cause = session.why("$R24", 2)
        words = [c for c in cause.children if c.what.startswith("shared ")]
        assert {c.role for c in words} == {"A", "B"}
        named = named_by(cause)
        assert sum(kind == "shared" for kind, _, _ in named) == 64
        before.check(named, [], small_halves)
