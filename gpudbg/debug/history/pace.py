"""When checkpoints are taken while a launch runs: by what they cost and how long the run is.

A checkpoint after every `EVERY` seconds of running lets a state near the present be had again
within a second; where one costs much they are further apart, so that recording stays a small share
of the run.  Seconds are of the processor, so that other work beside it changes nothing.
"""

from __future__ import annotations

from time import process_time
from typing import Final

EVERY: Final = 0.35
"""Seconds of running between two checkpoints, at least."""
FIRST: Final = 0.7
"""Seconds of running before the first one: a shorter run is carried out again as a whole."""
SPACING: Final = 12
"""A checkpoint's cost, that many times, is run between two of them, at least."""
_SLICE: Final = 0.1
"""Seconds of running between two readings of the clock."""
QUICK: Final = 400_000_000.0
"""Warp instructions a second that compiled code is expected to execute."""
_LEAST: Final = 20_000
"""Warp instructions between two readings, at least."""


class Pace:
    """How quick a launch runs and what a checkpoint of it costs.

    Attributes:
        rate: warp instructions a second, lately.
        cost: seconds that the last checkpoint took, with the contents of memory that it has kept
            since then.
    """

    __slots__ = ("_at", "_begun", "_kept", "_ran", "_taking", "cost", "rate")

    def __init__(self, rate: float = _LEAST / _SLICE) -> None:
        """Args: rate: what is expected before anything has run."""
        self.rate = rate
        self.cost = 0.0
        self._ran = self._taking = self._kept = 0.0
        self._begun: float | None = None
        self._at = 0

    def begin(self, total: int) -> None:
        """Note the total of instructions at which the launch begins to run."""
        self._begun, self._at = None, total

    def next_check(self, total: int) -> int:
        """The total of instructions at which a run is to pause for `due`."""
        return total + max(_LEAST, int(self.rate * _SLICE))

    def reached(self, total: int) -> None:
        """Note the total of instructions of a launch that runs on."""
        now, done = process_time(), total - self._at
        # A run that ends before its first pause is timed by the expected rate, without reading the
        # clock.
        took = done / self.rate if self._begun is None else now - self._begun
        self._ran += took
        if self._begun is not None and took > _SLICE / 20 and done > 0:
            self.rate = done / took
        self._begun, self._at = now, total

    def end(self, total: int) -> bool:
        """Note the total at the end of a run; whether a checkpoint may be due."""
        self._ran += (total - self._at) / self.rate
        self._at = total
        return self._ran >= FIRST

    def due(self, keeping: float) -> bool:
        """Whether it is time for a checkpoint.

        Args:
            keeping: seconds that it has cost in all to keep contents of memory.
        """
        self.cost = self._taking + keeping - self._kept
        return self._ran >= max(EVERY if self._taking else FIRST, SPACING * self.cost)

    def taken(self, seconds: float, keeping: float) -> None:
        """A checkpoint was taken."""
        self._taking, self._kept = seconds, keeping
        self.cost = max(self.cost, seconds)
        self._ran = 0.0
        if self._begun is not None:
            self._begun = process_time()

    @property
    def worth(self) -> int:
        """The least number of warp instructions whose replay costs more than a checkpoint."""
        return int(self.rate * 4 * self.cost)
