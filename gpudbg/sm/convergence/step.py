"""Control flow of warps with groups of lanes, as the step engine executes it.

Functions take the pc after the instruction and return the pc to continue at, as those of
`gpudbg.sm.divergence.step` do; the warp's own pc and mask are the running group's.
"""

from __future__ import annotations

from gpudbg.bits import lanes_of
from gpudbg.errors import ModelGap
from gpudbg.sm import record as rec
from gpudbg.sm.convergence.groups import AT_BARRIER, AT_CLUSTER, YIELDED, Groups
from gpudbg.sm.divergence.step import CODE_MASK
from gpudbg.sm.faults import WarpErrorRaised
from gpudbg.sm.record import ACTIVE, EXITED, STATUS, VALID
from gpudbg.sm.state import WarpState


def goals(warp: WarpState, next_pc: int, targets: dict[int, int]) -> dict[int, int]:
    """Where the active lanes go: target -> lanes; those that `targets` does not name fall through.

    Raises:
        WarpErrorRaised: PC_WRAP for a target below address 0.
    """
    taken = 0
    for target, lanes in targets.items():
        if target < 0:
            text = f"the target wraps around address 0 to 0x{target & CODE_MASK:x}"
            raise WarpErrorRaised("PC_WRAP", lanes, text)
        taken |= lanes
    found = dict(targets)
    if rest := warp.words[ACTIVE] & ~taken:
        found[next_pc] = found.get(next_pc, 0) | rest
    return found


def branch_each(warp: WarpState, next_pc: int, places: dict[int, int]) -> int:
    """Send the active lanes to the pcs of `goals`."""
    if len(places) == 1:
        return next(iter(places))
    for goal, lanes in places.items():
        warp.groups.park(goal, lanes)
    return resume(warp, next_pc)


def give_turn(warp: WarpState, next_pc: int) -> int:
    """Treat the running group as yielding (`Groups.backward`)."""
    warp.groups.park(next_pc, warp.words[ACTIVE], YIELDED)
    return resume(warp, next_pc)


_WAITS = {AT_BARRIER: rec.AT_BARRIER, AT_CLUSTER: rec.AT_CLUSTER}
"""Group states that warps outside end -> status of a warp all of whose groups are in them."""


def resume(warp: WarpState, next_pc: int) -> int:
    """Continue with the group whose turn it is; without one the warp waits."""
    groups, words = warp.groups, warp.words
    found = groups.pick()
    if found is not None:
        words[ACTIVE] = found.lanes
        words[STATUS] = rec.READY
        return found.pc
    if not words[VALID] & ~words[EXITED]:
        words[ACTIVE] = 0
        words[STATUS] = rec.DONE
        return next_pc
    for state in _WAITS:
        shown = next((g for g in groups.parked if g.state == state), groups.parked[0])
        if shown.state == state:
            break
    words[ACTIVE] = shown.lanes
    words[STATUS] = _WAITS.get(shown.state, rec.STUCK)
    words[rec.BAR_WAIT] = shown.place if shown.state == AT_BARRIER else 0
    return shown.pc


# ---- the trap handler -------------------------------------------------------------------
def enter_handler(warp: WarpState) -> int:
    """The active lanes begin as the only group of a trap handler; all others stand.

    Returns:
        The number of groups that wait or could run besides theirs.
    """
    interrupted, lanes = warp.groups, warp.words[ACTIVE]
    warp.groups = Groups(interrupted, lanes)
    return sum(1 for group in interrupted.parked if group.lanes & ~lanes)


def handler_lanes(warp: WarpState) -> int:
    """The lanes that a trap handler was entered with and that have not ended."""
    return warp.groups.inside & warp.words[VALID] & ~warp.words[EXITED]


def interrupts_waiting(warp: WarpState) -> bool:
    """Whether the lanes in the trap handler were taken from a place where they wait."""
    interrupted = warp.groups.interrupted
    return interrupted is not None and not interrupted.running


def leave_handler(warp: WarpState, pc: int) -> None:
    """The trap handler's lanes go on at `pc`, or wait on where they waited; other groups are what
    they were."""
    words, interrupted = warp.words, warp.groups.interrupted
    assert interrupted is not None
    lanes = handler_lanes(warp)
    warp.groups = interrupted
    if interrupted.running and lanes:
        words[ACTIVE], warp.pc = lanes, pc
    else:
        # They wait, and may have been released meanwhile; or they have ended.
        warp.pc = resume(warp, warp.pc)


def end_warp(warp: WarpState) -> None:
    """Forget all groups: the warp ends."""
    warp.groups = Groups()
    warp.groups.running = False


def leave(warp: WarpState, next_pc: int, lanes: int) -> int:
    """Continue after parking `lanes`: with the remaining active lanes, or another group."""
    rest = warp.words[ACTIVE] & ~lanes
    if not rest:
        return resume(warp, next_pc)
    # Merge before choosing: lanes just released may continue together with the present ones.
    warp.groups.park(next_pc, rest)
    return resume(warp, next_pc)


def exit_lanes(warp: WarpState, next_pc: int, lanes: int) -> int:
    """End lanes.

    Raises:
        ModelGap: lanes in the trap handler that wait at a barrier of the code it interrupts.
    """
    if interrupts_waiting(warp):
        raise ModelGap("lanes that wait at a barrier end in the trap handler")
    words = warp.words
    words[EXITED] |= lanes
    warp.groups.end(lanes, words[VALID] & ~words[EXITED])
    if warp.groups.interrupted is not None and not handler_lanes(warp):
        leave_handler(warp, next_pc)
        return warp.pc
    return leave(warp, next_pc, lanes)


def converge(warp: WarpState, next_pc: int, number: int, lanes: int) -> int:
    """BSYNC."""
    free = warp.groups.converge(number, lanes, next_pc)
    stays = warp.words[ACTIVE] & ~lanes | free
    warp.groups.park(next_pc, stays)
    return resume(warp, next_pc)


def leave_barrier(warp: WarpState, next_pc: int, number: int, lanes: int) -> int:
    """BREAK."""
    warp.groups.leave(number, lanes)
    return next_pc


def synchronize(
    warp: WarpState, next_pc: int, lanes: int, masks: list[int], exclusive: bool, passes: bool
) -> int:
    """WARPSYNC; `masks` by lane; `passes`: a BAR follows."""
    words, groups = warp.words, warp.groups
    live = words[VALID] & ~words[EXITED]
    by_mask: dict[int, int] = {}
    for lane in lanes_of(lanes):
        by_mask[masks[lane]] = by_mask.get(masks[lane], 0) | 1 << lane
    groups.exclusive = False
    rest = words[ACTIVE] & ~lanes
    groups.park(next_pc, rest)
    for mask, mine in by_mask.items():
        groups.synchronize(mask, mine, next_pc, live, exclusive, passes)
    return resume(warp, next_pc)


def yield_turn(warp: WarpState, next_pc: int, lanes: int) -> int:
    """YIELD, NANOSLEEP: others run, if there are any."""
    groups = warp.groups
    if not groups.parked:
        return next_pc
    groups.backward_count = 0
    groups.park(next_pc, lanes, YIELDED)
    groups.park(next_pc, warp.words[ACTIVE] & ~lanes)
    return resume(warp, next_pc)


def wait_at_barrier(warp: WarpState, next_pc: int, number: int, lanes: int) -> int:
    """BAR.SYNC: the lanes have arrived and wait."""
    warp.groups.arrive(number, lanes, next_pc)
    rest = warp.words[ACTIVE] & ~lanes
    warp.groups.park(next_pc, rest)
    return resume(warp, next_pc)


def wait_for_cluster(warp: WarpState, next_pc: int, lanes: int) -> int:
    """UCGABAR_WAIT: the lanes wait for the cluster."""
    warp.groups.wait_for_cluster(lanes, next_pc)
    warp.groups.park(next_pc, warp.words[ACTIVE] & ~lanes)
    return resume(warp, next_pc)


def cluster_complete(warp: WarpState) -> None:
    """Make this warp's lanes ready that waited for the cluster."""
    warp.groups.cluster_complete()
    if not warp.groups.running:
        warp.pc = resume(warp, warp.pc)


def released(warp: WarpState, number: int) -> None:
    """Make this warp's lanes ready that waited at a CTA barrier."""
    groups: Groups = warp.groups
    groups.released(number)
    if not groups.running:
        warp.pc = resume(warp, warp.pc)
