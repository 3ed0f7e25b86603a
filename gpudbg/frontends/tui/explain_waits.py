"""Explain what waits at an instruction: barriers of a block, lane groups, mbarriers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpudbg.answers import lane_list
from gpudbg.debug.values import BarrierState, barriers, waited_for

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession, WarpRow
    from gpudbg.debug.values import GroupRow

BARRIER = re.compile(r"\bBAR\.\S+ (?:(0x[0-9a-f]+)|R\d+)")
"""A barrier instruction and the number it names."""
CONVERGENCE = re.compile(r"\b(?:BSYNC|WARPSYNC|BAR)\b")
MBARRIER = re.compile(r"\b(?:SYNCS|ATOMS\.ARRIVE)")
CLUSTER = re.compile(r"\bUCGABAR")
MISSING = 8
"""Most warps missing at a barrier that are listed one by one."""
WARPS = 16


def waits_of_code(session: DebugSession, focused: WarpRow | None, pc: int, text: str) -> list[str]:
    """Explain an instruction at which lanes wait: for whom they wait, and who has arrived."""
    if session.focus is None or focused is None:
        return []
    found = _barriers_of(session, text)
    lines = [line for barrier in found for line in barrier_lines(session, barrier)]
    lines += _groups_of(session, focused, pc, text)
    if pc == focused.pc and focused.why:
        waits = waited_for(session, focused.sm, focused.slot)
        if waits is None and not lines:
            lines.append(f"warp {focused.slot}: {focused.why}")
        elif waits is not None and waits not in found:
            lines += barrier_lines(session, waits)
    if MBARRIER.search(text):
        lines += session.command("info mbarriers").lines
    if CLUSTER.search(text):
        lines += session.command("info barriers").lines
    return lines


def _groups_of(session: DebugSession, warp: WarpRow, pc: int, text: str) -> list[str]:
    """Explain the lanes that wait at an instruction of a warp; arrived lanes continue behind it."""
    pcs = session.symbols.pcs
    behind = pcs[pcs.index(pc) + 1 :][:1] if CONVERGENCE.search(text) else ()
    return [
        line
        for group in warp.groups
        if group.waits_at and (group.pc == pc or group.pc in behind)
        for line in group_lines(warp, group)
    ]


def group_lines(warp: WarpRow, group: GroupRow) -> list[str]:
    """Describe a lane group that stands together: its lanes, and where those stand that it waits
    for.
    """
    lines = [f"warp {warp.slot} {group.line}"]
    for other in warp.groups:
        if late := other.lanes & group.missing:
            does = other.words or other.state
            lines.append(f"not there: lanes {lane_list(late)}, {does} at {other.where}")
    return lines


def barrier_lines(session: DebugSession, barrier: BarrierState) -> list[str]:
    """What a barrier of a block waits for, who has arrived, and where the others are."""
    block = ",".join(map(str, barrier.block))
    whom = "as many as its instruction says" if barrier.counted else "all live threads"
    lines = [
        f"barrier {barrier.number} of block ({block}): {barrier.arrived} of {barrier.expected} "
        f"threads have arrived; it waits for {barrier.expected}, {whom}"
    ]
    if barrier.there:
        lines.append(f"arrived: {_warps(barrier.there)}")
    if barrier.gone_on:
        lines.append(f"arrived and went on (BAR.ARV): {barrier.gone_on} threads")
    for w in barrier.absent[:MISSING]:
        state = f"waits at barrier {w.barrier}" if w.barrier is not None else "runs"
        if not w.begun:
            state = "has not begun, and stands"
        lines.append(f"not there: warp {w.slot} {state} at {session.symbols.describe_line(w.pc)}")
    if not barrier.absent and barrier.arrived < barrier.expected:
        missing = barrier.expected - barrier.arrived
        lines.append(f"nobody is left to come: the other {missing} threads do not exist or ended")
    if len(barrier.absent) > MISSING:
        lines.append(f"and {len(barrier.absent) - MISSING} warps more")
    return lines


def _warps(slots: Sequence[int]) -> str:
    shown = ", ".join(map(str, slots[:WARPS]))
    more = f" and {len(slots) - WARPS} more" if len(slots) > WARPS else ""
    return f"warp{'s' if len(slots) > 1 else ''} {shown}{more}"


def _barriers_of(session: DebugSession, text: str) -> list[BarrierState]:
    """The barriers that an instruction of the focused block may name: one, or all where a register
    holds the number.
    """
    found = BARRIER.search(text)
    if found is None:
        return []
    named = int(found[1], 16) if found[1] else None
    return [b for b in barriers(session) if (b.arrived if named is None else b.number == named)]
