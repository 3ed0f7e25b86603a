"""Registers from Python: what is read is a copy and refuses assignment; assignments arrive."""

from __future__ import annotations

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.session import DebugSession
from gpudbg.errors import UsageError


def test_an_assignment_that_would_be_lost_is_refused(session: DebugSession) -> None:
    session.step(6)
    warp = session.warp()
    for array in (
        *(warp.R[0], warp.R[0:4], warp.F[0], warp.D[0], warp.L[0], warp.R["R4"], warp.R[255]),
        *(warp.P[0], warp.P[0:2], warp.active, warp.exited, warp.threads, warp.CC["Z"]),
        session.memory(0, 16, "shared").array(),
        *(session.snapshot().detail.registers,),  # type: ignore[union-attr]
    ):
        before = array.copy()
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
        assert (array == before).all()


def test_assignments_by_every_way(session: DebugSession) -> None:
    warp = session.warp()
    warp.R[4, 5] = 70
    assert (int(warp.R[4][5]), warp.lane(5).R[4], warp.R[4, 5]) == (70, 70, 70)
    warp.lane(5).R["R4"] = 71
    assert warp.R["$R4"][5] == 71
    warp.R[4:8] = 3
    assert warp.R[4:8].tolist() == [[3] * 32] * 4
    warp.R[4:6] = np.arange(64).reshape(2, 32)
    assert warp.R[5].tolist() == list(range(32, 64))
    warp.R[4:6, 7] = [100, 200]
    assert warp.R[4:6, 7].tolist() == [100, 200]
    assert warp.lane(7).R[4:6].tolist() == [100, 200]
    warp.R["R4"] = -1
    assert warp.R[4].tolist() == [0xFFFFFFFF] * 32


def test_floats_doubles_and_pairs(session: DebugSession) -> None:
    warp = session.warp()
    warp.F[4] = 1.5
    assert warp.R[4].tolist() == [0x3FC00000] * 32
    assert warp.lane(3).F[4] == 1.5
    warp.D[4, 9] = -0.1
    assert warp.D[4][9] == -0.1
    assert warp.R[5, 9] << 32 | warp.R[4, 9] == int(np.float64(-0.1).view(np.uint64))
    assert warp.lane(9).D["D4"] == -0.1
    warp.L[6] = 1 << 40
    assert (warp.R[6, 0], warp.R[7, 0], warp.lane(0).L[6]) == (0, 256, 1 << 40)
    warp.L[6] = (1 << 64) - 1
    assert warp.R[6:8].min() == 0xFFFFFFFF
    warp.R[4] = 2.5
    assert warp.F["R4"].tolist() == [2.5] * 32
    assert warp.evaluate("$D4").dtype == np.float64


def test_predicates_alike(session: DebugSession) -> None:
    warp = session.warp()
    warp.P[0, 3] = True
    warp.P["P1"] = np.arange(32) % 2
    assert (bool(warp.P["P0"][3]), warp.lane(1).P[1], warp.lane(2).P["P1"]) == (True, True, False)
    warp.P[0:2] = False
    assert not warp.P[0:2].any()
    assert warp.P["PT"].all()


@pytest.mark.parametrize(
    "code",
    [
        "warp.R[99]", "warp.R['R99']", "warp.R['X4']", "warp.R['R']", "warp.R[1.5]",
        "warp.R[4, 32]", "warp.R['P0']", "warp.D[15]", "warp.P[8]", "warp.P['P9']", "warp.F['D4']",
        "warp.R.__setitem__(4, [1, 2])", "warp.R.__setitem__(255, 1)", "warp.P.__setitem__(7, 0)",
        "warp.R.__setitem__(4, 'x')", "warp.R.__setitem__('RZ', 1)", "warp.R['R' + '9' * 5000]",
        "warp.R.__setitem__(4, 1 << 32)", "warp.R.__setitem__(4, -(1 << 31) - 1)",
        "warp.F.__setitem__(4, 1e300)", "warp.L.__setitem__(4, 1 << 64)",
    ],
)  # fmt: skip
def test_what_is_not_there_is_refused(session: DebugSession, code: str) -> None:
    with pytest.raises(UsageError):
        eval(code, {"warp": session.warp()})


def test_names_of_slices_and_wrong_names(session: DebugSession) -> None:
    warp = session.warp()
    assert (warp.R["R2":"R5"] == warp.R[2:5]).all()
    for name in ("R4000", "R" + "9" * 6000, "R٣"):
        with pytest.raises(UsageError, match=r"no register 'R[4٣9]"):
            warp.R[name]
    with pytest.raises(UsageError, match="True or False, not 5"):
        warp.P[0] = 5


def test_files_kept_beyond_their_session_refuse(session: DebugSession) -> None:
    kept = (session.warp().R, session.warp().P, session.warp().lane(3).F)
    session.close()
    for file in kept:
        with pytest.raises(UsageError, match="closed"):
            file[0]
        assert "closed session" in repr(file)


def test_elements_of_a_buffer() -> None:
    buffer = gpudbg.Device().buffer(np.arange(6).reshape(2, 3))
    buffer[1, 2] = 50
    buffer[0] = 7
    assert buffer.array().tolist() == [[7, 7, 7], [3, 4, 50]]
    with pytest.raises(ValueError, match="read-only"):
        buffer[0][1] = 9
    for index, value in (((9, 9), 1), (0, [1, 2]), (0, "x")):
        with pytest.raises(UsageError, match=r"of a buffer of shape \[2, 3\]"):
            buffer[index] = value
    buffer.free()
    assert "freed" in repr(buffer)
    with pytest.raises(UsageError, match="freed"):
        buffer[0] = 1
