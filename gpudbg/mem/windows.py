"""Generic addresses: two windows look into shared and local memory, the rest is global.

Both have 16 MB.  From sm_90 on the shared one has 4 GB: bits 24 to 31 of an address are the rank of
a CTA in its cluster (*inferred* from compiled code), and the local one lies elsewhere.

Bases are what the driver writes to c[0x0][0x0] and c[0x0][0x4] (on sm_6x with high words at
0x100 and 0x104).  That they are 16 MB and aligned is *documented* (SR_SWINSZ, SR_LWINSZ);
where they lie is *modelled*.
"""

from __future__ import annotations

from gpudbg.architectures import age, is_wide
from gpudbg.dataclass import dataclass

WINDOW_BYTES = 1 << 24
RANK_SHIFT = 24
"""Where the rank of a CTA begins in an address of shared memory, from sm_90 on."""
CLUSTER_WINDOW_BYTES = 1 << 32


@dataclass(frozen=True, slots=True)
class AddressLayout:
    """Where things lie in one architecture's virtual address space.

    Attributes:
        bits: width of a virtual address.
        shared_window, local_window: bases; up to sm_89 the local one follows the shared one.
        heap_base: address of the first allocation.
        shared_bytes: size of the shared window.
    """

    bits: int
    shared_window: int
    local_window: int
    heap_base: int
    shared_bytes: int = WINDOW_BYTES

    @property
    def ranked(self) -> bool:
        """Whether addresses of shared memory name a CTA of the cluster."""
        return self.shared_bytes > WINDOW_BYTES

    def in_shared(self, address: int) -> bool:
        """Whether a generic address lies in the shared window."""
        return 0 <= address - self.shared_window < self.shared_bytes

    def in_local(self, address: int) -> bool:
        """Whether a generic address lies in the local window."""
        return 0 <= address - self.local_window < WINDOW_BYTES


SM_5X = AddressLayout(40, 0x0100_0000, 0x0200_0000, 0x7_0500_0000)
SM_7X = AddressLayout(49, 0x7FFF_0000_0000, 0x7FFF_0100_0000, 0x7FA0_0000_0000)
SM_9X = AddressLayout(
    49, 0x7FFF_0000_0000, 0x7FFE_0000_0000, 0x7FA0_0000_0000, CLUSTER_WINDOW_BYTES
)
"""Code of sm_90 takes the low word of the shared window's base for zero."""
SM_6X = AddressLayout(49, 0x7FFF_0100_0000, 0x7FFF_0200_0000, 0x7FA0_0000_0000)


def layout_for(arch: str) -> AddressLayout:
    """The layout of an architecture."""
    if is_wide(arch):
        return SM_9X if age(arch)[0] >= 90 else SM_7X
    return SM_6X if arch.startswith("sm_6") else SM_5X
