"""Decoding and text of 128-bit words: `words.txt` holds nvdisasm's answers.

A line is `ARCH WORD PC TEXT`, `-` for a word that nvdisasm refuses: compiled words of every
architecture and mutations of them (1 to 6 bits, whole fields), nvdisasm 12.4 and 12.8 for sm_70 ..
sm_90 and 13.5 from sm_100 on.  `differences.txt` lists those that read differently here.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudbg.cli import main
from gpudbg.errors import DecodeError
from gpudbg.isa.volta import ARCHS, WideControl, decode
from gpudbg.isa.volta.rows import TABLE_ARCHS
from gpudbg.isa.volta.spec import forms_of, value_lists

HERE = Path(__file__).parent
TABLES = [f"sm_{arch}" for arch in TABLE_ARCHS]


class Recorded(NamedTuple):
    """A word with nvdisasm's answer; None: refused."""

    arch: str
    word: int
    pc: int
    text: str | None


@cache
def recorded(name: str) -> list[Recorded]:
    """The lines of a file."""
    out = []
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        arch, word, pc, text = line.split(" ", 3)
        out.append(Recorded(arch, int(word, 16), int(pc, 16), None if text == "-" else text))
    return out


def ours(row: Recorded) -> str | None:
    """Our text with single blanks."""
    try:
        text = decode(row.word, row.arch).text(row.pc)
    except DecodeError:
        return None
    return re.sub(r"\s+", " ", text).strip()


def text_or_reason(word: int, arch: str, pc: int) -> str:
    """What a word reads as, or why it is refused."""
    try:
        return decode(word, arch).text(pc)
    except DecodeError as error:
        return error.reason


@pytest.mark.parametrize("arch", TABLES)
def test_words_read_as_nvdisasm_reads_them(arch: str) -> None:
    """Text of every legal word, refusal of every other."""
    found = [row for row in recorded("words.txt") if row.arch == arch]
    assert len(found) > 400
    assert sum(row.text is None for row in found) > 90
    wrong = [(f"{r.word:032x}", r.text, ours(r)) for r in found if ours(r) != r.text]
    assert wrong == []


def test_known_differences_are_still_there() -> None:
    """A word that has come right moves to `words.txt`."""
    right = [f"{r.arch} {r.word:032x}" for r in recorded("differences.txt") if ours(r) == r.text]
    assert right == []
    assert len(recorded("differences.txt")) < 10


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("arch", TABLES)
def test_every_form_of_the_tables_is_understood(arch: str) -> None:
    """No row names a list that is not there, or an operand that cannot be read."""
    tables = arch.removeprefix("sm_")
    forms = list(forms_of(tables))
    for form in forms:
        form.parts(tables)
        form.head(form.value)
        assert form.controls
    assert len(forms) > 400
    assert value_lists()["ISETP_76"][1] == ".LT"


@given(st.integers(0, (1 << 128) - 1), st.sampled_from(sorted(ARCHS)))
def test_any_word_has_a_text_or_a_reason(word: int, arch: str) -> None:
    """Nothing but DecodeError comes out of any 128 bits."""
    assert text_or_reason(word, arch, 16)


@given(st.sampled_from(recorded("words.txt")), st.sets(st.integers(0, 127), max_size=4))
def test_words_near_compiled_ones_have_a_text_or_a_reason(row: Recorded, flips: set[int]) -> None:
    """Mutated words too: they come further into the tables than random ones."""
    word = row.word
    for bit in flips:
        word ^= 1 << bit
    assert text_or_reason(word, row.arch, row.pc)


def test_architectures_that_share_tables_read_alike() -> None:
    """sm_87 and sm_88 as sm_86, sm_90a as sm_90, sm_101 as sm_110; all read a MOV."""
    pairs = (("sm_87", "sm_86"), ("sm_88", "sm_86"), ("sm_90a", "sm_90"), ("sm_101", "sm_110"))
    assert all(ARCHS[one] == ARCHS[other] for one, other in pairs)
    word = 0x000FC60000000F0000000007000A7202
    assert {decode(word, arch).text() for arch in ARCHS} == {"MOV R10, R7"}


def test_sm_70_does_not_look_at_the_bit_of_uniform_forms() -> None:
    """It has no uniform datapath; sm_75 has, and takes bit 91 for one."""
    word = 0x000FC60000000F0000000007000A7202 | 1 << 91
    assert {decode(word, arch).text() for arch in ("sm_70", "sm_72")} == {"MOV R10, R7"}
    with pytest.raises(DecodeError):
        decode(word, "sm_75")


def test_sm_72_marks_reuse_as_sm_75_does() -> None:
    """sm_70 takes bits 123 and 124 for the second of two registers, later ones bit 124 only."""
    word = 0x0C0FF40007FFE0FF0400013208087810
    assert decode(word, "sm_70").text() == "IADD3 R8, R8.reuse, 0x4000132, RZ.reuse"
    with pytest.raises(DecodeError, match="reuse"):
        decode(word, "sm_72")


def test_control_bits() -> None:
    """Stall, yield, barriers and wait mask of a load and of an addition."""
    load = decode(0x008EE200001EE900000000001C1C7381, "sm_75")
    assert load.text() == "LDG.E.SYS R28, [R28]"
    assert load.control == WideControl(stall=1, yield_=False, write_barrier=3, wait=8)
    assert (load.control.stall, load.control.yield_) == (1, False)


def test_decode_insn_takes_words_of_128_bits(capsys: pytest.CaptureFixture[str]) -> None:
    """32 hex digits with --arch; too wide for the architecture, or refused: named."""
    word = "008ee200001ee900000000001c1c7381"
    assert main(["decode", "insn", word, "--arch", "sm_75"]) == 0
    out = capsys.readouterr().out
    assert "LDG.E.SYS R28, [R28]" in out
    assert "stall 1, no yield, sets SB3 when written, waits for SB3" in out
    assert main(["decode", "insn", word, "--arch", "sm_75", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert json.dumps(data).count('"LDG.E.SYS R28, [R28]"') == 1
    assert main(["decode", "insn", word]) == 2
    assert "128-bit words need --arch sm_70 or later" in capsys.readouterr().err
    assert main(["decode", "insn", "0" * 31 + "1", "--arch", "sm_90"]) == 0
    assert "no instruction of sm_90 has this opcode" in capsys.readouterr().out
    for digits in (30, 33):
        assert main(["decode", "insn", (word + "0")[:digits], "--arch", "sm_75"]) == 2
        assert f"{digits} hex digits: a word of sm_75 has 32" in capsys.readouterr().err


@pytest.mark.parametrize("half", ["5c10000000370204", "0x5c10000000370204"])
def test_half_a_word_is_not_taken_for_a_whole_one(
    half: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One of the two lines that a disassembly prints for an instruction."""
    assert main(["decode", "insn", half, "--arch", "sm_80"]) == 2
    assert f"0x{half[-16:]} is half of a word of sm_80" in capsys.readouterr().err
    assert main(["decode", "insn", half]) == 0


def test_decode_sr_names_the_registers_of_an_architecture(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Names and numbers both ways; what another architecture has is said."""
    assert main(["decode", "sr", "--arch", "sm_90", "CgaCtaId", "33", "SR_WARPGROUPID"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "136  SR_CgaCtaId",
        " 33  SR_TID.X",
        "135  SR_WARPGROUPID",
    ]
    assert main(["decode", "sr", "--arch", "sm_80", "--json", "24"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row == {"arch": "sm_80", "number": 24, "name": "SR_SW_SCRATCH"}
    assert main(["decode", "sr", "--arch", "sm_80", "SR_CgaCtaId"]) == 2
    err = capsys.readouterr().err
    assert "sm_80 has no special register 'SR_CgaCtaId'" in err
    assert "sm_90 and sm_100 and sm_120 have it" in err
    assert main(["decode", "sr", "--arch", "sm_80", "256"]) == 2
    assert main(["decode", "sr", "--arch", "sm_120"]) == 0
    assert "143  SR_CONTEXT_SAVE_ADDR_HI" in capsys.readouterr().out
