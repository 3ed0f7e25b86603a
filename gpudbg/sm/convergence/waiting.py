"""Code patterns of sm_70 and later by which lanes wait for one another.

Compilers put a YIELD or NANOSLEEP into a loop that waits for other lanes, but not always on each
way round it: the first turns of a lock with back-off go round its NANOSLEEP.  And they place the
WARPSYNC that belongs to a `__syncthreads()` before stores of the program that lanes may wait for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from gpudbg.code_layout import SINGLE
from gpudbg.sm.convergence.groups import FARTHEST_BARRIER
from gpudbg.sm.schedule.turns import FLOW_WIDE

WAITING: Final = frozenset(("BRA", "WARPSYNC"))
"""Mnemonics that the patterns begin with."""
_LONGEST: Final = 64
"""Most instructions of a loop that is examined."""
_YIELDS: Final = frozenset(("YIELD", "NANOSLEEP"))
_LEAVES: Final = frozenset("BAR CALL RET EXIT KILL BRX BRXU JMP JMX JMXU".split())
_STORES: Final = frozenset("ST STG STS ATOM ATOMG ATOMS RED REDG".split())


def loop_yields(pc: int, insn: Any, decoded: Callable[[int], Any]) -> bool:
    """Whether an instruction goes back to the beginning of a short loop with a YIELD in it.

    Args:
        decoded: the instruction at an address, None where there is none.
    """
    if insn.op != "BRA" or (target := insn.target(pc)) is None:
        return False
    if not 0 <= target <= pc or pc - target > _LONGEST * SINGLE.word_bytes:
        return False
    inside = [decoded(at) for at in range(target, pc, SINGLE.word_bytes)]
    if any(i is None or i.op in _LEAVES for i in inside):
        return False
    return any(i.op in _YIELDS for i in inside)


def leads_to_barrier(pc: int, insn: Any, decoded: Callable[[int], Any]) -> bool:
    """Whether an instruction is a WARPSYNC behind which stores and then a BAR follow in a row."""
    if insn.op != "WARPSYNC":
        return False
    stores = False
    for at in range(pc + SINGLE.word_bytes, pc + FARTHEST_BARRIER, SINGLE.word_bytes):
        following = decoded(at)
        if following is None:
            return False
        if following.op == "BAR":
            return stores
        if following.op in FLOW_WIDE:
            return False
        stores |= following.op in _STORES
    return False
