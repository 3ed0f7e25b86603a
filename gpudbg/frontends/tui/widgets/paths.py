"""Paths pane: the divergence stack drawn as which lanes run and where the others wait."""

from __future__ import annotations

from gpudbg.debug import Path
from gpudbg.frontends.tui.glyphs import Glyphs
from gpudbg.frontends.tui.text import Row, Span, row
from gpudbg.frontends.tui.view import ScreenView
from gpudbg.frontends.tui.widgets.base import Content, LinePane
from gpudbg.frontends.tui.widgets.lane_axis import PATH_ROLES, Axis, grounded, join


def path_role(letter: str) -> str:
    """The colour of a path; beyond d the letter alone names it."""
    return PATH_ROLES.get(letter, "muted")


def path_spans(path: Path, view: ScreenView, axis: Axis, glyphs: Glyphs) -> tuple[Span, ...]:
    """The path's lanes: running high, parked low, the others dots."""
    focus = view.focus_row
    live = focus.valid if focus is not None else 0
    waits = focus is not None and focus.state == "barrier"
    cells: list[Span] = []
    for lane in range(32):
        bit = 1 << lane
        if path.mask & bit:
            mark = glyphs.waiting if waits else glyphs.running
            mark = mark if path.level < 0 else glyphs.parked
            style = path_role(path.letter)
            if lane == view.lane:
                style = "you/lane-band"
            cells.append((mark * axis.cell, style))
        else:
            mark = glyphs.exited if live & bit else glyphs.never
            cells.append((mark.ljust(axis.cell), grounded("faint", lane, view.lane)))
    return join(cells)


def path_line(path: Path, depth: int, view: ScreenView, axis: Axis, glyphs: Glyphs) -> Row:
    """`b └ 0190 SSY  ..__....  8 joined`"""
    role = path_role(path.letter)
    if path.level < 0:
        label: list[Span] = [
            (f" {path.letter} ", role + ".b"),
            (f"{glyphs.pc} {view.code.shown(view.code.base + path.offset)}", "now"),
        ]
    else:
        indent = " " * min(depth - 1, 2)
        label = [
            (f" {path.letter} ", role + (".b" if path.mask else "")),
            (indent + glyphs.tree + " ", "faint"),
            (view.code.shown(view.code.base + path.offset), "text" if path.mask else "dim"),
            (f" {path.label}" if path.label else "", "muted"),
        ]
    used = sum(len(t) for t, _ in label)
    label.append((" " * max(axis.start - used, 0), "text"))
    words = path.words
    if path.level >= 0 and view.live is not None and axis.cell > 1:
        # Where there is room: the instruction that pushed it.
        pushers = view.live.pushers(path.kind, path.offset)
        words += f" by {pushers[0]:04x}" if len(pushers) == 1 else ""
    return row(
        *label,
        *path_spans(path, view, axis, glyphs),
        (" " + words, "now" if path.level < 0 else "muted" if path.mask else "dim"),
        key=("path", path.level, path.offset),
        lanes=(axis.start, axis.cell),
    )


class PathsPane(LinePane):
    """Paths of the focused warp."""

    number, title, pane = "3", "Paths", "paths"
    empty = "No warp has the focus."

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """Running path, then the stack, innermost first."""
        axis = self.axis
        shown = list(enumerate(view.paths))
        spare = len(shown) - height
        if spare > 0:
            # Tokens that nobody waits at go first when rows are short.
            idle = [n for n, p in shown if not p.mask][::-1][: spare + 1]
            shown = [(n, p) for n, p in shown if n not in idle]
            rows = [path_line(p, n, view, axis, self.appearance.glyphs) for n, p in shown]
            if idle:
                rows.append(
                    row((f" {self.appearance.glyphs.cut} {len(idle)} with nobody yet", "dim"))
                )
        else:
            rows = [path_line(p, n, view, axis, self.appearance.glyphs) for n, p in shown]
        focus = view.focus_row
        return Content(rows, f"of warp {focus.slot}" if focus else "", lanes=True)
