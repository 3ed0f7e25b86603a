"""Barriers of a whole grid: the workspace through which blocks wait for one another.

`cooperative_groups::this_grid().sync()` counts arrivals in two words of device memory: their size,
and the barrier (*documented*: details/driver_abi.h of the CUDA headers).  The driver puts the
address into the launch words %envreg1 (high) and %envreg2 (low) of a cooperative launch; without
one the address is 0 and the code traps.
"""

from __future__ import annotations

import numpy as np

from gpudbg.architectures import is_wide
from gpudbg.errors import DecodeError
from gpudbg.isa.family import decode
from gpudbg.mem.device import Allocation, DeviceMemory
from gpudbg.sm.launch_constants import launch_words

WORKSPACE = "the grid's barrier"
WORKSPACE_BYTES = 8


def waits_for_grid(code: bytes, arch: str) -> bool:
    """Whether code reads the address of the workspace, as every barrier of a grid does."""
    offset = launch_words(arch).workspace + 4
    wide = is_wide(arch)
    words = np.frombuffer(code[: len(code) & -32], np.uint64)[:: 2 if wide else 1]
    # Candidates by the bits that hold the offset: in bytes where LDCU has it, else in words.
    fields = words >> np.uint64(40 if wide else 20) & np.uint64(0x3FFF)
    likely = fields == offset >> 2
    if wide:
        likely |= words >> np.uint64(37) & np.uint64(0xFFFF) == offset
    size = 16 if wide else 8
    return any(_reads(code, int(n) * size, offset, arch) for n in np.flatnonzero(likely))


def _reads(code: bytes, at: int, offset: int, arch: str) -> bool:
    wide = is_wide(arch)
    word = int.from_bytes(code[at : at + (16 if wide else 8)], "little")
    try:
        text = decode(word, arch).text()
    except DecodeError:
        return False
    # From sm_100 on the offset is added to a register that SR_CgaSize gives.
    return f"c[0x0][{offset:#x}]" in text or (wide and f"+{offset:#x}]" in text)


def workspace(memory: DeviceMemory) -> Allocation:
    """Allocate and clear the workspace of one launch."""
    made = memory.allocate(WORKSPACE_BYTES, WORKSPACE, "workspace")
    made.writable().view("<u4")[:] = (WORKSPACE_BYTES, 0)
    return made
