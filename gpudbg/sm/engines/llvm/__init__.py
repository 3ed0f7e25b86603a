"""The run engine: the semantics functions emit LLVM IR, compiled code runs the warps.

    text     IR text: names, lines, structured control flow
    lanes    values of the machine interface as IR: integers, masks
    floats   its floating point; `reciprocal`: RCP and RSQ in place; `mufu`: in the library
    memory   its loads, stores, atomics and constants
    flow     its branches, divergence stack, barriers
    listing  the code a kernel can reach, cut into blocks
    emitter  one function per kernel: basic blocks, exits, dispatch
    library  functions that compiled kernels call; `loop` is the schedule among them
    build    target machine, object cache on disk, loading
    run      the engine: compiled code and the step engine taking turns on one grid

The rule that makes every exit simple: all architectural state is in the warp record at every
exit, and an exit exists before every instruction that can fault or has no compiled version.  The
step engine then executes that one instruction and compiled code goes on.
"""

from __future__ import annotations

from importlib.util import find_spec


def available() -> bool:
    """Whether the compiler library is installed."""
    return find_spec("llvmlite") is not None
