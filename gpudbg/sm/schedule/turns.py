"""Where a warp's turn may end: the one rule that every engine follows.

A turn lasts at least its number of instructions and ends at the next *turn point*: after an
instruction of flow, or at the start of a piece of code of 64 words.  Compiled code has the ends of
its basic blocks there, so turns cost it nothing (*modelled*, like the schedule itself).
"""

from __future__ import annotations

from gpudbg.dataclass import dataclass

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

FLOW_WIDE = frozenset(
    "BAR BRA BRX BRXU BSYNC CALL EXIT JMP JMX JMXU KILL NANOSLEEP RET UCGABAR_ARV UCGABAR_WAIT "
    "WARPSYNC YIELD".split()
)
"""Mnemonics of the 128-bit sets after which a turn may end."""

LONGEST = 64
"""Most instructions from anywhere to the next turn point."""

SETTLED = 256
"""Instructions after which a warp's turns are `LONGER` times as long: what is short enough to be
followed by eye sees all warps get on; a loop's code, which saves its state where a turn is over,
took a tenth of the time for that."""
LONGER = 4


@dataclass(frozen=True, slots=True)
class TurnPoints:
    """Where turns may end in the code of a family of architectures.

    Attributes:
        flow: mnemonics after which one may.
        piece_bytes: bytes of a piece of code, a power of two.
        first: where in a piece its first instruction stands.
    """

    flow: frozenset[str]
    piece_bytes: int
    first: int

    def starts_piece(self, pc: int) -> bool:
        """Whether an instruction is the first of its piece of code."""
        return pc & (self.piece_bytes - 1) == self.first


NARROW = TurnPoints(FLOW, 512, 8)
"""sm_50 to sm_62: the first word of a bundle holds no instruction."""
WIDE = TurnPoints(FLOW_WIDE, 16 * LONGEST, 0)
"""sm_70 and later."""

TURN_POINTS = {True: NARROW, False: WIDE}
"""By whether the code has control words (`gpudbg.code_layout`)."""
