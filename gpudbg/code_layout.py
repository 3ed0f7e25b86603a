"""Where instructions stand in code: how wide words and bundles are, and nothing else.

sm_50 to sm_62 have 32-byte bundles: a 64-bit control word, then three 64-bit instructions.  From
sm_70 on every 16 bytes are an instruction that holds its own scheduling bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from functools import cache

from gpudbg.architectures import is_wide
from gpudbg.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CodeLayout:
    """How a family of architectures lays out instructions.

    Attributes:
        word_bytes: bytes of an instruction.
        bundle_bytes: bytes from one control word to the next; `word_bytes` where there are none.
        has_control_words: whether a bundle begins with a word that is no instruction.
    """

    word_bytes: int
    bundle_bytes: int
    has_control_words: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "has_control_words", self.bundle_bytes > self.word_bytes)

    @property
    def per_bundle(self) -> int:
        """Instructions of a bundle."""
        return self.bundle_bytes // self.word_bytes - self.has_control_words

    def count(self, size: int) -> int:
        """Instructions in the whole bundles of a section of `size` bytes."""
        return size // self.bundle_bytes * self.per_bundle

    def is_control(self, address: int) -> bool:
        """Whether a control word stands at an address."""
        return self.has_control_words and address % self.bundle_bytes == 0

    def holds_instruction(self, address: int) -> bool:
        """Whether an instruction can begin at an address."""
        return address % self.word_bytes == 0 and not self.is_control(address)

    def first(self, address: int) -> int:
        """The instruction an address means: a bundle's start stands for its first instruction."""
        inside = self.has_control_words and address % self.bundle_bytes == 0
        return address + self.word_bytes if inside else address

    def start(self, address: int) -> int:
        """The start of the bundle whose first instruction is there; the address elsewhere."""
        before = address - self.word_bytes
        return before if self.is_control(before) else address

    def next(self, address: int) -> int:
        """Address of the instruction after the one at `address`."""
        return self.first(address + self.word_bytes)

    def before(self, address: int) -> int:
        """Address of the instruction that stands before the one at `address`."""
        before = self.first(address) - self.word_bytes
        return before - self.word_bytes if self.is_control(before) else before

    def back(self, address: int, count: int) -> int:
        """Address of the instruction `count` before the one at `address`."""
        for _ in range(count):
            address = self.before(address)
        return address

    def onward(self, address: int) -> Iterator[int]:
        """Addresses of the instructions after the one at `address`, without end."""
        while True:
            address = self.next(address)
            yield address

    def offset_of(self, number: int) -> int:
        """Offset in a section of its instruction with this number, from 0."""
        bundle, slot = divmod(number, self.per_bundle)
        return bundle * self.bundle_bytes + (slot + self.has_control_words) * self.word_bytes

    def word_at(self, code: bytes, offset: int) -> int:
        """The instruction word at an offset of code."""
        return int.from_bytes(code[offset : offset + self.word_bytes], "little")

    def offsets(self, size: int) -> Iterator[int]:
        """Offsets of the instructions of a section of `size` bytes."""
        whole = range(0, size - self.word_bytes + 1, self.word_bytes)
        return (at for at in whole if not self.is_control(at))


BUNDLES = CodeLayout(8, 32)
"""sm_50 to sm_62."""
SINGLE = CodeLayout(16, 16)
"""sm_70 and later."""


@cache
def layout_of(arch: str) -> CodeLayout:
    """The layout of an architecture's code."""
    return SINGLE if is_wide(arch) else BUNDLES
