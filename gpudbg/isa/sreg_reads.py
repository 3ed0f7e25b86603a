"""Which special registers a program reads, found in its words."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from gpudbg.architectures import is_wide
from gpudbg.code_layout import SINGLE
from gpudbg.errors import DecodeError
from gpudbg.isa.family import decode, patterns
from gpudbg.isa.operands import SReg
from gpudbg.isa.spa5.sched import BUNDLE_BYTES

_S2R, _CS2R, _OPCODE = 0xF0C8, 0x50C8, 0xFFF8
"""The top 16 bits of the instructions that read one, and the mask of those that count."""
_WIDE_OPS = frozenset(("S2R", "S2UR", "CS2R", "CS2UR"))


@lru_cache(maxsize=64)
def registers_read(code: bytes, arch: str = "sm_50") -> frozenset[int]:
    """Special registers that code, from its first bundle on, names in S2R and CS2R."""
    words = np.frombuffer(code, "<u8", len(code) // 8)
    if is_wide(arch):
        return _read_by_wide(code, words, arch)
    reads = np.isin(words >> np.uint64(48) & np.uint64(_OPCODE), (_S2R, _CS2R))
    reads[:: BUNDLE_BYTES // 8] = False
    return frozenset((words[reads] >> np.uint64(20) & np.uint64(0xFF)).tolist())


def _read_by_wide(code: bytes, words: npt.NDArray[np.uint64], arch: str) -> frozenset[int]:
    """The same of 128-bit words; a CS2R reads two that follow one another."""
    low = words[::2][: len(words) // 2]
    found: set[int] = set()
    hits = np.zeros(len(low), bool)
    for mask, value in patterns(_WIDE_OPS, arch):
        hits |= (low & np.uint64(mask)) == np.uint64(value)
    for word in {SINGLE.word_at(code, 16 * n) for n in np.flatnonzero(hits).tolist()}:
        try:
            insn = decode(word, arch)
        except DecodeError:
            continue
        for operand in insn.o.values():
            if insn.op in _WIDE_OPS and isinstance(operand, SReg):
                found.update((operand.index, operand.index + 1))
    return frozenset(found)
