"""What every action does on the main screen: one function per action id, in one table."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from gpudbg.debug.focus.focus import first_lane
from gpudbg.debug.stops.stop import StepStop
from gpudbg.frontends.tui import layout
from gpudbg.frontends.tui.doing import DOINGS, STEPS, doing
from gpudbg.frontends.tui.widgets.code import CodePane
from gpudbg.frontends.tui.widgets.console import ConsolePane
from gpudbg.frontends.tui.widgets.source import SourcePane

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.debug.snapshot import WarpRow
    from gpudbg.frontends.tui.screens.main import MainScreen


def load() -> None:
    """Importing this module enters its doings in the table; calling this says so."""


def _runs(name: str, label: str, line: str) -> None:
    """A running command, carried out in the engine thread."""

    def run(screen: MainScreen) -> None:
        screen.query_one(ConsolePane).log_command(line)
        screen.run_job(label, lambda session: session.command(line))

    DOINGS[name] = run


for _name, _label, _line in (
    ("continue", "Running", "continue"),
    ("finish", "Finishing the call", "finish"),
    ("until", "Past the loop", "until"),
    ("restart", "Starting", "start"),
):
    _runs(_name, _label, _line)

HELD_S = 0.5
"""A key that has not been pressed again for so long is no longer held down."""
PRESSED = 8
"""So many presses count one by one, however long their steps take."""


def steps(session: DebugSession, line: str, count: int, last: float) -> None:
    """`count` steps with one picture at the end, as long as each ends as a step does.

    Args:
        session: the machine.
        line: the command of one step.
        count: presses of its key.
        last: when the last one came (`time.monotonic`): a machine slower than the key repeats
            ends soon after the key is released.
    """
    for done in range(count):
        if done >= PRESSED and time.monotonic() > last + HELD_S:
            return
        session.command(line)
        if not isinstance(session.stop, StepStop):
            return


def _steps(name: str) -> None:
    """Steps for every press of the key that waits already."""

    def run(screen: MainScreen) -> None:
        pressed = screen.gpudbg.pressed
        keys = [pressed, *screen.gpudbg.inputs.take_repeats(pressed)] if pressed else []
        count, last = max(len(keys), 1), keys[-1].time if keys else time.monotonic()
        screen.run_job(STEPS[name], lambda session: steps(session, name, count, last))

    DOINGS[name] = run


for _name in STEPS:
    _steps(_name)


@doing("launch")
def launch_form(screen: MainScreen) -> None:
    """The launch form; what it answers begins at the kernel's entry."""
    from gpudbg.frontends.tui.screens.launch import LaunchScreen

    def answered(begin: bool | None) -> None:
        if begin:
            DOINGS["restart"](screen)

    form = LaunchScreen(screen.session, lambda: screen.quick(lambda session: None))
    screen.app.push_screen(form, answered)


@doing("cursor")
def run_to_cursor(screen: MainScreen) -> None:
    """A temporary breakpoint at the cursor's row, and run."""
    pc = _cursor_pc(screen)
    if pc is None:
        return
    line = f"until {place_of(screen, pc)}"
    screen.query_one(ConsolePane).log_command(line)
    screen.run_job("To the cursor", lambda session: session.command(line))


@doing("interrupt")
def interrupt(screen: MainScreen) -> None:
    """Stop what runs; at rest, say how to leave."""
    if screen.engine.busy:
        screen.engine.interrupt()
    else:
        screen.note("nothing runs; q quits", "muted")


# ---- focus -------------------------------------------------------------------------------------
def _move_lane(screen: MainScreen, by: int) -> None:
    view = screen.current
    if view is None or view.focus_row is None:
        return
    lanes = [i for i in range(32) if view.focus_row.valid >> i & 1]
    at = lanes.index(view.lane) if view.lane in lanes else 0
    focus_on(screen, view.focus_row, lanes[(at + by) % len(lanes)])


def focus_on(screen: MainScreen, row: WarpRow, lane: int) -> None:
    """Move the debug focus to a lane of a warp."""
    screen.quick(lambda s: s.focus_on(row.sm, row.slot, lane))


def _move_warp(screen: MainScreen, by: int) -> None:
    view = screen.current
    if view is None or view.focus_row is None:
        return
    rows = [w for w in view.warps if w.state != "exited"]
    keys = [(w.sm, w.slot) for w in rows]
    mine = (view.focus_row.sm, view.focus_row.slot)
    at = keys.index(mine) if mine in keys else 0
    found = rows[(at + by) % len(rows)]
    lane = view.lane if found.valid >> view.lane & 1 else first_lane(found.active or found.valid)
    focus_on(screen, found, lane)


def _move_cta(screen: MainScreen, by: int) -> None:
    view = screen.current
    if view is None or view.focus_row is None:
        return
    firsts: dict[tuple[int, int, int], WarpRow] = {}
    for w in sorted(view.warps, key=lambda w: (w.block[::-1], w.index_in_cta)):
        if w.state != "exited":
            firsts.setdefault(w.block, w)
    blocks = list(firsts)
    at = blocks.index(view.focus_row.block) if view.focus_row.block in blocks else 0
    found = firsts[blocks[(at + by) % len(blocks)]]
    focus_on(screen, found, first_lane(found.active or found.valid))


DOINGS["lane_next"] = lambda screen: _move_lane(screen, 1)
DOINGS["lane_back"] = lambda screen: _move_lane(screen, -1)
DOINGS["warp_next"] = lambda screen: _move_warp(screen, 1)
DOINGS["warp_back"] = lambda screen: _move_warp(screen, -1)
DOINGS["cta_next"] = lambda screen: _move_cta(screen, 1)
DOINGS["cta_back"] = lambda screen: _move_cta(screen, -1)


def notable(screen: MainScreen) -> list[tuple[int, int, int]]:
    """Things of note as (sm, slot, lane): outlier lanes, first lanes of paths, troubled warps."""
    view = screen.current
    if view is None or view.focus_row is None:
        return []
    focus = view.focus_row
    lanes = {first_lane(p.mask) for p in view.paths if p.mask}
    for value in (*view.registers, *view.watches):
        lanes |= {i for i in range(32) if value.shape.odd >> i & 1}
    out = [(focus.sm, focus.slot, lane) for lane in sorted(lanes)]
    for w in view.warps:
        if (w.sm, w.slot) != (focus.sm, focus.slot) and (w.faulty or w.state in ("error", "trap")):
            out.append((w.sm, w.slot, first_lane(w.faulty or w.active)))
    return out


def _move_note(screen: MainScreen, by: int) -> None:
    view, found = screen.current, notable(screen)
    if view is None or view.focus_row is None or not found:
        return
    here = (view.focus_row.sm, view.focus_row.slot, view.lane)
    if here in found:
        goal = found[(found.index(here) + by) % len(found)]
    else:
        goal = next((f for f in found if f > here), found[0])
    screen.quick(lambda s: s.focus_on(*goal))


DOINGS["note_next"] = lambda screen: _move_note(screen, 1)
DOINGS["note_back"] = lambda screen: _move_note(screen, -1)


def _move_pane(screen: MainScreen, by: int) -> None:
    shown = [name for name in layout.ORDER if name != "console" and screen.line_pane(name).display]
    if screen.query_one(ConsolePane).display:
        shown.append("console")
    here = screen.focused_pane()
    at = shown.index(here) if here in shown else 0
    screen.focus_pane(shown[(at + by) % len(shown)])


DOINGS["pane_next"] = lambda screen: _move_pane(screen, 1)
DOINGS["pane_back"] = lambda screen: _move_pane(screen, -1)


@doing("zoom")
def zoom(screen: MainScreen) -> None:
    """The focused pane on the whole screen, and back."""
    screen.zoom = None if screen.zoom is not None else screen.focused_pane()
    screen.rearrange()
    screen.reload_memory()


@doing("back")
def back(screen: MainScreen) -> None:
    """Esc: from an earlier stop to the present; unzoom; from the console back to the pane."""
    if screen.past.shown is not None and screen.current is not None:
        screen.past.keep(screen.current)
        screen.draw()
    elif screen.zoom is not None:
        screen.zoom = None
        screen.rearrange()
        screen.reload_memory()
    elif screen.focused_pane() == "console":
        screen.query_one(ConsolePane).leave()


# ---- marks ---------------------------------------------------------------------------------------
def _cursor_pc(screen: MainScreen) -> int | None:
    view = screen.current
    if view is None:
        return None
    source = screen.query_one(SourcePane)
    if source.has_focus:
        return source.key[1] if isinstance(source.key, tuple) else None
    pane = screen.query_one(CodePane)
    if pane.cursor is not None and 0 <= pane.cursor < len(view.code.entries):
        return view.code.entries[pane.cursor].pc
    return view.pc


def place_of(screen: MainScreen, pc: int) -> str:
    """A pc as a location every command understands."""
    symbols = screen.session.symbols
    if not symbols.in_kernel(pc):
        return f"*0x{pc:x}"
    return f"{symbols.kernel_name}+0x{symbols.offset(pc):x}"


def toggle_break(screen: MainScreen, pc: int) -> None:
    """Set or delete a breakpoint at a pc."""
    view = screen.current
    assert view is not None
    there = [p for p in view.points if pc in p.pcs]

    def change(session: DebugSession) -> None:
        if there:
            for p in there:
                session.breakpoints.remove(p.number)
            screen.note(f"deleted {', '.join(f'breakpoint {p.number}' for p in there)}", "muted")
        else:
            point = session.break_at(place_of(screen, pc))
            screen.note(point.announce(), "text")

    screen.quick(change)


@doing("break")
def break_here(screen: MainScreen) -> None:
    """Toggle at the cursor's row of Code."""
    pc = _cursor_pc(screen)
    if pc is not None:
        toggle_break(screen, pc)


@doing("condition")
def condition(screen: MainScreen) -> None:
    """Ask for a condition: of the row's breakpoint, or of a new one here."""
    view = screen.current
    pc = _cursor_pc(screen)
    if view is None or pc is None:
        return
    found = next((p for p in view.points if pc in p.pcs), None)
    if found is not None:
        screen.query_one(ConsolePane).enter(f"condition {found.number} {found.condition}")
    else:
        screen.query_one(ConsolePane).enter(f"break {place_of(screen, pc)} if ")


def _selected(screen: MainScreen, pane: str, kind: str) -> Any:
    key = screen.line_pane(pane).key
    return key[1] if isinstance(key, tuple) and key[0] == kind else None


@doing("enable")
def enable(screen: MainScreen) -> None:
    """Switch the row's breakpoint."""
    number = _selected(screen, "marks", "point")
    if number is None or screen.current is None:
        return
    point = next(p for p in screen.current.points if p.number == number)
    screen.quick(lambda s: s.breakpoints.enable(number, not point.enabled))


@doing("delete")
def delete(screen: MainScreen) -> None:
    """Delete the row's breakpoint or watch."""
    if screen.focused_pane() == "watch":
        drop_watch(screen, _selected(screen, "watch", "watch"))
        return
    number = _selected(screen, "marks", "point")
    if number is not None:
        screen.quick(lambda s: s.breakpoints.remove(number))


def drop_watch(screen: MainScreen, name: str | None) -> None:
    """Forget an expression."""
    if name in screen.options.watches:
        screen.options.watches.remove(name)
        screen.quick(lambda s: None)
