"""Descriptors of constant banks that code names by a pair of uniform registers, cx[UR][offset].

Their fields are those that the open-source Vulkan driver (Mesa's NVK) writes (*documented*).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from gpudbg.mem.lanes import U64

_SIZE_UNIT: Final = 4
_BEFORE_HOPPER: Final = (45, 4)
_HOPPER: Final = (51, 6)
"""Bits of the address, and how far it is moved down; the size stands above it, in sixteens."""


class Banks(NamedTuple):
    """Where banks lie and how large they are, lane by lane."""

    places: U64
    sizes: U64


def banks(descriptors: U64, hopper: bool) -> Banks:
    """Args: hopper: the architecture is sm_90 or later."""
    bits, unit = _HOPPER if hopper else _BEFORE_HOPPER
    places = (descriptors & np.uint64((1 << bits) - 1)) << np.uint64(unit)
    return Banks(places, descriptors >> np.uint64(bits) << np.uint64(_SIZE_UNIT))
