"""Performance counters SR_PM0..7 with their high parts: what they count here (*modelled*).

    PM0  warp instructions issued in the thread's sub-partition (warp slot modulo 4)
    PM1  global, generic and local accesses of its warps        PM2  shared accesses of its warps
    PM3  warps launched in it
    PM4  barrier arrivals of the SM       PM5  atomics of the SM
    PM6  traps and warp errors of the SM  PM7  CTAs launched on the SM

A counter has 40 bits: the low word wraps silently, the high 8 bits stay at 0xff once they get
there, until the host resets them (*documented*).  Events are counted while someone listens:
`Counters` is an observer, which a launch attaches when its program or trap handler reads a
counter, or a debugger before the first instruction.  PM0 comes from the warps' own instruction
counts and is exact without it.
"""

from __future__ import annotations

from typing import Any

from gpudbg.isa.sreg_reads import registers_read
from gpudbg.sm.barriers.phase import Arrival
from gpudbg.sm.events import WarpFault
from gpudbg.sm.observer import Observer
from gpudbg.sm.state import Cta, Sm, WarpState

PARTITIONS = 4
COUNT = 8
SHARED_FROM = 4
"""Counters from here on belong to the whole SM."""
SATURATED = 0xFF
NUMBERS = frozenset((*range(4, 12), *range(72, 80)))
"""Special registers that read a counter."""
NEED_EVENTS = NUMBERS - {4, 72}
"""Those that count only events they receive."""


class Counters(Observer):
    """The counters of one launch."""

    looks_only = True

    def __init__(self, sms: list[Sm]) -> None:
        self._sms = sms
        # [SM][counter][sub-partition]; a shared counter uses the first place.
        self._counts = [[[0] * PARTITIONS for _ in range(COUNT)] for _ in sms]
        self._gone = [[0] * PARTITIONS for _ in sms]
        self._high: dict[tuple[int, int, int], int] = {}

    # ---- reading -----------------------------------------------------------------------

    def read(self, sm: Sm, warp: WarpState, number: int) -> tuple[int, int]:
        """(low word, high 8 bits) of a counter as a warp sees it."""
        return self.value(sm.index, number, warp.slot % PARTITIONS)

    def value(self, sm: int, number: int, part: int) -> tuple[int, int]:
        """(low word, high 8 bits) of a counter of a sub-partition."""
        part = part if number < SHARED_FROM else 0
        count = self._counts[sm][number][part]
        if number == 0:
            count += self._issued(sm, part)
        carry = count >> 32
        high = min(SATURATED, self._high.get((sm, number, part), 0) + carry)
        return count & 0xFFFF_FFFF, high

    def _issued(self, sm: int, part: int) -> int:
        """Instructions issued by a sub-partition's warps, ended ones included."""
        resident = sum(w.executed for w in self._sms[sm].resident() if w.slot % PARTITIONS == part)
        return resident + self._gone[sm][part]

    def state(self) -> tuple[object, ...]:
        """All counts."""
        return self._counts, self._gone, sorted(self._high.items())

    # ---- the host ----------------------------------------------------------------------

    def preset(self, sm: int, number: int, low: int, high: int = 0, part: int = 0) -> None:
        """Set a counter, as context switching does."""
        part = part if number < SHARED_FROM else 0
        start = low & 0xFFFF_FFFF
        self._counts[sm][number][part] = start - (self._issued(sm, part) if number == 0 else 0)
        self._high[sm, number, part] = min(high, SATURATED)

    def status(self, sm: int, part: int | None) -> int:
        """DSM_PERF_COUNTER_STATUS_S0..3 (part 0..3) or STATUS1 (None): four high parts."""
        first = 0 if part is not None else SHARED_FROM
        highs = [self.value(sm, first + n, part or 0)[1] for n in range(4)]
        return sum(high << 8 * n for n, high in enumerate(highs))

    def reset_high(self, sm: int, part: int | None, word: int) -> None:
        """The host writes one of the status registers: the high parts take its four bytes."""
        first = 0 if part is not None else SHARED_FROM
        for n in range(4):
            low, _ = self.value(sm, first + n, part or 0)
            self.preset(sm, first + n, low, word >> 8 * n & 0xFF, part or 0)

    # ---- counting ----------------------------------------------------------------------

    def _add(self, warp: WarpState, number: int) -> None:
        part = warp.slot % PARTITIONS if number < SHARED_FROM else 0
        self._counts[warp.sm][number][part] += 1

    def access(
        self, warp: WarpState, space: str, kind: str, address: Any, lanes: int, size: int
    ) -> None:
        """Count an access."""
        self._add(warp, 2 if space == "shared" else 1)
        if kind == "atomic":
            self._add(warp, 5)

    def barrier(self, warp: WarpState, arrival: Arrival, released: list[WarpState]) -> None:
        """Count an arrival."""
        self._add(warp, 4)

    def trap(self, warp: WarpState, mode: str, imm: int) -> None:
        """Count a trap."""
        self._add(warp, 6)

    def fault(self, warp: WarpState, fault: WarpFault) -> None:
        """Count a warp error."""
        self._add(warp, 6)

    def warp_begin(self, warp: WarpState) -> None:
        """Count a warp's launch."""
        self._add(warp, 3)

    def warp_end(self, warp: WarpState) -> None:
        """Keep the instructions of a warp that ends."""

    def cta_begin(self, cta: Cta) -> None:
        """Count a CTA's launch."""
        self._counts[cta.sm][7][0] += 1

    def cta_end(self, cta: Cta) -> None:
        """Keep the instructions of a CTA's warps, which leave the SM now."""
        for warp in cta.warps:
            self._gone[cta.sm][warp.slot % PARTITIONS] += warp.executed


def reads_counters(code: bytes) -> bool:
    """Whether a program's code reads a performance counter."""
    return not NUMBERS.isdisjoint(registers_read(code))
