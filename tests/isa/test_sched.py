"""Control words, bundles and listings."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudbg.errors import AssembleError
from gpudbg.isa.control import Control
from gpudbg.isa.spa5 import sched
from gpudbg.isa.spa5.text import lines, listing

IADD = 0x5C10000000070302
MOV = 0x5C98078000270006


@given(st.integers(0, (1 << 21) - 1))
def test_groups_decode_and_encode_to_themselves(group: int) -> None:
    assert Control.decode(group).encode() == group


@given(st.integers(0, (1 << 21) - 1))
def test_the_notation_reads_back(group: int) -> None:
    control = Control.decode(group)
    assert Control.parse(str(control)) == control


def test_fields_of_a_compiled_control_word() -> None:
    # 0x001cfc00e22007f6 precedes MOV, S2R, S2R: the loads set barrier 0 and have no wait.
    first, second, third = (Control.decode(g) for g in sched.groups(0x001CFC00E22007F6))
    assert (first.stall, first.yield_, first.write_barrier) == (6, False, None)
    assert (second.stall, second.write_barrier, second.wait) == (1, 0, 0)
    assert (third.stall, third.write_barrier) == (15, 1)
    assert str(second) == "B------:R-:W0:-:S01:----"


@given(st.tuples(*[st.integers(0, (1 << 21) - 1)] * 3))
def test_three_groups_make_a_word(parts: tuple[int, int, int]) -> None:
    assert sched.groups(sched.pack(*parts)) == parts
    assert sched.pack(*parts) < 1 << 63


@pytest.mark.parametrize("text", ["", "B1-----:R-:W-:Y:S00:----", "S04", "B------:R8:W-:Y:S00:"])
def test_bad_notation_is_refused(text: str) -> None:
    with pytest.raises(AssembleError):
        Control.parse(text)


def test_addresses_skip_control_words() -> None:
    assert [sched.next_instruction(a) for a in (0x08, 0x10, 0x18)] == [0x10, 0x18, 0x28]
    assert sched.first_instruction(0x40) == 0x48
    assert sched.is_control(0x20)
    assert not sched.is_control(0x28)


def bundle(groups: tuple[int, int, int], *words: int) -> bytes:
    return struct.pack("<4Q", sched.pack(*groups), *words)


def test_instructions_of_a_section_come_with_their_groups() -> None:
    code = bundle((1, 2, 3), 10, 11, 12) + bundle((4, 5, 6), 13, 14, 15)
    found = list(sched.instructions(code, base=0x100))
    assert [a for a, _, _ in found] == [0x108, 0x110, 0x118, 0x128, 0x130, 0x138]
    assert [w for _, w, _ in found] == list(range(10, 16))
    assert [g for _, _, g in found] == [1, 2, 3, 4, 5, 6]
    assert len(list(sched.instructions(code[:-9]))) == 4
    assert list(sched.instructions(b"")) == []


def test_dual_issue_braces_as_nvdisasm_prints_them() -> None:
    dual, plain = 0x7F0, 0x7E0
    code = bundle((dual, plain, plain), 0x5C10000000080302, 0x5C98078000210006, IADD)
    first, second, third = (line.body(braces=True) for line in lines(code))
    assert first == "         {    @!P0 IADD R2, R3, R0 ;"
    assert second == "               @P1 MOV R6, R2        }"
    assert third == "                   IADD R2, R3, R0;"
    code = bundle((dual, 0x7E1, 0x207E0), 0x5C10000000080302, 0x5C98078000210006, IADD)
    _, second, third = (line.body(braces=True) for line in lines(code))
    assert second == "               @P1 MOV R6, R2         }"
    assert third == "                   IADD R2, R3.reuse, R0;"
    assert next(iter(lines(code))).body() == "              @!P0 IADD R2, R3, R0 ;"


def test_a_listing_shows_illegal_words_with_their_reason() -> None:
    code = bundle((0x7E0,) * 3, MOV, 0xFFFFFFFFFFFFFFFF, MOV)
    good, bad, _ = lines(code)
    assert good.insn is not None
    assert bad.insn is None
    assert "no instruction" in bad.error
    text = listing(code)
    assert text[0].split() == ["/*", "0x001f8000fc0007e0", "*/"]
    assert text[2].split()[1] == ".word"
    assert len(text) == 4
