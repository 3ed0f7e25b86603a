"""The register tables: against the reference tables, and field by field."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gpudbg_plugins.amdgpu import registers
from gpudbg_plugins.amdgpu.registers import Register, known_names, processor, processor_names

from gpudbg.bits import Field
from gpudbg.errors import UsageError
from tests.variants import rows

REFERENCE = json.loads((Path(__file__).parent / "hwreg-fields.json").read_text())
CPU_OF = {"gfx8": "gfx803", "gfx9": "gfx900", "gfx90a": "gfx90a", "gfx940": "gfx942",
          "gfx10.1": "gfx1010", "gfx10.3": "gfx1030", "gfx11": "gfx1100",
          "gfx12": "gfx1200"}  # fmt: skip
DEBUGGER_ADDS = {"DEBUG_EN", "COND_DBG_USER", "COND_DBG_SYS"}
ALL = [
    pytest.param(register, id=f"{generation}-{register.name}")
    for generation, mcpu in CPU_OF.items()
    for register in processor(mcpu).registers.values()
    if register.name
]


@pytest.mark.parametrize("generation", REFERENCE["ids"])
def test_ids_and_names(generation: str) -> None:
    chosen = processor(CPU_OF[generation])
    assert chosen.generation == generation
    expected = {int(number): name for number, name in REFERENCE["ids"][generation].items()}
    printed = {number: register.printed for number, register in chosen.registers.items()}
    assert printed == {number: expected.get(number, str(number)) for number in range(64)}
    assert {name: number for number, name in expected.items()}.items() <= chosen.ids.items()


@pytest.mark.parametrize("generation", REFERENCE["fields"])
def test_fields(generation: str) -> None:
    chosen = processor(CPU_OF[generation])
    for title, wanted in REFERENCE["fields"][generation].items():
        base = title.split(" (")[0]
        names = ("FLAT_SCR_LO", "FLAT_SCR_HI") if base == "FLAT_SCR_LO/HI" else (base,)
        for name in names:
            register = chosen.by_name(name)
            assert register is not None
            found = [[row.name, row.bits.hi, row.bits.lo] for row in register.fields]
            extra = [row for row in found if row not in wanted]
            assert [row for row in found if row in wanted] == sorted(wanted, key=lambda r: r[2])
            assert {row[0] for row in extra} <= DEBUGGER_ADDS


@rows("register", ALL)
def test_every_field_alone(register: Register) -> None:
    """Each field reads its own bits and no others, whole and in part; none overlap."""
    taken = 0
    for row in register.fields:
        assert taken & row.bits.mask == 0
        taken |= row.bits.mask
        values = {v.row.name: v.value for v in register.decode(row.bits.mask)}
        top = (1 << row.bits.width) - 1
        assert values == {r.name: top if r is row else 0 for r in register.fields}
        assert register.get(row.name, row.bits.mask) == top
        low_bit = register.decode(row.bits.mask, Field(row.bits.lo, row.bits.lo))
        assert [(v.row.name, v.value) for v in low_bit] == [(row.name, 1)]
        assert low_bit[0].whole == (row.bits.width == 1)
        for value in {0, 1, top // 2, top}:
            assert isinstance(row.explain(value), str)
    assert register.about


@rows("register", ALL)
def test_writable_bits_are_field_bits(register: Register) -> None:
    fields = 0
    for row in register.fields:
        fields |= row.bits.mask
    user, privileged = register.writable(False), register.writable(True)
    assert user.bits & ~privileged.bits == 0
    if register.fields:
        assert privileged.bits & ~fields == 0
    for found in (user, privileged):
        assert found.certainty in ("documented", "inferred", "modelled")
        assert found.source


def test_read_only_rules() -> None:
    status = processor("gfx900").by_name("STATUS")
    assert status is not None
    assert status.writable(False).bits == 0
    privileged = status.writable(True).bits
    assert privileged & 0x600 == 0  # EXECZ, VCCZ
    assert privileged >> 13 & 1  # HALT
    gfx12 = processor("gfx1200").by_name("STATUS")
    assert gfx12 is not None
    assert gfx12.writable(True).bits & 0x600 == 0
    for name in ("HW_ID1", "GPR_ALLOC", "LDS_ALLOC", "SH_MEM_BASES"):
        found = processor("gfx1010").by_name(name)
        assert found is not None
        assert found.writable(True).bits == 0


def test_meanings() -> None:
    mode = processor("gfx1010").by_name("MODE")
    assert mode is not None
    told = {v.row.name: v.meaning for v in mode.decode(0x801E5)}
    assert told["FP_ROUND"] == "32-bit: +inf; 64/16-bit: +inf"
    assert told["FP_DENORM"] == "32-bit: flush sources; 64/16-bit: keep"
    assert told["EXCP_EN"] == "address watch"
    trapsts = processor("gfx1010").by_name("TRAPSTS")
    assert trapsts is not None
    told = {v.row.name: v.meaning for v in trapsts.decode(0x80003105)}
    assert told["EXCP"] == "invalid, division by 0, memory violation"
    assert told["EXCP_HI"] == "address watch 1, address watch 2"
    assert told["DP_RATE"] == "full"


def test_fields_move_between_generations() -> None:
    halt = {cpu: [(r.name, row.bits.lo) for r in processor(cpu).registers.values()
                  for row in r.fields if row.name == "HALT"]
            for cpu in ("gfx900", "gfx1010", "gfx1200")}  # fmt: skip
    assert halt == {"gfx900": [("STATUS", 13)], "gfx1010": [("STATUS", 13)],
                    "gfx1200": [("STATE_PRIV", 14)]}  # fmt: skip


def test_inherited_fields() -> None:
    gfx8, gfx90a, gfx940 = (processor(cpu) for cpu in ("gfx803", "gfx90a", "gfx940"))
    names = {row.name for row in gfx8.by_name("MODE").fields}  # type: ignore[union-attr]
    assert "FP16_OVFL" not in names
    assert {"VSKIP", "DEBUG_EN"} <= names
    assert all(row.certainty == "inferred" for row in gfx8.registers[1].fields)
    assert gfx90a.registers[4].get("SE_ID", 0xE000) == 7
    assert gfx90a.registers[5].get("ACCV_OFFSET", 63 << 12) == 63
    assert gfx940.registers[3].get("HOST_TRAP", 1 << 22) == 1
    assert gfx940.registers[1].get("TRAP_ON_END", 1 << 21) == 1


def test_names_of_registers_in_any_form() -> None:
    chosen = processor("gfx1200")
    for name in ("HW_REG_MODE", "MODE", "mode", "HW_REG_WAVE_MODE"):
        found = chosen.by_name(name)
        assert found is not None
        assert found.id == 1
    assert chosen.by_name("TRAPSTS") is None
    gfx10 = processor("gfx1010")
    alias = gfx10.by_name("HW_REG_HW_ID")
    assert alias is not None
    assert alias.name == "HW_ID1"
    hidden = gfx10.by_name("IB_STS2")
    assert hidden is not None
    assert (hidden.id, hidden.printed) == (28, "28")


def test_unknown_processor() -> None:
    with pytest.raises(UsageError, match="'gfx9999' is not a recognized processor"):
        processor("gfx9999")
    assert len(processor_names()) == len(set(processor_names())) == 70
    assert "HW_REG_TRAPSTS" in known_names()
    assert registers.DEFAULT_PROCESSOR in processor_names()
