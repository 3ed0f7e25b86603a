"""A launch that comes to a state it was in before is ended as a livelock, and no other one is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.api.alone import run_alone
from gpudbg.api.programs import prepared
from gpudbg.assembler import assemble_file
from gpudbg.debug.stops.stop import DeadlockStop
from gpudbg.sm import hang_checks

HEAD = """
.arch sm_50
.kernel k
.registers 16
.barriers 2
.param 8
MOV R2, c[0x0][0x140]
MOV R3, c[0x0][0x144]
S2R R6, SR_TID.X
SHR.U32 R6, R6, 0x5
MOV32I R7, 0x1
IADD R7, R7, -R6
"""
FLAG = "W: LDG.E.CV R0, [R2]; ISETP.NE.AND P0, PT, R0, R6, PT; @P0 BRA `(W); {} STG.E [R2], R7;"
"""Wait for the number of one's warp, then store the other's."""
COUNTED = "LDG.E.CV R4, [R2+0x8]; IADD R4, R4, 0x1; STG.E [R2+0x8], R4;"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look early, so that a test need not run long."""
    monkeypatch.setattr(hang_checks, "FIRST", 100)


def program(body: str, engine: str = "run") -> Any:
    text = HEAD + body.replace(";", "\n")
    return gpudbg.load(assemble_file(text, path="k.sass").cubin(), engine=engine, num_sms=1)


def session(body: str, engine: str = "run") -> Any:
    loaded = program(body, engine)
    return loaded.launch(block=64, args=[loaded.device.buffer(np.zeros(64, np.uint32))])


def test_a_flag_to_and_fro() -> None:
    stops = [
        session(FLAG.format("") + "BRA `(W); EXIT", engine).run() for engine in ("step", "run")
    ]
    assert stops[0] == stops[1]
    assert (stops[0].kind, stops[0].hang, stops[0].livelock) == ("deadlock", True, True)
    assert stops[0].message.startswith("livelock: the launch repeats itself")
    assert any("warps 0 of block (0,0,0), 1 of" in line for line in stops[0].detail)


@pytest.mark.parametrize(
    "body",
    [
        FLAG.format(COUNTED) + "BRA `(W); EXIT",
        FLAG.format("S2R R5, SR_CLOCKLO;") + "BRA `(W); EXIT",
    ],
    ids=["counts", "reads a clock"],
)
def test_a_state_that_does_not_come_back(body: str) -> None:
    assert session(body).runner.run(100_000, prove_hangs=True).kind == "limit"


def test_an_exchange_that_ends() -> None:
    body = "MOV32I R8, 0x1000;" + FLAG.format("IADD R8, R8, -0x1;")
    stop = session(body + "ISETP.GT.AND P1, PT, R8, RZ, PT; @P1 BRA `(W); EXIT").run()
    assert stop.kind == "exited"
    assert stop.instructions > 500 * hang_checks.FIRST


def test_a_run_without_a_session_says_so() -> None:
    loaded = program(FLAG.format("") + "BRA `(W); EXIT")
    args = [loaded.device.buffer(np.zeros(64, np.uint32))]
    launch = prepared(loaded, None, (1, 1, 1), (64, 1, 1), args, 0, None)
    stop, free = run_alone(loaded, launch)
    free()
    assert isinstance(stop, DeadlockStop)
    assert stop.livelock


def test_it_is_a_finding() -> None:
    loaded = program(FLAG.format("") + "BRA `(W); EXIT")
    args = [loaded.device.buffer(np.zeros(64, np.uint32))]
    report = gpudbg.check(loaded, block=64, args=args, checks=("sync",))
    (found,) = report.findings
    assert (found.kind, found.cause, report.exit_code) == ("sync", "livelock", 1)
    assert found.where.startswith("the whole launch is in the state of")
    assert {a.offset for a in found.accesses} <= {0x48, 0x50, 0x58, 0x68}
    assert {a.thread for a in found.accesses} <= {(0, 0, 0), (32, 0, 0)}
