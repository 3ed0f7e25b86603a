"""Which special registers a program reads, found in its words."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gpudbg.isa.spa5.sched import BUNDLE_BYTES

_S2R, _CS2R, _OPCODE = 0xF0C8, 0x50C8, 0xFFF8
"""The top 16 bits of the instructions that read one, and the mask of those that count."""


@lru_cache(maxsize=64)
def registers_read(code: bytes) -> frozenset[int]:
    """Special registers that code, from its first bundle on, names in S2R and CS2R."""
    words = np.frombuffer(code, "<u8", len(code) // 8)
    reads = np.isin(words >> np.uint64(48) & np.uint64(_OPCODE), (_S2R, _CS2R))
    reads[:: BUNDLE_BYTES // 8] = False
    return frozenset((words[reads] >> np.uint64(20) & np.uint64(0xFF)).tolist())
