"""The trap inspector's panes: words bit by bit, saved state, the handler's code, the port's log."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from gpudbg.debug.values import TrapField, TrapWord
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.text import Row, Span, fit, row
from gpudbg.frontends.tui.trap_texts import ROWS, SavedWarp, TrapPicture
from gpudbg.frontends.tui.view import ScreenView
from gpudbg.frontends.tui.widgets.base import Content, LinePane
from gpudbg.frontends.tui.widgets.code import text_spans

BITS_AT = 9
"""The column of bit 31."""
MASK_AT = 8
SLOTS = 64
QUIET = (
    "HWW_WARP_ESR_PC",
    "HWW_WARP_ESR_REPORT_MASK",
    "HWW_GLOBAL_ESR_REPORT_MASK",
    "TPC_EXCEPTION_EN",
    "SM_CFG",
    "SM_ARCH",
)
"""Words that say how the SM is set up, not what happened: folded until asked for."""
MAX_HANDLER_ROWS = 4096


def bit_column(bit: int) -> int:
    """The column of a bit: nibbles apart by a blank, halves by two."""
    from_left = 31 - bit
    return BITS_AT + from_left + from_left // 4 + (1 if bit < 16 else 0)


def bit_at(column: int) -> int | None:
    """The bit of a column, or None between nibbles."""
    return next((b for b in range(32) if bit_column(b) == column), None)


def bits_text(field: TrapField) -> str:
    """`26:24`, `31`."""
    return f"{field.hi}:{field.lo}" if field.hi != field.lo else str(field.hi)


class WordsPane(LinePane):
    """Status words and port registers as trees of fields."""

    number, title, pane = "1", "Error status", "trapwords"

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance)
        self.flipped: set[str] = set()
        self.roomy: set[str] = set()
        self.zeros = False
        self.decimal = False

    def is_open(self, word: TrapWord) -> bool:
        """Whether a word's fields show: of words that say something, unless folded by hand.

        How the SM is set up is open only where rows are free.
        """
        says = bool(word.value) and (word.name in self.roomy or word.name not in QUIET)
        return says != (word.name in self.flipped)

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """Ruler, words, masks."""
        trap = view.trap
        if trap is None:
            return Content(())
        self.roomy.clear()
        rows = self._rows(trap)
        for word in trap.words:
            if word.value and word.name in QUIET:
                self.roomy.add(word.name)
                more = self._rows(trap)
                if len(more) <= height:
                    rows = more
                else:
                    self.roomy.remove(word.name)
        return Content(rows, f"{trap.place}   + zero fields")

    def _rows(self, trap: TrapPicture) -> list[Row]:
        rows = [self._ruler()]
        for word in trap.words:
            rows += self._word(word)
        return [*rows, Row(), *self._masks(trap)]

    def _ruler(self) -> Row:
        line = [" "] * (bit_column(0) + 2)
        for bit in (31, 24, 16, 15, 8, 0):
            text = str(bit)
            at = bit_column(bit)
            line[at : at + len(text)] = text
        return row(("".join(line).rstrip(), "muted"))

    def _word(self, word: TrapWord) -> Iterator[Row]:
        g = self.appearance.glyphs
        shown = self.is_open(word)
        value = (f"0x{word.value:08x}", "now" if word.value else "dim")
        brief = word.text if not shown and word.value and word.name not in QUIET else ""
        if word.name.endswith("_PC"):
            brief = word.text
        yield Row(
            (
                (f" {g.open if shown else g.pc} ", "muted"),
                (word.name, "text.b"),
                ("  ", "text"),
                value,
                (f"  {brief}" if brief else "", "text"),
            ),
            key=("word", word.name),
            right=((word.place + " ", "muted"),),
        )
        if not shown or not word.fields:
            return
        chosen = self._chosen_field(word)
        if chosen is not None or not word.name.startswith(("DBGR_", "TPC_")):
            # Registers of single flags name their bits already.
            yield row(*self._bit_spans(word.value, chosen), key=("bits", word.name))
        zero = 0
        for field in word.fields:
            if not field.value and not self.zeros:
                zero += 1
                continue
            yield self._field(word, field)
        if zero:
            words = "1 more field is 0" if zero == 1 else f"{zero} more fields, all 0"
            yield row((" " * BITS_AT + words, "dim"))

    def _chosen_field(self, word: TrapWord) -> TrapField | None:
        key = self.key
        if not isinstance(key, tuple) or key[:2] != ("field", word.name):
            return None
        return next((f for f in word.fields if (f.hi, f.lo) == key[2:]), None)

    def _bit_spans(self, value: int, chosen: TrapField | None) -> Iterator[Span]:
        yield " " * BITS_AT, "text"
        for bit in range(31, -1, -1):
            mine = chosen is not None and chosen.lo <= bit <= chosen.hi
            lit = value >> bit & 1
            style = ("now.b" if lit else "dim") + ("/you-bg" if mine else "")
            yield str(lit), style
            if bit and bit % 4 == 0:
                yield (" " if bit != 16 else "  "), "text"

    def _field(self, word: TrapWord, field: TrapField) -> Row:
        number = str(field.value) if self.decimal or field.value < 10 else f"0x{field.value:x}"
        lit = bool(field.value)
        sure = str(field.certainty)
        return Row(
            (
                (f"{bits_text(field):>7}  ", "muted"),
                (f"{field.name:21} ", "text" if lit else "dim"),
                (f"{number:>4}  ", "now.b" if lit else "dim"),
                (f"{field.value_name}  " if field.value_name else "", "text.b" if lit else "dim"),
                (field.meaning, "text" if lit else "dim"),
            ),
            key=("field", word.name, field.hi, field.lo),
            right=((sure + " ", "muted"),),
        )

    def _masks(self, trap: TrapPicture) -> Iterator[Row]:
        g = self.appearance.glyphs
        yield row((f" {'warp':{MASK_AT - 1}}{0:<32}{32:<30}{63}", "muted"))
        lit = {"VALID": (g.running, "run"), "TRAP": (g.cross, "stop"), "PAUSE": (g.waiting, "now")}
        for label, mask in trap.masks:
            mark, style = lit[label]
            spans: list[Span] = [(f" {label:{MASK_AT - 1}}", "text")]
            for slot in range(SLOTS):
                on = mask >> slot & 1
                mine = "/you-bg" if slot == trap.warp else ""
                spans.append((mark, style + mine) if on else (g.exited, "faint" + mine))
            yield row(*spans, key=("mask", label))

    # ---- for the screen ------------------------------------------------------------------
    def word(self, name: str) -> TrapWord | None:
        """A word by name."""
        if self.view is None or self.view.trap is None:
            return None
        return next((w for w in self.view.trap.words if w.name == name), None)

    def go_to(self, key: Hashable) -> bool:
        """Put the cursor on the row with a key."""
        for at, line in enumerate(self._content.rows):
            if line.key == key:
                self.cursor = at
                self.reveal(at)
                self.redraw()
                return True
        return False

    def next_set(self, by: int) -> None:
        """The next field that is not zero."""
        if self.view is None or self.view.trap is None:
            return
        keys = [
            ("field", w.name, f.hi, f.lo)
            for w in self.view.trap.words
            if self.is_open(w)
            for f in w.fields
            if f.value
        ]
        if not keys:
            return
        here = self.key
        at = keys.index(here) + by if here in keys else 0 if by > 0 else -1
        self.go_to(keys[at % len(keys)])


SAVED_AT = 10
SAVED_WIDTH = 10
"""Where the columns of paused warps begin, and how wide one is."""
SAVED_FROM = 70
"""Columns of the pane from which it shows them."""


def saved_columns(each: Sequence[SavedWarp], width: int) -> Sequence[SavedWarp]:
    """The warps that have a column in so many columns of text; the others are counted."""
    room = max((width - SAVED_AT) // SAVED_WIDTH, 1)
    return each if len(each) <= room else each[: room - 1]


class SavedPane(LinePane):
    """What is saved of the focused warp; where there is room, of all paused ones side by side."""

    number, title, pane = "2", "Saved state", "trapsaved"
    empty = "No warp is left. `r` starts the kernel again."

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """A row a value; in a few rows, two values a row."""
        trap = view.trap
        if trap is None:
            return Content(())
        cells = [
            row(
                (f" {name:8}", "muted"),
                (f"{value:10} " if value else "", "now"),
                (words, "text"),
            )
            for name, value, words in trap.saved
        ]
        right = f"warp {trap.warp}, lane {view.lane}" if trap.warp is not None else ""
        if width >= SAVED_FROM and height > len(cells) + len(ROWS) + 1 and len(trap.each) > 1:
            cells += [Row(), *self._columns(trap, width)]
            right = f"{len(trap.each)} warps in the handler or paused   {right}"
        return Content(cells, right)

    def _columns(self, trap: TrapPicture, width: int) -> Iterator[Row]:
        shown = saved_columns(trap.each, width)
        rest = len(trap.each) - len(shown)
        spans: list[Span] = [(" Warp".ljust(SAVED_AT), "muted")]
        for warp in shown:
            mine = warp.slot == trap.warp
            mark = self.appearance.glyphs.pc if mine else ""
            spans.append((f"{mark}{warp.slot}".ljust(SAVED_WIDTH), "now.b" if mine else "text.b"))
        if rest:
            spans.append((f"{self.appearance.glyphs.cut} {rest} more", "dim"))
        yield row(*spans, key=("saved",))
        first = shown[0].values
        for n, name in enumerate(ROWS):
            spans = [(f" {name}".ljust(SAVED_AT), "muted")]
            for warp in shown:
                # What is as in the first column is quiet: what differs stands out.
                same = warp is not shown[0] and warp.values[n] == first[n]
                style = "dim" if same else "now" if warp.slot == trap.warp else "text"
                spans.append((warp.values[n].ljust(SAVED_WIDTH), style))
            yield row(*spans, key=("saved",))

    def warp_at(self, column: int) -> int | None:
        """The slot whose column a click hit."""
        trap = self.view.trap if self.view is not None else None
        if trap is None or column < SAVED_AT:
            return None
        shown = saved_columns(trap.each, self.size.width)
        at = (column - SAVED_AT) // SAVED_WIDTH
        return shown[at].slot if at < len(shown) else None


class HandlerPane(LinePane):
    """The trap handler's code with the focused warp's pc in it."""

    number, title, pane = "3", "Handler", "traphandler"
    empty = "No trap handler: a trap stops the debugger. `trap handler FILE` installs one."

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """Its instructions from the entry on."""
        trap = view.trap
        if trap is None or trap.entry is None:
            return Content(())
        rows: list[Row] = []
        g = self.appearance.glyphs
        pc = view.pc if trap.inside else None
        for entry in view.code.entries:
            if entry.pc < trap.entry or entry.line is not None or entry.label:
                continue
            code = view.code.code(entry.pc)
            if code is None or len(rows) >= MAX_HANDLER_ROWS:
                break
            here = entry.pc == pc
            guard, name, rest = text_spans(code.text, quiet=not here)
            guard = (f"{guard[0].strip():5}", guard[1])
            spans: list[Span] = [
                (f" {g.pc if here else ' '}", "now"),
                (f"{code.offset:04x} ", "now.b" if here else "muted"),
                guard,
                name,
                *rest,
            ]
            if here and view.next_words:
                spans.append((f"   {view.next_words}", "now"))
            rows.append(row(*spans, key=("pc", entry.pc), tint="now-bg" if here else ""))
        where = trap.handler
        if pc is not None:
            there = view.code.code(pc)
            where = f"{trap.handler}+0x{there.offset:x}" if there is not None else where
        return Content(rows, where if trap.inside else f"{where}, this warp is not in it")

    def rows_changed(self, view: ScreenView) -> None:
        """Follow the pc."""
        self._build(view)
        trap = view.trap
        if trap is None or not trap.inside:
            return
        for at, line in enumerate(self._content.rows):
            if line.key == ("pc", view.pc):
                self.reveal(at, third=True)


class TrapTimelinePane(LinePane):
    """When warps entered and left the trap handler, on one line of ticks, then in words."""

    number, title, pane = "5", "Traps", "traptimeline"
    empty = "No warp has trapped yet."

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """Axis, marks, then what happened, newest first."""
        trap = view.trap
        log = trap.log if trap is not None else ()
        events = [e for e in log if e.kind == "event" and "a step inside" not in e.text]
        if not events:
            return Content(())
        end, g = max(view.tick, 1), self.appearance.glyphs
        room = max(width - 3, 8)
        marks = [g.exited] * room
        for event in events:
            at = min(event.tick * (room - 1) // end, room - 1)
            enters = "enters" in event.text or g.cross == marks[at]
            marks[at] = g.cross if enters else g.point_off if marks[at] == g.exited else marks[at]
        now = f"{view.tick:,}"
        rows = [
            row((f" 0{g.rule * (room - 1 - len(now))}{now}", "muted")),
            row(*((" ", "text"), *((m, "stop" if m == g.cross else "dim") for m in marks))),
        ]
        rows += [
            row((f" {e.tick:>6,}  ", "muted"), (e.text, "text"), key=("log", e.number))
            for e in reversed(events)
        ]
        entries = sum("enters" in e.text for e in events)
        return Content(rows, "1 entry" if entries == 1 else f"{entries} entries")


class PortLogPane(LinePane):
    """The latest port accesses and trap events, newest last."""

    number, title, pane = "4", "Port log", "traplog"
    empty = "Nothing was read or written yet."

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """A row an access."""
        trap = view.trap
        if trap is None:
            return Content(())
        rows = []
        arrows = {"read": "->", "write": "<-", "broadcast": "<="}
        for n, entry in enumerate(trap.log):
            last = n == len(trap.log) - 1
            spans: list[Span] = [(f" {entry.tick:>6,}  ", "now.b" if last else "muted")]
            if entry.kind == "event":
                spans.append((entry.text, "text.b"))
            else:
                spans += [
                    (f"{fit(entry.register or '', 19, self.appearance.glyphs.cut)} ", "text"),
                    (f"{arrows[entry.kind]} ", "muted"),
                    (f"{entry.value:08x} ", "now" if entry.value else "dim"),
                    (entry.text, "muted"),
                ]
            rows.append(row(*spans, key=("log", entry.number)))
        return Content(rows, "port and trap events")

    def rows_changed(self, view: ScreenView) -> None:
        """The newest shows."""
        self.top = 1_000_000
