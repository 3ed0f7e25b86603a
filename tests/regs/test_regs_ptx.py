"""PTX special registers: the measured lowering and the table's look-ups."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gpudbg.regs.ptx import (
    PTX_REGISTERS,
    Lowering,
    Source,
    find_ptx,
    find_ptx_vector,
    nearest_ptx,
)
from gpudbg.regs.special import SPECIAL_REGISTERS, find_special

MEASURED = json.loads((Path(__file__).parent / "data/ptx_lowering.json").read_text())
"""ptxas output per register: {"50 52": [instructions]} or a refusal, prologue and store cut."""
WIDE = json.loads((Path(__file__).parent / "data/ptx_lowering_wide.json").read_text())
"""The same for targets of 128-bit instructions (`record_ptx_wide`)."""
CASES = [
    (name, arch, code)
    for name, by_archs in MEASURED.items()
    for archs, code in by_archs.items()
    for arch in archs.split()
]


def _numbers_read(code: list[str]) -> set[int]:
    found = [find_special(n) for line in code for n in re.findall(r"\bS[RM]_[\w.]+", line)]
    return {row.number for row in found if row is not None}


def _check_constant(low: Lowering, code: list[str]) -> None:
    offsets = [int(x, 16) for line in code for x in re.findall(r"MOV.*c\[0x0\]\[(0x\w+)\]", line)]
    assert low.offset is not None
    assert offsets == [low.offset + 4 * i for i in range(low.words)]


def _check_special(low: Lowering, code: list[str]) -> None:
    assert _numbers_read(code) == set(low.registers)
    assert {w for line in code for w in line.split() if w in ("S2R", "CS2R")} == {str(low.source)}
    extracted = [int(line.split()[-1], 16) for line in code if line.startswith("BFE")]
    if low.bits is None:
        assert not extracted
    else:
        low_bit, width = extracted[-1] & 0xFF, extracted[-1] >> 8
        assert tuple(low.bits) == (low_bit + width - 1, low_bit)


@pytest.mark.in_turn(150)
@pytest.mark.parametrize(("name", "arch", "code"), CASES)
def test_lowering_is_what_ptxas_emits(name: str, arch: str, code: list[str] | str) -> None:
    if isinstance(code, str):
        (later, *_) = find_ptx_vector(name) or (find_ptx(name),)
        assert later is not None
        assert later.lowering(f"sm_{arch}") is None
        assert later.target in code
        return
    row = find_ptx(name)
    assert row is not None
    low = row.lowering(f"sm_{arch}")
    assert low is not None
    assert low.words * 32 == row.width
    text = " ".join(code)
    for word in ("0x108", "0x10c"):
        assert (f"c[0x0][{word}]" in text) == (word in low.note)
    if low.source is Source.CONSTANT:
        _check_constant(low, code)
    elif low.source is Source.IMMEDIATE:
        want = "RZ" if low.value == 0 else f"MOV32I R0, {low.value:#x}"
        assert code == [want]
    else:
        _check_special(low, code)


@pytest.mark.parametrize("arch", ["70", "72", "75", "80", "86", "87", "89", "90", "100", "120"])
def test_lowering_for_wide_targets_is_what_ptxas_emits(arch: str) -> None:
    for row in PTX_REGISTERS:
        found = [code for archs, code in WIDE[row.name].items() if arch in archs.split()]
        low = row.lowering(f"sm_{arch}")
        if low is None:
            assert not found
            assert row.target in ("sm_80", "sm_90")
            continue
        (code,) = found
        assert low.words * 32 == (32 if row.type == "pred" else row.width)
        text = " ".join(code)
        assert ("-0xa0" in text) == ("SR_CgaSize" in low.note)
        read = [r for r in re.findall(r"SR_\w[\w.]*", text) if r != "SR_CgaSize"]
        offsets = [int(x, 16) for x in re.findall(r"\[(?:U?R\d+\+)?(0x\w+)\]", text) if x != "0x0"]
        offsets += [0] * len(re.findall(r"c\[0x0\]\[(?:0x0|RZ)\]", text))
        assert (low.less in offsets) == (low.less is not None)
        if low.by is not None and low.by[0] != "equals":
            assert low.by[1] in offsets
            assert read[0] in low.text()
            continue
        if low.source is Source.CONSTANT:
            assert low.offset is not None
            assert not read
            wide = 2 if ".64" in text else 1
            assert offsets == [low.offset + 4 * i for i in range(low.words // wide)], row.name
        elif low.source is Source.IMMEDIATE:
            zero = code in ([], ["MOV R5, 0x0"])
            assert zero if low.value == 0 else text.endswith(f" {low.value:#x}")
        else:
            assert read[0] in low.text(), row.name
            if len(low.registers) == 2:  # one CS2R of 64 bits
                assert text.startswith("CS2R R")
            assert text.startswith(("S2R", "S2UR") if low.source is Source.S2R else "CS2R")
            shifts = re.findall(r"RZ, (0x\w+), R\d+ SGXT.U32 R\d+, R\d+, (0x\w+)", text)
            cut = [(int(w, 16) + int(lo, 16) - 1, int(lo, 16)) for lo, w in shifts]
            assert cut == ([] if low.bits is None else [tuple(low.bits)])


def test_every_register_was_measured_on_every_target() -> None:
    archs = {"50", "52", "53", "60", "61", "62"}
    for row in PTX_REGISTERS:
        if row.lowering("sm_50") is None:
            continue
        assert {a for archs_ in MEASURED[row.name] for a in archs_.split()} == archs


def test_coupled_reads_are_readable_with_cs2r() -> None:
    for row in PTX_REGISTERS:
        for low in row.lowerings:
            for number in low.registers if low.since < (7, 0) else ():
                assert SPECIAL_REGISTERS[number].coupled == (low.source is Source.CS2R)


@pytest.mark.parametrize(
    ("name", "kind", "isa", "target"),
    [
        ("%tid.x", "u32", "1.0", ""),
        ("%laneid", "u32", "1.3", ""),
        ("%nwarpid", "u32", "2.0", "sm_20"),
        ("%gridid", "u64", "1.0", ""),
        ("%lanemask_lt", "u32", "2.0", "sm_20"),
        ("%clock", "u32", "1.0", ""),
        ("%clock_hi", "u32", "5.0", "sm_20"),
        ("%clock64", "u64", "2.0", "sm_20"),
        ("%pm3", "u32", "1.3", ""),
        ("%pm4", "u32", "3.0", "sm_20"),
        ("%pm3_64", "u64", "4.0", "sm_50"),
        ("%envreg3", "b32", "2.1", ""),
        ("%globaltimer", "u64", "3.1", "sm_30"),
        ("%total_smem_size", "u32", "4.1", "sm_20"),
        ("%dynamic_smem_size", "u32", "4.1", "sm_20"),
    ],
)
def test_type_version_and_target(name: str, kind: str, isa: str, target: str) -> None:
    row = find_ptx(name)
    assert row is not None
    assert (row.type, row.isa, row.target) == (kind, isa, target)


def test_limits_come_per_target() -> None:
    nctaid = find_ptx("%nctaid.x")
    gridid = find_ptx("%gridid")
    assert nctaid is not None
    assert gridid is not None
    assert ("sm_3x sm_5x sm_6x", "2^31-1, 65535, 65535") in nctaid.limits
    assert len(gridid.limits) == 3
    assert "1.3: .u32" in gridid.history


def test_look_ups() -> None:
    assert find_ptx("TID.X") is find_ptx("%tid.x")
    assert [row.name for row in find_ptx_vector("%ctaid")] == [f"%ctaid.{c}" for c in "xyzw"]
    assert find_ptx_vector("%laneid") == ()
    assert find_ptx("%nope") is None
    assert nearest_ptx("%warpidd")[0] == "%warpid"
    warpid = find_ptx("%warpid")
    assert warpid is not None
    assert warpid.lowering("sm_35") is None
