"""Products of words that compiled code finds in products of halves; what only looks like them."""

from __future__ import annotations

import random

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.values import Num, Val, Values
from tests.variants import number

HEAD = """
.arch sm_50
.kernel products
.param memory 8
.param out 8
    S2R R0, SR_TID.X ;
    LOP.AND.NZ P1, RZ, R0, 0x4 ;
    ISCADD R2.CC, R0, c[0x0][memory], 0x4 ;
    MOV R3, c[0x0][memory+4] ;
    IADD.X R3, R3, RZ ;
    LDG.E.128 R4, [R2] ;
    MOV32I R8, 0xcc9e2d51 ;
    MOV32I R9, 0x8000ffff ;
    MOV R10, c[0x0][0x8] ;
"""
TAIL = """
    ISCADD R16.CC, R0, c[0x0][out], 0x6 ;
    MOV R17, c[0x0][out+4] ;
    IADD.X R17, R17, RZ ;
    STG.E.128 [R16], R4 ;
    STG.E.128 [R16+0x10], R8 ;
    STG.E.128 [R16+0x20], R12 ;
    EXIT ;
"""
SOURCES = [f"R{n}" for n in range(4, 16)]
"""Registers: R4 to R10 differ, or are numbers, or the same in all lanes."""


def chain(rng: random.Random, goals: list[str]) -> list[str]:
    """The instructions of a product, often with something changed, in an order that works."""
    first, middle, last = goals
    a, b, c = (rng.choice(SOURCES) for _ in range(3))
    # Constants are read anew by each instruction.
    constant = rng.choice(("c[0x0][0x8]", "c[0x0][0x14]"))
    by = rng.choice((b, b, constant, constant, f"0x{rng.choice((5, 132, 40503)):x}"))
    third = rng.choice(("RZ", c))
    if not by.startswith("0x"):
        lines = [
            f"XMAD {first}, {a}, {by}, {third} ;",
            f"XMAD.MRG {middle}, {a}, {by}.H1, RZ ;",
            f"XMAD.PSL.CBCC {last}, {a}.H1, {middle}.H1, {first} ;",
        ]
        if rng.randrange(2):
            lines[:2] = lines[1::-1]
    else:
        lines = [
            f"XMAD {first}, {a}, {by}, {third} ;",
            f"XMAD.PSL {last}, {a}.H1, {by}, {first} ;",
        ]
    if rng.randrange(3) == 0:
        n = rng.randrange(len(lines))
        old, new = rng.choice(
            ((f"{a}.H1", a), (f" {a},", f" {a}.H1,"), (by, rng.choice(SOURCES)), ("RZ", c),
             (".CBCC", ""), (".PSL", ""), ("XMAD", "@P1 XMAD"))
        )  # fmt: skip
        head, tail = lines[n].split(", ", 1)
        if old.startswith(("XMAD", ".")):
            head = head.replace(old, new, 1)
        else:
            tail = f" {tail}".replace(old, new, 1).strip()
        lines[n] = f"{head}, {tail}"
    return lines


def source(seed: int) -> str:
    rng = random.Random(seed)
    lines: list[str] = []
    for _ in range(14):
        lines += chain(rng, rng.sample(SOURCES[7:], 3))
    return HEAD + "\n".join(f"    {line}" for line in lines) + TAIL


@pytest.mark.parametrize("seed", range(number(1, 16)))
def test_both_engines_have_the_same_products(seed: int) -> None:
    found = []
    for engine in ("step", "run"):
        program = gpudbg.load(assemble_file(source(seed)).cubin(), engine=engine)
        words = np.random.default_rng(seed).integers(0, 1 << 32, 256, np.uint32)
        words[::7] = 0xFFFF0000
        memory, out = (program.device.buffer(w) for w in (words, np.zeros(16 * 48, np.uint32)))
        session = program.launch("products", grid=1, block=48, args=[memory, out])
        assert session.run().kind == "exited"
        found.append(out.array())
    assert found[0].any()
    assert np.array_equal(found[0], found[1])


def product(ints: Integers, a: Num, b: Num, c: Num) -> Num:
    """As XMAD, XMAD.MRG and XMAD.PSL.CBCC have it."""
    low = ints.add(ints.mul(ints.and_(a, 0xFFFF), ints.and_(b, 0xFFFF)), c)
    middle = ints.mul(ints.and_(a, 0xFFFF), ints.shr(b, 16))
    merged = ints.or_(ints.and_(middle, 0xFFFF), ints.shl(b, 16))
    high = ints.shl(ints.mul(ints.shr(a, 16), ints.shr(merged, 16)), 16)
    return ints.add(high, ints.add(low, ints.shl(merged, 16)))


@pytest.mark.parametrize("factor", [0xCC9E2D51, Val(32, "%b"), 7])
def test_a_product_of_words_is_one_multiplication(factor: Num) -> None:
    ir = Builder()
    ints = Integers(ir, Values(ir))
    found = product(ints, Val(32, "%a"), factor, Val(32, "%c"))
    assert isinstance(found, Val)
    made = dict(line.strip().split(" = ", 1) for line in ir.lines)
    *_, left, right = made[found.ref].replace(",", "").split()
    assert right == "%c"
    assert made[left].startswith("mul <32 x i32> %a, ") or made[left].endswith(" %a")
