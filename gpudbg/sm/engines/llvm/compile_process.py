"""Compiling beside a launch, in a copy of this process that ends with its answer.

Emitting IR is Python code: in a thread it would compete with the step engine for the interpreter
lock.  A copy has an interpreter for itself, and everything that compiling needs; a new process
would import for longer than most kernels take to compile.  What it makes refers to nothing outside
itself (`job`).  Where there can be no copy, callers compile themselves.

A copy of a process with several threads has one of them, and locks as they were.  None is held by
others that compiling takes: the compiler library's is taken before.  Should one be all the same,
the copy is given up after a while, and nothing is lost but its time.
"""

from __future__ import annotations

import atexit
import gc
import os
import pickle
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Set
from contextlib import suppress
from typing import Any, Final, NamedTuple

from gpudbg.mem.mappings import left_out_of_copies
from gpudbg.sm.engines.llvm import RefusedModuleError, build, layout
from gpudbg.sm.engines.llvm.job import CompiledObject, CompileJob, assemble, emit

MOST_SECONDS = 120.0
"""Most seconds a copy may take: ten times the better code of thousands of instructions."""


class CopyResult(NamedTuple):
    """What a copy leaves.

    Attributes:
        made: the version.
        library: objects of the library that are needed beside it.
        refused: the compiler library's words where it has refused the module, or "".
    """

    made: CompiledObject | None
    library: tuple[build.LibraryObject, ...] = ()
    refused: str = ""


class CompilingCopy:
    """A copy of this process that compiles."""

    def __init__(self, work: Callable[[], CopyResult]) -> None:
        """Begin.

        Args:
            work: called in the copy.

        Raises:
            OSError: there can be no copy.
        """
        self._end = time.monotonic() + MOST_SECONDS
        # It answers in memory that both have; the pipe ends with it.
        self._memory = os.memfd_create("gpudbg-compile")
        self._pipe, writer = os.pipe()
        try:
            with build.at_rest(), left_out_of_copies(), warnings.catch_warnings():
                # Python warns about forking a process with threads: see the module text.
                warnings.simplefilter("ignore", DeprecationWarning)
                self._number = os.fork()
        except OSError:
            for file in (self._memory, self._pipe, writer):
                os.close(file)
            raise
        if self._number == 0:
            _work_and_end(work, self._memory, writer)
        os.close(writer)
        _ALL[self._number] = self

    def done(self, seconds: float = 0.0) -> bool:
        """Whether it has exited, or has taken too long; waits for it."""
        return self._exited(seconds) or time.monotonic() > self._end

    def _exited(self, seconds: float = 0.0) -> bool:
        return bool(select.select([self._pipe], [], [], seconds)[0])

    def answer(self) -> CopyResult | None:
        """Its result, once it is done; None where it failed, after which no more copies are made.

        Raises:
            RefusedModuleError: the compiler library has refused the module, or died of it, which
                this process is not to do.
        """
        late = not self._exited()
        self.stop()
        status, content = self._end_of_it()
        if status != 0 or not content:
            _failed.append(status)
            if status < 0 and not late:
                raise RefusedModuleError(f"it ended by {signal.Signals(-status).name}")
            return None
        answer: CopyResult = pickle.loads(content)
        if answer.refused:
            raise RefusedModuleError(answer.refused)
        for made in answer.library:
            build.give(made)
        return answer

    def abandon(self) -> None:
        """End it; what it makes is not wanted."""
        self.stop()
        self._end_of_it()

    def _end_of_it(self) -> tuple[int, bytes]:
        """How it has exited (`_status`), and what it leaves."""
        status = self._status()
        content = os.pread(self._memory, os.fstat(self._memory).st_size, 0)
        for file in (self._memory, self._pipe):
            os.close(file)
        return status, content

    def stop(self) -> None:
        """End it, unless it has exited."""
        if not self._exited():
            with suppress(ProcessLookupError):
                os.kill(self._number, signal.SIGKILL)

    def _status(self) -> int:
        """Its exit code, or a signal's number below 0."""
        _ALL.pop(self._number, None)
        try:
            return os.waitstatus_to_exitcode(os.waitpid(self._number, 0)[1])
        except ChildProcessError:
            # Another part of the process has waited for all children.
            return 0


_ALL: Final[dict[int, CompilingCopy]] = {}
"""Copies by pid: running ones, and those whose result was not taken."""
_failed: Final[list[int]] = []
"""Exit statuses of copies that gave no answer."""


@atexit.register
def _stop_all() -> None:
    """Kill all copies at exit: their results are not needed."""
    for copy in list(_ALL.values()):
        copy.stop()


def _forget() -> None:
    """In a child process: forget the parent's copies."""
    _ALL.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def usable() -> bool:
    """Whether a process can be copied here, has a second processor, and no copy has failed."""
    return sys.platform == "linux" and not _failed and len(os.sched_getaffinity(0)) > 1


def compiling(job: CompileJob) -> CompilingCopy | None:
    """A copy that compiles a version; None: there can be none."""

    def work() -> CopyResult:
        made = assemble(job, emit(job))
        wanted = {layout.GRID_LOOP, *(layout.symbol(name) for name in made.called)}
        return CopyResult(made, _library(wanted - build.given()))

    return _copy(work)


def _copy(work: Callable[[], CopyResult]) -> CompilingCopy | None:
    if not usable():
        return None
    try:
        return CompilingCopy(work)
    except OSError as error:
        _failed.append(error.errno or 1)
        return None


def _library(wanted: Set[str]) -> tuple[build.LibraryObject, ...]:
    """Objects with these functions, each once."""
    found: dict[tuple[str, ...], build.LibraryObject] = {}
    for name in sorted(wanted):
        if not any(name in names for names in found):
            made = build.library_object(name)
            found[made.names] = made
    return tuple(found.values())


def _work_and_end(work: Callable[[], CopyResult], memory: int, writer: int) -> Any:
    """Body of the copy: do the work, write the result, exit. Never returns."""
    code = 1
    try:
        gc.disable()
        os.setpgid(0, 0)
        _keep_only(memory, writer)
        try:
            answer = work()
        except RefusedModuleError as error:
            answer = CopyResult(None, (), str(error))
        with open(memory, "wb", closefd=False) as file:
            pickle.dump(answer, file)
        code = 0
    finally:
        os._exit(code)


def _keep_only(*kept: int) -> None:
    """Close all other files: whoever waits for their end must not wait for this copy."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)
    first = 3
    for number in (*sorted(kept), 1 << 20):
        os.closerange(first, number)
        first = number + 1
