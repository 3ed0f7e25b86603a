"""Move the debug focus over lanes, warps, CTAs and notable places, and the keyboard focus over
panes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.debug.focus import first_lane
from gpudbg.frontends.tui import layout
from gpudbg.frontends.tui.handlers import both_directions, handles
from gpudbg.frontends.tui.widgets.console import ConsolePane

if TYPE_CHECKING:
    from gpudbg.debug import WarpRow
    from gpudbg.frontends.tui.screens.main import MainScreen


@both_directions("lane")
def move_lane(screen: MainScreen, by: int) -> None:
    """Focus the next or previous lane of the focused warp."""
    view = screen.current
    if view is None or view.focus_row is None:
        return
    lanes = [i for i in range(32) if view.focus_row.valid >> i & 1]
    at = lanes.index(view.lane) if view.lane in lanes else 0
    focus_on(screen, view.focus_row, lanes[(at + by) % len(lanes)])


def focus_on(screen: MainScreen, row: WarpRow, lane: int) -> None:
    """Move the debug focus to a lane of a warp."""
    screen.quick(lambda s: s.focus_on(row.sm, row.slot, lane))


@both_directions("warp")
def move_warp(screen: MainScreen, by: int) -> None:
    """Focus the next or previous warp that has not exited."""
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


@both_directions("cta")
def move_cta(screen: MainScreen, by: int) -> None:
    """Focus the first warp of the next or previous CTA."""
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


def notable(screen: MainScreen) -> list[tuple[int, int, int]]:
    """Notable places, (sm, slot, lane): outlier lanes, first lanes of paths, warps with errors."""
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


@both_directions("note")
def move_note(screen: MainScreen, by: int) -> None:
    """Focus the next or previous notable place."""
    view, found = screen.current, notable(screen)
    if view is None or view.focus_row is None or not found:
        return
    here = (view.focus_row.sm, view.focus_row.slot, view.lane)
    if here in found:
        goal = found[(found.index(here) + by) % len(found)]
    else:
        goal = next((f for f in found if f > here), found[0])
    screen.quick(lambda s: s.focus_on(*goal))


@both_directions("pane")
def move_pane(screen: MainScreen, by: int) -> None:
    """Give the keyboard focus to the next or previous visible pane."""
    shown = [name for name in layout.ORDER if name != "console" and screen.line_pane(name).display]
    if screen.query_one(ConsolePane).display:
        shown.append("console")
    here = screen.focused_pane()
    at = shown.index(here) if here in shown else 0
    screen.focus_pane(shown[(at + by) % len(shown)])


@handles("zoom")
def zoom(screen: MainScreen) -> None:
    """Zoom the focused pane to the whole screen, or restore it."""
    screen.zoom = None if screen.zoom is not None else screen.focused_pane()
    screen.rearrange()
    screen.reload_memory()


@handles("back")
def back(screen: MainScreen) -> None:
    """Handle Esc: return from an earlier stop to the present, unzoom, or leave the console for its
    pane.
    """
    if screen.past.shown is not None and screen.current is not None:
        screen.past.keep(screen.current)
        screen.draw()
    elif screen.zoom is not None:
        screen.zoom = None
        screen.rearrange()
        screen.reload_memory()
    elif screen.focused_pane() == "console":
        screen.query_one(ConsolePane).leave()
