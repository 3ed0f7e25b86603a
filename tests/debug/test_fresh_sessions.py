"""Sessions that make their parts when they are asked say what those say that had them."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.debug import fresh
from gpudbg.debug.fresh import ClosedFreshSession, FreshSession
from gpudbg.debug.history import first_run
from gpudbg.debug.session import DebugSession
from gpudbg.debug.stops.stop import EVERY_STOP
from gpudbg.sm import hang_checks
from tests.launching import FIRST

WAITS = """
.arch sm_50
.kernel k
.registers 16
.param 8
MOV R2, c[0x0][0x140]
MOV R3, c[0x0][0x144]
MOV32I R4, 0x40
C: IADD R4, R4, -0x1
ISETP.GT.AND P0, PT, R4, RZ, PT
@P0 BRA `(C)
W: LDG.E R0, [R2]
ISETP.EQ.AND P0, PT, R0, RZ, PT
@P0 BRA `(W)
STG.E [R2+0x4], R0
EXIT
"""
"""Counts, then waits until a word is not zero."""


class Launches:
    """Launches of a program, of which the later ones have sessions without parts."""

    def __init__(
        self, program: gpudbg.LoadedProgram, kernel: str | None, grid: int, block: int
    ) -> None:
        self.program, self.kernel, self.sizes = program, kernel, (grid, block)

    def begin(self, args: list[Any]) -> DebugSession:
        return self.program.launch(self.kernel, *self.sizes, args)


def block_max() -> tuple[Launches, list[Any], list[Any]]:
    """Launches, arguments that end well, arguments that fault."""
    program = gpudbg.load(FIRST, engine="run")
    values = program.device.buffer(np.arange(256, dtype=np.int32))
    out = program.device.buffer(np.zeros(4, np.int32))
    launches = Launches(program, "block_max", 4, 64)
    return launches, [values, out, 250], [np.uint64(64), out, 250]


def waits() -> tuple[Launches, list[Any], list[Any]]:
    """The same where the second ones never end."""
    cubin = assemble_file(WAITS, path="k.sass").cubin()
    program = gpudbg.load(cubin, engine="run", num_sms=1)
    set_, unset = (program.device.buffer(np.full(64, n, np.uint32)) for n in (1, 0))
    return Launches(program, None, 1, 64), [set_], [unset]


def told(session: DebugSession) -> list[str]:
    """What a session says of its run, and of its past."""
    said = [session.stop, list(session.stops), session.focus, session.execute("info sm port")]
    said += [session.state_hash(), session.tick, session.execute("info engine")]
    said.append(session.execute("print $_exitcode") if not session.faulted else "")
    with suppress(gpudbg.GpudbgError):
        said += [session.reverse_step(), session.state_hash(), session.execute("info sm port")]
    said += [session.goto(10), session.state_hash(), session.cont(), list(session.stops)]
    return [str(part) for part in said]


def both(
    monkeypatch: pytest.MonkeyPatch,
    made: Callable[[], tuple[Launches, list[Any], list[Any]]],
    bad: bool,
    ask: Callable[[DebugSession], list[str]],
) -> list[list[str]]:
    """What a launch's session answers without parts and with them."""
    answers = []
    for parts in (False, True):
        launches, good, wrong = made()
        with monkeypatch.context() as patch:
            if parts:
                patch.setattr(fresh, "_unobserved", lambda grid: False)
            for _ in range(3):
                with launches.begin(good) as session:
                    assert session.run().kind == "exited"
            patch.setattr(hang_checks, "FIRST", 200 if bad else hang_checks.FIRST)
            session = launches.begin(wrong if bad else good)
            assert (type(session) is FreshSession) != parts
            answers.append(ask(session))
            session.close()
    return answers


def after_run(session: DebugSession) -> list[str]:
    stop = session.run()
    assert session.stop is stop
    return told(session)


@pytest.mark.in_turn(take="ends hangs")
@pytest.mark.parametrize(
    ("made", "bad"),
    [(block_max, False), (block_max, True), (waits, False), (waits, True)],
    ids=["ends", "faults", "waits", "hangs"],
)
def test_after_a_run_it_tells_what_one_with_parts_does(
    monkeypatch: pytest.MonkeyPatch, made: Any, bad: bool
) -> None:
    """Ended, faulted, hanging: stops, port, state, and its past."""
    without, with_ = both(monkeypatch, made, bad, after_run)
    assert without == with_


def test_a_run_that_is_long_has_its_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts are made in the middle of the run, where it would take a checkpoint."""
    monkeypatch.setattr(first_run, "_PAUSE", {True: 100, False: 100})
    seen: list[type] = []

    def ask(session: DebugSession) -> list[str]:
        stop = session.run()
        seen.append(type(session))
        assert session.stop is stop
        return told(session)

    without, with_ = both(monkeypatch, block_max, False, ask)
    assert without == with_
    assert seen[0] is DebugSession, "there was a pause"


def test_closed_it_keeps_its_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(session: DebugSession) -> list[str]:
        session.run()
        session.close()
        said = [session.stop, list(session.stops), session.kernel, session.closed, session.faulted]
        for name in ("focus", "grid", "breakpoints", "launch"):
            with pytest.raises(gpudbg.UsageError, match="is closed"):
                getattr(session, name)
        return [repr(session), *map(str, said)]

    without, with_ = both(monkeypatch, block_max, False, ask)
    assert without == with_


def test_it_is_freed_when_nobody_has_it() -> None:
    launches, good, _ = block_max()
    kept = launches.program.device.repeated
    for _ in range(3):
        launches.begin(good).run()
        gc.collect()
    assert len(kept) == 1
    session = launches.begin(good)
    assert type(session) is FreshSession
    assert not len(kept)
    session.run()
    assert type(session) is FreshSession, "a run to the end makes no parts"
    session.close()
    assert isinstance(session, ClosedFreshSession)
    assert len(kept) == 1


@pytest.mark.parametrize("how", ["listener", "observer", "written", "limit"])
def test_who_listens_or_changes_something_has_the_parts_made(how: str) -> None:
    launches, good, _ = block_max()
    for _ in range(2):
        launches.begin(good).run()
    told_of: list[Any] = []
    session = launches.begin(good)
    assert type(session) is FreshSession
    if how == "listener":
        EVERY_STOP.append(told_of.append)
        session.run()
        EVERY_STOP.pop()
    elif how == "observer":
        session.on("barrier", lambda *about: told_of.append(about))
        session.run()
    elif how == "written":
        good[0][0] = 9999
        told_of.append(session.run())
    else:
        told_of.append(session.run(max_instructions=100))
        assert told_of[0].kind == "limit"
    assert told_of
    assert type(session) is DebugSession
    session.close()


def test_another_thread_is_refused_while_it_runs() -> None:
    launches, good, _ = block_max()
    for _ in range(2):
        launches.begin(good).run()
    session = launches.begin(good)
    refused: list[str] = []

    def ask() -> None:
        try:
            session.execute("info warps")
        except gpudbg.CommandError as error:
            refused.append(str(error))

    def progress(grid: Any) -> None:
        if not refused:
            other = threading.Thread(target=ask)
            other.start()
            other.join()

    session.grid.gpu.on_progress = progress
    assert session.run().kind == "exited"
    assert refused
    assert "another thread" in refused[0]
