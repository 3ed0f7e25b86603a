"""The fixed rows: app bar, stop line, SM strip and key row; each one line, each pure."""

from __future__ import annotations

from collections.abc import Sequence

from textual.events import Click
from textual.strip import Strip

from gpudbg.answers import plain_coordinates
from gpudbg.debug import WarpRow
from gpudbg.debug.stops import BreakpointStop, OpenedStop
from gpudbg.frontends.tui import messages
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.glyphs import Glyphs
from gpudbg.frontends.tui.text import Row, Span, fit, row, strip
from gpudbg.frontends.tui.view import Running, ScreenView
from gpudbg.frontends.tui.widgets.drawn import Drawn

TINTS = {"now": "now-bg", "stop": "stop-bg", "run": "band"}


class OneLine(Drawn):
    """A row of one line drawn from a `Row`."""

    def __init__(self, appearance: Appearance, name: str) -> None:
        super().__init__(id=name)
        self.appearance = appearance
        self.view: ScreenView | None = None
        self.running: Running | None = None
        self._line = Row()
        self._drawn: tuple[object, ...] = ()
        self._strip = Strip([])

    def build(self, view: ScreenView, width: int) -> Row:
        """The line; pure."""
        raise NotImplementedError

    def show(self, view: ScreenView, running: Running | None = None) -> None:
        """Draw a view."""
        self.view, self.running = view, running
        self.redraw()

    def redraw(self) -> None:
        """Build the line again; send it when it differs."""
        if self.view is None or not self.size.width:
            return
        try:
            made = self.build(self.view, self.size.width)
        except Exception as error:
            made = row((f" {self.id}: {type(error).__name__}: {error}", "stop"))
        if made != self._line:
            self._line = made
            self.appearance.changes += 1
            self.refresh()

    @property
    def text(self) -> str:
        """The line as bare text."""
        return self._line.text

    def render_line(self, y: int) -> Strip:
        """The line."""
        palette, cut = self.appearance.palette, self.appearance.glyphs.cut
        wanted = (self._line, self.size.width, palette.name, cut)
        if self._drawn != wanted:
            self._strip = strip(self._line, self.size.width, palette, cut)
            self._drawn = wanted
        return self._strip

    def sized(self) -> None:
        """The line depends on the width."""
        self.redraw()
        self.refresh()


def _spans_width(spans: Sequence[Span]) -> int:
    return sum(len(t) for t, _ in spans)


def _tick(view: ScreenView, tick: int) -> list[Span]:
    """The tick; where the machine stands in its past, of how many."""
    whole: list[Span] = [(f"of {view.end:,} ", "you/band")] if tick < view.end else []
    return [(f"{tick:,} ", "now/band"), *whole]


class AppBar(OneLine):
    """Program and launch at the left, what a step moves and the tick at the right."""

    def build(self, view: ScreenView, width: int) -> Row:
        """`gpudbg tour.cubin sm_50  grid 8  block 256       steps warp 13  tick 4,812`"""
        h = view.header
        opened = isinstance(view.snapshot.stop, OpenedStop)
        launched = "" if opened else f"  grid {h.grid}  block {h.block}"
        left: list[Span] = [
            (" gpudbg ", "muted/band"),
            (h.program, "text.b/band"),
            (f" {h.arch}" + launched, "muted/band"),
        ]
        focus = view.focus_row
        step = view.step_mode
        moves = f"steps {step}" + (f" {focus.slot}" if step == "warp" and focus else "")
        tick = self.running.tick if self.running else view.tick
        right: list[Span] = [(moves, "muted/band")]
        if view.seed:
            right.append((f"  seed {view.seed}", "muted/band"))
        right += [("  tick ", "muted/band"), *_tick(view, tick)]
        if h.arguments and width - _spans_width(left) - _spans_width(right) > len(h.arguments) + 8:
            left.append((f"  args {h.arguments}", "dim/band"))
        return Row(tuple(left), tint="band", right=tuple(right))


class StopLine(OneLine):
    """Why it stopped, where, and who; while running, how long and how fast."""

    notice = ""

    def build(self, view: ScreenView, width: int) -> Row:
        """`● Breakpoint 2  tour+0x168  tour.cu:19      19 of 32 lanes  CTA 1  warp 13  lane 4`"""
        g = self.appearance.glyphs
        if self.running is not None:
            return self._running_row(self.running)
        if view.past is not None:
            return self._past_row(view, view.past, width)
        role = view.stop_role
        tint = TINTS.get(role, "band")
        mark = (
            g.cross
            if role == "stop"
            else g.done
            if role == "run"
            else (g.point if isinstance(view.snapshot.stop, BreakpointStop) else g.pc)
        )
        mark_role = "stop" if isinstance(view.snapshot.stop, BreakpointStop) else role
        title = self.notice or view.stop_title
        left: list[Span] = [(f" {mark} ", mark_role + ".b"), (title, f"{role}.b")]
        if self.notice:
            tint, left = "stop-bg", [(f" {g.cross} ", "stop.b"), (title, "stop.b")]
        if view.stop_where:
            where = view.stop_where
            if width < 100 and len(where) > 28:
                where = where[where.rfind("+") :]
            left.append((f"  {where}", "text"))
        if view.stop_line:
            left.append((f"  {view.stop_line}", "muted"))
        who = self._who(view, width)
        if view.fault is not None and view.fault.place.code is not None:
            text = f"  {view.fault.place.code.text}"
            if _spans_width(left) + len(text) + _spans_width(who) < width:
                left.insert(2, (text, "text"))
        return Row(tuple(left), tint=tint, right=tuple(who))

    def _past_row(self, view: ScreenView, now: int, width: int) -> Row:
        """`◄ In the past  tick 4,790 of 4,812  Breakpoint 2  tour+0x168`"""
        left: list[Span] = [
            (f" {self.appearance.glyphs.past} In the past", "you.b"),
            (f"  tick {view.tick:,} of {now:,}", "text"),
            (f"  {view.stop_title}", "text.b"),
            (f"  {view.stop_where}", "text"),
            (f"  {view.stop_line}", "muted"),
        ]
        return Row(tuple(left), tint="you-bg", right=tuple(self._who(view, width)))

    def _who(self, view: ScreenView, width: int) -> list[Span]:
        focus = view.focus_row
        if focus is None:
            if isinstance(view.snapshot.stop, OpenedStop):
                return [("N", "you.b"), (" fills in the launch ", "muted")]
            return [("every CTA has ended ", "muted")] if view.snapshot.finished else []
        out: list[Span] = []
        lane_state = self._lane_state(view)
        if lane_state:
            out.append((lane_state + "  ", "you"))
        elif width >= 100:
            live = focus.valid.bit_count()
            out.append((f"{focus.active.bit_count()} of {live} lanes  ", "text"))
        sm = f"SM {view.sm}  " if view.snapshot.num_sms > 1 and width >= 100 else ""
        out += [
            (f"{sm}CTA {view.cta}  ", "text"),
            (f"warp {focus.slot}  ", "now.b" if view.stop_role != "stop" else "stop.b"),
            (f"lane {view.lane}", "you.b"),
        ]
        if width >= 100:
            out.append((f"  thread {view.thread}", "muted"))
        return [*out, (" ", "text")]

    def _lane_state(self, view: ScreenView) -> str:
        focus = view.focus_row
        if focus is None or focus.active >> view.lane & 1:
            return ""
        if focus.exited >> view.lane & 1:
            return f"lane {view.lane} has ended"
        letter = view.letters[view.lane]
        return f"lane {view.lane} waits on path {letter}" if letter.strip() else ""

    def _running_row(self, now: Running) -> Row:
        left: list[Span] = [
            (f" {self.appearance.glyphs.pc} ", "run.b"),
            (now.label, "run.b"),
            (f"  {now.progress.line()}", "text"),
        ]
        shown = (f"panes show tick {now.shown_tick:,}  ", "muted")
        return Row(tuple(left), tint="band", right=(shown, ("^C", "you.b"), (" stops ", "muted")))


def strip_mark(w: WarpRow, mine: bool, glyphs: Glyphs) -> Span:
    """One cell of the SM strip."""
    if w.faulty or w.state in ("error", "trap"):
        return glyphs.cross, "bg/stop"
    if mine:
        return glyphs.pc, "now"
    if w.state == "barrier":
        return glyphs.barrier, "muted"
    if w.state == "exited":
        return glyphs.done, "dim"
    if not w.executed:
        return glyphs.begun_not, "muted"
    return glyphs.ready, "run"


class SmStrip(OneLine):
    """Every warp of the focused SM as one cell, in CTA groups."""

    def __init__(self, appearance: Appearance, name: str) -> None:
        super().__init__(appearance, name)
        self._spots: list[tuple[int, int, int]] = []

    def build(self, view: ScreenView, width: int) -> Row:
        """`SM0 0 ........  1 rrrrr>rr  2 ||||||||         24 to begin  8 done`"""
        spans: list[Span] = [(f" SM{view.sm} ", "muted")]
        focus = view.focus_row
        spots: list[tuple[int, int, int]] = []
        at = _spans_width(spans)
        blocks: dict[tuple[int, int, int], list[WarpRow]] = {}
        for w in view.warps:
            if w.sm == view.sm:
                blocks.setdefault(w.block, []).append(w)
        right = self._right(view)
        limit = width - _spans_width(right) - 2
        wide = sum(len(b) + 6 for b in blocks.values()) + 6 < limit
        for block, warps in blocks.items():
            mine_cta = focus is not None and focus.block == block
            name = plain_coordinates(block, view.snapshot.grid)
            if at + len(name) + len(warps) + 2 > limit:
                spans.append((self.appearance.glyphs.cut, "muted"))
                break
            spans.append((name + (" " if wide else ""), "you" if mine_cta else "muted"))
            at += len(name) + (1 if wide else 0)
            for w in warps:
                mine = focus is not None and (w.sm, w.slot) == (focus.sm, focus.slot)
                spans.append(strip_mark(w, mine, self.appearance.glyphs))
                spots.append((at, w.sm, w.slot))
                at += 1
            gap = "  " if wide else " "
            spans.append((gap, "text"))
            at += len(gap)
        self._spots = spots
        return Row(tuple(spans), right=right)

    def _right(self, view: ScreenView) -> tuple[Span, ...]:
        words = []
        others = sum(1 for w in view.warps if w.sm != view.sm)
        if others:
            words.append(f"{others} on other SMs")
        if view.snapshot.ctas_waiting:
            words.append(f"{view.snapshot.ctas_waiting:,} to begin")
        if view.snapshot.ctas_done:
            words.append(f"{view.snapshot.ctas_done:,} done")
        return (("  ".join(words) + " ", "muted"),) if words else ()

    def on_click(self, event: Click) -> None:
        """A cell focuses its warp."""
        for at, sm, slot in self._spots:
            if at == event.x:
                self.post_message(messages.RowClicked("strip", ("warp", sm, slot), None, event.x))


class KeyRow(OneLine):
    """Keys that work now; dropped from the right, `?` stays.  A word to the user stands before
    them until the next input, in two thirds of the room; the console has all of it."""

    keys: tuple[tuple[str, str], ...] = ()
    pinned: tuple[tuple[str, str], ...] = ()
    tick = False
    said: Span | None = None

    def say(self, text: str, role: str) -> None:
        """A word to the user."""
        self.said = (text, role)
        self.appearance.changes += 1
        self.redraw()

    def unsay(self) -> None:
        """The keys again."""
        if self.said is not None:
            self.said = None
            self.redraw()

    def build(self, view: ScreenView, width: int) -> Row:
        """`F5 run  n next  Space instruction …  ? help`"""
        right: list[Span] = []
        if self.tick:
            tick = self.running.tick if self.running else view.tick
            right = [("tick ", "muted/band"), *_tick(view, tick)]
        pinned = [s for k, w in self.pinned for s in _key(k, w)]
        room = width - _spans_width(right) - _spans_width(pinned) - 2
        left: list[Span] = [(" ", "text/band")]
        if self.said is not None:
            most = max(room * 2 // 3, 0)
            text = fit(self.said[0], most, self.appearance.glyphs.cut).rstrip()
            left = [(f" {text}  ", f"{self.said[1]}/band")]
        for key, words in self.keys:
            item = _key(key, words)
            if _spans_width(left) + _spans_width(item) > room:
                break
            left += item
        return Row((*left, *pinned), tint="band", right=tuple(right))


def _key(key: str, words: str) -> list[Span]:
    return [(key, "you.b/band"), (f" {words}  ", "muted/band")]


class Splitter(Drawn):
    """The vertical line between the columns; it can be dragged."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(id="splitter")
        self.appearance = appearance
        self._held = False
        self._drawn: tuple[object, ...] = ()
        self._strip = Strip([])

    def sized(self) -> None:
        """Every cell is the same."""

    def render_line(self, y: int) -> Strip:
        """One cell of the line."""
        wanted = (self.appearance.glyphs.column, self.appearance.palette.name)
        if self._drawn != wanted:
            self._strip = strip(row((wanted[0], "faint")), 1, self.appearance.palette, " ")
            self._drawn = wanted
        return self._strip

    def on_mouse_down(self) -> None:
        """Begin to drag."""
        self._held = True
        self.capture_mouse()

    def on_mouse_up(self) -> None:
        """End of the drag."""
        self._held = False
        self.release_mouse()

    def on_mouse_move(self, event: object) -> None:
        """Drag."""
        if self._held:
            self.post_message(messages.SplitMoved(int(getattr(event, "screen_x", 0))))
