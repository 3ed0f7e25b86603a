"""The history screen's other panes: stops, what changed, code and paths as they were."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from gpudbg.debug.pictures import ChangesPicture, TickChange
from gpudbg.debug.trace import first_stop
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.stop_words import single_step
from gpudbg.frontends.tui.text import Row, Span, row
from gpudbg.frontends.tui.view import ScreenView
from gpudbg.frontends.tui.widgets.base import Content, LinePane
from gpudbg.frontends.tui.widgets.chrome import StopLine
from gpudbg.frontends.tui.widgets.code import CodePane, text_spans
from gpudbg.frontends.tui.widgets.lists import stop_line
from gpudbg.frontends.tui.widgets.paths import PathsPane

if TYPE_CHECKING:
    from gpudbg.debug.pictures import TimelinePicture

FOLD = 3
"""Single steps in a row that are folded into one."""


class PastLine(StopLine):
    """The stop line, with the cursor's tick while that is in the past."""

    tick: int | None = None

    def build(self, view: ScreenView, width: int) -> Row:
        """`◄ In the past  tick 4,812 of 5,730   918 ticks before now`"""
        if self.running is not None or self.tick is None or view.past is None:
            return super().build(view, width)
        away, side = abs(view.past - self.tick), "before" if self.tick <= view.past else "after"
        name = "In the past" if side == "before" else "Ahead of the machine"
        left: list[Span] = [
            (f" {self.appearance.glyphs.past} {name}", "you.b"),
            (f"  tick {self.tick:,} of {max(view.past, view.end):,}", "text"),
            (f"   {away:,} ticks {side} now", "muted"),
        ]
        who = self._who(view, width)
        if sum(len(t) for t, _ in (*left, *who)) >= width:
            # As on a narrow screen; then without the unit.
            who = self._who(view, 0)
        if sum(len(t) for t, _ in (*left, *who)) >= width:
            left[-1] = (f"   {away:,} {side}", "muted")
        room = width - sum(len(t) for t, _ in (*left, *who)) - 2
        if len(view.stop_title) + 3 <= room:
            left.append((f"   {view.stop_title}", "text.b"))
        return Row(tuple(left), tint="you-bg", right=tuple(who))


class PastStopsPane(LinePane):
    """Stops of this launch and bookmarks, oldest first."""

    number, title, pane = "2", "Stops", "paststops"

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance)
        self.picture: TimelinePicture | None = None
        self.kept: frozenset[int] = frozenset()

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """One row a stop; long runs of single steps fold into one."""
        shown = self._shown(view)
        first = first_stop(view.stops)
        items: list[tuple[int, int, Row]] = []
        steps: list[tuple[int, int, Row]] = []

        def fold() -> None:
            if len(steps) > FOLD:
                words = f"{'':11}  {len(steps)} steps"
                items.append((*steps[0][:2], row((words, "dim"))))
            else:
                items.extend(steps)
            steps.clear()

        for n, stop in enumerate(view.stops[first:], view.stops_before + first):
            line = stop_line(stop, view.code, n, n == shown, self.appearance.glyphs)
            if n not in self.kept:
                line = Row(tuple((t, "dim") for t, _ in line.spans), line.key)
            if single_step(stop) and n != shown:
                steps.append((stop.instructions, n, line))
                continue
            fold()
            items.append((stop.instructions, n, line))
        fold()
        items += [(tick, -1, line) for tick, line in self._marks()]
        rows = [line for _, _, line in sorted(items, key=lambda i: i[:2])]
        count = len(view.stops) - first
        older = f"{first + view.stops_before} of earlier launches   " if first else ""
        return Content(rows, f"{older}{count}")

    def _shown(self, view: ScreenView) -> int:
        return view.past_stop if view.past is not None else view.stop_number

    def _marks(self) -> list[tuple[int, Row]]:
        g, out = self.appearance.glyphs, []
        for event in self.picture.events if self.picture is not None else ():
            if event.kind == "stop":
                continue
            mark, style = (g.bookmark, "you") if event.kind == "bookmark" else (g.cross, "stop")
            line = row(
                (f"{event.tick:>10,} ", "muted"), (f"{mark} ", style), (event.text, style),
                key=("tick", event.tick),
            )  # fmt: skip
            out.append((event.tick, line))
        return out

    def rows_changed(self, view: ScreenView) -> None:
        """The shown stop is in sight."""
        self._build(view)
        self.go_to(("stop", self._shown(view)))

    def go_to(self, key: Hashable) -> None:
        """Put the cursor on a row."""
        for at, line in enumerate(self._content.rows):
            if line.key == key:
                self.cursor = at
                self.reveal(at)


class ChangedPane(LinePane):
    """What the shown stop changed since the one before of the same warp; who wrote a register."""

    number, title, pane = "3", "What changed", "changed"
    empty = "Nothing yet. Space executes one instruction."

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance)
        self.picture: ChangesPicture | None = None

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """In words, registers, mask, memory; then the last writers."""
        p = self.picture
        if p is None:
            return Content(())
        g = self.appearance.glyphs
        rows = []
        if p.since is not None:
            head = f" since {p.since:,}  "
            long = self._sum(p)
            words = long if len(head + long) <= width else self._sum(p, short=True)
            rows.append(row((head, "muted"), (words, "text")))
        if p.since is None and not p.now:
            rows.append(row((" the launch begins here", "muted")))
        elif p.first and view.focus_row is not None:
            words = f" no earlier stop of warp {view.focus_row.slot} to compare registers with"
            rows.append(row((words, "muted")))
        rows += [self._change(c, view.lane) for c in p.changes]
        if p.masks is not None and p.masks[0] != p.masks[1]:
            counts = [f"{mask.bit_count()}" for mask in p.masks]
            rows.append(
                row(
                    (f" lanes        {counts[0]} {g.becomes} ", "text"),
                    (counts[1], "now.b"),
                    (" active", "muted"),
                )
            )
        for store in p.stores or ():
            times = f"{store.count} times, " if store.count > 1 else ""
            lanes = f"{store.lanes} lane{'s' if store.lanes > 1 else ''}"
            rows.append(
                row(
                    (" store  ", "path-c"), (store.text, "text"),
                    (f"   {times}{lanes}, {store.warp}", "muted"), key=("pc", store.pc),
                )
            )  # fmt: skip
        cut = {out.name: out.count for out in view.outputs if out.count > out.values.size}
        for name, count in p.outputs:
            what = f"  {_count(count, 'element')} changed"
            if name in cut:
                what += " of the first 4,096"
            rows.append(row((f" {name}", "now"), (what, "muted")))
        # Where rows are few, who wrote it matters more than the last of what changed.
        writers = self._writers(p, view)
        room = max(height - min(len(writers), 3), 2)
        if len(rows) > room:
            rows = [*rows[: room - 1], row((f" {g.cut} {len(rows) - room + 1} more", "dim"))]
        gap = [Row()] if len(rows) + len(writers) < height else []
        rows += gap + writers[: max(height - len(rows) - len(gap), 0)]
        return Content(rows, f"{p.since:,} {g.becomes} {p.now:,}" if p.since is not None else "")

    def _sum(self, p: ChangesPicture, short: bool = False) -> str:
        registers = sum(c.name[0] == "R" for c in p.changes)
        ticks = _count(p.now - (p.since or 0), "tick")
        if not short and p.mine is not None and p.mine != p.now - (p.since or 0):
            ticks += f" ({p.mine:,} of this warp)"
        parts = [ticks] if p.first else [ticks, _count(registers, "register")]
        if predicates := len(p.changes) - registers:
            parts.append(_count(predicates, "predicate"))
        if p.stores is not None:
            parts.append(_count(sum(s.count for s in p.stores), "store"))
        return ", ".join(parts)

    def _change(self, c: TickChange, lane: int) -> Row:
        g = self.appearance.glyphs
        lanes = f"{c.lanes} lane{'s' if c.lanes > 1 else ''} changed"
        same = c.before == c.after
        here: tuple[Span, ...] = (
            (f"{c.before} {g.becomes} ", "text"), (c.after, "now.b"),
        )  # fmt: skip
        return row(
            (f" {c.name:4} ", "text.b"),
            (f"lane {lane:<2} ", "muted"),
            *(((c.after, "dim"),) if same else here),
            (f"   {lanes}", "muted"),
            key=("register", c.name) if c.name[0] == "R" else ("predicate", c.name),
        )

    def _writers(self, p: ChangesPicture, view: ScreenView) -> list[Row]:
        if p.register is None:
            return []
        name = f"R{p.register}"
        head = row((f" Last writer of {name}, lane {view.lane}", "muted"), key=("writers", name))
        if p.kept_from is None:
            return [head, row(("   not recorded: the timeline is off", "dim"))]
        if not p.writers:
            since = (
                f"tick {p.kept_from:,}, where the record begins" if p.kept_from else "the launch"
            )
            return [head, row((f"   none since {since}", "dim"))]
        rows = [head]
        for written, text in zip(p.writers, p.texts, strict=True):
            offset, _, code = text.partition("  ")
            guard, mnemonic, rest = text_spans(code)
            rows.append(
                row(
                    (f" {written.tick:>9,}  ", "text"), (f"{offset} ", "muted"),
                    guard, mnemonic, *rest, key=("tick", written.tick),
                )
            )  # fmt: skip
        return rows


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _as_of(view: ScreenView, words: str) -> str:
    return f"as of {view.tick:,}" if view.past is not None else words


class PastCodePane(CodePane):
    """The code around the shown stop's place."""

    number, title, pane = "4", "Code", "pastcode"

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """The rows of the main screen's pane, under the title "as of" and its tick."""
        found = super().content(view, width, height)
        return Content(found.rows, _as_of(view, self._entry_line(view)))


class PastPathsPane(PathsPane):
    """The paths of the shown stop's warp."""

    number, pane = "5", "pastpaths"
