"""Bank conflicts, coalescing, divergence: what instructions cost beyond what they ask for.

Shared memory has 32 banks of four bytes; accesses of 8 and 16 bytes are made in two and four
passes.  Global memory is fetched in sectors of 32 bytes.  (*documented*: NVIDIA's tuning guides;
the degree of a wide access, the worst of its passes, is a policy.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gpudbg.dataclass import dataclass
from gpudbg.sanitizer.findings import PerfSite
from gpudbg.sanitizer.monitor import ExecutedInstruction, RunCheck, Touch

if TYPE_CHECKING:
    from gpudbg.sanitizer.places import AccessPlaces

BANKS: Final = 32
SECTOR_BYTES: Final = 32
_BRANCHES: Final = frozenset(("BRA", "BRX", "JMP", "JMX"))


@dataclass(slots=True)
class _Sums:
    """Accumulated cost figures of one site."""

    access: str
    executions: int = 0
    degree: int = 1
    transactions: int = 0
    ideal: int = 0
    sectors: int = 0
    divergent: bool = False
    active: int = 0
    live: int = 0


class PerformanceCheck(RunCheck):
    """Counts by instruction."""

    def __init__(self, places: AccessPlaces) -> None:
        self._places, self._reasons = places, places.reasons
        self._sums: dict[tuple[str, str, int], _Sums] = {}

    def executed(self, step: ExecutedInstruction) -> None:
        for touch in step.touches:
            if touch.space == "shared":
                self._shared(step.pc, touch)
            elif touch.space == "global":
                self._global(step.pc, touch)
        if step.insn.op in _BRANCHES:
            made = self._of("divergence", "", step.pc, "")
            made.executions += 1
            made.active += step.active.bit_count()
            made.live += (step.warp.valid & ~step.warp.exited).bit_count()
            made.divergent |= step.lanes not in (0, step.active)

    def _of(self, kind: str, space: str, pc: int, access: str) -> _Sums:
        return self._sums.setdefault((kind, space, pc), _Sums(access))

    def _shared(self, pc: int, touch: Touch) -> None:
        degrees, ideal = conflicts(touch)
        made = self._of("bank_conflict", "shared", pc, touch.kind)
        made.executions += 1
        made.degree = max(made.degree, *degrees)
        made.transactions += sum(degrees)
        made.ideal += ideal

    def _global(self, pc: int, touch: Touch) -> None:
        sectors, ideal = sectors_of(touch)
        made = self._of("uncoalesced", "global", pc, touch.kind)
        made.executions += 1
        made.sectors = max(made.sectors, sectors)
        made.transactions += sectors
        made.ideal += ideal

    def sites(self) -> tuple[PerfSite, ...]:
        """The sites that were measured, by code address."""
        found = []
        for (kind, space, pc), s in sorted(self._sums.items(), key=lambda row: row[0][2]):
            _, function, file, line, _ = self._places.row(pc)
            reason = ""
            if s.divergent:
                reason = self._reasons.why(pc - self._places.base)
            elif kind != "divergence" and s.ideal < s.transactions:
                reason = self._reasons.address(pc - self._places.base)
            if kind == "divergence":
                efficiency = s.active / s.live if s.live else 1.0
            else:
                efficiency = s.ideal / s.transactions if s.transactions else 1.0
            found.append(
                PerfSite(
                    kind, pc, function, file, line, s.access, space, s.executions, s.degree,
                    s.transactions, s.ideal, s.sectors, s.divergent, min(efficiency, 1.0), reason,
                )
            )  # fmt: skip
        return tuple(found)


def conflicts(touch: Touch) -> tuple[list[int], int]:
    """(accesses per bank of each pass, passes that the bytes need) of a shared access."""
    passes = max(1, touch.size // 4)
    groups: list[set[int]] = [set() for _ in range(passes)]
    atomic: list[dict[int, int]] = [{} for _ in range(passes)]
    every: set[int] = set()
    for lane, address in touch.by_lane():
        group = lane * passes // 32
        for word in range(address >> 2, (address + touch.size + 3) >> 2):
            groups[group].add(word)
            every.add(word)
            atomic[group][word] = atomic[group].get(word, 0) + 1
    degrees = []
    for words, counts in zip(groups, atomic, strict=True):
        if not words:
            continue
        if touch.kind == "atomic":
            rows: dict[int, int] = {}
            for word, count in counts.items():
                rows[word % BANKS] = rows.get(word % BANKS, 0) + count
            degrees.append(max(rows.values()))
        else:
            degrees.append(int(np.bincount([w % BANKS for w in words]).max()))
    return degrees, max(1, -(-len(every) // BANKS))


def sectors_of(touch: Touch) -> tuple[int, int]:
    """(sectors fetched, least sectors that would hold the bytes) of a request."""
    sectors: set[int] = set()
    spans: set[tuple[int, int]] = set()
    for _, address in touch.by_lane():
        spans.add((address, address + touch.size))
        sectors.update(
            range(address // SECTOR_BYTES, (address + touch.size - 1) // SECTOR_BYTES + 1)
        )
    total, end = 0, -1
    for low, high in sorted(spans):
        total += max(0, high - max(low, end))
        end = max(end, high)
    return len(sectors), max(1, -(-total // SECTOR_BYTES))
