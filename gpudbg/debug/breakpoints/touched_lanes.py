"""Which lanes of an instruction or an access touch a watched place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpudbg.isa.constant_reads import constant_reads
from gpudbg.isa.operands import PT
from gpudbg.mem.windows import RANK_SHIFT, WINDOW_BYTES
from gpudbg.sm.selection import SelectedRegister, touched_by

if TYPE_CHECKING:
    from gpudbg.debug.breakpoints.watched import WatchTarget
    from gpudbg.isa.constant_reads import ConstantRead
    from gpudbg.isa.family import Instruction
    from gpudbg.sm.selection import SelectedConstant
    from gpudbg.sm.state import WarpState

_OFFSET = np.uint64(0xFFFF_FFFF)


def low_lanes(inside: Any) -> int:
    """Lane mask of 32 truth values."""
    return int(np.packbits(inside, bitorder="little").view("<u4")[0])


# ---- memory --------------------------------------------------------------------------------
def overlapping(address: Any, size: int, target: WatchTarget) -> int:
    """Lane mask of the accesses of `size` bytes that overlap the watched bytes."""
    at = np.broadcast_to(np.asarray(address), (32,)).astype(np.uint64)
    low = np.uint64(max(target.address - size + 1, 0))
    high = np.uint64(target.address + target.size - 1)
    return low_lanes((at >= low) & (at <= high))


def reaching(warp: WarpState, address: Any, size: int, target: WatchTarget) -> int:
    """Lane mask of the accesses to other blocks of the cluster that overlap the watched bytes."""
    at = np.broadcast_to(np.asarray(address), (32,)).astype(np.uint64)
    ctas = warp.cta.cluster.ctas
    ranks = [n for n, cta in enumerate(ctas) if cta.block == target.block]
    lanes = low_lanes(np.isin(at >> np.uint64(RANK_SHIFT), ranks))
    return lanes & overlapping(at & np.uint64(WINDOW_BYTES - 1), size, target)


# ---- constants -----------------------------------------------------------------------------
def reading(constant: SelectedConstant, warp: WarpState, insn: Instruction, lanes: int) -> int:
    """Lane mask of the lanes in which an instruction reads the watched constant."""
    if not lanes:
        return 0
    found = 0
    for read in constant_reads(insn):
        if read.base is None:
            found |= lanes if constant.meets(read.bank, read.offset, read.size) else 0
        elif read.segmented or read.bank == constant.bank:
            found |= lanes & _pointing(constant, warp, read)
    return found


def _pointing(constant: SelectedConstant, warp: WarpState, read: ConstantRead) -> int:
    """Lane mask of the lanes whose index register selects the watched constant."""
    assert read.base is not None
    file = warp.UR if read.base.file == "UR" else warp.R
    held = np.broadcast_to(np.asarray(file[read.base.index]), (32,)).astype(np.uint64)
    at = held + np.uint64(read.offset & 0xFFFF_FFFF) & _OFFSET
    banks = np.full(32, read.bank, np.uint64)
    if read.segmented:
        banks, at = banks + (at >> np.uint64(16)), at & np.uint64(0xFFFF)
    low, high = constant.low - read.size, constant.low + constant.size
    inside = (at.astype(np.int64) > low) & (at.astype(np.int64) < high)
    return low_lanes(inside & (banks == np.uint64(constant.bank)))


# ---- registers -----------------------------------------------------------------------------
def using(
    target: WatchTarget,
    registers: tuple[tuple[str, int], ...],
    warp: WarpState,
    insn: Instruction,
    lanes: int,
) -> int:
    """Mask with the watched lane's bit if the instruction reads or writes the registers as the
    watchpoint asks; else 0.
    """
    reads, writes = target.kind in ("read", "access"), target.kind != "read"
    wanted = {
        what for at in registers for what in SelectedRegister(*at, 0, 0, reads, writes).touches()
    }
    done = wanted & touched_by(insn)
    if not done:
        return 0
    index = insn.guard[0]
    guard = "uniform_predicates" if insn.uniform_guard else "predicates"
    if index != PT and (f"read {guard}", index) in done:
        # Lanes whose guard is false have read it as well.
        lanes |= warp.active
    if all(file.removeprefix("read ").startswith("uniform") for file, _ in done):
        # One copy for all lanes: any executing lane counts.
        return 1 << target.lane if lanes else 0
    return lanes & 1 << target.lane
