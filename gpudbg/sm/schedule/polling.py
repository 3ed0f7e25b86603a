"""Loops that wait for other blocks without a YIELD.

From sm_70 on compilers put a YIELD into a loop that waits where its lanes may part; in one whose
lanes go on together, and in all code before that, nothing says so, and a warp that waits for
another block would keep its place's turns until `STAY` is used up.  A loop polls (*inferred*) if it
is short, calls nothing, waits at no barrier, and either reads memory with a volatile load or an
atomic and stores nothing, or tries to take a lock: a compare-and-swap or an exchange.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from gpudbg.code_layout import CodeLayout

_LONGEST: Final = 48
"""Most instructions of a loop that is taken for a polling one."""
_STORES: Final = frozenset("ST STG STS STL RED REDG SUST SURED UBLKCP UTMASTG STAS REDAS".split())
_OUTSIDE: Final = frozenset(
    "BAR CAL CALL JCAL PRET RET EXIT BRX BRXU JMX JMXU YIELD NANOSLEEP SYNCS UCGABAR_WAIT".split()
)
"""Mnemonics that wait by themselves or lead out of a loop."""
_LOADS: Final = frozenset(("LD", "LDG"))
_VOLATILE: Final = (".CV", ".STRONG", ".MMIO")
_ATOMICS: Final = frozenset(("ATOM", "ATOMG", "SUATOM"))


def branch_polls(pc: int, insn: Any, decoded: Callable[[int], Any], layout: CodeLayout) -> bool:
    """Whether an instruction goes back to the beginning of a loop that polls.

    Args:
        decoded: the instruction at an address, None where there is none.
    """
    if insn.op != "BRA" or (target := insn.target(pc)) is None:
        return False
    at = layout.first(target)
    if not 0 <= at <= pc or pc - at > _LONGEST * layout.word_bytes:
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
        if inside.op in _LOADS:
            text = inside.text(at)
            reads |= any(word in text for word in _VOLATILE)
        at = layout.next(at)
    return locks or (reads and not stores)
