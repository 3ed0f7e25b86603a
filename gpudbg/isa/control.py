"""Scheduling bits of one instruction: a 21-bit group, laid out alike in both families.

Up to sm_62 a bundle's control word holds the groups of its three instructions; from sm_70 on every
word holds its own in bits 125:105.

Notation of a group, used by listings and the assembler: `B--2---:R0:W3:Y:S04:-12` with the
scoreboards waited for, the read and the write barrier set (`R-`, `W-`: none), the yield hint,
the stall count and the reuse bits.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import ClassVar, Self

from gpudbg.dataclass import dataclass

from ..bits import Field
from ..errors import AssembleError

GROUP_BITS = 21
CONTROL_LOW = 105
"""Lowest bit of the group in a 128-bit word."""
NO_BARRIER = 7
SCOREBOARDS = 6

STALL = Field(3, 0)
NO_YIELD = Field(4, 4)
WRITE_BARRIER = Field(7, 5)
READ_BARRIER = Field(10, 8)
WAIT_MASK = Field(16, 11)
REUSE = Field(20, 17)

_NOTATION = re.compile(
    r"B([0-5-]{6}):R([0-6-]):W([0-6-]):([Y-]):S(\d\d):([0-]?)([1-]?)([2-]?)([3-]?)$"
)


@dataclass(frozen=True, slots=True)
class Control:
    """One instruction's group.

    `write_barrier` and `read_barrier` are scoreboards 0..6 or None; `wait` and `reuse` are bit
    masks.  `yield_` is True when the group's bit 4 is 0 (the usual case is False: bit set).
    """

    REUSE_SLOTS: ClassVar[int] = 4

    stall: int = 0
    yield_: bool = True
    write_barrier: int | None = None
    read_barrier: int | None = None
    wait: int = 0
    reuse: int = 0

    @classmethod
    @lru_cache(maxsize=1 << 12)
    def decode(cls, group: int) -> Self:
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

    @property
    def waits(self) -> list[int]:
        """Scoreboards waited for."""
        return [n for n in range(SCOREBOARDS) if self.wait >> n & 1]

    def words(self) -> str:
        """The group in words: `stall 2, no yield, sets SB0 when written`."""
        out = [f"stall {self.stall}", "yield" if self.yield_ else "no yield"]
        for barrier, when in ((self.write_barrier, "written"), (self.read_barrier, "read")):
            if barrier is not None:
                out.append(f"sets SB{barrier} when {when}")
        if self.wait:
            out.append("waits for " + " ".join(f"SB{n}" for n in self.waits))
        return ", ".join(out)

    def __str__(self) -> str:
        waits = "".join(str(n) if self.wait >> n & 1 else "-" for n in range(SCOREBOARDS))
        read = "-" if self.read_barrier is None else self.read_barrier
        write = "-" if self.write_barrier is None else self.write_barrier
        reuse = "".join(str(n) if self.reuse >> n & 1 else "-" for n in range(self.REUSE_SLOTS))
        mark = "Y" if self.yield_ else "-"
        return f"B{waits}:R{read}:W{write}:{mark}:S{self.stall:02d}:{reuse}"

    @classmethod
    def parse(cls, text: str) -> Self:
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
