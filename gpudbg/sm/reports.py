"""Warp errors as frozen records: what was wrong, and where the address lies."""

from __future__ import annotations

from dataclasses import replace

from gpudbg.formats.program import CodeImage
from gpudbg.mem.device import DeviceMemory, place_words, unwrapped
from gpudbg.mem.windows import RANK_SHIFT, WINDOW_BYTES
from gpudbg.regs.warp_errors import WARP_ERROR_BY_NAME
from gpudbg.sm.events import StopEvent, WarpFault
from gpudbg.sm.faults import WarpErrorRaised
from gpudbg.sm.state import WarpState

ADDRESS_BITS = 32
"""An address of shared or local memory is one register."""


def nearest(memory: DeviceMemory, error: WarpErrorRaised, warp: WarpState) -> str:
    """Where a bad address lies, in words."""
    address, size = error.address, error.size or 1
    if address is None:
        return ""
    if error.space == "global":
        return memory.describe(address, size)
    if error.space == "shared":
        total = warp.cta.shared.size
        if memory.layout.ranked and address >> RANK_SHIFT:
            return ""
        owner = f"the block's shared memory ({total} bytes)"
        return place_words(unwrapped(address, total, ADDRESS_BITS), size, 0, total, owner)
    if error.space == "local":
        local = warp.local
        owner = f"the thread's stack ({local.high} bytes)"
        return place_words(address, size, local.start, WINDOW_BYTES, owner)
    return ""


def fault_of(
    memory: DeviceMemory,
    code: CodeImage,
    warp: WarpState,
    error: WarpErrorRaised,
    lanes: tuple[int, ...],
    origin: int,
) -> WarpFault:
    """The record of an error; `origin` is the pc of the guilty instruction."""
    detail = error.detail
    if origin != warp.pc:
        detail += f"; imprecise: the access was at {code.describe(origin)}"
    return WarpFault(
        error.code,
        WARP_ERROR_BY_NAME[error.code].code,
        warp.sm,
        warp.slot,
        lanes,
        warp.pc,
        warp.block,
        error.address,
        error.space,
        error.access,
        error.size,
        nearest(memory, error, warp),
        detail,
        origin == warp.pc,
    )


def merged(events: list[StopEvent]) -> StopEvent:
    """One event of warps that stopped in the same step: the first, with the faults of all."""
    first, last = events[0], events[-1]
    if len(events) == 1:
        return first
    return replace(
        last if last.kind != "warp_error" else first,
        faults=tuple(fault for event in events for fault in event.faults),
        executed=last.executed,
        total=last.total,
        detail=tuple(line for event in events for line in event.detail),
    )
