"""Hazards: compiled code is clean, and every kind of damage to a control word is found."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpudbg
from gpudbg.analysis.hazards import KINDS, Finding, check_code, check_program
from gpudbg.formats.cubin import read_cubin
from gpudbg.isa.control import Control
from gpudbg.isa.spa5.assemble import assemble
from gpudbg.isa.spa5.forms import all_forms
from gpudbg.isa.spa5.latency import UNIT_OF, UNITS
from gpudbg.isa.spa5.sched import groups, instructions, pack
from tests.variants import number

DATA = Path(__file__).resolve().parent.parent / "data"
MODERN = ("sm_75", "sm_80", "sm_90", "sm_120")
CUBINS = sorted(p for p in DATA.rglob("*.cubin") if p.parent.name not in MODERN)
SAXPY = DATA / "bench" / "cubin" / "saxpy.sm_50.cubin"
NOP = 0x50B0000000070F00


def build(*lines: str) -> bytes:
    """Code of lines "CONTROL | INSTRUCTION", ended by EXIT."""
    rows = []
    for line in (*lines, "B------:R-:W-:-:S15:---- | EXIT"):
        control, text = line.split("|")
        rows.append((Control.parse(control).encode(), text.strip()))
    while len(rows) % 3:
        rows.append((0x7E0, "NOP"))
    out = b""
    for n in range(0, len(rows), 3):
        at = n // 3 * 32
        words = [assemble(rows[n + k][1], at + 8 * (k + 1)) for k in range(3)]
        out += struct.pack("<4Q", pack(*(rows[n + k][0] for k in range(3))), *words)
    return out


def kinds(*lines: str) -> list[tuple[str, str, int | None]]:
    """(kind, resource, cycles short) of a snippet's findings."""
    return [(f.kind, f.resource, f.short) for f in check_code(build(*lines), "sm_50")]


CLEAN = "B------:R-:W-:-:S06:----"


@pytest.mark.in_turn(30)
@pytest.mark.parametrize("path", CUBINS, ids=lambda p: str(p.relative_to(DATA)))
def test_compiled_code_is_clean(path: Path) -> None:
    assert check_program(read_cubin(path)) == []


def test_every_mnemonic_has_a_unit() -> None:
    assert {f.op for f in all_forms()} - set(UNIT_OF) == set()
    assert set(UNIT_OF.values()) <= set(UNITS)


@pytest.mark.parametrize(
    ("stall", "reader", "short"),
    [
        (6, "FADD R1, R0, R0", None),
        (5, "FADD R1, R0, R0", 1),
        (1, "FADD R1, R0, R0", 5),
        (2, "STG.E [R2], R0", None),
        (1, "STG.E [R2], R0", 1),
        (4, "STS [R2], R0", None),
        (3, "STS [R2], R0", 1),
        (1, "FADD R1, R2, R2", None),
    ],
)
def test_register_latency(stall: int, reader: str, short: int | None) -> None:
    control = f"B------:R-:W-:-:S{stall:02d}:----"
    found = kinds(f"{control} | MOV R0, R4", f"{CLEAN} | {reader}")
    assert found == ([] if short is None else [("stall", "R0", short)])


@pytest.mark.parametrize(
    ("stall", "reader", "short"),
    [(13, "@P0 MOV R1, R2", None), (12, "@P0 MOV R1, R2", 1), (6, "SEL R1, R2, R3, P0", 7)],
)
def test_predicate_latency(stall: int, reader: str, short: int | None) -> None:
    control = f"B------:R-:W-:-:S{stall:02d}:----"
    found = kinds(f"{control} | ISETP.LT.AND P0, PT, R4, R5, PT", f"{CLEAN} | {reader}")
    assert found == ([] if short is None else [("stall", "P0", short)])


def test_carry_and_tested_condition_code() -> None:
    add = "IADD R0.CC, R4, R5"
    assert kinds(f"B------:R-:W-:-:S05:---- | {add}", f"{CLEAN} | IADD.X R1, R6, R7") == [
        ("stall", "CC", 1)
    ]
    assert kinds(f"B------:R-:W-:-:S12:---- | {add}", f"{CLEAN} | CSETP.EQ.AND P0, PT, CC, PT") == [
        ("stall", "CC", 1)
    ]


def test_scoreboards() -> None:
    load = "B------:R-:W2:-:S02:---- | LDG.E R0, [R2]"
    use = "FADD R1, R0, R0"
    assert kinds(load, f"B--2---:R-:W-:-:S06:---- | {use}") == []
    assert kinds(load, f"{CLEAN} | {use}") == [("unwaited", "R0", None)]
    assert kinds(load, f"B-1----:R-:W-:-:S06:---- | {use}") == [
        ("never-set", "SB1", None),
        ("unwaited", "R0", None),
    ]
    assert kinds(load, f"{CLEAN} | MOV R0, RZ") == [("overwrite", "R0", None)]
    assert kinds(load.replace("S02", "S01"), f"B--2---:R-:W-:-:S06:---- | {use}") == [
        ("early-wait", "SB2", 1)
    ]
    bare = load.replace("W2", "W-")
    assert kinds(bare, f"{CLEAN} | {use}") == [("unwaited", "R0", None)]
    last = "B------:R-:W2:-:S02:---- | LDG.E R8, [R4]"
    assert kinds(bare, last, f"B--2---:R-:W-:-:S06:---- | {use}") == []
    assert kinds(
        load, last, f"{CLEAN} | DEPBAR.LE SB2, 0x1", f"{CLEAN} | {use}", f"{CLEAN} | MOV R9, R8"
    ) == [("unwaited", "R8", None)]


def test_operands_of_stores() -> None:
    store = "B------:R3:W-:-:S02:---- | STG.E [R2], R0"
    assert kinds(store, "B---3--:R-:W-:-:S06:---- | MOV R0, RZ") == []
    assert kinds(store, f"{CLEAN} | MOV R0, RZ") == [("war", "R0", None)]
    assert kinds(store.replace("R3", "R-"), f"{CLEAN} | MOV R3, RZ") == [("war", "R3", None)]


def test_dual_issue_and_stall_zero() -> None:
    pair = "B------:R-:W-:-:S00:----"
    assert kinds(f"{pair} | MOV R0, R4", f"{CLEAN} | MUFU.RCP R2, R5") == []
    assert kinds(f"{pair} | MOV R0, R4", f"{CLEAN} | MOV R1, R5") == [("dual", "", None)]
    assert ("stall", "R0", 2) in kinds(f"{pair} | MOV R0, R4", f"{CLEAN} | MUFU.RCP R2, R0")
    assert kinds("B------:R-:W-:Y:S00:---- | MOV R0, R4") == [("zero-stall", "", 1)]


def test_barriers_that_do_not_exist() -> None:
    assert kinds("B------:R-:W1:-:S06:---- | MOV R0, R4") == [("barrier", "SB1", None)]
    assert kinds("B------:R-:W6:-:S06:---- | LDG.E R0, [R2]") == [("barrier", "SB6", None)]


def test_loop_carried_hazard() -> None:
    """The last instruction of the loop hands its result to the first one too early."""
    found = kinds(
        f"{CLEAN} | FADD R1, R0, R0",
        "B------:R-:W-:-:S01:---- | MOV R0, R4",
        "B------:R-:W-:-:S01:---- | @P0 BRA 0x8",
    )
    assert found == [("stall", "R0", 4)]


def test_excluding_guards_are_no_hazard() -> None:
    pair = ["B------:R-:W2:-:S02:---- | @P0 LDG.E R0, [R2]", f"{CLEAN} | @!P0 MOV R0, RZ"]
    assert kinds(*pair) == []


@settings(max_examples=100)
@given(st.binary(min_size=32, max_size=32 * 6), st.sampled_from(["sm_50", "sm_61"]))
def test_any_bytes_can_be_checked(code: bytes, arch: str) -> None:
    for finding in check_code(code, arch):
        assert finding.kind in KINDS
        assert finding.lines()


def mutations(code: bytes) -> Iterator[tuple[int, str, bytes]]:
    """Code with one wait, one barrier or one stall count damaged."""
    for at, word, group in instructions(code):
        control = Control.decode(group)
        written = gpudbg.decode(word).writes
        changes = []
        if control.wait:
            changes.append(("wait", replace(control, wait=0)))
        if control.write_barrier is not None:
            changes.append(("barrier", replace(control, write_barrier=None)))
        if control.stall >= 6 and (written.registers or written.predicates):
            changes.append(("stall", replace(control, stall=1)))
        for what, changed in changes:
            yield at, what, with_control(code, at, changed.encode())


def with_control(code: bytes, at: int, group: int) -> bytes:
    """Code with another control group for the instruction at an offset."""
    start, slot = at - at % 32, at % 32 // 8 - 1
    parts = list(groups(int.from_bytes(code[start : start + 8], "little")))
    parts[slot] = group
    return code[:start] + struct.pack("<Q", pack(*parts)) + code[start + 8 :]


def test_damage_is_found() -> None:
    """Most damage to compiled code's control words is a hazard; the rest was redundant."""
    tried: dict[str, int] = {}
    found: dict[str, int] = {}
    for name in ("bitonic", "reduce", "histogram")[: number(1, 3)]:
        program = read_cubin(DATA / "bench" / "cubin" / f"{name}.sm_50.cubin")
        code = program.sections[program.code_sections[0]].data
        for _, what, damaged in mutations(code):
            tried[what] = tried.get(what, 0) + 1
            found[what] = found.get(what, 0) + bool(check_code(damaged, "sm_50"))
    assert found["wait"] >= 0.9 * tried["wait"] > 20
    assert found["barrier"] >= 0.8 * tried["barrier"] > 20
    assert found["stall"] >= 0.5 * tried["stall"] > 20


def run_saxpy(data: bytes) -> tuple[Finding, ...]:
    x = np.arange(64, dtype=np.float32)
    program = gpudbg.load(data)
    session = program.launch("saxpy", grid=1, block=64, args=[x, x, np.int32(64), np.float32(2)])
    check = session.check("hazards")
    assert session.check("hazards") is check
    assert session.run().kind == "exited"
    return tuple(check.findings)


def damaged_saxpy() -> bytes:
    """saxpy whose first wait for a load is gone."""
    program = read_cubin(SAXPY)
    section = program.sections[program.code_sections[0]]
    data = SAXPY.read_bytes()
    loads = False
    for at, word, group in instructions(section.data):
        loads |= "LDG" in gpudbg.decode(word).text
        control = Control.decode(group)
        if loads and control.wait:
            code = with_control(section.data, at, replace(control, wait=0).encode())
            return data[: section.offset] + code + data[section.offset + len(code) :]
    raise AssertionError("saxpy waits for nothing")


def test_run_with_the_check() -> None:
    assert run_saxpy(SAXPY.read_bytes()) == ()
    (finding, *_) = run_saxpy(damaged_saxpy())
    assert finding.kind == "unwaited"
    assert finding.first is not None
    assert "LDG" in finding.first.text
    assert finding.warp is not None
    assert finding.block == (0, 0, 0)
    assert finding.to_json()["first"]["place"].startswith("saxpy+0x")
    assert finding.kind in KINDS


def test_console() -> None:
    x = np.arange(32, dtype=np.float32)
    program = gpudbg.load(damaged_saxpy())
    session = program.launch("saxpy", grid=1, block=32, args=[x, x, np.int32(32), np.float32(2)])
    with pytest.raises(gpudbg.CommandError, match="hazards check is off"):
        session.execute("info hazards")
    with pytest.raises(gpudbg.CommandError, match="no check 'hazard'"):
        session.execute("check hazard")
    assert session.execute("check hazards static")[0]["kind"] == "unwaited"
    session.execute("check hazards")
    session.execute("continue")
    assert session.execute("info hazards")[0]["kind"] == "unwaited"
    assert session.execute("info checks")["hazards"]["on"] is True
    session.execute("check hazards off")
    assert session.execute("check")["hazards"]["on"] is False


def test_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from gpudbg.cli import main

    path = tmp_path / "saxpy.cubin"
    launch = [
        "--grid",
        "1",
        "--block",
        "32",
        "--arg",
        "x=f32[32]:zeros",
        "--arg",
        "y=f32[32]:zeros",
    ]
    launch += ["--arg", "i32:32", "--arg", "f32:2.0", "--check", "hazards"]
    path.write_bytes(SAXPY.read_bytes())
    assert main(["run", str(path), *launch]) == 0
    assert "hazards: no findings" in capsys.readouterr().out
    path.write_bytes(damaged_saxpy())
    assert main(["run", str(path), *launch]) == 1
    assert "unwaited R" in capsys.readouterr().out
