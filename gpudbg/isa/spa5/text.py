"""Listings: the text of a code section, line by line, as cuobjdump and nvdisasm print it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...errors import DecodeError
from ..control import REUSE, Control
from .decode import decode
from .insn import Instruction
from .sched import BUNDLE_BYTES, NEUTRAL_GROUP, instructions

GUARD_COLUMN = 19
"""Blanks between the address and the mnemonic; guard and `{` stand in them."""
_NO_GUARD = " " * GUARD_COLUMN
_NO_REUSE = ~REUSE.mask


class NarrowLine(NamedTuple):
    """One instruction of a listing.

    `insn` is None for an illegal word, whose `error` says why.  `opens` and `closes` are the
    braces of a dual-issue pair.
    """

    address: int
    word: int
    group: int
    insn: Instruction | None
    error: str
    opens: bool
    closes: bool

    @property
    def control(self) -> Control:
        """The instruction's scheduling hints."""
        return Control.decode(self.group)

    @property
    def text(self) -> str:
        """Guard, mnemonic and operands; `.word 0x...` for an illegal word."""
        if self.insn is None:
            return f".word {self.word:#018x}"
        return self.insn.text(self.address, self.group)

    @property
    def halves(self) -> tuple[int, ...]:
        """The word as its comment shows it."""
        return (self.word,)

    def body(self, braces: bool = False) -> str:
        """The text in its column with its semicolon; `braces` of dual issue as nvdisasm only."""
        rest = self.text
        lead = _NO_GUARD
        if rest.startswith("@"):
            guard, _, rest = rest.partition(" ")
            lead = f"{guard:>{GUARD_COLUMN - 1}} "
        if self.opens and braces:
            lead = lead[:9] + "{" + lead[10:]
        # nvdisasm leaves the blank out where the group says nothing, as padding's does.
        blank = "" if self.group & _NO_REUSE == NEUTRAL_GROUP else " "
        end = " " * 8 + "}" if self.closes and braces else ";"
        return lead + rest + blank + end


def lines(code: bytes, arch: str = "sm_50", base: int = 0) -> Iterator[NarrowLine]:
    """The instructions of a code section in order; illegal words are lines too."""
    closes = False
    for address, word, group in instructions(code, base):
        insn, error = None, ""
        try:
            insn = decode(word, arch)
        except DecodeError as problem:
            error = problem.reason
        opens = not closes and Control.decode(group).dual_issue
        yield NarrowLine(address, word, group, insn, error, opens, closes)
        closes = opens


def listing(code: bytes, arch: str = "sm_50", base: int = 0, braces: bool = False) -> Sequence[str]:
    """The lines `cuobjdump -sass` prints for a function, control words included.

    With `braces`, dual-issue pairs are marked as nvdisasm marks them.  The column of the comments
    follows the longest line.
    """
    rows = list(lines(code, arch, base))
    bodies = [row.body(braces) for row in rows]
    width = max(map(len, bodies), default=0)
    out = []
    for row, body in zip(rows, bodies, strict=True):
        if row.address % BUNDLE_BYTES == 8:
            start = row.address - 8 - base
            control = int.from_bytes(code[start : start + 8], "little")
            out.append(f"{'':{16 + width + 2}}/* {control:#018x} */")
        address = f"        /*{row.address:04x}*/"
        out.append(f"{address}{body:<{width}}  /* {row.word:#018x} */")
    return out
