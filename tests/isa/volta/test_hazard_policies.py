"""Latencies of sm_70 and later: what hazard checks find, and what `info policy hazard` says."""

from __future__ import annotations

import pytest

from gpudbg.analysis.hazards import check_code
from gpudbg.isa.volta import WideControl, assemble
from gpudbg.isa.volta.latency import SAFE
from gpudbg.isa.volta.result_latency import cycles_between
from gpudbg.sm.policy import POLICIES

ROWS = {p.name: p for p in POLICIES if p.name.startswith("hazard-")}
PAIRS = [
    ("sm_80", "IADD3 R2, R3, R4, RZ", "LOP3.LUT R5, R2, R6, RZ, 0xc0, !PT", 4),
    ("sm_80", "IADD3 R2, R3, R4, RZ", "FADD R5, R2, R6", 5),
    ("sm_90", "FFMA R2, R3, R4, R5", "FMUL R5, R2, R6", 4),
    ("sm_90", "IADD3 R2, R3, R4, RZ", "HADD2 R5, R2, R6", 5),
    ("sm_90", "HFMA2 R2, R3, R4, R5", "HADD2 R5, R2, R6", 4),
    ("sm_75", "HFMA2 R2, R3, R4, R5", "HADD2 R5, R2, R6", 6),
    ("sm_75", "HFMA2 R2, R3, R4, R5", "IADD3 R5, R2, R6, RZ", 8),
    ("sm_90", "DADD R2, R4, R6", "IADD3 R5, R3, R6, RZ", 10),
    ("sm_80", "CS2R R2, SRZ", "IADD3 R5, R3, R6, RZ", 6),
    ("sm_80", "IMAD.WIDE R2, R4, R5, R6", "IADD3 R5, R2, R6, RZ", 3),
    ("sm_80", "IMAD.WIDE R2, R4, R5, R6", "IADD3 R5, R3, R6, RZ", 5),
    ("sm_80", "IADD3 R7, R3, R4, RZ", "IMAD.WIDE R2, R4, R5, R6", 3),
    ("sm_80", "ISETP.GE.AND P0, PT, R2, R3, PT", "SEL R5, R2, R6, P0", 4),
    ("sm_80", "ISETP.GE.AND P0, PT, R2, R3, PT", "@P0 MOV R5, R2", 13),
    ("sm_75", "ISETP.GE.AND P0, PT, R2, R3, PT", "@P0 MOV R5, R2", 12),
    ("sm_80", "UIADD3 UR4, UR5, UR6, URZ", "ULOP3.LUT UR7, UR4, UR6, URZ, 0xc0, !UPT", 4),
    ("sm_80", "UIADD3 UR4, UR5, UR6, URZ", "IADD3 R5, R2, UR4, RZ", 6),
    ("sm_80", "UIADD3 UR4, UR5, UR6, URZ", "MUFU.RCP R5, UR4", 9),
    ("sm_80", "UMOV UR4, 0x1", "IADD3 R5, R2, UR4, RZ", 2),
    ("sm_80", "IADD3 R2, R4, R6, RZ", "MUFU.RCP R5, R2", 4),
    ("sm_80", "IADD3 R2, R4, R6, RZ", "LDS R5, [R2]", 5),
    ("sm_100", "UIADD3 UR4, UPT, UPT, UR5, UR6, URZ", "IADD3 R5, PT, PT, R2, UR4, RZ", 6),
]  # fmt: skip


def code(arch: str, first: str, second: str, stall: int) -> bytes:
    """Two instructions with a stall count between them, and EXIT."""
    rows = ((first, stall), (second, 15), ("EXIT", 5))
    words = [assemble(text, 0, arch, WideControl(stall=count)) for text, count in rows]
    return b"".join(word.to_bytes(16, "little") for word in words)


@pytest.mark.parametrize(("arch", "first", "second", "cycles"), PAIRS)
def test_a_reader_stands_as_far_behind_as_its_class_wants(
    arch: str, first: str, second: str, cycles: int
) -> None:
    found = check_code(code(arch, first, second, cycles - 1), arch)
    assert [f.kind for f in found if f.kind == "stall"] == ["stall"]
    enough = check_code(code(arch, first, second, cycles), arch)
    assert [f.kind for f in enough if f.kind == "stall"] == []


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_89"])
def test_doubles_set_scoreboards_where_compilers_let_them(arch: str) -> None:
    found = check_code(code(arch, "DADD R2, R4, R6", "IADD3 R5, R3, R6, RZ", 15), arch)
    assert "unwaited" in [f.kind for f in found]


def test_rows_name_the_latencies_that_are_checked() -> None:
    rule = ROWS["hazard-stall-wide"].rule
    for file, writer, reader in (("R", "alu", "fma"), ("P", "alu", "guard")):
        assert f"{reader} {cycles_between('80', file, writer, reader)}" in rule
    assert f"registers {SAFE['R']}" in ROWS["hazard-stall-scheduler"].rule


def test_judgements_are_marked() -> None:
    marks = {name: row.certainty for name, row in ROWS.items()}
    assert marks["hazard-stall-wide"] == "documented"
    assert marks["hazard-tensor"] == "modelled"
    assert set(marks.values()) == {"documented", "inferred", "modelled"}
