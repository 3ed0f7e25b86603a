"""Control words: the scheduling hints of a bundle of three instructions.

A code section is a sequence of 32-byte bundles, little-endian: one 64-bit control word, then
three instruction words at offsets 8, 16 and 24.  The control word holds three 21-bit groups,
lowest bits for the first instruction; bit 63 is ignored.

Notation of one group, used by listings and the assembler: `B--2---:R0:W3:Y:S04:-12` with the
scoreboards waited for, the read and the write barrier set (`R-`, `W-`: none), the yield hint,
the stall count and the reuse bits.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ...bits import Field
from ...errors import AssembleError

GROUP_BITS = 21
BUNDLE_BYTES = 32
WORD_BYTES = 8
NO_BARRIER = 7

STALL = Field(3, 0)
NO_YIELD = Field(4, 4)
WRITE_BARRIER = Field(7, 5)
READ_BARRIER = Field(10, 8)
WAIT_MASK = Field(16, 11)
REUSE = Field(20, 17)

NEUTRAL_GROUP = 0x7E0
"""No stall, no barriers, no waits, no reuse: accepted with every instruction."""

_NOTATION = re.compile(
    r"B([0-5-]{6}):R([0-6-]):W([0-6-]):([Y-]):S(\d\d):([0-]?)([1-]?)([2-]?)([3-]?)$"
)


@dataclass(frozen=True, slots=True)
class Control:
    """One instruction's group.

    `write_barrier` and `read_barrier` are scoreboards 0..6 or None; `wait` and `reuse` are bit
    masks.  `yield_` is True when the group's bit 4 is 0 (the usual case is False: bit set).
    """

    stall: int = 0
    yield_: bool = True
    write_barrier: int | None = None
    read_barrier: int | None = None
    wait: int = 0
    reuse: int = 0

    @classmethod
    @lru_cache(maxsize=1 << 12)
    def decode(cls, group: int) -> Control:
        """The fields of a 21-bit group."""
        write, read = WRITE_BARRIER.get(group), READ_BARRIER.get(group)
        return cls(
            stall=STALL.get(group),
            yield_=not NO_YIELD.get(group),
            write_barrier=None if write == NO_BARRIER else write,
            read_barrier=None if read == NO_BARRIER else read,
            wait=WAIT_MASK.get(group),
            reuse=REUSE.get(group),
        )

    def encode(self) -> int:
        """The 21-bit group."""
        group = STALL.put(0, self.stall)
        group = NO_YIELD.put(group, 0 if self.yield_ else 1)
        write = NO_BARRIER if self.write_barrier is None else self.write_barrier
        read = NO_BARRIER if self.read_barrier is None else self.read_barrier
        group = READ_BARRIER.put(WRITE_BARRIER.put(group, write), read)
        return REUSE.put(WAIT_MASK.put(group, self.wait), self.reuse)

    @property
    def dual_issue(self) -> bool:
        """True when this instruction issues together with the next one (stall 0, no yield)."""
        return self.stall == 0 and not self.yield_

    def __str__(self) -> str:
        waits = "".join(str(i) if self.wait >> i & 1 else "-" for i in range(6))
        read = "-" if self.read_barrier is None else self.read_barrier
        write = "-" if self.write_barrier is None else self.write_barrier
        reuse = "".join(str(i) if self.reuse >> i & 1 else "-" for i in range(4))
        mark = "Y" if self.yield_ else "-"
        return f"B{waits}:R{read}:W{write}:{mark}:S{self.stall:02d}:{reuse}"

    @classmethod
    def parse(cls, text: str) -> Control:
        """Read the notation `str()` writes.

        Raises:
            AssembleError: text that is not in the notation.
        """
        found = _NOTATION.match(text.strip())
        if not found or int(found[5]) > 15 or not _in_order(found[1]):
            raise AssembleError(
                f"control {text.strip()!r}", expected="Bwaits:Rn:Wn:Y:Snn:reuse, '-' for none"
            )
        return cls(
            stall=int(found[5]),
            yield_=found[4] == "Y",
            write_barrier=None if found[3] == "-" else int(found[3]),
            read_barrier=None if found[2] == "-" else int(found[2]),
            wait=sum(1 << i for i, c in enumerate(found[1]) if c != "-"),
            reuse=sum(1 << i for i in range(4) if found[6 + i] not in ("", "-")),
        )


def _in_order(waits: str) -> bool:
    """Every scoreboard stands at its own place of the wait column."""
    return all(c in ("-", str(i)) for i, c in enumerate(waits))


def groups(control_word: int) -> tuple[int, int, int]:
    """The three 21-bit groups of a control word."""
    mask = (1 << GROUP_BITS) - 1
    return (
        control_word & mask,
        control_word >> GROUP_BITS & mask,
        control_word >> 2 * GROUP_BITS & mask,
    )


def pack(first: int, second: int, third: int) -> int:
    """A control word from three groups."""
    return first | second << GROUP_BITS | third << 2 * GROUP_BITS


def is_control(address: int) -> bool:
    """True for the addresses of control words, which hold no instruction."""
    return address % BUNDLE_BYTES == 0


def instruction_before(pc: int) -> int:
    """The instruction that stands before one: where a warp is that has passed it and waits."""
    before = first_instruction(pc) - 8
    return before - 8 if before % 32 == 0 else before


def first_instruction(address: int) -> int:
    """The instruction an address means: a bundle's start stands for its first instruction."""
    return address + 8 if address % BUNDLE_BYTES == 0 else address


def next_instruction(address: int) -> int:
    """Address of the instruction after the one at `address`, control words skipped."""
    return first_instruction(address + 8)


def instructions(code: bytes, base: int = 0) -> Iterator[tuple[int, int, int]]:
    """(address, word, control group) of every instruction of a code section.

    A last bundle that is cut short yields the whole words it has.
    """
    words = struct.unpack_from(f"<{len(code) // WORD_BYTES}Q", code)
    parts = (0, 0, 0)
    for number, word in enumerate(words):
        slot = number & 3
        if slot == 0:
            parts = groups(word)
        else:
            yield base + number * WORD_BYTES, word, parts[slot - 1]
