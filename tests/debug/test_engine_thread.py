"""One thread runs a session's machine; meanwhile it is nobody else's."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.debug.engine_thread import EngineThread, Outcome
from gpudbg.debug.launched import run_counts
from gpudbg.debug.progress import SessionMeter
from gpudbg.debug.session import DebugSession
from gpudbg.errors import CommandError

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 60.0
ENDLESS = """
.arch sm_50
.kernel k
.registers 16
.param 8
MOV R2, c[0x0][0x140]
MOV R3, c[0x0][0x144]
W:
IADD R4, R4, 0x1
STG.E [R2], R4
BRA `(W)
"""


@pytest.fixture
def endless() -> Iterator[DebugSession]:
    """A kernel that counts for ever."""
    program = gpudbg.load(assemble_file(ENDLESS, path="k.sass").cubin())
    session = program.launch(block=32, args=[program.device.buffer(np.zeros(4, np.uint32))])
    yield session
    session.interrupt()


class Frontend:
    """Starts work and waits for outcomes, as a frontend's event loop does."""

    def __init__(self) -> None:
        self.engine = EngineThread()
        self.outcomes: queue.SimpleQueue[Outcome[Any]] = queue.SimpleQueue()

    def start(self, session: DebugSession, work: Callable[[], object]) -> None:
        self.engine.start(session, work, self.outcomes.put)

    def wait(self) -> Outcome[Any]:
        return self.outcomes.get(timeout=WAIT_S)


def test_work_runs_in_the_thread_and_its_answer_comes_back(session: DebugSession) -> None:
    frontend = Frontend()
    ran_in: list[str] = []

    def work() -> gpudbg.Stop:
        ran_in.append(threading.current_thread().name)
        return session.run()

    frontend.start(session, work)
    outcome = frontend.wait()
    assert isinstance(outcome.answer, gpudbg.ExitStop)
    assert outcome.error is None
    assert ran_in == ["engine"]
    assert not frontend.engine.busy
    assert frontend.engine.join(WAIT_S)


REFUSED: dict[str, Callable[[DebugSession], object]] = {
    "run": lambda s: s.run(),
    "cont": lambda s: s.cont(),
    "step": lambda s: s.step(),
    "step_line": lambda s: s.step_line(),
    "finish": lambda s: s.finish(),
    "until": lambda s: s.until(),
    "restart": lambda s: s.restart(),
    "kill": lambda s: s.kill(),
    "command": lambda s: s.command("info warps"),
    "print": lambda s: s.command("print $R4"),
    "evaluate": lambda s: s.evaluate("$R4"),
    "warp": lambda s: s.warp(),
    "memory": lambda s: s.memory(0, 4, "global"),
    "write": lambda s: s.memory.write("global", 0, b"1234"),
    "break_at": lambda s: s.break_at("k"),
    "watch_at": lambda s: s.command("watch $R4"),
    "focus": lambda s: s.command("lane 3"),
    "snapshot": lambda s: s.snapshot(),
    "state_hash": lambda s: s.state_hash(),
    "warps": lambda s: s.warps(),
    "warps_where": lambda s: s.warps_where("$R0 > 1"),
    "buffer": lambda s: s.buffer(0),
    "set_buffer": lambda s: s.set_buffer(0, []),
    "on_hit": lambda s: s.on_hit(1, print),
    "note": lambda s: s.note("here"),
    "bookmark": lambda s: s.bookmark("here"),
}


def test_other_threads_are_refused_at_once(endless: DebugSession) -> None:
    frontend = Frontend()
    begun = threading.Event()

    def work() -> gpudbg.Stop:
        begun.set()
        return endless.cont()

    frontend.start(endless, work)
    assert begun.wait(WAIT_S)
    for call in REFUSED.values():
        with pytest.raises(CommandError, match=r"runs in another thread.*interrupt it"):
            call(endless)
    assert frontend.engine.busy
    with pytest.raises(CommandError, match="the engine is at work"):
        frontend.start(endless, endless.cont)
    # What may be asked for from anywhere.
    assert run_counts(endless).done == 0
    assert SessionMeter(endless).now().done == 0
    endless.interrupt()
    assert isinstance(frontend.wait().answer, gpudbg.InterruptStop)
    assert endless.command("print $R4").text
    assert endless.step().kind == "step"


def test_a_thread_of_a_script_has_the_session_while_it_runs(endless: DebugSession) -> None:
    """Views that were made before refuse, too: registers are not changed under a run."""
    warp = endless.warp()
    ended: list[gpudbg.Stop] = []
    thread = threading.Thread(target=lambda: ended.append(endless.run()))
    thread.start()
    while not endless.running:
        pass
    views: dict[str, Callable[[DebugSession], object]] = {
        "registers": lambda _: warp.R[0],
        "pc": lambda _: warp.pc,
        "lane": lambda _: warp.lane(3).pc,
    }
    for call in (REFUSED | views).values():
        with pytest.raises(CommandError, match=r"runs in another thread.*interrupt it"):
            call(endless)
    with pytest.raises(CommandError, match="runs in another thread"):
        warp.R[0] = 1
    with pytest.raises(gpudbg.UsageError, match="is running and cannot be closed"):
        endless.close()
    endless.interrupt()
    thread.join(WAIT_S)
    assert isinstance(ended[0], gpudbg.InterruptStop)
    assert warp.R[0].shape == (32,)


def test_it_is_refused_before_the_thread_has_begun(session: DebugSession) -> None:
    """Between `start` and the first line of the work nobody has the session."""
    held = threading.Event()
    frontend = Frontend()

    class Late(threading.Thread):
        def run(self) -> None:
            held.wait(WAIT_S)
            super().run()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gpudbg.debug.engine_thread.Thread", Late)
        frontend.start(session, session.run)
    with pytest.raises(CommandError, match="another thread"):
        session.step()
    held.set()
    assert isinstance(frontend.wait().answer, gpudbg.ExitStop)


@pytest.mark.parametrize("error", [CommandError("no"), ZeroDivisionError(), KeyboardInterrupt()])
def test_an_exception_is_the_outcome(session: DebugSession, error: BaseException) -> None:
    frontend = Frontend()

    def work() -> None:
        raise error

    frontend.start(session, work)
    outcome = frontend.wait()
    assert (outcome.answer, outcome.error) == (None, error)
    assert session.step().kind == "step"


def test_the_outcome_may_begin_the_next_work(session: DebugSession) -> None:
    frontend = Frontend()

    def ended(outcome: Outcome[gpudbg.Stop]) -> None:
        frontend.outcomes.put(outcome)
        if isinstance(outcome.answer, gpudbg.StepStop):
            frontend.engine.start(session, session.run, ended)

    frontend.engine.start(session, session.step, ended)
    assert isinstance(frontend.wait().answer, gpudbg.StepStop)
    assert isinstance(frontend.wait().answer, gpudbg.ExitStop)


def test_another_session_is_free(endless: DebugSession, session: DebugSession) -> None:
    frontend = Frontend()
    frontend.start(endless, endless.cont)
    assert session.run().kind == "exited"
    endless.interrupt()
    frontend.wait()


def test_join_says_whether_the_thread_is_done(endless: DebugSession) -> None:
    frontend = Frontend()
    assert frontend.engine.join(0)
    frontend.start(endless, endless.cont)
    assert not frontend.engine.join(0)
    endless.interrupt()
    assert frontend.engine.join(WAIT_S)
    frontend.wait()


def test_frontends_make_no_engine_thread_of_their_own() -> None:
    """TUI and MI have one runner; threads of their own read inputs and watch the terminal."""
    own = {"dap/adapter.py", "mi/listen.py", "mi/ui.py", "tui/hangup.py"}
    root = ROOT / "gpudbg" / "frontends"
    found = {
        str(file.relative_to(root))
        for file in root.rglob("*.py")
        if "Thread(" in file.read_text().replace("EngineThread(", "")
    }
    assert found == own
