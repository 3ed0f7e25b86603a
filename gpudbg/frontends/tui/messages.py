"""Messages between widgets, screens and the engine thread."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from gpudbg.debug import Output
    from gpudbg.frontends.tui.view import ScreenView


class JobDone(Message):
    """The engine thread has finished a job: its answer or error, and the new picture."""

    def __init__(
        self,
        label: str,
        view: ScreenView | None,
        output: Output | None = None,
        error: str = "",
        gap: bool = False,
    ) -> None:
        super().__init__()
        self.label = label
        self.view = view
        self.output = output
        self.error = error
        self.gap = gap


class Listed(Message):
    """The console lists completions of what is typed."""


class RowOpened(Message):
    """Enter or a double click on a pane's row."""

    def __init__(self, pane: str, key: Hashable) -> None:
        super().__init__()
        self.pane = pane
        self.key = key


class RowClicked(Message):
    """A click on a pane's row; `lane` is the lane clicked, or None; `column` the text column."""

    def __init__(self, pane: str, key: Hashable, lane: int | None, column: int) -> None:
        super().__init__()
        self.pane = pane
        self.key = key
        self.lane = lane
        self.column = column


class PaneAsked(Message):
    """A click on another pane's name in a title row."""

    def __init__(self, pane: str) -> None:
        super().__init__()
        self.pane = pane


class CommandEntered(Message):
    """A line typed into the console."""

    def __init__(self, line: str) -> None:
        super().__init__()
        self.line = line


class LinesPasted(Message):
    """Lines pasted into the console, and the text behind the last one's end."""

    def __init__(self, lines: list[str], rest: str) -> None:
        super().__init__()
        self.lines = lines
        self.rest = rest


class CursorMoved(Message):
    """The cursor or the mouse of a picture is on another texel."""

    def __init__(self, pane: str) -> None:
        super().__init__()
        self.pane = pane


class SliceAsked(Message):
    """The next or previous slice of a picture."""

    def __init__(self, by: int) -> None:
        super().__init__()
        self.by = by


class TickAsked(Message):
    """A place on the timeline: click, drag or arrow keys."""

    def __init__(self, tick: int) -> None:
        super().__init__()
        self.tick = tick


class TickChosen(Message):
    """Enter on the timeline: the machine is to stand there."""

    def __init__(self, tick: int) -> None:
        super().__init__()
        self.tick = tick


class NameHovered(Message):
    """The mouse has come to a name in the source."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class SplitMoved(Message):
    """The vertical line was dragged to a screen column."""

    def __init__(self, column: int) -> None:
        super().__init__()
        self.column = column


class EdgeMoved(Message):
    """The title rule of a pane was dragged to a screen row."""

    def __init__(self, pane: str, row: int) -> None:
        super().__init__()
        self.pane = pane
        self.row = row
