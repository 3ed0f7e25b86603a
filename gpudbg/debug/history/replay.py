"""Replay: restores any state of a launch from checkpoints and logged moves.

A launch is deterministic, so a state is its beginning and the moves since then.  What was changed
from outside between two moves (registers, memory, a trap handler) is in a checkpoint that was taken
before the later one began.  Other checkpoints only save time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import process_time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gpudbg.dataclass import dataclass
from gpudbg.debug.history.move_log import ACTING, MoveLog, set_words, words_of
from gpudbg.debug.history.pace import QUICK, Pace
from gpudbg.errors import ModelGap, UsageError
from gpudbg.sm import record as rec
from gpudbg.sm.events import StopEvent
from gpudbg.sm.moves import BY_ITSELF, Move
from gpudbg.sm.observer import Observer, Observers
from gpudbg.sm.state import Cta, WarpState

if TYPE_CHECKING:
    from gpudbg.sm.checkpoint import GridCheckpoint
    from gpudbg.sm.grid import Grid

FAR: Final = 200_000
"""Warp instructions whose replay costs more than one more checkpoint."""
MOST: Final = 48
"""Most checkpoints that only save time."""
MOST_CHANGES: Final = 100
MOST_BYTES: Final = 224 << 20
"""Most bytes held by all checkpoints; above it the earlier half of the past is dropped."""
MOST_MOVES: Final = 100_000
"""Most moves kept; above it the earlier half of the past is dropped."""
ENDLESS: Final = 1 << 62
ROUNDS: Final = ("step_cta", "step_sm", "step_all")
"""Kinds of moves that execute one instruction in each of several warps."""


class Position(NamedTuple):
    """A state of a launch: moves that are done, and instructions so far.

    Between the same instructions there may be several: before and after a fault, or a change.
    """

    moves: int
    tick: int


BEGINNING: Final = Position(0, 0)


@dataclass(slots=True)
class Mark:
    """A checkpoint at a position of the launch.

    Attributes:
        at: where.
        state: the checkpoint.
        needed: something was changed there; else it only saves time.
    """

    at: Position
    state: GridCheckpoint
    needed: bool


class DepartureError(ModelGap):
    """A replayed move ended in another state than when it was recorded."""


class SearchInterruptedError(Exception):
    """A search through the past was interrupted; the launch stands where it got to.

    Attributes:
        event: the stop.
    """

    def __init__(self, event: StopEvent) -> None:
        super().__init__()
        self.event = event


class Replay:
    """The states of one launch.

    Attributes:
        grid: the launch as it is now; another object after the beginning was made again.
        moves: what was done, in order.
        marks: checkpoints by position.
        at: where the launch stands.
        first: where what is kept begins: at the launch, until that is too long ago.
        crossed: it came to a place where something was changed, and that is not done yet.
        printed: pieces of output before the launch.
        handler: the trap handler at the launch's beginning, or None.
        pace: when a run is worth a checkpoint.
    """

    def __init__(
        self, grid: Grid, again: Callable[[Grid], Grid], onward: Callable[[], None]
    ) -> None:
        """Args:
        again: makes the launch's beginning anew, given the grid there is.
        onward: is called where the launch moves by itself again.
        """
        self.grid = grid
        self._onward = onward
        self.marks: list[Mark] = []
        self.printed = grid.gpu.output.count
        self._again = again
        self.handler = grid.gpu.handler
        self.pace = Pace(QUICK) if grid.gpu.engine == "run" else Pace()
        self.log = MoveLog(grid, self)
        self.moves: list[Move] = self.log.moves
        self.at = self.first = BEGINNING
        self._mid: tuple[tuple[int, ...], ...] | None = None
        self._left: list[WarpState] | None = None
        self._elsewhere = self.crossed = False
        self._away = False
        """Whether a search is moving the launch through its past and has not yet let it run by
        itself again.
        """
        grid.log = self.log

    @property
    def end(self) -> Position:
        """The present: behind the last move."""
        return Position(len(self.moves), self.moves[-1].after if self.moves else self.first.tick)

    def present(self) -> Position:
        """The position that the launch stands at."""
        return self.at if self.in_past or self._away else self.end

    def last_event(self) -> StopEvent | None:
        """The event with which the last replayed move ended; None where it was ended from
        outside.
        """
        at = self.present()
        return None if not at.moves or self._is_apart() else self.moves[at.moves - 1].event

    def latest(self, tick: int) -> Position:
        """The last state after so many instructions."""
        if tick < self.first.tick:
            return self.first
        return Position(bisect_right(self.moves, tick, key=lambda move: move.after), tick)

    def before(self, at: Position) -> Position | None:
        """The state before one warp instruction, or before the error that ended the last run."""
        while at.moves and (at.moves == len(self.moves) or at.tick == self.moves[at.moves].before):
            move = self.moves[at.moves - 1]
            if move.cut_short:
                # In a multi-warp step, warps that went on after an error are undone together with
                # it.
                many = move.kind in ROUNDS
                return Position(at.moves - 1, move.before if many else at.tick)
            if move.after > move.before:
                return Position(at.moves - 1, at.tick - 1)
            at = Position(at.moves - 1, at.tick)
        return Position(at.moves, at.tick - 1) if at.tick > self.first.tick else None

    def earlier(self, at: Position, *, needed: bool = False) -> Position:
        """The last checkpoint before a position, or the beginning.

        Args:
            needed: only those where something was changed.
        """
        for mark in reversed(self.marks[: bisect_left(self.marks, at, key=_place)]):
            if mark.needed or not needed:
                return mark.at
        return self.first

    @property
    def in_past(self) -> bool:
        """Whether the launch stands before its present."""
        return self.grid.past is not None

    # ---- checkpoints -------------------------------------------------------------------
    def note_edit(self) -> None:
        """Record that the state was changed since the last move: takes a checkpoint, from which
        replay restores the change.
        """
        self.mark(Position(len(self.moves), self.grid.total), needed=True)
        needed = [n for n, mark in enumerate(self.marks) if mark.needed]
        if len(needed) > MOST_CHANGES or (len(needed) > 1 and self.nbytes > MOST_BYTES):
            self._forget(needed[len(needed) // 2])

    def note_move(self) -> None:
        """Called when a move was appended to the log."""
        if len(self.moves) > MOST_MOVES:
            self.mark(self.end, needed=True)
            self._forget(len(self.marks) - 1)

    def note_long_run(self) -> None:
        """Called when a run has been long enough for a checkpoint in its middle."""
        self.mark(Position(len(self.moves), self.grid.total))

    @property
    def nbytes(self) -> int:
        """Bytes that the checkpoints hold; what several share counts once."""
        held = {id(block): block for mark in self.marks for block in mark.state.held()}
        return sum(len(block) for block in held.values())

    def _forget(self, number: int) -> None:
        """Drop the part of the past before a checkpoint that lies between two moves."""
        mark = self.marks[number]
        gone = mark.at.moves
        del self.moves[:gone]
        for each in self.marks[number:]:
            each.at = Position(each.at.moves - gone, each.at.tick)
        self.marks = self.marks[number:]
        self.first = mark.at
        self.at = Position(max(self.at.moves - gone, 0), self.at.tick)

    def mark(self, at: Position, *, needed: bool = False) -> None:
        """Take a checkpoint of the launch as it is, unless there is one."""
        from gpudbg.sm.checkpoint import GridCheckpoint

        found = bisect_right(self.marks, at, key=_place)
        if found and self.marks[found - 1].at == at:
            if not needed or self.marks[found - 1].needed:
                if not needed:
                    return
            del self.marks[found - 1]
        before = self.marks[found - 1].state if 0 < found <= len(self.marks) else None
        if before is not None and before.grid is not self.grid:
            before = None
        if needed and at == self.end and at.moves and self.moves[-1].left is not None:
            # The change may concern the SMs' words: store them in a copy, since other branches
            # share the move.
            self.moves[-1] = replace(self.moves[-1], left=words_of(self.grid))
        begun = process_time()
        insort(self.marks, Mark(at, GridCheckpoint(self.grid, before), needed), key=_place)
        self.log.settle(self.grid)
        self._thin()
        self.pace.taken(process_time() - begun, self.grid.gpu.memory.journal.seconds)

    def _thin(self) -> None:
        """Drop checkpoints that only save time where there are too many, or they hold too much.

        Those go first whose neighbours are near to each other for their distance from where the
        launch stands and from the last one: there they stay dense.
        """
        here = self.grid.total
        while True:
            spare = [n for n, mark in enumerate(self.marks) if not mark.needed][:-1]
            if not spare or (len(spare) < MOST and self.nbytes <= MOST_BYTES):
                return
            ticks = [0, *(mark.at.tick for mark in self.marks)]

            def rank(n: int, ticks: list[int] = ticks) -> float:
                tick = ticks[n + 1]
                near = min(abs(here - tick), ticks[-1] - tick)
                return (ticks[n + 2] - ticks[n]) / (near + 1)

            del self.marks[min(spare, key=rank)]

    # ---- going somewhere ---------------------------------------------------------------
    def go(self, target: Position) -> StopEvent | None:
        """Move the launch to a position; the event that ended the last replayed move, if any.

        Raises:
            DepartureError: the run does not come there again.
        """
        self.at, self._away = self.present(), True
        with self.quiet():
            if self._elsewhere or self.crossed or not self._leads_to(target):
                self._begin_at(target)
            return self._follow(target)

    def go_before_change(self, target: Position) -> None:
        """Move the launch to a position, to its state before a user changed it there.

        The next `go` leads to the state afterwards.

        Raises:
            DepartureError: as `go`.
        """
        marks, self.marks = self.marks, [mark for mark in self.marks if mark.at < target]
        self._elsewhere = True
        try:
            self.go(target)
        finally:
            self.marks = marks
            self._elsewhere = True

    def leave(self) -> None:
        """Mark the present state as outside the recorded past: an inspection has changed it."""
        self._elsewhere = True

    def _leads_to(self, target: Position) -> bool:
        """Whether replaying from the present position is shorter than from a checkpoint."""
        if self.at > target or (self.at.moves < target.moves and self._is_apart()):
            return False
        best = self._mark_before(target)
        if best is not None and best.at > self.at:
            return False
        return not self._is_apart() or self.moves[self.at.moves].kind not in ("step_warp", *ROUNDS)

    def _is_apart(self) -> bool:
        """Whether the launch stands inside a move, between its instructions."""
        return self.at.moves < len(self.moves) and self.at.tick > self.moves[self.at.moves].before

    def _mark_before(self, target: Position) -> Mark | None:
        found = bisect_right(self.marks, target, key=_place)
        return self.marks[found - 1] if found else None

    def _begin_at(self, target: Position) -> None:
        self._elsewhere = self.crossed = False
        mark = self._mark_before(target)
        output = self.grid.gpu.output
        if mark is None:
            handler, self.grid.gpu.handler = self.grid.gpu.handler, self.handler
            self.grid.log = self.grid.past = None
            self.grid = self._again(self.grid)
            self.grid.gpu.handler = handler
            self.at = BEGINNING
            printed = self.printed
        else:
            self.grid = mark.state.grid
            mark.state.restore()
            self.at, printed = mark.at, mark.state.printed
        self._mid = words_of(self.grid) if mark is not None and self._is_apart() else None
        self._left = None
        output.repeated = output.count - printed
        for warp in self.grid.warps():
            # Breakpoints at this place have not been met on this path.
            warp.shown = -1

    def _follow(self, target: Position) -> StopEvent | None:
        event: StopEvent | None = None
        while self.at < target:
            move = self.moves[self.at.moves]
            whole = target.moves > self.at.moves
            to = move.after if whole else target.tick
            if to - self.grid.total > max(FAR, self.pace.worth):
                # Leave a checkpoint halfway: a user who goes back does so repeatedly, not far.
                halfway = self.grid.total + (to - self.grid.total) // 2
                event = self._perform(move, halfway, False)
                self.mark(Position(self.at.moves, self.grid.total))
            else:
                event = self._perform(move, to, whole)
            if event is not None and event.kind == "interrupted":
                break
        return event

    def _perform(self, move: Move, to: int, whole: bool) -> StopEvent | None:
        """Carry a move out, or more of it, up to a total of instructions or to its end."""
        grid = self.grid
        # Single steps logged as one move each began with the words of the first one.
        begins = self._mid is None or (move.single and grid.cut is None)
        set_words(grid, move.driven if begins or self._mid is None else self._mid)
        grid.flow.stop_on_entry = move.stop_on_entry
        end = None if whole and move.by_itself else to
        with _as_it_was(grid, move):
            event = self._round(move, end) if move.kind in ROUNDS else again(grid, move, end)
        self._mid = None if whole else words_of(grid)
        if whole:
            self._left = grid.cut = None
            if move.by_itself and move.event is None:
                # Moves loaded from a recording lack their event: fill it in.
                move.event = event
        if event.kind == "interrupted":
            self.at, self._mid = Position(self.at.moves, grid.total), words_of(grid)
            return event
        if grid.total != to:
            raise DepartureError(
                f"the run does not come to instruction {to:,} again: it ended at {grid.total:,}",
                "something it reads was changed in a way that was not noted; `run` begins anew",
            )
        self.at = Position(self.at.moves + whole, to)
        return event

    # ---- forward before the present -----------------------------------------------------
    def onward(self, last: int | None, asked: dict[str, Any]) -> StopEvent | None:
        """Go on in the recorded order: to the end of a move, to a total of instructions, or to
        where a run with these arguments stops.

        Args:
            last: the total, or None.
            asked: of `Grid.run`: breakpoints, conditions, `until`.
        """
        move = self.moves[self.at.moves]
        past, self.grid.past = self.grid.past, None
        log, self.grid.log = self.grid.log, None
        try:
            to = move.after if last is None else min(move.after, last)
            if move.kind == "run" and asked:
                event = self._run_on(move, to, asked)
                arrived = event is None or event.kind in ("limit", "exited")
                if self.grid.total == move.after == to:
                    if arrived:
                        return self._perform(move, to, True)
                    if not move.by_itself or (event is not None and event.kind == move.stop_kind):
                        self.at, self._mid = Position(self.at.moves + 1, to), None
                return event
            if asked and to > self.grid.total:
                return self._step_on(move, asked)
            return self._perform(move, to, to == move.after)
        finally:
            self.grid.past, self.grid.log = past, log
            self.log.settle(self.grid)
            self._note_crossing()

    def _note_crossing(self) -> None:
        """Note that the launch has moved past a position with an edit that has not been applied."""
        mark = self._mark_before(self.at)
        self.crossed = mark is not None and mark.needed and mark.at == self.at

    def _run_on(self, move: Move, to: int, asked: dict[str, Any]) -> StopEvent | None:
        """Go on in a recorded run with arguments of one's own."""
        grid = self.grid
        event: StopEvent | None = None
        if to > grid.total:
            set_words(grid, move.driven if self._mid is None else self._mid)
            grid.flow.stop_on_entry = move.stop_on_entry
            with _as_it_was(grid, move):
                event = grid.run(**asked, max_instructions=to - grid.total)
            self._mid = words_of(grid)
            self.at = Position(self.at.moves, grid.total)
        return event

    def _step_on(self, move: Move, asked: dict[str, Any]) -> StopEvent | None:
        """Replay one instruction of a step. Returns the stop that a run with these arguments would
        have made of it.
        """
        grid = self.grid
        before = executed(grid)
        stops, accept = frozenset(asked.get("breakpoints", ())), asked.get("accept")
        until = asked.get("until")
        for warp in list(grid.warps()) if stops else ():
            if warp.words[rec.STATUS] == rec.READY and grid.meets(warp, stops, accept):
                return grid.event("breakpoint", warp, grid.total)
        to = grid.total + 1
        # A move whose last instruction was cut short ends with the next step.
        whole = to == move.after and not move.cut_short
        event = self._perform(move, to, whole)
        if until is not None:
            for warp in grid.warps():
                if before.get((warp.cta.number, warp.index)) != warp.executed and until(warp):
                    return grid.event("step", warp, grid.total)
        return event if event is not None and event.kind in BY_ITSELF else None

    def resume(self) -> None:
        """Hand the launch back to itself at its present: later moves are logged again."""
        self._mid, self._away = None, False
        self.grid.cut = self.grid.past = None
        self.grid.log = self.log
        self.log.settle(self.grid)
        self._onward()

    # ---- looking on the way --------------------------------------------------------------
    def scan(
        self,
        high: Position,
        note: Callable[[WarpState, int], None],
        observer: Observer | None = None,
    ) -> None:
        """Go on to a position, and tell of each instruction: its warp, and its number.

        Args:
            observer: observes what happens meanwhile.

        Raises:
            SearchInterruptedError: it was interrupted.
        """
        with self.quiet(observer):
            while self.at < high:
                move = self.moves[self.at.moves]
                whole = high.moves > self.at.moves
                to = move.after if whole else high.tick
                if move.kind == "run":
                    self._scan_run(move, to, note)
                else:
                    self._scan_steps(move, to, note)
                if whole:
                    self._perform(move, to, True)
                self._note_crossing()

    def _scan_run(self, move: Move, to: int, note: Callable[[WarpState, int], None]) -> None:
        tick = self.grid.total

        def executes(warp: WarpState) -> bool:
            nonlocal tick
            tick += 1
            note(warp, tick)
            return False

        if to > tick:
            event = self._run_on(move, to, {"until": executes})
            if event is not None and event.kind == "interrupted":
                raise SearchInterruptedError(event)

    def _scan_steps(self, move: Move, to: int, note: Callable[[WarpState, int], None]) -> None:
        grid = self.grid
        while grid.total < to:
            before = executed(grid)
            warps = list(grid.warps())
            event = self._perform(move, grid.total + 1, False)
            if event is not None and event.kind == "interrupted":
                raise SearchInterruptedError(event)
            for warp in warps:
                if before[warp.cta.number, warp.index] != warp.executed:
                    note(warp, grid.total)

    # ---- words of the SMs ----------------------------------------------------------------
    def note_stop(self) -> None:
        """Save the SMs' words with the last move as the user sees them at a stop; the first saved
        ones win unless they were edited since.
        """
        if self.in_past or not self.moves or self.moves[-1].after != self.grid.total:
            return
        last = self.moves[-1]
        if last.left is None or self.log.edited(self.grid):
            self.moves[-1] = replace(last, left=words_of(self.grid))
        else:
            set_words(self.grid, last.left)

    def show_words(self) -> bool:
        """Restore the SMs' words that the user saw at this position. Returns whether that was a
        stop after a step.
        """
        at = self.present()
        if not at.moves or self._is_apart():
            return False
        last = self.moves[at.moves - 1]
        if last.left is None:
            return False
        set_words(self.grid, last.left)
        return last.kind != "run"

    def _round(self, move: Move, to: int | None) -> StopEvent:
        """Replay a multi-warp step, or continue it; `_left` holds the warps whose turn is still to
        come.
        """
        grid = self.grid
        grid.limit = to
        try:
            if self._left is None:
                # Warps stopped by an error are ready again when the next step begins.
                warps = [w for w in _warps_of(grid, move) if w.words[rec.STATUS] in ACTING]
                before = {id(w): w.executed for w in warps}
                event = _step_many(grid, move)
            else:
                warps = self._left
                before = {id(w): w.executed for w in warps}
                event = grid.step_round(warps, grid.total) if warps else grid.event("step", None, 0)
        finally:
            grid.limit = None
        still = (w for w in warps if w.words[rec.STATUS] == rec.READY)
        self._left = [w for w in still if w.executed == before[id(w)]]
        return event

    @contextmanager
    def quiet(self, observer: Observer | None = None) -> Iterator[None]:
        """Context: other observers are detached, and no move is logged."""
        gpu = self.grid.gpu
        observers, gpu.observers = gpu.observers, Observers(() if observer is None else (observer,))
        self.grid.log = self.grid.past = None
        try:
            yield
        finally:
            gpu.observers = observers

    def take(self, moves: list[Move], marks: list[Mark]) -> None:
        """Replace all moves by those of another branch; `go` moves the launch onto it."""
        self.moves[:] = moves
        self.marks = list(marks)
        self._elsewhere = self.log.closed = True

    def begin_with(self, moves: list[Move]) -> None:
        """Other moves lead on from the launch's beginning; `go` leads to a place on the way."""
        self.take(moves, [])
        self.at = BEGINNING

    # ---- another way -------------------------------------------------------------------
    def fork(self) -> list[Move]:
        """Drop everything after the present position. Returns the moves as they were."""
        before = list(self.moves)
        at = self.at
        if self._is_apart():
            self.moves[at.moves] = self.moves[at.moves].cut(at.tick)
            del self.moves[at.moves + 1 :]
        else:
            del self.moves[at.moves :]
        self.marks = [mark for mark in self.marks if mark.at <= at]
        self.log.closed = True
        self.at = self.end
        self.grid.gpu.output.repeated = 0
        return before


def _place(mark: Mark) -> Position:
    return mark.at


def again(grid: Grid, move: Move, to: int | None) -> StopEvent:
    """Replay a move on a grid, or continue it, up to a total of instructions; None: to its own
    end.
    """
    if move.kind == "run":
        return grid.run(max_instructions=None if to is None else to - grid.total)
    if grid.total == to and grid.sms[move.who[0]].warps[move.who[1]] is None:
        # Its last instruction ended the block: the move is complete.
        return grid.event("exited" if grid.finished else "step", None, to)
    grid.limit = to
    try:
        warp = grid.warp(*move.who)
        if move.kind == "run_warp":
            return grid.run_warp(warp, ENDLESS if to is None else to - grid.total)
        count = 1 if move.single else ENDLESS
        event = grid.step_warp(warp, count, None, move.through)
        while event.kind == "step" and event.executed and to is not None and grid.total < to:
            if move.single and grid.cut is None:
                set_words(grid, move.driven)
            event = grid.step_warp(warp, count, None, move.through)
        return event
    finally:
        grid.limit = None


@contextmanager
def _as_it_was(grid: Grid, move: Move) -> Iterator[None]:
    """Context: the options that were in force when the move was recorded."""
    faults = grid.gpu.on_fault
    now, faults.goes_on = faults.goes_on, move.goes_on
    try:
        with grid.traps.options.as_they_were(move.options):
            yield
    finally:
        faults.goes_on = now


def _warps_of(grid: Grid, move: Move) -> list[WarpState]:
    """The warps of a step of several."""
    if move.kind == "step_all":
        return list(grid.warps())
    if move.kind == "step_sm":
        return list(grid.sms[move.who[0]].resident())
    cta = grid.sms[move.who[0]].ctas[move.who[1]]
    return [] if cta is None else list(cta.warps)


def _step_many(grid: Grid, move: Move) -> StopEvent:
    if move.kind == "step_all":
        return grid.step_all()
    if move.kind == "step_sm":
        return grid.step_sm(move.who[0])
    cta = grid.sms[move.who[0]].ctas[move.who[1]]
    if not isinstance(cta, Cta):
        raise UsageError(f"no block is in place {move.who[1]} of SM {move.who[0]} to be stepped")
    return grid.step_cta(cta)


def executed(grid: Grid) -> dict[tuple[int, int], int]:
    """Executed instructions of each resident warp, by (CTA number, index in the CTA)."""
    return {(w.cta.number, w.index): w.executed for w in grid.warps()}


def who_acts(grid: Grid, after: dict[tuple[int, int], int]) -> WarpState | None:
    """The resident warp that executes more until a later moment, whose `executed` counts are
    `after`; a warp missing from these has exited.
    """
    live = (w for w in grid.warps() if w.words[rec.STATUS] != rec.DONE)
    return next((w for w in live if after.get((w.cta.number, w.index)) != w.executed), None)
