"""The assembler of 128-bit words: texts come back, mistakes are named with their column."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpudbg
from gpudbg.errors import AssembleError, DecodeError, GpudbgError, UsageError
from gpudbg.isa.operands import Imm, Reg
from gpudbg.isa.volta import ARCHS, WideControl, assemble, decode, notes_for
from tests.isa.volta.sampling import of_rows
from tests.isa.volta.test_words import TABLES, recorded

SAMPLE, FORMS = 250, 60
MOV = 0x000FC60000000F0000000007000A7202


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("arch", TABLES)
def test_texts_assemble_to_words_that_read_the_same(arch: str) -> None:
    """Every form and modifier of a sample; with its notes a text gives the word itself."""
    rows = [row for row in recorded("words.txt") if row.arch == arch and row.text is not None]
    for row in random.Random(arch).sample(rows, SAMPLE):
        insn = decode(row.word, arch)
        text = insn.text(row.pc)
        made = assemble(text, row.pc, arch, insn.control)
        assert decode(made, arch).text(row.pc) == text
        notes = notes_for(row.word, row.pc, arch)
        exact = assemble(f"{text} ; {notes}", row.pc, arch, insn.control)
        assert exact & ~(7 << 125) == row.word & ~(7 << 125), (text, notes)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("arch", ["sm_70", "sm_75", "sm_89", "sm_90", "sm_103", "sm_120"])
def test_any_form_with_any_fields_comes_back(arch: str) -> None:
    """Forms as the rows have them, all fields random: word, text, word, and the same text."""
    words = of_rows(arch, random.Random(f"forms {arch}"))
    for pc, word in enumerate(islice(words, FORMS)):
        try:
            insn = decode(word, arch)
        except DecodeError:
            continue
        text = insn.text(16 * pc)
        made = assemble(text, 16 * pc, arch, insn.control)
        assert decode(made, arch).text(16 * pc) == text
        exact = assemble(f"{text} ; {notes_for(word, 16 * pc, arch)}", 16 * pc, arch, insn.control)
        assert exact & ~(7 << 125) == word & ~(7 << 125), text


def test_one_instruction() -> None:
    """The Python API takes and gives 128-bit integers."""
    word = gpudbg.assemble("MOV R10, R7 ;", arch="sm_80")
    assert gpudbg.decode(word, arch="sm_80").text == "MOV R10, R7"
    assert word & ((1 << 105) - 1) == MOV & ((1 << 105) - 1)
    found = gpudbg.decode(MOV, arch="sm_90")
    assert (found.op, found.arch, found.word) == ("MOV", "sm_90", MOV)
    assert found.operands == (Reg(10), Reg(7), Imm(15))
    assert isinstance(found.control, WideControl)
    assert str(found.control) == "B------:R-:W-:Y:S03:---"
    branch = gpudbg.assemble("@!P0 BRA 0x40", pc=0x100, arch="sm_90")
    assert gpudbg.decode(branch, pc=0x100, arch="sm_90").target == 0x40
    with pytest.raises(DecodeError, match="not a 128-bit word"):
        gpudbg.decode(1 << 128, arch="sm_80")
    with pytest.raises(UsageError, match="unknown architecture 'sm_99'"):
        gpudbg.decode(MOV, arch="sm_99")


def test_reuse_marks_and_control() -> None:
    """A mark sets its bit beside the scheduling bits that were given."""
    control = WideControl(stall=4, yield_=False, wait=3)
    word = assemble("FFMA R0, R1.reuse, R2, R3", 0, "sm_86", control)
    assert decode(word, "sm_86").control == replace(control, reuse=1)
    assert decode(word, "sm_86").text() == "FFMA R0, R1.reuse, R2, R3"


def test_numbers_may_be_written_otherwise() -> None:
    """Decimal numbers, more blanks, lower-case mnemonics, raw bits of a float."""
    want = assemble("IADD3 R1, R2, 0x10, RZ", 0, "sm_80")
    assert assemble(" iadd3  R1,R2 , 16,RZ;", 0, "sm_80") == want
    half = assemble("FADD R1, R2, 0.5", 0, "sm_80")
    assert assemble("FADD R1, R2, 0x3f000000", 0, "sm_80") == half


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("FROB R1", 1, "mnemonic"),
        ("", 1, "mnemonic"),
        ("IADD3 R1, R2, R3", 17, "','"),
        ("IADD3 R1, R2, R3, R400", 19, "a register"),
        ("MOV R1, R2 &3:200=1", 12, "HI:LO"),
        ("MOV R1, R2 &3:2=9", 17, "less"),
        ("@UP0 MOV R1, R2", 1, "@P0"),
        ("LDG.E.FOO R2, [R4.64]", 6, None),
        ("MOV R1, R" + "9" * 6000, 9, "a register"),
        ("IADD3 R1, R2, " + "9" * 6000 + ", RZ", 15, None),
        ("S2R R1, SR" + "9" * 6000, 9, "a special register"),
    ],
)
def test_mistakes_are_named(text: str, column: int, expected: str | None) -> None:
    """The furthest place that could be read, and what may stand there."""
    with pytest.raises(AssembleError) as caught:
        assemble(text, 0, "sm_80")
    assert caught.value.column == column
    assert expected is None or expected in (caught.value.expected or "")


def test_bits_without_a_text_are_those_compilers_set() -> None:
    """Predicates that a form does not use are PT, so that nothing is written to P0."""
    word = assemble("IADD3 R1, R2, R3, R4", 0, "sm_80")
    assert (word >> 81 & 7, word >> 84 & 7) == (7, 7)
    load = assemble("LDG.E R2, [R2.64] &37:32=6", 0, "sm_80")
    assert load >> 32 & 63 == 6
    assert decode(load, "sm_80").text() == "LDG.E R2, [R2.64]"
    assert notes_for(load, 0, "sm_80") == "&33=0x1"


ALPHABET = "RUPZT0123456789xabcdef.,[]|-~!+@& :=MOVIADLSGE"


@given(
    st.sampled_from([row for row in recorded("words.txt") if row.text]),
    st.integers(0, 60),
    st.text(ALPHABET, max_size=4),
    st.sampled_from(sorted(ARCHS)),
)
def test_any_line_gives_a_word_or_an_error(row: object, at: int, more: str, arch: str) -> None:
    """Texts that were cut and added to: nothing but our errors comes out."""
    text = getattr(row, "text", "")
    line = text[:at] + more + text[at + 2 :]
    try:
        word = assemble(line, 0, arch)
    except GpudbgError:
        return
    assert decode(word, arch).text()
