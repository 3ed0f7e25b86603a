"""Every form of the integer families against scalar models, on edge-heavy random state."""

from __future__ import annotations

import random

import pytest

from gpudbg.errors import ModelGap
from gpudbg.sm.faults import WarpErrorRaised
from tests.semantics import model_more
from tests.semantics.harness import FULL, Bench, State, random_state
from tests.semantics.model import MODELS, Effect, Lane
from tests.semantics.words import words

COUNT = 8
ARCH = {"IDP": "sm_61"}
BENCHES = {arch: Bench(arch) for arch in ("sm_50", "sm_61")}


def _constants(bench: Bench, rng: random.Random) -> None:
    for bank in range(4):
        for k in range(32):
            bench.bank(bank)[k] = rng.choice((0, 1, 0x80000000, FULL, rng.getrandbits(32)))


def _expected(before: State, effects: dict[int, Effect]) -> State:
    """The state after the effects of the executing lanes."""
    after = State(
        {n: list(v) for n, v in before.registers.items()},
        list(before.predicates),
        dict(before.flags),
        before.active,
    )
    for lane, effect in effects.items():
        bit = 1 << lane
        for number, value in effect.registers.items():
            if number != 255:
                after.registers[number][lane] = value
        for number, truth in effect.predicates.items():
            if number != 7:
                after.predicates[number] = after.predicates[number] & ~bit | truth * bit
        for name, truth in effect.flags.items():
            after.flags[name] = after.flags[name] & ~bit | truth * bit
    return after


@pytest.mark.in_turn(25)
@pytest.mark.parametrize("op", sorted(MODELS))
def test_form_against_scalar_model(op: str) -> None:
    arch = ARCH.get(op, "sm_50")
    bench, rng = BENCHES[arch], random.Random(op)
    compared = 0

    def constant(bank: int, offset: int) -> int:
        return int(bench.bank(bank)[offset >> 2])

    for insn in words(op, COUNT, arch=arch):
        _constants(bench, rng)
        before = random_state(rng)
        index, negated = insn.guard
        lanes = {
            k: Lane(before, k, constant)
            for k in range(32)
            if before.active >> k & 1 and before.pred(index, k) ^ negated
        }
        effects = {k: MODELS[op](insn, lane) for k, lane in lanes.items()}
        known = {k: effect for k, effect in effects.items() if effect is not None}
        if len(known) < len(effects):
            continue
        after = bench.execute(insn.word, before)
        want = _expected(before, known)
        for number, row in want.registers.items():
            for k in range(32):
                assert after.registers[number][k] == row[k], (
                    f"{insn.text()} R{number}: {after.registers[number][k]:#x}, expected "
                    f"{row[k]:#x}; {model_more.shown(insn, Lane(before, k, constant))}"
                )
        for number, mask in enumerate(want.predicates):
            assert after.predicates[number] == mask, f"{insn.text()} P{number}"
        for name, mask in want.flags.items():
            assert after.flags[name] == mask, f"{insn.text()} flag {name}"
        compared += 1
    assert compared


@pytest.mark.parametrize(
    ("word", "error"),
    [
        (0x5C48080000270100, ModelGap),  # SHL.X
        (0x5C28100000270100, ModelGap),  # SHR.X
        (0x5BF9018000270100, WarpErrorRaised),  # SHF.L.HI
        (0x5C13080000270100, ModelGap),  # IADD.X with .PO
    ],
)
def test_what_has_no_meaning_stops(word: int, error: type[Exception]) -> None:
    with pytest.raises(error):
        BENCHES["sm_50"].execute(word, random_state(random.Random(1)))
