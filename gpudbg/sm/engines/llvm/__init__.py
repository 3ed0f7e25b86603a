"""The run engine: the semantics functions emit LLVM IR, compiled code runs the warps.

    text     IR text: names, lines, structured control flow
    lanes    values of the machine interface as IR: integers, masks
    floats   its floating point; `convert`, `doubles`, `reciprocal`: what is done in place
    scaled   where no subnormal is left to be flushed
    memory   its loads, stores, atomics and constants; `addresses`: what is found out about them;
             `inplace`: those with regular ones; `shared`: those in patterns that `patterns` guesses
    flow     its branches, divergence stack, barriers
    listing  the code a kernel can reach, cut into blocks
    state    registers, predicates and flags in IR names, and exits that store them
    ways     loops and pieces of code that names go on through
    emitter  one function per kernel: basic blocks, dispatch
    sink     what only exits need, moved into them
    library  functions that compiled kernels call, with `body`, `atomics`, `mufu`, `mufu_steps`;
             `stack` and `loop`: the divergence stack and the schedule among them
    build    target machine, loading; `cache`: objects kept on disk
    crash    what is said, and kept to be reported, when compiled code crashes all the same
    team     host threads that run compiled code together
    run      the engine: compiled code and the step engine taking turns on one grid

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


class CompileError(Exception):
    """The compiler library refused a module."""


def for_ever(value: Kept) -> Kept:
    """Keep something beyond the end of Python: host threads and signal handlers are in it, or read
    it, until the process ends."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
    return value


@functools.cache
def available() -> bool:
    """Whether the compiler library is installed."""
    return find_spec("llvmlite") is not None


def compiling(work: Callable[[], None]) -> threading.Thread:
    """A thread that compiles, already started.

    Never a daemon, whoever starts it (threads of a daemon are daemons unless told otherwise): the
    end of the process takes the compiler library apart, and must wait for code generation.
    """
    made = threading.Thread(target=work, name="gpudbg-compile", daemon=False)
    made.start()
    return made
