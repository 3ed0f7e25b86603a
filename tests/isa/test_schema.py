"""The construct view of the table agrees with the masks; explain covers every bit."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from construct import Construct

from gpudbg.errors import DecodeError
from gpudbg.isa.spa5.decode import find_form
from gpudbg.isa.spa5.forms import all_forms
from gpudbg.isa.spa5.schema import explain, parse_word, parts, schema
from gpudbg.reference.instruction_words import decode_insn
from tests.isa.recorded import compiled
from tests.isa.sampling import legal_word


def test_every_form_has_a_schema_of_64_bits() -> None:
    for form in all_forms():
        fields = [p.field for p in parts(form)]
        assert fields[0].hi == 63
        assert fields[-1].lo == 0
        assert all(a.lo == b.hi + 1 for a, b in pairwise(fields))
        assert isinstance(schema(form), Construct)
        assert schema(form).sizeof() == 8


def test_construct_and_masks_agree_on_every_compiled_word() -> None:
    for arch, word in sorted({(r.arch, r.word) for r in compiled()}):
        form = find_form(word, arch)
        parsed = parse_word(word, arch)
        names = [p.name for p in parts(form)]
        for part in parts(form):
            if part.kind == "ignored":
                continue
            single = names.count(part.name) == 1
            key = part.name if single else f"{part.name}_{part.field.lo}"
            assert parsed[key] == part.field.get(word), (arch, hex(word), key)


def test_explain_names_fields_operands_and_effects() -> None:
    said = explain(0x4C10800005470206)
    assert said.text == "IADD R6.CC, R2, c[0x0][0x150]"
    rows = {r.name: r for r in said.rows}
    assert (rows["opcode"].bits, rows["opcode"].meaning) == ("63:51", "IADD")
    assert (rows["cc"].value, rows["cc"].meaning) == (1, ".CC (cc=True)")
    assert rows["a"].meaning == "operand a: R2"
    assert rows["b_offset"].value == 0x54
    assert said.reads.registers == {2}
    assert said.writes.registers == {6}
    assert said.writes.cc
    assert said.ignored == 0x0000_7780_0000_0000 & said.ignored
    assert sum(int(r.bits.split(":")[0]) - int(r.bits.split(":")[-1]) + 1 for r in said.rows) == 64


def test_explain_refuses_illegal_words() -> None:
    with pytest.raises(DecodeError):
        explain(0xFFFFFFFFFFFFFFFF)


def test_the_zero_word_has_none_of_the_fields_of_nop() -> None:
    """It reads as NOP, and no form has its bits: no field may be shown as if it were there."""
    found = explain(0)
    assert found.text == "NOP"
    assert [(row.bits, row.value) for row in found.rows] == [("63:0", 0)]
    data = decode_insn(["0"]).data
    assert (data["operands"], data["modifiers"], data["mnemonic"]) == ({}, {}, "NOP")


def test_rows_are_the_words_own_bits() -> None:
    """The values beside the bits, put together again, are the word: of every form."""
    dice = random.Random(17)
    for form in all_forms():
        word = legal_word(form, dice)
        if word is None:
            continue
        rows = explain(word, min(form.archs)).rows
        places = [int(row.bits.rpartition(":")[2]) for row in rows]
        assert sum(row.value << at for row, at in zip(rows, places, strict=True)) == word


@pytest.mark.parametrize("text", ["5098078000270000", "0000000000000000", "1000000000000000"])
def test_sixteen_digits_are_a_word(text: str) -> None:
    """As listings print it; all other numbers need their 0x."""
    assert decode_insn([text]).data["word"] == f"0x{text}"
    assert decode_insn(["10"]).data["word"] == "0x000000000000000a"
