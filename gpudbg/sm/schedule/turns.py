"""Where a warp's turn may end: the one rule that every engine follows.

A turn lasts at least its number of instructions and ends at the next *turn point*: after an
instruction of flow, or at the start of a 512-byte piece of code.  Compiled code has the ends of
its basic blocks there, so turns cost it nothing (*modelled*, like the schedule itself).
"""

from __future__ import annotations

FLOW = frozenset(
    (
        "BAR",
        "BRA",
        "BRK",
        "BRX",
        "CAL",
        "CONT",
        "EXIT",
        "JCAL",
        "JMP",
        "JMX",
        "KIL",
        "LONGJMP",
        "RET",
        "SYNC",
    )
)
"""Mnemonics after which a turn may end."""

PIECE_BYTES = 512
FIRST_IN_PIECE = 8
"""The first word of a bundle holds no instruction."""

LONGEST = PIECE_BYTES // 8
"""Most instructions from anywhere to the next turn point."""


def starts_piece(pc: int) -> bool:
    """Whether an instruction is the first of its piece of code."""
    return pc & (PIECE_BYTES - 1) == FIRST_IN_PIECE
