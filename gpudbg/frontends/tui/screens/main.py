"""The main screen: why did it stop, which lanes are where, what differs, what happens next."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Resize
from textual.screen import Screen
from textual.widget import Widget

from gpudbg.debug import launch_shape, story_of
from gpudbg.debug.commands import load
from gpudbg.debug.script import BlockReader, ScriptLine, Statement
from gpudbg.debug.stops import StepStop, Stop, TrapStop
from gpudbg.debug.views import argument_doubts
from gpudbg.errors import GpudbgError
from gpudbg.frontends.tui import layout, messages
from gpudbg.frontends.tui.actions import BY_ID, RANKED, Action
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.base_app import BaseApp
from gpudbg.frontends.tui.changed import Changes, edge_to, fronts_of, laid_over
from gpudbg.frontends.tui.completion import complete
from gpudbg.frontends.tui.engine import Engine, Work
from gpudbg.frontends.tui.handlers import EVENTS, HANDLERS, SCREEN_COMMANDS, STEPS
from gpudbg.frontends.tui.keys import bindings, keys_text
from gpudbg.frontends.tui.past import Past
from gpudbg.frontends.tui.screen_lines import concerns, screen_line
from gpudbg.frontends.tui.screens.board import Board
from gpudbg.frontends.tui.screens.side import SideScreen
from gpudbg.frontends.tui.scripts import Script
from gpudbg.frontends.tui.unfolding import CONSOLE, unfolded
from gpudbg.frontends.tui.view import Running, ScreenView, ViewOptions
from gpudbg.frontends.tui.widgets.base import LinePane
from gpudbg.frontends.tui.widgets.chrome import AppBar, KeyRow, SmStrip, Splitter, StopLine
from gpudbg.frontends.tui.widgets.code import CodePane
from gpudbg.frontends.tui.widgets.compositor import LineCompositor
from gpudbg.frontends.tui.widgets.console import ConsolePane
from gpudbg.frontends.tui.widgets.lists import MarksPane, OutputPane, StopsPane, WatchPane
from gpudbg.frontends.tui.widgets.matrix import MatrixPane
from gpudbg.frontends.tui.widgets.memory import MemoryPane
from gpudbg.frontends.tui.widgets.notes import NotesPane
from gpudbg.frontends.tui.widgets.paths import PathsPane
from gpudbg.frontends.tui.widgets.registers import LanesPane, RegistersPane
from gpudbg.frontends.tui.widgets.source import SourcePane
from gpudbg.frontends.tui.widgets.variables import FramesPane, VariablesPane
from gpudbg.frontends.tui.widgets.warps import WarpsPane

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession

PANES: tuple[type[LinePane], ...] = (
    CodePane,
    SourcePane,
    LanesPane,
    WarpsPane,
    PathsPane,
    FramesPane,
    RegistersPane,
    VariablesPane,
    MemoryPane,
    StopsPane,
    WatchPane,
    OutputPane,
    MarksPane,
    NotesPane,
    MatrixPane,
)
"""Every state pane."""

SHOWN = (LinePane, AppBar, StopLine, SmStrip, ConsolePane)
"""Widgets that draw a view."""


LEAVING = ("quit", "q", "exit")
"""Commands that end the application, whatever runs."""

JOIN_S = 5.0
"""Seconds to wait for the engine's thread after interrupting it."""


def moved(view: ScreenView, old: ScreenView) -> bool:
    """Whether the machine, or the focus, stands elsewhere than in an older view."""
    return (view.end, view.focus_row, view.lane) != (old.end, old.focus_row, old.lane)


class MainScreen(Screen[None]):
    """See the module text."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("main")
    AUTO_FOCUS = None

    def __init__(
        self,
        session: DebugSession,
        engine: Engine,
        options: ViewOptions,
        appearance: Appearance,
        notes: bool = False,
    ) -> None:
        super().__init__()
        self.reader = BlockReader()
        self.script: Script | None = None
        self.story = story_of(session.program.path)
        self._notes_first = notes and self.story is not None
        self.session = session
        self.engine = engine
        self.options = options
        self.appearance = appearance
        self.current: ScreenView | None = None
        self.design: layout.Arrangement | None = None
        self.arrangement: layout.Arrangement | None = None
        self.zoom: str | None = None
        self.unfolded: tuple[int, bool] | None = None
        self.past = Past()
        self._outputs_first = False
        self._shown_fault: object = None
        self.last_search = ""
        self.last_value = ""
        self.found_value: int | None = None
        self._painting = False
        self._compositor = LineCompositor()

    @property
    def gpudbg(self) -> BaseApp:
        """The application."""
        assert isinstance(self.app, BaseApp)
        return self.app

    # ---- building --------------------------------------------------------------------------
    def compose(self) -> ComposeResult:
        """Fixed rows, panes and the console, all on one board."""
        appearance = self.appearance
        keys = KeyRow(appearance, "keys")
        yield Board(
            AppBar(appearance, "appbar"),
            StopLine(appearance, "stopline"),
            SmStrip(appearance, "strip"),
            *(pane(appearance) for pane in PANES),
            ConsolePane(appearance, lambda text: complete(self.session, text)),
            Splitter(appearance),
            keys,
        )

    def on_mount(self) -> None:
        """First picture: the session as it stands."""
        self._counting = self.set_interval(0.1, self._progress, pause=True)
        self.adopt(self.engine.collector.take())
        self.query_one(NotesPane).tell(self.story)
        console = self.query_one(ConsolePane)
        console.log_lines(self._hints(), "muted")
        for doubt in argument_doubts(self.session):
            self.note(doubt)
        if self.gpudbg.layouts.saved.trouble:
            self.note(self.gpudbg.layouts.saved.trouble)
        if self.story is not None:
            console.log_lines(["H the story of this program   G the other stories"], "muted")
            self.gpudbg.seen.mark(self.story.name)
        self.set_focus(self.query_one(CodePane))
        if not self.session.launched and self.session.stop is not None:
            self.note(self.session.stop.message, "muted")
            if self.gpudbg.asks_launch:
                self.call_after_refresh(self.action_do, "launch")

    def on_unmount(self) -> None:
        """Stop what runs, however the screen ended (a browser left): it would keep the process
        alive.
        """
        self.engine.interrupt()
        self.engine.join(JOIN_S)

    def _hints(self) -> list[str]:
        """One line for the first minute; three, where they fit, for the first start of all."""
        key = {name: keys_text(keys, 1) for name, keys in self.gpudbg.key_table.items()}
        most = (
            f"{key['stepi']} one instruction   {key['continue']} to the next stop   "
            f"{key['console']} type a command   {key['help']} every key"
        )
        if not self.gpudbg.seen.first or self.size.height < 32:
            return [most]
        return [
            most,
            f"{key['next']} next line   {key['break']} breakpoint   {key['lane_next']} lane   "
            f"{key['warp_back']} {key['warp_next']} warp   1-9 panes",
            f"{key['palette']} every command by name   {key['gallery']} stories   "
            f"{key['zoom']} zoom   {key['quit']} quit",
        ]

    def on_resize(self, event: Resize) -> None:
        """Rearrange for the new size."""
        self.unfolded = None
        self.rearrange()

    def rearrange(self) -> None:
        """Place every pane."""
        width, height = self.size
        if not width or not height or self.session.closed:
            # A screen whose program was closed may still receive a new size.
            return
        changes = self.changes
        chosen = self._arrange(width, height, changes, notes=False)
        if "notes" in chosen.values() and self.story is not None:
            chosen = self._arrange(width, height, changes, notes=True)
        assert self.arrangement is not None
        if self._outputs_first:
            # No warp has registers any more: show the outputs in their place.
            chosen = {s: p for s, p in chosen.items() if p != "output"}
            for slot in self.arrangement.slots[::-1]:
                if {"registers", "output"} <= set(slot.panes):
                    # A story continues where it is read.
                    if chosen.get(slot) != "notes":
                        chosen[slot] = "output"
                    break
        places = {f"pane-{p}": r for p, r in layout.choose(self.arrangement, chosen).items()}
        if self.zoom is not None:
            places = {f"pane-{self.zoom}": layout.zoomed(self.arrangement, self.zoom)}
        places |= self.arrangement.rows
        if self.arrangement.splitter is not None and self.zoom is None:
            places["splitter"] = self.arrangement.splitter
        self._name_neighbours(places)
        if self.unfolded is not None and self.zoom is None and CONSOLE in places:
            area = layout.zoomed(self.arrangement, "console")
            places = unfolded(places, area, *self.unfolded, f"pane-{self.focused_pane()}")
        self.query_one(Board).place(places)
        self.query_one(KeyRow).tick = "appbar" not in places
        focused = self.focused
        if focused is not None and not _shown(focused):
            if self.zoom is not None and self.zoom != "console":
                # Already arranged: arranging again would recurse.
                self.set_focus(self.line_pane(self.zoom))
            else:
                able = ("code", "source", "console")
                first = next((p for p in able if f"pane-{p}" in places), "code")
                self.focus_pane(self.zoom or first)
        named = "pane-variables" in places or "pane-frames" in places
        if named and not self.options.variables:
            self.call_after_refresh(self.reload)
        self.options.variables = named
        memory = places.get("pane-memory")
        if memory is not None:
            self.options.page_rows = max(memory[3] - 1, 1)
        self.draw()

    def _arrange(
        self, width: int, height: int, changes: Changes, notes: bool
    ) -> dict[layout.PaneSlot, str]:
        """Make the arrangement; the panes that show in their slots where that was chosen."""
        about = self._shape(), changes.split, changes.preset, notes
        self.design = layout.arrange(width, height, *about)
        self.arrangement = laid_over(self.design, changes)
        chosen = fronts_of(self.arrangement, changes)
        slot = self.arrangement.slot_of("notes")
        if self._notes_first and slot is not None and slot.panes[0] == "memory":
            # Notes open where they cover nothing but the memory pane.
            chosen.setdefault(slot, "notes")
        return chosen

    def _name_neighbours(self, places: dict[str, layout.Rect]) -> None:
        assert self.arrangement is not None
        shown = {name.removeprefix("pane-") for name in places}
        for slot in self.arrangement.slots:
            here = next((p for p in slot.panes if places.get(f"pane-{p}") == slot.rect), None)
            if here is None or here == "console":
                continue
            hidden = {*shown, "console"} if self.story is not None else {*shown, "console", "notes"}
            if not self.session.symbols.has_lines:
                hidden.add("source")
            if not self.session.symbols.has_tensor_cores:
                hidden.add("matrix")
            others = [self.line_pane(p) for p in slot.panes if p not in hidden]
            self.line_pane(here).tabs = tuple((o.number, o.title, o.pane) for o in others)

    @property
    def changes(self) -> Changes:
        """What the user made of the arrangement on a terminal of this size."""
        return self.gpudbg.layouts.changes(layout.size_of(self.size.width))

    def change(self, changes: Changes) -> None:
        """Apply changes for this size of terminal, and place the panes."""
        self.zoom, self.unfolded = None, None
        self.gpudbg.layouts.now[layout.size_of(self.size.width)] = changes
        self.rearrange()
        self.reload_memory()

    def fit_console(self) -> None:
        """Unfold the console where the last answer does not fit it; else fold it."""
        place = self.query_one(Board).places.get(CONSOLE)
        slot = self.arrangement.slot_of("console") if self.arrangement is not None else None
        if place is None or slot is None or self.zoom is not None:
            return
        console = self.query_one(ConsolePane)
        rows, wider = console.rows_of_answer(slot.rect[2])
        if wider:
            rows, _ = console.rows_of_answer(self.size.width)
        fits = rows <= slot.rect[3] and not (wider and slot.rect[2] < self.size.width)
        asked = None if fits else (max(rows, slot.rect[3]), wider)
        if asked != self.unfolded or asked is not None:
            self.unfolded = asked
            self.rearrange()

    def answer(self, lines: list[str]) -> None:
        """Print the answer to a key in the console, with room for it."""
        console = self.query_one(ConsolePane)
        console.answers.begin()
        console.log_lines(lines)
        self.fit_console()

    def fold(self) -> None:
        """Fold the console as it was before an answer."""
        if self.unfolded is not None:
            self.unfolded = None
            self.rearrange()

    def bring_front(self, pane: str) -> None:
        """Let a pane show in its slot."""
        changes = self.changes
        fronts = (*(p for p in changes.fronts if p != pane), pane)
        size = layout.size_of(self.size.width)
        self.gpudbg.layouts.now[size] = replace(changes, fronts=fronts)

    def _drag_edge(self, pane: str, row: int) -> None:
        """Put the upper edge of a pane where the mouse is; a zoomed pane has none."""
        place = self.query_one(Board).places.get(f"pane-{pane}")
        if place is None or self.design is None or self.zoom is not None:
            return
        made = edge_to(self.design, self.changes, place, row)
        if made != self.changes:
            self.change(made)

    def _arranged(self, line: str) -> bool:
        """Carry out a command that arranges the screen. Returns False for other lines."""
        found = screen_line(line)
        if found is None:
            return False
        name, words = found
        try:
            lines = SCREEN_COMMANDS[name](self, words)
        except GpudbgError as error:
            self.note(str(error))
        else:
            if lines:
                self.query_one(ConsolePane).log_lines(lines)
            self.fit_console()
        return True

    def _shape(self) -> layout.LayoutShape:
        launch = launch_shape(self.session)
        total = launch.warps * -(-launch.blocks // max(launch.sms, 1))
        return layout.LayoutShape(min(launch.resident_warps, total), launch.registers)

    # ---- panes -----------------------------------------------------------------------------
    def line_pane(self, name: str) -> LinePane:
        """The state pane called `name`."""
        return self.query_one(f"#pane-{name}", LinePane)

    def focused_pane(self) -> str:
        """The pane that has the focus; the console counts as one."""
        focused = self.focused
        if isinstance(focused, LinePane):
            return "console" if focused.pane == "log" else focused.pane
        return "console" if focused is not None else "code"

    def focus_pane(self, name: str) -> None:
        """Bring a pane into its slot, and give it the focus."""
        if self.arrangement is None:
            return
        if name == "console":
            if self.zoom is not None:
                self.zoom = None
                self.rearrange()
            self.query_one(ConsolePane).enter()
            return
        slot = self.arrangement.slot_of(name)
        if slot is None and name == "lanes":
            name = "registers"
            slot = self.arrangement.slot_of(name)
        if slot is None:
            self.zoom = name
            self.rearrange()
        elif self.zoom is not None or not self.line_pane(name).display:
            # An explicit request overrides the outputs shown at the launch's end.
            self._outputs_first &= not {"registers", "output"} <= set(slot.panes)
            self.bring_front(name)
            if self.zoom is not None:
                self.zoom = name
            self.rearrange()
        self.set_focus(self.line_pane(name))
        self.show_keys()

    def action_pane(self, number: int) -> None:
        """A digit: the pane with that number."""
        small = self.arrangement is not None and self.arrangement.slot_of("lanes") is not None
        for pane in PANES:
            if pane.number == str(number):
                if pane.pane == "lanes" and not small:
                    continue
                if pane.pane == "lanes" and self.focused_pane() == "lanes":
                    continue
                self.focus_pane(pane.pane)
                return
        if number == 6:
            self.focus_pane("console")

    def action_do(self, name: str) -> None:
        """Carry out an action of the registry."""
        if BY_ID[name].starts and not self.session.launched:
            name = "launch"
        action = BY_ID[name]
        if self.engine.busy and not action.busy:
            self.refuse()
            return
        self.guarded(lambda: HANDLERS[name](self))

    def guarded(self, act: Callable[[], None]) -> None:
        """Report a bug in a key's or the mouse's action; the session continues."""
        try:
            act()
        except Exception as error:
            if os.environ.get("GPUDBG_TRACEBACK"):
                raise
            self.note(f"this is a bug in gpudbg: {type(error).__name__}: {error}")
            self.note("the session goes on; GPUDBG_TRACEBACK=1 shows the place", "muted")

    def paint(self) -> None:
        """Begin painting, deferred so that panes that find their places one by one are painted
        once.
        """
        self._painting = True
        if not self._layout_required:
            self.refresh()

    def _compositor_refresh(self) -> None:
        if self._painting:
            super()._compositor_refresh()

    # ---- the picture -------------------------------------------------------------------------
    def adopt(self, view: ScreenView, notice: str = "") -> None:
        """Take over a new picture and draw it; a new fault opens its card."""
        self.current = view
        self.past.keep(view)
        self.query_one(StopLine).notice = notice
        self.draw()
        if view.fault is not None and self._shown_fault is not view.snapshot.stop:
            self._shown_fault = view.snapshot.stop
            if self.options.trap_opens and isinstance(view.snapshot.stop, TrapStop):
                self.gpudbg.open_screen("trap")
            else:
                self.open_fault()

    def open_fault(self) -> None:
        """The card of the stop's fault."""
        if self.current is not None and self.current.fault is not None:
            from gpudbg.frontends.tui.screens.fault import FaultScreen

            self.app.push_screen(FaultScreen(self.current, self.appearance), self._after_fault)

    def _after_fault(self, answer: str | None) -> None:
        if answer == "go" and self.current is not None and self.current.fault is not None:
            self.query_one(CodePane).go_to(self.current.code.row(self.current.fault.place.pc))
            if self.focused_pane() != "notes":
                # A story continues where it ran into the fault.
                self.set_focus(self.query_one(CodePane))
        elif answer == "memory" and self.current is not None and self.current.fault is not None:
            EVENTS["fault_memory"](self)
        elif answer and answer.startswith("lane "):
            card = self.current.fault if self.current is not None else None
            if card is not None:
                self.quick(lambda s: s.focus_on(card.place.sm, card.place.warp, int(answer[5:])))
        elif answer:
            self.action_do(answer)

    def draw(self) -> None:
        """Draw the shown picture, of the present or an earlier stop, in every visible pane."""
        view = self.past.shown or self.current
        if view is None:
            return
        if view.code.interleave(self.changes.preset not in layout.BARE):
            # Deferred: the pane's new height arrives with the refresh.
            self.call_after_refresh(self._show_pc)
        running = self.running_now()
        for widget in self.query_one(Board).children:
            if widget.display and isinstance(widget, SHOWN):
                widget.show(view, running)
        for screen in self.app.screen_stack:
            # A screen just opened shows the present picture once its widgets exist.
            if isinstance(screen, SideScreen) and screen.query(KeyRow):
                screen.show(view, running)
        self.show_keys()

    def _show_pc(self) -> None:
        """The code pane at the next instruction."""
        if self.current is not None and self.current.pc is not None:
            self.query_one(CodePane).go_to(self.current.code.row(self.current.pc))

    def running_now(self) -> Running | None:
        """Numbers of a run that lasts; None at rest and in a run's first moments."""
        if self.current is None:
            return None
        now = self.engine.running(self.current)
        return now if now is not None and now.seconds > 0.2 else None

    def _progress(self) -> None:
        """Update the stop line ten times a second while the machine runs."""
        if self.running_now() is not None:
            self.draw()

    def show_keys(self) -> None:
        """The keys that work now in the focused pane, and those of the side screens."""
        busy, there = self.engine.busy, self._there()
        shown = [a for a in RANKED if self._shows(a, there)]
        if busy:
            shown.insert(0, BY_ID["interrupt"])
        elif "run" not in there:
            first = BY_ID["restart" if self.session.launched else "launch"]
            shown = [first, *(a for a in shown if a is not first)]
        key = self.gpudbg.key
        row = self.query_one(KeyRow)
        row.keys = tuple((key(a.id), a.label) for a in shown)
        row.pinned = ((key("help"), BY_ID["help"].label),)
        if self.current is not None:
            row.show(self.current, self.running_now())

    def _shows(self, action: Action, there: Collection[str]) -> bool:
        """Whether the key row names an action now."""
        if not action.rank or action.id == "help" or (self.engine.busy and not action.busy):
            return False
        if action.panes and self.focused_pane() not in action.panes:
            return False
        return all(need in there for need in action.needs.split())

    def _there(self) -> set[str]:
        """The conditions of actions (`Action.needs`) that hold now."""
        view = self.current
        if view is None:
            return set()
        found = {
            "run": self._can_run(),
            "warp": view.focus_row is not None,
            "images": bool(view.images),
            "fault": view.fault is not None,
            "tensor": view.fragments is not None,
        }
        return {name for name, there in found.items() if there}

    def _can_run(self) -> bool:
        """Whether the machine can go on: not ended, not stopped by an error."""
        return self.current is not None and not (
            self.current.snapshot.finished or self.current.snapshot.stop.faulted
        )

    def on_descendant_focus(self) -> None:
        """Update the key row for the newly focused pane."""
        self.show_keys()

    # ---- work --------------------------------------------------------------------------------
    def run_job(self, label: str, work: Work) -> None:
        """Work for the engine thread; refused while it has some."""
        if self.engine.submit(label, work):
            self._counting.resume()
        else:
            self.refuse()

    def refuse(self) -> None:
        """Say that the machine runs and that the request was not carried out."""
        self.note(f"running; {self.gpudbg.key('interrupt')} stops it")

    def say_waiting(self, count: int) -> None:
        """Inputs wait for the end of a run that lasts."""
        key = self.gpudbg.key("interrupt")
        self.note(f"{count} inputs wait for the run; {key} stops it and drops them")

    def run_command(self, line: str, echo: bool = True) -> None:
        """A console line, in the engine thread."""
        console = self.query_one(ConsolePane)
        if echo:
            console.log_command(line)
        try:
            statement = self._read(line)
        except GpudbgError as error:
            self.reader.clear()
            self.note(str(error))
            self.fit_console()
            return
        if statement is None:
            return
        plain = isinstance(statement, ScriptLine) and not statement.text.startswith("source ")
        if plain and self._arranged(line):
            return
        self.script = Script(self.session, [statement], concerns)
        self.run_job("Running", self.script.work)

    def _read(self, line: str) -> Statement | None:
        """The statement that a line completes; a block waits for the lines up to its `end`."""
        if not self.reader.pending and not line.strip():
            return ScriptLine(self.session.last_line) if self.session.last_line else None
        statement = self.reader.feed(line)
        if statement is None and (head := self.reader.opened) is not None:
            self.session.scripting.check_head(head.text)
        return statement

    def _go_on(self, console: ConsolePane) -> str:
        """After a job: the script's line for the screen, then the rest; the notice of a gap."""
        script = self.script
        if script is None:
            return ""
        if script.error:
            console.log_lines([f"gpudbg: {t}" for t in script.error.splitlines()], "stop")
        if script.done:
            self.script = None
        elif script.held:
            self._arranged(script.held)
            self.run_job("Running", script.work)
        return f"gpudbg has no meaning for this: {script.error}" if script.gap else ""

    def quick(self, work: Callable[[DebugSession], object]) -> bool:
        """Short work at once; False when it failed or the machine runs."""

        def carry_out(session: DebugSession) -> None:
            work(session)

        try:
            view = self.engine.quick(carry_out)
        except GpudbgError as e:
            self.note(str(e))
            return False
        if view is None:
            self.refuse()
            return False
        self.adopt(view, self.query_one(StopLine).notice)
        return True

    def type_command(self, line: str) -> None:
        """A command from the palette: at once when it needs nothing, else in the prompt."""
        if line.endswith(" "):
            self.query_one(ConsolePane).enter(line)
        else:
            self.run_command(line)

    def focus_warp(self, sm: int, slot: int) -> None:
        """Move the debug focus to a warp."""
        self.quick(lambda s: s.set_focus(f"sm {sm} warp {slot}"))

    def reload_memory(self) -> None:
        """Read memory again for a new height of its pane."""
        if self.line_pane("memory").display:
            self.reload()

    def reload(self) -> None:
        """Collect a new view, since visible panes need more than the present one holds."""
        if not self.engine.busy:
            self.quick(lambda s: None)

    def note(self, text: str, role: str = "stop") -> None:
        """A word to the user: in the console, and in the key row until the next input."""
        self.query_one(ConsolePane).log_lines(text.splitlines(), role)
        self.gpudbg.say(" ".join(text.split()), role)

    @on(messages.JobDone)
    def _job_done(self, event: messages.JobDone) -> None:
        event.stop()
        stop = event.view.snapshot.stop if event.view is not None else None
        if event.error or not isinstance(stop, StepStop):
            # Queued steps were meant for the code before this stop: drop them.
            table = self.gpudbg.key_table
            steps = [k for name in STEPS for k in table[name].split(",")]
            self.gpudbg.inputs.drop_repeats(steps)
        self.engine.finished()
        self._counting.pause()
        console = self.query_one(ConsolePane)
        notice = ""
        if event.output is not None:
            console.log_lines(list(event.output.lines))
        of_story = self.query_one(NotesPane).awaits
        if self.story is not None:
            lines = event.output.lines if event.output is not None else ()
            self.query_one(NotesPane).answer(lines, event.error or "")
        if event.error:
            console.log_lines([f"gpudbg: {line}" for line in event.error.splitlines()], "stop")
            if event.gap:
                notice = f"gpudbg has no meaning for this: {event.error}"
        if self.session.quit_requested:
            self.gpudbg.leave()
            return
        notice = self._go_on(console) or notice
        if self.script is None:
            # Where a run stopped is on the screen, and a story's answers are under its commands;
            # others are read in the console.
            before = self.current.snapshot.stop if self.current is not None else None
            if of_story or (stop is not None and stop is not before):
                self.fold()
            else:
                self.fit_console()
            self._say_over(event, None if stop is before else stop)
        if event.view is not None:
            finished = self.current is not None and self.current.snapshot.finished
            self.adopt(event.view, notice)
            if finished != event.view.snapshot.finished:
                self._outputs_first = event.view.snapshot.finished
                self.rearrange()
        else:
            self.draw()
        self.gpudbg.inputs.wake()

    def _say_over(self, event: messages.JobDone, stop: Stop | None) -> None:
        """On a screen that covers the console, say why a key left the machine where it was."""
        view, old = event.view, self.current
        if self.gpudbg.screen is self or (view is not None and (old is None or moved(view, old))):
            return
        said = event.output.lines if event.output is not None else ()
        if stop is not None:
            said = (*stop.detail, stop.message)
        words = event.error or next(iter(said), "")
        # What is in parentheses helps in the console.
        self.gpudbg.say(" ".join(words.partition(" (")[0].split()), "stop")

    def second_console(self, appearance: Appearance) -> ConsolePane:
        """A command line for another screen that says what this one's says."""
        first = self.query_one(ConsolePane)
        return ConsolePane(appearance, lambda text: complete(self.session, text), first)

    @on(messages.CommandEntered)
    def _command_entered(self, event: messages.CommandEntered) -> None:
        event.stop()
        self.enter_command(event.line, self.query_one(ConsolePane))

    @on(messages.Listed)
    def _listed(self, event: messages.Listed) -> None:
        event.stop()
        self.fit_console()

    @on(messages.LinesPasted)
    def _lines_pasted(self, event: messages.LinesPasted) -> None:
        event.stop()
        self.paste_lines(event, self.query_one(ConsolePane))

    def paste_lines(self, event: messages.LinesPasted, console: ConsolePane) -> None:
        """Lines pasted into a command line, one after the other."""
        for line in event.lines:
            console.prompt.taken(line)
        console.prompt.value = event.rest
        console.prompt.cursor_position = len(event.rest)
        self.gpudbg.inputs.put_lines(t for line in event.lines if (t := line.strip()))

    def enter_command(self, text: str, console: ConsolePane) -> None:
        """A line that was typed; while the machine runs it stays in the prompt."""
        line = text.strip()
        if self.engine.busy and line.partition(" ")[0] not in LEAVING:
            self.refuse()
            return
        console.prompt.taken(text)
        if line.partition(" ")[0] in LEAVING and not self.reader.pending:
            self.gpudbg.leave()
            return
        load()
        self.run_command(line, echo=True)

    # ---- mouse and Enter -----------------------------------------------------------------------
    @on(messages.PaneAsked)
    def _pane_asked(self, event: messages.PaneAsked) -> None:
        self.focus_pane(event.pane)

    @on(messages.SplitMoved)
    def _split_moved(self, event: messages.SplitMoved) -> None:
        self.change(replace(self.changes, split=event.column))

    @on(messages.EdgeMoved)
    def _edge_moved(self, event: messages.EdgeMoved) -> None:
        self._drag_edge(event.pane, event.row)

    @on(messages.NameHovered)
    def _name_hovered(self, event: messages.NameHovered) -> None:
        event.stop()
        self.guarded(lambda: EVENTS["name_hovered"](self, event))

    @on(messages.RowClicked)
    def _row_clicked(self, event: messages.RowClicked) -> None:
        self.guarded(lambda: EVENTS["clicked"](self, event))

    @on(messages.RowOpened)
    def _row_opened(self, event: messages.RowOpened) -> None:
        self.guarded(lambda: EVENTS["opened"](self, event))


def _shown(widget: Widget) -> bool:
    return all(node.display for node in widget.ancestors_with_self if isinstance(node, Widget))
