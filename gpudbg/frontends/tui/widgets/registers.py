"""Register pane: every value as 32 bars and a word; and the small Lanes pane of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import lru_cache

from gpudbg.debug.pictures import LaneRow, register_text
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.glyphs import SETS, Glyphs
from gpudbg.frontends.tui.text import Row, Span, fit, row
from gpudbg.frontends.tui.view import ScreenView
from gpudbg.frontends.tui.widgets.base import Content, LinePane
from gpudbg.frontends.tui.widgets.lane_axis import Axis, bar_spans
from gpudbg.frontends.tui.widgets.warps import WarpGroup, warp_line

VALUE_WIDTH = 10
"""Columns of the focused lane's value before the bars."""

SHORT = {"SR_TID.X": "TID.X", "SR_TID.Y": "TID.Y", "SR_TID.Z": "TID.Z"}


def lane_line(value: LaneRow, view: ScreenView, axis: Axis, glyphs: Glyphs) -> Row:
    """`~R4  00000008   6666…  2..60  × 12`"""
    return _lane_line(value, view.lane, *view.masks, axis, glyphs.name)


@lru_cache(1024)
def _lane_line(
    value: LaneRow, lane: int, active: int, live: int, axis: Axis, glyphs_name: str
) -> Row:
    """Between two stops hardly any register changes."""
    glyphs = SETS[glyphs_name]
    changed = bool(value.changed)
    mark = glyphs.changed if changed else " "
    name = value.name.removeprefix("SR_")
    style = "now" if changed else "dim" if value.zero else "text"
    text = value.focus_text
    if len(text) > VALUE_WIDTH:
        text = text[: VALUE_WIDTH - 1] + glyphs.cut
    room = axis.start - 1 - 1
    width = max(room - len(name) - 1, 1)
    head: list[Span] = [
        (mark, "now"),
        (name.ljust(4)[:room], "now.b" if changed else "muted" if value.zero else "text"),
    ]
    used = 1 + max(len(name), 4)
    text = text if len(text) <= width else text[: width - 1] + glyphs.cut
    before = max(axis.start - 3 - used - len(text), 1)
    head += [
        (" " * before, "text"),
        (text, style),
        (" " * max(axis.start - used - before - len(text), 0), "text"),
    ]
    words = value.shape.words if value.valid else value.why or "no value"
    if glyphs.name == "ascii":
        words = words.replace("×", glyphs.cross).replace("·", "*")
    if not value.valid:
        return row(*head, (words, "muted"), key=(value.section, value.name))
    return row(
        *head,
        *bar_spans(value, lane, active, live, axis, glyphs),
        (" " + words, "now" if changed else "muted"),
        key=(value.section, value.name),
        lanes=(axis.start, axis.cell),
    )


def named_lines(
    value: LaneRow, view: ScreenView, axis: Axis, glyphs: Glyphs, width: int
) -> list[Row]:
    """`lane_line`; a name or value that its label has no room for stands above, all of it, and
    needs no bars below where it is the same in all lanes."""
    text, key = value.focus_text, (value.section, value.name)
    if not value.valid and len(value.name) >= axis.start - 14:
        return [row((f" {value.name}  ", "text"), (value.why or "no value", "muted"), key=key)]
    wide = len(text) > VALUE_WIDTH
    if wide and value.shape.flat and value.valid:
        head = f" {value.name}  "
        style = "now.b" if value.changed else "text"
        words = f"  {value.shape.words}"
        shown = fit(text, max(width - len(head) - len(words), 8), glyphs.cut).rstrip()
        return [row((head, style), (shown, "text"), (words, "muted"), key=key)]
    room = axis.start - 3 - max(len(text[:VALUE_WIDTH]), 4) - 1
    if len(value.name) <= room and not wide:
        return [lane_line(value, view, axis, glyphs)]
    below = replace(value, name="", focus_text="" if wide else text)
    above = replace(value, name=f"{value.name}  {text}") if wide else value
    return [
        *name_rows(above, width, key),
        lane_line(below, view, axis, glyphs)._replace(key=key),
    ]


def name_rows(value: LaneRow, width: int, key: Hashable) -> list[Row]:
    """A long name over as many rows as it takes."""
    style = "now.b" if value.changed else "text"
    parts = textwrap.wrap(value.name, max(width - 2, 8), break_on_hyphens=False) or [""]
    return [row((f" {part}", style), key=key) for part in parts]


def opened(value: LaneRow, view: ScreenView, axis: Axis, glyphs: Glyphs) -> list[Row]:
    """The 32 values under their bars, eight a row where they fit; parked lanes dim."""
    focus = view.focus_row
    active = focus.active if focus is not None else 0
    out = []
    room = axis.width + 12
    widest = max((len(text) for text in value.cells), default=1)
    per = next((n for n in (8, 4) if room // n > widest + 1), 2)
    cell = max(room // per, 6)
    for line in range(32 // per):
        first = line * per
        spans: list[Span] = [
            (f" {glyphs.open if not line else ' '} {'lanes' if not line else '':8}", "you"),
            (f"{first:3}  ", "dim"),
        ]
        for lane in range(first, first + per):
            text = value.cells[lane] if lane < len(value.cells) else "-"
            text = text if len(text) < cell else text[: cell - 2] + glyphs.cut
            bit = 1 << lane
            style = "you.b" if lane == view.lane else "text" if active & bit else "dim"
            if value.shape.odd & bit:
                style = "stop.b"
            elif value.changed & bit and lane != view.lane:
                style = "now"
            spans.append((text.rjust(cell - 1) + " ", style))
        out.append(row(*spans, key=("cells", value.name, line)))
    return out


def one_lane(view: ScreenView, width: int, glyphs: Glyphs) -> list[Row]:
    """The focused lane's registers: hex, signed, float, and even ones with the next as 64 bits."""
    detail = view.snapshot.detail
    if detail is None:
        return []
    names = {v.name: v for v in view.registers}
    out = [row((f"      {'hex':8} {'signed':>11} {'float':>12}  64 bits", "dim"))]
    values = [int(r[view.lane]) for r in detail.registers]
    for n, bits in enumerate(values):
        value = names.get(f"R{n}")
        if value is None or value.why:
            continue
        changed = bool(value.changed >> view.lane & 1)
        style = "now" if changed else "text" if bits else "dim"
        pair = ""
        if n % 2 == 0 and n + 1 < len(values):
            pair = f"R{n}:R{n + 1} {values[n + 1] << 32 | bits:016x}"
        out.append(
            row(
                (glyphs.changed if changed else " ", "now"),
                (f"R{n:<3} ", "now.b" if changed else "text"),
                (f"{register_text(bits, 'x')} ", style),
                (f"{register_text(bits, 'd'):>11} {register_text(bits, 'f'):>12}  ", style),
                (pair, "muted"),
                key=("register", f"R{n}"),
            )
        )
    idle = [v.name for v in view.registers if v.why]
    if idle:
        out.append(row((f" {', '.join(ranges(idle))}  never written", "dim")))
    for value in view.registers:
        if value.section != "register" and not value.zero:
            out.append(row((f" {value.name:4} {value.focus_text}", "text")))
    return out


def ranges(names: list[str]) -> list[str]:
    """`R8-R15`, `P1-P6`, `CC` of names in order; the condition code's flags are one."""
    out: list[list[str]] = []
    for name in names:
        file, number = _parts(name)
        if (out and (file, number - 1) == _parts(out[-1][-1])) or (
            out and file == out[-1][0] == "CC"
        ):
            out[-1].append(name)
        else:
            out.append([name if number >= 0 else file])
    return [n[0] if len(n) == 1 or n[0] == "CC" else f"{n[0]}-{n[-1]}" for n in out]


def _parts(name: str) -> tuple[str, int]:
    """(R, 8) of R8; flags have no number."""
    file = name.partition(".")[0].rstrip("0123456789")
    digits = name[len(file) :]
    return file, int(digits) if digits.isdecimal() else -9


NEVER_WRITTEN = ("register", "predicate", "flag", "uniform", "uniform predicate")
"""Sections whose neighbours share a row while nothing has written them."""


class RegistersPane(LinePane):
    """Registers, predicates and flags of the focused warp; then special registers."""

    number, title, pane = "4", "Registers", "registers"
    empty = "Nothing runs. `r` starts the kernel again."

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance)
        self.open: set[str] = set()
        self.single = False

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """One row a value, opened ones with four more; zero rows fold away when short of room."""
        axis = self.axis
        if self.single:
            rows = one_lane(view, width, self.appearance.glyphs)
            return Content(rows, f"of lane {view.lane}")
        every = [*view.registers, *view.specials]
        rows = self._rows(every, view, axis)
        # Opened rows do not count: opening one folds nothing.
        plain = sum(1 for r in rows if not (isinstance(r.key, tuple) and r.key[0] == "cells"))
        quiet = () if "zero" in self.open or plain <= height else self._quiet(view)
        if quiet:
            folded = {v.name for v in quiet}
            rows = [r for r in rows if not (isinstance(r.key, tuple) and r.key[1] in folded)]
            rows.append(row((f" {len(quiet)} more, all 0 or false", "dim"), key=("fold", "zero")))
        focus = view.focus_row
        return Content(rows, f"of warp {focus.slot}" if focus else "", lanes=True)

    def _rows(self, shown: Sequence[LaneRow], view: ScreenView, axis: Axis) -> list[Row]:
        rows: list[Row] = []
        idle: list[str] = []
        for value in shown:
            if value.why and value.section in NEVER_WRITTEN:
                idle.append(value.name)
                continue
            self._never(rows, idle, axis)
            rows.append(lane_line(value, view, axis, self.appearance.glyphs))
            if value.name in self.open and value.cells:
                rows += opened(value, view, axis, self.appearance.glyphs)
        self._never(rows, idle, axis)
        return rows

    def _never(self, rows: list[Row], idle: list[str], axis: Axis) -> None:
        """One row for neighbours that nothing has written."""
        for name in ranges(idle):
            words = " " * max(axis.start - len(name) - 1, 1) + "never written"
            rows.append(row((f" {name}", "muted"), (words, "dim"), key=("never", name)))
        idle.clear()

    def _quiet(self, view: ScreenView) -> tuple[LaneRow, ...]:
        """Predicates and flags that say nothing: folded when rows are short."""
        return tuple(
            v
            for v in view.registers
            if v.zero and not v.changed and v.name not in view.operands and v.section != "register"
        )

    def toggle(self, name: str) -> None:
        """Open or close a row's 32 values."""
        self.open ^= {name}
        self.redraw()


class LanesPane(LinePane):
    """80 columns: the focus warp's lanes, then registers that changed or are operands here."""

    number, title, pane = "2", "Lanes", "lanes"
    empty = "Nothing runs. `r` starts the kernel again."

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """Mask row, then values by interest."""
        axis, g = self.axis, self.appearance.glyphs
        focus = view.focus_row
        if focus is None:
            return Content((), "")
        rows = [warp_line(WarpGroup((focus,)), view, axis, g)]
        rows += [lane_line(v, view, axis, g) for v in interesting(view)]
        parked = sum(1 for p in view.paths if p.mask)
        return Content(
            rows, f"warp {focus.slot}  {parked} path{'s' if parked != 1 else ''}", lanes=True
        )


def interesting(view: ScreenView) -> list[LaneRow]:
    """Values by interest: changed, read by the next instruction, not flat, the rest."""

    def order(v: LaneRow) -> tuple[int, int]:
        if v.changed:
            return (0, 0)
        if v.name in view.operands:
            return (1, 0)
        if v.zero:
            return (4, 0)
        return (3 if v.shape.flat else 2, 0)

    return sorted(view.registers, key=order)
