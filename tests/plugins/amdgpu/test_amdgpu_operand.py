"""The operand and the instruction words, both ways."""

from __future__ import annotations

import pytest
from gpudbg_plugins.amdgpu.instruction import MNEMONICS, GcnInstruction, decode_words, literal_text
from gpudbg_plugins.amdgpu.operand import HwReg
from gpudbg_plugins.amdgpu.registers import processor
from gpudbg_plugins.amdgpu.scalars import scalar_name
from gpudbg_plugins.amdgpu.source import read_instructions, read_operand
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudbg.errors import DecodeError

CPUS = ("gfx600", "gfx700", "gfx803", "gfx801", "gfx900", "gfx90a", "gfx940", "gfx1010", "gfx1030",
        "gfx1100", "gfx1200")  # fmt: skip
OPERANDS = st.builds(
    HwReg, st.integers(0, 63), st.integers(0, 31), st.integers(1, 32)
)  # fmt: skip


def test_every_operand_decodes_and_encodes_back() -> None:
    for simm16 in range(1 << 16):
        assert HwReg.decode(simm16).encode() == simm16


@given(OPERANDS)
def test_decode_inverts_encode(operand: HwReg) -> None:
    assert HwReg.decode(operand.encode()) == operand


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("mcpu", CPUS)
@given(operand=OPERANDS)
@settings(max_examples=60)
def test_parse_inverts_print(mcpu: str, operand: HwReg) -> None:
    chosen = processor(mcpu)
    assert read_operand(operand.text(chosen), chosen) == operand.encode()


@given(OPERANDS)
@settings(max_examples=60)
def test_all_syntaxes_agree(operand: HwReg) -> None:
    chosen, value = processor("gfx1010"), operand.encode()
    for text in (
        f"{value}", f"{value:#x}", f"0{value:o}", f"{value:#b}",
        f"hwreg({operand.id}, {operand.offset}, {operand.size})",
        f"{{size: {operand.size}, id: {operand.id}, offset: {operand.offset}}}",
        f"{operand.id} | ({operand.offset} << 6) | (({operand.size} - 1) << 11)",
    ):  # fmt: skip
        assert read_operand(text, chosen) == value, text


def test_worked_example() -> None:
    assert HwReg(1, 2, 4).encode() == 0x1881
    assert HwReg(15).encode() == 0xF80F
    assert HwReg(51, 1, 31).encode() == 0xF073


def test_bits_past_31_fall_off() -> None:
    assert HwReg(1, 31, 32).bits == (31, 31)
    assert HwReg(1, 4, 4).bits == (7, 4)


INSTRUCTIONS = st.one_of(
    st.builds(
        GcnInstruction, st.sampled_from(MNEMONICS[:2]), st.integers(0, 0xFFFF), st.integers(0, 127)
    ),
    st.builds(
        GcnInstruction, st.just(MNEMONICS[2]), st.integers(0, 0xFFFF), st.just(0),
        st.integers(0, 0xFFFFFFFF),
    ),
)  # fmt: skip


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("mcpu", CPUS)
@given(instruction=INSTRUCTIONS)
@settings(max_examples=80)
def test_words_both_ways(mcpu: str, instruction: GcnInstruction) -> None:
    chosen = processor(mcpu)
    words = instruction.words(chosen)
    assert decode_words(words, chosen) == instruction
    name = scalar_name(instruction.scalar, chosen)
    # the disassembler names two registers that the assembler of the processor refuses
    if name.isdigit() or (mcpu in ("gfx803", "gfx801", "gfx900", "gfx90a", "gfx940")
                          and name in ("null", "xnack_mask_lo", "xnack_mask_hi")):  # fmt: skip
        return
    if "." in instruction.text(chosen):  # a real number is no text that is read
        return
    (again,) = read_instructions(instruction.text(chosen), chosen)
    assert again.words(chosen) == words


def test_one_word_two_meanings() -> None:
    """0xb9...... reads on gfx10 and writes on gfx9 and gfx11."""
    word = (0xB9021881,)
    assert decode_words(word, processor("gfx1010")).mnemonic == "s_getreg_b32"
    assert decode_words(word, processor("gfx900")).mnemonic == "s_setreg_b32"
    assert decode_words(word, processor("gfx1100")).mnemonic == "s_setreg_b32"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "no instruction word"),
        ((0xBF800000,), "none of s_getreg_b32"),
        ((0x12345678,), "none of"),
        ((1 << 32,), "none of"),
        ((0xBA801901,), "needs a literal word"),
        ((0xBA801901, 1 << 32), "does not fit 32 bits"),
        ((0xB9021881, 0), "1 word.* left over"),
    ],
)
def test_words_that_are_something_else(words: tuple[int, ...], text: str) -> None:
    with pytest.raises(DecodeError, match=text):
        decode_words(words, processor("gfx1010"))


@given(st.lists(st.integers(0, 0xFFFFFFFF), max_size=3), st.sampled_from(CPUS))
def test_any_words_decode_or_are_refused(words: list[int], mcpu: str) -> None:
    chosen = processor(mcpu)
    try:
        found = decode_words(words, chosen)
    except DecodeError:
        return
    assert found.text(chosen)


def test_literals_print_as_inline_constants() -> None:
    chosen = processor("gfx900")
    expected = {0: "0", 64: "64", 65: "0x41", 0xFFFFFFF0: "-16", 0xFFFFFFEF: "0xffffffef",
                0x3F800000: "1.0", 0xC0800000: "-4.0", 0x3E22F983: "0.15915494"}  # fmt: skip
    assert {value: literal_text(value, chosen) for value in expected} == expected
    assert literal_text(0x3E22F983, processor("gfx700")) == "0x3e22f983"
