"""Trap handlers from sm_70 on: a group of lanes is in the handler, the warp's others stand."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.architectures import age
from gpudbg.debug.session import DebugSession
from gpudbg.debug.values.lane_groups import lane_groups
from gpudbg.debug.values.trap_words import trap_state
from gpudbg.errors import AssembleError, ModelGap
from gpudbg.formats.cubin import read_cubin
from gpudbg.frontends.tui.trap_texts import take
from gpudbg.sm.state_hash import state_hash
from tests.engine import machines
from tests.trap.kit import data, handle, launch, port, program, word
from tests.variants import number, rows

ARCHS = ("sm_75", "sm_80", "sm_90", "sm_120")
HIDDEN = ".word 0x000fc00000000000000000000000794f"
"""RTT where public tools print nothing for it."""
PARTED = """
.registers 24
    S2R R0, SR_LANEID ;
    ISETP.GT.U32.AND P0, PT, R0, 0xf, PT ;
    BSSY B0, join ;
    @P0 BRA other ;
    MOV R5, 0x5 ;
    BPT.TRAP 0x3 ;
    MOV R6, 0x6 ;
    BRA join ;
other:
    MOV R6, 0x7 ;
join:
    BSYNC B0 ;
    IMAD R7, R6, 0x1, R0 ;
    EXIT ;
"""
RECORDS = """
.registers 24
    STL [RZ], R0 ;
    STL [0x4], R1 ;
    STL [0x8], R2 ;
    STL [0xc], R3 ;
    P2R R3, PR, RZ, 0x7f ;
    STL [0x10], R3 ;
    LDC R2, c[0x11][0x10] ;
    LDC R3, c[0x11][0x14] ;
    S2R R0, SR_WARPERRORSTATUS ;
    STG.E [R2], R0 ;
    S2R R0, SR_GLOBALERRORSTATUS ;
    STG.E [R2+0x4], R0 ;
    S2R R0, SR_LANEID ;
    ISETP.GT.U32.AND P0, PT, R0, 0x7, PT ;
    BSSY B0, met ;
    @P0 BRA few ;
    MOV R1, 0x1 ;
    BRA met ;
few:
    MOV R1, 0x2 ;
met:
    BSYNC B0 ;
    VOTE.ANY R1, PT, PT ;
    STG.E [R2+0x8], R1 ;
    LDL R3, [0x10] ;
    R2P PR, R3, 0x7f ;
    LDL R3, [0xc] ;
    LDL R2, [0x8] ;
    LDL R1, [0x4] ;
    LDL R0, [RZ] ;
    RTT ;
"""
"""Parts its own lanes, meets them again, stores what it reads, and keeps the registers."""
EMPTY = "RTT ;"


def handled(session: DebugSession, text: str) -> DebugSession:
    """Install a handler, with the return of the session's architecture."""
    arch = session.program.arch
    if age(arch)[0] >= 89:
        text = text.replace("RTT ;", HIDDEN)
    handle(session, spelled(text, arch))
    return session


def spelled(text: str, arch: str) -> str:
    """Loads and stores as the architecture writes them."""
    return (
        text
        if age(arch)[0] >= 80
        else text.replace("LDG.E", "LDG.E.SYS").replace("STG.E", "STG.E.SYS")
    )


def shown(session: DebugSession) -> list[tuple[int, str]]:
    """Lanes and words of the focused warp's groups."""
    return [(g.mask, g.words) for g in lane_groups(session.warp().state)]


def out(session: DebugSession) -> None:
    """Step until the warp has left the handler."""
    warp = session.warp().state
    for _ in range(200):
        if not warp.in_trap:
            return
        session.step()
    raise AssertionError("still in the handler")


@rows("arch", ARCHS)
def test_a_group_enters_and_the_others_stand(arch: str) -> None:
    session = handled(launch(PARTED, arch=arch), RECORDS)
    stop = session.cont()
    assert stop.kind == "trap"
    assert "BPT.TRAP 0x3 at k+0x50" in stop.detail[0]
    warp = session.warp().state
    unit, placed = session.grid.traps, session.grid.traps.handler
    assert placed is not None
    state = unit.state(warp)
    assert (state["cause"], state["saved_active"]) == ("BPT.TRAP", 0xFFFF)
    assert state["saved_pc"] == session.symbols.base + 0x60
    names = ("pc", "active", "exited", "valid", "depth", "warp_status", "cause")
    assert [placed.read(0, 0, name) for name in names] == [
        state["saved_pc"], 0xFFFF, 0, 0xFFFFFFFF, 1, 3 << 24, 2,
    ]  # fmt: skip
    assert (warp.active, warp.pc) == (0xFFFF, placed.entry)
    assert (word(session, "SR66"), word(session, "SR64")) == (3 << 24, 1 << 10)
    assert (port(session, "BPT_TRAP_MASK_LO"), port(session, "DBGR_STATUS0")) == (1, 0x11)
    view = trap_state(session).warp
    assert view is not None
    assert (view.depth, view.active, view.cause) == (1, 0xFFFF, "BPT_TRAP")
    assert ("Groups", "1", "others of the warp, which stand") in take(session).saved
    assert shown(session) == [
        (0xFFFF, "next to run"),
        (0xFFFF0000, "ready to run; stands until the trap handler returns"),
    ]
    out(session)
    assert data(session, 3) == [3 << 24, 1 << 10, 0xFFFF]
    assert (warp.pc, warp.active) == (session.symbols.base + 0x60, 0xFFFF)
    assert shown(session)[1] == (0xFFFF0000, "ready to run")
    assert (word(session, "SR66"), port(session, "BPT_TRAP_MASK_LO")) == (0, 0)
    assert warp.groups.mask_of_lane(0, 3) == 0xFFFFFFFF, "the kernel's B0 is as it was"
    session.execute("break *0xb0")
    assert session.cont().kind == "breakpoint"
    assert warp.active == 0xFFFFFFFF
    assert warp.R[7].tolist() == [n + (6 if n < 16 else 7) for n in range(32)]
    assert warp.R[0].tolist() == list(range(32))
    assert session.cont().kind == "exited"


def test_rtt_is_a_word_where_tools_print_nothing() -> None:
    with pytest.raises(AssembleError, match="no instruction RTT on sm_90") as raised:
        handle(launch(PARTED, arch="sm_90"), EMPTY)
    assert HIDDEN in str(raised.value)
    session = launch(PARTED, arch="sm_90")
    session.install_trap_handler([0x000FC00000000000000000000000794F])
    assert session.run().kind == "exited"
    assert session.grid.sms[0].trap.returns == 1


@rows("arch", ARCHS)
def test_the_handler_sends_faulty_lanes_on(arch: str) -> None:
    """An error of one group; the handler moves its pc behind the load."""
    fault = PARTED.replace("BPT.TRAP 0x3", "LDG.E R9, [R20]")
    text = fault.replace("MOV R5, 0x5", "MOV R20, RZ").replace("S2R R0", "MOV R21, RZ ;\n S2R R0")
    handler = """
        .registers 24
        LDC R2, c[0x11][0x0] ;
        LDC R3, c[0x11][0x4] ;
        LDG.E R4, [R2] ;
        MOV R5, 0x10 ;
        IMAD R4, R4, 0x1, R5 ;
        STG.E [R2], R4 ;
        RTT ;
    """
    session = handled(launch(spelled(text, arch), arch=arch), handler)
    stop = session.cont()
    assert "MMU_FAULT at k+0x60" in stop.detail[0]
    assert session.grid.traps.state(session.warp().state)["cause"] == "a warp error"
    assert port(session, "HWW_WARP_ESR") & 0xFFFF == 0x17
    out(session)
    warp = session.warp().state
    assert (warp.pc - session.symbols.base, warp.active) == (0x70, 0xFFFF)
    assert session.cont().kind == "exited"


def test_other_lanes_in_the_record_are_an_error() -> None:
    handler = """
        .registers 24
        LDC R2, c[0x11][0x0] ;
        LDC R3, c[0x11][0x4] ;
        MOV R4, 0xff ;
        STG.E [R2+0x8], R4 ;
        RTT ;
    """
    session = handled(launch(PARTED, arch="sm_80"), handler)
    session.execute("set trap-entry run")
    stop = session.cont()
    assert (stop.kind, stop.errors[0].name) == ("warp_error", "STACK_ERROR")
    assert "0x000000ff in the record; those in the handler, 0x0000ffff" in stop.errors[0].detail


def test_rtt_by_some_lanes_and_outside_the_handler() -> None:
    text = "S2R R0, SR_LANEID ;\n ISETP.EQ.U32.AND P0, PT, R0, RZ, PT ;\n @P0 BRA a ;\n RTT ;\n"
    session = handled(launch(PARTED, arch="sm_80"), text + "a: RTT ;")
    session.execute("set trap-entry run")
    assert session.cont().errors[0].name == "DIVERGENT"
    stop = launch("RTT ;\n EXIT ;", arch="sm_75").cont()
    assert stop.errors[0].name == "ILLEGAL_INSTR_PARAM"
    stop = launch(f"{HIDDEN}\n EXIT ;", arch="sm_90").cont()
    assert stop.errors[0].name == "ILLEGAL_INSTR_ENCODING"


@pytest.mark.parametrize("engine", ["step", "run"])
def test_lanes_that_exit_in_the_handler(engine: str) -> None:
    """First some of them, then the last: the others of the warp go on."""
    handler = "S2R R0, SR_LANEID ;\n ISETP.EQ.U32.AND P0, PT, R0, RZ, PT ;\n @P0 EXIT ;\n RTT ;"
    session = handled(launch(PARTED, arch="sm_80", engine=engine), handler)
    session.execute("set trap-entry run")
    session.execute("break *0x60")
    assert session.cont().kind == "breakpoint"
    assert (session.warp().state.active, session.warp().state.exited) == (0xFFFE, 1)
    assert session.cont().kind == "exited"
    session = handled(launch(PARTED, arch="sm_80", engine=engine), "EXIT ;")
    session.execute("set trap-entry run")
    session.execute("break *0xa0")
    assert session.cont().kind == "breakpoint"
    warp = session.warp().state
    assert (warp.active, warp.in_trap, port(session, "BPT_TRAP_MASK_LO")) == (0xFFFF0000, False, 0)
    assert session.cont().kind == "exited"
    session = handled(launch("BPT.TRAP 0x1 ;\n EXIT ;", arch="sm_80", engine=engine), "EXIT ;")
    session.execute("set trap-entry run")
    assert session.cont().kind == "exited"


BARRIER = """
.barriers 1
.registers 16
    S2R R0, SR_TID.X ;
    ISETP.GT.U32.AND P0, PT, R0, 0x1f, PT ;
    @P0 BRA wait ;
    BPT.TRAP 0x1 ;
wait:
    BAR.SYNC 0x0 ;
    MOV R6, 0x6 ;
    EXIT ;
"""


@rows("arch", ARCHS)
def test_a_waiting_warp_enters_and_waits_on(arch: str) -> None:
    session = handled(launch(BARRIER, arch=arch, block=64), EMPTY)
    first, second = session.grid.warps()
    session.traps.port.write(0, "DBGR_CONTROL0", 3)  # STOP_ON_ANY_WARP
    session.execute("sm 0 warp 1 lane 0")
    for _ in range(4):
        session.step()
    session.traps.port.write(0, "DBGR_CONTROL0", 3)
    assert second.status == "barrier"
    session.execute("sm 0 warp 0 lane 0")
    session.cont()
    assert (first.in_trap, second.in_trap) == (True, True)
    placed = session.grid.traps.handler
    assert placed is not None
    assert [placed.read(0, n, "barrier") for n in (0, 1)] == [0xFFFFFFFF, 0]
    assert session.grid.traps.state(second)["cause"] == "another warp's trap"
    session.execute("sm 0 warp 1 lane 0")
    out(session)
    assert (second.status, second.active) == ("barrier", 0xFFFFFFFF)
    assert session.cont().kind == "exited"


def test_a_barrier_completed_meanwhile_lets_go_at_the_return() -> None:
    session = handled(launch(BARRIER.replace("BPT.TRAP 0x1", "NOP"), arch="sm_80", block=64), EMPTY)
    first, second = session.grid.warps()
    session.execute("sm 0 warp 1 lane 0")
    session.execute("set step-handler through")
    session.step(4)
    assert second.status == "barrier"
    assert session.execute("trap stop") == {"entered": 2}
    session.execute("sm 0 warp 0 lane 0")
    out(session)
    while first.status != "barrier" and first.executed < 12:
        session.grid.step_warp(first)
    assert second.in_trap
    session.execute("sm 0 warp 1 lane 0")
    out(session)
    assert second.status == "ready"
    assert session.cont().kind == "exited"


def test_lanes_that_wait_cannot_end_in_the_handler() -> None:
    session = handled(
        launch(BARRIER.replace("BPT.TRAP 0x1", "NOP"), arch="sm_80", block=64), "EXIT ;"
    )
    session.execute("sm 0 warp 1 lane 0")
    session.execute("set trap-entry run")
    session.grid.step_warp(session.warp().state, 4)
    assert session.warp().state.status == "barrier"
    session.execute("trap stop")
    with pytest.raises(ModelGap, match="wait at a barrier end in the trap handler"):
        session.grid.step_warp(session.warp().state, 1)


@rows("arch", ARCHS)
def test_single_step_enters_each_time(arch: str) -> None:
    session = handled(launch(PARTED.replace("BPT.TRAP 0x3", "NOP"), arch=arch), RECORDS)
    warp = session.warp().state
    for n in range(1, 6):
        assert session.step().kind == "step"
        assert (warp.in_trap, session.grid.sms[0].trap.entries) == (False, n)
        assert data(session, 2) == [0, 1]
    session.execute("set step-handler enter")
    assert session.step().kind == "trap"
    assert (warp.in_trap, warp.active, len(shown(session))) == (True, 0xFFFF, 2)
    out(session)
    assert session.cont().kind == "exited"


def test_pause_and_errors_inside_the_handler() -> None:
    session = handled(launch(PARTED, arch="sm_75"), "BPT.PAUSE 0x0 ;\n RTT ;")
    session.execute("set trap-entry run")
    session.cont()
    assert port(session, "BPT_PAUSE_MASK_LO") == 1
    assert session.traps.driver.fully_stopped()
    assert session.cont().kind == "exited"
    session = handled(launch(PARTED, arch="sm_80"), "LDS R0, [0x4000] ;\n RTT ;")
    session.execute("set trap-entry run")
    stop = session.cont()
    assert stop.kind == "warp_error"
    assert port(session, "HWW_GLOBAL_ESR") & 1 << 8
    session = launch(PARTED, arch="sm_80")
    session.execute("trap option error-in-trap terminate")
    handled(session, "LDS R0, [0x4000] ;\n RTT ;")
    session.execute("set trap-entry run")
    assert session.cont().kind == "exited"


def test_several_warps_trap_and_immediates_show() -> None:
    for immediate in (0, 1, 7):
        text = PARTED.replace("BPT.TRAP 0x3", f"BPT.TRAP 0x{immediate:x}")
        session = handled(launch(text, arch="sm_80", block=96), EMPTY)
        session.execute("set trap-entry run")
        for _ in range(6):
            session.step(scope="sm")
        assert [w.in_trap for w in session.grid.warps()] == [True] * 3
        assert port(session, "BPT_TRAP_MASK_LO") == 0b111
        assert (word(session, "SR66"), word(session, "SR64")) == (immediate << 24, 1 << 11)
        assert session.cont().kind == "exited"
        assert session.grid.sms[0].trap.returns == 3


def test_nested_traps_preemption_and_a_handler_without_an_end() -> None:
    session = handled(launch(PARTED, arch="sm_80"), "BPT.TRAP 0x2 ;\n RTT ;")
    session.execute("set trap-entry run")
    stop = session.cont()
    assert (stop.kind, stop.detail) == ("trap", ("BPT.TRAP 0x2",))
    assert port(session, "HWW_GLOBAL_ESR") & 1 << 8
    assert session.cont().kind == "exited"
    session = handled(launch(PARTED, arch="sm_80"), EMPTY)
    assert session.execute("trap preempt save")["entered"] == 1
    assert word(session, "SR64") >> 1 & 3 == 1
    session.execute("trap preempt off")
    assert session.run().kind == "exited"
    session = handled(launch(PARTED, arch="sm_80"), "again: NOP ;\n BRA again ;\n RTT ;")
    session.execute("set trap-entry run")
    assert session.run(max_instructions=5000).kind == "limit"
    assert shown(session)[1] == (
        0xFFFF0000, "ready to run; stands until the trap handler returns",
    )  # fmt: skip


def test_back_into_the_handler_and_out_again(tmp_path: Path) -> None:
    session = handled(launch(PARTED, arch="sm_80", engine="step"), RECORDS)
    session.cont()

    def state() -> tuple[Any, ...]:
        return state_hash(session.grid), shown(session), session.warp().state.in_trap

    there = {session.grid.total: state()}
    for _ in range(32):
        session.step()
        there[session.grid.total] = state()
    assert {row[2] for row in there.values()} == {True, False}
    assert len({row[0] for row in there.values()}) == 33
    met = 0
    while session.grid.total > min(there):
        session.execute("reverse-stepi")
        if session.grid.total in there:
            assert state() == there[session.grid.total]
            met += 1
    assert met > 20
    session.execute("set trap-entry run")
    assert session.cont().kind == "exited"
    session.save_recording(tmp_path / "x.gpurec")
    with gpudbg.open(tmp_path / "x.gpurec") as again:
        for total in list(there)[::8]:
            again.goto(total)
            assert again.state_hash() == there[total][0]


def test_the_handler_survives_a_restart_and_can_be_removed() -> None:
    session = handled(launch(PARTED, arch="sm_90"), EMPTY)
    session.cont()
    session.restart()
    assert session.cont().kind == "trap"
    assert session.warp().state.in_trap
    assert session.cont().kind == "exited"
    session.restart()
    session.execute("trap handler off")
    session.cont()
    assert not session.warp().state.in_trap


# ---- a handler that does nothing changes nothing -----------------------------------------
class Parts:
    """A random kernel whose lanes part, wait for one another, and trap on the way."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.labels = 0

    def _label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def work(self) -> list[str]:
        """Some arithmetic, and perhaps a trap of all or some of the lanes there."""
        pick, lines = self.random, []
        for _ in range(pick.randint(1, 3)):
            a, b, c = (pick.randint(8, 15) for _ in range(3))
            lines.append(f"IMAD R{a}, R{b}, 0x{pick.randint(1, 99):x}, R{c}")
        if pick.random() < 0.5:
            guard = pick.choice(("", "@P1 ", "@!P2 "))
            lines.insert(pick.randrange(len(lines) + 1), f"{guard}BPT.TRAP 0x{pick.randint(1, 7)}")
        if pick.random() < 0.2:
            lines.append("YIELD")
        return lines

    def block(self, depth: int) -> list[str]:
        """Work, branches, loops."""
        lines = self.work()
        for _ in range(self.random.randint(1, 2) if depth < 3 else 0):
            lines += self.random.choice((self.branch, self.loop))(depth)
            lines += self.work()
        return lines

    def condition(self, number: int) -> list[str]:
        """P0 to P2 by bits of a register."""
        source, bit = self.random.randint(8, 15), self.random.randint(0, 6)
        return [
            f"LOP3.LUT R4, R{source}, 0x{1 << bit:x}, RZ, 0xc0, !PT",
            f"ISETP.NE.U32.AND P{number}, PT, R4, RZ, PT",
        ]

    def branch(self, depth: int) -> list[str]:
        """if/else around a convergence barrier; a WARPSYNC of all behind it, now and then."""
        other, join = self._label(), self._label()
        number = self.random.randint(0, 2)
        lines = [*self.condition(number), f"BSSY B{depth}, {join}", f"@P{number} BRA {other}"]
        lines += [*self.block(depth + 1), f"BRA {join}", f"{other}:", *self.block(depth + 1)]
        lines += [f"{join}:", f"BSYNC B{depth}"]
        if depth == 0 and self.random.random() < 0.5:
            lines.append("BAR.SYNC 0x0")
        return lines

    def loop(self, depth: int) -> list[str]:
        """A loop that lanes leave one after another."""
        head, end, count = self._label(), self._label(), 16 + depth
        lines = [f"LOP3.LUT R{count}, R0, 0x3, RZ, 0xc0, !PT", f"BSSY B{depth}, {end}", f"{head}:"]
        lines += [*self.block(depth + 1), f"IMAD R{count}, R{count}, 0x1, R20"]
        lines += [f"ISETP.GE.AND P3, PT, R{count}, RZ, PT", f"@P3 BRA {head}"]
        return [*lines, f"{end}:", f"BSYNC B{depth}"]

    def text(self) -> str:
        """The kernel."""
        lines = [".kernel k", ".registers 24", ".barriers 1", "S2R R0, SR_TID.X"]
        lines.append("MOV R20, 0xffffffff")
        lines += [f"IMAD R{n}, R0, 0x{self.random.getrandbits(16):x}, RZ" for n in range(8, 16)]
        lines += [line for n in range(3) for line in self.condition(n)]
        return "\n".join([*lines, *self.block(0), "END:", "NOP", "EXIT"])


def ends(
    cubin: bytes, arch: str, engine: str, handler: str, slice_: int, asks: bool = False
) -> tuple[Any, int, list[Any]]:
    """Registers and predicates of each warp at its end, how often the handler was entered, and the
    state at each stop on the way; `asks`: at stops, all warps are asked to enter the handler.
    """
    states = []
    device = gpudbg.Device(arch=arch, num_sms=1, engine=engine)
    session = device.adopt(read_cubin(cubin, "k.sass")).launch("k", grid=2, block=96, args=[])
    if handler:
        handled(session, handler)
    found: dict[Any, Any] = {}

    def at_end(warp: Any) -> None:
        masks = [warp.words[n] for n in range(8, 15)]
        found[warp.cta.number, warp.index] = (warp.R.tobytes(), masks)

    session.on("warp_end", at_end)
    kind = ""
    for _ in range(100_000):
        kind = session.run(max_instructions=slice_).kind
        assert kind in ("limit", "trap", "exited"), kind
        if kind == "exited":
            break
        if asks and kind == "limit":
            session.execute("trap stop")
        if handler:
            states.append(machines.grid_state(session.grid))
    assert kind == "exited"
    return found, session.grid.sms[0].trap.entries, states


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("arch", ARCHS)
def test_an_empty_handler_changes_nothing(arch: str) -> None:
    entered = 0
    for seed in range(number(1, 40)):
        cubin = program(Parts(seed).text(), arch)
        plain, none, _ = ends(cubin, arch, "run", "", 1 << 30)
        assert none == 0
        met, one, steps = ends(cubin, arch, "step", EMPTY, 997)
        also, two, runs = ends(cubin, arch, "run", EMPTY, 997)
        assert met == also == plain, seed
        assert one == two
        entered += one
        for state, other in zip(steps, runs, strict=True):
            assert not machines.difference(state, other), seed
    assert entered
    assert len(plain) == 6
    assert np.frombuffer(plain[0, 0][0], np.uint32).any()


@pytest.mark.full(instead="test_an_empty_handler_changes_nothing")
@pytest.mark.parametrize("handler", [EMPTY, RECORDS], ids=["empty", "records"])
@pytest.mark.parametrize("arch", ["sm_75", "sm_120"])
def test_stop_requests_anywhere_change_nothing(arch: str, handler: str) -> None:
    """Of lanes that run, wait for one another or at a barrier, also by a handler that parts its
    lanes."""
    for seed in (100, 101):
        cubin = program(Parts(seed).text(), arch)
        plain = ends(cubin, arch, "run", "", 1 << 30)[0]
        met, one, steps = ends(cubin, arch, "step", handler, 307 + seed, asks=True)
        also, two, runs = ends(cubin, arch, "run", handler, 307 + seed, asks=True)
        assert met == also == plain, seed
        assert one == two > 6
        for state, other in zip(steps, runs, strict=True):
            assert not machines.difference(state, other), seed
