"""Objects on disk, choosing the engine, and working without the compiler."""

from __future__ import annotations

import subprocess
import sys
import threading
from functools import cache as cached
from pathlib import Path
from typing import Any

import pytest

import gpudbg
from gpudbg.errors import UsageError
from gpudbg.sm.engines.llvm import build, cache, compile_process, job, layout, start
from gpudbg.sm.engines.llvm import program as program_module
from gpudbg.sm.engines.llvm.kernel.listing import KernelListing
from gpudbg.sm.engines.llvm.program import GOOD, QUICK, CompiledProgram, Version
from tests import kernel_cases as kc
from tests.engine import machines

TEXT = "define i32 @seven() {\n  ret i32 7\n}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setattr(build, "cache_folder", lambda: tmp_path)
    return tmp_path


def test_objects_are_kept(folder: Path) -> None:
    first = build.object_of(TEXT, 0)
    (kept,) = folder.iterdir()
    stamp = kept.stat().st_mtime_ns
    assert build.object_of(TEXT, 0) == first
    assert kept.stat().st_mtime_ns == stamp
    assert build.Code(first).address("seven")


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "foreign"])
def test_damaged_objects_are_made_again(folder: Path, damage: str) -> None:
    good = build.object_of(TEXT, 0)
    (kept,) = folder.iterdir()
    content = bytearray(kept.read_bytes())
    content[len(content) // 2] ^= 1
    kept.write_bytes(
        {"empty": b"", "cut": bytes(content[:40]), "flipped": bytes(content), "foreign": b"x" * 99}[
            damage
        ]
    )
    assert build.object_of(TEXT, 0) == good
    assert cache.read(kept) == good


def test_writers_at_once(folder: Path) -> None:
    """Several writers of one object leave one good file and nothing else."""
    body = b"content" * 1000
    path = folder / "object.o"
    workers = [threading.Thread(target=cache.write, args=(path, body)) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [p.name for p in folder.iterdir()] == ["object.o"]
    assert cache.read(path) == body


TWICE = """
import sys, pathlib
from gpudbg.sm.engines.llvm import build, cache
build.cache_folder = lambda: pathlib.Path(sys.argv[1])
for n in range(30):
    text = f"define i32 @f() {{\\n  ret i32 {n}\\n}}\\n"
    made = build.object_of(text, 0)
    kept = [p for p in pathlib.Path(sys.argv[1]).iterdir() if p.suffix == ".o"]
    assert made and all(cache.read(p) for p in kept)
"""


@pytest.mark.full(instead="test_long_code_is_compiled_later")
def test_two_processes_at_one_cache(tmp_path: Path) -> None:
    """They write the same objects at the same time, and neither ever sees half of one."""
    command = [sys.executable, "-c", TWICE, str(tmp_path)]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in both:
        _, error = process.communicate(timeout=120)
        assert process.returncode == 0, error
    assert len(list(tmp_path.iterdir())) == 30


def test_objects_depend_on_code_version_and_host(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another engine version or another host takes another file."""
    build.object_of(TEXT, 0)
    monkeypatch.setattr(layout, "VERSION", "another")
    build.object_of(TEXT, 0)
    here = build.host()
    other = build.BuildHost(
        here.triple, "x86-64" if here.cpu != "x86-64" else "generic", here.features
    )
    monkeypatch.setattr(build, "host", lambda: other)
    build.object_of(TEXT, 0)
    build.object_of(TEXT.replace("7", "8"), 0)
    assert len(list(folder.iterdir())) == 4


def test_a_cache_that_cannot_be_written(folder: Path) -> None:
    cache.write(folder / "missing" / "object.o", b"content")
    assert cache.read(folder / "missing" / "object.o") is None


def test_without_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "available", lambda: False)
    case = next(iter(kc.load("saxpy", "sm_50")))
    session = machines.launch(case, "run")
    assert session.run().kind == "exited"
    assert session.grid.fast.engine is None
    assert session.grid.fast.trouble == start.MISSING
    assert start.MISSING in session.execute("info engine")["why"]


BLOCKED = """
import sys
sys.modules["llvmlite"] = None
import gpudbg
from tests import kernel_cases as kc
from tests.engine import machines
for engine in ("run", "auto", "step"):
    for name in ("reduce_sum", "jump_table"):
        session = machines.launch(next(iter(kc.load(name, "sm_50"))), engine)
        session.step()
        session.break_at("*0x40")
        assert session.cont().kind == "breakpoint"
        session.execute("delete")
        assert session.run().kind == "exited"
        print(session.execute("info engine").get("why", "step"))
"""


@pytest.mark.full(instead="test_import_stays_light")
def test_with_its_import_blocked() -> None:
    """A platform without llvmlite: everything works, and `info engine` says what is missing."""
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [start.MISSING] * 4 + ["step"] * 2


def test_a_compiler_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that is refused in the middle of a launch leaves it to the step engine."""
    case = next(iter(kc.load("saxpy", "sm_50")))
    alone, session = machines.launch(case, "step"), machines.launch(case, "run")
    session.run(max_instructions=400)
    real = build.object_of

    def refuse(text: str, level: int) -> bytes:
        return real("not a module", level)

    monkeypatch.setattr(build, "object_of", refuse)
    monkeypatch.setattr(session.grid.fast.engine.program, "masked", None)
    assert session.run().kind == alone.run().kind == "exited"
    states = machines.grid_state(alone.grid), machines.grid_state(session.grid)
    assert machines.difference(*states) == ""
    assert "compiler failed" in session.grid.fast.trouble


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host where a process cannot be copied: threads compile."""
    monkeypatch.setattr(compile_process, "usable", lambda: False)


def test_auto_compiles_only_long_launches(threads: None) -> None:
    short = machines.launch(next(iter(kc.load("saxpy", "sm_50"))), "auto")
    assert short.run().kind == "exited"
    assert short.grid.fast.engine is None
    long = machines.launch(next(iter(kc.load("jump_table", "sm_50"))), "auto")
    alone = machines.launch(next(iter(kc.load("jump_table", "sm_50"))), "step")
    assert long.run().kind == alone.run().kind == "exited"
    worker = long.grid.fast._worker
    assert worker is not None
    worker.join()
    assert long.grid.fast.engine is not None
    states = machines.grid_state(alone.grid), machines.grid_state(long.grid)
    assert machines.difference(*states) == ""


def test_a_later_launch_has_the_code_at_once(threads: None) -> None:
    case = next(iter(kc.load("jump_table", "sm_50")))
    program = gpudbg.load(str(case.cubin), engine="auto")
    first = machines.launch_of(program, case)
    assert first.run().kind == "exited"
    first.grid.fast._worker.join()
    assert machines.launch_of(program, case).grid.fast.engine is not None


def _lasting(monkeypatch: pytest.MonkeyPatch, least: float) -> Any:
    """The program of a launch that ran on quick code, when it has ended; none is kept on disk."""
    monkeypatch.setenv("GPUDBG_NO_CACHE", "1")
    monkeypatch.setattr(program_module, "_programs", {})
    monkeypatch.setattr(program_module, "_LASTING", least)
    begun: list[object] = []
    monkeypatch.setattr(program_module, "compiling", begun.append)
    session = machines.launch(next(iter(kc.load("jump_table", "sm_50"))), "auto")
    assert session.run().kind == "exited"
    session.grid.fast._worker.join()
    made = session.grid.fast.engine.program
    assert made.full.effort == QUICK
    return made, begun


@pytest.mark.full(instead="test_long_code_is_compiled_later")
def test_a_short_launch_has_quick_code_alone(
    threads: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "PATIENCE", 60)
    _, begun = _lasting(monkeypatch, 1000)
    assert begun == []


@pytest.mark.full(instead="test_long_code_is_compiled_later")
def test_better_code_is_begun_once_when_a_launch_lasts(
    threads: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "PATIENCE", 60)
    made, begun = _lasting(monkeypatch, 1000)
    made.has_run(2000)
    made.has_run(1)
    assert begun == [made._improve_in_thread]
    begun[0]()
    assert made.full.effort == GOOD
    made.has_run(2000)
    assert len(begun) == 1


def test_long_code_is_compiled_later(threads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch that ends before its code would be there is not worth it; several of them are."""
    case = next(iter(kc.load("jump_table", "sm_50")))
    alone = machines.launch(case, "step")
    alone.run()
    program = gpudbg.load(str(case.cubin), engine="auto")
    sessions = [machines.launch_of(program, case)]
    grid = sessions[0].grid
    size = grid.code.placement_at(grid.fast._entry).size // 8
    monkeypatch.setattr(start, "PATIENCE", 60)
    monkeypatch.setattr(start, "COLD", 0)
    monkeypatch.setattr(start, "COLD_EACH", 1.5 * alone.grid.total / size)
    compiled = []
    for _ in range(3):
        assert sessions[-1].run().kind == "exited"
        compiled.append(sessions[-1].grid.fast.engine is not None)
        sessions.append(machines.launch_of(program, case))
    assert compiled == [False, True, True]


class _Slow:
    """A compiler that is not done before somebody wants it to be."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.done = threading.Event(), threading.Event()
        real = start.FastEngine._compile

        def compile_(engine: start.FastEngine) -> None:
            self.begun.set()
            assert self.done.wait(60)
            real(engine)

        monkeypatch.setattr(start.FastEngine, "_compile", compile_)


def test_an_interrupt_while_code_is_made(threads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "PATIENCE", 1000)
    slow = _Slow(monkeypatch)
    session = machines.launch(next(iter(kc.load("jump_table", "sm_50"))), "auto")

    def interrupt() -> None:
        assert slow.begun.wait(60)
        session.grid.interrupt()

    thread = threading.Thread(target=interrupt)
    thread.start()
    assert session.run().kind == "interrupted"
    slow.done.set()
    thread.join()
    assert session.run().kind == "exited"


def test_no_more_patience(threads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "PATIENCE", 0)
    slow = _Slow(monkeypatch)
    session = machines.launch(next(iter(kc.load("jump_table", "sm_50"))), "auto")
    assert session.run().kind == "exited"
    assert session.grid.fast.engine is None
    slow.done.set()


@pytest.mark.parametrize("kernel", ["memory_widths", "local_array"])
def test_code_that_would_take_long_calls_the_library(
    kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_SMALL", "_LINES", "_LINES_OF_LARGE", "_MOST_LINES", "_MOST_LINES_OF_LARGE"):
        monkeypatch.setattr(job, name, 0)
    monkeypatch.setattr(job, "_WORTH", 10)
    monkeypatch.setattr(program_module, "_programs", {})
    made: list[job.EmittedVersion] = []

    def emit(wanted: job.CompileJob) -> job.EmittedVersion:
        made.append(job.emit(wanted))
        return made[-1]

    monkeypatch.setattr(program_module, "emit", emit)
    case = next(iter(kc.load(kernel, "sm_50")))
    alone, session = machines.launch(case, "step"), machines.launch(case, "run")
    assert session.run().kind == alone.run().kind
    states = machines.grid_state(alone.grid), machines.grid_state(session.grid)
    assert machines.difference(*states) == ""
    full = [version.emitter.options for version in made if version.emitter.options.full]
    assert full
    assert all(options.short and options.calls for options in full)


def test_info_engine_shows_exits() -> None:
    session = machines.launch(next(iter(kc.load("surface_rw", "sm_50"))), "run")
    session.run()
    answer = session.execute("info engine")
    assert answer["compiled"]
    assert answer["total_exits"] >= sum(row["count"] for row in answer["exits"]) > 0
    assert any(row["instruction"].startswith("SULD") for row in answer["exits"])


def test_unknown_engine() -> None:
    with pytest.raises(UsageError, match="unknown engine"):
        gpudbg.Device("sm_50", engine="fast")


def test_import_stays_light() -> None:
    code = "import sys, gpudbg; gpudbg.Device('sm_50'); sys.exit('llvmlite' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_library_is_one_for_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch keeps addresses in it: a second one, made beside it, would be freed under it."""
    both = threading.Barrier(2)
    made: list[object] = []

    class Slow:
        def __init__(self) -> None:
            made.append(self)
            try:
                both.wait(0.2)
            except threading.BrokenBarrierError:
                pass

    monkeypatch.setattr(build, "Library", Slow)
    monkeypatch.setattr(build, "_library", cached(build._library.__wrapped__))
    workers = [threading.Thread(target=build.library) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(made) == 1


def test_a_version_in_use_stays() -> None:
    """Two threads compile the same: the first one's code counts, what it replaced is kept."""
    program = CompiledProgram(KernelListing("sm_50", 0, 8), 8, {}, frozenset())
    quick, good, other = (Version(n, {}, {}, n > 1, 0, None) for n in (1, 2, 3))  # type: ignore[arg-type]
    assert program._keep(True, quick) is quick
    assert program._keep(True, good) is good
    assert program._keep(True, other) is good
    assert (program.full, program.replaced) == (good, [quick])


def test_code_with_a_wrong_guess_does_not_come_back() -> None:
    """What a background thread made before a guess turned out wrong is of no use, however good."""
    program = CompiledProgram(KernelListing("sm_50", 0, 8), 8, {}, frozenset())
    wrong, late = (Version(n, {}, {}, n, 0, None) for n in (0, 1))  # type: ignore[arg-type]
    right = Version(2, {}, {}, 0, 1, None)  # type: ignore[arg-type]
    assert program._keep(True, wrong) is wrong
    assert program._keep(True, right) is right
    assert program._keep(True, late) is right


DAEMON = """
import atexit, os, threading

os.environ["GPUDBG_CACHE"] = "off"
finished = threading.Event()
atexit.register(lambda: print("compiled" if finished.is_set() else "still compiling"))

from gpudbg.sm.engines.llvm import build, compiling

begun = threading.Event()
optimise = build._optimise


def slow(*args):
    begun.set()
    optimise(*args)
    finished.set()


build._optimise = slow


def work():
    {work}


threading.Thread(target=work, daemon=True).start()
begun.wait()
"""


@pytest.mark.full(instead="test_long_code_is_compiled_later")
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("work", ["build.library()", "compiling(build.library).join()"])
def test_a_process_ends_while_a_daemon_thread_compiles(work: str) -> None:
    """The compiler library is not taken apart under it."""
    done = subprocess.run(
        [sys.executable, "-c", DAEMON.format(work=work)],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "compiled\n", "")
