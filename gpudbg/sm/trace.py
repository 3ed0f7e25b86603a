"""Executed instructions in batches: what observers of `instructions` are given.

Both engines fill the same buffer, one row of three 64-bit words for each warp instruction: its pc,
the mask of its lanes, and the CTA's number (high half) with the warp's index in it (low half).
The first row holds the number of rows that follow.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from gpudbg.sm.events import StopEvent
    from gpudbg.sm.grid import Grid
    from gpudbg.sm.state import WarpState

ROWS: Final = 16384
"""Instructions of a batch at most."""
WORDS: Final = 3
ROW_BYTES: Final = 8 * WORDS


@dataclass(frozen=True, slots=True)
class Batch:
    """Warp instructions in the order they were issued; valid during the call, so copy to keep.

    Attributes:
        rows: int64, (count, 3), see the module text.
    """

    rows: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def pc(self) -> npt.NDArray[np.int64]:
        """Code addresses."""
        return self.rows[:, 0]

    @property
    def lanes(self) -> npt.NDArray[np.uint32]:
        """Masks of the lanes that executed; 0: guarded off."""
        return self.rows[:, 1].astype(np.uint32)

    @property
    def cta(self) -> npt.NDArray[np.int64]:
        """Numbers of the CTAs in the grid, x fastest."""
        return self.rows[:, 2] >> 32

    @property
    def warp(self) -> npt.NDArray[np.int64]:
        """Indices of the warps in their CTAs."""
        return self.rows[:, 2] & 0xFFFF_FFFF


class Trace:
    """The buffer of one launch, and who reads it.

    Attributes:
        readers: hooks that take a `Batch`.
        buffer: int64, (1 + ROWS, 3).
    """

    def __init__(self) -> None:
        self.readers: tuple[Callable[[Batch], None], ...] = ()
        self.buffer = np.zeros((1 + ROWS, WORDS), np.int64)

    @property
    def count(self) -> int:
        """Rows that are filled."""
        return int(self.buffer[0, 0])

    @count.setter
    def count(self, value: int) -> None:
        self.buffer[0, 0] = value

    def instruction(self, warp: WarpState, pc: int, instruction: Any, lanes: int) -> None:
        """The step engine's: one instruction more."""
        count = self.count + 1
        self.buffer[count] = (pc, lanes, warp.cta.number << 32 | warp.index)
        self.count = count
        if count >= ROWS:
            self.flush()

    def flush(self) -> None:
        """Hand over what there is."""
        count = self.count
        if count:
            # A reader that raises does not see them again.
            self.count = 0
            batch = Batch(self.buffer[1 : 1 + count])
            for reader in self.readers:
                reader(batch)


Arguments = ParamSpec("Arguments")


def told(
    method: Callable[Concatenate[Grid, Arguments], StopEvent],
) -> Callable[Concatenate[Grid, Arguments], StopEvent]:
    """A way to advance a grid, at whose end observers have been told of all instructions."""

    @functools.wraps(method)
    def call(grid: Grid, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> StopEvent:
        try:
            return method(grid, *args, **kwargs)
        finally:
            if grid.trace is not None:
                grid.trace.flush()

    return call
