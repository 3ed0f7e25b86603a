"""Loops that wait for other blocks in code of sm_50 to sm_62, which has no YIELD.

From sm_70 on compilers put a YIELD into a loop that waits.  Before that nothing in the code says
so, and a warp that waits for another block would keep its place's turns until `STAY` is used up.
A loop polls (*inferred*) if it is short, calls nothing, waits at no barrier, and either reads
memory with a volatile load or an atomic and stores nothing, or tries to take a lock: a
compare-and-swap or an exchange.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from gpudbg.code_layout import BUNDLES

_LONGEST: Final = 48
"""Instructions of the longest loop that is taken for one that waits."""
_STORES: Final = frozenset("ST STG STS STL RED SUST SURED".split())
_OUTSIDE: Final = frozenset("BAR CAL JCAL PRET RET EXIT BRX JMX".split())
_LOADS: Final = frozenset(("LD", "LDG"))
_ATOMICS: Final = frozenset(("ATOM", "SUATOM"))


def branch_polls(pc: int, insn: Any, decoded: Callable[[int], Any]) -> bool:
    """Whether an instruction goes back to the beginning of a loop that polls.

    Args:
        decoded: the instruction at an address, None where there is none.
    """
    if insn.op != "BRA" or (target := insn.target(pc)) is None:
        return False
    at = BUNDLES.first(target)
    if not 0 <= at <= pc or pc - at > _LONGEST * BUNDLES.word_bytes:
        return False
    reads = locks = stores = False
    while at < pc:
        inside = decoded(at)
        if inside is None or inside.op in _OUTSIDE:
            return False
        stores |= inside.op in _STORES
        if inside.op in _ATOMICS:
            words = inside.text(at).split()
            reads = True
            locks |= any(".CAS" in word or ".EXCH" in word for word in words)
        reads |= inside.op in _LOADS and ".CV" in inside.text(at)
        at = BUNDLES.next(at)
    return locks or (reads and not stores)
