"""Small lists: stops, watches, output buffers, breakpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from gpudbg.debug.breakpoints import BreakpointRow
from gpudbg.debug.pictures import CodeIndex, LaneRow, OutputRow
from gpudbg.debug.stops import BreakpointStop, ExitStop, Stop, name_of
from gpudbg.debug.views import number_text
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.glyphs import Glyphs
from gpudbg.frontends.tui.stop_words import single_step
from gpudbg.frontends.tui.text import Row, Span, row
from gpudbg.frontends.tui.view import ScreenView
from gpudbg.frontends.tui.widgets.base import Content, LinePane
from gpudbg.frontends.tui.widgets.registers import named_lines, opened


def stop_line(stop: Stop, code: CodeIndex, number: int, last: bool, glyphs: Glyphs) -> Row:
    """`  4,812 ● Breakpoint 2   w13  0168`"""
    name = name_of(stop)
    if stop.breakpoints and not stop.errors:
        name += f" {stop.breakpoints[0]}"
    style = "stop" if stop.failed else "now" if last else "text"
    role = "stop" if stop.failed or isinstance(stop, BreakpointStop) else "muted"
    where = code.place(code.base + stop.pc) if stop.pc is not None else ""
    who = f"w{stop.warp}" if stop.warp is not None else ""
    return row(
        (f"{stop.instructions:>10,} ", "now" if last else "muted"),
        (f"{_mark(stop, glyphs)} ", role),
        (f"{name:20} ", style),
        (f"{who:5}", "muted"),
        (where, "muted"),
        key=("stop", number),
    )


def _mark(stop: Stop, glyphs: Glyphs) -> str:
    if stop.failed:
        return glyphs.cross
    if isinstance(stop, BreakpointStop):
        return glyphs.point
    return glyphs.done if isinstance(stop, ExitStop) else glyphs.pc


class StopsPane(LinePane):
    """Earlier stops, newest first."""

    number, title, pane = "7", "Stops", "stops"

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """One row a stop; runs of single steps fold into one."""
        rows: list[Row] = []
        steps = 0
        for n in range(len(view.stops) - 1, -1, -1):
            stop = view.stops[n]
            number = view.stops_before + n
            last = number == (view.past_stop if view.past is not None else view.stop_number)
            plain = single_step(stop) and not last
            if plain:
                steps += 1
                continue
            rows += self._folded(steps)
            steps = 0
            rows.append(stop_line(stop, view.code, number, last, self.appearance.glyphs))
        return Content([*rows, *self._folded(steps)], f"{len(view.stops)}")

    def _folded(self, steps: int) -> list[Row]:
        if not steps:
            return []
        return [row((f"{'':11}  {steps} step{'s' if steps > 1 else ''}", "dim"))]


class WatchPane(LinePane):
    """Expressions across the lanes of the focused warp."""

    number, title, pane = "8", "Watch", "watch"
    empty = "No expressions yet. `a` adds one: R4, threadIdx.x*4, shared[3]"

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance)
        self.chosen: dict[str, bool] = {}

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """One row an expression; opened ones, and while rows are free all that differ, show 32
        values."""
        rows: list[Row] = []
        free = 5 * len(view.watches) <= height
        for value in view.watches:
            rows += named_lines(value, view, self.axis, self.appearance.glyphs, width)
            if is_open(value, self.chosen, free):
                rows += opened(value, view, self.axis, self.appearance.glyphs)
        return Content(rows, "a adds" if rows else "", lanes=bool(rows))

    def toggle(self, name: str) -> None:
        """Open or close an expression's values."""
        if self.view is not None:
            free = 5 * len(self.view.watches) <= self.body
            turn(self.chosen, name, self.view.watches, free)
        self.redraw()


def is_open(value: LaneRow, chosen: Mapping[str, bool], free: bool) -> bool:
    """Whether the 32 values of an expression show: as chosen, else while rows are free, where
    they are not all the same."""
    return bool(value.cells) and chosen.get(value.name, free and not value.shape.flat)


def turn(chosen: dict[str, bool], name: str, values: Sequence[LaneRow], free: bool) -> None:
    """Open an expression that is closed, close one that is open."""
    for value in values:
        if value.name == name:
            chosen[name] = not is_open(value, chosen, free)


def plot(means: Sequence[float], glyphs: Glyphs) -> list[Span]:
    """The parts of a buffer as bars; a cross where one has a value that is no finite number."""
    good = [m for m in means if m == m]
    low, high = min(good, default=0.0), max(good, default=0.0)
    out: list[Span] = []
    for mean in means:
        if mean != mean:
            out.append((glyphs.cross, "stop"))
            continue
        # Halves, so that no range of doubles overflows.
        height = (mean / 2 - low / 2) / (high / 2 - low / 2) if high > low else 0.0
        out.append((glyphs.bars[round(height * (len(glyphs.bars) - 1))], "path-c"))
    return out


def thinned(means: Sequence[float], room: int) -> list[float]:
    """The same parts in at most `room`: neighbours together, NaN where one of them is."""
    count = min(room, len(means))
    edges = [len(means) * n // count for n in range(count + 1)] if count else [0]
    groups = [means[a:b] for a, b in pairwise(edges)]
    return [sum(v / len(group) for v in group) for group in groups]


def output_rows(out: OutputRow, width: int, glyphs: Glyphs, more: bool) -> list[Row]:
    """A buffer: name and shape, a plot, its first values."""
    style = "text.b" if out.marked else "text"
    head: list[Span] = [(f" {out.name:8} ", style), (f"{out.dtype}[{out.count:,}]", "muted")]
    if out.changed:
        head.append((f"  {glyphs.changed}{out.changed:,} changed", "now"))
    if out.strange:
        head.append((f"  {out.strange}", "stop"))
    if out.unwritten:
        head.append((f"  {out.unwritten}", "dim"))
    room = width - sum(len(t) for t, _ in head) - 18
    if out.count > 4 and room > 8:
        head += [("  ", "path-c"), *plot(thinned(out.means, room), glyphs)]
    key = ("buffer", out.name, out.address)
    rows = [Row(tuple(head), key, right=((f"0x{out.address:x}", "dim"),))]
    blank = 2 * glyphs.unwritten
    shown = [
        blank if n in out.never else number_text(v)
        for n, v in enumerate(out.values[: 8 * (8 if more else 2)])
    ]
    cell = max((len(t) for t in shown), default=1) + 1
    per = max(min((width - 10) // cell, 8), 1)
    lines = 8 if more else 1
    for n in range(0, min(len(shown), per * lines), per):
        cells = [(t.rjust(cell), "dim" if t == blank else "text") for t in shown[n : n + per]]
        tail = f" {glyphs.cut}" if n + per < out.count and n // per == lines - 1 else ""
        rows.append(row((f"  {n:5} ", "dim"), *cells, (tail, "text"), key=None))
    return rows


class OutputPane(LinePane):
    """Buffers of the launch, outputs first."""

    number, title, pane = "9", "Output", "output"
    empty = "No buffers yet. A launch makes them."

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """Changed buffers first, then marked ones; the first shows more where rows are free."""
        rows: list[Row] = []
        room = height - 2 * max(len(view.outputs) - 1, 0)
        for n, out in enumerate(sorted(view.outputs, key=lambda out: not out.changed)):
            rows += output_rows(out, width, self.appearance.glyphs, more=n == 0 and room > 9)
        done = view.snapshot.ctas_done
        return Content(rows, f"{done:,} of {view.snapshot.ctas_total:,} CTAs done")


def point_line(point: BreakpointRow, glyphs: Glyphs) -> Row:
    """`● 2  tour.cu:19  if $R4 > 3  3 hits`"""
    mark = glyphs.point if point.enabled else glyphs.point_off
    words = f"{point.hits} hit{'s' if point.hits != 1 else ''}"
    if point.ignore:
        words += f", next {point.ignore} pass"
    if not point.enabled:
        words += ", off"
    return row(
        (f" {mark} ", "stop" if point.enabled else "muted"),
        (f"{point.number:<3}", "text.b"),
        (point.title, "text"),
        (f"  if {point.condition}" if point.condition else "", "path-c"),
        ("  once" if point.temporary else "", "muted"),
        ("  " + words, "muted"),
        key=("point", point.number),
    )


class MarksPane(LinePane):
    """Breakpoints."""

    number, title, pane = "0", "Marks", "marks"
    empty = "No breakpoints. `b` sets one at the cursor's row of Code."

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """One row a breakpoint."""
        rows = [point_line(p, self.appearance.glyphs) for p in view.points]
        words = "on off by E, Del deletes" if rows else ""
        return Content(rows, words)
