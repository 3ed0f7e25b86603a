"""Alignment and range of 32 offsets into a space of `limit` bytes, decided before any access."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpudbg.mem.faults import MemoryFault
from gpudbg.mem.lanes import FULL, first_lane, ones32, ones64, pack

Offsets = npt.NDArray[Any]
"""32 unsigned offsets, uint32 or uint64."""


def clean(offsets: Offsets, lanes: int) -> Offsets:
    """Offsets with 0 in the lanes that do not execute."""
    if lanes == FULL:
        return offsets
    return offsets * (ones32(lanes) if offsets.dtype == np.uint32 else ones64(lanes))


def misaligned(offsets: Offsets, lanes: int, size: int) -> int:
    """Executing lanes whose offset is not a multiple of `size`."""
    return pack((offsets & (size - 1)) != 0) & lanes


def outside(offsets: Offsets, lanes: int, size: int, limit: int) -> int:
    """Executing lanes whose access does not end within `limit` bytes."""
    return lanes if limit < size else pack(offsets > limit - size) & lanes


def suspects(offsets: Offsets, lanes: int, size: int, limit: int) -> int:
    """Mask of executing lanes with a bad access, usually 0; takes `clean` offsets.

    The OR of all offsets is at least their maximum and shows every misalignment, so one
    reduction settles nearly every access.
    """
    seen = int(np.bitwise_or.reduce(offsets))
    if not seen & (size - 1) and seen <= limit - size:
        return 0
    return misaligned(offsets, lanes, size) | outside(offsets, lanes, size, limit)


def alignment_fault(offsets: Offsets, bad: int, size: int, space: str) -> MemoryFault:
    """The fault of the misaligned lanes `bad`."""
    address = int(offsets[first_lane(bad)])
    text = f"{space} address 0x{address:x} is not a multiple of {size}"
    return MemoryFault("MISALIGNED_ADDR", bad, address, space, text)


def check(offsets: Offsets, lanes: int, size: int, limit: int, space: str, owner: str) -> Offsets:
    """Clean offsets, all of them good.

    Args:
        owner: whose bytes they are, for the message: "the CTA's", "the thread's".

    Raises:
        MemoryFault: MISALIGNED_ADDR before OOR_ADDR.
    """
    offsets = clean(offsets, lanes)
    if suspects(offsets, lanes, size, limit):
        bad = misaligned(offsets, lanes, size)
        if bad:
            raise alignment_fault(offsets, bad, size, space)
        bad = outside(offsets, lanes, size, limit)
        address = int(offsets[first_lane(bad)])
        text = f"{space} address 0x{address:x} is outside {owner} memory"
        raise MemoryFault("OOR_ADDR", bad, address, space, text)
    return offsets
