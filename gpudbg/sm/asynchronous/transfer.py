"""Global and shared memory as asynchronous copies read and write them: checks and places."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpudbg.mem.device import Allocation, DeviceMemory
from gpudbg.mem.faults import MemoryFault, unmapped_words
from gpudbg.mem.windows import RANK_SHIFT, WINDOW_BYTES
from gpudbg.sm.atomics.step import SIZES, UPDATES
from gpudbg.sm.state import Cta

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
UNIT = 16
"""Addresses and sizes of bulk copies are multiples of it (*documented*)."""


def check_unit(address: int, space: str, what: str, unit: int = UNIT) -> None:
    """Refuse an address that is no multiple of a copy's unit.

    Raises:
        MemoryFault: MISALIGNED_ADDR.
    """
    if address % unit:
        text = f"{what}: {space} address 0x{address:x} is not a multiple of {unit}"
        raise MemoryFault("MISALIGNED_ADDR", 0, address, space, text)


def shared_place(cta: Cta, address: int, size: int, what: str, own: bool) -> tuple[Cta, int]:
    """The CTA and the offset in its shared memory of `size` bytes at an address.

    Args:
        cta: whose thread issued the copy.
        address: with a rank above bit 24; 0 is the CTA's own where `own`.

    Raises:
        MemoryFault: OOR_ADDR.
    """
    rank, offset = address >> RANK_SHIFT, address & (WINDOW_BYTES - 1)
    ctas, trouble, home = cta.cluster.ctas, "", cta
    if own and rank in (0, cta.rank):
        pass
    elif own:
        trouble = "in another block of the cluster"
    elif rank >= len(ctas):
        trouble = f"in rank {rank} of a cluster of {len(ctas)}"
    elif ctas[rank].finished:
        trouble = f"in block {ctas[rank].block}, which has ended"
    else:
        home = ctas[rank]
    if not trouble and offset + size > home.shared.size:
        trouble = f"outside block {home.block}'s memory ({home.shared.size} bytes)"
    if trouble:
        text = f"{what}: {size} bytes at shared address 0x{address:x} are {trouble}"
        raise MemoryFault("OOR_ADDR", 0, address, "shared", text)
    return home, offset


def global_place(
    memory: DeviceMemory, address: int, size: int, what: str
) -> tuple[Allocation, int]:
    """The allocation that holds `size` bytes of global memory, and the offset in it.

    Raises:
        MemoryFault: MMU_FAULT, or OOR_ADDR beyond the address space.
    """
    found = memory.find(address)
    if found is not None and address + size <= found.end:
        return found, address - found.base
    beyond = bool(address >> memory.layout.bits)
    text = f"{what}: {unmapped_words(address, size)}"
    raise MemoryFault("OOR_ADDR" if beyond else "MMU_FAULT", 0, address, "global", text)


def reduced(old: Bytes, given: Bytes, op: str, type_: str) -> Bytes:
    """Combine elements one by one, ascending, by the atomic operation of that type."""
    dtype: Any = np.uint64 if SIZES[type_] == 8 else np.uint32
    update = UPDATES[op, type_]
    pairs = zip(old.view(dtype).tolist(), given.view(dtype).tolist(), strict=True)
    return np.array([update(a, b) for a, b in pairs], dtype).view(np.uint8)
