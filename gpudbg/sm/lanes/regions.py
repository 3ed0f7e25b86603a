"""Code between a BSSY and its BSYNC behind which lanes that part in it are together again.

The lanes that execute a BSSY together wait for one another at the BSYNC.  What parts them on the
way matters there and at the BSYNC, and not behind it, if

* all ways from the BSSY lead to an unguarded BSYNC of its barrier, or end;
* no other way leads into the code between them: lanes that no BSSY has counted are not waited for;
* nothing on the way, nor in functions that it calls, opens, leaves or writes the barrier;
* no YIELD, NANOSLEEP or WARPSYNC is on the way: for lanes that wait in those others do not wait
  long (`gpudbg.sm.convergence.groups`).

Lanes that loop apart for tens of thousands of turns are not waited for, either (`BACKWARD` and
`PATIENCE` there): what is claimed behind a BSYNC is claimed of lanes that were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any, NamedTuple

from gpudbg.isa.operands import PT, Pred
from gpudbg.sm.cfg import BasicBlock, Flow
from gpudbg.sm.lanes.calls import KnownCalls

_LETS_GO = frozenset("YIELD NANOSLEEP WARPSYNC RTT".split())
"""Lanes at a BSYNC may go on without those that execute such an instruction."""
_OF_BARRIER = frozenset("BSSY BREAK BMOV".split())


class ClosedRegion(NamedTuple):
    """Code from behind a BSSY up to its BSYNCs.

    Attributes:
        own: offsets of its instructions.
        code: with those of functions that they call.
        inside: starts of the blocks of `code`: where lanes that parted in the region may meet.
    """

    own: frozenset[int]
    code: frozenset[int]
    inside: frozenset[int]


def innermost(
    flow: Flow, blocks: Mapping[int, BasicBlock], calls: KnownCalls, begins: Set[int]
) -> dict[int, ClosedRegion]:
    """The smallest closed region around each instruction that is in one, by offset.

    Args:
        begins: blocks at which lanes come from elsewhere.
    """
    found: dict[int, ClosedRegion] = {}
    finder = _Finder(flow, blocks, calls, begins)
    for region in sorted(finder.regions(), key=lambda region: len(region.own)):
        for offset in region.own:
            found.setdefault(offset, region)
    return found


class _Finder:
    """Finds the closed regions of a section."""

    def __init__(
        self, flow: Flow, blocks: Mapping[int, BasicBlock], calls: KnownCalls, begins: Set[int]
    ) -> None:
        self._insns, self._blocks, self._calls, self._begins = (
            flow.instructions, blocks, calls, begins,
        )  # fmt: skip
        self._home = {offset: b.start for b in blocks.values() for offset in b.offsets}
        self._before: dict[int, set[int]] = {}
        for block in blocks.values():
            for edge in block.edges:
                self._before.setdefault(edge.target, set()).add(block.start)

    def regions(self) -> Iterator[ClosedRegion]:
        """All of them."""
        for block in self._blocks.values():
            for n, offset in enumerate(block.offsets):
                insn = self._insns[offset]
                if insn is None or insn.op != "BSSY" or insn.guard[0] != PT:
                    continue
                barrier = barrier_of(insn)
                rest = block.offsets[n + 1 :]
                found = None if barrier is None else self._from(block, rest, barrier)
                if found is not None:
                    yield found

    def _from(self, block: BasicBlock, rest: tuple[int, ...], barrier: int) -> ClosedRegion | None:
        """The region from a BSSY on, of the rest of its block; None: it is not closed."""
        if not self._leaves_alone(rest, barrier) or self._closes(rest, barrier) is not None:
            return None
        code, ends = set(rest), set[int]()
        inside = set[int]()
        work = [edge.target for edge in block.edges]
        while work:
            start = work.pop()
            if start in inside:
                continue
            other = self._blocks.get(start)
            if other is None or start == block.start:
                return None
            inside.add(start)
            last = self._closes(other.offsets, barrier)
            head = other.offsets if last is None else other.offsets[: last + 1]
            if not self._leaves_alone(head, barrier):
                return None
            code.update(head)
            if last is not None:
                ends.add(start)
                continue
            if other.ends not in ("", "exit"):
                return None
            work += [edge.target for edge in other.edges]
        if not self._entered_from(block.start, inside, ends):
            return None
        called = self._called(code)
        homes = {self._home[offset] for offset in called}
        return ClosedRegion(frozenset(code), frozenset(code | called), frozenset(inside | homes))

    def _entered_from(self, first: int, inside: set[int], ends: set[int]) -> bool:
        """Whether all that leads into a region comes through its BSSY."""
        comes = (inside - ends) | {first}
        return not inside & self._begins and all(
            self._before.get(start, set()) <= comes for start in inside
        )

    def _closes(self, offsets: Iterable[int], barrier: int) -> int | None:
        """The number of the first BSYNC of a barrier."""
        for n, offset in enumerate(offsets):
            insn = self._insns[offset]
            if insn is not None and insn.op == "BSYNC" and barrier_of(insn) == barrier:
                return n
        return None

    def _leaves_alone(self, offsets: Iterable[int], barrier: int) -> bool:
        """Whether instructions, and what they call, leave lanes at a barrier's BSYNC waiting."""
        code = frozenset(offsets)
        return all(
            self._harmless(offset, barrier, offset in code) for offset in code | self._called(code)
        )

    def _harmless(self, offset: int, barrier: int, own: bool) -> bool:
        insn = self._insns[offset]
        if insn is None or insn.op in _LETS_GO:
            return False
        if insn.op in _OF_BARRIER and barrier_of(insn) == barrier:
            return False
        if insn.op == "CALL":
            calls = self._calls
            return offset in calls.returning or offset in calls.jumps or offset in calls.driver
        if insn.op == "BSYNC" and barrier_of(insn) == barrier:
            guarded = insn.guard[0] != PT or any(
                isinstance(o, Pred) and not o.is_true for o in insn.operands
            )
            return own and not guarded
        return insn.op != "RET" or not own

    def _called(self, offsets: Iterable[int]) -> frozenset[int]:
        """The code of functions that instructions call."""
        found = (self._calls.returning.get(offset, frozenset()) for offset in offsets)
        return frozenset[int]().union(*found)


def barrier_of(insn: Any) -> int | None:
    """The number of an instruction's convergence barrier; None: it has none."""
    named = next((o for o in insn.operands if hasattr(o, "text")), None)
    return None if named is None or named.text != f"B{named.value}" else int(named.value)
