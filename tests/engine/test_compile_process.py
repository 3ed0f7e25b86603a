"""Compiling beside a launch, in a copy of the process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import gpudbg
from gpudbg.mem import pages
from gpudbg.sm.engines.llvm import (
    RefusedModuleError,
    build,
    compile_process,
    layout,
    program,
    start,
)
from gpudbg.sm.engines.llvm import cache as objects
from gpudbg.sm.engines.llvm.compile_process import CompilingCopy, CopyResult
from gpudbg.sm.engines.llvm.program import GOOD, QUICK, CompiledProgram
from gpudbg.sm.engines.llvm.run import RunEngine
from tests import kernel_cases as kc
from tests.engine import machines

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="copies of a process: Linux")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host with two processors, and no program or object from before."""
    monkeypatch.setattr(objects, "is_noted", lambda about: False)
    monkeypatch.setenv(build.LEAST_EFFORT, "least")
    monkeypatch.setattr(program, "_programs", {})
    monkeypatch.setattr(program, "_LASTING", 0.05)
    monkeypatch.setattr(compile_process, "_failed", [])
    monkeypatch.setattr(os, "sched_getaffinity", lambda number: {0, 1})


@pytest.fixture
def listed() -> CompiledProgram:
    """A program without code."""
    grid = machines.launch(next(iter(kc.load("jump_table", "sm_50"))), "step").grid
    grid.start()
    return RunEngine(grid.launched, grid.entry).program


def _collected(made: CompiledProgram) -> None:
    end = time.monotonic() + 60
    while not made.collect():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_a_launch_goes_on_and_takes_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first launch steps meanwhile; one that follows has the code, which computes the same."""
    monkeypatch.setattr(start, "COLD", 0)
    monkeypatch.setattr(start, "COLD_BESIDE", 0)
    monkeypatch.setattr(start, "COLD_EACH", 1)
    case = next(iter(kc.load("saxpy", "sm_50")))
    alone, loaded = (gpudbg.load(str(case.cubin), engine=e) for e in ("step", "auto"))
    stepped = [machines.launch_of(alone, case) for _ in range(2)]
    assert [session.run().kind for session in stepped] == ["exited"] * 2
    first = machines.launch_of(loaded, case)
    assert first.run().kind == "exited"
    fast = first.grid.fast
    assert fast._worker is None
    if fast.engine is None:
        words = "stepped while its code is made beside it"
        assert first.execute("info engine")["why"] == words
    end = time.monotonic() + 60
    while fast.engine is None and time.monotonic() < end:
        assert not fast.compiling(), "waits for a copy"
    assert fast.engine is not None
    assert fast.engine.program.plain is not None
    second = machines.launch_of(loaded, case)
    assert second.grid.fast.engine is not None
    assert second.run().kind == "exited"
    assert second.grid.fast.engine.report().code
    states = machines.grid_state(stepped[1].grid), machines.grid_state(second.grid)
    assert machines.difference(*states) == ""


@pytest.mark.parametrize("full", [True, False])
def test_the_same_code_comes_back(listed: CompiledProgram, full: bool) -> None:
    here = listed.compile(full, GOOD)
    listed.compile_beside(full, GOOD)
    _collected(listed)
    there = listed.full if full else listed.masked
    assert there is not None
    about = "extents", "slow", "effort", "writes", "before_stores", "called"
    assert [getattr(there, n) for n in about] == [getattr(here, n) for n in about]
    assert there.address != here.address


def test_quick_code_is_for_whole_warps_too(listed: CompiledProgram) -> None:
    listed.compile_beside(False, QUICK)
    _collected(listed)
    assert listed.plain is listed.full is listed.masked is not None


def test_better_code_is_made_version_by_version(listed: CompiledProgram) -> None:
    listed.version(True, QUICK)
    end = time.monotonic() + 60
    while listed.full is listed.plain or listed.beside is not None:
        assert not listed.improving
        listed.has_run(1000)
        assert time.monotonic() < end
    assert listed.full is not None
    assert listed.full.effort == GOOD
    # Whether a warp ever lacks lanes will show.
    assert listed.masked is None
    listed.has_run(1000)
    assert listed.beside is None


def _wrong() -> CopyResult:
    raise RefusedModuleError("not a module")


def _dies() -> CopyResult:
    os.abort()


def _fails() -> CopyResult:
    raise KeyError("a mistake of ours")


@pytest.mark.parametrize(
    ("work", "words"), [(_wrong, "not a module"), (_dies, "it ended by SIGABRT")]
)
def test_what_the_compiler_does_not_survive(work: Callable[[], CopyResult], words: str) -> None:
    copy = CompilingCopy(work)
    assert copy.done(60)
    with pytest.raises(RefusedModuleError, match=words):
        copy.answer()


def test_a_copy_that_fails_is_the_last_one(listed: CompiledProgram) -> None:
    copy = CompilingCopy(_fails)
    assert copy.done(60)
    assert copy.answer() is None
    assert not compile_process.usable()
    listed.compile_beside(False, QUICK)
    assert listed.beside is None
    assert listed.collect()


def test_a_copy_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_process, "MOST_SECONDS", 0.05)
    copy = CompilingCopy(lambda: time.sleep(600) or CopyResult(None))  # type: ignore[func-returns-value]
    while not copy.done(0.01):
        pass
    assert copy.answer() is None
    with pytest.raises(ProcessLookupError):
        os.kill(copy._number, 0)


def test_a_copy_has_no_large_storage() -> None:
    """Else each page that a launch writes meanwhile would be copied first."""
    stored = [
        pages.zeroed(4 << 20),
        pages.zeroed_part(4 << 20, 4 << 20),
        pages.storage(64 << 20)[0],
    ]
    for array in stored:
        array[:] = 1
    places = [pages.address_of(array) // 4096 * 4096 + 4096 for array in stored]

    def work() -> CopyResult:
        listed = Path("/proc/self/maps").read_text().split("\n")
        ranges = [[int(n, 16) for n in line.split()[0].split("-")] for line in listed if line]
        inside = [place for place in places if any(low <= place < high for low, high in ranges)]
        return CopyResult(None, (), f"{len(inside)} are there")

    copy = CompilingCopy(work)
    assert copy.done(60)
    with pytest.raises(RefusedModuleError, match="0 are there"):
        copy.answer()
    assert all(int(array.sum()) == array.size for array in stored)
    # A copy that the user makes has it.
    number = os.fork()
    if number == 0:
        os._exit(int(any(int(array[-1]) != 1 for array in stored)))
    assert os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 0


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe of the process."""
    reader, writer = os.pipe()
    yield reader, writer
    os.close(reader)


def test_a_copy_holds_no_file_open(pipe: tuple[int, int]) -> None:
    """Who waits for the end of a pipe of this process does not wait for the copy."""
    reader, writer = pipe
    copy = CompilingCopy(lambda: time.sleep(600) or CopyResult(None))  # type: ignore[func-returns-value]
    os.close(writer)
    began = time.monotonic()
    assert os.read(reader, 1) == b""
    assert time.monotonic() - began < 60
    copy.stop()
    assert copy.done(60)


def test_a_library_that_a_copy_made(
    listed: CompiledProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What code needs of the library comes with it."""
    monkeypatch.setattr(build, "_GIVEN", {})
    monkeypatch.setattr(build, "_library", cache(build._library.__wrapped__))
    listed.compile_beside(False, QUICK)
    _collected(listed)
    assert listed.plain is not None
    monkeypatch.setattr(build, "library_object", _fails)
    for name in (layout.GRID_LOOP, *map(layout.symbol, listed.plain.called)):
        assert build.library().address(name)


def test_copies_of_forgotten_programs_leave_nothing(
    listed: CompiledProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    def files() -> int:
        return len(os.listdir("/proc/self/fd"))

    before = files()
    listed.compile_beside(False, QUICK)
    assert listed.beside is not None
    number = listed.beside.copy._number
    listed.abandon()
    assert files() == before
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)
    assert listed.collect()
    assert listed.plain is None


ENDS = """
import sys, time
import gpudbg
from gpudbg.mem import pages
from gpudbg.sm.engines.llvm import compile_process
from gpudbg.sm.engines.llvm.compile_process import CopyResult, CompilingCopy
copy = CompilingCopy(lambda: time.sleep(600) or CopyResult(None))
print(copy._number, flush=True)
"""


def test_copies_end_with_the_process() -> None:
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-c", ENDS], cwd=root, capture_output=True, text=True, check=True
    )
    number = int(done.stdout)
    end = time.monotonic() + 60
    while Path(f"/proc/{number}").exists() and time.monotonic() < end:
        if "zombie" in Path(f"/proc/{number}/status").read_text():
            break
        time.sleep(0.01)
    else:
        assert not Path(f"/proc/{number}").exists()
