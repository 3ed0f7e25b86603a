"""When a run is checked for a hang: at totals of instructions, the same on every engine."""

from __future__ import annotations

from typing import Final

FIRST: Final = 1 << 16
"""Warp instructions before the first check."""
FIRST_SOON: Final = 1 << 12
"""Warp instructions before the first check where a slow run should end early."""
FIRST_POLLS: Final = 256
"""Consecutive polls before a check; each further check needs twice as many."""
AFTER_CHECK: Final = 8
AFTER_PROGRESS: Final = 2
"""Factor from the present total to that of the next check: a check costs milliseconds; one skipped
because a CTA has ended costs nothing.
"""


class HangChecks:
    """The hang checks of one launch.

    Attributes:
        at: total at which the next is due.
        following: a look at the next turn's end was asked for, beside those.
        times: how many there were.
        polls: turns in a row that ended because their warps poll.
        patience: as many of them bring the next look forward.
    """

    __slots__ = ("_done", "_idle", "_later", "at", "following", "patience", "polls", "times")

    def __init__(self) -> None:
        self.at, self.times, self._done = FIRST, 0, 0
        self.following, self._later = False, 0
        self._idle = AFTER_CHECK
        self.polls, self.patience = 0, FIRST_POLLS

    def sooner(self) -> None:
        """Check early and often."""
        self.at, self._idle = min(self.at, FIRST_SOON), AFTER_PROGRESS

    def polled(self, yes: bool, total: int) -> None:
        """A turn has ended, because its warp polls an mbarrier or for another reason: after many
        polls in a row a look is due at once."""
        self.polls = self.polls + 1 if yes else 0
        if self.polls >= self.patience:
            self.polls, self.patience = 0, self.patience * AFTER_PROGRESS
            self.at = min(self.at, total)

    def follow(self, total: int) -> None:
        """Look at the end of the next turn, too."""
        if not self.following:
            self.following, self._later = True, self.at
        self.at = total + 1

    def followed(self) -> bool:
        """Whether this is such a look; the next is due as it was."""
        was, self.following = self.following, False
        if was:
            self.at = self._later
        return was

    def due(self, total: int, ctas_done: int) -> bool:
        """Whether it is worth looking, now that the total has been reached: no CTA has ended since
        the last time.  Settles when the next is due."""
        progressed, self._done = ctas_done != self._done, ctas_done
        self.at = total * (AFTER_PROGRESS if progressed else self._idle)
        self.times += not progressed
        return not progressed
