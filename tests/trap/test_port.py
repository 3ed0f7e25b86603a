"""The debugger port: registers, addresses, the driver's sequences, the log, the commands."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpudbg
from gpudbg.errors import CommandError, GpudbgError, UsageError
from gpudbg.formats.launch_machine import SpecialSetup, make_special, make_trap
from gpudbg.frontends.console.console import Console
from gpudbg.frontends.verbs.demo import play
from gpudbg.regs.port import DbgrControl0
from gpudbg.sm.port import REGISTERS
from gpudbg.sm.trap.options import OPTION_CHOICES
from tests.calls import calls_of
from tests.trap.kit import STORIES, handle, launch, port

NOPS = "NOP ;\n" * 5 + "EXIT ;"


def kinds(session: object, start: int) -> list[tuple[str, str, int]]:
    log = session.traps.port.log  # type: ignore[attr-defined]
    return [(a.kind, a.register, a.value) for a in log if a.number > start]


def test_debug_mode_is_on_and_the_sm_stands() -> None:
    session = launch(NOPS, block=96)
    assert port(session, "DBGR_CONTROL0") == DbgrControl0.DEBUGGER_MODE
    assert port(session, "DBGR_STATUS0") == 0x11
    assert port(session, "WARP_VALID_MASK_LO") == port(session, "BPT_PAUSE_MASK_LO") == 0b111
    assert port(session, "SM_ARCH") == 64 | 0x500 << 8 | 0x500 << 20


def test_a_step_is_the_drivers_sequence() -> None:
    session = launch(NOPS, block=64)
    session.step()
    assert kinds(session, 1) == [
        ("read", "DBGR_CONTROL0", 1),
        ("write", "DBGR_CONTROL0", 1 | 8),
        ("write", "BPT_PAUSE_MASK_LO", 0b10),
        ("write", "BPT_PAUSE_MASK_HI", 0),
        ("write", "DBGR_CONTROL0", 1 | 8 | 1 << 30),
        ("read", "DBGR_STATUS0", 0x11),
        ("read", "HWW_GLOBAL_ESR", 1 << 6),
    ]
    seen = len(session.traps.port.log)
    session.step()
    # What the last step left is cleared: the global word is written back.
    assert kinds(session, seen)[:3] == [
        ("read", "HWW_GLOBAL_ESR", 1 << 6),
        ("write", "HWW_GLOBAL_ESR", 1 << 6),
        ("read", "HWW_WARP_ESR", 0),
    ]


def test_resume_takes_the_stop_back_before_it_runs() -> None:
    session = launch("NOP ;\n BPT.PAUSE 0x0 ;\n EXIT ;")
    session.cont()
    assert port(session, "DBGR_CONTROL0") == 1 | 1 << 31
    seen = len(session.traps.port.log)
    session.cont()
    assert kinds(session, seen) == [
        ("read", "HWW_GLOBAL_ESR", 1 << 5),
        ("write", "HWW_GLOBAL_ESR", 1 << 5),
        ("read", "HWW_WARP_ESR", 0),
        ("broadcast", "BPT_PAUSE_MASK_LO", 0),
        ("broadcast", "BPT_PAUSE_MASK_HI", 0),
        ("broadcast", "TPC_EXCEPTION_EN", 2),
        ("write", "DBGR_CONTROL0", 1),
        ("write", "DBGR_CONTROL0", 1 | 1 << 30),
        ("read", "DBGR_CONTROL0", 1),
    ]


def test_clearing() -> None:
    session = launch("LDS R0, [0x4000] ;\n EXIT ;")
    session.cont()
    bus = session.traps.port
    assert bus.read(0, "HWW_WARP_ESR") == 0x0E
    bus.write(0, "HWW_WARP_ESR", 0x5)
    assert bus.read(0, "HWW_WARP_ESR") == 0x0E
    bus.write(0, "HWW_WARP_ESR", 0)
    assert bus.read(0, "HWW_WARP_ESR") == bus.read(0, "HWW_WARP_ESR_PC") == 0
    session.grid.sms[0].trap.global_esr = 0x64
    bus.write(0, "HWW_GLOBAL_ESR", 0x24)
    assert bus.read(0, "HWW_GLOBAL_ESR") == 0x40


def test_report_masks_gate_the_exception() -> None:
    session = launch("LDS R0, [0x4000] ;\n EXIT ;")
    session.traps.port.write(0, "HWW_WARP_ESR_REPORT_MASK", 0)
    session.cont()
    assert port(session, "HWW_WARP_ESR") == 0x0E
    assert port(session, "TPC_EXCEPTION") == 0
    session.traps.port.write(0, "HWW_WARP_ESR_REPORT_MASK", 1 << 0x0E)
    assert port(session, "TPC_EXCEPTION") == 2


def test_suspend_needs_debug_mode() -> None:
    session = launch(NOPS)
    session.traps.port.broadcast("DBGR_CONTROL0", 0)
    with pytest.raises(UsageError, match="debug mode"):
        session.traps.driver.suspend()


def test_addresses_follow_the_physical_place() -> None:
    special = SpecialSetup(swept=((0, 1), (0, 3)), tpcs_per_gpc=4)
    session = launch(NOPS, grid=4, num_sms=4, special=special)
    bus = session.traps.port
    assert [sm.trap.physical for sm in session.grid.sms] == [0, 2, 8, 9]
    assert bus.address_of(1, "DBGR_CONTROL0") == 0x504000 + 2 * 0x800 + 0x610
    assert bus.address_of(3, "HWW_WARP_ESR") == 0x504000 + 0x8000 + 0x800 + 0x648
    assert bus.read_address(0x504000 + 0x8000 + 0x698) == 8
    bus.write_address(0x504000 + 0x8000 + 0x800 + 0x644, 0x123)
    assert port(session, "HWW_WARP_ESR_REPORT_MASK", 3) == 0x123
    bus.write_address(0x419E44, 0x55)
    assert {port(session, "HWW_WARP_ESR_REPORT_MASK", n) for n in range(4)} == {0x55}
    with pytest.raises(UsageError):
        bus.read_address(0x504000 + 0x800 + 0x648)


def test_run_trigger_alone_does_not_resume() -> None:
    session = launch(NOPS)
    bus = session.traps.port
    session.traps.driver.stopped()
    bus.write(0, "DBGR_CONTROL0", 1 | 1 << 31 | 1 << 30)
    assert bus.read(0, "DBGR_STATUS0") & 0x10
    bus.write(0, "DBGR_CONTROL0", 1)
    assert bus.read(0, "DBGR_STATUS0") & 0x10
    bus.write(0, "DBGR_CONTROL0", 1 | 1 << 30)
    assert not bus.read(0, "DBGR_STATUS0") & 0x10
    assert bus.read(0, "DBGR_CONTROL0") == 1


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.sampled_from(REGISTERS), st.integers(0, 0xFFFF_FFFF), st.booleans()),
        max_size=20,
    )
)
def test_any_sequence_of_writes_leaves_32_bit_words(writes: list[tuple[str, int, bool]]) -> None:
    session = launch(NOPS, block=64, engine="step")
    bus = session.traps.port
    for name, value, everywhere in writes:
        if everywhere:
            bus.broadcast(name, value)
        else:
            bus.write(0, name, value)
        for register in REGISTERS:
            assert 0 <= bus.read(0, register) <= 0xFFFF_FFFF
    assert session.cont().kind in ("exited", "step")


def test_steps_stay_cheap() -> None:
    session = launch("again: NOP ;\n BRA again ;\n EXIT ;", block=64)
    session.step(50)
    warp = session.warp().state

    def sequence() -> None:
        session.traps.driver.resume_step(warp)
        session.traps.driver.stepped(warp)

    assert min(calls_of(sequence) for _ in range(3)) < 100


# ---- commands --------------------------------------------------------------------------
def test_info_sm_port() -> None:
    session = launch(NOPS)
    session.step()
    found = session.execute("info sm port")
    assert [r["register"] for r in found["registers"]] == list(REGISTERS)
    control = found["registers"][0]
    assert control["decoded"] == "DEBUGGER_MODE SINGLE_STEP_MODE"
    text = session.command("info sm port").text
    assert "SINGLE_STEP_COMPLETE" in text
    assert "DBGR_CONTROL0 <- 0x40000009  DEBUGGER_MODE SINGLE_STEP_MODE RUN_TRIGGER" in text
    assert len(session.execute("info sm port log 3")["log"]) == 3
    assert session.execute("info sm") == session.execute("info sms")
    with pytest.raises(CommandError):
        session.execute("info sm port 7")


def test_info_esr_and_trap_commands() -> None:
    session = launch("LDS R0, [0x4000] ;\n EXIT ;")
    session.cont()
    words = session.execute("info esr")
    assert words["SR_WarpErrorStatus"] == words["HWW_WARP_ESR"] == 0x0E
    assert "OOR_ADDR" in session.command("info esr").text
    trap = session.execute("info trap")
    assert trap["warps"][0]["status"] == 0x0E
    assert session.execute("trap port read HWW_WARP_ESR") == 0x0E
    assert session.execute("trap port read 0x504648") == 0x0E
    session.execute("trap port write HWW_WARP_ESR 0")
    assert session.execute("trap port read HWW_WARP_ESR") == 0
    session.execute("trap port write warp_mask 0x7 all")
    assert port(session, "HWW_WARP_ESR_REPORT_MASK") == 7
    for bad in (
        "trap port",
        "trap port read NOTHING",
        "trap port read 0x1234",
        "trap option nothing 1",
        "trap option precision late",
        "trap option precision",
        "trap option skid -1",
        "trap step maybe",
        "trap preempt now",
        "trap handler",
        "trap handler /nowhere.sass",
        "trap argument 5",
        "trap stop 9",
    ):
        with pytest.raises(GpudbgError):
            session.execute(bad)


def test_options_are_all_settable() -> None:
    session = launch(NOPS)
    for name, choices in OPTION_CHOICES.items():
        for choice in choices:
            found = session.execute(f"trap option {name.replace('_', '-')} {choice}")
            assert found[name] == choice


def test_trap_argument_reaches_the_handler() -> None:
    session = launch("BPT.TRAP 0x1 ;\n BPT.TRAP 0x1 ;\n EXIT ;")
    handle(session, "MOV R0, c[0x11][0x20] ;\n BPT.PAUSE 0x0 ;\n RTT ;")
    session.execute("set trap-entry run")
    session.execute("trap argument 0x1234")
    session.cont()
    assert int(session.warp().R[0][0]) == 0x1234


def test_every_judgement_of_the_options_is_a_policy() -> None:
    rows = {row["name"]: row for row in launch(NOPS).execute("info policy")}
    text = " ".join(row["rule"] for row in rows.values())
    for name in ("warp-trap-bits", "error-bits", "precision", "status-clear", "error-in-trap"):
        assert name in text or name in rows
    assert {"rtt", "ide", "bpt-int", "bpt-drain", "trap-record", "single-step"} <= set(rows)
    assert all(row["reason"] for row in rows.values())


# ---- the launch table ------------------------------------------------------------------
@settings(max_examples=150)
@given(
    st.dictionaries(
        st.sampled_from(["shader_type", "swept", "affinity", "queue", "max_warps", "x", "ticket"]),
        st.one_of(
            st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4),
            st.lists(st.integers(-1, 300), max_size=5),
            st.dictionaries(st.sampled_from(["increment", "index", "y"]), st.integers()),
        ),
    ),
    st.dictionaries(
        st.sampled_from(["handler", "entry", "argument", "options", "z"]),
        st.one_of(st.none(), st.integers(), st.text(max_size=4), st.dictionaries(
            st.text(max_size=3), st.one_of(st.booleans(), st.integers(), st.text(max_size=3)))),
    ),
)  # fmt: skip
def test_tables_are_taken_or_refused_in_words(special: dict, trap: dict) -> None:  # type: ignore[type-arg]
    for make, table in ((make_special, special), (make_trap, trap)):
        try:
            make(table)
        except UsageError as error:
            assert error.message  # noqa: PT017 - a refusal is one outcome


@pytest.mark.parametrize("name", ["trap_handler", "trap_counter"])
def test_stories_play(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    cubin = next((STORIES / name).glob("*.cubin"))
    assert play(cubin) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "in the trap handler" in printed.out


def test_the_saving_handler_saves_and_ends_the_warp(tmp_path: Path) -> None:
    from gpudbg.api.opening import open_session
    from gpudbg.arguments import Parser

    p = Parser()
    from gpudbg.api.opening import add_launch_flags

    add_launch_flags(p)
    session = open_session(STORIES / "trap_handler" / "scatter.cubin", p.parse_args([]))
    session.cont()
    before = session.warp().state.R.copy()
    session.cont()
    placed = session.grid.traps.handler
    assert placed is not None
    import numpy as np

    start = placed.place(0, 1)
    record = placed.area.data[start : start + placed.record].view(np.uint32)
    assert record[0x40 // 4] == 0x17
    assert record[0x44 // 4] == 0x200
    count = session.grid.config.registers
    saved = record[0x100 // 4 : 0x100 // 4 + 32 * count].reshape(count, 32)
    assert np.array_equal(saved, before)
    assert session.cont().kind == "exited"


def test_the_counting_handler_counts() -> None:
    from gpudbg.api.opening import add_launch_flags, open_session
    from gpudbg.arguments import Parser

    p = Parser()
    add_launch_flags(p)
    session = open_session(STORIES / "trap_counter" / "probe.cubin", p.parse_args([]))
    assert session.run().kind == "exited"
    import numpy as np

    placed = session.grid.traps.handler
    assert placed is not None
    # Two warps, two traps each, immediate 1.
    assert placed.data.data[:8].view(np.uint32).tolist() == [4, 4]
    assert session.buffer("out").tolist()[:32] == [36 * n for n in range(32)]


def test_the_counting_handler_skips_errors() -> None:
    session = launch("MOV32I R5, 0x5 ;\n LDS R0, [0x4000] ;\n LDS R0, [0x4000] ;\n EXIT ;")
    session.install_trap_handler(STORIES / "trap_counter" / "count.sass")
    assert session.run().kind == "exited"
    assert [f.pc - session.symbols.base for f in session.grid.faults] == [0x10, 0x18]


def test_console_survives_handlers_that_are_none(tmp_path: Path) -> None:
    bad = tmp_path / "h.sass"
    bad.write_bytes(b"\xff\xfe")
    text = tmp_path / "t.sass"
    text.write_text("no such instruction ;\n")
    session = launch(NOPS)
    for path in (bad, text, tmp_path):
        err = io.StringIO()
        console = Console(session, io.StringIO(), err)
        assert not console.execute(f"trap handler {path}")
        assert err.getvalue().startswith("gpudbg: ")


@pytest.mark.parametrize(
    ("arch", "second", "masks", "version"),
    [
        ("sm_75", 0x5047B0, (0x04C1EB72, 0x174), 0x705 << 8 | 32),
        ("sm_80", 0x5047B0, (0x0C81EB60, 0x1174), 0x800 << 8 | 64),
        ("sm_90", 0x5057B0, (0x1F81FB60, 0x1174), 0x900 << 8 | 64),
        ("sm_120", 0x5057B0, (0x1F81FB60, 0x1174), 0xC00 << 8 | 48),
    ],
)
def test_registers_of_later_architectures(
    arch: str, second: int, masks: tuple[int, int], version: int
) -> None:
    """Two SMs a TPC, report masks and versions; error records keep their names."""
    kernels = Path(__file__).parents[1] / "kernels_own" / "cubin"
    program = gpudbg.load(str(kernels / f"look_back.{arch}.cubin"), num_sms=2)
    buffers = [np.zeros(4, np.uint32), np.zeros(128, np.uint32), np.zeros(1, np.uint64)]
    session = program.launch(grid=1, block=128, args=[*buffers, np.zeros(1, np.int32)])
    bus = session.traps.port
    assert bus.address_of(1, "HWW_WARP_ESR") == second
    assert bus.address_of(1, "TPC_EXCEPTION") == (second & ~0xFFF | 0x508)
    (record,) = session.run().errors
    assert (record.name, record.space, record.access) == ("MMU_FAULT", "global", "load")
    assert bus.read_address(second - 0x80) & 0xFFFF == 0x17
    assert bus.read_address(second) == 0
    names = ("HWW_WARP_ESR_REPORT_MASK", "HWW_GLOBAL_ESR_REPORT_MASK")
    assert tuple(bus.read(0, name) for name in names) == masks
    assert bus.read(0, "SM_ARCH") == version | (version >> 8) << 20
    assert "SM 0 (GPC 0, TPC 0, SM 0 of it)" in session.command("info esr").text
    with pytest.raises(gpudbg.UsageError, match="128-bit instruction words"):
        session.traps.install([1 << 128])
