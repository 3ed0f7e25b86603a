"""Warp watch: what is this expression in all 32 lanes, and which lane is the odd one."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Resize

from gpudbg.answers import lane_list
from gpudbg.debug.pictures import LaneRow
from gpudbg.frontends.tui import messages
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.handlers.watches import drop_watch, watch_expression
from gpudbg.frontends.tui.keys import bindings
from gpudbg.frontends.tui.screens.board import Board
from gpudbg.frontends.tui.screens.side import SideScreen
from gpudbg.frontends.tui.text import Row, Span, fit, row
from gpudbg.frontends.tui.view import Running, ScreenView
from gpudbg.frontends.tui.widgets.base import Content, LinePane
from gpudbg.frontends.tui.widgets.chrome import KeyRow, StopLine
from gpudbg.frontends.tui.widgets.lane_axis import Axis, bar_spans
from gpudbg.frontends.tui.widgets.lane_table import ROWS, LaneTablePane
from gpudbg.frontends.tui.widgets.lists import is_open, turn
from gpudbg.frontends.tui.widgets.registers import name_rows, opened
from gpudbg.frontends.tui.widgets.warps import lane_spans, state_words

if TYPE_CHECKING:
    from gpudbg.frontends.tui.screens.main import MainScreen

ORDERS = ("value", "lane", "count")


def distribution(value: LaneRow, active: int, order: str) -> list[tuple[str, list[int]]]:
    """Value text -> its active lanes, by value, first lane or number of lanes."""
    found: dict[str, list[int]] = {}
    for lane in range(32):
        if active >> lane & 1 and value.valid >> lane & 1:
            found.setdefault(value.cells[lane], []).append(lane)
    keys: dict[str, Callable[[tuple[str, list[int]]], object]] = {
        "value": lambda item: _number(item[0]),
        "lane": lambda item: item[1][0],
        "count": lambda item: -len(item[1]),
    }
    return sorted(found.items(), key=keys[order])  # type: ignore[arg-type]


def _number(text: str) -> tuple[int, float, str]:
    try:
        return (0, float(int(text, 0)), text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return (2, 0.0, text)
    # NaN has no place among numbers: after them.
    return (0, number, text) if number == number else (1, 0.0, text)


def stands_out(value: LaneRow, view: ScreenView) -> list[str]:
    """Sentences about outlier lanes, changes, and what is uniform."""
    focus = view.focus_row
    if focus is None:
        return []
    if not value.valid:
        return [f"{value.name} has no value here: {value.why}"]
    lines = []
    rest = value.shape.words.split("  ")[0]
    others = f", the others {rest}" if focus.active & ~value.shape.odd else ""
    for text, lanes in distribution(value, value.shape.odd & focus.active, "lane"):
        mask = sum(1 << lane for lane in lanes)
        word = "lanes" if len(lanes) > 1 else "lane"
        lines.append(f"{word} {lane_list(mask)}: {value.name} = {text}{others}")
    lost = (focus.active & ~value.valid).bit_count()
    if lost:
        lines.append(f"{lost} active lanes have no value: {value.why}")
    if value.changed:
        count = (value.changed & focus.active).bit_count()
        active = focus.active.bit_count()
        lines.append(f"{count} of {active} active lanes changed since the last stop")
    parked = focus.valid & ~focus.exited & ~focus.active
    if parked:
        lines.append(f"{parked.bit_count()} lanes are parked: drawn dim and not counted")
    return lines or [f"Nothing: {value.name} is {value.shape.words} over the active lanes"]


class WatchTable(LinePane):
    """The expressions over the focused warp's lanes."""

    number, title, pane = "1", "Watch", "watchtable"
    empty = "No expressions yet. `a` adds one: R4, threadIdx.x*4, shared[3]"

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance)
        self.chosen: dict[str, bool] = {}
        self.folded = False

    @property
    def label(self) -> int:
        """Columns before the lanes: wider than on the main screen, names are expressions; as wide
        as the longest of them needs, where lanes and words still fit."""
        width = self.size.width
        least, cells = (32, 64) if width >= 118 else (24, 32)
        names = [len(w.name) for w in self.view.watches] if self.view is not None else []
        wanted = max(names, default=0) + 4 + self.cell
        return max(least, min(wanted, width - cells - 14))

    @property
    def cell(self) -> int:
        """Columns of the focused lane's value: any 32-bit number where there is room."""
        return 13 if self.size.width >= 118 else 11

    @property
    def axis(self) -> Axis:
        """Two cells a lane where they fit."""
        return Axis(2 if self.size.width >= self.label + 64 + 14 else 1, self.label)

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """The warp's own lanes, then a row an expression."""
        axis, g = self.axis, self.appearance.glyphs
        focus = view.focus_row
        if focus is None:
            return Content((), "")
        head = f" {g.pc} {focus.slot}  +{view.code.shown(view.code.base + focus.offset)}"
        rows = [
            row(
                (fit(head, axis.start, g.cut), "now"),
                *lane_spans(focus, view, axis, g),
                (f" {state_words(focus)}", "now"),
                key=("warp", focus.sm, focus.slot),
                lanes=(axis.start, axis.cell),
            )
        ]
        for value in view.watches:
            rows += self._lines(value, view, axis, width)
            if is_open(value, self.chosen, self._free(view)):
                rows += opened(value, view, axis, g)
        return Content(rows, f"lane {view.lane}", lanes=True)

    def _free(self, view: ScreenView) -> bool:
        """Whether there are rows for the 32 values of every expression."""
        return not self.folded and 1 + 5 * len(view.watches) <= self.body

    def toggle(self, name: str) -> None:
        """Open or close an expression's values."""
        if self.view is not None:
            turn(self.chosen, name, self.view.watches, self._free(self.view))
        self.redraw()

    def _lines(self, value: LaneRow, view: ScreenView, axis: Axis, width: int) -> list[Row]:
        """A row; a name that the label has no room for stands above, all of it."""
        if len(value.name) <= axis.start - 4 - self.cell:
            return [self._line(value, view, axis, value.name)]
        above = name_rows(value, width, ("watch", value.name))
        return [*above, self._line(value, view, axis, "")]

    def _line(self, value: LaneRow, view: ScreenView, axis: Axis, name: str) -> Row:
        g = self.appearance.glyphs
        changed = bool(value.changed)
        room, cell = axis.start - 3 - self.cell, self.cell
        text = value.focus_text
        if len(text) > cell:
            text = text[: cell - 1] + g.cut
        head: list[Span] = [
            (g.changed if changed else " ", "now"),
            (fit(name, max(room, 4), g.cut), "now.b" if changed else "text"),
            (f"{text:>{cell}}  "[: axis.start - 1 - max(room, 4)], "now" if changed else "text"),
        ]
        words = value.shape.words if value.valid else value.why
        if g.name == "ascii":
            words = words.replace("×", g.cross).replace("·", "*")
        active, live = view.masks
        bars = bar_spans(value, view.lane, active, live, axis, g) if value.valid else ()
        return row(
            *head,
            *bars,
            (" " + words, "now" if changed else "muted"),
            key=("watch", value.name),
            lanes=(axis.start, axis.cell) if value.valid else None,
        )

    def go_to(self, name: str) -> None:
        """Put the cursor on an expression."""
        for at, line in enumerate(self._content.rows):
            if line.key == ("watch", name):
                self.cursor = at
                self.reveal(at)
                self.redraw()

    def selected(self) -> LaneRow | None:
        """The expression under the cursor, the first one otherwise."""
        if self.view is None or not self.view.watches:
            return None
        key = self.key
        name = key[1] if isinstance(key, tuple) and key[0] == "watch" else None
        return next((w for w in self.view.watches if w.name == name), self.view.watches[0])


class ValuesPane(LinePane):
    """The distribution of the selected expression."""

    number, title, pane = "2", "Values", "watchvalues"
    order = "value"
    value: LaneRow | None = None

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """A row a value: how many lanes, which."""
        if self.value is None or view.focus_row is None:
            return Content((), "")
        found = distribution(self.value, view.focus_row.active, self.order)
        most = max((len(lanes) for _, lanes in found), default=1)
        cell = min(max((len(t) for t, _ in found), default=1), 14)
        rows = []
        for text, lanes in found:
            bar = self.appearance.glyphs.running * max(len(lanes) * 12 // most, 1)
            rows.append(
                row(
                    (f" {text[:cell]:>{cell}} ", "text"),
                    (f"{bar:12} ", "run-quiet"),
                    (" ".join(map(str, lanes)), "muted"),
                    key=("lane", lanes[0]),
                )
            )
        return Content(rows, f"of {self.value.name}   o order: by {self.order}")


class OutPane(LinePane):
    """What stands out, in sentences."""

    number, title, pane = "3", "What stands out", "watchout"
    value: LaneRow | None = None

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """Sentences."""
        if self.value is None:
            return Content(())
        lines = [
            part
            for line in stands_out(self.value, view)
            for part in textwrap.wrap(line, max(width - 2, 20), subsequent_indent="  ")
        ]
        return Content([row((f" {line}", "text")) for line in lines])


class WatchScreen(SideScreen):
    """See the module text."""

    SCOPE = "watch"
    AUTO_FOCUS = "#pane-watchtable"
    BINDINGS: ClassVar[list[BindingType]] = bindings("watch")

    def __init__(self, main: MainScreen, appearance: Appearance) -> None:
        super().__init__(main, appearance, "watch")
        self.table = WatchTable(appearance)
        self.values = ValuesPane(appearance)
        self.out = OutPane(appearance)
        self.lanes = LaneTablePane(appearance)
        self._tabled = False
        self._placed = 0

    def compose(self) -> ComposeResult:
        """Stop line, the table, the lanes, two panes below, keys."""
        yield Board(StopLine(self.appearance, "w-stopline"), self.table, self.lanes, self.values,
                    self.out, KeyRow(self.appearance, "w-keys"))  # fmt: skip

    def on_mount(self) -> None:
        """The present picture."""
        self.show_keys()
        if not self.main.options.watches:
            self._suggest()
        super().on_mount()

    def _suggest(self) -> None:
        """Add a first expression, one that the next instruction reads, so that the screen is not
        empty.
        """
        view = self.main.current
        if view is None or view.focus_row is None:
            return
        changed = {v.name for v in view.registers if v.changed and v.section == "register"}
        names = sorted({n for n in view.operands if n.startswith("R")} | changed)[:3]
        self.main.options.watches = ["threadIdx.x", *(f"${n}" for n in names)]
        self.main.quick(lambda s: None)

    def on_resize(self, event: Resize) -> None:
        """Place the panes."""
        self._place()

    def _place(self) -> None:
        """Expressions above, two panes below; between them every lane, where there is room for
        all 32, or in the place of the others, where it was asked for."""
        width, height = self.size
        if not height:
            return
        rows, places = height - 2, {"w-stopline": (0, 0, width, 1)}
        places["w-keys"] = (0, height - 1, width, 1)
        both = self._roomy
        self.table.folded = both
        self._placed = self._wanted()
        if both:
            lower = max((rows - ROWS) // 3, 5)
            top = max(min(self._placed, rows - ROWS - lower), 4)
            lower = rows - ROWS - top
            places["pane-watchtable"] = (0, 1, width, top)
            places["pane-lanetable"] = (0, 1 + top, width, ROWS)
        elif self._tabled:
            lower = 0
            places["pane-lanetable"] = (0, 1, width, rows)
        else:
            lower = max(height // 3, 5) if height >= 20 else 0
            places["pane-watchtable"] = (0, 1, width, rows - lower)
        if lower:
            half = width // 2
            places["pane-watchvalues"] = (0, height - 1 - lower, half, lower)
            places["pane-watchout"] = (half, height - 1 - lower, width - half, lower)
        self.query_one(Board).place(places)

    @property
    def _roomy(self) -> bool:
        """Whether all panes are visible at once."""
        return self.size.width >= 110 and self.size.height >= ROWS + 16

    def _wanted(self) -> int:
        """Rows for the expressions: title, the warp, one or two each, room to add one."""
        return 4 + len(self.main.options.watches)

    def show(self, view: ScreenView, running: Running | None) -> None:
        """A new picture."""
        if self._roomy and self._placed != self._wanted():
            self._place()
        self.query_one(StopLine).show(view, running)
        self.table.show(view, running)
        self.lanes.show(view, running)
        self._lower(view, running)
        self.query_one(KeyRow).show(view, running)

    def _lower(self, view: ScreenView, running: Running | None) -> None:
        value = self.table.selected()
        self.values.value = self.out.value = value
        self.values.show(view, running)
        self.out.show(view, running)

    # ---- actions -------------------------------------------------------------------------
    def action_table(self) -> None:
        """A row for each lane, or the expressions again; where both stand, the other takes keys."""
        if not self._roomy:
            self._tabled = not self._tabled
            self._place()
        table = self.lanes if self._tabled or self.focused is self.table else self.table
        self.call_after_refresh(self.set_focus, table)
        if self.main.current is not None:
            self.show(self.main.current, None)

    def action_pane(self, number: int) -> None:
        """A digit: the pane with that number."""
        pane = (self.table, self.values, self.out, self.lanes)[number - 1]
        if not pane.display:
            self.action_table()
        else:
            self.set_focus(pane)

    def action_add(self) -> None:
        """Ask for an expression."""
        self._ask("")

    def action_edit(self) -> None:
        """Change the selected expression."""
        value = self.table.selected()
        self._ask(value.name if value is not None else "")

    def _ask(self, old: str) -> None:
        def then(text: str) -> None:
            if old in self.main.options.watches:
                self.main.options.watches.remove(old)
            watch_expression(self.main, text)
            self.table.go_to(text)
            if self.main.current is not None:
                self._lower(self.main.current, None)

        words = f"Instead of {old}" if old else "Watch an expression in 32 lanes"
        self.main.gpudbg.ask(words, "R4, threadIdx.x*4, shared[3]", then, value=old)

    def action_drop(self) -> None:
        """Forget the selected expression."""
        value = self.table.selected()
        if value is not None:
            drop_watch(self.main, value.name)

    def action_order(self) -> None:
        """Values by value, first lane, number of lanes."""
        at = ORDERS.index(self.values.order)
        self.values.order = ORDERS[(at + 1) % len(ORDERS)]
        self.values.redraw()

    def action_odd(self, by: int) -> None:
        """The next outlier lane of any expression; without outliers, the next distinct value."""
        view = self.main.current
        value = self.table.selected()
        if view is None or view.focus_row is None or value is None:
            return
        odd = [i for i in range(32) if value.shape.odd >> i & 1]
        if not odd:
            found = distribution(value, view.focus_row.active, "lane")
            odd = sorted(lanes[0] for _, lanes in found)
        goal = _neighbour(odd, view.lane, by)
        if goal is not None:
            focus = view.focus_row
            self.main.quick(lambda s: s.focus_on(focus.sm, focus.slot, goal))

    def on_row_clicked(self, event: messages.RowClicked) -> None:
        """A lane or a value's first lane takes the focus."""
        event.stop()
        view = self.main.current
        lane = event.lane
        if isinstance(event.key, tuple) and event.key[0] == "lane":
            lane = event.key[1]
        if view is not None and view.focus_row is not None and lane is not None:
            focus = view.focus_row
            if focus.valid >> lane & 1:
                self.main.quick(lambda s: s.focus_on(focus.sm, focus.slot, lane))
        elif view is not None:
            self._lower(view, None)

    def on_row_opened(self, event: messages.RowOpened) -> None:
        """The 32 values of an expression."""
        event.stop()
        if isinstance(event.key, tuple) and event.key[0] == "watch":
            self.table.toggle(event.key[1])
        else:
            self.on_row_clicked(messages.RowClicked(event.pane, event.key, None, 0))


def _neighbour(lanes: Sequence[int], here: int, by: int) -> int | None:
    """The next lane of a list after (or before) a lane, around its end."""
    if not lanes:
        return None
    later = [n for n in lanes if n > here] if by > 0 else [n for n in lanes if n < here]
    if later:
        return later[0] if by > 0 else later[-1]
    return lanes[0] if by > 0 else lanes[-1]
