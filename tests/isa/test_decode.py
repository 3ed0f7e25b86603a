"""Decode and text against the recorded answers of nvdisasm."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudbg.errors import DecodeError
from gpudbg.isa.spa5 import ARCHS, decode
from gpudbg.isa.spa5.forms import all_forms, mnemonics, modifier_names
from gpudbg.isa.spa5.spec import FormError, parse_line
from tests.isa.recorded import Record, compiled, sampled

words = st.integers(0, (1 << 64) - 1)


def our_text(record: Record) -> str | None:
    try:
        return decode(record.word, record.arch).text(record.pc, record.group).rstrip()
    except DecodeError:
        return None


def test_compiled_programs_read_as_nvdisasm_prints_them() -> None:
    wrong = [(r, our_text(r)) for r in compiled() if our_text(r) != r.text]
    assert wrong == []
    assert len(compiled()) > 15_000


def test_random_words_of_every_form_read_as_nvdisasm_prints_or_refuses_them() -> None:
    wrong = [(r, our_text(r)) for r in sampled() if our_text(r) != r.text]
    assert wrong == []


def test_the_samples_reach_every_form_and_hold_illegal_words() -> None:
    reached = {decode(r.word, r.arch).form for r in sampled() if r.text is not None}
    missed = [f for f in all_forms() if f not in reached]
    assert missed == []
    assert sum(r.text is None for r in sampled()) > 1000


def test_modifier_names_are_those_of_the_forms() -> None:
    assert modifier_names() == {n for form in all_forms() for n in form.modifiers(form.default)}


def test_a_form_line_outside_the_grammar_is_named_when_it_is_read() -> None:
    for columns, words in [(".nosuch@3 | d", "no table 'nosuch'"), ("| d:Q@7:0", "kind 'Q'")]:
        (form,) = parse_line(f"IADD 5c10:fff8 | {columns}")
        with pytest.raises(FormError, match=words):
            form.modifiers(0)


def test_decode_gives_the_same_object_for_the_same_word() -> None:
    assert decode(0x5C10000000870606) is decode(0x5C10000000870606)
    assert decode(0x5C10000000870606, "sm_61") is not decode(0x5C10000000870606, "sm_50")


def test_the_text_of_a_shared_instruction_follows_the_pc() -> None:
    branch = decode(0xE24000000180000F)
    assert branch.text(0x158) == "@P0 BRA 0x178"
    assert branch.text(0x58) == "@P0 BRA 0x78"
    assert branch.target(0x158) == 0x178


@pytest.mark.parametrize(
    ("word", "arch", "part"),
    [
        (0xFFFFFFFFFFFFFFFF, "sm_50", "no instruction of sm_50"),
        (0x5D10000000670400, "sm_50", "no instruction of sm_50"),  # HADD2 came with sm_53
        (0x5080000000870304, "sm_50", "reserved value 8 of func"),  # MUFU.SQRT came with sm_52
        (0xE3A0000000000180, "sm_50", "reserved value 6 of mode"),
    ],
)
def test_illegal_words_say_why(word: int, arch: str, part: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(word, arch)
    assert part in caught.value.reason
    assert f"{word:#018x}" in str(caught.value)
    assert caught.value.word == word


def test_words_that_only_later_architectures_know() -> None:
    assert decode(0x5D10000000670400, "sm_53").op == "HADD2"
    assert decode(0x5080000000870304, "sm_52").m["func"] == "SQRT"
    assert decode(0x53F8028004070304, "sm_61").text() == "IDP.4A.U8.U8 R4, R3, R64, R5"
    with pytest.raises(DecodeError):
        decode(0x53F8028004070304, "sm_60")


def test_the_zero_word_is_nop() -> None:
    assert decode(0).text() == "NOP"


def test_instructions_pickle_to_themselves() -> None:
    insn = decode(0x5C12800000470302, "sm_52")
    assert pickle.loads(pickle.dumps(insn)) is insn


def test_every_architecture_has_the_instructions_of_sm_50() -> None:
    for arch in ARCHS:
        assert set(mnemonics("sm_50")) <= set(mnemonics(arch))
    assert len(mnemonics("sm_50")) == 145


@given(words, st.sampled_from(ARCHS))
def test_any_word_decodes_or_is_refused_with_a_reason(word: int, arch: str) -> None:
    reason = "legal"
    try:
        insn = decode(word, arch)
        assert insn.text(0x48)
        assert insn.o is not None
        insn.reads()
        insn.writes()
    except DecodeError as error:
        reason = error.reason
    assert reason


@given(words, st.integers(0, 15))
@settings(max_examples=200)
def test_texts_that_were_kept_are_those_of_a_form_without_any(word: int, reuse: int) -> None:
    for form in all_forms()[:: 1 + word % 37]:
        tried = word & ~form.mask | form.value
        fresh = replace(form)
        for at in (0x8, 0x1F8):
            assert form.text(tried, at, reuse) == fresh.text(tried, at, reuse)
        assert form.reason(tried) == fresh.reason(tried)
