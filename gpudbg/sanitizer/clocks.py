"""Vector clocks of warps, compressed.

A clock says of every lane of every warp up to which instruction of its warp (a *tick*) its work
happens before the present one.  It is a row of 32 ticks for each warp that anything is known of;
rows are never changed, so that clocks share them: what many warps have learned at a barrier is one
object, and joining such clocks compares identities.

Operations beside the threads have rows of their own under numbers below 0: the copies of a warp's
lanes, the copies that an mbarrier counts, the products of a warp group.  Such a row says up to
which copy, phase or group the work is known to be complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass

Row = npt.NDArray[np.int64]
Rows = Mapping[int, Row]
"""Warp number in the grid (or agent number) -> ticks by lane."""

EMPTY: Rows = {}


def joined(a: Rows, b: Rows) -> Rows:
    """The join of two clocks: for each lane the later tick."""
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
            if (row <= held).all():
                continue
            row = np.maximum(held, row)
        if made is None:
            made = dict(a)
        made[warp] = row
    return a if made is None else made


Proxies = tuple[Rows, Rows, Rows]
"""Of generic accesses to shared memory, to global memory, to tensor maps."""
NO_PROXIES: Proxies = (EMPTY, EMPTY, EMPTY)


def _proxies(a: Proxies, b: Proxies) -> Proxies:
    if a is b or b is NO_PROXIES:
        return a
    return joined(a[0], b[0]), joined(a[1], b[1]), joined(a[2], b[2])


def _both(a: tuple[Rows, Rows], b: tuple[Rows, Rows]) -> tuple[Rows, Rows]:
    first, second = joined(a[0], b[0]), joined(a[1], b[1])
    return a if first is a[0] and second is a[1] else (first, second)


@dataclass(slots=True)
class Knowledge:
    """The knowledge shared by a group of a warp's lanes.

    Attributes:
        seen: what happens before them.
        released: by scope (cta, gpu), what their fences have published.
        acquired: by scope, what their strong reads have seen and a fence has yet to take.
        proxied: of generic accesses to shared and to global memory, what a proxy fence has brought
            to the async proxy; of those to tensor maps, what one has brought to their proxy.
        timed: what has happened before them without its memory being visible (relaxed arrivals).
        narrow: what was released with too small a scope for them.
    """

    seen: Rows
    released: tuple[Rows, Rows] = (EMPTY, EMPTY)
    acquired: tuple[Rows, Rows] = (EMPTY, EMPTY)
    proxied: Proxies = NO_PROXIES
    timed: Rows = field(default_factory=lambda: EMPTY)
    narrow: Rows = field(default_factory=lambda: EMPTY)

    def join(self, other: Knowledge) -> Knowledge:
        """The union of two knowledges."""
        if other is self:
            return self
        return Knowledge(
            joined(self.seen, other.seen),
            _both(self.released, other.released),
            _both(self.acquired, other.acquired),
            _proxies(self.proxied, other.proxied),
            joined(self.timed, other.timed),
            joined(self.narrow, other.narrow),
        )

    def fenced(self, device: bool) -> Knowledge:
        """The knowledge after a fence of CTA or (`device`) wider scope."""
        seen = joined(self.seen, self.acquired[0])
        if device:
            seen = joined(seen, self.acquired[1])
        return replace(self, seen=seen, released=(seen, seen if device else self.released[1]))

    def taken(self, near: bool = False) -> Knowledge:
        """The knowledge after an operation that makes earlier strong reads acquire; `near`: of CTA
        scope.
        """
        seen = joined(self.seen, self.acquired[0])
        if not near:
            seen = joined(seen, self.acquired[1])
        return self if seen is self.seen else replace(self, seen=seen)

    def heard(self, in_block: Rows, anywhere: Rows) -> Knowledge:
        """The knowledge after a strong read of released data."""
        first, second = self.acquired
        return replace(self, acquired=(joined(first, in_block), joined(second, anywhere)))

    def learned(self, rows: Rows) -> Knowledge:
        """The knowledge extended by some rows."""
        seen = joined(self.seen, rows)
        return self if seen is self.seen else replace(self, seen=seen)

    def brought(self, known: Rows, shared: bool, everywhere: bool) -> Knowledge:
        """The knowledge after a proxy fence for shared memory, global memory or both."""
        first, second, maps = self.proxied
        return replace(
            self,
            proxied=(
                joined(first, known) if shared or everywhere else first,
                joined(second, known) if not shared or everywhere else second,
                maps,
            ),
        )

    def mapped(self, known: Rows) -> Knowledge:
        """The knowledge after a fence of the tensor-map proxy."""
        first, second, maps = self.proxied
        return replace(self, proxied=(first, second, joined(maps, known)))
