"""Variables as a tree with 32 lanes a scalar, and the call frames."""

from __future__ import annotations

from dataclasses import replace

from gpudbg.debug.pictures import VariableLine
from gpudbg.frontends.tui.text import Row, row
from gpudbg.frontends.tui.view import ScreenView
from gpudbg.frontends.tui.widgets.base import Content, LinePane
from gpudbg.frontends.tui.widgets.registers import lane_line


class VariablesPane(LinePane):
    """Variables of the selected frame: arguments first, then the innermost block's."""

    title, pane = "Variables", "variables"
    empty = "Nothing runs. `r` starts the kernel again."

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """One row a variable; Enter opens a structure, an array or a pointer."""
        rows = [self._line(line, view, width) for line in view.variables]
        if view.variable_words:
            rows.append(row((f" {view.variable_words}", "muted")))
        lanes = any(line.lanes is not None for line in view.variables)
        return Content(rows, "Enter opens" if rows else "", lanes=lanes)

    def _line(self, line: VariableLine, view: ScreenView, width: int) -> Row:
        g = self.appearance.glyphs
        ascii_only = g.name == "ascii"
        fold = ("-" if ascii_only else "▾") if line.opened else ("+" if ascii_only else "▸")
        name = f"{'  ' * line.depth}{fold if line.inner else ' '}{line.name}"
        key = ("variable", line.path or line.name)
        room = self.axis.start - len(name) - 2
        fits = min(len(line.text), 10) < room and width > self.axis.start
        if line.lanes is not None and line.lanes.valid and fits:
            shown = lane_line(replace(line.lanes, name=name), view, self.axis, g)
            return shown._replace(key=key)
        style = "now" if line.changed else "text" if line.path else "muted"
        mark = g.changed if line.changed else " "
        parts = ((mark, "now"), (f"{name} ", "text.b"), (f"{line.text}  ", style))
        return row(*parts, (line.type, "dim"), key=key)


class FramesPane(LinePane):
    """Call frames of the focused warp; names are looked up in the selected one."""

    title, pane = "Frames", "frames"
    empty = "Nothing runs. `r` starts the kernel again."

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """One row a frame; Enter selects it."""
        g = self.appearance.glyphs
        rows = [
            row(
                (f" {g.pc if f.selected else ' '} ", "now.b"),
                (f.text.splitlines()[0] if f.text else "", "text.b" if f.selected else "text"),
                key=("frame", f.level),
            )
            for f in view.frames
        ]
        return Content(rows, "Enter selects" if rows else "")
