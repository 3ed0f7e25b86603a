"""Breakpoints and watchpoints of a session: setting them, and what counts as meeting one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from gpudbg.debug.breakpoints.table import Breakpoint, BreakpointTable
from gpudbg.debug.breakpoints.watchpoints import WatchKind
from gpudbg.debug.focus.focus import first_lane
from gpudbg.debug.part import Part
from gpudbg.debug.values.context import WarpContext
from gpudbg.debug.values.evaluation import check_names
from gpudbg.debug.values.lanes import array_mask
from gpudbg.debug.views.text import lane_list
from gpudbg.errors import CommandError
from gpudbg.expr import evaluate
from gpudbg.expr.native import holds_in, native
from gpudbg.validation import function, one_of, text, whole

if TYPE_CHECKING:
    from gpudbg.debug.breakpoints.events import Callback
    from gpudbg.debug.symbols import Location, Symbols
    from gpudbg.sm.conditions import Condition
    from gpudbg.sm.state import WarpState


@dataclass(frozen=True, slots=True)
class Tested:
    """A condition in some lanes of a warp.

    Attributes:
        lanes: mask of those where it holds.
        failed: of those where it cannot be computed: they stop, so that its author sees why.
        note: why, in a line; empty where it can be computed everywhere.
    """

    lanes: int
    failed: int = 0
    note: str = ""

    @property
    def stops(self) -> bool:
        """Whether this is a stop."""
        return bool(self.lanes or self.failed)


def _failed(point: Breakpoint, holds: int, failed: int, why: str) -> Tested:
    where = f"lane{'s' if failed & (failed - 1) else ''} {lane_list(failed)}"
    kind = "breakpoint" if point.watch is None else "watchpoint"
    return Tested(
        holds,
        failed,
        f"error in testing the condition of {kind} {point.number}, {point.condition}, "
        f"in {where}: {why or 'it has no value'}",
    )


class Breaking(Part):
    """The part of a `DebugSession` that knows its breakpoints."""

    if TYPE_CHECKING:
        symbols: Symbols

    def __init__(self) -> None:
        super().__init__()
        self.breakpoints = BreakpointTable()
        self._hits: list[int] = []
        self._accept_lanes = 0
        self._notes: list[str] = []
        self._accept_lane = 0
        self._native: dict[tuple[int, tuple[object, ...]], Condition | None] = {}

    def break_at(
        self,
        location: str | int | None = None,
        condition: str | None = None,
        temporary: bool = False,
        ignore: int = 0,
        pending: bool = False,
        callback: Callback | None = None,
    ) -> Breakpoint:
        """Set a breakpoint.

        Args:
            location: `kernel`, `kernel+0x48`, `*0x48`, `file:line`, `line`; an int is an
                offset in the kernel; None is the focused pc.
            condition: an expression tested in every active lane.
            temporary: delete it when it is met.
            ignore: let this many hits pass.
            pending: keep a place that is not known (yet) for the next program.
            callback: called with the session and the stop; False lets the run go on.

        Raises:
            UsageError: an argument of another type.
            CommandError: no such place, or a condition that does not parse or names what is
                not there.

        >>> point = session.break_at("block_max+0x168", condition="$R4 > 4000")
        >>> stop = session.cont()
        >>> stop.kind, stop.block, stop.thread, stop.lane
        ('breakpoint', (0, 0, 0), (3, 0, 0), 3)
        """
        if condition is not None and text(condition, "condition", "$R4 > 3"):
            check_names(self._whole, condition)
        ignore = whole(ignore, "ignore", 0)
        if callback is not None:
            function(callback, "callback")
        location = self.location_text(location)
        try:
            found = self.symbols.resolve(location, self._whole.origin())
        except CommandError:
            # A kernel of another cubin of the file is there as soon as it is chosen.
            later = (location or "").partition("+")[0] in self._whole.program.elsewhere
            if not location or not (pending or later):
                raise
            return self.breakpoints.add(location, (), (), condition, temporary, ignore)
        row = self.breakpoints.add(found.text, found.addresses, (), condition, temporary, ignore)
        self._settle(row, found)
        self._whole.on_hit(row, callback)
        return row

    def watch_at(
        self,
        expression: str,
        kind: WatchKind = "write",
        condition: str | None = None,
        callback: Callback | None = None,
    ) -> Breakpoint:
        """Set a watchpoint on the place `expression` names in the focused lane.

        Args:
            expression: `bins[3]`, `*(@shared int*)0x20`, `$R4`.
            kind: "write" stops where it changes, "read" where it is read, "access" at both.
            condition, callback: as `break_at`; the condition is tested in the lanes that touched.

        Raises:
            CommandError: no warp, no such place, or a condition that does not parse.
        """
        text(expression, "expression", "out[0]")
        one_of(kind, "kind", get_args(WatchKind))
        if condition is not None and text(condition, "condition", "$R4 > 3"):
            check_names(self._whole, condition)
        row = self._whole.watchpoints.add(expression, kind, condition)
        self._whole.on_hit(row, callback)
        return row

    def location_text(self, location: str | int | None) -> str | None:
        """A location as the command line writes it; an integer is an offset in the kernel.

        Raises:
            UsageError: neither a text nor an integer of at least 0.
        """
        if location is None or isinstance(location, str):
            return location
        offset = whole(location, "location", 0)
        return f"*0x{self.symbols.pc(offset) if self._whole.shows_code_addresses else offset:x}"

    def _settle(self, row: Breakpoint, found: Location) -> None:
        row.addresses = found.addresses
        row.places = tuple(self.symbols.describe(pc) for pc in found.addresses)
        row.line = found.line

    def resolve_breakpoints(self) -> list[Breakpoint]:
        """Look pending breakpoints up again; those that were found."""
        found = []
        for row in self.breakpoints:
            if not row.addresses and row.watch is None:
                try:
                    self._settle(row, self.symbols.resolve(row.location, self._whole.origin()))
                except CommandError:
                    continue
                found.append(row)
        return found

    # ---- while the machine runs --------------------------------------------------------
    def accepts(self, warp: WarpState) -> bool:
        """Whether a warp's arrival at a breakpoint pc is a stop: conditions, ignore counts."""
        self._hits, self._notes, self._accept_lanes = [], [], 0
        for point in self.breakpoints.at(warp.pc):
            tested = self.test(point, warp, warp.active)
            if not tested.stops:
                continue
            point.hits += 1
            if point.ignore > 0 and not tested.note:
                point.ignore -= 1
                continue
            if point.dprintf and self._prints(point, warp, first_lane(tested.lanes)):
                continue
            self._hits.append(point.number)
            self._accept_lane = first_lane(tested.lanes or tested.failed)
            self._accept_lanes |= tested.lanes or tested.failed
            if tested.note:
                self._notes.append(tested.note)
        return bool(self._hits)

    def native_condition(self, pc: int) -> Condition | None:
        """What compiled code can test for all breakpoints at a pc; None: `accepts` is needed."""
        warp = next((w for w in self._whole.grid.warps() if w.pc == pc), None)
        points = self.breakpoints.at(pc)
        known = tuple((point.number, point.condition) for point in points)
        if (pc, known) not in self._native:
            if warp is None:
                return None
            context = WarpContext(self._whole, warp)
            found = [native(p.tree, context) for p in points if p.tree is not None]
            every = [condition for condition in found if condition is not None]
            whole = len(every) == len(points) > 0
            self._native[pc, known] = holds_in(every) if whole else None
        return self._native[pc, known]

    @property
    def hits(self) -> tuple[int, ...]:
        """Numbers of the breakpoints that the last warp accepted has met."""
        return tuple(self._hits)

    @property
    def accepted(self) -> tuple[list[int], list[str], int, int]:
        """Of the last warp accepted: breakpoints met, what to say, the lanes, the first one."""
        return self._hits, self._notes, self._accept_lanes, self._accept_lane

    def test(self, point: Breakpoint, warp: WarpState, lanes: int) -> Tested:
        """A breakpoint's condition in some lanes of a warp; without one it holds in all."""
        if point.only is not None and point.only != (warp.cta.block, warp.index):
            return Tested(0)
        if point.tree is None:
            return Tested(lanes)
        try:
            result = evaluate(point.tree, WarpContext(self._whole, warp))
        except CommandError as error:
            return _failed(point, 0, lanes, str(error))
        failed = lanes & ~array_mask(result.valid)
        holds = lanes & array_mask(result.truth())
        return _failed(point, holds, failed, result.why) if failed else Tested(holds)

    def _prints(self, point: Breakpoint, warp: WarpState, lane: int) -> bool:
        """Carry out a breakpoint that prints; False, with a note, where that has no value."""
        from gpudbg.debug.commands.expressions import formatted

        try:
            context = WarpContext(self._whole, warp)
            text = formatted(self._whole, point.dprintf, "dprintf", context, lane)
        except CommandError as error:
            self._notes.append(f"dprintf {point.number}: {error}")
            return False
        self._whole.printed(text)
        return True

    def would_stop(self, warp: WarpState) -> bool:
        """Whether `accepts` would say yes; nothing is counted."""
        for point in self.breakpoints.at(warp.pc):
            if point.dprintf:
                continue
            tested = self.test(point, warp, warp.active)
            if tested.note or (tested.lanes and point.ignore <= 0):
                return True
        return False

    def breakpoint_at(self, warp: WarpState) -> bool:
        """Whether a warp stands at a breakpoint that stops it now; counts the hit."""
        if warp.status == "exited" or warp.shown == warp.executed:
            return False
        if warp.pc not in self.breakpoints.addresses():
            return False
        # Reported now: going on from here does not stop at this arrival again.
        warp.shown = warp.executed
        return self.accepts(warp)
