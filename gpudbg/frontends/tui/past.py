"""Stop history: the pictures of earlier stops, to scroll back through.

A `ScreenView` is frozen, so an earlier stop is shown by drawing its picture again; the machine
stays where it is, and anything that runs it or moves the focus comes back to the present.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass

if TYPE_CHECKING:
    from gpudbg.frontends.tui.view import ScreenView

KEPT = 200
"""Stops whose pictures are kept."""


@dataclass(slots=True)
class Past:
    """The kept pictures by number of the stop, and the number of the one shown in place of the
    present.
    """

    views: dict[int, ScreenView] = field(default_factory=dict)
    shown: ScreenView | None = None
    number: int = -1

    def keep(self, view: ScreenView) -> None:
        """Keep a picture of the present; a later one of the same stop replaces it."""
        self.shown = None
        self.number = view.stop_number
        if self.views and self.number < max(self.views):
            # Another program, or a new launch of this one.
            self.views.clear()
        self.views[self.number] = view
        while len(self.views) > KEPT:
            del self.views[min(self.views)]

    def show(self, number: int, now: ScreenView) -> bool:
        """Show a kept stop; the present one ends it. Returns False where no picture is kept."""
        if number not in self.views:
            return False
        self.number = number
        view = replace(
            self.views[number],
            stops=now.stops,
            stops_before=now.stops_before,
            end=now.end,
            past=now.tick,
            past_stop=number,
        )
        self.shown = view if number != now.stop_number else None
        return True

    def at(self, tick: int, first: int) -> int | None:
        """The latest kept stop at or before a tick, from stop number `first` on; where none is
        kept, the earliest; None without any."""
        mine = sorted((self.views[n].tick, n) for n in self.views if n >= first)
        before = [found for found in mine if found[0] <= tick]
        return before[-1][1] if before else mine[0][1] if mine else None

    def before(self, view: ScreenView) -> tuple[ScreenView | None, ScreenView | None]:
        """The last kept stop of the launch before a picture at which its focused warp was in
        focus, too; and the last one whatever had the focus."""
        here = view.past_stop if view.past is not None else view.stop_number
        last = None
        for number in sorted((n for n in self.views if n < here), reverse=True):
            other = self.views[number]
            if other.tick > view.tick:
                break
            last = last or other
            if _warp(other) is not None and _warp(other) == _warp(view):
                return other, last
        return None, last

    def beside(self, by: int) -> int | None:
        """The kept stop after (`by` > 0) or before the shown one."""
        later = [n for n in self.views if (n - self.number) * by > 0]
        return min(later, key=lambda n: abs(n - self.number)) if later else None


def _warp(view: ScreenView) -> tuple[object, ...] | None:
    row = view.focus_row
    return None if row is None else (row.sm, row.slot, row.block)
