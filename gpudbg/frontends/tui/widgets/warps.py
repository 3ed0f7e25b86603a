"""Warp x lane matrix of the focused SM; equal warps fold into one row while rows are short."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import lru_cache

from gpudbg.dataclass import dataclass
from gpudbg.debug import WarpRow
from gpudbg.frontends.tui.glyphs import SETS, Glyphs
from gpudbg.frontends.tui.text import Row, Span, row
from gpudbg.frontends.tui.view import ScreenView
from gpudbg.frontends.tui.widgets.base import Content, LinePane
from gpudbg.frontends.tui.widgets.lane_axis import PATH_ROLES, Axis, grounded, join

TROUBLE = ("error", "trap")


@dataclass(frozen=True, slots=True)
class WarpGroup:
    """Warps shown as one row: their slots and the first one's row."""

    rows: tuple[WarpRow, ...]

    @property
    def first(self) -> WarpRow:
        """The row that stands for all."""
        return self.rows[0]


def rank(w: WarpRow, focus: WarpRow | None) -> tuple[int, int]:
    """Order of the list: the focus, trouble, the focus's CTA, the rest, what has ended."""
    if focus is not None and (w.sm, w.slot) == (focus.sm, focus.slot):
        return (0, w.slot)
    if w.state in TROUBLE or w.faulty:
        return (1, w.slot)
    if w.state == "exited":
        return (5, w.slot)
    if focus is not None and w.block == focus.block:
        return (2, w.slot)
    return (3 if w.executed else 4, w.slot)


def groups(view: ScreenView, height: int) -> list[WarpGroup]:
    """Rows of the focused SM's warps, folded from the end until they fit in `height`."""
    focus = view.focus_row
    chosen = [w for w in view.warps if w.sm == view.sm]
    if view.where:
        chosen = [w for w in chosen if (w.sm, w.slot) in view.matching]
    mine = sorted(chosen, key=lambda w: rank(w, focus))
    single = [WarpGroup((w,)) for w in mine]
    if len(single) <= height:
        return single
    folded: list[WarpGroup] = []
    for g in single:
        if folded and rank(g.first, focus)[0] > 1 and _same(folded[-1].rows[-1], g.first, focus):
            folded[-1] = WarpGroup((*folded[-1].rows, g.first))
        else:
            folded.append(g)
    return _open(folded, height)


def _same(a: WarpRow, b: WarpRow, focus: WarpRow | None) -> bool:
    return rank(a, focus)[0] > 1 and a.slot + 1 == b.slot and _appearances(a) == _appearances(b)


def _appearances(w: WarpRow) -> tuple[object, ...]:
    return (w.pc, w.state, w.active, w.exited, w.valid, bool(w.executed))


def _open(folded: list[WarpGroup], height: int) -> list[WarpGroup]:
    """Open groups from the top while rows are free."""
    out: list[WarpGroup] = []
    free = height - len(folded)
    for g in folded:
        if 0 < len(g.rows) - 1 <= free:
            free -= len(g.rows) - 1
            out += [WarpGroup((w,)) for w in g.rows]
        else:
            out.append(g)
    return out


def lane_spans(w: WarpRow, view: ScreenView, axis: Axis, glyphs: Glyphs) -> tuple[Span, ...]:
    """32 lanes of a warp: height is liveness; on the focused warp, letters name paths."""
    focus = view.focus_row
    mine = focus is not None and (w.sm, w.slot) == (focus.sm, focus.slot)
    begun = mine or bool(w.executed) or w.state != "ready"
    letters = view.letters if mine else ""
    masks = (w.valid, w.faulty, w.exited, w.active if begun else 0)
    waits = w.state == "barrier"
    return _lane_spans(masks, begun, waits, view.lane, letters, axis.cell, glyphs.name)


@lru_cache(1024)
def _lane_spans(
    masks: tuple[int, int, int, int], begun: bool, waits: bool, focus: int, letters: str,
    cell: int, glyphs_name: str,
) -> tuple[Span, ...]:  # fmt: skip
    """`masks` are the valid, faulty, exited and active lanes; the focused warp has `letters`."""
    glyphs = SETS[glyphs_name]
    valid, faulty, exited, active = masks
    cells: list[Span] = []
    for lane in range(32):
        bit = 1 << lane
        if not valid & bit:
            mark, style = glyphs.never, "faint"
        elif faulty & bit:
            mark, style = glyphs.cross, "bg/stop"
        elif exited & bit:
            mark, style = glyphs.exited, "dim"
        elif not begun:
            mark, style = glyphs.parked, "dim"
        elif active & bit:
            mark = glyphs.waiting if waits else glyphs.running
            style = "muted" if waits else "run" if letters else "run-quiet"
            if letters and lane == focus:
                style = "you/lane-band"
        elif letters and letters[lane] not in " a":
            mark, style = letters[lane], PATH_ROLES.get(letters[lane], "muted")
        else:
            mark, style = glyphs.parked, "path-b"
        text = mark * cell if not mark.isalpha() or mark in "Xrw" else mark.ljust(cell)
        cells.append((text, grounded(style, lane, focus)))
    return join(cells)


def state_words(w: WarpRow) -> str:
    """The words at the right: lanes that run, or why none does."""
    if w.state == "exited":
        return "done"
    if w.faulty or w.state == "error":
        return "fault"
    if w.state == "trap":
        return "trap"
    if w.state == "barrier":
        return f"bar {w.barrier} {w.arrived}/{w.expected}"
    if not w.executed:
        count = w.valid.bit_count()
        return "not begun" if count == 32 else f"{count} lanes"
    return f"{w.active.bit_count()}/{(w.valid & ~w.exited).bit_count()}"


def warp_line(group: WarpGroup, view: ScreenView, axis: Axis, glyphs: Glyphs) -> Row:
    """One row: mark, slots, how many, pc, 32 lanes, words."""
    w = group.first
    focus = view.focus_row
    mine = focus is not None and (w.sm, w.slot) == (focus.sm, focus.slot)
    trouble = w.state in TROUBLE or bool(w.faulty)
    mark = glyphs.pc if mine else glyphs.cross if trouble else " "
    if not mine and not trouble and w.state == "barrier":
        mark = glyphs.barrier
    style = "now" if mine and not trouble else "stop" if trouble else "text"
    last = group.rows[-1].slot
    name = f"{w.slot}-{last}" if len(group.rows) > 1 else str(w.slot)
    many = f"x{len(group.rows)}" if len(group.rows) > 1 else ""
    offset = view.code.shown(view.code.base + w.offset)
    pad = 16 - 1 - len(name) - len(offset) - 1
    label = name + many.rjust(pad - 1 if pad > len(many) else len(many)).rjust(pad) + offset
    quiet = "muted" if style == "text" else style
    return row(
        (mark, style),
        (name, style + (".b" if mine else "")),
        (label[len(name) : -len(offset)], "muted"),
        (offset, quiet),
        (" ", "text"),
        *lane_spans(w, view, axis, glyphs),
        (" " + state_words(w), "stop" if trouble else "now" if mine else "muted"),
        key=("warp", w.sm, w.slot),
        lanes=(axis.start, axis.cell),
    )


def why_words(w: WarpRow) -> str:
    """Why a warp does not run, in a sentence; what it does otherwise."""
    if w.why:
        return f"warp {w.slot}: {w.why}"
    if not w.executed:
        return f"warp {w.slot} has not begun"
    return f"warp {w.slot} runs at {w.where}, {w.executed:,} instructions"


class WarpsPane(LinePane):
    """All warps of the SM."""

    number, title, pane = "2", "Warps", "warps"
    empty = "No warp is resident. `r` starts the kernel again."

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """Groups of warps; with the pane focused, why the warp under the cursor waits."""
        axis = self.axis
        if view.where:
            # The condition has the last row.
            height -= 1
        found = groups(view, height)
        rows = [warp_line(g, view, axis, self.appearance.glyphs) for g in found]
        if self.has_focus and height > 2:
            rows = self._with_reason(rows, found, height)
        count = sum(1 for w in view.warps if w.sm == view.sm)
        if view.where:
            shown = sum(len(g.rows) for g in found)
            rows = rows or [row((" No warp. `/` and Enter show all of them.", "muted"))]
            words = (f" where {view.where}", "you")
            return Content([*rows[:height], row(words)], f"{shown} of {count}", lanes=True)
        sms = f" in SM {view.sm}" if view.snapshot.num_sms > 1 else " warps"
        return Content(rows, f"{count}{sms}", lanes=True)

    def _with_reason(self, rows: list[Row], found: Sequence[WarpGroup], height: int) -> list[Row]:
        at = min(self.cursor or 0, len(found) - 1)
        if at < 0:
            return rows
        lines = textwrap.wrap(why_words(found[at].first), max(self.size.width - 2, 20))[:2]
        reason = [row((f" {line}", "you")) for line in lines]
        return [*rows[: height - len(reason)], *reason]
