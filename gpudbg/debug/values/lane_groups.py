"""Groups of lanes as every view shows them: where each stands, and what it waits for.

From sm_70 on each lane of a warp has a pc of its own.  Lanes with one pc are a group; one group
of a warp runs at a time (`gpudbg.sm.convergence`).  A `LaneGroup` is frozen: screens, commands and
records may hold it.  Warps with a divergence stack have no groups; `gpudbg.debug.paths` tells of
those.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gpudbg.answers.words import lane_list
from gpudbg.sm.convergence import groups as machine

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.sm.convergence.groups import Group
    from gpudbg.sm.state import WarpState

RUNNING = "running"
STATES = {
    machine.READY: "ready",
    machine.YIELDED: "yielded",
    machine.CONVERGING: "converging",
    machine.SYNCING: "syncing",
    machine.AT_BARRIER: "barrier",
}
"""The machine's words, and those of every view."""
WAITING = frozenset(("converging", "syncing", "barrier"))
"""States of groups that go on when others have come."""


@dataclass(frozen=True, slots=True)
class LaneGroup:
    """Lanes of a warp that stand at one pc.

    Attributes:
        mask: the lanes.
        pc: code address of the instruction they go on with.
        state: `running` (the warp's next instruction is theirs), `ready`, `yielded`; they wait:
            `converging` at a BSYNC, `syncing` in a WARPSYNC, at a CTA `barrier`.
        waits_at: what they wait for by name, `B0`, `WARPSYNC`, `barrier 1`; else "".
        number: of the convergence barrier or the CTA barrier; -1 for others.
        members: lanes that the convergence barrier or the WARPSYNC waits for, those here included.
        missing: those of them that have not come.
        exclusive: a WARPSYNC.EXCLUSIVE let them go: no other lanes join them.
        words: what they do, in a clause.
    """

    mask: int
    pc: int
    state: str
    waits_at: str = ""
    number: int = -1
    members: int = 0
    missing: int = 0
    exclusive: bool = False
    words: str = ""

    @property
    def waiting(self) -> bool:
        """Whether they go on only when others have come."""
        return self.state in WAITING

    def to_json(self, offset: int, where: str) -> dict[str, Any]:
        """Plain data for `--json`; the pc as an offset in the kernel and in words."""
        return {
            "lanes": self.mask,
            "pc": offset,
            "where": where,
            "state": self.state,
            "waits_at": self.waits_at or None,
            "members": self.members,
            "missing": self.missing,
            "exclusive": self.exclusive,
            "words": self.words,
        }


def lane_groups(warp: WarpState) -> tuple[LaneGroup, ...]:
    """The groups of a warp, that which runs next first; none where it has a divergence stack."""
    if not warp.has_groups:
        return ()
    groups, live = warp.groups, warp.valid & ~warp.exited
    out: list[LaneGroup] = []
    if groups.running and warp.active:
        word = "run next" if warp.status == "ready" else ""
        out.append(LaneGroup(warp.active, warp.pc, RUNNING, exclusive=groups.exclusive, words=word))
    parked = [_parked(group, live, warp) for group in groups.parked]
    # The one that the warp's own pc and mask show comes first where none runs.
    parked.sort(key=lambda g: bool(out) or g.mask != warp.active)
    return (*out, *parked)


def _parked(group: Group, live: int, warp: WarpState) -> LaneGroup:
    state = STATES[group.state]
    base = LaneGroup(group.lanes, group.pc, state, exclusive=group.exclusive)
    if state == "converging":
        held = group.activation
        members = (held.members if held is not None else 0) & live
        missing = members & ~(held.waiting if held is not None else 0)
        return _waits(base, f"B{group.place}", group.place, members, missing)
    if state == "syncing":
        same = [g for g in warp.groups.parked if g.state == group.state and g.place == group.place]
        there = 0
        for one in same:
            there |= one.lanes
        members = group.place & live
        return _waits(base, "WARPSYNC", -1, members, members & ~there)
    if state == "barrier":
        slot = warp.cta.barriers.slots[group.place]
        expected = warp.cta.expected(group.place)
        words = f"wait at barrier {group.place}: {slot.arrived} of {expected} threads arrived"
        return replace(base, waits_at=f"barrier {group.place}", number=group.place, words=words)
    return replace(base, words="can run" if state == "ready" else "yielded their turn")


def _waits(base: LaneGroup, name: str, number: int, members: int, missing: int) -> LaneGroup:
    words = f"wait at {name} for lanes {lane_list(missing)}" if missing else f"wait at {name}"
    return replace(
        base, waits_at=name, number=number, members=members, missing=missing, words=words
    )


def group_of(warp: WarpState, lane: int) -> LaneGroup | None:
    """The group that a lane is in; None: it has ended, or the warp has no groups."""
    return next((g for g in lane_groups(warp) if g.mask >> lane & 1), None)


def shown_group(inferior: Inferior, warp: WarpState) -> LaneGroup | None:
    """The group that views show a warp by: the focused lane's, else the one that runs next."""
    if not warp.has_groups:
        return None
    focus = inferior.focus
    if focus is not None and (focus.sm, focus.warp) == (warp.sm, warp.slot):
        mine = group_of(warp, focus.lane)
        if mine is not None:
            return mine
    return next(iter(lane_groups(warp)), None)


def barrier_masks(warp: WarpState, lane: int) -> tuple[int, ...]:
    """What the convergence barriers hold in a lane: B0 to B15."""
    if not warp.has_groups:
        return ()
    return tuple(warp.groups.mask_of_lane(n, lane) for n in range(machine.BARRIERS))


def shown_lane(inferior: Inferior, warp: WarpState, group: LaneGroup) -> int:
    """The lane whose calls a warp is shown by: the focused one, else the group's first."""
    focus = inferior.focus
    mine = focus is not None and (focus.sm, focus.warp) == (warp.sm, warp.slot)
    if mine and focus is not None and group.mask >> focus.lane & 1:
        return focus.lane
    return (group.mask & -group.mask).bit_length() - 1
