"""The notation of the form tables: braces, variants and names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpudbg.isa.volta import rows
from gpudbg.isa.volta.rows import parse_archs, rows_of
from gpudbg.isa.volta.spec import forms_of

LINE = (
    "OP 007,9=1{,70=1@90+} r c@70-90 u@75+ | {.OLD@70-75;.NEW@80+} | R16, {P81,@90+} B"
    " | {var@70-72,r}"
)
TWO = "OP .1d | .A{@80:77=0;.B@80:77=8} | {R24@11:8=3;I31:24@11:8=9}, {P81@80:77=8} | arch=80+"

Reading = Callable[[str, str], list[rows.FormRow]]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Reading:
    """A function that reads one line as a whole table."""

    def reading(line: str, tables: str) -> list[rows.FormRow]:
        monkeypatch.setattr(rows, "_lines", lambda: (rows._line(line),))
        return list(rows_of(tables))

    return reading


def test_braces_read_for_an_architecture_and_a_variant(read: Reading) -> None:
    r, c = read(LINE, "70")
    assert (r.letter, r.match, r.modifiers, r.operands) == ("r", "007,9=1", ".OLD", "R16, B")
    assert (r.options.strip(), c.options.strip()) == ("var", "")
    last, u = read(LINE, "100")
    assert [last.letter, u.letter] == ["r", "u"]
    assert (u.match, u.modifiers, u.operands) == ("007,9=1,70=1", ".NEW", "R16, P81, B")


def test_texts_that_name_bits_are_forms_and_go_together(read: Reading) -> None:
    found = [(r.modifiers, r.operands, r.mask, r.value) for r in read(TWO, "90")]
    bits = 0xF << 77 | 0xF00
    assert found == [
        (".A.B", "R24, P81", bits, 8 << 77 | 0x300),
        (".A.B", "I31:24, P81", bits, 8 << 77 | 0x900),
    ]
    assert read(TWO, "75") == []


def test_architectures_are_ranges() -> None:
    assert parse_archs("80-89") == {"80", "86", "89"}
    assert parse_archs("110+") == {"110", "120"}
    assert parse_archs("70,120") == {"70", "120"}
    assert parse_archs("") == set(rows.TABLE_ARCHS)


@pytest.mark.parametrize("tables", rows.TABLE_ARCHS)
def test_no_form_is_there_twice(tables: str) -> None:
    forms = list(forms_of(tables))
    keys = {(f.op, f.mask, f.value, f.modifiers, f.operands, str(f.options)) for f in forms}
    assert len(keys) == len(forms)
