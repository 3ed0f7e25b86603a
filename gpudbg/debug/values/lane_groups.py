"""Groups of lanes as every view shows them: where each stands, and what it waits for.

From sm_70 on each lane of a warp has a pc of its own.  Lanes with one pc are a group; one group
of a warp runs at a time (`gpudbg.sm.convergence`).  A `LaneGroup` is frozen: screens, commands and
records may hold it.  Warps with a divergence stack have no groups: their paths are those of
`gpudbg.debug.warp_paths`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpudbg.answers import column, typed_row
from gpudbg.answers.data import record_data
from gpudbg.answers.formats import HERE, LANES, Format
from gpudbg.answers.words import lane_list
from gpudbg.dataclass import dataclass
from gpudbg.sm.convergence import groups as machine

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.sm.convergence.groups import Group, Groups
    from gpudbg.sm.state import WarpState

RUNNING = "running"
STATES = {
    machine.READY: "ready",
    machine.YIELDED: "yielded",
    machine.CONVERGING: "converging",
    machine.SYNCING: "syncing",
    machine.AT_BARRIER: "barrier",
    machine.AT_CLUSTER: "cluster",
}
"""The machine's words, and those of every view."""
WAITING = frozenset(("converging", "syncing", "barrier", "cluster"))
"""States of groups that go on when others have come."""


@dataclass(frozen=True, slots=True)
class LaneGroup:
    """Lanes of a warp that stand at one pc.

    Attributes:
        mask: the lanes.
        pc: code address of the instruction they go on with.
        state: `running` (the warp's next instruction is theirs), `ready`, `yielded`; they wait:
            `converging` at a BSYNC, `syncing` in a WARPSYNC, at a CTA `barrier`, for the `cluster`.
        waits_at: what they wait for by name, `B0`, `WARPSYNC`, `barrier 1`, `cluster`; else "".
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


@typed_row
class GroupRow:
    """A group of lanes with its place in the program's own terms."""

    here: bool = column("", HERE, key="focus")
    lanes: int = column("Lanes", LANES)
    pc: int = column(key="")
    short: str = column("PC", key="")
    offset: int = column(key="pc")
    where: str = column()
    state: str = column("State")
    waits_at: str = column(default="")
    members: int = column(default=0)
    missing: int = column(default=0)
    exclusive: bool = column(default=False)
    words: str = column("What they do", default="")

    @property
    def brief(self) -> str:
        """`converging at B0`"""
        if self.state in ("barrier", "cluster"):
            return f"at {self.waits_at}"
        return f"{self.state} at {self.waits_at}" if self.waits_at else self.state

    @property
    def line(self) -> str:
        """`0270  lanes 2-3, 13: waiting at B1 for lanes 6-7`"""
        many = "s" if self.lanes.bit_count() > 1 else ""
        return f"{self.short}  lane{many} {lane_list(self.lanes)}: {self.words or self.state}"


def group_rows(inferior: Inferior, warp: WarpState) -> tuple[GroupRow, ...]:
    """The groups of a warp for views, that which runs next first."""
    focus, symbols = inferior.focus, inferior.symbols
    lane = focus.lane if focus and (focus.sm, focus.warp) == (warp.sm, warp.slot) else None
    return tuple(
        GroupRow(
            here=lane is not None and bool(g.mask >> lane & 1),
            lanes=g.mask,
            pc=g.pc,
            short=symbols.short(g.pc),
            offset=symbols.offset(g.pc),
            where=symbols.describe(g.pc),
            state=g.state,
            waits_at=g.waits_at,
            members=g.members,
            missing=g.missing,
            exclusive=g.exclusive,
            words=g.words,
        )
        for g in lane_groups(warp)
    )


_RUNNING = {"ready": "next to run", "trap": "trapped", "error": "stopped by an error"}
"""What the running group does, by the warp's state."""
HELD = "stands until the trap handler returns"
"""Added to what a group does whose warp is in the trap handler without it."""


def lane_groups(warp: WarpState) -> tuple[LaneGroup, ...]:
    """The groups of a warp, that which runs next first; none where it has a divergence stack."""
    if not warp.has_groups:
        return ()
    groups, live = warp.shown_groups, warp.valid & ~warp.exited
    out: list[LaneGroup] = []
    if groups.running and warp.active:
        word = _RUNNING.get(warp.status, "")
        out.append(LaneGroup(warp.active, warp.pc, RUNNING, exclusive=groups.exclusive, words=word))
    parked = _together([_parked(group, live, warp, groups) for group in groups.parked])
    # The one that the warp's own pc and mask show comes first where none runs.
    parked.sort(key=lambda g: bool(out) or g.mask != warp.active)
    return (*out, *parked, *_interrupted(groups, live, warp))


def _interrupted(groups: Groups, live: int, warp: WarpState) -> list[LaneGroup]:
    """The groups that stand while others of the warp are in the trap handler."""
    if groups.interrupted is None:
        return []
    found = [_parked(g, live, warp, groups.interrupted) for g in groups.interrupted.parked]
    return [
        replace(g, mask=rest, words=f"{g.words}; {HELD}")
        for g in _together(found)
        if (rest := g.mask & ~groups.inside)
    ]


def _together(parked: list[LaneGroup]) -> list[LaneGroup]:
    """Groups that came one after the other to wait at one place for the same lanes are one."""
    out: dict[object, LaneGroup] = {}
    for number, group in enumerate(parked):
        key = (group.pc, group.waits_at, group.members) if group.waiting else number
        had = out.get(key)
        out[key] = group if had is None else replace(had, mask=had.mask | group.mask)
    return list(out.values())


def _parked(group: Group, live: int, warp: WarpState, groups: Groups) -> LaneGroup:
    state = STATES[group.state]
    base = LaneGroup(group.lanes, group.pc, state, exclusive=group.exclusive)
    if state == "converging":
        held = group.activation
        members = (held.members if held is not None else 0) & live
        missing = members & ~(held.waiting if held is not None else 0)
        return _waits(base, f"B{group.place}", group.place, members, missing)
    if state == "syncing":
        same = [g for g in groups.parked if g.state == group.state and g.place == group.place]
        there = 0
        for one in same:
            there |= one.lanes
        members = group.place & live
        return _waits(base, "WARPSYNC", -1, members, members & ~there)
    if state == "barrier":
        slot = warp.cta.barriers.slots[group.place]
        expected = warp.cta.expected(group.place)
        words = f"waiting at barrier {group.place}: {slot.arrived} of {expected} threads arrived"
        return replace(base, waits_at=f"barrier {group.place}", number=group.place, words=words)
    if state == "cluster":
        arrived, expected = warp.cta.cluster.arrived()
        words = f"waiting for the cluster: {arrived} of {expected} warps arrived"
        return replace(base, waits_at="cluster", words=words)
    return replace(base, words="ready to run" if state == "ready" else "yielded")


def _waits(base: LaneGroup, name: str, number: int, members: int, missing: int) -> LaneGroup:
    words = f"waiting at {name}" if number >= 0 else f"waiting in {name}"
    words += (
        f" for lane{'s' if missing.bit_count() > 1 else ''} {lane_list(missing)}" if missing else ""
    )
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


def shown_lane(inferior: Inferior, warp: WarpState, group: LaneGroup) -> int:
    """The lane whose calls a warp is shown by: the focused one, else the group's first."""
    focus = inferior.focus
    mine = focus is not None and (focus.sm, focus.warp) == (warp.sm, warp.slot)
    if mine and focus is not None and group.mask >> focus.lane & 1:
        return focus.lane
    return (group.mask & -group.mask).bit_length() - 1


def waiting_entries(inferior: Inferior, warp: WarpState) -> list[tuple[str, int, int, str]]:
    """Lanes that do not stand where the warp is shown: kind, lanes, pc, what they wait at.

    The divergence stack, the top last; from sm_70 on the other groups, kinds in capitals as tokens.
    """
    if not warp.has_groups:
        return [(str(kind), int(mask), int(target), "") for kind, mask, target in warp.stack]
    shown = shown_group(inferior, warp)
    others = [g for g in lane_groups(warp) if shown is None or g.mask != shown.mask]
    return [(g.state.upper(), g.mask, g.pc, g.waits_at) for g in reversed(others)]


GROUPS = Format(
    lambda groups: "; ".join(group.line for group in groups),
    lambda groups: [record_data(group) for group in groups],
)
