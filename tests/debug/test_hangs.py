"""A run that nothing can end is ended as a deadlock, and no other run is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.cli import main
from gpudbg.debug.stops.spinning import spin_lines
from gpudbg.sm import hang_checks
from gpudbg.sm.engines.llvm.kernel import special
from gpudbg.sm.sregs import LASTING
from tests.tui.helpers import ROOT

SPIN_LOCK = ROOT / "sessions" / "spin_lock" / "spin_lock.cubin"
ENGINES = ("step", "run")
HEAD = """
.arch sm_50
.kernel k
.registers 16
.barriers 2
.param 8
MOV R2, c[0x0][0x140]
MOV R3, c[0x0][0x144]
S2R R6, SR_TID.X
S2R R7, SR_CTAID.X
"""
WAIT = "W: LDG.E.CV R0, [R2]; ISETP.EQ.AND P0, PT, R0, RZ, PT; @P0 BRA `(W);"
"""Until the word is not zero."""
COUNT = "MOV32I R4, 0x{:x}; C: IADD R4, R4, -0x1; ISETP.GT.AND P0, PT, R4, RZ, PT; @P0 BRA `(C);"
SET = "MOV32I R5, 0x1; STG.E [R2], R5;"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """HangCheck early, so that a test need not run long."""
    monkeypatch.setattr(hang_checks, "FIRST", 2000)


def session(body: str, engine: str, grid: int = 1, block: int = 64, jobs: int = 1) -> Any:
    """A launch of a kernel with one buffer; R2 is its address, R6 tid.x, R7 ctaid.x."""
    text = HEAD + body.replace(";", "\n")
    cubin = assemble_file(text, path="k.sass").cubin()
    program = gpudbg.load(cubin, engine=engine, num_sms=1, jobs=jobs)
    words = program.device.buffer(np.zeros(64, np.uint32))
    return program.launch(grid=grid, block=block, args=[words])


# ---- hangs -----------------------------------------------------------------------------
@pytest.mark.parametrize("engine", ENGINES)
def test_a_lock_nobody_gives_back(engine: str) -> None:
    stops = []
    for how in ("run", "run_to_stop"):
        s = gpudbg.open(SPIN_LOCK, engine=engine)
        stops.append(getattr(s, how)())
        assert (stops[-1].kind, stops[-1].hang, stops[-1].finished) == ("deadlock", True, True)
        text = "\n".join(stops[-1].detail)
        assert "warp 0: repeats" in text
        assert "until another thread changes lock[0] (now 1)" in text
        assert "lanes 0 wait at count_up" in text
        with pytest.raises(gpudbg.KernelError, match="deadlock"):
            stops[-1].check()
    assert stops[0] == stops[1]


def test_engines_stop_a_hang_at_the_same_place() -> None:
    stops = [session(WAIT + "EXIT", engine, grid=3, block=96).run() for engine in ENGINES]
    assert stops[0].kind == "deadlock"
    assert stops[0] == stops[1]


def test_host_threads_stop_a_hang() -> None:
    stop = session(WAIT + "EXIT", "run", grid=6, block=96, jobs=2).run()
    assert stop.hang
    assert "18 warps: repeat" in "\n".join(stop.detail)


@pytest.mark.parametrize("engine", ENGINES)
def test_warps_at_a_barrier_wait_for_the_ones_that_spin(engine: str) -> None:
    body = "ISETP.LT.AND P1, PT, R6, 0x20, PT; @P1 BRA `(W); BAR.SYNC 0x0; EXIT;" + WAIT
    s = session(body + "BAR.SYNC 0x0; EXIT", engine, block=96)
    text = "\n".join(s.run().detail)
    assert "warp 0: repeats" in text
    assert "warp 1 of block (0,0,0) waits at barrier 0: 64 of 96 threads arrived" in text


@pytest.mark.parametrize("engine", ENGINES)
def test_blocks_that_cannot_begin_are_counted(engine: str) -> None:
    """A barrier of the whole grid, with more blocks than fit."""
    body = "ISETP.EQ.AND P1, PT, R7, 0x63, PT; @!P1 BRA `(W);" + SET + "EXIT;" + WAIT + "EXIT"
    stop = session(body, engine, grid=100, block=1024).run()
    assert stop.hang
    assert "98 blocks have not begun" in "\n".join(stop.detail)


def test_it_goes_on_when_memory_was_changed() -> None:
    s = session(WAIT + "EXIT", "run")
    assert s.run().hang
    (buffer,) = (a.buffer for a in s.launch.arguments)
    assert s.run().hang, "nothing has changed"
    buffer.write(np.ones(64, np.uint32))
    assert s.run().kind == "exited"


@pytest.mark.full(instead="test_blocks_that_begin_later_end_it")
def test_a_limit_of_the_callers_own_is_reached_and_the_hang_told_there() -> None:
    for engine in ("step", "run"):
        s = session(WAIT + "EXIT", engine)
        stop = s.run(max_instructions=30_000)
        assert (stop.kind, stop.hang, s.grid.total) == ("limit", False, 30_000)
        assert any(line.split()[0] == "hang" for line in spin_lines(s))


def test_the_setting_lets_it_run() -> None:
    s = session(WAIT + "EXIT", "run")
    s.execute("set stop-on-hang off")
    assert s.run(max_instructions=20_000).kind == "limit"
    s.execute("set stop-on-hang on")
    assert s.run().hang


def test_the_command_line_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(SPIN_LOCK)]) == 3
    assert "hang    every warp" in capsys.readouterr().err
    assert main(["--batch", str(SPIN_LOCK), "-ex", "run", "-ex", "info warps"]) == 3
    out = capsys.readouterr().out
    assert "deadlock: no warp will ever go on" in out
    assert out.count("until another thread changes lock[0]") >= 2, "the stop, and `info warps`"


@pytest.mark.parametrize("name", ["CLOCKLO", "GLOBALTIMERLO"])
def test_a_back_off_by_a_clock_keeps_nothing_from_being_a_hang(name: str) -> None:
    """What the clock decides is only how the loop goes round."""
    read = f"S2R R8, SR_{name}; ISETP.GT.U32.AND P1, PT, R8, R9, PT; @P1 SHR.U32 R10, R8, 0x2;"
    body = "MOV32I R9, 0x5000; W: " + read + "@P1 BRA `(L); MOV R11, R8; L: LDG.E.CV R0, [R2];"
    s = session(body + "ISETP.EQ.AND P0, PT, R0, RZ, PT; @P0 BRA `(W); EXIT", "run")
    text = "\n".join(s.run().detail)
    assert "until another thread changes arg0[0] (now 0), at any time" in text


# ---- no hangs --------------------------------------------------------------------------
TIMEOUT = """
T: S2R R8, SR_{}
ISETP.GT.U32.AND P0, PT, R8, R9, PT
MOV R8, RZ
@!P0 BRA `(T)
EXIT
"""


@pytest.mark.parametrize("name", ["CLOCKLO", "GLOBALTIMERLO"])
def test_a_loop_that_a_clock_ends(name: str) -> None:
    """Its state comes back until the time has come: what was read is forgotten each time."""
    limit = "0x20000" if name == "CLOCKLO" else "0x40000"
    s = session(f"S2R R10, SR_{name}; IADD32I R9, R10, {limit};" + TIMEOUT.format(name), "run")
    stop = s.run()
    assert stop.kind == "exited"
    assert stop.instructions > 10 * hang_checks.FIRST


@pytest.mark.parametrize(
    "way",
    [
        "@P1 EXIT;",  # Ends when the time has come,
        "@P1 STG.E [R2], R8;",  # ends itself,
        "VOTE.ANY R10, P2, P1; @P2 EXIT;",  # asks all lanes,
        "@P1 MOV R2, R3; LDG.E.CV R11, [R2];",  # and reads elsewhere.
    ],
)
def test_what_a_clock_could_end_is_no_hang(way: str) -> None:
    read = "S2R R8, SR_CLOCKLO; ISETP.GT.U32.AND P1, PT, R8, R9, PT;"
    body = "MOV32I R9, 0x4000; W: " + read + way + "LDG.E.CV R0, [R2];"
    s = session(body + "ISETP.EQ.AND P0, PT, R0, RZ, PT; @P0 BRA `(W); EXIT", "run")
    stop = s.run()
    assert not stop.hang
    assert stop.instructions > hang_checks.FIRST


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("who", ["R6, 0x20", "R7, 0x1"])
def test_a_flag_that_comes_late(engine: str, who: str) -> None:
    """Another warp, another block counts for long before it stores."""
    body = f"ISETP.GE.AND P1, PT, {who}, PT; @!P1 BRA `(W);" + COUNT.format(3000) + SET
    stop = session(body + "EXIT;" + WAIT + "EXIT", engine, grid=2).run()
    assert stop.kind == "exited"
    assert stop.instructions > 2 * hang_checks.FIRST


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("engine", ENGINES)
def test_blocks_that_begin_later_end_it(engine: str) -> None:
    """The last of many blocks sets the flag: the others leave places, one block waits."""
    body = "ISETP.EQ.AND P1, PT, R7, RZ, PT; @P1 BRA `(W);" + COUNT.format(40)
    body += "ISETP.EQ.AND P1, PT, R7, 0x5, PT; @!P1 EXIT;" + SET + "EXIT;" + WAIT + "EXIT"
    stop = session(body, engine, grid=6, block=1024).run()
    assert stop.kind == "exited"
    assert stop.instructions > 2 * hang_checks.FIRST


def test_an_observer_may_end_it() -> None:
    s = session(WAIT + "EXIT", "step", block=32)
    (buffer,) = (a.buffer for a in s.launch.arguments)
    seen = []

    def access(*given: Any) -> None:
        seen.append(1)
        if len(seen) == 1500:
            buffer.write(np.ones(64, np.uint32))

    with s.on("access", access):
        assert s.run().kind == "exited"
    assert len(seen) >= 1500


def test_a_trace_keeps_nothing_from_being_a_hang() -> None:
    s = session(WAIT + "EXIT", "run", block=32)
    with s.trace("access", "barrier"):
        assert s.run().hang


def test_looking_changes_nothing() -> None:
    """Kernels that count and hold all places: looks come, and the end is the same."""
    results = []
    for on in ("on", "off"):
        s = session(COUNT.format(4000) + SET + "EXIT", "run", block=96)
        s.execute(f"set stop-on-hang {on}")
        stop = s.run()
        results.append((stop.kind, stop.instructions, s.grid.sms[0].issued))
    assert results[0] == results[1]


def test_registers_that_stay_are_those_compiled_code_takes_for_constant() -> None:
    later = {136, 255}  # SR_CgaCtaId and SRZ of the 128-bit sets
    assert LASTING == special.COMPILED_SREGS | special.FIXED | {special.VIRTUAL_ID} | later
    assert LASTING.isdisjoint((*special.CLOCKS, *special.TIMERS))
