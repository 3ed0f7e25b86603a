"""`finish`, with the value that the function returned, for console and GDB/MI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass
from gpudbg.debug.stops.stop import StepStop, Stop
from gpudbg.debug.values.backtrace import frames
from gpudbg.debug.values.returned import result_type, returned
from gpudbg.debug.views.aggregates import data_text
from gpudbg.debug.views.gdb_text import style_of

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


@dataclass(frozen=True, slots=True)
class FinishedValue:
    """What a function has returned.

    Attributes:
        function: its name.
        value: as `print` shows it, or why it is not shown.
        number: in the value history; 0: it is not there.
    """

    function: str
    value: str
    number: int = 0

    @property
    def words(self) -> str:
        """The value as the console tells it."""
        shown = f"${self.number} = {self.value}" if self.number else self.value
        return f"{shown} ({self.function})"


def finish_with_value(session: DebugSession, level: int) -> tuple[Stop, FinishedValue | None]:
    """Run until the function of a frame has returned. Returns the stop, and the value where it is
    known.
    """
    rows = frames(session)
    level = min(level, len(rows) - 1)
    frame, type_ = rows[level], result_type(session, rows[level])
    stop = session.finish(level)
    after = len(rows) - level - 1
    if type_ is None or not isinstance(stop, StepStop) or len(frames(session)) != after:
        return stop, None
    found = returned(session, type_)
    if found is None:
        words = f"not shown: {type_} is larger than what registers return"
        return stop, FinishedValue(frame.function, words)
    words = data_text(type_, found.raw, style=style_of(session))
    number = 0
    if found.result is not None:
        session.value_history.append(found.result)
        number = len(session.value_history)
    return stop, FinishedValue(frame.function, words, number)
