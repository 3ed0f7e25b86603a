"""The assembler: round trip of every recorded word, and its messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudbg.errors import AssembleError
from gpudbg.isa.spa5 import assemble, decode
from gpudbg.isa.spa5.assemble import assemble_line, canonical
from tests.isa.quirks import ROUND_TRIP, explained
from tests.isa.recorded import compiled, sampled
from tests.variants import number


@pytest.mark.full(instead="test_random_words_assemble_back")
def test_compiled_programs_assemble_to_the_same_words() -> None:
    """Bit for bit, ignored bits included, and the reuse marks too."""
    wrong = []
    for r in compiled():
        assert r.text is not None
        again = assemble_line(r.text, r.pc, r.arch)
        if again.word != r.word or again.reuse != r.group >> 17 & 7:
            wrong.append((r, again))
    assert wrong == []


def test_random_words_assemble_back() -> None:
    wrong = []
    for r in sampled()[:: number(7, 1)]:
        if r.text is None or explained(ROUND_TRIP, r.text):
            continue
        if assemble(r.text, r.pc, r.arch) != canonical(r.word, r.arch):
            wrong.append((r, hex(assemble(r.text, r.pc, r.arch))))
    assert wrong == []


def test_texts_that_lose_bits_still_come_back_as_the_same_text() -> None:
    lossy = [r for r in sampled() if r.text is not None and explained(ROUND_TRIP, r.text)]
    assert lossy
    for r in lossy:
        assert r.text is not None
        again = decode(assemble(r.text, r.pc, r.arch), r.arch)
        assert again.text(r.pc, r.group).rstrip() == r.text


def test_blanks_semicolon_braces_and_reuse_are_accepted() -> None:
    word = assemble("IADD R6, R6, R8")
    for text in ("  IADD  R6 ,R6,  R8 ;", "{ IADD R6, R6, R8 ;", "IADD R6, R6, R8        }"):
        assert assemble(text) == word
    line = assemble_line("{ IADD R6, R6.reuse, R8.reuse ;")
    assert (line.word, line.reuse, line.dual) == (word, 3, True)
    assert assemble("DEPBAR {3,2,1,0}") == 0xF0F000000007000F


@pytest.mark.parametrize("mnemonic", ["S2R", "CS2R"])
def test_special_registers_by_number(mnemonic: str) -> None:
    for arch in ("sm_50", "sm_53", "sm_61"):
        for n in range(256):
            word = assemble(f"{mnemonic} R3, SR{n}", 8, arch)
            assert word >> 20 & 0xFF == n
            assert assemble(decode(word, arch).text(8, 0).rstrip(), 8, arch) == word
    with pytest.raises(AssembleError, match="SR0 to SR255"):
        assemble(f"{mnemonic} R3, SR256")
    assert assemble(f"{mnemonic} R3, SR_DirectCBEWriteEnable") >> 20 & 0xFF == 23


def test_texture_hints_are_reuse_bits() -> None:
    assert assemble_line("TXD.T R4, R2, R4, 0x50, 2D, 0x1").reuse == 1
    assert assemble_line("TXD.P R4, R2, R4, 0x50, 2D, 0x1").reuse == 2


def test_relative_targets_follow_the_pc() -> None:
    assert assemble("@P0 BRA 0x178", pc=0x158) == 0xE24000000180000F
    assert assemble("BRX R2 -0x80") == 0xE2500FFFF807020F


def test_raw_bits_stand_for_any_float_immediate() -> None:
    assert assemble("FADD32I R2, R3, 0xffc00001") == 0x080FFC0000170302 | 0
    assert assemble("FMUL R2, R3, 0x7fc00000") & 0x7FFFF << 20 == 0x7FC00 << 20


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("IADD R2, R3, foo", 14, "register"),
        ("IADD R2 R3, R4", 6, "register"),
        ("IADD.Q R1, R2, R3", 5, ".SAT"),
        ("IADD R1, R2, 0x80000", 14, "integer -0x80000..0x7ffff"),
        ("MOV R1, c[0x99][0x0]", 9, "constant"),
        ("FADD R1, R2, 0.1", 14, "top 20 bits"),
        ("ISETP.GE P0, PT, R1, R2, PT", 10, ".AND"),
        ("BRA", 4, "branch target"),
        ("@P0 SSY 0x100", 1, "SSY"),
        ("FOO R1", 1, "mnemonic"),
        ("", 1, "mnemonic"),
        ("HADD2 R1, R2, R3", 1, "mnemonic"),
    ],
)
def test_errors_name_the_column_and_what_was_expected(
    text: str, column: int, expected: str
) -> None:
    with pytest.raises(AssembleError) as caught:
        assemble(text)
    assert caught.value.column == column
    assert expected in str(caught.value.expected)


def test_reuse_where_there_is_no_reuse_bit_is_an_error() -> None:
    with pytest.raises(AssembleError, match="no reuse bit"):
        assemble("MUFU.RCP R4, R5.reuse")


def check_reading(text: str) -> None:
    """The text is a legal word's, or the error names a column."""
    column: int | None = 0
    try:
        assert decode(assemble(text))
    except AssembleError as error:
        column = error.column
    assert column is not None


@given(st.text(alphabet="IADDMOVR0123456789PTZ.,[]+-x c{}@!;|~", max_size=40))
def test_any_text_is_a_word_or_an_assemble_error(text: str) -> None:
    check_reading(text)


@given(st.sampled_from(range(2000)), st.integers(0, 60), st.characters(codec="ascii"))
def test_damaged_texts_never_crash(index: int, at: int, char: str) -> None:
    text = compiled()[index * 7].text or ""
    check_reading(text[:at] + char + text[at + 1 :])
