"""The construct view of 128-bit words: every bit of every form once, nothing left out."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gpudbg.isa.volta import assemble, decode
from gpudbg.isa.volta.decode import candidates_of
from gpudbg.isa.volta.schema import explain, parts, schema
from gpudbg.reference.instruction_words import decode_insn
from tests.isa.volta.test_words import recorded
from tests.variants import number


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("tables", ["70", "80", "90", "120"])
def test_every_form_is_cut_into_128_bits(tables: str) -> None:
    """No bit twice, none left out; `ignored` are those that no text and no match looks at."""
    for form in candidates_of(tables):
        cut = parts(form, tables)
        assert (cut[0].field.hi, cut[-1].field.lo) == (127, 0)
        assert all(a.field.lo == b.field.hi + 1 for a, b in pairwise(cut))
        assert len({part.key for part in cut if part.of.kind != "ignored"}) == len(
            [part for part in cut if part.of.kind != "ignored"]
        )
        ignored = sum(part.field.mask for part in cut if part.of.kind == "ignored")
        assert not ignored & form.used(tables), (form.op, hex(ignored))


def test_rows_are_the_words_own_bits() -> None:
    """The construct view's values, put together again, are the word."""
    seen = set()
    for row in recorded("words.txt")[:: number(8, 1)]:
        if row.text is None or (row.arch, row.text.split()[0]) in seen:
            continue
        seen.add((row.arch, row.text.split()[0]))
        insn = decode(row.word, row.arch)
        assert schema(insn.form, insn.tables).sizeof() == 16
        rows = explain(insn)
        places = [int(one.bits.rpartition(":")[2]) for one in rows]
        assert sum(one.value << at for one, at in zip(rows, places, strict=True)) == row.word


def test_fields_say_what_they_mean() -> None:
    word = assemble("@!P2 IMAD.WIDE.U32 R4, R8, R9, c[0x0][0x160]", 0, "sm_80")
    data = decode_insn([f"{word:032x}", "--arch", "sm_80"]).data
    rows = {row["name"]: row for row in data["fields"]}
    assert rows["guard"]["meaning"] == rows["guard_not"]["meaning"] == "@!P2"
    assert (rows["d"]["bits"], rows["d"]["value"]) == ("23:16", 4)
    assert (rows["a"]["value"], rows["a"]["meaning"]) == (8, "operand 3: R8")
    assert rows["c_offset"]["value"] * 4 == 0x160
    assert rows["stall"]["kind"] == "scheduling"
    assert data["reads"]["registers"] == ["R8", "R9"]
    assert data["writes"]["registers"] == ["R4", "R5"]
