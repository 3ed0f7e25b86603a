"""Copies barrier state between the step engine's objects and a CTA's descriptor for compiled
code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpudbg.sm import record as rec
from gpudbg.sm.barriers.compiled import REDUCTIONS, SOME_FALSE, SOME_TRUE
from gpudbg.sm.barriers.phase import BARRIER_COUNT
from gpudbg.sm.convergence import kept
from gpudbg.sm.residency import arena
from gpudbg.sm.state import Cta, WarpState

_LIVE_THREADS, _ALL_THREADS = arena.LIVE_THREADS // 8, arena.ALL_THREADS // 8
_MBARRIERS = arena.MBARRIERS // 8
_SPECIAL, _IN_USE = arena.SPECIAL // 8, arena.IN_USE // 8

Words = npt.NDArray[np.int32]


def _cells(cta: Cta) -> Words:
    """The descriptor of a CTA as words of its barriers."""
    cells: Words = np.asarray(cta.descriptor).view(np.int32)
    return cells


def write(cta: Cta, ask: bool) -> None:
    """Write a CTA's barriers to its descriptor; with `ask` every arrival returns to Python.  Warps
    of a cluster are let go by others, so what they hold must be in their records."""
    if cta.descriptor[_ALL_THREADS]:
        threads = sum((w.words[rec.VALID] & ~w.words[rec.EXITED]).bit_count() for w in cta.warps)
        cta.descriptor[_LIVE_THREADS] = threads
    if cta.shared_cluster is not None:
        for warp in cta.warps:
            kept.keep(warp)
    if not (ask or cta.barriers.used or cta.descriptor[_SPECIAL]):
        return
    used = [(n, b) for n, b in enumerate(cta.barriers.slots) if b.arrived]
    cells = _cells(cta)
    for table in arena.PHASE:
        cells[table // 4 : table // 4 + BARRIER_COUNT] = 0
    cells[arena.SPECIAL // 4 : arena.SPECIAL // 4 + BARRIER_COUNT] = -1 if ask else 0
    cta.descriptor[arena.IN_USE // 8] = bool(used)
    for n, barrier in used:
        cells[arena.ARRIVED // 4 + n] = barrier.arrived
        cells[arena.THREADS // 4 + n] = barrier.count or 0
        if not all(_is_simple(cta.warps[index]) for index in barrier.waiting):
            cells[arena.SPECIAL // 4 + n] = -1
        cells[arena.TOTAL // 4 + n] = barrier.total
        votes = SOME_TRUE if barrier.any_true else 0
        cells[arena.VOTES // 4 + n] = votes | (0 if barrier.all_true else SOME_FALSE)
        for kind, table in zip(REDUCTIONS[1:], arena.REDUCED, strict=True):
            mask = sum(1 << index for index, what in barrier.waiting.items() if what == kind)
            cells[table // 4 + n] = np.uint32(mask).view(np.int32)


def _is_simple(warp: WarpState) -> bool:
    """Whether compiled code can let a warp continue that waits at a barrier."""
    return not warp.has_groups or (warp.words[rec.STATUS] == rec.AT_BARRIER and kept.keep(warp))


def read(cta: Cta) -> None:
    """Read back from the descriptor what compiled code did with a CTA's barriers and mbarriers."""
    if count := cta.descriptor[_MBARRIERS]:
        cta.descriptor[_MBARRIERS] = 0
        first = arena.MBARRIER_PLACES // 4
        for word in _cells(cta)[first : first + count].tolist():
            (cta.mbarriers.discard if word & 1 else cta.mbarriers.add)(word & ~1)
    if not (cta.barriers.used or cta.descriptor[_IN_USE]):
        return
    cells = _cells(cta)
    for n, barrier in enumerate(cta.barriers.slots):
        arrived = int(cells[arena.ARRIVED // 4 + n])
        if not (arrived or barrier.arrived) or cells[arena.SPECIAL // 4 + n]:
            continue
        votes = int(cells[arena.VOTES // 4 + n])
        barrier.arrived = arrived
        barrier.count = int(cells[arena.THREADS // 4 + n]) or None
        barrier.total = int(cells[arena.TOTAL // 4 + n])
        barrier.all_true = not votes & SOME_FALSE
        barrier.any_true = bool(votes & SOME_TRUE)
        barrier.waiting = {
            warp.index: _reduction(cells, n, warp.index)
            for warp in cta.warps
            if warp.words[rec.STATUS] == rec.AT_BARRIER and warp.words[rec.BAR_WAIT] == n
        }


def _reduction(cells: Words, barrier: int, index: int) -> str:
    """The reduction whose result a waiting warp wants at the end."""
    pairs: list[tuple[str, Any]] = list(zip(REDUCTIONS[1:], arena.REDUCED, strict=True))
    for kind, table in pairs:
        if int(cells[table // 4 + barrier]) >> index & 1:
            return kind
    return ""
