"""The word of an mbarrier of sm_90 and later: arrivals, transactions, phases.

Bit 63 is the phase, bits 43 to 62 minus the pending arrivals, 1 to 20 minus the expected ones
(*inferred*: compiled code builds and reads them).  Where the bytes of transactions are counted is
not public; here they are a signed number in bits 22 to 42 (*modelled*: policy `mbarrier-word`).
"""

from __future__ import annotations

from typing import Final

from gpudbg.dataclass import dataclass

COUNT: Final = (1 << 20) - 1
"""Most arrivals."""
TX_BITS: Final = 21
TX_SHIFT: Final = 22
PENDING_SHIFT: Final = 43
_WORD: Final = (1 << 64) - 1
_STEP: Final = COUNT + 1


@dataclass(frozen=True, slots=True)
class State:
    """What the word of an mbarrier says.

    Attributes:
        phase: 0 or 1, the parity of the phase that goes on.
        pending: arrivals that are to come.
        expected: arrivals of each phase.
        bytes: transactions that are to come; below 0 where they came before they were expected.
    """

    phase: int
    pending: int
    expected: int
    bytes: int

    @property
    def words(self) -> str:
        """`phase 0 goes on: 1 of 2 arrivals and 512 bytes are to come`"""
        left = [f"{self.pending} of {self.expected} arrivals"] if self.pending else []
        left += [f"{self.bytes} bytes"] if self.bytes else []
        what = " and ".join(left) or "nothing"
        verb = "is" if left == [] or (self.pending == 1 and not self.bytes) else "are"
        return f"phase {self.phase} goes on: {what} {verb} to come"


def read(word: int) -> State:
    """The word of sm_90 and later in parts."""
    count = word >> TX_SHIFT & (1 << TX_BITS) - 1
    if count >> (TX_BITS - 1):
        count -= 1 << TX_BITS
    return State(word >> 63, -(word >> PENDING_SHIFT) & COUNT, -(word >> 1) & COUNT, count)


def read_early(word: int) -> State:
    """Decode the word of sm_80 to sm_89: low half minus the expected arrivals; high half the phase
    in its top bit, minus the pending arrivals below.
    """
    return State(word >> 63, -(word >> 32) & 0x7FFF_FFFF, -word & 0x3FFF_FFFF, 0)


def write(state: State) -> int:
    """The word of a state."""
    pending, expected = -state.pending & COUNT, -state.expected & COUNT
    count = state.bytes & (1 << TX_BITS) - 1
    return state.phase << 63 | pending << PENDING_SHIFT | count << TX_SHIFT | expected << 1


def update(word: int, arrivals: int, transactions: int, drops: bool = False) -> int:
    """The word after transactions have been expected (or, below 0, completed) and threads arrived.

    Args:
        word: as it was.
        arrivals: how many.
        transactions: bytes to be added to those that are to come.
        drops: the arriving threads are not expected in later phases.
    """
    old = read(word)
    pending = old.pending - arrivals & COUNT
    expected = old.expected - arrivals & COUNT if drops else old.expected
    count, phase = old.bytes + transactions, old.phase
    if pending == 0 and count == 0:
        phase, pending = phase ^ 1, expected
    return write(State(phase, pending, expected, count))


def passed(word: int, wanted: int) -> bool:
    """Whether the phase whose parity is in bit 31 of `wanted` is complete."""
    return bool(word >> 63 != wanted >> 31 & 1)
