"""LinePane: a pane of rows under a title rule, drawn line by line.

A pane is data in, rows out: `content()` turns the view into rows; everything else (scrolling,
cursor, mouse, redrawing only what changed, showing a bug where it happened) is here.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.binding import BindingType
from textual.events import Click, MouseDown, MouseMove, MouseScrollDown, MouseScrollUp
from textual.geometry import Region
from textual.strip import Strip

from gpudbg.dataclass import dataclass
from gpudbg.frontends.tui import messages
from gpudbg.frontends.tui.keys import bindings
from gpudbg.frontends.tui.text import Row, Span, fit, row, strip
from gpudbg.frontends.tui.widgets.drawn import Drawn
from gpudbg.frontends.tui.widgets.lane_axis import Axis, axis_for, ruler

if TYPE_CHECKING:
    from gpudbg.frontends.tui.appearance import Appearance
    from gpudbg.frontends.tui.view import Running, ScreenView


@dataclass(frozen=True, slots=True)
class Content:
    """What a pane shows: its rows, the words at the right of its title, a lane ruler or not."""

    rows: Sequence[Row]
    right: str = ""
    lanes: bool = False
    anchor: int | None = None


def _dimmed(spans: Sequence[Span]) -> tuple[Span, ...]:
    # A picture keeps its colours, which carry its content.
    return tuple((t, s if s == "faint" or s[0] == "#" else "dim") for t, s in spans)


class LinePane(Drawn, can_focus=True):
    """Base of all panes; see the module text."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("rows")
    number: ClassVar[str] = ""
    title: ClassVar[str] = ""
    empty: ClassVar[str] = ""
    pane: ClassVar[str] = ""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(id=f"pane-{self.pane}")
        self.appearance = appearance
        self.view: ScreenView | None = None
        self.running: Running | None = None
        self.top = 0
        self.cursor: int | None = None
        self.tabs: tuple[tuple[str, str, str], ...] = ()
        self._content = Content(())
        self._drawn: list[Strip] = []
        self._drawn_rows: list[Row] = []
        self._tab_spots: list[tuple[int, int, str]] = []
        self._held = False
        self.builds = 0
        """Number of times the rows were built."""

    # ---- what subclasses say -------------------------------------------------------------
    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """The pane's rows for this view; pure."""
        raise NotImplementedError

    def rows_changed(self, view: ScreenView) -> None:
        """Called with a new view before it is drawn; panes that follow something scroll here."""

    # ---- drawing -------------------------------------------------------------------------
    @property
    def body(self) -> int:
        """Rows under the title."""
        return max(self.size.height - 1, 0)

    @property
    def axis(self) -> Axis:
        """Where lanes stand."""
        return axis_for(self.size.width)

    def show(self, view: ScreenView, running: Running | None = None) -> None:
        """Draw a view; only rows that differ are sent to the terminal."""
        fresh = self.view is not view
        self.view, self.running = view, running
        if not self.size.height:
            return
        if fresh:
            self._guarded(lambda: self.rows_changed(view))
        self.redraw()

    def redraw(self) -> None:
        """Build the rows again and send those that changed."""
        size = self.size
        if self.view is None or not size.height:
            return
        view = self.view
        self._guarded(lambda: self._build(view))
        old, drawn = self._drawn_rows, self._drawn
        rows = self._drawn_rows = [self._row(y) for y in range(size.height)]
        if len(drawn) != len(rows) or len(old) != len(rows):
            self._drawn = [self._strip(line, size.width) for line in rows]
            self.appearance.changes += 1
            self.refresh()
            return
        changed = [y for y in range(len(rows)) if rows[y] != old[y]]
        for y in changed:
            drawn[y] = self._strip(rows[y], size.width)
        if changed:
            self.appearance.changes += 1
            self.refresh(*(Region(0, y, size.width, 1) for y in changed))

    def _build(self, view: ScreenView) -> None:
        self.builds += 1
        self._content = self.content(view, self.size.width, self.body)
        self.top = max(0, min(self.top, len(self._content.rows) - self.body))

    def _guarded(self, act: object) -> None:
        """A bug in a pane shows in that pane."""
        try:
            act()  # type: ignore[operator]
        except Exception as error:
            lines = [
                row((f" {self.title or self.pane} cannot be drawn:", "stop")),
                row((f" {type(error).__name__}: {error}", "text")),
                row((" The rest goes on; the console has `info` commands for this.", "muted")),
            ]
            self._content = Content(lines)
            self.log.error(f"{self.pane}: {error!r}")

    def _row(self, y: int) -> Row:
        try:
            line = self.title_row() if y == 0 else self.body_row(self.top + y - 1, y)
        except Exception as error:
            # Rows can be made when they are drawn; a bug there stays in its row.
            line = row((f" {type(error).__name__}: {error}", "stop"))
        if self.running is not None and y:
            # The drawn picture is older than the running machine: dim it until the next stop.
            line = Row(_dimmed(line.spans), line.key, "", line.lanes, _dimmed(line.right))
        return line

    def _strip(self, line: Row, width: int) -> Strip:
        return strip(line, width, self.appearance.palette, self.appearance.glyphs.cut)

    def body_row(self, index: int, y: int) -> Row:
        """A row of the body; the last says how many are below."""
        rows = self._content.rows
        if not rows and index == 0 and self.empty:
            return row((f" {self.empty}", "muted"))
        if index >= len(rows):
            return Row()
        below = len(rows) - index - 1
        if y == self.size.height - 1 and below > 0 and self.body > 2:
            note = f" {self.appearance.glyphs.cut} {below + 1:,} more "
            return row((note, "dim"))
        line = rows[index]
        if index == self.cursor and self.has_focus and not line.tint:
            return Row(line.spans, line.key, "you-bg", line.lanes, line.right)
        return line

    def title_row(self) -> Row:
        """The rule with number, name, lane ruler, neighbours and right words."""
        g = self.appearance.glyphs
        focus = self.has_focus
        rule = g.rule_heavy if focus else g.rule
        style = "you" if focus else "faint"
        name = "you.b" if focus else "text.b"
        width = self.size.width
        head: list[Span] = [(rule, style)]
        if self.number:
            head.append((self.number + " ", "you.b" if focus else "muted"))
        head.append((self.title + " ", name))
        used = sum(len(t) for t, _ in head)
        right = self.right_words()
        if self._content.lanes:
            axis = self.axis
            if axis.start > used:
                head.append((rule * (axis.start - used), style))
                head.append((ruler(axis, rule), "muted" if not focus else "you"))
                used = axis.start + axis.width
                room = width - used - 1
                if room > 2 and right:
                    head.append((" " + fit(right, room, g.cut).rstrip(), "muted"))
                return Row(tuple(head))
        self._tab_spots = []
        for number, tab, pane in self.tabs:
            text = f" {number} {tab}" if number else f" {tab}"
            if used + len(text) + len(right) + 6 > width:
                break
            self._tab_spots.append((used, used + len(text), pane))
            head.append((text, "dim"))
            used += len(text)
        if self._tab_spots:
            head.append((" ", style))
            used += 1
        tail = f" {right} " if right else ""
        if used + len(tail) + 3 > width:
            tail = f" {fit(right, max(width - used - 5, 1), g.cut).strip()} " if right else ""
        fill = max(width - used - len(tail) - (1 if tail else 0), 0)
        head.append((rule * fill, style))
        if tail:
            head.extend(((tail, "muted"), (rule, style)))
        return Row(tuple(head))

    def right_words(self) -> str:
        """Words at the right of the title; while the machine runs, how old the pane is."""
        if self.running is not None:
            return f"as of {self.running.shown_tick:,}"
        return self._content.right

    def render_line(self, y: int) -> Strip:
        """One line, from the rows built last."""
        if len(self._drawn) != self.size.height or (y and self.view is None):
            if self.view is None:
                return Strip(
                    [Segment(" " * self.size.width, self.appearance.palette.style("text"))]
                )
            self.redraw()
        if y < len(self._drawn):
            return self._drawn[y]
        return Strip.blank(self.size.width, self.appearance.palette.style("text"))

    def sized(self) -> None:
        """Rows depend on the size."""
        if self.view is not None:
            view = self.view
            self._guarded(lambda: self.rows_changed(view))
        self._drawn = []
        self.redraw()

    def watch_has_focus(self, has_focus: bool) -> None:
        """The title shows the focus, once it is there or gone: `on_focus` comes before that."""
        super().watch_has_focus(has_focus)
        self.redraw()

    def restyle(self) -> None:
        """Draw everything again after a change of theme or glyphs."""
        self._drawn = []
        self.redraw()
        self.refresh()

    # ---- moving ----------------------------------------------------------------------------
    @property
    def texts(self) -> list[str]:
        """The pane as bare text, title first: what tests and the clipboard read."""
        rows = [self.title_row(), *(self._content.rows[self.top : self.top + self.body])]
        return [r.text.rstrip() for r in rows]

    @property
    def key(self) -> Hashable:
        """The key of the cursor's row."""
        rows = self._content.rows
        if self.cursor is None or not 0 <= self.cursor < len(rows):
            return None
        return rows[self.cursor].key

    def action_move(self, by: int) -> None:
        """Move the cursor over rows that stand for something."""
        rows, before = self._content.rows, (self.cursor, self.top)
        if not rows:
            return
        if abs(by) > 1:
            at = len(rows) if by > 0 else -1
            by = -1 if by > 0 else 1
        else:
            at = self.cursor if self.cursor is not None else self.top - 1 if by > 0 else self.top
        at += by
        while 0 <= at < len(rows) and rows[at].key is None:
            at += by
        if 0 <= at < len(rows):
            self.cursor = at
            self.reveal(at)
        else:
            self.scroll(by)
        self._moved(before)

    def action_page(self, by: int) -> None:
        """Scroll by a page, cursor with it."""
        before = self.cursor, self.top
        self.scroll(by * max(self.body - 1, 1))
        self.cursor = min(self.top, max(len(self._content.rows) - 1, 0))
        self._moved(before)

    def _moved(self, before: tuple[int | None, int]) -> None:
        """Draw the cursor where it is now; a key that left it there says that it does nothing."""
        if (self.cursor, self.top) != before:
            self.redraw()

    def scroll(self, by: int) -> None:
        """Move the rows."""
        self.top = max(0, min(self.top + by, len(self._content.rows) - self.body))

    def reveal(self, index: int, third: bool = False) -> None:
        """Scroll only when a row is out of sight; then it lands a third down, or at the edge."""
        last = self.body - (2 if len(self._content.rows) > self.top + self.body else 1)
        if self.top <= index <= self.top + max(last, 0):
            return
        if third or index < self.top - self.body or index > self.top + 2 * self.body:
            self.top = max(0, index - self.body // 3)
        elif index < self.top:
            self.top = index
        else:
            self.top = index - max(last, 0)

    def action_open(self) -> None:
        """Enter; without a cursor the first row that stands for something gets it."""
        if self.key is not None:
            self.post_message(messages.RowOpened(self.pane, self.key))
        elif self.cursor is None:
            self.action_move(1)

    # ---- mouse -----------------------------------------------------------------------------
    def on_click(self, event: Click) -> None:
        """A row, a lane, or a neighbour's name in the title."""
        if event.y == 0:
            for start, end, pane in self._tab_spots:
                if start <= event.x < end:
                    self.post_message(messages.PaneAsked(pane))
            return
        index = self.top + event.y - 1
        rows = self._content.rows
        if not 0 <= index < len(rows):
            return
        line = rows[index]
        self.cursor = index if line.key is not None else self.cursor
        lane = self.axis.lane_at(event.x) if line.lanes else None
        if event.chain >= 2:
            self.post_message(messages.RowOpened(self.pane, line.key))
        else:
            self.post_message(messages.RowClicked(self.pane, line.key, lane, event.x))
        self.redraw()

    @property
    def place_name(self) -> str:
        """The pane whose upper edge the title rule is."""
        return self.pane

    def on_mouse_down(self, event: MouseDown) -> None:
        """The title rule is the edge between two panes: hold it to drag it."""
        if event.y == 0 and event.button == 1:
            self._held = True
            self.capture_mouse()

    def on_mouse_up(self) -> None:
        """End of the drag."""
        if self._held:
            self._held = False
            self.release_mouse()

    def on_mouse_move(self, event: MouseMove) -> None:
        """Drag."""
        if self._held and event.y:
            self.post_message(messages.EdgeMoved(self.place_name, int(event.screen_y)))

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        """Wheel."""
        self.scroll(3)
        self.redraw()
        event.stop()

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        """Wheel."""
        self.scroll(-3)
        self.redraw()
        event.stop()
