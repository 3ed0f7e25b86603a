"""The run engine: the semantics functions emit LLVM IR, compiled code runs the warps.

    ir/         a builder of IR text; lane values, integer and floating-point operations
    kernel/     one kernel's code
        emitter, with listing, edges, loops, pieces, merges, forks: its blocks, and what leads from
            one to another
        registers, exits, cursor: the warp's state in names, side exits that store it, the present
            instruction
        machine: the machine interface, and its parts: flow, special, constants, shuffles,
            conversions, doubles, reciprocals
        accesses: memory, by the first of patterned_access, regular_access and library_access that
            fits; with addresses, patterns, moves, sites
        instruments: what observers want (trace_rows, watch_tests)
        sink: what only exits need, moved into them
    runtime/    functions that compiled kernels call; those of the schedule, barriers, residency,
                divergence and atomics are beside the step engine's, in the folder of each concept
    outlined    those of them that compute on vectors; layout: where things lie
    job         a version to compile, and its object; compile_process: in a copy of the process
    build       target machine, loading; cache: objects kept on disk
    crash       what is said, and kept to be reported, when compiled code crashes all the same
    run         the engine: compiled code and the step engine taking turns on one grid
    workers     host threads that run compiled code together, with worker and threads

The rule that makes every exit simple: at every exit the warp record holds the whole state before
some instruction, after which memory has not changed.  Code may have gone on from there with values
in names only; the step engine executes those instructions again, and compiled code goes on behind.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from importlib.util import find_spec
from typing import TypeVar

Kept = TypeVar("Kept")


class RefusedModuleError(Exception):
    """The compiler library rejected a module."""


def for_ever(value: Kept) -> Kept:
    """Keep an object until the process ends, beyond Python's end: host threads and signal handlers
    read it.
    """
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
    return value


@functools.cache
def available() -> bool:
    """Whether the compiler library is installed."""
    return find_spec("llvmlite") is not None


def compiling(work: Callable[[], None]) -> threading.Thread:
    """A thread that compiles, already started.

    Never a daemon, whoever starts it (threads of a daemon are daemons by default): the
    end of the process takes the compiler library apart, and must wait for code generation.
    """
    made = threading.Thread(target=work, name="gpudbg-compile", daemon=False)
    made.start()
    return made
