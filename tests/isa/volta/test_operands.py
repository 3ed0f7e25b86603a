"""Operands of 128-bit instructions as records; what instructions read and write."""

from __future__ import annotations

import re

import pytest

from gpudbg.isa.operands import Access, Address, CBankAddress, Const, Imm, Pred, Reg, Target
from gpudbg.isa.volta import WideInstruction, assemble, decode
from tests.isa.volta.test_words import TABLES, recorded

NAMED = re.compile(r"(?<![\w.])(UR|UP|R|P)(\d+)(?![\w])")
TENSOR_CORES = ("HGMMA", "IGMMA", "BGMMA", "QGMMA", "UTC", "LDTM", "STTM", "LDT", "STT")
"""Instructions whose operands are written in part as bare words."""


def insn(text: str, arch: str = "sm_80") -> WideInstruction:
    """The instruction of a text."""
    return decode(assemble(text, 0, arch), arch)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", TABLES)
def test_registers_of_the_text_are_read_or_written(arch: str) -> None:
    """No register or predicate that nvdisasm prints is forgotten."""
    for row in recorded("words.txt"):
        if row.arch != arch or row.text is None or row.text.startswith(TENSOR_CORES):
            continue
        found = decode(row.word, arch)
        reads, writes = found.reads(), found.writes()
        files = {
            "R": reads.registers | writes.registers,
            "UR": reads.uniform | writes.uniform,
            "P": reads.predicates | writes.predicates,
            "UP": reads.uniform_predicates | writes.uniform_predicates,
        }
        for file, number in NAMED.findall(row.text):
            if file in ("R", "UR") or int(number) < 7:
                assert int(number) in files[file], (file, number, row.text)


def test_slots_and_signs() -> None:
    """Sources are a, b, c in the order of the text, whichever fields they stand in."""
    found = insn("IADD3 R4, P0, PT, R8, -c[0x0][0x160], R6")
    assert found.o == {
        "d": Reg(4), "p": Pred(0), "q": Pred(7), "a": Reg(8), "b": Const(0, 0x160, neg=True),
        "c": Reg(6),
    }  # fmt: skip
    swapped = insn("FFMA R0, R1, -R2, 2")
    assert [swapped.o[s] for s in "abc"] == [Reg(1), Reg(2, neg=True), Imm(0x40000000)]
    assert insn("ISETP.GE.U32.AND P0, PT, R0, R3, !P2").o["pa"] == Pred(2, True)
    assert insn("HADD2 R0, R1.H0_H0, |R2|.H1_H1").o["b"] == Reg(2, abs=True, part="H1_H1")
    assert insn("DADD R2, R4, -1").o["b"] == Imm(0xBFF0000000000000)
    assert insn("ISETP.GE.U32.AND P0, PT, R0, R3, !P2").m == ("GE", "U32", "AND")


def test_addresses() -> None:
    """Base, uniform register, descriptor and offset."""
    assert insn("LDG.E.64 R2, [R4.64+0x8]").o["addr"] == Address(Reg(4, part="64"), 8, True)
    assert insn("STG.E desc[UR4][R2.64], R5", "sm_90").o["addr"] == Address(
        Reg(2, part="64"), 0, True, None, Reg(4, file="UR")
    )
    assert insn("LDS R0, [R2.X4+UR4+0x10]").o["addr"] == Address(
        Reg(2, part="X4"), 0x10, False, Reg(4, file="UR")
    )
    assert insn("LDC R0, c[0x3][R2+0x4]").o["cbank"] == CBankAddress(3, Reg(2), 4)
    branch = insn("BRA 0x40").o["target"]
    assert isinstance(branch, Target)
    assert branch.address(0) == 0x40


@pytest.mark.parametrize(
    ("text", "arch", "reads", "writes"),
    [
        ("@P1 LDG.E.64 R2, [R4.64]", "sm_80", Access(frozenset({4, 5}), frozenset({1})),
         Access(frozenset({2, 3}), frozenset())),
        ("STG.E.128 desc[UR4][R2.64], R8", "sm_90",
         Access(frozenset({2, 3, 8, 9, 10, 11}), frozenset(), uniform=frozenset({4, 5})),
         Access(frozenset(), frozenset())),
        ("IMAD.WIDE R2, R0, R5, c[0x0][0x160]", "sm_86", Access(frozenset({0, 5}), frozenset()),
         Access(frozenset({2, 3}), frozenset())),
        ("HMMA.16816.F32 R8, R12, R24, R8", "sm_80",
         Access(frozenset({8, 9, 10, 11, 12, 13, 14, 15, 24, 25}), frozenset()),
         Access(frozenset({8, 9, 10, 11}), frozenset())),
        ("BMOV.32.CLEAR R2, B6", "sm_80",
         Access(frozenset(), frozenset(), barriers=frozenset({6})),
         Access(frozenset({2}), frozenset())),
        ("BMOV.32 B6, R2", "sm_80", Access(frozenset({2}), frozenset()),
         Access(frozenset(), frozenset(), barriers=frozenset({6}))),
        ("@UP0 UIADD3 UR4, UR5, 0x1, URZ", "sm_80",
         Access(frozenset(), frozenset(), uniform=frozenset({5}),
                uniform_predicates=frozenset({0})),
         Access(frozenset(), frozenset(), uniform=frozenset({4}))),
        ("LDG.E.ENL2.256 R3, R8, desc[UR4][R6.64], 0x8f", "sm_120",
         Access(frozenset({6, 7}), frozenset(), uniform=frozenset({4, 5})),
         Access(frozenset({3, 8, 9, 10, 11}), frozenset())),
        ("STG.E.ENL2.256 desc[UR4][R4.64], R8, R12", "sm_120",
         Access(frozenset({4, 5, *range(8, 16)}), frozenset(), uniform=frozenset({4, 5})),
         Access(frozenset(), frozenset())),
        ("TEX.SCR.LL R10, R8, R12, R4, 0x0, 0x58, 2D, 0x7", "sm_80",
         Access(frozenset({4, 12, 13}), frozenset()),
         Access(frozenset({8, 9, 10}), frozenset())),
        ("F2F.F64.F32 R4, R3", "sm_80", Access(frozenset({3}), frozenset()),
         Access(frozenset({4, 5}), frozenset())),
        ("F2I.F64 R4, R2", "sm_80", Access(frozenset({2, 3}), frozenset()),
         Access(frozenset({4}), frozenset())),
        ("R2P PR, R3, 0x7f", "sm_80", Access(frozenset({3}), frozenset()),
         Access(frozenset(), frozenset(range(7)))),
        ("P2R R3, PR, RZ, 0x7f", "sm_80", Access(frozenset(), frozenset(range(7))),
         Access(frozenset({3}), frozenset())),
    ],
)  # fmt: skip
def test_reads_and_writes(text: str, arch: str, reads: Access, writes: Access) -> None:
    """Pairs, quads, guards, uniform registers and convergence barriers."""
    found = insn(text, arch)
    assert (found.reads(), found.writes()) == (reads, writes)


def test_conditions() -> None:
    """A guard, or the second condition of a branch, leaves lanes out."""
    assert insn("BRA 0x40").unconditional
    assert not insn("@P0 BRA 0x40").unconditional
    assert not insn("BRA !P2, 0x40").unconditional
    assert insn("ISETP.GE.U32.AND P0, PT, R0, R3, !P2").unconditional
