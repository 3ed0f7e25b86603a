"""Vector clocks of warps, compressed.

A clock says of every lane of every warp up to which instruction of its warp (a *tick*) its work
happens before the present one.  It is a row of 32 ticks for each warp that anything is known of;
rows are never changed, so that clocks share them: what many warps have learned at a barrier is one
object, and joining such clocks compares identities.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Row = npt.NDArray[np.int64]
Rows = Mapping[int, Row]
"""Warp number in the grid -> ticks by lane."""

EMPTY: Rows = {}


def joined(a: Rows, b: Rows) -> Rows:
    """What is known where both are."""
    if a is b or not b:
        return a
    if not a:
        return b
    made: dict[int, Row] | None = None
    for warp, row in b.items():
        held = a.get(warp)
        if held is row:
            continue
        if held is not None:
            larger = np.maximum(held, row)
            if np.array_equal(larger, held):
                continue
            row = larger
        if made is None:
            made = dict(a)
        made[warp] = row
    return a if made is None else made


@dataclass(slots=True)
class Knowledge:
    """What lanes of a warp that know the same know.

    Attributes:
        seen: what happens before them.
        released: by scope (cta, gpu), what their fences have published.
        acquired: by scope, what their strong reads have seen and a fence has yet to take.
    """

    seen: Rows
    released: tuple[Rows, Rows] = (EMPTY, EMPTY)
    acquired: tuple[Rows, Rows] = (EMPTY, EMPTY)

    def join(self, other: Knowledge) -> Knowledge:
        """What both know."""
        if other is self:
            return self
        return Knowledge(
            joined(self.seen, other.seen),
            _both(self.released, other.released),
            _both(self.acquired, other.acquired),
        )

    def fenced(self, device: bool) -> Knowledge:
        """After a fence of CTA or (`device`) wider scope."""
        seen = joined(self.seen, self.acquired[0])
        if device:
            seen = joined(seen, self.acquired[1])
        return Knowledge(seen, (seen, seen if device else self.released[1]), self.acquired)

    def heard(self, in_block: Rows, anywhere: Rows) -> Knowledge:
        """After a strong read of something that was released."""
        first, second = self.acquired
        return Knowledge(
            self.seen, self.released, (joined(first, in_block), joined(second, anywhere))
        )


def _both(a: tuple[Rows, Rows], b: tuple[Rows, Rows]) -> tuple[Rows, Rows]:
    return joined(a[0], b[0]), joined(a[1], b[1])
