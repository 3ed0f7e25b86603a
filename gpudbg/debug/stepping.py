"""Stepping by source line, and running the focused warp to a place.

The rule of who moves (`set step-along`):

* `cta` (default): the rest of the CTA runs along.  While the focused warp executes one
  instruction, every other warp of its CTA that can run executes one too, by slot.  A warp that
  meets a breakpoint on the way waits there and is reported by the next `continue`; so a step
  never moves the focus, unless the focused warp itself waits at a barrier for such a warp.
  Other CTAs stand still, until `ALONE` instructions were made in one step (the CTA may wait for
  them, or the line is a long loop): then the whole grid runs, on compiled code where there is
  some, and a proven hang ends the step.  Where a breakpoint waits for another warp, the CTA goes
  on alone until `PATIENCE` instructions; then any breakpoint ends the step.
* `none`: only the focused warp moves; at a barrier the others run until it is released.

The rule of where it ends: the focused lane is active and stands at another source line than it
began at, or has returned from its function.  Lanes of a branch not taken by the focused lane are
run through.  `step` enters functions that have lines, `next` runs calls and inlined calls
through.  A breakpoint that the focused warp meets, an error, a trap, an interrupt or the end of
the warp ends it before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from gpudbg.debug.focus.focus import Focus, first_lane, thread_of
from gpudbg.debug.inlined import beside, chain_of, deeper, line_in
from gpudbg.debug.stops.stop import StepStop
from gpudbg.debug.values.backtrace import call_depth, frames
from gpudbg.debug.values.context import WarpContext
from gpudbg.debug.values.evaluation import origin
from gpudbg.errors import CommandError
from gpudbg.expr import parse
from gpudbg.expr.native import native
from gpudbg.sm.events import StopEvent

if TYPE_CHECKING:
    from gpudbg.debug.breakpoints.setting import Breakpoints
    from gpudbg.debug.inferior import Inferior
    from gpudbg.debug.running import Runner
    from gpudbg.debug.stops.stop import Stop
    from gpudbg.debug.symbols import Symbols
    from gpudbg.sm.conditions import Condition
    from gpudbg.sm.state import WarpState

ALONE, PATIENCE = 10_000, 100_000
"""Instructions that the CTA makes alone before the rest of the grid runs along; the same where
another warp comes to a breakpoint."""

Arrived = Callable[["WarpState"], bool]
Goals = Callable[[], frozenset[int]]
"""Pcs, one of which a warp meets on arrival or soon after; computed only when a step is long."""


def run_warp(
    runner: Runner, arrived: Arrived, goals: Goals, skips: Callable[[], int] = lambda: 0
) -> Stop:
    """Move the focused warp until it has arrived, ended, or something else stopped it.

    Args:
        skips: how many inlined calls it has not entered where it arrived.
    """
    inferior, breakpoints, watch = runner.inferior, runner.breakpoints, runner.watchpoints
    grid, warp = inferior.grid, inferior.focused()
    along = inferior.settings.shown("step-along") == "cta"
    points = breakpoints.addresses()
    before, began = grid.total, warp.executed
    watching = watch.arm()
    end = partial(runner.end_run, skips=skips)
    lane = _moved_lane(inferior, warp)
    alone = ALONE
    sought: frozenset[int] | None = None

    def there(w: WarpState) -> bool:
        return (watching and watch.met(w)) or (w is warp and w.executed > began and arrived(w))

    while True:
        if along and grid.total - before >= alone:
            if sought is None:
                sought = goals() | _exits(inferior)
            event, waits = _run_grid(runner, warp, lane, arrived, sought, alone < PATIENCE)
            if waits:
                alone = PATIENCE
            elif event.kind != "step" or (watching and watch.seen) or arrived(warp):
                return end(event)
        event = _round(runner, warp, points) if along else grid.step_warp(warp)
        event = replace(event, executed=grid.total - before)
        if event.kind != "step" or (watching and (watch.seen or watch.met(warp))):
            return end(event)
        if warp.status != "exited" and breakpoints.stops_now(warp):
            return end(_at(event, warp), kind="breakpoint")
        if warp.status == "exited" or (warp.status == "ready" and there(warp)):
            return end(_at(event, warp))


def _at(event: StopEvent, warp: WarpState) -> StopEvent:
    return replace(event, sm=warp.sm, warp=warp.slot, pc=warp.pc)


def _run_grid(
    runner: Runner,
    warp: WarpState,
    lane: int,
    arrived: Arrived,
    goals: frozenset[int],
    patient: bool,
) -> tuple[StopEvent, bool]:
    """Run all until the focused warp has arrived, or stands at an instruction by which it exits.

    Args:
        goals: where it is asked whether it has arrived.
        patient: a breakpoint of another warp ends the run, but not the step.

    Returns:
        What ended the run; whether that was such a breakpoint.
    """
    breakpoints, symbols = runner.breakpoints, runner.inferior.symbols
    points, there, waits = frozenset(breakpoints.addresses()), False, False

    def ends(w: WarpState) -> bool:
        row = symbols.instruction(w.pc)
        return row is not None and "EXIT" in row.text

    def accept(w: WarpState) -> bool:
        nonlocal there, waits
        if w.pc in points and patient and w is not warp and breakpoints.would_stop(w):
            # Reported by the next `continue`.
            w.shown, waits = -1, True
            return True
        if w.pc in points and breakpoints.accepts(w):
            return True
        there = w is warp and w.pc in goals and (arrived(w) or ends(w))
        return there

    mine = _is_thread(runner.inferior, warp, lane)
    event = runner.inferior.grid.run(
        breakpoints=points | goals,
        accept=accept,
        until=runner.watchpoints.met if runner.watchpoints.watched else None,
        selected=runner.watchpoints.watched,
        hang_check=runner.hang_check(),
        conditions=lambda pc: mine if pc not in points else breakpoints.native_condition(pc),
    )
    return (replace(event, kind="step") if there and event.kind == "breakpoint" else event), waits


def _moved_lane(inferior: Inferior, warp: WarpState) -> int:
    """The lane that a step follows: the focused one, or another where that has exited."""
    return first_lane(warp.active) if warp.exited >> inferior.lane & 1 else inferior.lane


def _is_thread(inferior: Inferior, warp: WarpState, lane: int) -> Condition | None:
    """A native condition that a lane is this one, so that compiled code does not stop for other
    warps at the goals.
    """
    names = ("threadIdx", "blockIdx")
    places = zip(names, (thread_of(warp, lane), warp.cta.block), strict=True)
    words = [
        f"{name}.{axis} == {value}"
        for name, place in places
        for axis, value in zip("xyz", place, strict=True)
    ]
    return native(parse(" && ".join(words)), WarpContext(inferior, warp))


def _round(runner: Runner, warp: WarpState, points: Collection[int]) -> StopEvent:
    """Execute one instruction of the focused warp and of every other warp of its CTA that can
    run.
    """
    grid, watch = runner.inferior.grid, runner.watchpoints
    event: StopEvent | None = None
    held: WarpState | None = None
    for one in [warp, *(w for w in warp.cta.warps if w is not warp)]:
        if one.status != "ready":
            continue
        if one is not warp and one.pc in points and _waits(runner.breakpoints, one):
            held = one
            continue
        event = grid.step_warp(one)
        if event.kind != "step" or warp.status == "exited":
            return event
        if watch.watched and watch.met(one):
            # Stop here: it is known which warp touched the place, and the next one may touch it,
            # too.
            return event
    if event is not None:
        return event
    if held is not None and runner.breakpoints.stops_now(held):
        return _at(StopEvent("breakpoint", total=grid.total), held)
    return grid.step_warp(warp)


def _waits(breakpoints: Breakpoints, warp: WarpState) -> bool:
    """Whether a warp that runs along must stay at its breakpoint for the next `continue`."""
    if warp.shown == warp.executed:
        return False
    if breakpoints.would_stop(warp):
        return True
    warp.shown = warp.executed
    breakpoints.accepts(warp)
    return False


# ---- lines -----------------------------------------------------------------------------
def step_lines(runner: Runner, count: int, over: bool) -> Stop:
    """Source lines, until another kind of stop comes before; see `DebugSession.step_line`."""
    if (untold := _begun(runner)) is not None:
        return untold
    for _ in range(count):
        stop = _step_line(runner, over)
        if not isinstance(stop, StepStop):
            break
    return stop


def _begun(runner: Runner) -> Stop | None:
    """Prepare the focused warp for running freely. Returns a stop that comes before it, if any."""
    runner.require_movable()
    if (untold := runner.untold()) is not None:
        return untold
    runner.run_freely()
    return None


def _step_line(runner: Runner, over: bool) -> Stop:
    """Step one source line; an instruction where the line is unknown."""
    inferior = runner.inferior
    symbols, warp = inferior.symbols, inferior.focused()
    if symbols.line(warp.pc) is None:
        return runner.step(1, "warp", over)
    if inferior.skipped_inline and not over:
        return runner.enter_inlined()
    lane = 1 << _moved_lane(inferior, warp)
    depth = call_depth(inferior, warp)
    chain = chain_of(symbols, warp.pc)
    chain = chain[: len(chain) - inferior.skipped_inline]
    start = line_in(symbols, warp.pc, chain)

    def arrived(w: WarpState) -> bool:
        if not w.active & lane:
            return bool(w.exited & lane)
        now = call_depth(inferior, w)
        if symbols.line(w.pc) is None or (now > depth and (over or symbols.in_prologue(w.pc))):
            return False
        line = line_in(symbols, w.pc, chain)
        return now != depth or line != start or entered(w.pc) or beside(symbols, w.pc, chain) > 0

    def entered(pc: int) -> bool:
        """Whether a pc lies in a call that the present line has inlined and that the step
        enters.
        """
        return not over and bool(deeper(symbols, pc, chain)) and symbols.line(pc) != start

    def skips() -> int:
        warp = inferior.focused()
        if call_depth(inferior, warp) != depth:
            return 0
        if (other := beside(symbols, warp.pc, chain)) > 0:
            return other
        inside = deeper(symbols, warp.pc, chain)
        return inside if line_in(symbols, warp.pc, chain) != start else max(inside - 1, 0)

    def away(pc: int) -> bool:
        if symbols.line(pc) is None or symbols.in_prologue(pc):
            return False
        line = line_in(symbols, pc, chain)
        return line != start or entered(pc) or beside(symbols, pc, chain) > 0

    def goals() -> frozenset[int]:
        return _entries(inferior, away, everywhere=not over)

    return run_warp(runner, arrived, goals, skips)


def _entries(
    inferior: Inferior, wanted: Callable[[int], bool], everywhere: bool = False
) -> frozenset[int]:
    """Pcs at which wanted code can be entered: its beginnings, jump targets and return addresses.

    Args:
        everywhere: in all functions.
    """
    symbols, found = inferior.symbols, set(_returns(inferior))
    begun = {frame.pc for frame in frames(inferior) if not frame.inlined}
    if everywhere:
        begun |= {pc for _, pc, _ in symbols.function_places()}
    for pc in begun:
        jumped_to, before = set(symbols.block_starts(pc)), False
        for row in symbols.function_rows(pc):
            here = wanted(row.pc)
            if here and (not before or row.pc in jumped_to):
                found.add(row.pc)
            before = here
    return frozenset(found)


def _exits(inferior: Inferior) -> frozenset[int]:
    """Pcs of the EXIT instructions in the functions that the focused warp is in."""
    begun = {frame.pc for frame in frames(inferior) if not frame.inlined}
    rows = (row for pc in begun for row in inferior.symbols.function_rows(pc))
    return frozenset(row.pc for row in rows if "EXIT" in row.text)


def _returns(inferior: Inferior) -> frozenset[int]:
    """Return addresses of the calls that the focused warp is in."""
    return frozenset(frame.pc for frame in frames(inferior) if not frame.inlined)


# ---- places ----------------------------------------------------------------------------
def until(runner: Runner, location: str | None) -> Stop:
    """Run to a location; without one, forward past the present line (out of a loop).

    Where the focused warp ends before it comes to the location, the first other one that does is
    the stop: it is the location that was asked for.
    """
    if (untold := _begun(runner)) is not None:
        return untold
    inferior = runner.inferior
    warp = inferior.focused()
    lane = 1 << _moved_lane(inferior, warp)
    if location is not None:
        goals = set(inferior.symbols.resolve(location, origin(inferior)).addresses)
        depth = call_depth(inferior, warp)

        def left(w: WarpState) -> bool:
            # As in gdb, returning from the present function ends it as well.
            return bool(w.active & lane) and (w.pc in goals or call_depth(inferior, w) < depth)

        stop = run_warp(runner, left, lambda: frozenset(goals) | _returns(inferior))
        alone = inferior.settings.shown("step-along") != "cta"
        if alone or warp.status != "exited" or not isinstance(stop, StepStop) or inferior.finished:
            return stop
        return _run_to(runner, frozenset(goals))
    here = warp.pc
    last = max((p for p in _line_pcs(inferior.symbols, here)), default=here)
    depth = call_depth(inferior, warp)
    return run_warp(
        runner,
        lambda w: (
            bool(w.active & lane)
            and (
                call_depth(inferior, w) < depth
                or (call_depth(inferior, w) == depth and w.pc > max(here, last))
            )
        ),
        lambda: _entries(inferior, lambda pc: not here <= pc <= last),
    )


def _run_to(runner: Runner, goals: frozenset[int]) -> Stop:
    """Run the grid until any warp comes to one of these places, or something else stops it."""
    inferior, breakpoints = runner.inferior, runner.breakpoints
    points = frozenset(breakpoints.addresses())
    watching = runner.watchpoints.arm()
    there = False

    def accept(w: WarpState) -> bool:
        nonlocal there
        if w.pc in points and breakpoints.accepts(w):
            return True
        there = w.pc in goals
        if there:
            inferior.focus = Focus(w.sm, w.slot, first_lane(w.active))
        return there

    event = inferior.grid.run(
        breakpoints=points | goals,
        accept=accept,
        until=runner.watchpoints.met if watching else None,
        selected=watching,
        hang_check=runner.hang_check(),
    )
    return runner.end_run(event, kind="step" if there and event.kind == "breakpoint" else None)


def _line_pcs(symbols: Symbols, pc: int) -> list[int]:
    """Consecutive pcs from `pc` on that belong to its source line."""
    line = symbols.line(pc)
    out: list[int] = []
    for row in symbols.around(pc, 0, 64):
        if line is None or symbols.line(row.pc) != line:
            break
        out.append(row.pc)
    return out


def finish(runner: Runner, level: int = 0) -> Stop:
    """Run until the focused warp has returned from the function of a frame.

    Raises:
        CommandError: the frame is the kernel's own.
    """
    if (untold := _begun(runner)) is not None:
        return untold
    inferior = runner.inferior
    lane = 1 << _moved_lane(inferior, inferior.focused())
    rows = frames(inferior)
    frame = rows[min(level, len(rows) - 1)]
    if frame.physical == 0 and not frame.inlined:
        if inferior.focused().in_trap:
            # The handler's own frame: leaving it means returning to the interrupted code.
            return run_warp(
                runner, lambda w: not w.in_trap, lambda: frozenset(inferior.symbols.pcs)
            )
        raise CommandError("the focused warp is in the kernel itself", "`continue` runs to its end")
    symbols = inferior.symbols
    if frame.inlined:
        chain = chain_of(symbols, symbols.layout.first(inferior.focused().pc))
        inside = chain[: len(chain) - inferior.skipped_inline - level]
        return run_warp(
            runner,
            lambda w: (
                bool(w.active & lane)
                and call_depth(inferior, w) <= frame.physical
                and chain_of(symbols, w.pc)[: len(inside)] != inside
            ),
            lambda: _entries(inferior, lambda pc: chain_of(symbols, pc)[: len(inside)] != inside),
        )
    # Calls made by the compiler between the two frames are left as well.
    caller = max((f.physical for f in rows if f.physical < frame.physical), default=0)
    return run_warp(
        runner,
        lambda w: bool(w.active & lane) and call_depth(inferior, w) <= caller,
        lambda: _returns(inferior),
    )


def jump(runner: Runner, location: str | None) -> None:
    """Let the focused warp go on elsewhere; see `DebugSession.jump`."""
    runner.require_movable()
    inferior = runner.inferior
    found = inferior.symbols.resolve(location, origin(inferior)).addresses
    if len(found) != 1:
        raise CommandError(f"{location} is {len(found)} places", "jump needs one address")
    warp = inferior.focused()
    warp.note_edit()
    warp.pc = found[0]
    warp.shown = warp.executed
