"""Source pane: the file of the focused warp's place, with breakpoints and warps by line."""

from __future__ import annotations

import re
from pathlib import PurePath

from textual.events import MouseMove

from gpudbg.debug import Line
from gpudbg.debug.breakpoints import BreakpointRow
from gpudbg.debug.pictures import CodeIndex
from gpudbg.frontends.tui import messages
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.text import Row, Span, row
from gpudbg.frontends.tui.view import ScreenView
from gpudbg.frontends.tui.widgets.base import Content, LinePane

NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|->[A-Za-z_]\w*|\[\w+\])*")
"""A variable with its members and elements, as source text has it."""
TEXT = 9
"""Columns before a line's text."""
TAB = 4
"""Columns of a tabulator."""


class SourcePane(LinePane):
    """The source alone; the code pane has the instructions of its lines."""

    number, title, pane = "", "Source", "source"

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance)
        self._pc: int | None = None
        self._file = ""
        self._index: CodeIndex | None = None
        self._hovered = ""

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """Every line of the file; what is not here is said."""
        self._choose(view)
        code = view.code
        if not code.has_lines:
            return Content([
                row((" The program has no line table: nvcc -lineinfo writes one.", "muted")),
                row((" `layout asm` shows its instructions.", "muted")),
            ])  # fmt: skip
        lines = code.file_lines(self._file)
        name = PurePath(self._file).name
        if lines is None:
            here = f" {self._file} is not here." if self._file else " No source line here."
            return Content([
                row((here, "muted")),
                row((" `directory FOLDER` says where it lies; `layout asm` shows instructions.",
                     "muted")),
            ], name)  # fmt: skip
        return Content(self._rows(view, lines), name)

    def _choose(self, view: ScreenView) -> None:
        """The selected frame's file; without a line there the last one, at first the kernel's."""
        if self._index is not view.code:
            self._index, self._file = view.code, ""
        pc = _selected(view)
        line = None if pc is None else view.code.line(pc)
        if line is not None:
            self._file = line.file
        elif not self._file:
            self._file = next((e.line.file for e in view.code.with_source if e.line), "")

    @staticmethod
    def _line(view: ScreenView) -> Line | None:
        return None if view.pc is None else view.code.line(view.pc)

    def _rows(self, view: ScreenView, lines: list[str]) -> list[Row]:
        code = view.code
        here = self._line(view)
        first = code.lines_at(self._file)
        points: dict[int, BreakpointRow] = {}
        warps: dict[int, int] = {}
        for point in view.points:
            for pc in point.addresses:
                line = code.line(pc)
                if line is not None and line.file == self._file:
                    points[line.number] = point
        for pc, count in view.warps_at.items():
            line = code.line(code.first(pc))
            if line is not None and line.file == self._file:
                warps[line.number] = warps.get(line.number, 0) + count
        number = here.number if here is not None and here.file == self._file else None
        return [
            self._numbered(n, text, n == number, points.get(n), first.get(n), warps.get(n, 0))
            for n, text in enumerate(lines, 1)
        ]

    def _numbered(
        self, n: int, text: str, here: bool, point: BreakpointRow | None, pc: int | None, warps: int
    ) -> Row:
        g = self.appearance.glyphs
        gutter = " " if point is None else g.point if point.enabled else g.point_off
        spans: list[Span] = [
            (gutter, "stop" if point is None or point.enabled else "muted"),
            (g.pc if here else " ", "now.b"),
            (f"{n:5}  ", "now.b" if here else "muted" if pc is not None else "dim"),
            (text.rstrip().expandtabs(TAB), "text" if pc is not None else "muted"),
        ]
        right: tuple[Span, ...] = ((f"{warps}w ", "muted"),) if warps else ()
        key = ("pc", pc) if pc is not None else None
        return Row(tuple(spans), key, "now-bg" if here else "", None, right)

    def line_text(self, index: int | None = None) -> str:
        """A source line, the cursor's unless another is asked for."""
        at = self.cursor if index is None else index
        if self.view is None or at is None:
            return ""
        lines = self.view.code.file_lines(self._file) or []
        return lines[at].rstrip().expandtabs(TAB) if 0 <= at < len(lines) else ""

    def look_at(self, pc: int) -> None:
        """The cursor to a pc's line, in its file."""
        line = None if self.view is None else self.view.code.line(pc)
        if line is not None:
            self._file = line.file
            self.cursor = line.number - 1
            self.reveal(self.cursor, third=True)
            self.redraw()

    def on_mouse_move(self, event: MouseMove) -> None:
        """The name under the mouse, each time it is another one."""
        super().on_mouse_move(event)
        event.prevent_default()
        text, column = self.line_text(self.top + event.y - 1), event.x - TEXT
        name = next((m[0] for m in NAME.finditer(text) if m.start() <= column < m.end()), "")
        if name != self._hovered:
            self._hovered = name
            if name and event.y and "//" not in text[:column]:
                self.post_message(messages.NameHovered(name))

    def sized(self) -> None:
        """The pc's line stays in view."""
        self._pc = None
        super().sized()

    def rows_changed(self, view: ScreenView) -> None:
        """Follow the pc, as the code pane does, and the frame that a command selects."""
        pc = _selected(view)
        if pc is None or pc == self._pc or not self.body:
            return
        self._pc = pc
        line = view.code.line(pc)
        if line is None:
            return
        self.cursor = at = line.number - 1
        if not self.top <= at <= self.top + self.body - 2:
            self.top = max(0, at - self.body // 3)


def _selected(view: ScreenView) -> int | None:
    """Where the selected frame goes on; the pc while no frames are shown."""
    return next((f.pc for f in view.frames if f.selected), view.pc)
