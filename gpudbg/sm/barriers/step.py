"""Barriers as the step engine executes them."""

from __future__ import annotations

from gpudbg.mem.lanes import FULL, WARP_SIZE
from gpudbg.sm import record as rec
from gpudbg.sm.barriers.phase import Arrival, Barrier
from gpudbg.sm.clusters.cluster import Cluster
from gpudbg.sm.convergence.step import cluster_complete
from gpudbg.sm.convergence.step import released as released_groups
from gpudbg.sm.faults import WarpErrorRaised
from gpudbg.sm.state import Cta, WarpState


def check(warp: WarpState, arrival: Arrival) -> None:
    """Refuse an arrival that no barrier can take, before anything has changed.

    Raises:
        WarpErrorRaised: for a barrier that is not allocated, and, where lanes have pcs of their
            own, a number of threads that is no multiple of a warp's (measured on H100).
    """
    number, allocated = arrival.barrier, warp.cta.barriers.allocated
    code = "ILLEGAL_INSTR_PARAM" if warp.has_groups else "ILLEGAL_INSTR_PARAM2"
    if number >= allocated:
        text = f"barrier {number} is not one of the kernel's {allocated}"
        raise WarpErrorRaised(code, arrival.lanes, text)
    if warp.has_groups and (arrival.count or 0) % WARP_SIZE:
        text = f"a barrier of {arrival.count} threads, which is no multiple of {WARP_SIZE}"
        raise WarpErrorRaised(code, arrival.lanes, text)


def arrive(warp: WarpState, arrival: Arrival) -> list[WarpState]:
    """A warp arrives at a barrier of its CTA; unless the mode is ARV it waits for the rest.

    Returns:
        The warps that this arrival released.
    """
    number, barriers = arrival.barrier, warp.cta.barriers
    slot = barriers.slots[number]
    slot.arrived += arrival.lanes.bit_count() if warp.has_groups else WARP_SIZE
    if arrival.count is not None:
        slot.count = arrival.count
    if arrival.mode == "RED":
        voted = arrival.pred & arrival.lanes
        slot.total += voted.bit_count()
        slot.all_true = slot.all_true and voted == arrival.lanes
        slot.any_true = slot.any_true or voted != 0
    if arrival.mode != "ARV":
        slot.waiting[warp.index] = arrival.reduce
        if not warp.has_groups:
            warp.words[rec.STATUS] = rec.AT_BARRIER
            warp.words[rec.BAR_WAIT] = number
    return _release(warp.cta, number)


def warp_exited(cta: Cta) -> list[WarpState]:
    """A warp of a CTA has exited: barriers for all threads may be complete now."""
    barriers = cta.barriers
    released: list[WarpState] = []
    for number, slot in enumerate(barriers.slots if barriers.used else ()):
        if slot.arrived and slot.count is None:
            released += _release(cta, number)
    cluster = cta.shared_cluster
    return released if cluster is None else released + settle_cluster(cluster)


def settle_cluster(cluster: Cluster) -> list[WarpState]:
    """Let the warps of a cluster go if all have come to its barrier.

    Returns:
        The warps that had come.
    """
    if not cluster.complete():
        return []
    released = list(cluster.live())
    for warp in released:
        cluster_complete(warp)
    return released


def _release(cta: Cta, number: int) -> list[WarpState]:
    """Release a barrier if enough threads have arrived."""
    barriers = cta.barriers
    slot = barriers.slots[number]
    if slot.arrived < cta.expected(number):
        return []
    released = []
    for index, reduce in slot.waiting.items():
        warp = cta.warps[index]
        if warp.has_groups:
            released_groups(warp, number)
        elif not warp.words[rec.FLAGS] & rec.FLAG_TRAP:
            # A warp taken off its barrier by the trap handler continues when the handler returns.
            warp.words[rec.STATUS] = rec.READY
        if reduce:
            truth = slot.all_true if reduce == "AND" else slot.any_true
            warp.words[rec.BAR_COUNT] = slot.total
            warp.words[rec.BAR_PRED] = FULL if truth else 0
        released.append(warp)
    barriers.slots[number] = Barrier()
    return released
