"""Stepping by source line, and running the focused warp to a place.

The rule of who moves (`set step-along`):

* `cta` (default): the rest of the CTA runs along.  While the focused warp executes one
  instruction, every other warp of its CTA that can run executes one too, by slot.  A warp that
  meets a breakpoint on the way waits there and is reported by the next `continue`; so a step
  never moves the focus, unless the focused warp itself waits at a barrier for such a warp.
  Other CTAs stand still, until `PATIENCE` instructions were made in one step (the CTA may wait
  for them): then the whole grid runs, and any breakpoint ends the step.
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
from typing import TYPE_CHECKING

from gpudbg.debug.values.frames import call_depth, frames
from gpudbg.errors import CommandError
from gpudbg.isa.spa5.sched import first_instruction
from gpudbg.sm.divergence import step as divergence
from gpudbg.sm.events import StopEvent

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.debug.stops.stop import Stop
    from gpudbg.debug.symbols import Line, Symbols
    from gpudbg.sm.state import WarpState

PATIENCE = 100_000
"""Instructions that the CTA makes alone before the rest of the grid runs along."""

Arrived = Callable[["WarpState"], bool]


def run_warp(session: DebugSession, arrived: Arrived) -> Stop:
    """Move the focused warp until it has arrived, ended, or something else stopped it."""
    grid = session.grid
    assert session.focus is not None
    warp = grid.warp(session.focus.sm, session.focus.warp)
    along = session.settings.shown("step-along") == "cta"
    points = session.breakpoints.addresses()
    before, began = grid.total, warp.executed

    watch = session.watchpoints
    watching = watch.arm()

    def there(w: WarpState) -> bool:
        return (watching and watch.met(w)) or (w is warp and w.executed > began and arrived(w))

    while True:
        if along and grid.total - before >= PATIENCE:
            accept = session.accepts if points else None
            return session.end_run(grid.run(breakpoints=points, accept=accept, until=there))
        event = _round(session, warp, points) if along else grid.step_warp(warp)
        event = replace(event, executed=grid.total - before)
        if event.kind != "step" or (watching and (watch.seen or watch.met(warp))):
            return session.end_run(event)
        if warp.status != "exited" and session.breakpoint_at(warp):
            return session.end_run(_at(event, warp), kind="breakpoint")
        if warp.status == "exited" or (warp.status == "ready" and there(warp)):
            return session.end_run(_at(event, warp))


def _at(event: StopEvent, warp: WarpState) -> StopEvent:
    return replace(event, sm=warp.sm, warp=warp.slot, pc=warp.pc)


def _round(session: DebugSession, warp: WarpState, points: Collection[int]) -> StopEvent:
    """One instruction of the focused warp and of every warp of its CTA that does not wait."""
    grid = session.grid
    event: StopEvent | None = None
    held: WarpState | None = None
    for one in [warp, *(w for w in warp.cta.warps if w is not warp)]:
        if one.status != "ready":
            continue
        if one is not warp and one.pc in points and _waits(session, one):
            held = one
            continue
        event = grid.step_warp(one)
        if event.kind != "step" or warp.status == "exited":
            return event
        if session.watchpoints.watched and session.watchpoints.met(one):
            # Who touched the place is known now: the next warp may touch it as well.
            return event
    if event is not None:
        return event
    if held is not None and session.breakpoint_at(held):
        return _at(StopEvent("breakpoint", total=grid.total), held)
    return grid.step_warp(warp)


def _waits(session: DebugSession, warp: WarpState) -> bool:
    """Whether a warp that runs along stays at its breakpoint for the next `continue`."""
    if warp.shown == warp.executed:
        return False
    if session.would_stop(warp):
        return True
    warp.shown = warp.executed
    session.accepts(warp)
    return False


# ---- lines -----------------------------------------------------------------------------
def step_line(session: DebugSession, over: bool) -> Stop:
    """One source line; an instruction where the line is not known."""
    assert session.focus is not None
    warp = session.grid.warp(session.focus.sm, session.focus.warp)
    symbols = session.symbols
    if symbols.line(warp.pc) is None:
        return session.step(1, scope="warp", over=over)
    if session.skipped_inline and not over:
        return session.enter_inlined()
    lane = 1 << session.focus.lane
    depth = call_depth(warp)
    chain = chain_of(symbols, warp.pc)
    chain = chain[: len(chain) - session.skipped_inline]
    start = line_in(symbols, warp.pc, chain)

    def arrived(w: WarpState) -> bool:
        if not w.active & lane:
            return bool(w.exited & lane)
        now = call_depth(w)
        if now > depth and (over or symbols.line(w.pc) is None):
            return False
        if symbols.line(w.pc) is None:
            return False
        if now != depth:
            return True
        return line_in(symbols, w.pc, chain) != start

    stop = run_warp(session, arrived)
    if stop.kind == "step" and session.focus is not None:
        warp = session.warp().state
        if call_depth(warp) == depth and line_in(symbols, warp.pc, chain) != start:
            session.skipped_inline = _deeper(symbols, warp.pc, chain)
    return stop


def chain_of(symbols: Symbols, pc: int) -> tuple[tuple[str, Line], ...]:
    """Calls inlined at a pc, outermost first."""
    return tuple(reversed(symbols.calls(pc)))


def _deeper(symbols: Symbols, pc: int, chain: tuple[tuple[str, Line], ...]) -> int:
    """How many inlined calls a pc lies deeper than the chain; 0 when it lies elsewhere."""
    here = chain_of(symbols, pc)
    return len(here) - len(chain) if here[: len(chain)] == chain else 0


def line_in(symbols: Symbols, pc: int, chain: tuple[tuple[str, Line], ...]) -> Line | None:
    """The line of a pc as the frame with these inlined calls sees it: of the call, when deeper."""
    if _deeper(symbols, pc, chain):
        return chain_of(symbols, pc)[len(chain)][1]
    return symbols.line(pc)


def skipped_at_breakpoint(session: DebugSession, pc: int) -> int:
    """Inlined calls not entered yet at a breakpoint on the line that calls them."""
    wanted = {b.line for b in session.breakpoints.at(pc) if b.line is not None}
    for count, (_, line) in enumerate(session.symbols.calls(pc), 1):
        if line in wanted and session.symbols.line(pc) not in wanted:
            return count
    return 0


# ---- places ----------------------------------------------------------------------------
def until(session: DebugSession, location: str | None) -> Stop:
    """Run to a location; without one, forward past the present line (out of a loop)."""
    assert session.focus is not None
    lane = 1 << session.focus.lane
    warp = session.grid.warp(session.focus.sm, session.focus.warp)
    if location is not None:
        goals = set(session.symbols.resolve(location, session.origin()).addresses)
        depth = call_depth(warp)

        def left(w: WarpState) -> bool:
            # As in gdb, the end of the present function is far enough.
            return bool(w.active & lane) and (w.pc in goals or call_depth(w) < depth)

        return run_warp(session, left)
    here = warp.pc
    last = max((p for p in _line_pcs(session, here)), default=here)
    depth = call_depth(warp)
    return run_warp(
        session,
        lambda w: (
            bool(w.active & lane)
            and (call_depth(w) < depth or (call_depth(w) == depth and w.pc > max(here, last)))
        ),
    )


def _line_pcs(session: DebugSession, pc: int) -> list[int]:
    """Pcs that follow each other from `pc` on and belong to its line."""
    line = session.symbols.line(pc)
    out: list[int] = []
    for row in session.symbols.around(pc, 0, 64):
        if line is None or session.symbols.line(row.pc) != line:
            break
        out.append(row.pc)
    return out


def finish(session: DebugSession, level: int = 0) -> Stop:
    """Run until the focused warp has returned from the function of a frame.

    Raises:
        CommandError: the frame is the kernel's own.
    """
    assert session.focus is not None
    lane = 1 << session.focus.lane
    rows = frames(session)
    frame = rows[min(level, len(rows) - 1)]
    if frame.physical == 0 and not frame.inlined:
        if session.warp().state.in_trap:
            # The handler's own frame: out of it means back in the interrupted code.
            return run_warp(session, lambda w: not w.in_trap)
        raise CommandError("the focused warp is in the kernel itself", "`continue` runs to its end")
    symbols = session.symbols
    if frame.inlined:
        chain = chain_of(symbols, first_instruction(session.warp().state.pc))
        inside = chain[: len(chain) - session.skipped_inline - level]
        return run_warp(
            session,
            lambda w: (
                bool(w.active & lane)
                and call_depth(w) <= frame.physical
                and chain_of(symbols, w.pc)[: len(inside)] != inside
            ),
        )
    return run_warp(session, lambda w: bool(w.active & lane) and call_depth(w) < frame.physical)


def leave_function(session: DebugSession, warp: WarpState) -> None:
    """Return from a function before its first instruction; see `DebugSession.leave_function`."""
    if not call_depth(warp):
        raise CommandError("Can not force return from the kernel itself.", "`kill` ends the launch")
    name, offset = session.symbols.function_offset(first_instruction(warp.pc))
    if offset > 8:
        raise CommandError(
            f"Can not force return from the middle of {name}: it may have saved registers",
            "break at its entry and return from there, or use finish",
        )
    warp.pc = divergence.pop(warp, warp.pc, "RET", warp.active)
    warp.shown = warp.executed
    session.frame_level = session.skipped_inline = 0
