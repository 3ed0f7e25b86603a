"""Going back: reverse execution, and moving to any instruction of a launch.

    session.reverse_step()      what `step` did, undone
    session.reverse_cont()      back to the last breakpoint, watchpoint or the beginning
    session.goto(1200)          after 1,200 warp instructions of the launch

A *tick* is one warp instruction of the launch.  Before the present, commands that run and step
follow the order that was recorded; writing a register or memory there begins a branch of its own,
and the way that was recorded is kept as another one (`info branches`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from weakref import ref

from gpudbg.debug.attached import Attached
from gpudbg.debug.focus.focus import Focus, first_lane
from gpudbg.debug.history.branches import Branch, Branches, BranchRow
from gpudbg.debug.history.comparing import Parts, StateDifference, differences, parts_of
from gpudbg.debug.history.following import Follower
from gpudbg.debug.history.past_steps import WINDOW, PastStep, WarpPast
from gpudbg.debug.history.replay import (
    Position,
    Replay,
    SearchInterruptedError,
    executed,
    who_acts,
)
from gpudbg.debug.history.stop_search import Destination, StopSearch
from gpudbg.debug.values.backtrace import call_depth
from gpudbg.debug.views.format import parse_int
from gpudbg.errors import CommandError
from gpudbg.sm.events import StopEvent

if TYPE_CHECKING:
    from gpudbg.debug.history.first_run import FirstRun
    from gpudbg.debug.inferior import Inferior
    from gpudbg.debug.running import Runner
    from gpudbg.debug.stops.stop import Stop
    from gpudbg.debug.trace.timeline import Timeline
    from gpudbg.sm.state import WarpState

NO_MORE: Final = "No more reverse-execution history: the launch begins here."
"""gdb's words."""
FORGOTTEN: Final = "No more reverse-execution history: what was before is too long ago."


class LaunchHistory(Attached["Inferior"]):
    """The past of a session's launch.

    Attributes:
        replay: its states.
    """

    def __init__(
        self,
        inferior: Inferior,
        runner: Runner,
        timeline: Timeline,
        past: FirstRun | None = None,
    ) -> None:
        """Args: past: a run that has begun, or ended, before."""
        super().__init__(inferior)
        self._runner = runner
        self._timeline = timeline
        self._branches: Branches | None = None
        self.replay = self._made()
        if past is not None:
            past.hand_over(self.replay)
        # Weak reference: history and runner must not keep each other alive.
        runner.history = ref(self)

    def launched(self) -> None:
        """Forget the old launch's past: the session has a new launch."""
        self._branches = None
        self.replay = self._made()

    def _made(self) -> Replay:
        inferior = self._inferior
        return Replay(inferior.grid, inferior.launch.begin_again, self._timeline.onward)

    @property
    def branches(self) -> Branches:
        """Branches that are not followed since a change in the past."""
        if self._branches is None:
            self._branches = Branches()
        return self._branches

    @property
    def tick(self) -> int:
        """Warp instructions of the launch so far."""
        return self.replay.grid.total

    @property
    def end_tick(self) -> int:
        """The tick of the present."""
        return max(self.replay.end.tick, 0 if self.in_past else self.tick)

    @property
    def in_past(self) -> bool:
        """Whether the launch stands before its present."""
        return self.replay.in_past

    def state_hash(self) -> str:
        """See `DebugSession.state_hash`."""
        from gpudbg.sm.state_hash import state_hash

        return state_hash(self.replay.grid)

    def stopped(self) -> None:
        """Close the pending changes before the user sees a stop: edits made here belong to this
        position, and the SMs' words are saved as they are now.
        """
        if self.replay.crossed:
            self._travel(self.replay.at)
        if self.replay.in_past:
            # Restore what the user saw at this position, by whatever route the launch got here.
            self._show_words()
        self.replay.note_stop()

    # ---- going somewhere ---------------------------------------------------------------
    def goto(self, tick: int) -> Stop:
        """Stand after so many warp instructions of the launch; see `DebugSession.goto`."""
        self._require()
        replay = self.replay
        if tick > self.replay.end.tick:
            left = tick - self.replay.end.tick
            if self._inferior.finished or self._faulted_at_end():
                last = f"it has {self.replay.end.tick:,} warp instructions"
                raise CommandError(f"the launch does not come to tick {tick:,}", last)
            if replay.at < self.replay.end:
                self.arrive(Destination(self.replay.end))
            return self._runner.run(left)
        if tick < replay.first.tick:
            since = f"what is kept begins at tick {replay.first.tick:,}"
            raise CommandError(f"tick {tick:,} is too long ago", since)
        return self.arrive(Destination(replay.latest(tick)))

    def goto_text(self, text: str) -> Stop:
        """`goto` with a tick as people write it: 1,200, `begin`, `end`."""
        word = text.strip().replace(",", "")
        named = {"begin": self.replay.first.tick, "end": self.end_tick}
        tick = named[word] if word in named else parse_int(word, "tick")
        if tick < 0:
            raise CommandError(f"tick {tick:,}: a launch begins at tick 0")
        return self.goto(tick)

    def reverse_step(self, count: int = 1) -> Stop:
        """Back by single warp instructions; see `DebugSession.reverse_step`."""
        self._require()
        replay = self.replay
        target = last = replay.present()
        for _ in range(count):
            before = replay.before(target)
            if before is None:
                break
            target, last = before, target
        if target == last:
            return self._at_beginning()
        if last != replay.present():
            self._travel(last)
        return self.arrive(Destination(target), after=executed(replay.grid))

    def reverse_instruction(self, over: bool, count: int = 1) -> Stop:
        """Back by instructions of the focused warp; over calls, if asked."""
        return self._back_by(lambda past: past.before_instruction(over, count))

    def reverse_line(self, over: bool, count: int = 1) -> Stop:
        """Back to where a source line began; see `DebugSession.reverse_step_line`."""
        return self._back_by(lambda past: past.before_line(over, count))

    def reverse_finish(self) -> Stop:
        """Back to the call of the present function; of an inlined one, to where it began.

        Raises:
            CommandError: it is the kernel itself; gdb's words.
        """
        inferior = self._inferior
        self._require()
        if inferior.focus is None:
            return self._back_by(lambda past: past.before_call())
        warp = inferior.focused()
        chain = inferior.symbols.calls(warp.pc)
        if not chain and not call_depth(inferior, warp):
            raise CommandError('"finish" not meaningful in the outermost frame.')
        if chain:
            return self._back_by(lambda past: past.before_inlined(chain))
        return self._back_by(lambda past: past.before_call())

    def reverse_until(self, pcs: frozenset[int] | None) -> Stop:
        """Back to where the focused warp stood at one of some places; None: by a line, and out of
        a loop."""
        if pcs is None:
            return self._back_by(lambda past: past.before_loop())
        return self._back_by(lambda past: past.at_place(pcs))

    def _back_by(self, find: Callable[[WarpPast], PastStep | None]) -> Stop:
        """Back to what `find` finds in the focused warp's past; else to where that begins."""
        self._require()
        inferior, replay = self._inferior, self.replay
        if inferior.focus is None:
            return self.reverse_step()
        here = replay.present()
        past = WarpPast(inferior, replay, inferior.focused(), inferior.lane)
        size, found, high = WINDOW, None, here
        while found is None and not past.whole:
            low = replay.latest(high.tick - size) if high.tick > size else replay.first
            low = max(low, replay.earlier(high, needed=True))
            try:
                self.pass_by(low)
                past.scan(low, high)
            except SearchInterruptedError as stop:
                return self.interrupted(stop.event)
            found, size, high = find(past), 4 * size, low
        found = found or past.first
        if found is None:
            return self._at_beginning()
        return self.arrive(Destination(replay.latest(found.tick), past.who), lane=past.lane)

    def reverse_cont(self) -> Stop:
        """Back to the last breakpoint or watchpoint that was met, a fault, or the beginning."""
        self._require()
        replay = self.replay
        high = low = replay.present()
        # Search the nearest window first: a frequent breakpoint was met recently, and a longer
        # stretch would replay many stops.
        near = replay.latest(high.tick - WINDOW) if high.tick > WINDOW else replay.first
        while low > replay.first:
            low = max(near, replay.earlier(low))
            near = replay.first
            try:
                self.pass_by(low)
                met = StopSearch(self._runner, replay).last(high)
            except SearchInterruptedError as stop:
                return self.interrupted(stop.event)
            if met is not None:
                return self.arrive(met)
            high = low
        return self._at_beginning()

    @contextmanager
    def excursion(self) -> Iterator[None]:
        """Context: the launch may be moved through its past; at the end it is moved back."""
        self._require()
        here = self.replay.present()
        try:
            yield
        finally:
            self._travel(here)
            self._show_words()

    def stand_at_end(self) -> Stop:
        """Move the launch to its present."""
        return self.arrive(Destination(self.replay.end))

    # ---- for those who look for something in the past ----------------------------------
    def pass_by(self, target: Position) -> None:
        """Move the launch to a position without reporting a stop there.

        Raises:
            SearchInterruptedError: it was interrupted.
        """
        event = self._travel(target)
        if event is not None and event.kind == "interrupted":
            raise SearchInterruptedError(event)

    def interrupted(self, event: StopEvent) -> Stop:
        """The stop to report where a search through the past was interrupted."""
        self._follow()
        return self._runner.end_run(event)

    def arrive(
        self,
        target: Destination,
        after: dict[tuple[int, int], int] | None = None,
        lane: int | None = None,
        note: tuple[str, ...] = (),
    ) -> Stop:
        """Move the launch to a target and report the stop.

        Args:
            after: instructions by warp one tick later: who acts then has the focus.
            lane: the focused lane.
            note: lines of the stop.
        """
        arrived = self._travel(target.at)
        grid = self.replay.grid
        warp: WarpState | None = None
        if target.warp is not None:
            warp = next((w for w in grid.warps() if (w.cta.number, w.index) == target.warp), None)
        elif after is not None:
            warp = who_acts(grid, after)
        if warp is not None:
            self._focus(warp, lane)
        chosen = self._inferior.focus
        stop = self._runner.end_run(self._event(target, warp, arrived, note))
        if after is not None and warp is not None:
            # Even where the stop is another warp's trap, the focus stays on the warp that the
            # command is about.
            self._inferior.focus = chosen
        self._show_words()
        return stop

    def _show_words(self) -> None:
        """Restore the SMs' words as the user saw them at this position."""
        if self.replay.show_words():
            self._runner.stands_after_step()

    # ---- the pieces --------------------------------------------------------------------
    def _require(self) -> None:
        self._inferior.require_launched()
        if self._inferior.killed:
            raise CommandError("the launch was given up", "`run` launches it again")
        replay = self.replay
        if replay.log.edited(replay.grid):
            # Keep the change, as a branch or in a checkpoint, for when the launch comes back here.
            if replay.in_past:
                self._fork()
            else:
                replay.mark(replay.end, needed=True)

    def _faulted_at_end(self) -> bool:
        moves = self.replay.moves
        return bool(moves) and moves[-1].by_itself

    def _at_beginning(self) -> Stop:
        first = self.replay.first
        return self.arrive(Destination(first), note=(NO_MORE if not first.tick else FORGOTTEN,))

    def _travel(self, target: Position) -> StopEvent | None:
        """Move the launch to a position and rebind the session's parts to its grid."""
        replay, inferior = self.replay, self._inferior
        event = replay.go(target)
        if inferior.grid is not replay.grid:
            inferior.grid = replay.grid
        self._runner.adopt()
        self._follow()
        return event

    def _follow(self) -> None:
        """Make the launch follow the recording where it stands in the past, else run by itself."""
        replay = self.replay
        if replay.at < replay.end:
            replay.grid.past = Follower(replay, self._fork)
            replay.log.settle(replay.grid)
            self._timeline.hold()
        else:
            replay.resume()

    def _event(
        self,
        target: Destination,
        warp: WarpState | None,
        arrived: StopEvent | None,
        note: tuple[str, ...],
    ) -> StopEvent:
        """The stop event to report on arrival at a target."""
        replay, grid = self.replay, self.replay.grid
        if arrived is not None and arrived.kind == "interrupted":
            return arrived
        if (last := replay.last_event()) is not None:
            return last
        if grid.finished:
            return StopEvent("exited", total=grid.total, detail=note)
        if target.breakpoint and warp is not None:
            warp.shown = warp.executed
            if self._runner.breakpoints.accepts(warp):
                lane = self._runner.breakpoints.met.lane
                place = warp.sm, warp.slot, lane, warp.pc
                return StopEvent("breakpoint", *place, total=grid.total)
        self._runner.watchpoints.restore(target.seen)
        return StopEvent("step", total=grid.total, detail=note)

    def _focus(self, warp: WarpState, lane: int | None) -> None:
        inferior = self._inferior
        old = inferior.focus
        if lane is None:
            same = old is not None and (old.sm, old.warp) == (warp.sm, warp.slot)
            # Choose an active lane: `step` from an inactive one would run until it becomes active.
            acts = old is not None and same and warp.active >> old.lane & 1
            lane = old.lane if old is not None and acts else first_lane(warp.active)
        inferior.focus = Focus(warp.sm, warp.slot, lane)

    # ---- branches ----------------------------------------------------------------------
    def _fork(self) -> None:
        """A user changed something in the past: keep the recorded moves after it as a branch."""
        replay, branches = self.replay, self.branches
        at, marks = replay.present(), list(replay.marks)
        before = replay.fork()
        branches.leave(Branch(before, marks, at))
        replay.resume()
        replay.mark(replay.end, needed=True)

    def branch_rows(self) -> list[BranchRow]:
        """All branches, by number."""
        return self.branches.rows(self.end_tick)

    def name_branch(self, name: str) -> None:
        """Name the branch that is followed.

        Raises:
            CommandError: the name is a number, or another branch's.
        """
        name = name.strip()
        if name.isdecimal():
            raise CommandError(f"{name} is a number, which names a branch already", "use a word")
        if name and any(branch.name == name for _, branch in self.branches):
            raise CommandError(f"another branch is called {name!r}", "`info branches` lists them")
        self.branches.name = name

    def switch(self, number: int) -> Stop:
        """Stand at the end of another branch.

        Raises:
            CommandError: no branch has that number.
        """
        self._require()
        if number != self.branches.current:
            self._exchange(number)
        return self.arrive(Destination(self.replay.end))

    def _exchange(self, number: int) -> None:
        """Follow another branch; the launch is still to be moved onto it."""
        branches, replay = self.branches, self.replay
        wanted = branches.get(number)
        branches.exchange(number, Branch(list(replay.moves), list(replay.marks), None))
        replay.take(wanted.moves, wanted.marks)

    def delete_branch(self, number: int) -> None:
        """Forget a branch that is not followed.

        Raises:
            CommandError: it is followed, or there is none.
        """
        self.branches.delete(number)

    def compare(self, number: int, tick: int | None = None) -> tuple[StateDifference, ...]:
        """What differs between the branch that is followed and another one; nothing moves.

        Args:
            tick: where on both; None: at their ends.

        Raises:
            CommandError: there is no such branch, or one of them does not come to that tick.
        """
        here, found = self.branches.current, []
        if number == here:
            raise CommandError(
                f"branch {number} is the one that is followed", "compare it with another"
            )
        self.branches.get(number)
        with self.excursion():
            for which in (here, number):
                with self.on_branch(which):
                    found.append(self._parts_of(which, tick))
        return tuple(differences(*found))

    @contextmanager
    def on_branch(self, number: int) -> Iterator[None]:
        """Context of an excursion: its moves are those of a branch."""
        here = self.branches.current
        if number == here:
            yield
            return
        self._exchange(number)
        try:
            yield
        finally:
            self._exchange(here)

    def _parts_of(self, number: int, tick: int | None) -> Parts:
        """The state of a branch at a tick, or at its end."""
        replay = self.replay
        if tick is not None and tick > replay.end.tick:
            ends = f"it ends at tick {replay.end.tick:,}"
            raise CommandError(f"branch {number} does not come to tick {tick:,}", ends)
        try:
            self.pass_by(replay.end if tick is None else replay.latest(tick))
        except SearchInterruptedError:
            raise CommandError("interrupted; nothing was compared") from None
        return parts_of(replay.grid)
