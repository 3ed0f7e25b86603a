"""Generic addresses: two 16 MB windows look into shared and local memory, the rest is global.

Bases are what the driver writes to c[0x0][0x0] and c[0x0][0x4] (on sm_6x with high words at
0x100 and 0x104).  That they are 16 MB and aligned is *documented* (SR_SWINSZ, SR_LWINSZ);
where they lie is *modelled*.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpudbg.architectures import is_wide

WINDOW_BYTES = 1 << 24


@dataclass(frozen=True, slots=True)
class AddressLayout:
    """Where things lie in one architecture's virtual address space.

    Attributes:
        bits: width of a virtual address.
        shared_window, local_window: bases; the local window follows the shared one.
        heap_base: address of the first allocation.
    """

    bits: int
    shared_window: int
    local_window: int
    heap_base: int


SM_5X = AddressLayout(40, 0x0100_0000, 0x0200_0000, 0x7_0500_0000)
SM_7X = AddressLayout(49, 0x7FFF_0000_0000, 0x7FFF_0100_0000, 0x7FA0_0000_0000)
"""Code of sm_90 takes the low word of the shared window's base for zero."""
SM_6X = AddressLayout(49, 0x7FFF_0100_0000, 0x7FFF_0200_0000, 0x7FA0_0000_0000)


def layout_for(arch: str) -> AddressLayout:
    """The layout of an architecture."""
    if is_wide(arch):
        return SM_7X
    return SM_6X if arch.startswith("sm_6") else SM_5X
