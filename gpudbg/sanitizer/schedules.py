"""Schedule search: finds a schedule under which launches go wrong, and shortens it.

Besides the first schedule, whose results stay, warps run by random priorities with a few switches
at random ticks (`sm/schedule/plan.py`).  A schedule *shows* something when the launches end in
another way than under the first one, or leave other results.  The first such one is made short:
as few switches as still show it, then the order of warps by their numbers, then earlier switches.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

from gpudbg.dataclass import dataclass
from gpudbg.sm.observer import Observer
from gpudbg.sm.schedule.plan import MOST_TICKS, SchedulePlan

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.debug.stops.stop import Stop
    from gpudbg.sm.state import WarpState

MOST_TRIES: Final = 60
"""Most runs spent on shortening a schedule."""
NEAR: Final = 0.75
"""Probability with which a switch is drawn from ticks after racing instructions, where there are
some.
"""
MOST_NOTED: Final = 1 << 16
"""Most ticks of racing instructions noted."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How launches ended under a schedule.

    Attributes:
        ends: kind of each one's stop.
        results: (name, digest, bytes) of the buffers they leave.
        ticks: warp instructions of the longest launch.
    """

    ends: tuple[str, ...]
    results: tuple[tuple[str, str, bytes], ...]
    ticks: int

    def difference(self, other: RunOutcome) -> str:
        """What differs from another outcome, in words; "" where nothing does."""
        if self.ends != other.ends:
            mine, theirs = self.ends[-1:], other.ends[-1:]
            return f"the last launch ends as {' '.join(mine)}, not as {' '.join(theirs)}"
        for (name, digest, data), (_, before, old) in zip(self.results, other.results, strict=True):
            if digest != before:
                at = next(n for n, (a, b) in enumerate(zip(data, old, strict=True)) if a != b)
                at -= at % 4
                word, was = (int.from_bytes(x[at : at + 4], "little") for x in (data, old))
                return f"{name} differs from byte {at} on: 0x{word:08x}, not 0x{was:08x}"
        return ""


def outcome_of(sessions: Sequence[DebugSession], stops: Sequence[Stop]) -> RunOutcome:
    """The outcome of launches that have run."""
    results, ticks = [], 0
    for session in sessions:
        ticks = max(ticks, session.grid.total)
        for argument in session.launch.arguments:
            buffer = argument.buffer
            if buffer is not None and not buffer.freed:
                data = buffer.array().tobytes()
                results.append((argument.name, hashlib.sha256(data).hexdigest(), data))
    return RunOutcome(tuple(stop.kind for stop in stops), tuple(results), ticks)


@dataclass(frozen=True, slots=True)
class ShownSchedule:
    """The shortest schedule that was found under which results are others.

    Attributes:
        plan: it.
        what: what is different, in words.
        switches: how often a warp that could go on is left.
    """

    plan: SchedulePlan
    what: str

    @property
    def text(self) -> str:
        """As `--schedule` takes it."""
        return self.plan.text

    def to_json(self) -> dict[str, Any]:
        """As data."""
        return {**self.plan.to_json(), "what": self.what, "text": self.text}


class RacingTicks(Observer):
    """Notes after how many instructions one of some has been executed.

    Attributes:
        ticks: rising in each launch, at most `MOST_NOTED`.
    """

    looks_only = True

    def __init__(self, pcs: Collection[int]) -> None:
        self.ticks: list[int] = []
        self._pcs, self._executed = frozenset(pcs), 0

    def begin(self) -> None:
        """A launch begins."""
        self._executed = 0

    def instruction(self, warp: WarpState, pc: int, instruction: Any, lanes: int) -> None:
        self._executed += 1
        if pc in self._pcs and len(self.ticks) < MOST_NOTED:
            self.ticks.append(self._executed)


def plan_of(number: int, seed: int, ticks: int, near: Sequence[int] = ()) -> SchedulePlan:
    """The schedule of a run: priorities, and up to three switches.

    Args:
        ticks: the switches are among so many.
        near: ticks at which they are more likely, after instructions that race.
    """
    dice = random.Random(seed + number)
    count = (number - 1) % 4
    most = min(max(ticks, 2), MOST_TICKS)
    switches = {
        dice.choice(near) if near and dice.random() < NEAR else dice.randrange(1, most)
        for _ in range(count)
    }
    return SchedulePlan(number - 1 + seed & 0xFFFF_FFFF, tuple(sorted(switches)))


def shortened(
    plan: SchedulePlan, first: RunOutcome, run: Callable[[SchedulePlan], RunOutcome]
) -> ShownSchedule | None:
    """A schedule with as few switches as show a difference to the first outcome; None: not even
    the given one does."""
    tries = 0

    def shows(candidate: SchedulePlan) -> str:
        nonlocal tries
        tries += 1
        return run(candidate).difference(first) if tries <= MOST_TRIES else ""

    what = shows(plan)
    if not what:
        return None
    for candidate in (SchedulePlan(), SchedulePlan(plan.order), SchedulePlan(0, plan.switches)):
        found = shows(candidate) if candidate != plan else ""
        if found:
            plan, what = candidate, found
            break
    removed = True
    while removed:
        removed = False
        for n in range(len(plan.switches)):
            fewer = SchedulePlan(plan.order, plan.switches[:n] + plan.switches[n + 1 :])
            found = shows(fewer)
            if found:
                plan, what, removed = fewer, found, True
                break
    for n, tick in enumerate(plan.switches):
        low = plan.switches[n - 1] if n else 0
        while tick - low > 1:
            tick = (tick + low) // 2
            earlier = SchedulePlan(plan.order, (*plan.switches[:n], tick, *plan.switches[n + 1 :]))
            found = shows(earlier)
            if not found:
                break
            plan, what = earlier, found
    return ShownSchedule(plan, what)
