"""The text tables of registers: what the reader understands, and that flags in code are theirs."""

from __future__ import annotations

from enum import IntFlag

import pytest

from gpudbg.regs import table_reader
from gpudbg.regs.esr import GlobalErrorStatus, GlobalEsr
from gpudbg.regs.port import DbgrControl0, DbgrStatus0, TpcException, find_word
from gpudbg.regs.table_reader import blocks, families, field_rows
from gpudbg.regs.warp_errors import WARP_ERRORS, WarpError
from gpudbg.regs.words import Certainty, Family, FieldKind


def test_a_block_its_options_and_texts(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setattr(table_reader, "_FOLDER", tmp_path)
    text = (
        "# a comment\n"
        "*2 {9+1} R{0+1} on=Volta- inferred aka=A,B | meaning | at {0x10+4}\n"
        "    7:4 low f32 unit=ns | a part | a note\n"
    )
    (table_reader._FOLDER / "t.tbl").write_text(text)
    first, second = blocks("t")
    assert (first.head.words, second.head.words) == (
        ("9", "R0", "inferred"),
        ("10", "R1", "inferred"),
    )
    assert (first.head.text(1), second.head.text(1)) == ("at 0x10", "at 0x14")
    assert first.head.names("aka") == ("A", "B")
    assert first.head.certainty is Certainty.INFERRED
    assert first.head.families[0] is Family.VOLTA
    row = field_rows(first.body)[1]
    assert (row.name, row.bits.hi, row.bits.lo, row.kind) == ("low", 7, 4, FieldKind.F32)
    assert (row.meaning, row.note, row.unit) == ("a part", "a note", "ns")


def test_ranges_of_chips() -> None:
    assert families("Kepler-Pascal,Hopper") == (
        Family.KEPLER, Family.MAXWELL, Family.PASCAL, Family.HOPPER,
    )  # fmt: skip
    assert families("Hopper-") == (Family.HOPPER, Family.BLACKWELL)
    with pytest.raises(KeyError, match="Voltaire"):
        families("Voltaire")


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("DBGR_CONTROL0", DbgrControl0),
        ("DBGR_STATUS0", DbgrStatus0),
        ("TPC_EXCEPTION", TpcException),
        ("SR_GlobalErrorStatus", GlobalErrorStatus),
    ],
)
def test_flags_in_code_are_the_fields_of_the_table(name: str, flags: type[IntFlag]) -> None:
    word = find_word(name)
    assert word is not None
    fields = {r.name.upper().replace("_", ""): r.bits.mask for r in word.rows if not r.reserved}
    members = {f"{key}".replace("_", ""): int(flag) for key, flag in flags.__members__.items()}
    assert fields == members


def test_every_error_of_the_enumerations_has_a_row() -> None:
    assert [row.error for row in WARP_ERRORS] == list(WarpError)
    word = find_word("HWW_GLOBAL_ESR")
    assert word is not None
    rows = {row.name for family in word.families for row in word.rows_for(family)}
    assert rows - {"reserved"} == set(GlobalEsr.__members__)
