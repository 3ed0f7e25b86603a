"""Constant banks c[0x0] .. c[0x11] as a launch binds them."""

from __future__ import annotations

from collections.abc import Mapping

from gpudbg.mem.check import clean, misaligned, outside
from gpudbg.mem.faults import MemoryFault
from gpudbg.mem.lanes import U32, first_lane
from gpudbg.mem.store import ByteStore

_EMPTY = ByteStore(0)


class ConstantBanks:
    """Bank number to bytes; a bank may be a live allocation (`__constant__` data).

    Attributes:
        banks: the bound banks; reading another is an error.
    """

    __slots__ = ("_words", "banks")

    def __init__(self, banks: Mapping[int, ByteStore]) -> None:
        self.banks = dict(banks)
        self._words: dict[tuple[int, int], U32] = {}

    def bound(self, bank: int) -> int:
        """Bytes of a bank that can be read: whole words, so that a 16-bit parameter at the end of
        c[0x0] can be an operand, which is always a word; 0 where it is not bound."""
        size = self.banks.get(bank, _EMPTY).size
        return size + -size % 4

    def word(self, bank: int, offset: int) -> U32:
        """The 32-bit word c[bank][offset] as a live array of one element.

        Raises:
            MemoryFault: MISALIGNED_IMMC_ADDR or INVALID_CONST_ADDR.
        """
        found = self._words.get((bank, offset))
        if found is None:
            store = self.banks.get(bank, _EMPTY)
            if offset % 4:
                raise _bad("MISALIGNED_IMMC_ADDR", bank, offset, store, "is not a multiple of 4")
            if not 0 <= offset < self.bound(bank):
                raise _bad("INVALID_CONST_ADDR", bank, offset, store, "is outside the bank")
            found = store.words[offset >> 2 : (offset >> 2) + 1]
            self._words[bank, offset] = found
        return found

    def gather(self, bank: int, offsets: U32, lanes: int, size: int, signed: bool) -> list[U32]:
        """LDC: `size` bytes at 32 offsets of one bank.

        Raises:
            MemoryFault: MISALIGNED_ADDR or INVALID_CONST_ADDR_LDC.
        """
        store = self.banks.get(bank, _EMPTY)
        offsets = clean(offsets, lanes)
        for code, bad in (
            ("MISALIGNED_ADDR", misaligned(offsets, lanes, size)),
            ("INVALID_CONST_ADDR_LDC", outside(offsets, lanes, size, self.bound(bank))),
        ):
            if bad:
                address = int(offsets[first_lane(bad)])
                text = f"c[0x{bank:x}][0x{address:x}], {size} bytes; the bank has {store.size}"
                raise MemoryFault(code, bad, address, "const", text)
        return store.gather(offsets, lanes, size, signed)


def _bad(code: str, bank: int, offset: int, store: ByteStore, why: str) -> MemoryFault:
    text = f"c[0x{bank:x}][0x{offset:x}] {why} ({store.size} bytes)"
    return MemoryFault(code, 0, offset, "const", text)
