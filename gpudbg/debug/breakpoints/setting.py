"""Setting breakpoints by location, and deciding whether a warp that reaches one stops there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import TYPE_CHECKING

from gpudbg.answers.words import lane_list
from gpudbg.dataclass import dataclass
from gpudbg.debug.attached import Attached
from gpudbg.debug.breakpoints.table import Breakpoint, BreakpointTable
from gpudbg.debug.focus.focus import first_lane
from gpudbg.debug.values.context import WarpContext
from gpudbg.debug.values.evaluation import check_names, origin
from gpudbg.debug.values.lanes import array_mask
from gpudbg.debug.values.printf import formatted
from gpudbg.errors import CommandError, error_for_user
from gpudbg.expr import evaluate, parse
from gpudbg.expr.evaluation import uniform
from gpudbg.expr.native import holds_in, native
from gpudbg.expr.types import I32
from gpudbg.validation import text, whole

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.debug.symbols import Location
    from gpudbg.sm.conditions import Condition
    from gpudbg.sm.state import WarpState


@dataclass(frozen=True, slots=True)
class Tested:
    """Result of testing a condition in some lanes of a warp.

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
        """Whether the warp stops: the condition holds, or could not be computed, in some lane."""
        return bool(self.lanes or self.failed)


@dataclass(slots=True)
class BreakpointHits:
    """The breakpoints that a stopping warp has met.

    Attributes:
        hits: numbers of the breakpoints.
        notes: what the stop says of them.
        lanes: mask of the lanes they stop.
        lane: the one to look at.
    """

    hits: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    lanes: int = 0
    lane: int = 0


def _failed(point: Breakpoint, holds: int, failed: int, why: str) -> Tested:
    where = f"lane{'s' if failed & (failed - 1) else ''} {lane_list(failed)}"
    kind = "breakpoint" if point.watch is None else "watchpoint"
    return Tested(
        holds,
        failed,
        f"error in testing the condition of {kind} {point.number}, {point.condition}, "
        f"in {where}: {why or 'it has no value'}",
    )


class Breakpoints(BreakpointTable, Attached["Inferior"]):
    """The breakpoint table of an inferior, and the test of which breakpoints a warp meets.

    Attributes:
        met: what the last warp accepted has met.
        print_listeners: called with what a `dprintf` prints.
    """

    def __init__(self, inferior: Inferior) -> None:
        BreakpointTable.__init__(self)
        Attached.__init__(self, inferior)
        self.met = BreakpointHits()
        self.print_listeners: list[Callable[[str], None]] = []
        self._printed: list[str] = []
        self._native: dict[tuple[int, tuple[object, ...]], Condition | None] = {}

    def set_at(
        self,
        location: str | int | None = None,
        condition: str | None = None,
        temporary: bool = False,
        ignore: int = 0,
        pending: bool = False,
    ) -> Breakpoint:
        """Set a breakpoint; arguments and errors as `DebugSession.break_at`."""
        inferior = self._inferior
        ignore = whole(ignore, "ignore", 0)
        location = inferior.location_text(location)
        try:
            found = inferior.symbols.resolve(location, origin(inferior))
        except CommandError:
            self.check_condition(condition)
            # Kernels of the file's other cubins get their code only when one of them is chosen.
            later = (location or "").partition("+")[0] in inferior.program.elsewhere
            if not location or not (pending or later):
                raise
            return self.add(location, (), (), condition, temporary, ignore)
        self.check_condition(condition, found.addresses)
        row = self.add(found.text, found.addresses, (), condition, temporary, ignore)
        self._settle(row, found)
        return row

    def add(
        self,
        location: str,
        addresses: tuple[int, ...],
        places: tuple[str, ...] = (),
        condition: str | None = None,
        temporary: bool = False,
        ignore: int = 0,
    ) -> Breakpoint:
        """Add a row as `BreakpointTable.add` does, and set `$bpnum` to its number for scripts."""
        row = super().add(location, addresses, places, condition, temporary, ignore)
        self._inferior.variables["$bpnum"] = uniform(row.number, I32)
        return row

    def check_condition(self, condition: str | None, addresses: Iterable[int] = ()) -> None:
        """Refuse a condition that cannot be evaluated where it is tested.

        Args:
            addresses: where it is tested.

        Raises:
            UsageError: it is no text.
            CommandError: it does not parse, or names what is not there.
        """
        if condition is not None and text(condition, "condition", "$R4 > 3"):
            check_names(self._inferior, condition, addresses)

    def _settle(self, row: Breakpoint, found: Location) -> None:
        row.addresses = found.addresses
        row.places = tuple(self._inferior.symbols.describe(pc) for pc in found.addresses)
        row.line, row.functions = found.line, found.functions

    def resolve_pending(self) -> list[Breakpoint]:
        """Look pending breakpoints up again. Returns those that were found."""
        inferior = self._inferior
        found = []
        for row in self:
            if not row.addresses and row.watch is None:
                try:
                    place = inferior.symbols.resolve(row.location, origin(inferior))
                except CommandError:
                    continue
                self._settle(row, place)
                found.append(row)
        return found

    def resolve_again(self) -> None:
        """Look all breakpoints up again in the code of another program."""
        for row in self:
            if row.watch is None:
                row.addresses, row.places = (), ()
        self.resolve_pending()

    # ---- while the machine runs --------------------------------------------------------
    def accepts(self, warp: WarpState) -> bool:
        """Whether a warp's arrival at a breakpoint pc is a stop: conditions, ignore counts."""
        met = self.met = BreakpointHits()
        for point in self.at(warp.pc):
            tested = self.test(point, warp, warp.active)
            if not tested.stops:
                continue
            point.hits += 1
            if point.ignore > 0 and not tested.note:
                point.ignore -= 1
                continue
            if point.dprintf and self._prints(point, warp, first_lane(tested.lanes)):
                continue
            met.hits.append(point.number)
            met.lane = first_lane(tested.lanes or tested.failed)
            met.lanes |= tested.lanes or tested.failed
            if tested.note:
                met.notes.append(tested.note)
        return bool(met.hits)

    def native_condition(self, pc: int) -> Condition | None:
        """A condition for compiled code that covers all breakpoints at a pc; None where only
        `accepts` decides.
        """
        inferior = self._inferior
        warp = next((w for w in inferior.grid.warps() if w.pc == pc), None)
        points = self.at(pc)
        known = tuple((point.number, point.condition) for point in points)
        if (pc, known) not in self._native:
            if warp is None:
                return None
            context = WarpContext(inferior, warp)
            found = [native(p.tree, context) for p in points if p.tree is not None]
            every = [condition for condition in found if condition is not None]
            whole = len(every) == len(points) > 0
            self._native[pc, known] = holds_in(every) if whole else None
        return self._native[pc, known]

    def test(self, point: Breakpoint, warp: WarpState, lanes: int) -> Tested:
        """A breakpoint's condition in some lanes of a warp; without one it holds in all."""
        if point.only is not None and point.only != (warp.cta.block, warp.index):
            return Tested(0)
        if point.tree is None:
            return Tested(lanes)
        try:
            result = evaluate(point.tree, WarpContext(self._inferior, warp))
        except Exception as error:
            # Any error in a condition becomes a stop that names it: evaluation must not end the
            # run.
            return _failed(point, 0, lanes, str(error_for_user(error)))
        failed = lanes & ~array_mask(result.valid)
        holds = lanes & array_mask(result.truth())
        return _failed(point, holds, failed, result.why) if failed else Tested(holds)

    def would_stop(self, warp: WarpState) -> bool:
        """Whether `accepts` would return True; counts no hit."""
        for point in self.at(warp.pc):
            if point.dprintf:
                continue
            tested = self.test(point, warp, warp.active)
            if tested.note or (tested.lanes and point.ignore <= 0):
                return True
        return False

    def stops_now(self, warp: WarpState) -> bool:
        """Whether a warp stands at a breakpoint that stops it now; counts the hit."""
        if warp.status == "exited" or warp.shown == warp.executed:
            return False
        if warp.pc not in self.addresses():
            return False
        # Marks the arrival as reported: resuming here does not stop for it again.
        warp.shown = warp.executed
        return self.accepts(warp)

    # ---- what breakpoints print --------------------------------------------------------
    def _prints(self, point: Breakpoint, warp: WarpState, lane: int) -> bool:
        """Print for a `dprintf` breakpoint. Returns False, and adds a note, where a value cannot be
        computed.
        """
        try:
            context = WarpContext(self._inferior, warp)
            text = formatted(
                self._inferior,
                lambda text: evaluate(parse(text), context),
                point.dprintf,
                "dprintf",
                lane,
            )
        except Exception as error:
            self.met.notes.append(f"dprintf {point.number}: {error_for_user(error)}")
            return False
        for listener in self.print_listeners:
            listener(text)
        if not self.print_listeners:
            self._printed.append(text)
        return True

    def take_printed(self) -> list[str]:
        """Lines printed since the last call for which there was no listener."""
        text, self._printed = "".join(self._printed), []
        return text.splitlines()
