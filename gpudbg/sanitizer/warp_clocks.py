"""The clocks of a warp: groups of lanes with equal knowledge, and its lanes' pending copies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace

import numpy as np

from gpudbg.bits import lanes_of
from gpudbg.dataclass import dataclass
from gpudbg.mem.lanes import bools
from gpudbg.sanitizer.clocks import EMPTY, Knowledge, Row

MOST_CLOSED = 64
"""Most closed copy groups remembered: waits leave at most a few pending."""

MOST_HEARD = 256
"""Most released clocks that a group remembers having acquired."""


@dataclass(slots=True)
class ClockGroup:
    """Lanes of a warp with equal knowledge.

    Attributes:
        lanes: mask.
        own: of the warp's own lanes, ticks up to which their work is known.
        known: all lanes of the group are known up to this tick beside what `own` says.
        applied: the last `known` that `own` contains.
        heard: what was released and is part of the knowledge, by identity: a loop that waits reads
            the same again and again.
    """

    lanes: int
    own: Row
    knowledge: Knowledge
    known: int = 0
    applied: int = 0
    heard: dict[int, object] = field(default_factory=dict)

    def hears(self, release: object) -> bool:
        """Whether a release is acquired for the first time."""
        if id(release) in self.heard:
            return False
        if len(self.heard) >= MOST_HEARD:
            self.heard.clear()
        self.heard[id(release)] = release
        return True

    def row(self) -> Row:
        """The clock row of the warp's own lanes."""
        if self.known > self.applied:
            np.maximum(self.own, self.known, out=self.own, where=bools(self.lanes))
            self.applied = self.known
        return self.own

    def copy(self, lanes: int) -> ClockGroup:
        """A copy for some of its lanes."""
        return ClockGroup(lanes, self.row().copy(), self.knowledge)

    def whole(self, warp: int) -> Knowledge:
        """All knowledge, the warp's own lanes included."""
        seen = {**self.knowledge.seen, warp: self.row().copy()}
        return replace(self.knowledge, seen=seen)


@dataclass(slots=True)
class CopyGroups:
    """Copies that lanes of a warp have issued, and those they have waited for.

    Attributes:
        copies, reads, full: numbers of the lanes' agents: copies to shared memory; bulk copies to
            global memory until their source is read; the same until they are complete.
        issued: by lane, how many.
        closed: (lanes, `issued` when they closed a group), the newest last.
        waited: by agent, up to which copy each lane has waited.
        of_threads, bulk: by lane, the latest copy of each kind.
    """

    copies: int
    reads: int
    full: int
    issued: Row = field(default_factory=lambda: np.zeros(32, np.int64))
    closed: list[tuple[int, Row]] = field(default_factory=list)
    waited: dict[int, Row] = field(default_factory=dict)
    of_threads: Row = field(default_factory=lambda: np.zeros(32, np.int64))
    bulk: Row = field(default_factory=lambda: np.zeros(32, np.int64))

    def note(self, lanes: int, *, of_threads: bool) -> None:
        """Record that lanes have issued a copy of that kind."""
        row = self.of_threads if of_threads else self.bulk
        chosen = bools(lanes)
        row[chosen] = self.issued[chosen]

    def mixed(self, lanes: int) -> bool:
        """Whether a lane has both kinds of copies pending."""
        if not self.bulk.any():
            return False
        none = np.zeros(32, np.int64)
        early = self.of_threads > self.waited.get(self.copies, none)
        late = self.bulk > self.waited.get(self.reads, none)
        return bool((early & late & bools(lanes)).any())

    def close(self, lanes: int) -> None:
        """Close the group of copies that lanes have issued since their last one."""
        self.closed.append((lanes, self.issued.copy()))
        del self.closed[:-MOST_CLOSED]

    def wait(self, agent: int, lanes: int, pending: int) -> None:
        """Record that lanes waited until at most `pending` groups were left."""
        done = self.waited.get(agent)
        done = np.zeros(32, np.int64) if done is None else done.copy()
        for lane in lanes_of(lanes):
            left = pending
            for mask, issued in reversed(self.closed):
                if mask >> lane & 1:
                    if not left:
                        done[lane] = max(int(done[lane]), int(issued[lane]))
                        break
                    left -= 1
        self.waited[agent] = done

    def newest(self, lane: int, label: int) -> int | None:
        """Groups that a lane closed after that of a copy; None while it is open."""
        count = 0
        for mask, issued in reversed(self.closed):
            if mask >> lane & 1:
                if issued[lane] < label:
                    return count - 1 if count else None
                count += 1
        return count - 1 if count else None


@dataclass(slots=True)
class WarpClock:
    """The groups of a warp, and how many instructions it has executed."""

    number: int
    groups: list[ClockGroup]
    tick: int = 0
    copies: CopyGroups | None = None

    def group(self, lanes: int) -> ClockGroup:
        """The group of exactly these lanes, with the knowledge of all of them."""
        for group in self.groups:
            if group.lanes == lanes:
                return group
        made: ClockGroup | None = None
        rest = []
        for group in self.groups:
            common = group.lanes & lanes
            if not common:
                rest.append(group)
                continue
            part = group.copy(common)
            if group.lanes != common:
                part_rest = group.copy(group.lanes & ~common)
                rest.append(part_rest)
            made = part if made is None else _together(made, part)
        if made is None:
            made = ClockGroup(lanes, np.zeros(32, np.int64), Knowledge(EMPTY))
        made.lanes = lanes
        self.groups = [*rest, made]
        return made

    def parts(self, lanes: int) -> list[ClockGroup]:
        """The groups that make up some lanes; these learn nothing of one another."""
        found, rest = [], []
        for group in self.groups:
            common = group.lanes & lanes
            if not common:
                rest.append(group)
            elif common == group.lanes:
                found.append(group)
            else:
                found.append(group.copy(common))
                rest.append(group.copy(group.lanes & ~common))
        self.groups = rest + found
        return found

    def of(self, lanes: int) -> Iterator[tuple[ClockGroup, int]]:
        """The groups that lanes are in, and which of the lanes."""
        for group in self.groups:
            if group.lanes & lanes:
                yield group, group.lanes & lanes

    def learn(self, group: ClockGroup, knowledge: Knowledge) -> None:
        """Add knowledge to a group, of the warp's own lanes too."""
        group.knowledge = knowledge
        own = knowledge.seen.get(self.number)
        if own is not None:
            group.own = np.maximum(group.row(), own)

    def tidy(self) -> None:
        """Merge groups whose knowledge has become equal."""
        if len(self.groups) < 2:
            return
        made: list[ClockGroup] = []
        for group in self.groups:
            for held in made:
                if held.knowledge is group.knowledge and np.array_equal(held.row(), group.row()):
                    held.lanes |= group.lanes
                    break
            else:
                made.append(group)
        self.groups = made

    def published(self, group: ClockGroup, lanes: int) -> Knowledge:
        """The clock that a thread acquires from lanes of a group, their last accesses included."""
        row = group.row().copy()
        chosen = bools(lanes)
        row[chosen] = self.tick
        seen = {**group.knowledge.seen, self.number: row}
        found = replace(group.knowledge, seen=seen)
        copies = self.copies
        if copies is None:
            return found
        for agent, waited in copies.waited.items():
            mine = np.where(chosen, waited, 0)
            held = seen.get(agent)
            seen[agent] = mine if held is None else np.maximum(held, mine)
        return found


def _together(a: ClockGroup, b: ClockGroup) -> ClockGroup:
    return ClockGroup(
        a.lanes | b.lanes, np.maximum(a.row(), b.row()), a.knowledge.join(b.knowledge)
    )
