"""A warp's 32 lanes as arrays and masks, and the names of its flags."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

LANES = 32
RZ = 255
"""The register that reads 0 and swallows what is written."""
FLAGS = "ZSCO"
"""Condition-code flags in bit order (P2R order)."""


def mask_array(mask: int) -> NDArray[np.bool_]:
    """A lane mask as 32 booleans."""
    return (np.uint32(mask) >> np.arange(LANES, dtype=np.uint32) & np.uint32(1)).astype(bool)


def array_mask(lanes: Any) -> int:
    """32 booleans as a lane mask."""
    return int(np.packbits(np.asarray(lanes, bool), bitorder="little").view("<u4")[0])


def fixed(array: NDArray[Any]) -> NDArray[Any]:
    """The array, read-only: a copy of the machine's, in which an assignment would be lost."""
    array.setflags(write=False)
    return array
