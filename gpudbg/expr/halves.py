"""`__half` and `__nv_bfloat16`: structures of one 16-bit word that CUDA's headers give a number's
operators, so expressions take them for numbers."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gpudbg.expr.types import CType, Struct

HALF: Final = "__half"
BFLOAT: Final = "__nv_bfloat16"


def is_half(type_: CType) -> bool:
    """Whether a type is one of the two."""
    return isinstance(type_, Struct) and type_.size == 2 and type_.name in (HALF, BFLOAT)


def numbers_of(type_: CType, words: NDArray[np.uint16]) -> NDArray[np.float32]:
    """The numbers that 16-bit words are."""
    if isinstance(type_, Struct) and type_.name == BFLOAT:
        return (words.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return words.view(np.float16).astype(np.float32)


def words_of(type_: CType, values: NDArray[Any]) -> NDArray[np.uint16]:
    """Numbers as 16-bit words, rounded to the nearest, ties to even."""
    if not isinstance(type_, Struct) or type_.name != BFLOAT:
        return values.astype(np.float16).view(np.uint16)
    bits = np.ascontiguousarray(values.astype(np.float32)).view(np.uint32)
    odd = bits >> np.uint32(16) & np.uint32(1)
    rounded = (bits + np.uint32(0x7FFF) + odd) >> np.uint32(16)
    quiet = bits >> np.uint32(16) | np.uint32(0x40)
    return np.where(np.isnan(values), quiet, rounded).astype(np.uint16)
