"""Branches, the divergence stack's instructions, barriers and system instructions."""

from __future__ import annotations

import random

import pytest

from gpudbg.errors import ModelGap
from gpudbg.isa.spa5.assemble import assemble
from gpudbg.sm import record as rec
from gpudbg.sm.faults import TrapRaised, WarpErrorRaised
from tests.semantics.harness import FULL, Bench, State, random_state
from tests.semantics.model_more import cc_truth
from tests.variants import rows

TESTS = (
    "F LT EQ LE GT NE GE NUM NAN LTU EQU LEU GTU NEU GEU OFF LO SFF LS HI SFT HS OFT RLE RGT"
).split()
ALL_FLAGS = {
    name: sum(1 << k for k in range(32) if k >> n & 1) for n, name in enumerate("ZSCO")
} | {"K": 0}
"""Lane k holds the flags Z S C O of its number's low four bits."""


def run(on: Bench, text: str, state: State, pc: int = 8) -> State:
    """Execute one instruction given as text."""
    return on.execute(assemble(text, pc, on.arch), state, pc)


@rows("test", TESTS)
def test_branch_on_condition_code(test: str) -> None:
    on = Bench()
    after = run(on, f"BRA CC.{test}, 0x108", State(flags=dict(ALL_FLAGS)))
    want = 0
    for lane in range(32):
        z, s, c, o = (lane >> n & 1 for n in range(4))
        want |= bool(cc_truth(test, z, s, c, o)) << lane
    if want in (0, FULL):
        assert after.active == FULL
        assert on.warp.pc == (0x108 if want else 0x10)
    else:
        assert after.active == want ^ FULL
        assert on.warp.pc == 0x10
        assert [(e.kind, e.mask, e.target) for e in on.warp.stack] == [("DIV", want, 0x108)]


@pytest.mark.parametrize("test", ["CSM_TA", "FCSM_TR"])
def test_graphics_state_tests_stop(test: str) -> None:
    with pytest.raises(ModelGap):
        run(Bench(), f"BRA CC.{test}, 0x108", State())


def test_indirect_branch_adds_the_register() -> None:
    on = Bench()
    targets = [0x100 if k < 12 else 0x148 for k in range(32)]
    after = run(on, "BRX R4 -0x10", State({4: targets}))
    # An address that is a multiple of 32 means the bundle's first instruction.
    assert on.warp.pc == 0x108
    assert after.active == 0xFFF
    assert on.warp.stack[0].target == 0x148


def test_absolute_jump_through_register_and_constant() -> None:
    on = Bench()
    run(on, "JMX R4", State({4: [0x2A8] * 32}))
    assert on.warp.pc == 0x2A8
    on.bank(0)[4] = 0x388
    run(on, "JMP c[0x0][0x10]", State())
    assert on.warp.pc == 0x388


def test_relative_branch_through_constant_adds_to_the_next_address() -> None:
    on = Bench()
    on.bank(0)[4] = 0x100
    run(on, "BRA c[0x0][0x10]", State())
    assert on.warp.pc == 0x118 - 8


@pytest.mark.parametrize(
    ("push", "pop", "kind"),
    [
        ("SSY", "SYNC", "SSY"),
        ("PBK", "BRK", "PBK"),
        ("PCNT", "CONT", "PCNT"),
        ("PRET", "RET", "RET"),
        ("PLONGJMP", "LONGJMP", "PLONGJMP"),
    ],
)
def test_push_and_pop(push: str, pop: str, kind: str) -> None:
    on = Bench()
    state = State(active=0x00FF00FF)
    run(on, f"{push} 0x208", state)
    assert [(e.kind, e.mask, e.target) for e in on.warp.stack] == [(kind, 0x00FF00FF, 0x208)]
    state.predicates[1] = 0x0F
    after = run(on, f"@P1 {pop}", state, 0x10)
    assert after.active == 0x00FF00F0
    assert on.warp.pc == 0x18
    after = run(on, pop, State(active=0x00FF00F0), 0x18)
    assert on.warp.pc == 0x208
    assert after.active == 0x00FF00FF
    assert not on.warp.stack


def test_call_pushes_the_next_address() -> None:
    on = Bench()
    run(on, "CAL 0x400", State(), 0x18)
    assert on.warp.pc == 0x408
    assert [(e.kind, e.target) for e in on.warp.stack] == [("RET", 0x28)]


def test_exit_with_a_pexit_token_continues_there() -> None:
    on = Bench()
    run(on, "PEXIT 0x308", State())
    after = run(on, "EXIT", State(), 0x10)
    assert on.warp.pc == 0x308
    assert after.active == FULL
    run(on, "EXIT", State(), 0x308)
    assert on.warp.status == "exited"


@pytest.mark.parametrize("text", ["EXIT", "KIL"])
def test_exit_ends_the_guarded_lanes(text: str) -> None:
    on = Bench()
    state = State()
    state.predicates[0] = 0x0000FFFF
    after = run(on, f"@P0 {text}", state)
    assert after.active == 0xFFFF0000
    assert on.warp.exited == 0x0000FFFF


def test_quad_activation() -> None:
    on = Bench()
    after = run(on, "SAM", State(active=0x00010420))
    assert after.active == 0x000F0FF0
    after = run(on, "RAM", State(active=after.active), 0x10)
    assert after.active == 0x00010420


@pytest.mark.parametrize(
    ("text", "registers", "number", "expected"),
    [
        ("BAR.SYNC 0x3", {}, 3, None),
        ("BAR.SYNC 0x3, 0x40", {}, 3, 64),
        ("BAR.SYNC R4", {4: 5}, 5, None),
        ("BAR.SYNC R4, 0x60", {4: 5}, 5, 96),
        ("BAR.SYNC R4, R4", {4: 0x600007}, 7, 96),
        ("BAR.SYNC 0x2, R4", {4: 64}, 2, 64),
    ],
)
def test_barrier_operands(
    text: str, registers: dict[int, int], number: int, expected: int | None
) -> None:
    on = Bench()
    second = type(on.warp)(on.cta, 1, 1, 64, 32, on.warp.local)
    on.cta.warps.append(second)
    run(on, text, State({r: [v] * 32 for r, v in registers.items()}))
    assert on.warp.barrier == number
    assert on.cta.barriers.slots[number].count == expected
    assert on.cta.barriers.slots[number].arrived == 32


def test_barrier_reduction_and_its_result() -> None:
    on = Bench()
    state = State()
    state.predicates[2] = 0x0F0F0F0F
    run(on, "BAR.RED.POPC 0x0, P2", state)
    after = run(on, "B2R.RESULT R5, P3", State(), 0x10)
    assert after.registers[5] == [16] * 32
    assert after.predicates[3] == FULL
    state.predicates[2] = 0x0F0F0F0F
    run(on, "BAR.RED.AND 0x0, !P2", state)
    after = run(on, "B2R.RESULT RZ, P3", State(), 0x10)
    assert after.predicates[3] == 0


@pytest.mark.parametrize(
    "text", ["BAR.SCAN 0x0, 0x20, P0", "B2R R4, 0x1", "R2B 0x1, R4", "STP 0x1"]
)
def test_unknown_barrier_state_stops(text: str) -> None:
    with pytest.raises(ModelGap):
        run(Bench(), text, State({4: [0] * 32}))


def test_breakpoint_traps_once_and_changes_nothing() -> None:
    on = Bench()
    before = State({r: [r] * 32 for r in range(8)})
    with pytest.raises(TrapRaised) as raised:
        run(on, "BPT.TRAP 0x1", before)
    assert (raised.value.mode, raised.value.imm) == ("TRAP", 1)
    assert on.warp.pc == 8


def test_per_warp_pointers() -> None:
    on = Bench()
    run(on, "SETCRSPTR R4", State({4: [0x1234] * 32}))
    after = run(on, "GETCRSPTR R5", State(), 0x10)
    assert after.registers[5] == [0x1234] * 32
    run(on, "SETLMEMBASE R4", State({4: [0x77] * 32}))
    after = run(on, "GETLMEMBASE R6", State(), 0x10)
    assert after.registers[6] == [0x77] * 32


def test_interrupt_hold() -> None:
    on = Bench()
    run(on, "IDE 0x0", State())
    assert on.warp.words[rec.FLAGS] & 1
    run(on, "IDE.EN 0x0", State(), 0x10)
    assert not on.warp.words[rec.FLAGS] & 1


def test_return_without_call() -> None:
    with pytest.raises(WarpErrorRaised) as raised:
        run(Bench(), "RET", State())
    assert raised.value.code == "RET_EMPTY_STACK_ERROR"


@pytest.mark.parametrize("text", ["@!PT MOV R4, R5", "@!PT EXIT", "@!PT BAR.SYNC 0x0"])
def test_a_false_guard_has_no_effect(text: str) -> None:
    on = Bench()
    before = random_state(random.Random(3))
    before.active = FULL
    after = run(on, text, before)
    assert after.registers[4] == before.registers[4]
    assert after.active == FULL
    assert on.warp.status == "ready"
    assert on.warp.pc == 0x10
