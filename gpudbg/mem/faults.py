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
        unmapped: nothing is mapped at the address: `message` says so of the access.
    """

    def __init__(
        self, code: str, lanes: int, address: int, space: str, detail: str, unmapped: bool = False
    ) -> None:
        super().__init__(detail)
        self.unmapped = unmapped
        self.code = code
        self.lanes = lanes
        self.address = address
        self.space = space
        self.detail = detail

    def message(self, access: str, size: int) -> str:
        """`4-byte load from unmapped address 0x1000`: the detail, of a known kind of access."""
        if not self.unmapped:
            return self.detail
        return unmapped_words(self.address, size, access)


NULL_BYTES = 4096
"""Addresses below this are a null pointer, or a member of what one points to."""
_WORDS = {"load": "load from", "store": "store to", "atomic": "atomic on"}


def null_words(address: int) -> str:
    """`a null pointer + 16`"""
    return "a null pointer" + (f" + {address}" if address else "")


def unmapped_words(address: int, size: int, access: str = "") -> str:
    """An access where nothing is mapped, in words; a null pointer is named."""
    null = f", {null_words(address)}" if address < NULL_BYTES else ""
    what = _WORDS.get(access, f"{access or 'access'} to")
    return f"{size}-byte {what} unmapped address 0x{address:x}{null}"
