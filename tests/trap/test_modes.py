"""BPT modes, RTT forms, IDE, single step, stop requests: each through the handler and back."""

from __future__ import annotations

import numpy as np
import pytest

from gpudbg.errors import CommandError, ModelGap
from tests.trap.kit import RECORDER, STORIES, data, handle, launch, port, word

PLAIN = RECORDER.format(mode="")
SAVE = """
    STL [0x0], R0 ;
    STL [0x4], R1 ;
    STL [0x8], R2 ;
    STL [0xc], R3 ;
"""
RESTORE = """
    LDL R3, [0xc] ;
    LDL R2, [0x8] ;
    LDL R1, [0x4] ;
    LDL R0, [0x0] ;
    RTT ;
"""
KEEPS = (
    SAVE + RECORDER.format(mode="").split(".func trap_handler")[1].replace("RTT ;", "") + RESTORE
)
"""A handler that leaves the registers as they were."""


CLEARS = """
    S2R R0, SR_WARPERRORSTATUSCLEAR ;
    S2R R1, SR_WARPERRORSTATUS ;
    BPT.PAUSE 0x0 ;
    RTT ;
"""


def kernel(middle: str) -> str:
    """Write R5 before and R6 after the instruction; R0 shows that the handler kept registers."""
    return f"MOV32I R0, 0x77 ;\n MOV32I R5, 0x5 ;\n {middle} ;\n MOV32I R6, 0x6 ;\n EXIT ;"


@pytest.mark.parametrize("immediate", [0, 1, 2, 7, 9])
def test_trap_through_the_handler_and_back(immediate: int) -> None:
    session = launch(kernel(f"BPT.TRAP 0x{immediate:x}"))
    handle(session, KEEPS)
    stop = session.cont()
    assert stop.kind == "trap"
    assert "BPT.TRAP" in stop.detail[0]
    assert "k+0x18" in stop.detail[0]
    state = session.grid.traps.state(session.warp().state)
    assert state["cause"] == "BPT.TRAP"
    assert state["saved_pc"] == session.symbols.base + 0x28
    assert word(session, "SR66") == (immediate & 7) << 24
    assert word(session, "SR64") == 1 << 10
    assert port(session, "BPT_TRAP_MASK_LO") == 1
    assert port(session, "HWW_WARP_ESR") == port(session, "HWW_GLOBAL_ESR") == 0
    session.grid.traps.options.set("warp_trap_bits", "immediate")
    assert word(session, "SR64") == 1 << (10 if immediate & 7 == 1 else 11)
    session.grid.traps.options.set("warp_trap_bits", "count")
    warp = session.warp().state
    while warp.in_trap:
        session.step()
    assert data(session, 2) == [(immediate & 7) << 24, 1 << 10]
    assert warp.pc == session.symbols.base + 0x28
    assert word(session, "SR66") == word(session, "SR64") == 0
    assert port(session, "BPT_TRAP_MASK_LO") == 0
    assert int(warp.R[0][3]) == 0x77
    session.step()
    assert int(warp.R[6][0]) == 6
    assert session.cont().kind == "exited"


def test_trap_without_a_handler_stops_and_passes() -> None:
    session = launch(kernel("BPT.TRAP 0x3"))
    stop = session.cont()
    assert (stop.kind, stop.pc) == ("trap", 0x18)
    assert word(session, "SR66") == 3 << 24
    assert word(session, "SR64") == 1 << 10
    assert port(session, "BPT_TRAP_MASK_LO") == 1
    assert session.cont().kind == "exited"


def test_several_trapping_warps() -> None:
    session = launch(kernel("BPT.TRAP 0x1"), block=96)
    handle(session, KEEPS)
    session.execute("set trap-entry run")
    for _ in range(3):
        session.step(scope="sm")
    assert port(session, "BPT_TRAP_MASK_LO") == 0b111
    assert word(session, "SR64") == 1 << 11
    session.grid.traps.options.set("warp-trap-bits", "immediate")
    assert word(session, "SR64") == 1 << 10


def test_pause_stops_sets_its_bits_and_goes_on() -> None:
    session = launch(kernel("BPT.PAUSE 0x0"), block=64)
    stop = session.cont()
    assert (stop.kind, stop.pc) == ("trap", 0x18)
    assert session.grid.sms[0].trap.pause == 1
    assert port(session, "HWW_GLOBAL_ESR") == 1 << 5
    assert word(session, "SR66") == word(session, "SR64") == 0
    assert session.cont().warp == 1
    assert session.cont().kind == "exited"


def test_pause_inside_the_handler_waits_for_the_debugger() -> None:
    session = launch(kernel("BPT.TRAP 0x1"))
    handle(session, "BPT.PAUSE 0x0 ;\n RTT ;")
    session.execute("set trap-entry run")
    session.cont()
    assert session.symbols.describe(session.warp().state.pc) == "trap_handler+0x8"
    # The pause mask equals the valid mask, and the SM is in trap mode: a full stop.
    assert port(session, "BPT_PAUSE_MASK_LO") == port(session, "WARP_VALID_MASK_LO") == 1
    assert port(session, "DBGR_STATUS0") == 0x11
    assert session.traps.driver.fully_stopped()
    assert session.cont().kind == "exited"


def test_quiet_pause() -> None:
    session = launch(kernel("BPT.PAUSE_QUIET 0x0"), arch="sm_60", block=64, engine="step")
    stop = session.cont()
    assert stop.kind == "trap"
    assert "paused" in stop.detail[0]
    assert port(session, "HWW_GLOBAL_ESR") == 0
    assert session.grid.sms[0].trap.pause == 0b11
    assert all(int(w.R[6][0]) == 0 for w in session.grid.warps())
    assert session.cont().kind == "exited"


def test_int_is_for_the_host_only() -> None:
    session = launch(kernel("BPT.INT 0x1"))
    handle(session, KEEPS)
    session.execute("break *0x28")
    assert session.cont().kind == "breakpoint"
    assert port(session, "HWW_GLOBAL_ESR") == 1 << 4
    assert word(session, "SR64") == word(session, "SR66") == 0
    assert session.grid.sms[0].trap.entries == 0
    assert any("BPT.INT" in a.register for a in session.traps.port.log if a.kind == "event")
    assert session.cont().kind == "exited"


def test_call_of_the_handler() -> None:
    session = launch(kernel("BPT.CAL 0x0"))
    handle(session, KEEPS)
    session.cont()
    assert session.grid.traps.state(session.warp().state)["cause"] == "BPT.CAL"
    assert word(session, "SR66") == word(session, "SR64") == 0
    assert port(session, "BPT_TRAP_MASK_LO") == 0
    assert session.cont().kind == "exited"
    assert data(session, 2) == [0, 0]


def test_drain_has_no_effect() -> None:
    session = launch(kernel("BPT.DRAIN 0x0"))
    assert session.cont().kind == "exited"


def test_drain_illegal_is_an_illegal_instruction() -> None:
    session = launch(kernel("BPT.DRAIN_ILLEGAL 0x0"))
    stop = session.cont()
    assert (stop.errors[0].name, stop.pc) == ("ILLEGAL_INSTR_ENCODING", 0x18)


# ---- RTT -------------------------------------------------------------------------------
def test_rtt_terminate_ends_the_warp_only() -> None:
    session = launch(kernel("BPT.TRAP 0x1"), block=64)
    handle(session, "S2R R0, SR_VIRTID ;\n BFE.U32 R0, R0, 0x608 ;\n"
           "ISETP.EQ.U32.AND P0, PT, R0, RZ, PT ;\n @P0 BRA ends ;\n RTT ;\n"
           "ends: RTT.TERMINATE ;")  # fmt: skip
    session.execute("set trap-entry run")
    session.execute("break *0x28")
    assert session.cont().warp == 1
    assert [w.status for w in session.grid.warps()] == ["exited", "ready"]
    assert session.cont().kind == "exited"


def test_rtt_fallthrough_goes_on_behind_it() -> None:
    session = launch(kernel("BPT.TRAP 0x1"))
    handle(session, "RTT.FALLTHROUGH ;\n MOV32I R7, 0x7 ;\n EXIT ;")
    session.execute("set trap-entry run")
    session.execute("break trap_handler+0x18")
    session.cont()
    warp = session.warp().state
    assert not warp.in_trap
    assert warp.stack == ()
    assert session.symbols.describe(warp.pc) == "trap_handler+0x18"
    assert int(warp.R[7][0]) == 7
    assert session.cont().kind == "exited"


def test_rtt_preempted_stops_with_the_context_saved() -> None:
    session = launch(kernel("BPT.TRAP 0x1"))
    handle(session, "RTT.PREEMPTED ;")
    session.execute("set trap-entry run")
    stop = session.cont()
    assert stop.kind == "trap"
    assert "context is saved" in stop.detail[0]
    assert session.warp().state.pc == session.symbols.base + 0x28
    assert session.cont().kind == "exited"


def test_rtt_by_some_lanes_is_divergent() -> None:
    session = launch(kernel("BPT.TRAP 0x1"))
    handle(session, "S2R R0, SR_LANEID ;\n ISETP.EQ.U32.AND P0, PT, R0, RZ, PT ;\n"
           "@P0 BRA other ;\n RTT ;\n other: RTT ;")  # fmt: skip
    session.execute("set trap-entry run")
    stop = session.cont()
    assert stop.errors[0].name == "DIVERGENT"


def test_lanes_that_leave_the_handler_by_a_token_are_an_error() -> None:
    session = launch("SSY 0x28 ;\n BPT.TRAP 0x1 ;\n SYNC ;\n EXIT ;")
    handle(session, "SYNC ;")
    session.execute("set trap-entry run")
    assert session.cont().errors[0].name == "STACK_ERROR"


def test_the_handler_can_change_where_the_warp_goes_on() -> None:
    session = launch(kernel("LDS R0, [0x4000]"))
    handle(session, (
        "MOV R2, c[0x11][0x0] ;\n MOV R3, c[0x11][0x4] ;\n LDG.E R4, [R2] ;\n"
        "IADD32I R4, R4, 0x10 ;\n STG.E [R2], R4 ;\n MOV32I R4, 0xff ;\n"
        "STG.E [R2+0x8], R4 ;\n RTT ;"
    ))  # fmt: skip
    session.execute("set trap-entry run")
    session.execute("break *0x28")
    assert session.cont().kind == "breakpoint"
    warp = session.warp().state
    assert warp.active == 0xFF
    # The rest of the lanes are nowhere: the machine says so when those that go on have ended.
    assert session.cont().errors[0].name == "STACK_ERROR"


def test_divergence_is_kept_across_the_handler() -> None:
    text = """
        S2R R0, SR_LANEID ;
        SSY 0x50 ;
        ISETP.GT.U32.AND P0, PT, R0, 0xf, PT ;
        @P0 BRA 0x38 ;
        BPT.TRAP 0x1 ;
        SYNC ;
        MOV32I R6, 0x6 ;
        MOV R8, RZ ;
        EXIT ;
    """
    session = launch(text)
    handle(session, KEEPS)
    session.cont()
    warp = session.warp().state
    assert warp.active == 0xFFFFFFFF
    assert [e.kind for e in warp.stack] == ["SSY", "DIV", "TRAP"]
    assert session.grid.traps.state(warp)["saved_active"] == 0xFFFF
    while warp.in_trap:
        session.step()
    assert warp.active == 0xFFFF
    assert [e.kind for e in warp.stack] == ["SSY", "DIV"]
    assert [int(n) for n in warp.R[0]] == list(range(32))


# ---- barriers --------------------------------------------------------------------------
BARRIER = """
    .barriers 1
    S2R R0, SR_VIRTID ;
    BFE.U32 R0, R0, 0x608 ;
    ISETP.EQ.U32.AND P0, PT, R0, RZ, PT ;
    @P0 BRA 0x38 ;
    BPT.TRAP 0x1 ;
    BAR.SYNC 0x0 ;
    MOV32I R6, 0x6 ;
    EXIT ;
"""


def test_a_waiting_warp_enters_and_waits_on() -> None:
    session = launch(BARRIER, block=64)
    handle(session, KEEPS)
    session.traps.port.write(0, "DBGR_CONTROL0", 3)  # STOP_ON_ANY_WARP
    session.cont()
    first, second = session.grid.warps()
    assert first.in_trap
    assert second.in_trap
    states = [session.grid.traps.state(w)["cause"] for w in (first, second)]
    assert sorted(states) == ["BPT.TRAP", "another warp's trap"]
    waiting = first if session.grid.traps.state(first)["cause"] != "BPT.TRAP" else second
    assert word(session, "SR64") & 1 << 10
    session.execute(f"sm 0 warp {waiting.slot} lane 0")
    while waiting.in_trap:
        session.step()
    assert waiting.status == "barrier"
    assert session.cont().kind == "exited"


def test_stop_on_any_sm() -> None:
    text = """
        S2R R0, SR_CTAID.X ;
        ISETP.EQ.U32.AND P0, PT, R0, RZ, PT ;
        @P0 BRA 0x30 ;
        BPT.TRAP 0x1 ;
        NOP ;
        EXIT ;
    """
    session = launch(text, grid=2, num_sms=2)
    handle(session, KEEPS)
    session.traps.port.write(0, "DBGR_CONTROL0", 1 | 4)
    session.execute("set trap-entry run")
    for _ in range(4):
        session.step(scope="all")
    causes = [session.grid.traps.state(w)["cause"] for w in session.grid.warps()]
    assert causes == ["another warp's trap", "BPT.TRAP"]


# ---- single step, stop requests, critical sections ---------------------------------------
def test_single_step_enters_the_handler_each_time() -> None:
    session = launch(kernel("NOP"))
    handle(session, KEEPS)
    warp = session.warp().state
    for n in range(1, 4):
        stop = session.step()
        assert stop.kind == "step"
        assert not warp.in_trap
        assert session.grid.sms[0].trap.entries == n
        assert port(session, "HWW_GLOBAL_ESR") == 1 << 6
        assert data(session, 2) == [0, 1]  # SingleStepEnabled
    session.execute("set step-handler enter")
    stop = session.step()
    assert stop.kind == "trap"
    assert "single step" in stop.detail[0]
    assert session.symbols.describe(warp.pc) == "trap_handler+0x8"
    assert word(session, "SR64") == 1
    assert session.grid.traps.state(warp)["cause"] == "a completed single step"
    while warp.in_trap:
        session.step()
    assert session.grid.sms[0].trap.entries == 4


def test_single_step_mode_of_a_free_run() -> None:
    session = launch(kernel("NOP"))
    session.execute("trap step on")
    stop = session.cont()
    assert (stop.kind, stop.pc) == ("step", 0x10)
    handle(session, KEEPS)
    session.execute("set trap-entry run")
    assert session.cont().kind == "exited"
    assert session.grid.sms[0].trap.entries == 3


def test_stop_request() -> None:
    session = launch(kernel("NOP"), block=64)
    handle(session, PLAIN)
    session.step(2)
    assert session.execute("trap stop") == {"entered": 2}
    assert word(session, "SR64") & 1 << 4
    assert port(session, "DBGR_STATUS0") & 1
    warp = session.warp().state
    assert session.grid.traps.state(warp)["cause"] == "a stop request"
    assert session.cont().kind == "exited"


BY_WARP = """
    MOV R2, c[0x11][0x10] ;
    MOV R3, c[0x11][0x14] ;
    S2R R0, SR_VIRTID ;
    BFE.U32 R0, R0, 0x608 ;
    SHL R0, R0, 0x2 ;
    IADD R2, R2, R0 ;
    S2R R1, SR_GLOBALERRORSTATUS ;
    STG.E [R2], R1 ;
    RTT.TERMINATE ;
"""


@pytest.mark.parametrize(("guilty", "why"), [("BPT.TRAP 0x1", 1 << 10), ("LDS R0, [0x2]", 1 << 9)])
def test_warps_taken_along_read_why(guilty: str, why: int) -> None:
    """The guilty warp has ended by the time that the other reads the status word."""
    session = launch(kernel(guilty), block=64)
    handle(session, BY_WARP)
    session.execute("set trap-entry run")
    session.traps.port.write(0, "DBGR_CONTROL0", 3)  # STOP_ON_ANY_WARP
    session.cont()
    assert session.grid.sms[0].trap.entries == 2
    assert data(session, 2) == [why, why]


def test_handler_code_reads_the_stop_request() -> None:
    """The driver takes STOP_TRIGGER back to let the handler run; its S2R tells why it runs."""
    session = launch(kernel("NOP"), block=64)
    handle(session, PLAIN)
    session.execute("trap stop")
    session.step()
    assert word(session, "SR64") & 1 << 4
    session.cont()
    assert data(session, 2)[1] & 1 << 4


def test_critical_section_holds_back_steps_and_requests() -> None:
    session = launch("IDE 0x1 ;\n NOP ;\n NOP ;\n IDE.EN 0x1 ;\n NOP ;\n EXIT ;")
    handle(session, PLAIN)
    warp = session.warp().state
    session.step()
    assert session.grid.sms[0].trap.entries == 0 or not warp.in_trap
    entries = session.grid.sms[0].trap.entries
    assert word(session, "SR64") & 1 << 5
    assert session.execute("trap stop") == {"entered": 0}
    session.step()
    assert session.grid.sms[0].trap.entries == entries
    session.step(2)
    assert session.grid.sms[0].trap.entries == entries + 1
    assert word(session, "SR64") & 1 << 5 == 0


def test_preemption() -> None:
    session = launch(kernel("NOP"))
    handle(session, PLAIN)
    assert session.execute("trap preempt save")["entered"] == 1
    assert word(session, "SR64") >> 1 & 3 == 1
    session.execute("trap preempt off")
    assert word(session, "SR64") >> 1 & 3 == 0
    assert session.cont().kind == "exited"


def test_status_clear_register() -> None:
    session = launch(kernel("BPT.TRAP 0x5"))
    handle(
        session,
        CLEARS,
    )
    session.execute("set trap-entry run")
    session.cont()
    assert int(session.warp().R[0][0]) == 0
    assert int(session.warp().R[1][0]) == 5 << 24
    session = launch(kernel("BPT.TRAP 0x5"))
    session.execute("trap option status-clear clear")
    handle(
        session,
        CLEARS,
    )
    session.execute("set trap-entry run")
    session.cont()
    assert int(session.warp().R[0][0]) == 5 << 24
    assert int(session.warp().R[1][0]) == 0


def test_the_handler_survives_a_restart_and_can_be_removed() -> None:
    session = launch(kernel("BPT.TRAP 0x1"))
    handle(session, KEEPS)
    session.cont()
    with pytest.raises(CommandError):
        session.execute("trap handler off")
    session.restart()
    assert session.cont().kind == "trap"
    assert session.warp().state.in_trap
    session.cont()
    session.restart()
    session.execute("trap handler off")
    session.cont()
    assert not session.warp().state.in_trap


def test_run_does_not_stop_at_entries() -> None:
    session = launch(kernel("BPT.TRAP 0x1"))
    handle(session, KEEPS)
    assert session.run().kind == "exited"
    assert session.grid.sms[0].trap.entries == 1


def test_words_as_a_handler() -> None:
    session = launch(kernel("BPT.TRAP 0x1"))
    session.install_trap_handler([0xE360000000000000])  # RTT
    assert session.run().kind == "exited"
    assert session.grid.sms[0].trap.returns == 1


def test_graphics_without_a_pipeline_is_a_gap() -> None:
    from gpudbg.formats.launch_machine import SpecialSetup

    session = launch("ALD R0, a[0x70] ;\n EXIT ;", special=SpecialSetup(shader_type="vertex_b"))
    with pytest.raises(ModelGap):
        session.cont()


def test_same_result_with_and_without_the_counting_handler() -> None:
    text = kernel("BPT.TRAP 0x1") + ""
    plain = launch(text)
    plain.cont()
    plain.cont()
    handled = launch(text)
    handle(handled, KEEPS)
    handled.execute("break *0x30")
    handled.execute("set trap-entry run")
    handled.cont()
    rows = np.array(handled.warp().state.R)
    assert rows[5].tolist() == [5] * 32
    assert rows[6].tolist() == [6] * 32


def test_assert_traps_and_a_handler_goes_on_behind_the_call() -> None:
    import gpudbg

    cubin = STORIES.parent / "tests" / "sm" / "data" / "syscalls.sm_50.cubin"
    session = gpudbg.load(cubin).launch("asrt", 1, 32, [np.int32(5)])
    stop = session.cont()
    assert stop.kind == "trap"
    assert "Assertion" in stop.detail[0]
    assert word(session, "SR66") == 1 << 24

    session = gpudbg.load(cubin).launch("asrt", 1, 32, [np.int32(5)])
    session.install_trap_handler(STORIES / "trap_counter" / "count.sass")
    stop = session.cont()
    assert stop.kind == "trap"
    assert session.warp().state.in_trap
    back = session.grid.traps.state(session.warp().state)["saved_pc"]
    assert session.symbols.describe(back).startswith("asrt+")
    assert session.run().kind == "exited"
    assert data(session, 2)[0] >= 1
