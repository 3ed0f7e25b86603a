"""The divergence stack against a model that runs every lane alone.

Random structured programs (if/else, loops with BRK and CONT, calls, early exits) are run twice:
as a warp through `gpudbg.sm.divergence.step`, and lane by lane where each lane has its own stack
and a consumer takes the topmost token of its kind.  Every lane must visit the same instructions.
"""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudbg.mem.local import LocalMemory
from gpudbg.sm import record as rec
from gpudbg.sm.divergence import step as divergence
from gpudbg.sm.faults import WarpErrorRaised
from gpudbg.sm.state import Cta, StackToken, WarpState

POPS = {"SYNC": "SSY", "BRK": "PBK", "CONT": "PCNT", "RET": "RET"}
PUSHES = {"SSY": "SSY", "PBK": "PBK", "PCNT": "PCNT"}
MAX_STEPS = 4000


def warp(valid: int = 0xFFFFFFFF, capacity: int = 256) -> WarpState:
    """A warp at pc 0 that is resident nowhere."""
    made = WarpState(Cta(0, (0, 0, 0), 0, 0, 0), 0, 0, 1, capacity, LocalMemory(0))
    made.words[rec.VALID] = valid
    made.active = valid
    return made


@dataclass
class Program:
    """Instructions as (op, target); a pc is an index.  Lanes with `chance` execute it."""

    code: list[tuple[str, int, int]] = field(default_factory=list)
    salt: int = 0

    def add(self, op: str, target: int = -1, chance: int = 100) -> int:
        self.code.append((op, target, chance))
        return len(self.code) - 1

    def patch(self, place: int, target: int) -> None:
        op, _, chance = self.code[place]
        self.code[place] = (op, target, chance)

    def takes(self, pc: int, lane: int, visit: int) -> bool:
        """Whether a lane executes it on its n-th visit: a hash, so that both models agree."""
        chance = self.code[pc][2]
        if chance == 100:
            return True
        return zlib.crc32(bytes((pc & 255, pc >> 8, lane, visit & 255, self.salt))) % 100 < chance


class Generator:
    """Random structured code."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.program = Program(salt=seed & 255)
        self.calls: list[int] = []

    def make(self) -> Program:
        p = self.program
        self.block(3, in_loop=False, in_function=False)
        p.add("EXIT")
        # Functions; calls to them are patched when their place is known.
        calls, self.calls = self.calls, []
        for place in calls:
            p.patch(place, len(p.code))
            self.block(1, in_loop=False, in_function=True)
            p.add("RET")
            for inner in self.calls:
                p.patch(inner, p.code[place][1])
            self.calls = []
        return p

    def block(self, depth: int, in_loop: bool, in_function: bool) -> None:
        for _ in range(self.random.randrange(1, 4)):
            self.statement(depth, in_loop, in_function)

    def statement(self, depth: int, in_loop: bool, in_function: bool) -> None:
        p, draw = self.program, self.random.randrange(100)
        if depth == 0 or draw < 25:
            p.add("NOP")
        elif draw < 55:
            self.branch(depth, in_loop, in_function)
        elif draw < 75:
            self.loop(depth, in_function)
        elif draw < 83 and in_loop:
            p.add(self.random.choice(("BRK", "CONT")), chance=40)
        elif draw < 90 and not in_function:
            self.calls.append(p.add("CAL"))
        elif draw < 94 and in_function:
            p.add("RET", chance=30)
        elif draw < 97:
            p.add("EXIT", chance=15)
        else:
            self.indirect(depth, in_loop, in_function)

    def branch(self, depth: int, in_loop: bool, in_function: bool) -> None:
        """SSY join; @p BRA else; then; SYNC; else: ...; SYNC; join:"""
        p = self.program
        ssy = p.add("SSY")
        bra = p.add("BRA", chance=self.random.choice((0, 30, 50, 90)))
        self.block(depth - 1, in_loop, in_function)
        if self.random.random() < 0.3:
            p.add("SYNC", chance=50)
        p.add("SYNC")
        p.patch(bra, len(p.code))
        self.block(depth - 1, in_loop, in_function)
        p.add("SYNC")
        p.patch(ssy, len(p.code))

    def loop(self, depth: int, in_function: bool) -> None:
        """PBK out; head: PCNT next; body; CONT; next: @p BRA head; BRK; out:"""
        p = self.program
        pbk = p.add("PBK")
        head = p.add("PCNT")
        self.block(depth - 1, True, in_function)
        p.add("CONT")
        p.patch(head, len(p.code))
        p.add("BRA", head, chance=45)
        p.add("BRK")
        p.patch(pbk, len(p.code))

    def indirect(self, depth: int, in_loop: bool, in_function: bool) -> None:
        """SSY join; BRX by lane to one of three arms that each SYNC; join:"""
        p = self.program
        ssy = p.add("SSY")
        brx = p.add("BRX")
        arms = []
        for _ in range(3):
            arms.append(len(p.code))
            p.add("NOP")
            p.add("SYNC")
        p.patch(brx, arms[0])
        p.patch(ssy, len(p.code))


def alone(p: Program, lane: int) -> list[int]:
    """The pcs one lane visits, with a stack of its own."""
    trace: list[int] = []
    stack: list[tuple[str, int]] = []
    visits: dict[int, int] = {}
    pc = 0
    while len(trace) < MAX_STEPS:
        trace.append(pc)
        op, target, _ = p.code[pc]
        visit = visits[pc] = visits.get(pc, -1) + 1
        takes, pc = p.takes(pc, lane, visit), pc + 1
        if not takes:
            continue
        if op == "EXIT":
            break
        if op in PUSHES:
            stack.append((PUSHES[op], target))
        elif op == "CAL":
            stack.append(("RET", pc))
            pc = target
        elif op == "BRA":
            pc = target
        elif op == "BRX":
            pc = target + 2 * (lane % 3)
        elif op in POPS:
            while True:
                kind, goal = stack.pop()
                if kind == POPS[op]:
                    break
            pc = goal
    return trace


def together(p: Program, w: WarpState) -> list[list[int]]:
    """The pcs each lane visits when the warp runs."""
    traces: list[list[int]] = [[] for _ in range(32)]
    visits: list[dict[int, int]] = [{} for _ in range(32)]
    pc = 0
    while w.status == "ready" and max(map(len, traces)) < MAX_STEPS:
        active, taken = w.active, 0
        assert active & ~w.valid == 0
        assert active & w.exited == 0
        op, target, _ = p.code[pc]
        for lane in range(32):
            if active >> lane & 1:
                traces[lane].append(pc)
                visit = visits[lane][pc] = visits[lane].get(pc, -1) + 1
                taken |= p.takes(pc, lane, visit) << lane
        pc = step(w, op, pc + 1, taken, target)
    return traces


def step(w: WarpState, op: str, following: int, taken: int, target: int) -> int:
    """One instruction of the warp; the next pc."""
    if not taken:
        return following
    if op == "EXIT":
        return divergence.exit_lanes(w, following, taken)
    if op in PUSHES:
        divergence.push(w, PUSHES[op], target)
    elif op == "CAL":
        divergence.push(w, "RET", following)
        return divergence.branch(w, following, taken, target)
    elif op == "BRA":
        return divergence.branch(w, following, taken, target)
    elif op == "BRX":
        goals: dict[int, int] = {}
        for lane in range(32):
            if taken >> lane & 1:
                goal = target + 2 * (lane % 3)
                goals[goal] = goals.get(goal, 0) | 1 << lane
        return divergence.branch_each(w, following, goals)
    elif op in POPS:
        return divergence.pop(w, following, POPS[op], taken)
    return following


@settings(max_examples=150)
@given(st.integers(0, 2**32 - 1), st.integers(1, 2**32 - 1))
def test_every_lane_goes_where_it_would_go_alone(seed: int, valid: int) -> None:
    p = Generator(seed).make()
    expected = [alone(p, lane) if valid >> lane & 1 else [] for lane in range(32)]
    if max(map(len, expected)) >= MAX_STEPS:
        return
    w = warp(valid)
    assert together(p, w) == expected
    assert w.status == "exited"
    assert w.exited == valid
    assert w.stack == ()


def test_sides_run_fall_through_first() -> None:
    w = warp()
    divergence.push(w, "SSY", 90)
    assert divergence.branch(w, 8, 0xFF, 40) == 8
    assert w.active == 0xFFFFFF00
    assert w.stack == (StackToken("SSY", 0xFFFFFFFF, 90), StackToken("DIV", 0xFF, 40))
    assert divergence.pop(w, 16, "SSY", 0xFFFFFF00) == 40
    assert w.active == 0xFF
    assert divergence.pop(w, 48, "SSY", 0xFF) == 90
    assert w.active == 0xFFFFFFFF
    assert not w.stack


def test_indirect_targets_run_ascending_after_the_fall_through() -> None:
    w = warp(0xF)
    assert divergence.branch_each(w, 8, {64: 0b0010, 32: 0b0100}) == 8
    assert w.active == 0b1001
    assert [e.target for e in w.stack] == [64, 32]
    w = warp(0b110)
    assert divergence.branch_each(w, 8, {64: 0b010, 32: 0b100}) == 32


def test_branch_taken_by_all_or_none_pushes_nothing() -> None:
    w = warp(0b11)
    assert divergence.branch(w, 8, 0b11, 40) == 40
    assert divergence.branch(w, 8, 0, 40) == 8
    assert w.stack == ()


def test_pexit_turns_an_exit_into_a_jump() -> None:
    w = warp(0b11)
    divergence.push(w, "PEXIT", 72)
    assert divergence.exit_lanes(w, 8, 0b11) == 72
    assert w.exited == 0
    assert divergence.exit_lanes(w, 80, 0b11) == 80
    assert w.status == "exited"


def test_longjmp_drops_what_was_pushed_since() -> None:
    w = warp(0b1111)
    divergence.push(w, "PLONGJMP", 200)
    divergence.push(w, "RET", 16)
    divergence.push(w, "SSY", 24)
    assert divergence.pop(w, 8, "PLONGJMP", 0b0011) == 8
    assert [e.mask for e in w.stack] == [0b1111, 0b1100, 0b1100]
    assert divergence.pop(w, 8, "PLONGJMP", 0b1100) == 200
    assert w.active == 0b1111


def test_missing_tokens_are_errors_without_effect() -> None:
    w = warp()
    with pytest.raises(WarpErrorRaised) as caught:
        divergence.pop(w, 8, "RET", 1)
    assert caught.value.code == "RET_EMPTY_STACK_ERROR"
    divergence.push(w, "SSY", 24)
    with pytest.raises(WarpErrorRaised) as caught:
        divergence.pop(w, 8, "PBK", 1)
    assert caught.value.code == "STACK_ERROR"
    assert w.active == 0xFFFFFFFF
    assert len(w.stack) == 1


def test_full_stack_overflows_without_effect() -> None:
    w = warp(capacity=2)
    divergence.push(w, "SSY", 8)
    divergence.push(w, "SSY", 8)
    for attempt in (
        lambda: divergence.push(w, "RET", 8),
        lambda: divergence.branch(w, 8, 1, 40),
        lambda: divergence.branch_each(w, 8, {40: 1}),
    ):
        with pytest.raises(WarpErrorRaised) as caught:
            attempt()
        assert caught.value.code == "STACK_OVERFLOW"
    assert w.active == 0xFFFFFFFF
    assert len(w.stack) == 2


def test_sam_activates_whole_quads_and_ram_restores() -> None:
    w = warp()
    w.active = 0x0000_0210
    divergence.activate_quads(w, True)
    assert w.active == 0x0000_0FF0
    divergence.activate_quads(w, False)
    assert w.active == 0x0000_0210
