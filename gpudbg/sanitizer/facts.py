"""What an instruction is to the memory model: fences, strong accesses, warp-level synchronisation.

Sources: the PTX memory consistency model, and what ptxas makes of PTX (measured): `LDG.E.CV` and
`STG.E.WT` are volatile accesses before sm_70, `.STRONG.SCOPE` names strong ones from sm_70 on.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from gpudbg.dataclass import dataclass
from gpudbg.isa.operands import RZ, Reg

NONE, CTA, GPU, SYS = range(4)
"""Scopes; each includes those before it."""

_SCOPES: Final = {
    "CTA": CTA, "SM": CTA, "GL": GPU, "GPU": GPU, "SYS": SYS, "VC": SYS,
}  # fmt: skip
_LOADS_STORES: Final = frozenset(("LD", "LDG", "LDS", "ST", "STG", "STS", "LDL", "STL"))


@dataclass(frozen=True, slots=True)
class Facts:
    """What the memory model makes of an instruction.

    Attributes:
        fence: scope of a fence, or NONE.
        strong: scope of its accesses where they are strong, or NONE.
        warp_sync: it synchronises lanes of the warp.
        shuffles: it reads other lanes' registers or predicates.
        takes: it makes strong reads before it acquire.
        read_only: it loads through the path of memory that nobody writes.
    """

    fence: int = NONE
    strong: int = NONE
    warp_sync: bool = False
    shuffles: bool = False
    takes: bool = False
    read_only: bool = False


@lru_cache(maxsize=1 << 14)
def facts_of(insn: Any) -> Facts:
    """The facts of a decoded instruction of either family; these are shared, one for each word."""
    return _facts(insn.op, name_parts(insn)[1:])


@lru_cache(maxsize=1 << 14)
def name_parts(insn: Any) -> tuple[str, ...]:
    """The parts of an instruction's name as it prints: `SHFL`, `UP`, `PT`."""
    text: str = insn.text()
    words = text.split()
    name = words[1] if words[0].startswith("@") and len(words) > 1 else words[0]
    return tuple(name.split("."))


@lru_cache(maxsize=4096)
def _facts(op: str, suffixes: tuple[str, ...]) -> Facts:
    named = [_SCOPES[s] for s in suffixes if s in _SCOPES]
    if op == "MEMBAR":
        return Facts(fence=max(named, default=GPU))
    if op in ("WARPSYNC", "NOP"):
        # `__syncwarp` of lanes that are together is a NOP (inferred).
        return Facts(warp_sync=True)
    if op == "CCTL" and "IVALL" in suffixes:
        return Facts(takes=True)
    if op in ("SHFL", "VOTE", "MATCH", "REDUX"):
        return Facts(shuffles=True)
    if op in ("ATOM", "ATOMG", "RED", "ATOMS", "SURED", "SUATOM", "REDG"):
        return Facts(strong=max(named, default=GPU))
    if op in _LOADS_STORES:
        if "STRONG" in suffixes or "MMIO" in suffixes:
            return Facts(strong=max(named, default=SYS))
        if "CV" in suffixes or "WT" in suffixes:
            return Facts(strong=SYS)
        if "CONSTANT" in suffixes:
            return Facts(read_only=True)
    return Facts()


def data_of(insn: Any) -> Any:
    """The operand with the data of a store or atomic; None where there is none."""
    # The first register beside the address: `b` on sm_50 to sm_62, `a` from sm_70 on.
    return next((insn.o[s] for s in ("a", "b") if isinstance(insn.o.get(s), Reg)), None)


def result_unused(insn: Any) -> bool:
    """Whether an atomic's result is discarded."""
    target = insn.o.get("d")
    return not isinstance(target, Reg) or target.index == RZ
