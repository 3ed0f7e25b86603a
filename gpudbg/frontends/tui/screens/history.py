"""History screen: the launch over time, with a cursor that the machine can be moved to.

One cursor, a tick, goes over the timeline; the other panes show the kept stop at or before it.
Enter, or letting go of the mouse after a drag, has the machine stand at the cursor: the launch is
carried out again up to there, and what was recorded beyond it stays on the timeline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.widgets import Input

from gpudbg.debug import launch_shape
from gpudbg.debug.pictures import (
    chosen_register,
    differing,
    take_changes,
    take_timeline,
    warp_of,
)
from gpudbg.debug.trace import first_stop
from gpudbg.frontends.tui import messages
from gpudbg.frontends.tui.actions import BY_NAME
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.keys import bindings, keys_text
from gpudbg.frontends.tui.screens.branches import BranchesScreen
from gpudbg.frontends.tui.screens.panes import ConsoleScreen
from gpudbg.frontends.tui.view import Running, ScreenView
from gpudbg.frontends.tui.widgets.chrome import StopLine
from gpudbg.frontends.tui.widgets.history_panes import (
    ChangedPane,
    PastCodePane,
    PastLine,
    PastPathsPane,
    PastStopsPane,
)
from gpudbg.frontends.tui.widgets.timeline import TimelinePane, cells_of, is_note

if TYPE_CHECKING:
    from gpudbg.frontends.tui.layout import Rect
    from gpudbg.frontends.tui.screens.main import MainScreen

WIDE = 110
"""From this width the panes stand in two columns."""
TWO_REGISTERS = 180
"""From this width two registers have a row of writes."""
AFTER_EXIT = 64
"""Most ended warps that get a row."""
GONE = 2
"""Rows reserved for ended warps."""
SMALLEST = 8
"""Ticks of the narrowest window."""


class HistoryScreen(ConsoleScreen):
    """See the module text.

    Attributes:
        cursor: tick of the cursor; None is the present.
        window: ticks that are drawn; None is the whole launch.
        register: whose writes and last writers show; None is chosen by what changed.
    """

    MARK, SCOPE = "h", "history"
    AUTO_FOCUS = "#pane-timeline"
    BINDINGS: ClassVar[list[BindingType]] = bindings("history")

    def __init__(self, main: MainScreen, appearance: Appearance) -> None:
        self.timeline = TimelinePane(appearance)
        self.stops = PastStopsPane(appearance)
        self.changed = ChangedPane(appearance)
        self.code = PastCodePane(appearance)
        self.paths = PastPathsPane(appearance)
        panes = (self.timeline, self.stops, self.changed, self.code, self.paths)
        super().__init__(main, appearance, "history", panes, self.timeline, self.changed)
        self.cursor: int | None = None
        self.window: tuple[int, int] | None = None
        self.register: int | None = None
        self._seen: ScreenView | None = None

    # ---- building ------------------------------------------------------------------------
    def stop_line(self) -> StopLine:
        """The stop line with the cursor's tick."""
        return PastLine(self.appearance, f"{self.MARK}-stopline")

    def again(self) -> None:
        """Show the picture that the main screen has, be it of the past."""
        self.main.draw()

    def panes_at(self, top: int, width: int, rows: int) -> dict[str, Rect]:
        """The timeline above; below, two columns where they fit, else stops and one more."""
        warps = self._warps()
        if width < WIDE:
            time = min(warps + 7, rows * 2 // 5 + 1)
            stops = (rows - time) // 2
            console = 3 if self.typing else 0
            low = rows - time - stops - console
            places: dict[str, Rect] = {
                "pane-timeline": (0, top, width, time),
                "pane-paststops": (0, top + time, width, stops),
            }
            if self.lower is not self.stops:
                places[f"pane-{self.lower.pane}"] = (0, top + time + stops, width, low)
            if console:
                places["pane-console"] = (0, top + rows - console, width, console)
            return places
        time = min(warps + 7, max(rows * 2 // 5, rows - 30))
        rest, left = rows - time, width // 2
        upper = min(max(rest * 2 // 5, 6), 14)
        paths, console = min(8, rest // 3), min(8, rest // 5)
        at, low = left + 1, top + time
        below = low + rest - paths - console
        return {
            "pane-timeline": (0, top, width, time),
            "pane-paststops": (0, low, left, upper),
            "pane-pastcode": (0, low + upper, left, rest - upper),
            "pane-changed": (at, low, width - at, below - low),
            "pane-pastpaths": (at, below, width - at, paths),
            "pane-console": (at, below + paths, width - at, console),
        }

    def _warps(self) -> int:
        """Rows that the launch's warps can fill: constant, so that a step moves nothing."""
        launch = launch_shape(self.main.session)
        total = launch.warps * launch.blocks
        return min(total, min(-(-total // launch.sms), launch.resident_warps) + GONE)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the End key while a line is typed."""
        return not (action == "now" and isinstance(self.focused, Input))

    # ---- the picture -----------------------------------------------------------------------
    def show(self, view: ScreenView, running: Running | None) -> None:
        """A new picture; while the machine runs, the old timeline."""
        present = self.main.current
        if present is not None and not self.main.engine.busy:
            if present is not self._seen:
                self._seen = present
                self.cursor = view.tick if view.past is not None else None
            self._collect(view, present)
        for line in self.query(PastLine):
            line.tick = self.cursor
        super().show(view, running)
        self.show_keys()

    def _collect(self, view: ScreenView, present: ScreenView) -> None:
        past, session = self.main.past, self.main.session
        # Opening the screen starts recording, unless it is switched off.
        session.timeline.looked_at()
        first = present.stops_before + first_stop(present.stops)
        kept = {n: v for n, v in past.views.items() if n >= first}
        cursor = present.tick if self.cursor is None else self.cursor
        letter = self.main.options.register_format
        before, earlier = past.before(view)
        self.changed.picture = take_changes(session, view, before, earlier, self.register, letter)
        self.timeline.cursor_tick = cursor
        self.timeline.picture = self.stops.picture = take_timeline(
            session, view, present, list(kept.values()), cursor, self._window(self.end),
            cells_of(self.size.width), AFTER_EXIT, self._registers(view, before),
        )  # fmt: skip
        self.stops.kept = frozenset(kept)

    def _registers(self, view: ScreenView, before: ScreenView | None) -> list[int]:
        found = differing(before, view, "x") if before is not None else ()
        first = self.register if self.register is not None else chosen_register(view, found)
        if first is None:
            return []
        others = [int(c.name[1:]) for c in found if c.name[0] == "R"]
        wanted = list(dict.fromkeys([first, *others]))
        return wanted[: 2 if self.size.width >= TWO_REGISTERS else 1]

    def _window(self, end: int) -> tuple[int, int] | None:
        if self.window is None:
            return None
        start, stop = self.window
        return (start, min(stop, end)) if start < end else None

    def there(self) -> tuple[str, ...]:
        """Conditions of keys: whether the present differs from the cursor and from the machine."""
        here = self.main.current
        past = self.cursor is not None or (here is not None and here.tick < self.end)
        return ("past",) if past else ()

    def pinned_keys(self) -> tuple[tuple[str, str], ...]:
        """The keys back to the present, always shown."""
        return ((keys_text(BY_NAME["side.close"].keys, 1), "back"), *super().pinned_keys())

    # ---- travelling ------------------------------------------------------------------------
    @property
    def end(self) -> int:
        """The last known tick of the launch; the machine may stand before it."""
        here = self.main.current
        return max(here.tick if here is not None else 0, self.main.session.history.end_tick)

    def _may(self) -> ScreenView | None:
        """The present picture, where the machine is at rest."""
        if self.main.engine.busy:
            self.main.note("running; ^C stops it")
            return None
        return self.main.current

    def go(self, tick: int) -> None:
        """Move the cursor to a tick, and the panes to the kept stop at or before it."""
        present = self._may()
        if present is None:
            return
        past = self.main.past
        tick = max(0, min(tick, self.end))
        first = present.stops_before + first_stop(present.stops)
        number = past.at(tick, first)
        if tick == present.tick or number is None:
            number, tick = present.stop_number, present.tick
        self._travel(number, tick, present)

    def _travel(self, number: int, tick: int, present: ScreenView) -> None:
        self.main.past.show(number, present)
        self.cursor = tick if tick != present.tick or number != present.stop_number else None
        if self.window is not None and not self.window[0] <= tick <= self.window[1]:
            self._centre(tick, self.end, self.window[1] - self.window[0])
        self.main.draw()

    def action_stop(self, by: int) -> None:
        """Show the kept stop before or after the shown one."""
        present = self._may()
        if present is None:
            return
        past = self.main.past
        shown = past.views.get(past.number)
        first = present.stops_before + first_stop(present.stops)
        if by < 0 and shown is not None and self.cursor is not None and shown.tick < self.cursor:
            # Between two stops: start from the one whose picture is shown.
            number: int | None = past.number
        else:
            number = past.beside(by)
        if number is None or number < first:
            words = "no later stop" if by > 0 else "no earlier stop of this launch is kept"
            self.main.note(words, "muted")
            return
        self._travel(number, past.views[number].tick, present)

    def action_walk(self, by: int) -> None:
        """Move the cursor by columns of the timeline, whatever pane has the focus."""
        self.timeline.action_walk(by)

    def action_now(self) -> None:
        """Move the cursor to where the machine stands; if it is there, the machine to its
        present.
        """
        present = self._may()
        if present is None:
            return
        if self.cursor is None and present.tick < self.end:
            self._stand("end")
        else:
            self.go(present.tick)

    def action_note(self, by: int) -> None:
        """Move to the next event: a stop that is no single step, a trap, a barrier or a
        bookmark.
        """
        present, picture = self._may(), self.timeline.picture
        if present is None or picture is None:
            return
        stops = {present.stops_before + n: s for n, s in enumerate(present.stops)}
        ticks = {e.tick for e in picture.events if is_note(e, stops, self.appearance.glyphs)}
        ticks |= set(picture.barriers)
        here = self.timeline.cursor_tick
        later = [t for t in ticks if (t - here) * by > 0]
        if later:
            self.go(min(later, key=lambda t: abs(t - here)))
        else:
            self.main.note(f"no {'later' if by > 0 else 'earlier'} event", "muted")

    def action_goto(self) -> None:
        """Ask for a tick and move there."""
        present = self._may()
        if present is not None:
            example = f"0 to {self.end:,}; panes show the stop at or before it"
            self.main.gpudbg.ask("Go to tick", example, self._go_to)

    def _go_to(self, text: str) -> None:
        present = self._may()
        try:
            tick = int(text.replace(",", ""), 0)
        except ValueError:
            self.main.note(f"{text!r} is no tick: a number of warp instructions is")
            return
        if present is None:
            return
        self.go(tick)
        shown = self.main.past.shown or present
        if not 0 <= tick <= self.end:
            self.main.note(f"the launch has ticks 0 to {self.end:,}")
        elif shown.tick > tick:
            self.main.note(f"no stop at or before {tick:,} is kept; the panes show {shown.tick:,}")
        elif shown.tick < tick:
            self.main.note(
                f"no stop at {tick:,}: the panes show the one before it, at {shown.tick:,}", "muted"
            )

    def action_writer(self) -> None:
        """Move to the last instruction before the cursor that wrote the register in the focus
        lane.
        """
        present, found = self._may(), self.changed.picture
        view = self.main.past.shown or present
        if present is None or view is None or found is None:
            return
        if found.register is None or view.focus_row is None:
            self.main.note("no register is chosen: `R` asks for one", "muted")
            return
        line, here = self.main.session.timeline, self.timeline.cursor_tick
        warp = warp_of(view, view.focus_row)
        written = line.written(warp, found.register, 0, here, view.lane)
        if not written:
            name = f"R{found.register} in lane {view.lane} of warp {view.focus_row.slot}"
            record = line.present()
            words = ""
            if record is None:
                words = ": the timeline is off"
            elif record.exact:
                words = f": ticks from {record.exact:,} on are kept"
            self.main.note(f"no write of {name} before tick {here:,}{words}", "muted")
            return
        register, last = found.register, written[-1]
        self.register = register
        self.go(last.tick)
        self.code.go_to(view.code.row(last.pc))

    # ---- looking ---------------------------------------------------------------------------
    def action_zoom(self, by: int) -> None:
        """Halve or double the window around the cursor; 0 shows the whole launch."""
        present = self._may()
        if present is None:
            return
        start, stop = self._window(self.end) or (0, self.end)
        span = (stop - start) // 2 if by > 0 else (stop - start) * 2
        if by == 0 or span >= self.end:
            self.window = None
        elif span >= SMALLEST:
            self._centre(self.timeline.cursor_tick, self.end, span)
        self.main.draw()

    def _centre(self, tick: int, end: int, span: int) -> None:
        start = max(0, min(tick - span // 2, end - span))
        self.window = (start, start + span)

    def action_format(self) -> None:
        """Switch registers between hex, decimal and float."""
        from gpudbg.debug.pictures import REGISTER_FORMATS

        options = self.main.options
        at = REGISTER_FORMATS.index(options.register_format)
        options.register_format = REGISTER_FORMATS[(at + 1) % len(REGISTER_FORMATS)]
        self.main.draw()

    def action_register(self) -> None:
        """Ask for a register."""
        self.main.gpudbg.ask(
            "Who writes which register", "R4; empty: the first that changed", self._take_register,
            empty=True,
        )  # fmt: skip

    def _take_register(self, text: str) -> None:
        name = text.strip().lstrip("$").upper()
        if name and not (name[0] == "R" and name[1:].isdecimal() and int(name[1:]) < 255):
            self.main.note(f"{text} is no register; R0 to R254 are")
            return
        self.register = int(name[1:]) if name else None
        self.main.draw()

    def action_bookmark(self) -> None:
        """Ask for the name of a bookmark at the cursor."""
        tick = self.timeline.cursor_tick
        line = self.main.session.timeline
        old = line.bookmarks.get(tick, "")

        def then(text: str) -> None:
            line.mark(tick, text)
            self.main.draw()

        words = f"Bookmark or note at tick {tick:,}" + (f", now {old!r}" if old else "")
        self.main.gpudbg.ask(words, "a name, a sentence, or nothing", then, empty=True, value=old)

    def action_drop(self) -> None:
        """Forget the bookmark at the cursor."""
        key, tick = self.stops.key, self.timeline.cursor_tick
        if self.focused is self.stops and isinstance(key, tuple) and key[0] == "tick":
            tick = key[1]
        line = self.main.session.timeline
        name, note = line.bookmarks.pop(tick, None), line.notes.pop(tick, None)
        if name is None and note is None:
            self.main.note(f"no bookmark at tick {tick:,}", "muted")
        self.main.draw()

    def action_branches(self) -> None:
        """Show the branches of the launch and carry out the chosen action."""
        if self._may() is not None:
            self.app.push_screen(BranchesScreen(self.main.session), self._with_branch)

    def _with_branch(self, answer: tuple[str, int] | None) -> None:
        if answer is None:
            self.main.draw()
            return
        word, number = answer
        if word == "go":
            self.main.run_job(f"Going to branch {number}", lambda s: s.command(f"branch {number}"))
        else:
            self.main.gpudbg.ask(
                f"Name of branch {number}", "a word or a sentence; nothing takes it away",
                lambda text: self.main.run_command(f"branch name {text}"), empty=True,
            )  # fmt: skip

    # ---- messages --------------------------------------------------------------------------
    def on_tick_chosen(self, event: messages.TickChosen) -> None:
        """Move the machine to a tick; running on from there follows the recording."""
        event.stop()
        present = self._may()
        if present is not None and event.tick != present.tick:
            self._stand(str(event.tick))
        elif present is not None:
            self.go(event.tick)

    def _stand(self, place: str) -> None:
        line = f"goto {place}"
        self.main.run_job(f"Going to tick {place}", lambda s: s.command(line))

    def on_tick_asked(self, event: messages.TickAsked) -> None:
        """Arrow keys, a click or the mouse dragged."""
        event.stop()
        if event.tick != self.timeline.cursor_tick:
            self.go(event.tick)

    def on_row_clicked(self, event: messages.RowClicked) -> None:
        """Go to the clicked stop or tick, ask about the clicked register, or focus the clicked
        warp.
        """
        event.stop()
        key = event.key
        if isinstance(key, tuple) and key[0] == "warp":
            self._focus(key[1], key[2])
        elif event.pane != self.code.pane:
            self._follow(key)

    def on_row_opened(self, event: messages.RowOpened) -> None:
        """Enter does what a click does."""
        event.stop()
        self._follow(event.key)

    def _follow(self, key: object) -> None:
        present = self._may()
        if not isinstance(key, tuple) or present is None:
            return
        kind, what = key[:2]
        if kind == "stop":
            kept = self.main.past.views.get(what)
            if kept is None:
                self.main.note("of this stop no picture is kept", "muted")
            elif kept.tick == present.tick:
                # The machine has moved back to where it stopped.
                self.go(kept.tick)
            else:
                self._travel(what, kept.tick, present)
        elif kind == "tick":
            self.go(what)
        elif kind in ("register", "writers"):
            self.register = int(what[1:])
            self.main.draw()
        elif kind == "pc":
            self.code.go_to(present.code.row(what))

    def _focus(self, sm: int, slot: int) -> None:
        if self.main.past.shown is not None:
            self.main.note("earlier stops keep their warp; End goes to the present", "muted")
            return
        self.main.focus_warp(sm, slot)
