"""Shadow words of `screening`: three for each four-byte granule that is touched.

A word holds, from the lowest bit, when (24 bits: a count of the CTA), the CTA (24), who (11: a lane
of a warp; many lanes of a warp; many warps; many CTAs), whether it read through the path of memory
that nobody writes (1), and which bytes (4; of a strong access, the size).
"""

from __future__ import annotations

from typing import Final

PAGE_SHIFT: Final = 12
WORD_BYTES: Final = 8
WRITE, READ, ATOMIC = 0, 1, 2
"""The words of four bytes: the last write, the last reads, the last strong accesses.  Those of one
kind lie together, so that what is not needed is not touched."""
GRANULE_BYTES: Final = 3 * WORD_BYTES
"""Of shadow memory for four bytes at most."""
PLANE_BYTES: Final = WORD_BYTES << PAGE_SHIFT - 2
"""Words of one kind of a page of global memory."""
PAGE_BYTES: Final = 3 * PLANE_BYTES
TOUCHED: Final = 8
"""What pages of words lie at multiples of: lower bits of pointers to them say what was touched."""
CTA_SHIFT, WHO_SHIFT, RO_BIT, MASK_SHIFT = 24, 48, 59, 60
MOMENT: Final = (1 << WHO_SHIFT) - 1
WHO_MASK: Final = (1 << 11) - 1
LANES, WARPS_MANY, CTAS_MANY = 1024, 1056, 1057
"""Accessor numbers: first one for "many lanes of a warp"; for "many warps of a CTA"; for "many
CTAs".
"""
