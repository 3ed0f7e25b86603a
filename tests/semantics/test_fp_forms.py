"""Every form of the floating-point and conversion families against scalar models on rationals."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from gpudbg import assemble
from gpudbg.isa.operands import Const, Reg
from gpudbg.isa.spa5.insn import Instruction
from tests.numeric import model as real
from tests.semantics.harness import FULL, Bench, State
from tests.semantics.model import Lane
from tests.semantics.model_fp import MODELS
from tests.semantics.test_integer import _expected
from tests.semantics.words import forms_of, random_word

COUNT = 10
BENCHES = {arch: Bench(arch) for arch in ("sm_50", "sm_53")}
SINGLES = [x.item() for x in real.vectors("f32", 400, 1, seed=80)[0]]
DOUBLES = [x.item() for x in real.vectors("f64", 400, 1, seed=81)[0]]
HALVES = [x.item() for x in real.vectors("f16", 400, 1, seed=82)[0]]
INTEGERS = [0, 1, -1, 0x7F, 0x80, 0x7FFF, 0x8000, 0x1000001, 0x7FFFFFFF, 0x80000000, 0xFFFFFF80]


def random_pair(rng: random.Random) -> tuple[int, int]:
    """Two registers' contents: singles, halves, integers or one double."""
    kind = rng.randrange(8)
    if kind < 3:
        bits = rng.choice(DOUBLES)
        return bits & FULL, bits >> 32
    if kind == 3:
        return rng.choice(INTEGERS) & FULL, rng.choice(INTEGERS) & FULL
    if kind == 4:
        first, second = (rng.choice(HALVES) | rng.choice(HALVES) << 16 for _ in range(2))
        return first, second
    return rng.choice(SINGLES), rng.choice(SINGLES)


def half_pairs(rng: random.Random) -> tuple[int, int]:
    """Two registers' contents for packed halves."""
    if not rng.randrange(4):
        return rng.choice(SINGLES), rng.choice(SINGLES)
    first, second = (rng.choice(HALVES) | rng.choice(HALVES) << 16 for _ in range(2))
    return first, second


def state(rng: random.Random, packed: bool) -> State:
    registers: dict[int, list[int]] = {n: [] for n in range(16)}
    for number in range(0, 16, 2):
        for _ in range(32):
            low, high = half_pairs(rng) if packed else random_pair(rng)
            registers[number].append(low)
            registers[number + 1].append(high)
    flags = {name: rng.getrandbits(32) for name in "ZSCOK"}
    active = rng.choice((FULL, FULL, rng.getrandbits(32) | 1))
    return State(registers, [rng.getrandbits(32) for _ in range(7)], flags, active)


def usable(insn: Instruction) -> bool:
    """Register and constant pairs are aligned."""
    for operand in insn.operands:
        if isinstance(operand, Reg) and operand.count == 2 and operand.index & 1:
            if operand.index != 255:
                return False
        if isinstance(operand, Const) and (operand.count == 2 and operand.offset % 8):
            return False
    return True


def instructions(op: str, arch: str) -> Iterator[Instruction]:
    rng = random.Random(op)
    for form in forms_of(op, arch):
        found = 0
        while found < COUNT:
            insn = random_word(form, rng, arch)
            if usable(insn):
                found += 1
                yield insn


@pytest.mark.in_turn(5)
@pytest.mark.parametrize("op", sorted(MODELS))
def test_form_against_scalar_model(op: str) -> None:
    arch = "sm_53" if op[0] == "H" or op == "MUFU" else "sm_50"
    bench, rng = BENCHES[arch], random.Random(op)

    def constant(bank: int, offset: int) -> int:
        return int(bench.bank(bank)[offset >> 2])

    compared = 0
    for insn in instructions(op, arch):
        for bank in range(4):
            for k in range(0, 34, 2):
                bench.bank(bank)[k : k + 2] = random_pair(rng)
        before = state(rng, op[0] == "H")
        index, negated = insn.guard
        effects = {
            k: MODELS[op](insn, Lane(before, k, constant))
            for k in range(32)
            if before.active >> k & 1 and before.pred(index, k) ^ negated
        }
        known = {k: effect for k, effect in effects.items() if effect is not None}
        if len(known) < len(effects):
            continue
        after = bench.execute(insn.word, before)
        want = _expected(before, known)
        for number, row in want.registers.items():
            for k in range(32):
                got = after.registers[number][k]
                assert got == row[k], (
                    f"{insn.text()} R{number}: {got:08x}, expected {row[k]:08x}; "
                    f"{shown(insn, Lane(before, k, constant))}"
                )
        for number, mask in enumerate(want.predicates):
            assert after.predicates[number] == mask, f"{insn.text()} P{number}"
        for name, mask in want.flags.items():
            assert after.flags[name] == mask, f"{insn.text()} flag {name}"
        compared += 1
    assert compared > COUNT // 2


def shown(insn: Instruction, lane: Lane) -> str:
    """Operand values for a message."""
    out = []
    for slot in "abc":
        operand = insn.o.get(slot)
        if isinstance(operand, Reg) and operand.index != 255:
            words = [lane.raw(Reg(operand.index + k)) for k in range(operand.count)]
            out.append(f"{slot}=" + "".join(f"{w:08x}" for w in reversed(words)))
        elif isinstance(operand, Const):
            out.append(f"{slot}={lane.raw(operand):08x}")
    return " ".join(out)


@pytest.mark.parametrize(
    ("text", "a", "constant", "c", "want"),
    [
        # 1 + 2**-10 plus a little less than half an ulp: a step through f32 makes it a tie.
        ("HFMA2 R0, R1.H0_H0, c[0x0][0x0], R2.H0_H0", 0x3C01, 0x39FFC000, 0x3C01, 0x3C01),
        # 2**-24, normal as f32 and subnormal as f16.
        ("HADD2.FTZ R0, R1.H0_H0, c[0x0][0x0]", 0x0400, 0x33800000, 0, 0x0400),
        ("HADD2 R0, R1.H0_H0, c[0x0][0x0]", 0x0400, 0x33800000, 0, 0x0401),
        ("HSET2.BF.EQ.FTZ.AND R0, R1.H0_H0, c[0x0][0x0], PT", 0x8001, 0xB3C00000, 0, 0x3C00),
    ],
)
def test_half_constants_are_f16_numbers(
    text: str, a: int, constant: int, c: int, want: int
) -> None:
    """What ptxas writes for fma.rn.f16 and .ftz with a number in a constant bank."""
    bench = BENCHES["sm_53"]
    bench.bank(0)[0] = constant
    before = State({0: [0] * 32, 1: [a] * 32, 2: [c] * 32})
    after = bench.execute(assemble(text, arch="sm_53"), before)
    assert after.registers[0] == [want << 16 | want] * 32
