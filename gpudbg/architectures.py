"""The architectures there are: how wide their words are, and whose tables they share."""

from __future__ import annotations

import re
from functools import cache
from typing import overload

NARROW = ("sm_50", "sm_52", "sm_53", "sm_60", "sm_61", "sm_62")
"""Those with 64-bit instruction words."""
WIDE = {
    "sm_70": "70", "sm_72": "72", "sm_75": "75", "sm_80": "80", "sm_86": "86", "sm_87": "86",
    "sm_88": "86", "sm_89": "89", "sm_90": "90", "sm_90a": "90", "sm_100": "100",
    "sm_100a": "100", "sm_100f": "100", "sm_101": "110", "sm_101a": "110", "sm_101f": "110",
    "sm_103": "103", "sm_103a": "103", "sm_103f": "103", "sm_110": "110", "sm_110a": "110",
    "sm_110f": "110", "sm_120": "120", "sm_120a": "120", "sm_120f": "120", "sm_121": "120",
    "sm_121a": "120", "sm_121f": "120",
}  # fmt: skip
"""Those with 128-bit instruction words, and whose instruction tables they share."""
RUN = (*NARROW, *WIDE)
"""Those whose code runs: all."""
LISTED = RUN


@overload
def real(arch: str) -> str: ...
@overload
def real(arch: None) -> None: ...
def real(arch: str | None) -> str | None:
    """The architecture that a name means: `compute_80`, which compilers take too, is sm_80."""
    virtual = isinstance(arch, str) and arch.startswith("compute_")
    return "sm_" + str(arch).removeprefix("compute_") if virtual else arch


@cache
def is_wide(arch: str) -> bool:
    """Whether an architecture's instructions have 128 bits."""
    return arch in WIDE


@cache
def age(arch: str) -> tuple[int, str]:
    """What sorts architectures: sm_90 before sm_90a and sm_100."""
    number = re.sub(r"\D", "", arch)
    return int(number or 0), arch
