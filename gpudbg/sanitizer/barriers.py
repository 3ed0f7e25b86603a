"""Barriers and shuffles in which not all required lanes take part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from gpudbg.bits import lanes_of
from gpudbg.dataclass import dataclass
from gpudbg.isa.operands import Imm, Pred, Reg
from gpudbg.mem.lanes import FULL, WARP_SIZE
from gpudbg.sanitizer.facts import name_parts
from gpudbg.sanitizer.findings import CheckFinding, Severity
from gpudbg.sanitizer.monitor import ExecutedInstruction, RunCheck
from gpudbg.sanitizer.passing_by import PassingBy
from gpudbg.sm.convergence.groups import SYNCING

if TYPE_CHECKING:
    from gpudbg.sanitizer.collector import FindingCollector
    from gpudbg.sanitizer.places import AccessPlaces
    from gpudbg.sm.barriers.phase import Arrival
    from gpudbg.sm.state import Cta, WarpState

_WORDS: Final = {
    "divergent_barrier": "only lanes {lanes} of the warp's {live} live ones are at the barrier: "
    "before sm_70 the whole warp counts as arrived",
    "guarded_barrier": "lanes {lanes} of the warp's {live} live ones take part in the barrier, "
    "which others pass by",
    "split_barrier": "lanes {lanes} of the {live} live ones of the warp come to this barrier, "
    "others to another one, though each is for the whole warp",
    "missing_threads": "warps {lanes} of the block ended without coming to the barrier",
    "exited_threads": "lanes {lanes} of the warp ended before the barrier",
    "passed_by": "lanes {lanes} of the warp go on behind the barrier without coming to it",
    "wrong_count": "the barrier's thread counts do not fit: {lanes}",
    "came_twice": "lanes {lanes} come a second time before the others have come, and count twice",
    "different_barriers": "threads meet at one barrier number from different instructions",
    "mask": "lane {lanes} comes to a __syncwarp, shuffle or vote whose mask 0x{live:08x} does not "
    "name it",
    "absent": "lanes {lanes} are in the mask 0x{live:08x} of this __syncwarp, shuffle or vote, and "
    "go on without coming to it",
    "inactive_lane": "lane {lanes} reads a register of lane {live}, which does not take part",
}
_SEEN: Final = (
    "LDG", "STG", "LDS", "STS", "LD.", "ST.", "ATOM", "RED", "SHFL", "VOTE", "MATCH", "BAR",
)  # fmt: skip
"""Prefixes of mnemonics that lanes do not execute on their way to EXIT."""
_BYTES: Final = 16
"""Bytes of an instruction of sm_70 and later."""
_NEAR: Final = 128
"""Most bytes of code between a WARPSYNC and the barrier it belongs to."""
_NAMES: Final = {
    "split_barrier": "divergent_barrier", "guarded_barrier": "divergent_barrier",
    "passed_by": "divergent_barrier", "came_twice": "wrong_count", "absent": "mask",
}  # fmt: skip
"""Cause -> its name in findings, where that differs from the key in `_WORDS`."""
_OF_BLOCKS: Final = ("missing_threads", "wrong_count", "different_barriers")
"""Causes that have nothing to do with lanes of one warp that part."""
_FIXES: Final = {
    "divergent_barrier": "move the barrier out of the branch, so that every thread comes to it",
    "missing_threads": "let every thread of the block come to the barrier before it returns",
    "exited_threads": "guard the work instead of returning before the barrier",
    "mask": "name every lane that executes it: __activemask() is no substitute for knowing them",
    "inactive_lane": "have all lanes that are read take part in the shuffle",
}


@dataclass(slots=True)
class _Phase:
    """What has come to a barrier in its present phase; `places`: where each warp came first, and
    which of its lanes have come; `steps`: with which instruction."""

    warps: set[int] = field(default_factory=set)
    counts: set[int | None] = field(default_factory=set)
    first: ExecutedInstruction | None = None
    mode: str = ""
    places: dict[int, tuple[int, int]] = field(default_factory=dict)
    steps: dict[int, ExecutedInstruction] = field(default_factory=dict)


class BarrierCheck(RunCheck):
    """Looks at barriers as they are reached and completed, and at shuffles."""

    def __init__(self, findings: FindingCollector, places: AccessPlaces) -> None:
        self._findings, self._places = findings, places
        self._phases: dict[tuple[int, int], _Phase] = {}
        self._gathered: dict[tuple[int, int], tuple[int, int]] = {}
        self._waits: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._visits: dict[tuple[int, int], dict[int, int]] = {}
        self._passing = PassingBy(self._gone_round)

    # ---- barriers ----------------------------------------------------------------------
    def barrier(
        self, step: ExecutedInstruction, arrival: Arrival, released: Sequence[WarpState]
    ) -> None:
        warp, cta = step.warp, step.warp.cta
        live = warp.valid & ~warp.exited
        parts: dict[str, Any] = {
            "lanes": _ranges(arrival.lanes),
            "live": live.bit_count(),
        }
        if not warp.has_groups and arrival.lanes != live:
            self._add(step, "error", "divergent_barrier", **parts)
        elif warp.has_groups and step.active & live & ~step.lanes:
            self._add(step, "error", "guarded_barrier", **parts)
        if warp.exited & warp.valid and arrival.count is None and not warp.has_groups:
            self._add(step, "warning", "exited_threads", lanes=_ranges(warp.exited & warp.valid))
        count = arrival.count
        if count is not None and count % WARP_SIZE:
            self._add(step, "error", "wrong_count", lanes=f"{count} is no multiple of 32")
        if self._for_whole_warps(step):
            # Treat the WARPSYNC as part of the barrier: lanes missing at it are missing here.
            self._passing.came(warp, self._gathered[cta.number, warp.index][0], FULL)
        key = (cta.number, arrival.barrier)
        phase = self._phases.setdefault(key, _Phase())
        phase.warps.add(warp.index)
        phase.steps.setdefault(warp.index, step)
        phase.counts.add(count)
        came_from = phase.places.get(warp.index, (step.pc, 0))
        phase.places[warp.index] = (came_from[0], came_from[1] | arrival.lanes)
        if phase.first is None:
            phase.first, phase.mode = step, arrival.mode
        elif came_from[1] & arrival.lanes:
            self._add(step, "error", "came_twice", lanes=_ranges(came_from[1] & arrival.lanes))
        elif came_from[0] != step.pc and self._for_whole_warps(step):
            self._add(step, "error", "split_barrier", **parts)
        elif phase.first.pc != step.pc and "ARV" not in (arrival.mode, phase.mode):
            self._add(step, "note", "different_barriers")
        if len(phase.counts) > 1:
            words = " and ".join(str(c or "all") for c in sorted(phase.counts, key=str))
            self._add(step, "error", "wrong_count", lanes=words)
        if arrival.mode != "ARV":
            waits = self._waits.setdefault((cta.number, warp.index), [])
            waits.append((arrival.barrier, arrival.lanes))
        if not cta.barriers.slots[arrival.barrier].arrived:
            self._complete(cta, arrival.barrier)

    def _for_whole_warps(self, step: ExecutedInstruction) -> bool:
        """Whether a barrier is an aligned one (`__syncthreads`): a WARPSYNC of all is before it."""
        place, lanes = self._gathered.get((step.warp.cta.number, step.warp.index), (0, 0))
        return 0 < step.pc - place <= _NEAR and not step.lanes & ~lanes

    def executed(self, step: ExecutedInstruction) -> None:
        cta = step.warp.cta
        for number, lanes in self._waits.get((cta.number, step.warp.index), ()):
            if lanes & step.active or not step.warp.has_groups:
                # They continue: the barrier has released them.
                self._complete(cta, number)
                break
        if step.warp.has_groups:
            self._passing.executed(step)

    def _gone_round(self, step: ExecutedInstruction, lanes: int, mask: int) -> None:
        """Report lanes that went round a barrier or WARPSYNC at which others wait."""
        cause = "absent" if mask else "passed_by"
        self._add(step, "error", cause, lanes=_ranges(lanes), live=mask)

    def warp_end(self, warp: WarpState) -> None:
        for row in self._passing.drop_warp(warp):
            if not row.mask:
                self._add(row.step, "warning", "exited_threads", lanes=_ranges(row.lanes))

    def _complete(self, cta: Cta, number: int) -> None:
        phase = self._phases.pop((cta.number, number), None)
        if phase is None or phase.first is None:
            return
        for index in phase.warps:
            waits = self._waits.get((cta.number, index), [])
            waits[:] = [wait for wait in waits if wait[0] != number]
        if phase.counts != {None}:
            return
        missing = set(range(len(cta.warps))) - phase.warps
        if missing:
            words = _ranges(sum(1 << n for n in missing))
            self._add(phase.first, "warning", "missing_threads", lanes=words)
        for index, step in phase.steps.items():
            if step.warp.has_groups:
                self._passing.missed(step, step.warp.valid & ~phase.places[index][1])

    def cta_end(self, cta: Cta) -> None:
        tables: tuple[dict[tuple[int, int], Any], ...]
        tables = (self._phases, self._waits, self._gathered, self._visits)
        self._passing.forget(cta)
        for table in tables:
            for key in [k for k in table if k[0] == cta.number]:
                del table[key]

    # ---- shuffles ----------------------------------------------------------------------
    def before(self, warp: WarpState, pc: int, insn: Any, lanes: int) -> None:
        if insn.op == "WARPSYNC":
            if "COLLECTIVE" not in name_parts(insn):
                self._gathered[warp.cta.number, warp.index] = pc, lanes
                self._lanes_named(warp, pc, insn, lanes)
            self._masked(warp, pc, insn, lanes)
        if warp.has_groups and warp.groups.passed & lanes and insn.text().startswith(_SEEN):
            self._absent(warp, lanes & warp.groups.passed)
        if insn.op != "SHFL" or not lanes:
            return
        sources = shuffle_sources(warp, insn)
        if sources is None:
            return
        for lane in lanes_of(lanes):
            source = int(sources[lane])
            if source != lane and not lanes >> source & 1:
                step = ExecutedInstruction(warp, pc, insn, warp.active, lanes)
                self._add(step, "error", "inactive_lane", lane, lanes=lane, live=source)

    def _absent(self, warp: WarpState, lanes: int) -> None:
        """Note that lanes execute elsewhere while others wait for them in a WARPSYNC."""
        warp.groups.passed &= ~lanes
        for group in warp.groups.parked:
            if group.state == SYNCING and group.place & lanes:
                pc = group.pc - _BYTES
                step = ExecutedInstruction(warp, pc, None, group.lanes, group.lanes)
                missing = _ranges(group.place & lanes)
                self._add(step, "error", "absent", lanes=missing, live=group.place)

    def _lanes_named(self, warp: WarpState, pc: int, insn: Any, lanes: int) -> None:
        """Check a WARPSYNC whose mask may name lanes that never reach it."""
        visits = self._visits.setdefault((warp.cta.number, warp.index), {})
        came = visits[pc] = visits.get(pc, 0) | lanes
        self._passing.came(warp, pc, lanes)
        others = warp.valid & ~came
        masks = _values(warp, insn.o.get("a")) if others else None
        for lane in lanes_of(lanes) if others else ():
            mask = FULL if masks is None else int(masks[lane])
            if mask & others:
                step = ExecutedInstruction(warp, pc, insn, warp.active, lanes)
                self._passing.missed(step, mask & others, mask)

    def _masked(self, warp: WarpState, pc: int, insn: Any, lanes: int) -> None:
        """Check lanes at a WARPSYNC, the instruction of `__syncwarp` with a mask."""
        masks = _values(warp, insn.o.get("a"))
        if masks is None:
            return
        for lane in lanes_of(lanes):
            if not int(masks[lane]) >> lane & 1:
                step = ExecutedInstruction(warp, pc, insn, warp.active, lanes)
                self._add(step, "error", "mask", lane, lanes=lane, live=int(masks[lane]))

    def _add(
        self,
        step: ExecutedInstruction,
        severity: Severity,
        cause: str,
        lane: int | None = None,
        **words: Any,
    ) -> None:
        named = _NAMES.get(cause, cause)

        def make() -> CheckFinding:
            who = next(iter(lanes_of(step.lanes or step.active))) if lane is None else lane
            kind = "exchange" if cause == "inactive_lane" else "barrier"
            one = self._places.access(kind, step.pc, step.warp, who)
            text = f"{one.place}: {_WORDS[cause].format(**{'lanes': '', 'live': 0} | words)}"
            reason = "" if cause in _OF_BLOCKS else self._places.parted(step.pc)
            return CheckFinding(
                "sync", severity, named, None, None, (one,), where=text, reason=reason,
                fix=_FIXES.get(named, ""),
            )  # fmt: skip

        self._findings.add(("sync", named, step.pc), make)


def shuffle_sources(warp: WarpState, insn: Any) -> npt.NDArray[np.int64] | None:
    """The lane each lane reads from; its own where the operand is out of range."""
    mode = next((m for m in ("IDX", "UP", "DOWN", "BFLY") if m in name_parts(insn)), None)
    sources = [o for o in insn.operands if not isinstance(o, Pred)]
    if mode is None or len(sources) < 4:
        return None
    b, c = _values(warp, sources[2]), _values(warp, sources[3])
    if b is None or c is None:
        return None
    lane = np.arange(32)
    by, segment, clamp = b & 31, c >> 8 & 31, c & 31
    low = lane & segment
    high = low | clamp & ~segment
    source, good = {
        "UP": (lane - by, lane - by >= high),
        "DOWN": (lane + by, lane + by <= high),
        "BFLY": (lane ^ by, (lane ^ by) <= high),
        "IDX": (low | by & ~segment, (low | by & ~segment) <= high),
    }[mode]
    found: npt.NDArray[np.int64] = np.where(good, source, lane)
    return found


def sync_masks(warp: WarpState, insn: Any) -> list[int] | None:
    """The mask of a WARPSYNC in each lane; None for other instructions, or where unknown."""
    if insn.op != "WARPSYNC" or "COLLECTIVE" in name_parts(insn):
        return None
    found = _values(warp, insn.o.get("a"))
    return None if found is None else found.tolist()


def _values(warp: WarpState, operand: Any) -> npt.NDArray[np.int64] | None:
    if isinstance(operand, Imm):
        return np.full(32, int(operand.value) & 0xFFFFFFFF, np.int64)
    if isinstance(operand, Reg):
        row = warp.rows[operand.index]
        return None if row is None else row.astype(np.int64)
    return None


def _ranges(mask: int) -> str:
    """`0-15, 31`"""
    parts, lanes = [], list(lanes_of(mask))
    while lanes:
        end = 0
        while end + 1 < len(lanes) and lanes[end + 1] == lanes[end] + 1:
            end += 1
        parts.append(str(lanes[0]) if not end else f"{lanes[0]}-{lanes[end]}")
        del lanes[: end + 1]
    return ", ".join(parts)
