"""Who wrote and read a place, and what a value was computed from."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.provenance import search
from gpudbg.isa.family import decode
from gpudbg.isa.spa5 import assemble
from tests import kernel_cases as kc
from tests.debug.fuzz_sources import at_rare, rare_stops
from tests.debug.modern import launched
from tests.debug.provenance_oracle import trouble_of
from tests.engine import machines
from tests.semantics.test_variants import bank_descriptor, loaded
from tests.variants import number

FIRST = str(Path("sessions/first_steps/first_steps.cubin"))
ASKED = ("warp_ops-base-sm_62", "sregs-ids-sm_60")
CASES = {case.id: case for case in kc.cases() if case.id in ASKED}


@pytest.fixture(params=["step", "run"])
def session(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A session of a small program at its end, on each engine."""
    with gpudbg.open(FIRST, engine=request.param) as opened:
        opened.run()
        yield opened


@pytest.mark.parametrize(("number", "engine"), [(0, "run"), (1, "step")])
@pytest.mark.in_turn(1)
def test_answers_are_what_was_noted_on_the_way(
    number: int, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an observer of the step engine; `make fuzz` asks about a hundred launches."""
    monkeypatch.setattr(search, "NEAR", 32)
    assert not trouble_of(CASES[ASKED[number]], engine, number, 3)


@pytest.mark.in_turn(1)
def test_same_values_host_writes_and_the_launch_are_writers(session: Any) -> None:
    session.restart()
    session.step(4)
    session.command("set var in[5] = 12345")
    session.run()
    rows = session.who_wrote("in[5]", n=5)
    assert [(row.kind, row.value, row.tick) for row in rows][:1] == [("edit", "12345", 4)]
    assert rows[1].kind == "launch"
    assert "buffer in" in rows[1].note
    (read,) = session.who_read("in[5]", n=5)
    assert (read.kind, read.thread, read.value) == ("load", (5, 0, 0), "12345")
    assert session.tick == session.history.end_tick


def test_lanes_that_differ_have_each_their_own_writer(session: Any) -> None:
    """All 32 at once: no lane twice, and each value is the lane's."""
    session.goto(900)
    values = session.warp().R[4]
    rows = session.who_wrote("$R4", lanes=True)
    asked = [lane for row in rows for lane in range(32) if row.asked >> lane & 1]
    assert sorted(asked) == list(range(32))
    assert len(rows) > 1
    for row in rows:
        lanes = [lane for lane in range(32) if row.asked >> lane & 1]
        assert [int(value) for value in row.values] == [int(values[lane]) for lane in lanes]


@pytest.mark.in_turn(1)
def test_a_list_moves_nothing_and_a_jump_does(session: Any) -> None:
    before = session.state_hash()
    text = session.command("who-wrote/3 out[2]").text
    assert "STG.E [R2], R4" in text
    assert "buffer out" in text
    assert session.state_hash() == before
    stop = session.who_read("in[5]")
    assert isinstance(stop, gpudbg.WatchpointStop)
    assert (stop.thread, session.instruction().text) == ((5, 0, 0), "LDG.E R2, [R2]")
    assert stop.watch[0].kind == "read"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("who-wrote", "whose writer"),
        ("who-read", "whose reader"),
        ("who-wrote/0 $R4", "at least one row"),
        ("who-wrote/z $R4", "no option"),
        ("who-wrote 3 + 4", "not a place"),
        ("who-read out[1]", "nothing has read"),
        ("why", "which value"),
        ("why/0 $R4", "one value deep"),
    ],
)
def test_what_cannot_be_asked_is_said(line: str, words: str) -> None:
    with gpudbg.open(FIRST, engine="run") as session:
        session.run()
        with pytest.raises(gpudbg.CommandError, match=words):
            session.command(line)


@pytest.mark.in_turn(1)
def test_why_goes_through_registers_and_memory_to_the_leaves(session: Any) -> None:
    """To parameters and special registers; a tree goes on where its depth ended it."""
    tree = session.why("out[2]", depth=3)
    assert (tree.what, tree.instruction) == ("out[2]", "STG.E [R2], R4")
    value = tree.children[0].children[0]
    assert (value.role, value.what, value.kind, value.cut) == ("value", "shared 0x0", "store", True)
    further = session.why(value, depth=2)
    assert further.instruction == value.instruction
    assert {child.role for child in further.children} == {"operand", "address", "guard"}
    whole = session.why("out[2]", depth=number(6, 8))
    kinds = {cause.kind for cause in whole.walk() if not cause.children and not cause.cut}
    assert {"constant", "special register"} <= kinds
    ticks = [(c.tick, child.tick) for c in whole.walk() for child in c.children if child.tick]
    assert all(tick is not None and later < tick for tick, later in ticks)
    assert "control: P4" in session.command("why/3/c out[2]").text
    assert session.tick == session.history.end_tick


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("engine", ["step", "run"])
def test_readers_of_constants_are_those_that_a_watchpoint_meets(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Operands and, where a register says which, single lanes; in long stretches, too."""
    monkeypatch.setattr(search, "NEAR", 32)
    case = next(c for c in kc.cases("sm_50") if c.kernel == "constant_mem")
    for place in ("c[0x0][0x140]", f"{next(iter(case.symbols))}[1]"):
        with machines.launch(case, engine) as session:
            session.watch_at(place, "read")
            met = list(session.events("breakpoint"))[-5:]
            session.command("delete")
            found = session.execute(f"who-read /5 {place}")
        assert met
        assert [row["tick"] + 1 for row in found] == [stop.instructions for stop in met][::-1]


def test_why_goes_back_over_what_was_changed(session: Any) -> None:
    """Stretches of the past end where somebody changed something: going on does not do it again."""
    session.goto(20)
    session.command("set var $R3 = 1")
    session.run(max_instructions=30)
    session.command("set var $R4 = 1")
    session.run(max_instructions=30)
    kept = session.state_hash()
    assert session.why("$R12").kind == "launch"
    assert session.why("$R4").tick or session.why("$R4").kind == "edit"
    assert session.state_hash() == kept


@pytest.mark.parametrize("engine", ["step", "run"])
def test_loads_read_constants_that_lie_in_device_memory(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By their address there, beside the instructions that have them as operands."""
    monkeypatch.setattr(search, "NEAR", 8)
    case = next(c for c in kc.cases("sm_50") if c.kernel == "constant_mem")
    program = gpudbg.load(str(case.cubin), engine=engine)
    out = program.device.buffer(np.zeros(64))
    given = [program.symbol_address("coef"), out, out, out, np.int32(16)]
    with program.launch("constant_mem", grid=1, block=32, args=given) as session:
        session.run()
        rows = [(row.kind, row.thread) for row in session.who_read("coef[9]", n=9)]
        assert rows[-1] == ("load", (9, 0, 0))
        assert rows[0][0] in ("constant", "register")
        (row,) = session.who_read("c[0x3][0x24]", n=9)[-1:]
        assert row.thread == (9, 0, 0)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_what_a_descriptor_names_has_readers_and_causes(arch: str, tmp_path: Path) -> None:
    """`cx[UR4][0x14]`: a word of device memory, whose bank two uniform registers name."""
    numbers = np.arange(64, dtype=np.uint32) * 3
    place = loaded(tmp_path / "v.bin", arch, "NOP").device.buffer(numbers).address
    word = bank_descriptor(arch, place, 256)
    halves = [f"UMOV UR{4 + n}, 0x{word >> 32 * n & 0xFFFFFFFF:x}" for n in (0, 1)]
    program = loaded(tmp_path / "v.bin", arch, *halves, "LDC.64 R6, cx[UR4][0xf8]", "NOP")
    program.device.buffer(numbers)
    with program.launch("v", grid=1, block=32, args=[]) as session:
        session.step(3)
        (read,) = session.who_read(f"*(@global int*)0x{place + 4 * 63:x}", n=3)
        assert (read.tick, read.kind, read.value) == (2, "load", "189")
        cause = session.why("$R7")
        assert [c.what for c in cause.children] == [f"global 0x{place + 252:x}", "UR4", "UR5"]


@pytest.mark.full(instead="test_why_goes_through_registers_and_memory_to_the_leaves")
def test_a_matrix_register_comes_from_the_row_that_another_lane_addressed() -> None:
    """`LDSM`: the word in shared memory that is named has the register's value."""
    session = launched("mma_f16", "sm_80")
    text = ""
    while not text.startswith("LDSM"):
        text = session.instruction().text
        session.step()
    first = int(text.split()[1].strip(",").lstrip("R"))
    session.command("focus lane 18")
    (word,) = (c for c in session.why(f"$R{first + 1}", 2).children if c.role == "value")
    assert word.what.startswith("shared 0x")
    assert int(word.value) == session.warp().R[first + 1, 18]


OTHERS = {
    # Of lanes 0 to 4 the lowest one's copy; all of their votes; the sums that came before.
    "IADD3 R8, R16, UR5, RZ": {("register", 16, 3), ("uniform", 5, 0)},
    "VOTE.ANY R8, P1, P2": {("predicate", 2, lane) for lane in range(5)},
    "MATCH.ANY R8, R16": {("register", 16, lane) for lane in range(5)},
    "R2UR UR8, R16": {("register", 16, 0)},
    "ATOMS.ADD R8, [R17], R16": {
        ("shared", 0, 3), *(("register", 16, lane) for lane in range(4)), ("register", 17, 3)
    },
    "BMOV.32 R8, B3": {("barrier", 3, 0)},
    "SHFL.IDX PT, R8, R16, 0x7, 0x1f": set(),
}  # fmt: skip


@pytest.mark.parametrize("line", list(OTHERS))
@pytest.mark.in_turn(2)
def test_what_other_lanes_have_is_a_cause(line: str, tmp_path: Path) -> None:
    """`make fuzz` changes whatever is not named, for every instruction."""
    whole = loaded(tmp_path / "v.bin", "sm_80", "NOP", line, "NOP")
    with whole.launch("v", grid=1, block=5, args=[], shared_bytes=64) as session:
        session.step()
        state = session.warp().state
        state.R[17] = 0
        state.UR[5][0] = 77
        session.grid.note_edit()
        session.step()
        session.command("focus lane 3")
        name = "UR8" if line.startswith("R2UR") else "R8"
        found = {child.origin for child in session.why(f"${name}", 2).children if child.origin}
        assert {
            (place.space, place.numbers[0] if place.numbers else place.address, lane)
            for place, lane, _ in found
            if place.numbers != (255,)
        } == OTHERS[line]


def test_bytes_of_a_word_have_each_their_own_writer(tmp_path: Path) -> None:
    """Four lanes store a byte of it each, and later one stores another."""
    lines = ("S2R R16, SR_TID.X", "STS.U8 [R16], R16", "MOV R18, 0x9", "STS.U8 [0x1], R18")
    whole = loaded(tmp_path / "v.bin", "sm_80", *lines, "NOP")
    with whole.launch("v", grid=1, block=5, args=[], shared_bytes=64) as session:
        session.step(4)
        cause = session.why("*(@shared unsigned int*)0", 3)
        assert [child.role for child in cause.children] == ["rest", "operand"]
        rest = cause.children[0]
        assert {child.role for child in rest.children} >= {"lane 0", "lane 1", "lane 2", "operand"}


READS = [
    # Copies of tensors take coordinates behind the place, products two descriptors.
    ("sm_90", "UTMALDG.2D [UR4], [UR10]", "uniform", {4, 5, 6, 7, 10, 11}),
    ("sm_90", "UTMASTG.3D [UR4], [UR10]", "uniform", {4, 5, 6, 7, 10, 11}),
    ("sm_90", "HGMMA.64x64x16.F32 R24, gdesc[UR12], R24", "uniform", {12, 13, 14, 15}),
    ("sm_90", "SYNCS.ARRIVE.TRANS64 RZ, [UR6], R0", "uniform", {6}),
    ("sm_90", "R2UR.OR P0, UR5, R3", "predicates", {0}),
]


@pytest.mark.parametrize(("arch", "line", "file", "numbers"), READS)
def test_registers_that_the_text_does_not_show(
    arch: str, line: str, file: str, numbers: set[int], tmp_path: Path
) -> None:
    program = loaded(tmp_path / "v.bin", arch, line).program
    word = program.sections[program.code_sections[0]].data[:16]
    assert getattr(decode(int.from_bytes(word, "little"), arch).reads(), file) == numbers


def test_r2p_writes_what_its_mask_has() -> None:
    for mask, numbers in ((0x30, {4, 5}), (0x7F, set(range(7)))):
        word = assemble(f"R2P PR, R0, 0x{mask:x}", 0, "sm_61")
        assert decode(word, "sm_61").writes().predicates == numbers


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("engine", ["step", "run"])
def test_copies_beside_the_threads_are_of_who_issued_them(engine: str) -> None:
    """Bytes, and the mbarrier that counts them: a copy's pieces are no lanes."""
    values = np.arange(128, dtype=np.int32) * 7 + 3
    cubin = Path(__file__).resolve().parents[1] / "hopper/cubin/bulk.cubin"
    program = gpudbg.load(cubin, engine=engine)
    given = [values, np.zeros(512, np.int32)]
    with program.launch("multicast", grid=4, block=128, args=given) as session:
        session.run(max_instructions=300)
        (copy,) = session.who_wrote("*(@shared int*)0x440", n=1)
        assert (copy.kind, copy.thread, copy.lanes) == ("async copy", (0, 0, 0), 1)
        cause = session.why("*(@shared int*)0x440", 3)
        assert [c.value for c in cause.children if c.role == "value"] == [str(values[16])]
        assert all(c.instruction for c in cause.children if c.what.startswith("UR"))
        kinds = [
            row.instruction.split()[0] for row in session.who_wrote("*(@shared long*)0x600", n=3)
        ]
        assert kinds == ["UBLKCP.S.G.MULTICAST", "SYNCS.ARRIVE.TRANS64", "SYNCS.EXCH.64"]
        # So it is where a watchpoint stops, and for its condition.
        session.goto(0)
        session.command("watch *(@shared int*)0x440 if threadIdx.x == 0")
        stop = session.cont()
        assert (stop.thread, session.buffer(1)[0]) == ((0, 0, 0), 0)
        assert session.tick == copy.tick + 1


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("engine", ["step", "run"])
def test_textures_come_from_their_texels(engine: str) -> None:
    case = next(c for c in kc.cases("sm_50") if c.id.startswith("texture_fetch-fetch1d"))
    with machines.launch(case, engine) as session:
        row = next(r for r in session.symbols.listing if r.legal and r.text.startswith("TLDS"))
        session.break_at(session.symbols.offset(row.pc))
        session.cont()
        session.step()
        cause = session.why("$R0", 2)
        assert [c.role for c in cause.children] == ["value", "operand", "handle"]
        assert cause.children[0].value == cause.value
        place, _, _ = cause.children[0].origin
        (read,) = session.who_read(f"*(@global int*)0x{place.address:x}", n=1)
        assert read.instruction == row.text


@pytest.mark.full(instead="test_textures_come_from_their_texels")
def test_nothing_else_decides_rare_results() -> None:
    """`make fuzz` looks at more of each launch."""
    met: Counter[str] = Counter()
    for name, session in rare_stops():
        with session:
            troubles = at_rare(session, random.Random(name), met, 3)
            assert [t for t in troubles if t not in ("", "end")] == []
    assert {"SYNCS", "TLDS", "LDSM", "HMMA"} <= set(met)
