"""Threads that wait for ever as a finding: a side for each group of warps that waits alike, with
what it waits for, what of that has come, and from where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from gpudbg.answers.words import dim, lane_list
from gpudbg.dataclass import dataclass
from gpudbg.debug.stops import spin_of
from gpudbg.debug.stops.standing import standing_pc
from gpudbg.debug.stops.stop import LIVELOCK
from gpudbg.debug.values.lane_groups import lane_groups
from gpudbg.sanitizer.findings import CheckFinding, FindingAccess

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpudbg.debug.inferior import Inferior
    from gpudbg.debug.stops.stop import DeadlockStop
    from gpudbg.sanitizer.collector import FindingCollector
    from gpudbg.sanitizer.mbarriers import MbarrierPhase
    from gpudbg.sanitizer.places import AccessPlaces
    from gpudbg.sm.state import Cta, WarpState

MOST_SIDES: Final = 8
"""Most groups of waiting warps in one finding."""


@dataclass(frozen=True, slots=True)
class _Wait:
    """What a warp waits for: the instruction, its kind of access, the words."""

    pc: int
    kind: str
    words: str


class DeadlockFindings:
    """Makes the finding of a deadlock.

    Args:
        phase_at: who came in the present phase of an mbarrier, where a check has followed that.
    """

    def __init__(
        self,
        findings: FindingCollector,
        places: AccessPlaces,
        inferior: Inferior,
        phase_at: Callable[[Cta, int], MbarrierPhase | None],
    ) -> None:
        self._findings, self._places, self._inferior = findings, places, inferior
        self._phase_at = phase_at

    def add(self, stop: DeadlockStop) -> None:
        """Make the finding of a deadlock stop."""
        if stop.livelock:
            self._add_livelock(stop)
            return
        waits = self._waits()
        first = (stop.pc or 0) + self._places.base
        sides = [self._side(wait, warps) for wait, warps in waits.items()]
        if not sides:
            at = stop.block or (0, 0, 0), stop.thread or (0, 0, 0), stop.lane or 0, stop.warp or 0
            sides = [self._places.access_of("barrier", first, *at)]
        # The place where the machine stopped comes first.
        sides.sort(key=lambda side: abs(side.pc - first))
        left = len(sides) - MOST_SIDES
        lines = [f"{side.place}: {side.state}" for side in sides[:MOST_SIDES] if side.state]
        lines += [f"{left} more places"] if left > 0 else []
        lines += list(self._apart())
        lines += list(self._exited())
        text = "; ".join(lines) or "; ".join(line.strip() for line in stop.detail) or stop.message
        found = CheckFinding(
            "sync", "error", "deadlock", None, None, tuple(sides[:MOST_SIDES]), where=text
        )
        self._findings.add(("sync", "deadlock", first), lambda: found)

    def _add_livelock(self, stop: DeadlockStop) -> None:
        """Make the finding of warps that change memory for each other and come to no end: a side
        for each place where they are.
        """
        at: dict[int, list[WarpState]] = {}
        for warp in self._inferior.grid.warps():
            at.setdefault(standing_pc(self._inferior, warp), []).append(warp)
        sides = tuple(
            self._side(_Wait(pc, "wait", "goes round"), warps)
            for pc, warps in list(at.items())[:MOST_SIDES]
        )
        lines = (line.strip().removeprefix(LIVELOCK.strip()) for line in stop.detail)
        text = "; ".join(line.strip() for line in lines)
        found = CheckFinding("sync", "error", "livelock", None, None, sides, where=text)
        first = (stop.pc or 0) + self._places.base
        self._findings.add(("sync", "livelock", first), lambda: found)

    def _waits(self) -> Mapping[_Wait, list[WarpState]]:
        """Warps that wait, by what they wait for."""
        found: dict[_Wait, list[WarpState]] = {}
        for warp in self._inferior.grid.warps():
            wait = self._spins(warp) if warp.status == "ready" else self._blocked(warp)
            if wait is not None:
                found.setdefault(wait, []).append(warp)
        return found

    def _spins(self, warp: WarpState) -> _Wait | None:
        spin = spin_of(self._inferior, warp)
        if spin is None:
            return None
        pc = self._places.base + spin.low
        if spin.dropped and not spin.polls:
            words = "repeats a loop round an access that memory refuses"
            return _Wait(self._places.base + spin.dropped[0], "load", words)
        if not spin.polls:
            return _Wait(pc, "wait", "repeats a loop that reads no memory")
        poll = spin.polls[0]
        pc = self._places.base + poll.offset
        if poll.mbarrier is None:
            return _Wait(pc, "load", f"repeats a loop until somebody changes {poll}")
        came = "; ".join(self._came(warp.cta, poll.mbarrier))
        words = f"waits for the {poll.name}: {poll.value}" + f"; {came}" * bool(came)
        return _Wait(pc, "wait", words)

    def _came(self, cta: Cta, offset: int) -> Iterator[str]:
        """Lines about arrivals at an mbarrier in its present phase, by place."""
        phase = self._phase_at(cta, offset)
        if phase is None:
            return
        for pc, count in phase.arrivals.items():
            yield f"{count} arrival{'s'[: count > 1]} came from {self._place(pc)}"
        for pc, count in phase.delivered.items():
            yield f"the copy at {self._place(pc)} brought {count} bytes"

    def _place(self, pc: int) -> str:
        return self._places.access_of("arrive", pc, (0, 0, 0), (0, 0, 0), 0, 0).place

    def _blocked(self, warp: WarpState) -> _Wait | None:
        words = self._inferior.grid.barrier_words(warp)
        if not words:
            return None
        return _Wait(standing_pc(self._inferior, warp, True), "barrier", words)

    def _side(self, wait: _Wait, warps: list[WarpState]) -> FindingAccess:
        warp = warps[0]
        lane = (warp.active & -warp.active).bit_length() - 1 if warp.active else 0
        who = _who(warps)
        more: dict[str, Any] = {"state": f"{who} {wait.words}"}
        return self._places.access(wait.kind, wait.pc, warp, lane, **more)

    def _apart(self) -> Iterator[str]:
        """Lines about groups of lanes that wait while others of their warp execute elsewhere."""
        symbols = self._inferior.symbols
        for warp in self._inferior.grid.warps():
            groups = lane_groups(warp)
            for group in groups if len(groups) > 1 else ():
                if group.waiting:
                    place = symbols.describe_line(symbols.layout.before(group.pc))
                    lanes = f"lanes {lane_list(group.mask)} of {_who([warp])}"
                    yield f"{lanes} at {place}: {group.words}"

    def _exited(self) -> Iterator[str]:
        """Lines about warps that have exited in blocks that still run: they arrive at nothing any
        more.
        """
        for cta in self._inferior.grid.ctas():
            gone = len(cta.warps) - len(cta.live)
            if gone:
                verb = "warps have" if gone > 1 else "warp has"
                yield f"{gone} {verb} ended in block {dim(cta.block)}"


def _who(warps: list[WarpState]) -> str:
    blocks = list(dict.fromkeys(dim(w.cta.block) for w in warps))
    shown = ", ".join(blocks[:4]) + ", …" * (len(blocks) > 4)
    many = f"warp {warps[0].index}" if len(warps) == 1 else f"each of {len(warps)} warps"
    return f"{many} of block{'s'[: len(blocks) > 1]} {shown}"
