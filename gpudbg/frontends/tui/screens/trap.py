"""Trap inspector: what does the hardware say, and what is the handler about to read."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from gpudbg.debug.focus import first_lane
from gpudbg.frontends.tui import messages
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.keys import bindings, one_line
from gpudbg.frontends.tui.screens.card import CardFrame, CardScreen
from gpudbg.frontends.tui.screens.panes import ConsoleScreen
from gpudbg.frontends.tui.text import row
from gpudbg.frontends.tui.widgets.trap_panes import (
    MASK_AT,
    SAVED_FROM,
    SLOTS,
    HandlerPane,
    PortLogPane,
    SavedPane,
    TrapTimelinePane,
    WordsPane,
    bit_at,
)

if TYPE_CHECKING:
    from gpudbg.frontends.tui.layout import Rect
    from gpudbg.frontends.tui.screens.main import MainScreen

WIDE = 110
"""From this width the panes stand in two columns."""


class WordCard(CardScreen):
    """A word explained in full."""

    def __init__(self, appearance: Appearance, title: str, lines: tuple[str, ...]) -> None:
        super().__init__(appearance)
        self.heading = title
        self.lines = lines

    def frame(self, width: int, height: int) -> CardFrame:
        """Wrapped lines in a frame."""
        wide = min(width - 2, 104)
        rows = []
        for line in self.lines:
            indent = " " * (len(line) - len(line.lstrip()) + 8)
            parts = textwrap.wrap(line, wide - 4, subsequent_indent=indent) or [""]
            rows += [row((f" {part}", "text")) for part in parts]
        if len(rows) > height - 4:
            rest = len(rows) - (height - 5)
            rows = [*rows[: height - 5], row((f" {rest} more lines: `info esr`", "muted"))]
        return CardFrame(self.appearance, rows, wide, "you", self.heading, one_line("card", {}))


class TrapScreen(ConsoleScreen):
    """See the module text."""

    MARK, OPTION, SCOPE = "t", "trap", "trap"
    AUTO_FOCUS = "#pane-trapwords"
    BINDINGS: ClassVar[list[BindingType]] = bindings("trap")

    def __init__(self, main: MainScreen, appearance: Appearance) -> None:
        self.words = WordsPane(appearance)
        self.saved = SavedPane(appearance)
        self.handler = HandlerPane(appearance)
        self.log_pane = PortLogPane(appearance)
        self.timeline = TrapTimelinePane(appearance)
        panes = (self.words, self.saved, self.handler, self.log_pane, self.timeline)
        super().__init__(main, appearance, "trap", panes, self.saved, self.words)

    def panes_at(self, top: int, width: int, rows: int) -> dict[str, Rect]:
        """Two columns where they fit; else saved state above one of the others."""
        if width < WIDE:
            saved = 5 if rows + top + 1 >= 24 else 3
            console = 3 if self.typing else 0
            places: dict[str, Rect] = {
                "pane-trapsaved": (0, top, width, saved),
                f"pane-{self.lower.pane}": (0, top + saved, width, rows - saved - console),
            }
            if console:
                places["pane-console"] = (0, top + rows - console, width, console)
            return places
        left = max(width * 3 // 5, MASK_AT + SLOTS)
        right = width - left - 1
        saved, time, console = min(8, rows // 5), min(6, rows // 7), min(8, rows // 6)
        if right >= SAVED_FROM and rows >= 50:
            # Room for a column of every paused warp.
            saved = 16
        log = (rows - saved - time - console) * 2 // 5
        code = rows - saved - time - console - log
        low = top + saved + code
        at = left + 1
        return {
            "pane-trapwords": (0, top, left, rows),
            "pane-trapsaved": (at, top, right, saved),
            "pane-traphandler": (at, top + saved, right, code),
            "pane-traptimeline": (at, low, right, time),
            "pane-traplog": (at, low + time, right, log),
            "pane-console": (at, low + time + log, right, console),
        }

    # ---- actions -------------------------------------------------------------------------
    def action_always(self) -> None:
        """Toggle whether a trap opens this screen instead of its card."""
        options = self.main.options
        options.trap_opens = not options.trap_opens
        words = "opens this screen by itself" if options.trap_opens else "shows its card first"
        self.main.note(f"a trap now {words}", "muted")

    def action_set_field(self, by: int) -> None:
        """The next field that says something."""
        self.action_pane(1)
        self.words.next_set(by)

    def action_zeros(self) -> None:
        """Fields that are zero, shown or folded."""
        self.words.zeros = not self.words.zeros
        self.words.redraw()

    def action_format(self) -> None:
        """Numbers of fields in hex or decimal."""
        self.words.decimal = not self.words.decimal
        self.words.redraw()

    def _here(self) -> str:
        """The word at the cursor; the first word otherwise."""
        key = self.words.key
        if isinstance(key, tuple) and key[0] in ("word", "bits", "field"):
            return str(key[1])
        return "SR_GlobalErrorStatus"

    def action_explain(self) -> None:
        """The word under the cursor in full; a field's note first."""
        word = self.words.word(self._here())
        if word is None:
            return
        key = self.words.key
        lines = word.lines or (f"{word.name} = 0x{word.value:08x}: no public layout",)
        if isinstance(key, tuple) and key[0] == "field":
            field = next(f for f in word.fields if (f.hi, f.lo) == key[2:])
            note = f" {field.note}." if field.note else ""
            first = f"{field.name}: {field.meaning}. This is {field.certainty}.{note}"
            lines = (first, "", *lines)
        self.app.push_screen(WordCard(self.appearance, word.name, lines))

    def action_edit(self) -> None:
        """Another value for the field under the cursor: a write through the port, logged."""
        key, word = self.words.key, self.words.word(self._here())
        if word is None or not isinstance(key, tuple) or key[0] not in ("field", "word", "bits"):
            self.main.note("`.` goes to a field; `e` edits it", "muted")
            return
        if not word.writable:
            self.main.note(f"{word.name} is made by the SM: nobody can write it")
            return
        hi, lo = key[2:] if key[0] == "field" else (31, 0)
        name = next((f.name for f in word.fields if (f.hi, f.lo) == (hi, lo)), "")
        label = f"{word.name}.{name}" if key[0] == "field" else word.name
        trap = self.main.current.trap if self.main.current is not None else None
        sm = trap.sm if trap is not None else 0
        now = word.value >> lo & (1 << hi - lo + 1) - 1
        self.main.gpudbg.ask(
            f"{label} (bits {hi}:{lo}), now 0x{now:x}",
            f"a number up to 0x{(1 << hi - lo + 1) - 1:x}",
            lambda text: self._write(word.name, word.value, hi, lo, text, sm),
        )

    def _write(self, name: str, value: int, hi: int, lo: int, text: str, sm: int) -> None:
        try:
            number = int(text, 0)
        except ValueError:
            self.main.note(f"{text!r} is not a number")
            return
        mask = (1 << hi - lo + 1) - 1
        if not 0 <= number <= mask:
            self.main.note(f"{text} does not fit into bits {hi}:{lo}")
            return
        word = value & ~(mask << lo) | number << lo
        self.main.run_command(f"trap port write {name} 0x{word:08x} {sm}")

    # ---- rows ----------------------------------------------------------------------------
    def on_row_clicked(self, event: messages.RowClicked) -> None:
        """A bit is its field, a mask's or the strip's cell its warp."""
        event.stop()
        key = event.key
        if not isinstance(key, tuple):
            return
        if key[0] == "bits":
            bit, word = bit_at(event.column), self.words.word(key[1])
            if word is None or bit is None:
                return
            field = next((f for f in word.fields if f.lo <= bit <= f.hi), None)
            if field is None:
                self.main.note(f"bit {bit} of {word.name} has no public name", "muted")
            elif not self.words.go_to(("field", word.name, field.hi, field.lo)):
                self.action_zeros()
                self.words.go_to(("field", word.name, field.hi, field.lo))
        elif key[0] == "mask":
            self._focus_slot(event.column - MASK_AT)
        elif key[0] == "saved":
            slot = self.saved.warp_at(event.column)
            if slot is not None:
                self._focus_slot(slot)
        elif key[0] == "warp":
            self.main.focus_warp(key[1], key[2])

    def on_row_opened(self, event: messages.RowOpened) -> None:
        """Enter folds a word, and follows a mask to its first warp."""
        event.stop()
        key = event.key
        if not isinstance(key, tuple):
            return
        if key[0] in ("word", "bits", "field"):
            self.words.flipped ^= {key[1]}
            self.words.redraw()
            self.words.go_to(("word", key[1]))
        elif key[0] == "mask":
            trap = self.main.current.trap if self.main.current is not None else None
            mask = dict(trap.masks)[key[1]] if trap is not None else 0
            if mask:
                self._focus_slot(first_lane(mask))

    def _focus_slot(self, slot: int) -> None:
        view = self.main.current
        if view is None or view.trap is None:
            return
        found = view.snapshot.warp_row(view.trap.sm, slot)
        if found is None:
            self.main.note(f"slot {slot} holds no warp", "muted")
            return
        self.main.focus_warp(found.sm, found.slot)
