"""The special register table against the source document and the disassembler."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpudbg.isa.spa5.sregs import sreg_names
from gpudbg.regs.special import (
    SPECIAL_REGISTERS,
    Shaders,
    coupled_numbers,
    disassembler_name,
    find_special,
    nearest_special,
    parse_spa,
)
from gpudbg.regs.words import FieldKind
from tests.variants import rows

DATA = Path(__file__).parent / "data"
SOURCE = {row[0]: row[1:] for row in json.loads((DATA / "sr_table.json").read_text())}
SHADERS = {
    "valid in all shader types": Shaders.ALL,
    "valid in all shader types except compute": Shaders.GRAPHICS,
    "valid in pixel shader only": Shaders.PIXEL,
    "PS only": Shaders.PIXEL,
    "CS only": Shaders.COMPUTE,
    "VTG only": Shaders.VTG,
    "VSB & TI only": Shaders.VSB_TI,
}
# Ranges of the source that say "reserved" or "zero", or that enclose the named fields.
NOT_FIELDS = {
    0: {(31, 5)},
    2: {(31, 0), (7, 6)},
    3: {(31, 0), (7, 5), (15, 15), (31, 31)},
    22: {(31, 8)},
    25: {(31, 0)},
    26: {(31, 0)},
    27: {(31, 0)},
    32: {(31, 0), (15, 11)},
    41: {(30, 8)},
    64: {(3, 0), (31, 4), (3, 3), (6, 6), (8, 8), (12, 12), (31, 13)},
    66: {(23, 8), (31, 27)},
    96: {(31, 5)},
    97: {(31, 24)},
    99: {(31, 8)},
}


def test_every_number_has_its_own_row() -> None:
    assert [row.number for row in SPECIAL_REGISTERS] == list(range(256))


@rows("number", range(256))
def test_row_agrees_with_the_source(number: int) -> None:
    row = SPECIAL_REGISTERS[number]
    if number not in SOURCE:
        assert row.reserved
        assert row.mask() == 0
        return
    name, scope, coupled, shaders, bits = SOURCE[number]
    assert (row.name, row.coupled, row.shaders) == (name, coupled, SHADERS[shaders])
    assert row.scope is not None
    assert row.scope.lower() == scope
    fields = {tuple(field.bits) for field in row.fields("5.3") if not field.reserved}
    assert fields == {tuple(b) for b in bits} - NOT_FIELDS.get(number, set())


@pytest.mark.parametrize("arch", ["SM50", "SM52", "SM53", "SM60", "SM61", "SM62"])
def test_disassembler_names(arch: str) -> None:
    printed = json.loads((DATA / "disassembler_names.json").read_text())
    names = {**printed["SM50"], **(printed[arch] if arch != "SM50" else {})}
    for number in range(256):
        want = names.get(str(number), f"SR{number}")
        assert disassembler_name(number, f"sm_{arch[2:]}") == want


@pytest.mark.parametrize("arch", ["sm_50", "sm_52", "sm_53", "sm_60", "sm_61", "sm_62"])
def test_the_instruction_tables_print_the_same_names(arch: str) -> None:
    assert list(sreg_names(arch)) == [disassembler_name(n, arch) for n in range(256)]
    assert SPECIAL_REGISTERS[33].nvdisasm == "SR_TID.X"
    assert SPECIAL_REGISTERS[44].nvdisasm == ""


def test_warp_id_is_one_bit_wider_from_spa_53_on() -> None:
    def warp_bits(spa: str) -> tuple[int, int]:
        fields = SPECIAL_REGISTERS[3].fields(spa)
        high, low = next(f.bits for f in fields if f.name == "WarpId")
        return high, low

    assert warp_bits("5.0") == warp_bits("sm_52") == (13, 8)
    assert warp_bits("5.3") == warp_bits("sm_61") == (14, 8)


def test_fields_tile_the_word() -> None:
    for row in SPECIAL_REGISTERS:
        for spa in ("5.0", "5.3"):
            fields = row.fields(spa)
            assert sum(f.bits.width for f in fields) == 32
            assert len({b for f in fields for b in range(f.bits.lo, f.bits.hi + 1)}) == 32


def test_constants_fit_their_fields() -> None:
    constants = {row.name: row.constant for row in SPECIAL_REGISTERS if row.constant is not None}
    assert constants == {"SR_SWINSZ": 1 << 24, "SR_SMemBanks": 32, "SR_LWINSZ": 1 << 24}
    for row in SPECIAL_REGISTERS:
        if row.constant is not None:
            assert row.constant & ~row.mask() == 0
            assert any(f.kind is FieldKind.IN_PLACE for f in row.rows)


def test_look_up_by_number_and_any_name() -> None:
    for spelling in (33, "33", "SR33", "sr33", "SR_TID.X", "sr_Tid.x", " tid.X "):
        found = find_special(spelling)
        assert found is not None
        assert found.number == 33
    aliases = {"SR_DirectCBEWriteEnabled": 23, "SR_LWINHI": 46, "SR_BARRIERALLOC": 62}
    for name, number in aliases.items():
        found = find_special(name)
        assert found is not None
        assert found.number == number


def test_look_up_misses() -> None:
    for wrong in (256, -1, "256", "SR256", "", "SR_NOPE", "1" * 5000, "٣٣"):
        assert find_special(wrong) is None
    assert "SR_LaneId" in nearest_special("laneidd")


def test_coupled_registers_are_counters_and_clocks() -> None:
    assert coupled_numbers() == {*range(4, 12), *range(72, 84)}


def test_spa_versions() -> None:
    assert parse_spa("5.3") == parse_spa("sm_53") == parse_spa("SPA 5.3") == (5, 3)
    assert parse_spa("sm_120a") == parse_spa("12.0") == (12, 0)
    for wrong in ("", "5", "sm_5", "sm_1000", "sm_500", "x.y"):
        with pytest.raises(ValueError, match="SPA"):
            parse_spa(wrong)
