"""The one exception of memory: which lanes did what wrong where."""

from __future__ import annotations


class MemoryFault(Exception):  # noqa: N818 - the field says fault
    """An access that must not happen; nothing was read or written.

    Attributes:
        code: warp error name (`gpudbg.regs.esr`): MISALIGNED_ADDR, OOR_ADDR, MMU_FAULT...
        lanes: mask of the guilty lanes.
        address: of the first guilty lane, as the program gave it.
        space: "global", "shared", "local", "const" or "generic".
        detail: one line for people.
    """

    def __init__(self, code: str, lanes: int, address: int, space: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.lanes = lanes
        self.address = address
        self.space = space
        self.detail = detail
