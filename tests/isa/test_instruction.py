"""Operands, modifiers, register counts and what instructions read and write."""

from __future__ import annotations

import pytest

import gpudbg.isa as isa
from gpudbg.errors import AssembleError, DecodeError, UsageError
from gpudbg.isa.operands import (
    Address,
    CBankAddress,
    Const,
    Imm,
    Name,
    Pred,
    Reg,
    SReg,
    Target,
)
from gpudbg.isa.spa5 import Access, Instruction, assemble, decode


def read(text: str, arch: str = "sm_50", pc: int = 8) -> Instruction:
    return decode(assemble(text, pc, arch), arch)


def test_operands_by_slot_and_in_text_order() -> None:
    insn = read("@!P2 FFMA.FTZ.RZ R4, R5, -c[0x3][0x10], -R7")
    assert insn.guard == (2, True)
    assert insn.o["d"] == Reg(4)
    assert insn.o["a"] == Reg(5, reuse=0)
    assert insn.o["b"] == Const(3, 0x10, neg=True)
    assert insn.o["c"] == Reg(7, neg=True, reuse=2)
    assert insn.operands == tuple(insn.o.values())
    assert (insn.m["ftz"], insn.m["rnd"], insn.m["sat"]) == ("FTZ", "RZ", False)


def test_constant_in_third_place_keeps_the_printed_slots() -> None:
    insn = read("FFMA R6, R8, R9, c[0x3][0x38]")
    assert insn.o["b"] == Reg(9, reuse=1)
    assert insn.o["c"] == Const(3, 0x38)


@pytest.mark.parametrize(
    ("text", "slot", "operand"),
    [
        ("MOV R1, -0x8", "b", Imm(0xFFFFFFF8)),
        ("FADD R1, R2, -2.5", "b", Imm(0xC0200000)),
        ("DADD R2, R4, 0.25", "b", Imm(0x3FD0000000000000)),
        ("IADD3 R7, R0, 0xffffb, R5", "b", Imm(0xFFFFFFFB)),
        ("IADD R1, R2, 0x5.NEG", "b", Imm(5, neg=True)),
        ("LDG.E R1, [R2+-0x8]", "addr", Address(Reg(2, count=2), -8, True)),
        ("LDS.U.32 R1, [0x40]", "addr", Address(Reg(255), 0x40)),
        ("LDC R1, c[0x2][R3+0x10]", "cbank", CBankAddress(2, Reg(3), 0x10)),
        ("S2R R1, SR_TID.X", "sr", SReg(33, "SR_TID.X")),
        ("BRX R2 -0x80", "target", Target(-0x80, True, Reg(2))),
        ("BRA CC.LT, 0x40", "cond", Name(1, "CC.LT")),
        ("SEL R1, R2, R3, !P4", "pc", Pred(4, True)),
        ("XMAD R1, R2.H1, R3, RZ", "a", Reg(2, part="H1", reuse=0)),
        ("XMAD R1, R2.H1, R3, RZ", "b", Reg(3, part="H0", reuse=1)),
        ("R2P PR, R18.B3, 0x3", "a", Reg(18, part="B3", reuse=0)),
        ("F2F.F64.F32 R4, -|R8|", "b", Reg(8, neg=True, abs=True)),
        ("LOP.AND R1, ~R2, R3", "a", Reg(2, inv=True, reuse=0)),
    ],
)
def test_operand_values(text: str, slot: str, operand: object) -> None:
    assert read(text).o[slot] == operand


def test_half_immediates_are_one_pair() -> None:
    insn = read("HADD2_32I R2, R3, 1, -2", "sm_53")
    assert insn.o["b"] == Imm(0x3C00 << 16 | 0xC000)
    assert isinstance(insn.o["a"], Reg)
    assert insn.o["a"].part == "H1_H0"


def test_plus_one_takes_the_place_of_both_signs() -> None:
    insn = read("IADD.PO R1, R2, R3")
    assert insn.m["po"] is True
    assert not insn.o["a"].neg  # type: ignore[union-attr]
    assert not insn.o["b"].neg  # type: ignore[union-attr]


def test_joint_types_split_over_their_names() -> None:
    insn = read("VADD.S8.S16.SAT.MAX R19, R5.B1, R0, R6")
    assert (insn.m["atype"], insn.m["btype"], insn.m["post"]) == ("S8", "S16", "MAX")
    assert read("IMUL.U32.U32.HI R1, R2, R3").m["btype"] == "U32"
    assert read("IMUL R1, R2, R3").m["atype"] == "S32"


def test_unknown_modifier_names_are_errors_and_absent_ones_are_false() -> None:
    insn = read("MOV R1, R2")
    assert insn.m["cc"] is False
    assert insn.m["bop"] == ""
    assert insn.m["rnd"] == "RN"
    with pytest.raises(KeyError):
        insn.m["colour"]


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ("IADD.X R2.CC, R3, R4", ({3, 4}, set(), True), ({2}, set(), True)),
        ("@!P3 LDG.E.64 R4, [R6]", ({6, 7}, {3}, False), ({4, 5}, set(), False)),
        ("STG.E.128 [R2], R8", ({2, 3, 8, 9, 10, 11}, set(), False), (set(), set(), False)),
        ("DFMA R2, R4, R6, R8", ({4, 5, 6, 7, 8, 9}, set(), False), ({2, 3}, set(), False)),
        ("ISETP.GE.AND P0, P1, R1, RZ, P2", ({1}, {2}, False), (set(), {0, 1}, False)),
        (
            "ATOM.E.CAS.64 R4, [R2], R8, R10",
            ({2, 3, 8, 9, 10, 11}, set(), False),
            ({4, 5}, set(), False),
        ),
        ("R2P PR, R3, 0x7f", ({3}, set(), False), (set(), set(range(7)), False)),
        ("P2R R1, CC, R2, 0xf", ({2}, set(), True), ({1}, set(), False)),
        ("CSETP.LT.AND P0, PT, CC, PT", (set(), set(), True), (set(), {0}, False)),
        ("@P0 BRA CC.NE, 0x40", (set(), {0}, True), (set(), set(), False)),
        ("BRA 0x40", (set(), set(), False), (set(), set(), False)),
        ("I2F.F64.S32 R2, R5", ({5}, set(), False), ({2, 3}, set(), False)),
        ("F2I.S64.F32 R2, R5", ({5}, set(), False), ({2, 3}, set(), False)),
        ("SHFL.BFLY P1, R0, R5, R6, R7", ({5, 6, 7}, set(), False), ({0}, {1}, False)),
        (
            "TXD R4, R2, R8, 0x50, 2D, 0x3",
            ({2, 3, 8, 9, 10, 11}, set(), False),
            ({4, 5}, set(), False),
        ),
        (
            "TEXS R6, R4, R0, R2, 0x50, 2D, RGBA",
            ({0, 2}, set(), False),
            ({4, 5, 6, 7}, set(), False),
        ),
        (
            "SUST.D.BA.3D.64.TRAP [R4], R2, 0x50",
            ({4, 5, 6, 2, 3}, set(), False),
            (set(), set(), False),
        ),
    ],
)  # fmt: skip
def test_reads_and_writes(
    text: str,
    reads: tuple[set[int], set[int], bool],
    writes: tuple[set[int], set[int], bool],
) -> None:
    insn = read(text)
    assert insn.reads() == Access(frozenset(reads[0]), frozenset(reads[1]), reads[2])
    assert insn.writes() == Access(frozenset(writes[0]), frozenset(writes[1]), writes[2])


def test_half_merge_reads_its_destination() -> None:
    assert read("HADD2.MRG_H0 R2, R3, R4", "sm_53").reads().registers == {2, 3, 4}
    assert read("HADD2 R2, R3, R4", "sm_53").reads().registers == {3, 4}


def test_the_python_api_binds_an_address() -> None:
    insn = isa.decode(0xE24000000180000F, pc=0x158)
    assert (insn.text, insn.target, insn.op) == ("@P0 BRA 0x178", 0x178, "BRA")
    assert insn.reads.predicates == {0}
    assert isa.decode(0x5C12800000470302).writes.cc
    assert isa.assemble("@P0 BRA 0x178", pc=0x158) == 0xE24000000180000F
    with pytest.raises(UsageError, match="sm_75"):
        isa.decode(0, arch="sm_99")
    with pytest.raises(DecodeError, match="64-bit"):
        isa.decode(1 << 64)


def test_listing_lines_assemble() -> None:
    line = "/*0008*/ IADD R0, R0, R1 ; /* 0x5c10000000170000 */ // sum"
    assert isa.assemble(line) == 0x5C10000000170000
    with pytest.raises(AssembleError, match=r"^19:"):
        isa.assemble("/*0008*/ IADD R0, R900, R1 ;")


@pytest.mark.parametrize("word", [-1, 1 << 64])
def test_what_is_no_word(word: int) -> None:
    with pytest.raises(DecodeError):
        isa.decode(word)
