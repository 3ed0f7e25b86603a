"""Loops that read a clock: whether a warp can leave one at any time that the clock may show.

What a clock shows is *any value*, and so is what is computed from it.  Everything else is executed
as it is, and a branch that such a value decides is followed both ways.  If the states that are met
this way are all, and in none a lane ends or memory changes, no clock ends the loop: only another
thread does.  A wait that gives up after some time has a way out and so is never found here.

Each lane's way is one of those followed, whichever lanes of its warp go it: instructions that mix
the lanes' values are followed only where all lanes have the same one (*modelled*: lanes that part
come to every place that the whole warp comes to).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpudbg.mem.lanes import FULL, bools
from gpudbg.sm import record as rec
from gpudbg.sm.sregs import CLOCKS, LASTING

if TYPE_CHECKING:
    from gpudbg.isa.family import Instruction
    from gpudbg.isa.operands import Access
    from gpudbg.sm.state import WarpState

EXPLORED: Final = 1536
"""Most instructions followed for one warp."""
MOST_HEADS: Final = 8
"""States come to again that are tried as the loop's."""
READS_SPECIAL: Final = ("S2R", "S2UR", "CS2R", "CS2UR")
_FLOW: Final = frozenset("BRA SYNC BRK CONT BREAK BSYNC BSSY YIELD NANOSLEEP NOP EXIT".split())
"""Mnemonics that a value of a clock may guide: both ways are followed."""
_PURE: Final = frozenset(
    """MOV MOV32I IMAD IMAD32I IMUL IMUL32I IADD IADD3 IADD32I XMAD ISETP ISET ICMP LOP LOP3 LOP32I
    SHF SHL SHR LEA SEL IMNMX VIMNMX VIADD VIADDMNMX PLOP3 PSETP PSET P2R R2P ISCADD ISCADD32I BFE
    BFI IABS PRMT I2F I2FP F2I I2I F2F FADD FADD32I FMUL FMUL32I FFMA FFMA32I FSETP FSET FSEL FCMP
    FMNMX MUFU RRO FCHK DADD DMUL DFMA DSETP DMNMX POPC FLO BREV SGXT BMSK NOP CSETP CSET
    UIADD3 UIMAD UISETP ULOP3 ULOP UMOV USHF ULEA USEL UPLOP3 UPRMT UPOPC UFLO UBREV USGXT UBMSK
    UP2UR UR2UP UIMNMX UVIADD UVIMNMX UPSETP S2R S2UR CS2R CS2UR""".split()
)
"""Mnemonics that compute from registers alone, each lane for itself."""
_MIXING: Final = frozenset("SHFL VOTE VOTEU MATCH REDUX CREDUX R2UR ELECT UFSHFL FSWZADD".split())
"""Mnemonics whose results depend on other lanes' registers, or on which lanes take part."""

_Item = tuple[str, int]
"""A kind of registers, and a number."""
_AnyValue = dict[_Item, int]
"""Registers that have any value: the lanes in which they do."""


class _GaveUpError(Exception):
    """It is not decided."""


class Walk:
    """The states that a warp may come to from where it is, whatever the clocks show.

    Args:
        warp: on trial; it is left anywhere.
        decoded: the instruction that the warp executes next, None where it must not be tried.
        step: executes it; False: memory or who runs has changed.
        state: the warp's state.
        place: the code address of the next instruction.
    """

    def __init__(
        self,
        warp: WarpState,
        decoded: Callable[[], Instruction | None],
        step: Callable[[], bool],
        state: Callable[[], bytes],
        place: Callable[[], int],
    ) -> None:
        self._warp, self._decoded, self._step = warp, decoded, step
        self._state, self._place = state, place
        self._found: dict[bytes, int] = {}
        self._pcs: list[int] = []
        self._after: list[list[int]] = []
        self._again: list[int] = []
        self._any: _AnyValue = {}

    def loop(self, budget: int = EXPLORED) -> list[int] | None:
        """Code addresses of the loop that it does not leave; None: it may, or that is undecided."""
        node, _ = self._node()
        left = [(node, self._keep())]
        try:
            while left:
                node, kept = left.pop()
                self._put_back(kept)
                left += self._follow(node, budget)
        except _GaveUpError:
            return None
        loops = (self._reached(head) for head in self._again[-MOST_HEADS:])
        nodes = min((found for found in loops if found), key=len, default=None)
        return None if nodes is None else sorted({self._pcs[n] for n in nodes})

    # ---- states ------------------------------------------------------------------------
    def _keep(self) -> tuple[Any, Any, _AnyValue]:
        warp = self._warp
        groups = warp.groups.copy() if warp.has_groups else None
        return warp.saved(), groups, dict(self._any)

    def _put_back(self, kept: tuple[Any, Any, _AnyValue]) -> None:
        saved, groups, unknown = kept
        self._warp.put_back(saved)
        if groups is not None:
            self._warp.groups = groups.copy()
        self._any = dict(unknown)

    def _node(self) -> tuple[int, bool]:
        """The number of the present state; whether it is new."""
        key = self._state() + repr(sorted(self._any.items())).encode()
        found = self._found.get(key)
        if found is not None:
            self._again.append(found)
            return found, False
        self._found[key] = number = len(self._pcs)
        self._pcs.append(self._place())
        self._after.append([])
        return number, True

    def _reached(self, head: int) -> set[int]:
        """Nodes that can be reached from one; none where it cannot be reached itself."""
        seen: set[int] = set()
        left = list(self._after[head])
        while left:
            node = left.pop()
            if node not in seen:
                seen.add(node)
                left += self._after[node]
        return seen if head in seen else set()

    # ---- steps -------------------------------------------------------------------------
    def _follow(self, node: int, budget: int) -> Iterator[tuple[int, tuple[Any, Any, _AnyValue]]]:
        """Go on until a state comes again or both ways of a branch are followed; those states."""
        while True:
            insn = self._decoded()
            if insn is None or len(self._pcs) >= budget:
                raise _GaveUpError
            guides = self._guides(insn)
            if guides:
                kept = self._keep()
                for taken in (False, True):
                    self._put_back(kept)
                    for item in guides:
                        self._set(item, self._any[item], taken)
                    after, new = self._execute(node, insn)
                    if new:
                        yield after, self._keep()
                return
            node, new = self._execute(node, insn)
            if not new:
                return

    def _guides(self, insn: Instruction) -> list[_Item]:
        """Predicates of any value that decide where the executing lanes go."""
        if insn.op not in _FLOW:
            return []
        active = self._warp.active
        return [i for i in _items(insn.reads()) if self._any.get(i, 0) & active]

    def _execute(self, node: int, insn: Instruction) -> tuple[int, bool]:
        """The next instruction; the state behind it, and whether that is new."""
        warp = self._warp
        active = warp.active
        unknown = 0
        for item in _items(insn.reads()):
            unknown |= self._any.get(item, 0) & active
        if unknown and insn.op not in _PURE and insn.op not in _FLOW:
            raise _GaveUpError
        if unknown and insn.op in _FLOW and any(k == "cc" for k, _ in _items(insn.reads())):
            raise _GaveUpError
        if self._any and insn.op in _MIXING and not self._alike(insn):
            raise _GaveUpError
        if reads_changing(insn):
            if getattr(insn.o["sr"], "index", -1) not in CLOCKS:
                raise _GaveUpError
            unknown |= active
        index, negated = insn.guard
        held = warp.words[rec.PRED + index]
        done = active & (~held if negated else held)
        if not self._step():
            raise _GaveUpError
        for item in _items(insn.writes()) if insn.op not in _FLOW else ():
            mask = self._any.pop(item, 0) & ~done | unknown
            if mask:
                self._any[item] = mask
                self._set(item, mask, False)
        for item in self._any if insn.op in _FLOW else ():
            self._set(item, self._any[item], False)
        after, new = self._node()
        self._after[node].append(after)
        return after, new

    def _alike(self, insn: Instruction) -> bool:
        """Whether an instruction only takes a register that is the same in all lanes."""
        warp = self._warp
        if insn.op != "R2UR":
            return False
        live = bools(warp.words[rec.VALID] & ~warp.words[rec.EXITED])
        rows = (warp.R[n][live] for n in insn.reads().registers if n < len(warp.R))
        return all(len(set(row.tolist())) == 1 for row in rows)

    def _set(self, item: _Item, mask: int, value: bool) -> None:
        """What stands for any value: zero, or a predicate's."""
        kind, number = item
        warp = self._warp
        if kind in ("R", "UR"):
            file = warp.R if kind == "R" else warp.UR
            if number < len(file):
                file[number][bools(mask)] = np.uint32(0)
            return
        first, count = {"P": (rec.PRED, 1), "UP": (rec.UPRED, 1), "cc": (rec.CC, 5)}[kind]
        for word in range(first + number, first + number + count):
            held = warp.words[word]
            warp.words[word] = (held | mask if value else held & ~mask) & FULL


def reads_changing(insn: Instruction) -> bool:
    """Whether an instruction reads a clock, timer or counter, which change by themselves."""
    return insn.op in READS_SPECIAL and getattr(insn.o["sr"], "index", -1) not in LASTING


def _items(access: Access) -> Iterator[_Item]:
    """Registers and predicates that an instruction reads or writes, those that are constant left
    out.
    """
    yield from (("R", n) for n in access.registers if n != 255)
    yield from (("P", n) for n in access.predicates if n != 7)
    yield from (("UR", n) for n in access.uniform)
    yield from (("UP", n) for n in access.uniform_predicates if n != 7)
    if access.cc:
        yield "cc", 0
