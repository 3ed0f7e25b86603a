"""Lane groups of a warp, what each waits for, and the rules of their order."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

from gpudbg.bits import lanes_of
from gpudbg.code_layout import SINGLE
from gpudbg.dataclass import dataclass

READY, YIELDED, CONVERGING, SYNCING, AT_BARRIER, AT_CLUSTER = (
    "READY", "YIELDED", "CONVERGING", "SYNCING", "BARRIER", "CLUSTER",
)  # fmt: skip
BARRIERS = 16
PATIENCE = 16
"""Rounds without a ready group after which lanes at a BSYNC go on without partners that only
yield.
"""
SYNC_PATIENCE = 4096
"""The same limit for lanes in a WARPSYNC that a BAR follows, where they would wait anyway; long
enough for a store from outside the warp to end the others' poll first.
"""
FARTHEST_BARRIER = 64 * SINGLE.word_bytes
"""Most bytes of code from such a WARPSYNC to the BAR."""
BACKWARD = 4096
"""Backward branches after which a group that does not yield counts as one that did."""
POLL = BACKWARD // 4
"""Backward branches that one counts for in a loop with a YIELD that its lanes go round."""


@dataclass(slots=True, eq=False)
class Activation:
    """What one BSSY opened: the lanes that have not left it, and those that wait at BSYNC."""

    members: int
    waiting: int = 0


@dataclass(slots=True)
class Group:
    """Lanes with one pc.

    Attributes:
        pc: where they go on.
        lanes: a mask.
        state: READY, YIELDED, CONVERGING at a BSYNC, SYNCING in a WARPSYNC, at a BARRIER of the
            CTA or of the CLUSTER.
        place: the convergence barrier, the mask of the WARPSYNC, or the CTA barrier.
        activation: what they wait for at a BSYNC.
        exclusive: a WARPSYNC.EXCLUSIVE released them: no others join them.
        passes: a BAR follows their WARPSYNC (`waiting.leads_to_barrier`).
        waited: rounds without a ready group while they waited.
    """

    pc: int
    lanes: int
    state: str = READY
    place: int = 0
    activation: Activation | None = None
    exclusive: bool = False
    passes: bool = False
    waited: int = 0


class Groups:
    """All groups of a warp but the one that runs, which the warp's own pc and mask are.

    Attributes:
        parked: the other groups, the one that has waited longest first.
        running: whether the warp's pc and mask are a group's; else no group can run.
        exclusive: of the running group.
        backward_count: backward branches while others wait, since lanes have yielded.
        passed: lanes that have gone on although others wait for them in a WARPSYNC.
        interrupted: while some lanes are in the trap handler, all groups of the code it interrupts,
            those of these lanes included: they stand until it returns.
        inside: the lanes that entered the handler, where there are interrupted groups.
    """

    __slots__ = (
        "_now",
        "_saved",
        "backward_count",
        "exclusive",
        "inside",
        "interrupted",
        "parked",
        "passed",
        "running",
    )

    def __init__(self, interrupted: Groups | None = None, inside: int = 0) -> None:
        """Groups of a warp none of whose lanes wait, or of the lanes inside a trap handler."""
        self.interrupted = interrupted
        self.inside = inside
        self.parked: list[Group] = []
        self.running = True
        self.exclusive = False
        self.backward_count = 0
        self.passed = 0
        self._now: list[list[Activation | None]] = [[None] * 32 for _ in range(BARRIERS)]
        self._saved: dict[tuple[int, int], list[Activation]] = {}

    def copy(self) -> Groups:
        """A deep copy."""
        made = Groups(None if self.interrupted is None else self.interrupted.copy(), self.inside)
        twins: dict[int, Activation] = {}

        def copied(a: Activation) -> Activation:
            return twins.setdefault(id(a), Activation(a.members, a.waiting))

        def twin(a: Activation | None) -> Activation | None:
            return None if a is None else copied(a)

        made.running, made.exclusive = self.running, self.exclusive
        made.backward_count, made.passed = self.backward_count, self.passed
        made.parked = [replace(g, activation=twin(g.activation)) for g in self.parked]
        made._now = [[twin(a) for a in row] for row in self._now]
        made._saved = {key: [copied(a) for a in row] for key, row in self._saved.items()}
        return made

    def state(self) -> bytes:
        """Everything that decides which lanes go on next and where, as bytes: equal states continue
        equally.
        """
        # Groups that were passed over long enough go on without partners that only yield.
        waiting = [
            (g.pc, g.lanes, g.state, g.place, g.exclusive, g.passes, g.waited) for g in self.parked
        ]
        runs = any(g.state in (READY, YIELDED) for g in self.parked)
        count = self.backward_count if runs else 0
        return repr((waiting, self.exclusive, count)).encode()

    # ---- all of them, for who keeps them elsewhere -------------------------------------
    def hold(self, number: int, lanes: int, held: Activation) -> None:
        """Record that lanes hold an activation of a barrier."""
        for lane in lanes_of(lanes):
            self._now[number][lane] = held

    def activations(self) -> list[tuple[int, int, Activation]]:
        """(barrier, holding lanes, activation) for each activation that a lane holds or waits
        for.
        """
        found: dict[int, tuple[int, int, Activation]] = {
            id(g.activation): (g.place, 0, g.activation)
            for g in self.parked
            if g.activation is not None
        }
        for number, row in enumerate(self._now):
            for lane, held in enumerate(row):
                if held is not None:
                    _, holders, _ = found.get(id(held), (number, 0, held))
                    found[id(held)] = number, holders | 1 << lane, held
        return list(found.values())

    def hold_saved(self, number: int, lanes: int, held: Activation) -> None:
        """Record that lanes saved an activation of a barrier, after all that they saved before."""
        for lane in lanes_of(lanes):
            self._saved.setdefault((number, lane), []).append(held)

    def saved(self) -> list[tuple[int, int, Activation]] | None:
        """(barrier, lanes, activation) of the saved ones, what a lane saved first before what it
        saved later; None where there is no such order.
        """
        found: dict[int, tuple[int, int, Activation]] = {}
        place: dict[int, int] = {}
        for (number, lane), row in self._saved.items():
            for n, held in enumerate(row):
                _, lanes, _ = found.get(id(held), (number, 0, held))
                found[id(held)] = number, lanes | 1 << lane, held
                place[id(held)] = max(place.get(id(held), 0), n)
        for row in self._saved.values():
            places = [place[id(held)] for held in row]
            if any(a >= b for a, b in itertools.pairwise(places)):
                return None
        return [found[key] for key in sorted(found, key=lambda key: place[key])]

    @property
    def saves(self) -> bool:
        """Whether a saved barrier exists that a lane may restore."""
        return any(self._saved.values())

    # ---- convergence barriers ----------------------------------------------------------
    def open(self, number: int, lanes: int) -> None:
        """BSSY: an activation of the lanes."""
        self.hold(number, lanes, Activation(lanes))

    def mask(self, number: int, lanes: int) -> int:
        """What Bn reads as: the lanes of the activations that some lanes have."""
        found = 0
        for lane in lanes_of(lanes):
            held = self._now[number][lane]
            found |= held.members if held is not None else 0
        return found

    def mask_of_lane(self, number: int, lane: int) -> int:
        """What Bn reads as in one lane."""
        if self.interrupted is not None and not self.inside >> lane & 1:
            return self.interrupted.mask_of_lane(number, lane)
        held = self._now[number][lane]
        return held.members if held is not None else 0

    def save(self, number: int, lanes: int, keep: bool) -> None:
        """BMOV.CLEAR: empty Bn; with `keep` its content can be restored."""
        for lane in lanes_of(lanes):
            held = self._now[number][lane]
            if keep and held is not None:
                self._saved.setdefault((number, lane), []).append(held)
            self._now[number][lane] = None

    def restore(self, number: int, lanes: int, masks: list[int]) -> None:
        """BMOV Bn, R: restore the activation last saved with that mask, or none; `masks` by
        lane.
        """
        for lane in lanes_of(lanes):
            row = self._saved.get((number, lane), [])
            wanted = masks[lane]
            if not wanted:
                self._now[number][lane] = None
                continue
            place = next(
                (n for n in range(len(row) - 1, -1, -1) if _fits(row[n], wanted)), len(row) - 1
            )
            self._now[number][lane] = row[place] if row else None
            del row[max(place, 0) :]

    def leave(self, number: int, lanes: int) -> None:
        """BREAK: remove the lanes from the activation, so that others do not wait for them."""
        for lane in lanes_of(lanes):
            held = self._now[number][lane]
            self._now[number][lane] = None
            if held is not None:
                held.members &= ~(1 << lane)
        self._settle()

    def converge(self, number: int, lanes: int, pc: int) -> int:
        """BSYNC: make the lanes wait. Returns those that need not wait and go on."""
        waiting: dict[int, tuple[Activation, int]] = {}
        free = 0
        for lane in lanes_of(lanes):
            held = self._now[number][lane]
            self._now[number][lane] = None
            if held is None:
                free |= 1 << lane
            else:
                _, mine = waiting.get(id(held), (held, 0))
                waiting[id(held)] = (held, mine | 1 << lane)
        for held, mine in waiting.values():
            held.waiting |= mine
            self.parked.append(Group(pc, mine, CONVERGING, number, held))
        self._settle()
        return free

    def _settle(self) -> None:
        """Release those that wait in activations all of whose lanes have come."""
        for held in [g.activation for g in self.parked if g.activation is not None]:
            if held.waiting and not held.members & ~held.waiting:
                self._release(lambda g, held=held: g.activation is held)  # type: ignore[misc]
                held.members = held.waiting = 0

    def _release(self, chosen: Callable[[Group], bool], exclusive: bool = False) -> None:
        """Make chosen waiting groups ready; those with one pc become one group."""
        merged: dict[int, Group] = {}
        for group in [g for g in self.parked if chosen(g)]:
            self.parked.remove(group)
            ready = merged.setdefault(group.pc, Group(group.pc, 0, exclusive=exclusive))
            ready.lanes |= group.lanes
        self.parked += merged.values()

    # ---- the other kinds of waiting --------------------------------------------------------
    def synchronize(
        self, mask: int, lanes: int, pc: int, live: int, exclusive: bool, passes: bool = False
    ) -> None:
        """WARPSYNC: make the lanes wait for all live lanes of the mask."""
        self.parked.append(Group(pc, lanes, SYNCING, mask, exclusive=exclusive, passes=passes))
        self._check_sync(mask, live)

    def _check_sync(self, mask: int, live: int) -> None:
        there = 0
        rows = [g for g in self.parked if g.state == SYNCING and g.place == mask]
        for group in rows:
            there |= group.lanes
        if rows and not mask & live & ~there:
            exclusive = any(g.exclusive for g in rows)
            self._release(lambda g: g.state == SYNCING and g.place == mask, exclusive)

    def arrive(self, number: int, lanes: int, pc: int) -> None:
        """BAR.SYNC: make the lanes wait at a CTA barrier."""
        self.parked.append(Group(pc, lanes, AT_BARRIER, number))

    def released(self, number: int) -> None:
        """Make the lanes ready that waited at a CTA barrier."""
        self._release(lambda g: g.state == AT_BARRIER and g.place == number)
        if self.interrupted is not None:
            self.interrupted.released(number)

    def wait_for_cluster(self, lanes: int, pc: int) -> None:
        """UCGABAR_WAIT: make the lanes wait for the cluster."""
        self.parked.append(Group(pc, lanes, AT_CLUSTER))

    def cluster_complete(self) -> None:
        """Make the lanes ready that waited for the cluster's barrier."""
        self._release(lambda g: g.state == AT_CLUSTER)
        if self.interrupted is not None:
            self.interrupted.cluster_complete()

    def at_barrier(self, number: int) -> int:
        """Lanes that wait at a CTA barrier."""
        found = 0 if self.interrupted is None else self.interrupted.at_barrier(number)
        for group in self.parked:
            if group.state == AT_BARRIER and group.place == number:
                found |= group.lanes
        return found

    def end(self, lanes: int, live: int) -> None:
        """Remove ended lanes from everything that waits for them; `live` are the remaining ones."""
        if self.interrupted is not None:
            self.interrupted.end(lanes, live)
        rows: list[Sequence[Activation | None]] = [row for row in self._now if _holds(row)]
        rows += self._saved.values()
        rows.append([g.activation for g in self.parked])
        for held in {id(a): a for row in rows for a in row if a is not None}.values():
            held.members &= ~lanes
        gone = lanes_of(lanes)
        for row in self._now:
            if _holds(row):
                for lane in gone:
                    row[lane] = None
        for key in [key for key in self._saved if lanes >> key[1] & 1]:
            del self._saved[key]
        self._settle()
        for mask in {g.place for g in self.parked if g.state == SYNCING}:
            self._check_sync(mask, live)

    # ---- who runs ----------------------------------------------------------------------
    def park(self, pc: int, lanes: int, state: str = READY) -> None:
        """Park lanes of the running group as a waiting group."""
        if lanes:
            self.parked.append(Group(pc, lanes, state, exclusive=self.exclusive))

    @property
    def only_polls(self) -> bool:
        """Whether lanes wait for the running group and no other group can run: a YIELD then polls
        for a store from outside the warp, which should get a turn before lanes go on alone.
        """
        return bool(self.parked) and all(g.state not in (READY, YIELDED) for g in self.parked)

    def backward(self, polls: bool = False) -> bool:
        """Count a backward branch of the running group. Returns whether others should run.

        Args:
            polls: of a loop with a YIELD (`waiting.loop_yields`), that its lanes go round.
        """
        if not self.parked:
            return False
        self.backward_count += POLL if polls else 1
        if self.backward_count < BACKWARD:
            return False
        self.backward_count = 0
        return polls or any(g.state in (READY, YIELDED) for g in self.parked)

    def pick(self) -> Group | None:
        """The group that runs next, with all that are ready at its pc; None: all wait."""
        ready = [g for g in self.parked if g.state == READY]
        if not ready:
            ready = self._woken()
        if not ready:
            self.running = False
            return None
        first = min(ready, key=lambda g: (g.pc, g.lanes & -g.lanes))
        together = [
            g
            for g in ready
            if g is first or (g.pc == first.pc and not g.exclusive and not first.exclusive)
        ]
        for group in together:
            self.parked.remove(group)
        lanes = 0
        for group in together:
            lanes |= group.lanes
        self.running, self.exclusive = True, first.exclusive
        return Group(first.pc, lanes)

    def _woken(self) -> list[Group]:
        """With no group ready: wake lanes that wait only for yielding ones, else the group that
        yielded first.
        """
        yielded = [g for g in self.parked if g.state == YIELDED]
        if not yielded:
            if self._passes_sync(0):
                return [g for g in self.parked if g.state == READY]
            return self._without_syncing()
        idle = 0
        for group in yielded:
            idle |= group.lanes
        for group in self.parked:
            held = group.activation
            if held is None or held.members & ~held.waiting & ~idle:
                continue
            group.waited += 1
            if group.waited > PATIENCE:
                return self._go_on_alone(held)
        if self._passes_sync(idle):
            return [g for g in self.parked if g.state == READY]
        yielded[0].state = READY
        return yielded[:1]

    def _passes_sync(self, idle: int) -> bool:
        """Lanes in a WARPSYNC that a BAR follows go on to it, if those they wait for only yield or
        have gone on to it: these may wait for what is stored on the way (*modelled*)."""
        live = 0
        for group in self.parked:
            live |= group.lanes
        for mask in {g.place for g in self.parked if g.state == SYNCING and g.passes}:
            rows = [g for g in self.parked if g.state == SYNCING and g.place == mask]
            away = idle | self._gone_to_barrier(rows[0].pc)
            for group in rows:
                away |= group.lanes
            if mask & live & ~away:
                continue
            for group in rows:
                group.waited += 1
            if idle and max(group.waited for group in rows) <= SYNC_PATIENCE:
                continue
            self._release(lambda g, mask=mask: g.state == SYNCING and g.place == mask)  # type: ignore[misc]
            return True
        return False

    def _gone_to_barrier(self, pc: int) -> int:
        """Lanes waiting at the CTA barrier to which a WARPSYNC before `pc` leads."""
        found = 0
        for group in self.parked:
            if group.state == AT_BARRIER and 0 < group.pc - pc <= FARTHEST_BARRIER:
                found |= group.lanes
        return found

    def _go_on_alone(self, held: Activation) -> list[Group]:
        """Let waiting lanes go on without the others, which converge among themselves later."""
        held.members &= ~held.waiting
        held.waiting = 0
        self._release(lambda g: g.activation is held)
        return [g for g in self.parked if g.state == READY]

    def _without_syncing(self) -> list[Group]:
        """Nobody yields either: lanes at a BSYNC that wait for lanes in a WARPSYNC alone go on.

        Code with -G lets lanes that return early wait for the others at the function's end, and the
        others meet a WARPSYNC of all lanes on the way: each would wait for the other (*modelled*).
        """
        syncing = 0
        for group in self.parked:
            if group.state == SYNCING:
                syncing |= group.lanes
        for group in self.parked:
            held = group.activation
            if held is not None and not held.members & ~held.waiting & ~syncing:
                self.passed |= held.waiting
                return self._go_on_alone(held)
        return []


def _fits(held: Activation, mask: int) -> bool:
    return held.members & ~mask == 0


def _holds(row: list[Activation | None]) -> bool:
    """Whether a barrier register has anything in a lane: most have not."""
    return row.count(None) < len(row)
