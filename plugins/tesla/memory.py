"""Video memory of the model: sparse 32-bit words, 0 where nothing was written."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpudbg.errors import UsageError


@dataclass(slots=True)
class WordMemory:
    """Words by byte address (a multiple of 4, below 2^40)."""

    words: dict[int, int] = field(default_factory=dict)

    @staticmethod
    def _check(address: int) -> None:
        if address % 4 or not 0 <= address < 1 << 40:
            raise UsageError(f"0x{address:x} is not the address of a word", "aligned, below 2^40")

    def read(self, address: int) -> int:
        """The word at an address."""
        self._check(address)
        return self.words.get(address, 0)

    def write(self, address: int, value: int) -> None:
        """Store a word."""
        self._check(address)
        self.words[address] = value & 0xFFFFFFFF
