"""Timeline pane: warps over ticks, events, writes of registers, and what the cursor's tick is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual.binding import BindingType
from textual.events import Click, MouseDown, MouseMove, MouseScrollDown, MouseScrollUp

from gpudbg.debug.pictures import TimelinePicture, WarpTrack, Writes
from gpudbg.debug.stops import BreakpointStop, Stop
from gpudbg.debug.trace import BARRIER, BEFORE, EXITED, RUNS, UNKNOWN, Event
from gpudbg.frontends.tui import messages
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.glyphs import Glyphs
from gpudbg.frontends.tui.keys import bindings
from gpudbg.frontends.tui.stop_words import single_step
from gpudbg.frontends.tui.text import Row, Span, fit, row
from gpudbg.frontends.tui.view import ScreenView
from gpudbg.frontends.tui.widgets.base import Content, LinePane
from gpudbg.frontends.tui.widgets.lane_axis import join

LABEL = 14
"""Columns before the first tick."""
TAIL = 7
"""Columns after the last: how many lanes are alive."""
LANES = 32
STEPS = (1, 2, 5)
OFF = "Only stops are known: `set timeline on` records what warps execute."
LATE = "Recorded from tick {:,} on; `r` starts again and records all of it."


def cells_of(width: int) -> int:
    """Screen columns for ticks."""
    return max(width - LABEL - TAIL, 8)


def nice_step(span: int, room: int) -> int:
    """Ticks between two numbers of the ruler: 1, 2 or 5 and zeros, about `room` numbers."""
    wanted = max(span // max(room, 1), 1)
    step = 1
    while True:
        for factor in STEPS:
            if step * factor >= wanted:
                return step * factor
        step *= 10


def mark_of(event: Event, stops: Mapping[int, Stop], glyphs: Glyphs) -> tuple[int, str, str]:
    """An event's importance, glyph and role."""
    if event.kind == "bookmark":
        return 3, glyphs.bookmark, "you.b"
    if event.kind == "trap":
        return 4, glyphs.cross, "stop"
    stop = stops.get(event.stop if event.stop is not None else -1)
    if stop is None:
        return 0, glyphs.changed, "muted"
    if stop.failed:
        return 4, glyphs.cross, "stop.b"
    if isinstance(stop, BreakpointStop):
        return 2, glyphs.point, "stop"
    if single_step(stop):
        return 0, glyphs.changed, "muted"
    return 1, glyphs.pc, "text"


def is_note(event: Event, stops: Mapping[int, Stop], glyphs: Glyphs) -> bool:
    """Whether `.` stops there: at everything but single steps."""
    return mark_of(event, stops, glyphs)[0] > 0


class TimelinePane(LinePane):
    """See the module text; the screen gives it `picture` and `cursor` before it shows a view."""

    number, title, pane = "1", "Timeline", "timeline"
    empty = "Nothing runs. `r` starts the kernel again."
    BINDINGS: ClassVar[list[BindingType]] = bindings("timeline")

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance)
        self.picture: TimelinePicture | None = None
        self.cursor_tick = 0
        self.first_warp = 0
        self._seeking = False
        self._sought = 0

    # ---- rows ----------------------------------------------------------------------------
    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """Ruler, the focused warp, events, writes, the cursor's tick; then the other warps."""
        p = self.picture
        if p is None:
            return Content(())
        note = self._note(p, width)
        rows = [self._ruler(p, width), *(self._warp(p, t) for t in p.tracks if t.mine)]
        rows.append(self._events(p, view))
        rows += [self._write_row(p, w) for w in p.writes]
        rows += [self._here(p, view), *note]
        rows += self._others(p, height - len(rows))
        words = "height = lanes that execute" if width < 100 else "bar height = executing lanes"
        return Content(rows, f"{words}   + - zoom")

    def _note(self, p: TimelinePicture, width: int) -> list[Row]:
        if p.first is None or not p.recording:
            return [row((f" {OFF}", "muted"))]
        if p.first > p.start:
            return [row((" " + LATE.format(p.first), "muted"))]
        return []

    def _ruler(self, p: TimelinePicture, width: int) -> Row:
        cells = p.columns * p.stretch
        line = [self.appearance.glyphs.rule] * cells
        span = p.stop - p.start
        step = nice_step(span, cells // 16)
        for tick in range(-(-p.start // step) * step, p.stop + 1, step):
            column = p.column(tick)
            assert column is not None
            text = f"{tick:,}"
            at = column * p.stretch
            if at + len(text) <= cells and (tick < p.stop or column < p.columns - 1):
                line[at : at + len(text)] = text
        spans = [(c, "faint" if c == self.appearance.glyphs.rule else "muted") for c in line]
        here = p.column(p.here) if p.here < p.end else None
        if here is not None:
            # The machine stands in its past.
            spans[here * p.stretch] = (self.appearance.glyphs.pc, "now.b")
        now = p.column(self.cursor_tick)
        if now is not None and now != here:
            mark, style = spans[now * p.stretch]
            mark = self.appearance.glyphs.open if style == "faint" else mark
            spans[now * p.stretch] = (mark, "now.b")
        return row((fit(" tick", LABEL, ""), "muted"), *join(spans), ("  lanes", "muted"))

    def _others(self, p: TimelinePicture, room: int) -> list[Row]:
        """Rows of the other warps: as many as fit, then a row that counts the rest."""
        others = [t for t in p.tracks if not t.mine]
        fold = len(others) + bool(p.later) > room
        most = max(room - (1 if fold else 0), 0)
        self.first_warp = max(0, min(self.first_warp, len(others) - most))
        shown = others[self.first_warp :][:most]
        rows = [self._warp(p, t) for t in shown]
        words = []
        if rest := len(others) - len(shown):
            words.append(f"{rest} more warp{'s' if rest > 1 else ''}")
        if p.later:
            words.append(f"{p.later} not begun")
        if words and room > 0:
            rows.append(row((f" {self.appearance.glyphs.cut} " + ", ".join(words), "dim")))
        return rows

    def _warp(self, p: TimelinePicture, t: WarpTrack) -> Row:
        g = self.appearance.glyphs
        now = p.column(self.cursor_tick)
        after = p.columns if now is None and self.cursor_tick > p.stop else (now or 0)
        cells: list[Span] = []
        for n in range(p.columns):
            mark, style = self._cell(t.track.states[n], t.track.lanes[n], t.mine)
            if n > after and style.startswith("run"):
                # Recorded, and yet to come from here.
                style = "dim"
            cells.append((mark * p.stretch, style))
        self._at_cursor(cells, now)
        name = f"{t.slot:<3} " if t.slot is not None else "  "
        label = fit(f"{g.pc if t.mine else ' '}{name}CTA {t.cta}", LABEL - 1, g.cut) + " "
        style = "now.b" if t.mine else "text"
        key = ("warp", t.sm, t.slot) if t.slot is not None else None
        return row((label, style), *join(cells), (f"{t.alive:>{TAIL}}", style), key=key)

    def _cell(self, state: str, lanes: int, mine: bool) -> Span:
        g = self.appearance.glyphs
        if state in (BEFORE, UNKNOWN):
            return " ", "text"
        if state == EXITED:
            return g.exited, "faint"
        if state == BARRIER:
            return g.barrier, "muted"
        bar = g.bars[max(-(-lanes * len(g.bars) // LANES) - 1, 0)]
        if state == RUNS:
            return bar, "run" if mine else "run-quiet"
        return bar, "faint"

    def _at_cursor(self, cells: list[Span], now: int | None) -> None:
        if now is not None:
            mark, _ = cells[now]
            cells[now] = (mark, "now/now-bg")

    def _events(self, p: TimelinePicture, view: ScreenView) -> Row:
        g = self.appearance.glyphs
        stops = {view.stops_before + n: s for n, s in enumerate(view.stops)}
        best: dict[int, tuple[int, str, str]] = {}
        for tick in p.barriers:
            column = p.column(tick)
            if column is not None:
                best[column] = (0, g.barrier, "muted")
        for event in p.events:
            column = p.column(event.tick)
            if column is None:
                continue
            found = mark_of(event, stops, g)
            if column not in best or found[0] >= best[column][0]:
                best[column] = found
        cells: list[Span] = []
        for n in range(p.columns):
            _, mark, style = best.get(n, (0, " ", "text"))
            cells.append((mark.ljust(p.stretch), style))
        now = p.column(self.cursor_tick)
        if now is not None:
            mark, style = cells[now]
            cells[now] = (mark, (style if mark.strip() else "text").removesuffix(".b") + "/now-bg")
        return row((fit("  events", LABEL, ""), "muted"), *join(cells))

    def _write_row(self, p: TimelinePicture, w: Writes) -> Row:
        g = self.appearance.glyphs
        now = p.column(self.cursor_tick)
        cells: list[Span] = []
        for n in range(p.columns):
            if n in w.columns:
                cells.append((g.true * p.stretch, "you" if now is None or n <= now else "faint"))
            else:
                mark = g.false if n >= w.known else " "
                cells.append((mark * p.stretch, "faint"))
        self._at_cursor(cells, now)
        return row((fit(f"  writes {w.name}", LABEL, g.cut), "muted"), *join(cells),
                   key=("register", w.name))  # fmt: skip

    def _here(self, p: TimelinePicture, view: ScreenView) -> Row:
        """The cursor's tick in words: what is executed next there, or what lies there."""
        there = [e for e in p.events if e.tick == self.cursor_tick and e.kind != "stop"]
        right: tuple[Span, ...] = ()
        if there:
            _, mark, style = mark_of(there[0], {}, self.appearance.glyphs)
            right = ((f"{mark} {there[0].text} ", style.removesuffix(".b")),)
        elif view.tick != self.cursor_tick:
            right = ((f"panes show the stop at {view.tick:,} ", "muted"),)
        return Row((("  at ", "muted"), (f"{self.cursor_tick:,}  ", "now.b"), (p.executed, "text")),
                   None, "", None, right)  # fmt: skip

    # ---- moving ----------------------------------------------------------------------------
    def action_open(self) -> None:
        """Enter: the machine is to stand at the cursor."""
        self.post_message(messages.TickChosen(self.cursor_tick))

    def action_walk(self, by: int) -> None:
        """So many columns on, at least as many ticks."""
        p = self.picture
        if p is None:
            return
        column = p.column(self.cursor_tick)
        if column is None or p.columns == p.stop - p.start:
            tick = self.cursor_tick + by
        else:
            tick = p.tick(max(column + by, 0)) if column + by < p.columns else p.stop
            tick = tick if tick != self.cursor_tick else self.cursor_tick + by
        self.post_message(messages.TickAsked(tick))

    def action_first(self) -> None:
        """The beginning."""
        self.post_message(messages.TickAsked(0))

    def action_warps(self, by: int) -> None:
        """Other warps, where there are more than rows."""
        self.first_warp = max(0, self.first_warp + by)
        self.redraw()

    # ---- mouse -----------------------------------------------------------------------------
    def _tick_at(self, x: int) -> int | None:
        p = self.picture
        if p is None or x < LABEL:
            return None
        column = min((x - LABEL) // p.stretch, p.columns - 1)
        # The last column is the present, where the window ends there.
        return p.stop if column == p.columns - 1 and p.stop == p.end else p.tick(column)

    def on_mouse_down(self, event: MouseDown) -> None:
        """Go there, and begin to drag."""
        event.prevent_default()
        tick = self._tick_at(event.x)
        if event.y and tick is not None:
            self._seeking = True
            self._sought = tick
            self.capture_mouse()
            self.post_message(messages.TickAsked(tick))

    def on_mouse_move(self, event: MouseMove) -> None:
        """Drag."""
        event.prevent_default()
        tick = self._tick_at(max(event.x, LABEL))
        if self._seeking and tick is not None:
            self._sought = tick
            self.post_message(messages.TickAsked(tick))

    def on_mouse_up(self) -> None:
        """End of the drag: the machine goes where it ended."""
        if self._seeking:
            self._seeking = False
            self.release_mouse()
            self.post_message(messages.TickChosen(self._sought))

    def on_click(self, event: Click) -> None:
        """A warp's name focuses it."""
        event.prevent_default()
        index = event.y - 1
        rows = self._content.rows
        if event.x < LABEL and 0 <= index < len(rows) and rows[index].key is not None:
            self.post_message(messages.RowClicked(self.pane, rows[index].key, None, event.x))

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        """Wheel: other warps."""
        event.stop()
        event.prevent_default()
        self.action_warps(3)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        """Wheel."""
        event.stop()
        event.prevent_default()
        self.action_warps(-3)
