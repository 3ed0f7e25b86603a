"""Code pane: instructions with control words, source lines, breakpoints and what happens next."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import overload

from gpudbg.debug.pictures import CodeEntry, CodeIndex
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.text import Row, Span, row
from gpudbg.frontends.tui.view import ScreenView
from gpudbg.frontends.tui.widgets.arrows import Jump, draw
from gpudbg.frontends.tui.widgets.base import Content, LinePane

CONTROL_WIDTH = 90
"""Columns from which every instruction shows its control word."""
KEPT_TEXTS = 1024
"""Instructions whose words are kept: a step draws most of what the one before it drew."""
ARROWS, ARROWS_WIDE = 1, 4
"""Branch arrows side by side."""

FLOW = re.compile(
    r"(BRA|BRX|JMP|JMX|JCAL|CAL|RET|EXIT|SSY|SYNC|PBK|BRK|PCNT|CONT|PRET|PLONGJMP|LONGJMP|PEXIT|"
    r"BPT|BAR|RTT|KIL|PRET)\b"
)
MEMORY = re.compile(r"(LD|ST|ATOM|RED|SU|TEX|TLD|TXQ|CCTL|MEMBAR)")
WORDS = re.compile(r"(@!?P[T0-9] )?([A-Z][\w.]*)(.*)")
PUNCTUATION = re.compile(r"([,\[\]]+)")


@lru_cache(KEPT_TEXTS)
def control_words(control: int) -> str:
    """`wait:rd:wr:yield:stall` of a 21-bit control group, `-` where nothing is asked."""
    stall = control & 0xF
    keep = control >> 4 & 1
    write, read = control >> 5 & 7, control >> 8 & 7
    wait = control >> 11 & 0x3F
    waits = "".join(str(i) for i in range(6) if wait >> i & 1)
    shown = waits if len(waits) <= 2 else f"{wait:02x}"
    return ":".join(
        (
            f"{shown or '--':>2}",
            "-" if read == 7 else str(read),
            "-" if write == 7 else str(write),
            "-" if keep else "y",
            f"{stall:02d}",
        )
    )


@lru_cache(KEPT_TEXTS)
def text_spans(text: str, quiet: bool = False) -> tuple[Span, Span, tuple[Span, ...]]:
    """(guard, mnemonic, operands) of an instruction's text, coloured by what it does."""
    found = WORDS.fullmatch(text)
    if found is None:
        return ("     ", "text"), (text, "stop"), ()
    guard, name, rest = found[1] or "", found[2], found[3]
    style = "path-b.b" if FLOW.match(name) else "path-c.b" if MEMORY.match(name) else "text.b"
    parts: list[Span] = []
    for piece in PUNCTUATION.split(rest):
        if piece:
            parts.append((piece, "muted" if PUNCTUATION.fullmatch(piece) else "text"))
    return (f"{guard.strip():>4} ", "path-b"), (name, "dim" if quiet else style), tuple(parts)


def fitting(words: str, room: int, between: str = "  ") -> str:
    """As many of the words about an instruction as there is room for beside it, whole ones.

    Args:
        words: what happens to one register after the other, or what is claimed of its lanes.
        between: what parts them.
    """
    parts = words.split(between)
    while parts and len(between.join(parts)) > room:
        parts.pop()
    return between.join(parts)


class CodeRows(Sequence[Row]):
    """Rows made when they are asked for: a program of any length costs only what is seen."""

    def __init__(
        self, view: ScreenView, appearance: Appearance, width: int, first: int = 0, seen: int = 0
    ) -> None:
        self.view = view
        self.rows: CodeIndex = view.code
        self.appearance = appearance
        self.width = width
        self.wide = width >= CONTROL_WIDTH
        self.points = {pc: p for p in view.points for pc in p.addresses}
        self.live = view.live
        self.arrow_lanes = 0
        self.arrows: dict[int, tuple[Span, ...]] = {}
        if self.live is not None and self.live.branches:
            self.arrow_lanes = ARROWS_WIDE if self.wide else ARROWS
            jumps = [self._jump(*pair) for pair in self._window(first, seen)]
            self.arrows = draw(jumps, first, seen, self.arrow_lanes, appearance.glyphs)
        self.target = view.code.target(view.pc) if view.pc is not None else None

    def _window(self, first: int, seen: int) -> Iterable[tuple[int, int]]:
        """The branches that can be seen, by offset."""
        assert self.live is not None
        entries, base = self.rows.entries, self.view.code.base
        if not entries:
            return ()
        last = min(first + max(seen, 1), len(entries)) - 1
        return self.live.window(entries[first].pc - base, entries[last].pc - base).items()

    def _jump(self, source: int, target: int) -> Jump:
        base = self.view.code.base
        row = self.view.code.row
        return Jump(row(base + source), row(base + target), base + source == self.view.pc)

    def __len__(self) -> int:
        return len(self.rows.entries)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | Sequence[Row]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        entry = self.rows.entries[at]
        if entry.label:
            return row((f"  {entry.label}:", "you"))
        if entry.line is not None:
            return self._source(entry, self.arrows.get(at, ()))
        return self._instruction(entry.pc, self.arrows.get(at, ()))

    def _beside(self, pc: int, arrow: tuple[Span, ...]) -> list[Span]:
        """Branch arrows, then what the row is to the tracked register."""
        if self.live is None:
            return []
        columns = self.arrow_lanes + 1 if self.arrow_lanes else 0
        spans: list[Span] = [*arrow] if arrow else [(" " * columns, "text")]
        if self.view.tracked is not None:
            mark = self.live.mark(pc - self.view.code.base, self.view.tracked) if pc else " "
            spans.append((mark, "path-c.b" if mark in "^vx" else "dim"))
        return spans

    def _source(self, entry: CodeEntry, arrow: tuple[Span, ...]) -> Row:
        assert entry.line is not None
        text = self.rows.source(entry.line)
        indent = " " * (11 if self.wide else 0)
        words = text.rstrip().expandtabs(4) if text else f"{entry.line}"
        through = [(" " if t == self.appearance.glyphs.rule else t, s) for t, s in arrow]
        beside = self._beside(0, tuple(through))
        return row((f"{entry.line.number:6} ", "muted"), *beside, (indent + "  ", "text"),
                   (words, "muted.i"))  # fmt: skip

    def _instruction(self, pc: int, arrow: tuple[Span, ...]) -> Row:
        g = self.appearance.glyphs
        code = self.rows.code(pc)
        if code is None:
            return row((f"  {self.rows.offset(pc):04x}  no code here", "dim"))
        if self.rows.is_foreign(pc):
            arrow = ()
        here = pc == self.view.pc
        point = self.points.get(pc)
        gutter = " " if point is None else g.point if point.enabled else g.point_off
        mark = g.pc if here else g.branch_mark(pc, self.view.pc) if pc == self.target else " "
        spans: list[Span] = [
            (gutter, "stop" if point is None or point.enabled else "muted"),
            (mark, "now.b" if here else "path-b"),
            (self.rows.shown(pc), "now.b" if here else "muted"),
            (" ", "text"),
        ]
        spans += self._beside(pc, arrow)
        if self.wide:
            spans.append((f" {control_words(code.control)} ", "dim"))
        guard, name, rest = text_spans(code.text)
        spans += [guard, name, *rest]
        if code.pair:
            spans.append((f" {code.pair}", "dim"))
        warps = self.view.warps_at
        count = warps.get(pc, 0) or warps.get(self.rows.start(pc), 0)
        right: tuple[Span, ...] = ()
        if here and self.view.next_words:
            words = self.view.next_words
            if g.name == "ascii":
                words = words.replace("→", g.becomes)
            words = fitting(words, self.width - sum(len(text) for text, _ in spans) - 2)
            right = ((words + " ", "now"),) if words else ()
        elif count:
            right = ((f"{count}w", "muted"),)
        if not (here and right):
            right = (*self._claims(pc, sum(len(text) for text, _ in (*spans, *right))), *right)
        return Row(tuple(spans), ("pc", pc), "now-bg" if here else "", None, right)

    def _claims(self, pc: int, taken: int) -> tuple[Span, ...]:
        """What the code says of the lanes of a row's instruction, while that is shown.

        Args:
            taken: columns that the rest of the row needs.
        """
        if self.view.lanes is None or self.rows.is_foreign(pc):
            return ()
        remark = self.view.lanes.remark(pc - self.rows.base)
        words = fitting(remark, self.width - taken - 3, "; ")
        return ((words + " ", "dim"),) if words else ()


class CodePane(LinePane):
    """The program around the focused warp's next instruction."""

    number, title, pane = "1", "Code", "code"

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance)
        self._pc: int | None = None

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """Rows of the whole program, made lazily."""
        wide = width >= CONTROL_WIDTH
        entry = self._entry_line(view)
        right = ("wait:rd:wr:yield:stall   " if wide else "") + entry
        if view.lanes is not None and width >= 70:
            right = f"what lanes have in common   {right}"
        elif view.live is not None and view.tracked is not None and width >= 50:
            right = f"R{view.tracked} ^ set v read : live   " + right
        first = max(0, min(self.top, len(view.code.entries) - height))
        return Content(CodeRows(view, self.appearance, width, first, height), right)

    def _entry_line(self, view: ScreenView) -> str:
        if view.pc is None:
            return view.header.kernel
        line = view.stop_line.partition(":")[0]
        return PurePath(line).name if line else "no line table"

    def rows_changed(self, view: ScreenView) -> None:
        """Follow the pc: the cursor goes with it; scroll only when it leaves the screen."""
        if view.pc is None or view.pc == self._pc:
            return
        self._pc = view.pc
        at = view.code.row(view.pc)
        self.cursor = at
        if self.body:
            self.show_row(at)

    def show_row(self, at: int) -> None:
        """Bring a row into view, with the source line above it, a third down when it was not."""
        bottom = self.top + self.body - (2 if self.body > 4 else 1)
        if not self.top + (1 if self.top else 0) <= at <= bottom - 1:
            self.top = max(0, at - self.body // 3)

    def go_to(self, at: int) -> None:
        """Move the cursor to a row and show it."""
        self.cursor = at
        self.show_row(at)
        self.redraw()
