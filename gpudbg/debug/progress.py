"""How far a run has come: blocks done, instructions a second, time left.

`progress_shown(session)` has a run report on standard error while it lasts: on a terminal in one
line, written over; in a log in lines that come ever more rarely, so that a hang is not silent.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from gpudbg.dataclass import dataclass

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.debug.session import DebugSession
    from gpudbg.sm.gpu import Gpu
    from gpudbg.sm.grid import Grid

FIRST_SECONDS = 1.0
"""Shorter runs say nothing."""
EVERY_SECONDS = 0.25
LOG_SECONDS = 10.0
"""Of a run, until the first line in a log; each one after it comes when twice as many are over."""
_HIDE = "\r\x1b[K"


@dataclass(frozen=True, slots=True)
class Progress:
    """A run's numbers at a moment.

    Attributes:
        seconds: since it began.
        total: warp instructions of the launch.
        rate: warp instructions a second in this run.
        done, ctas: CTAs that have finished, of all.
        left: seconds that are left if the others take as long, or None while nothing says.
    """

    seconds: float
    total: int
    rate: float
    done: int
    ctas: int
    left: float | None

    def line(self) -> str:
        """In one line."""
        speed = f"{self.rate / 1e6:.1f} M" if self.rate >= 1e6 else f"{self.rate:,.0f}"
        text = (
            f"{duration(self.seconds)}  {self.done:,} of {self.ctas:,} blocks  "
            f"{speed} warp instructions/s"
        )
        return text if self.left is None else f"{text}  {duration(self.left)} left"


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


class Meter:
    """Measures a run from now on."""

    def __init__(self, grid: Grid) -> None:
        self.began = time.monotonic()
        self._total = grid.total
        self._done = grid.ctas_done

    def now(self, grid: Grid) -> Progress:
        """Where the run is."""
        seconds = max(time.monotonic() - self.began, 1e-3)
        done = grid.ctas_done - self._done
        ctas = grid.config.ctas
        waiting = ctas - grid.ctas_done
        left = seconds * waiting / done if done > 0 else None
        rate = max(grid.total - self._total, 0) / seconds
        return Progress(seconds, grid.total, rate, grid.ctas_done, ctas, left)


class SessionMeter:
    """Measures the runs of a session from now on."""

    def __init__(self, inferior: Inferior) -> None:
        self._inferior = inferior
        self._meter = Meter(inferior.grid)

    def now(self) -> Progress:
        """Where the run is."""
        return self._meter.now(self._inferior.grid)


class ProgressLine:
    """A line on a terminal that is written over and over."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._grid: Grid | None = None
        self._meter: Meter | None = None
        self._at = 0.0
        self._visible = False

    def tell(self, grid: Grid) -> None:
        """Write the line again if the interval has passed."""
        if self._meter is None or self._grid is not grid:
            self._grid, self._meter = grid, Meter(grid)
        now = time.monotonic()
        if now - self._meter.began < FIRST_SECONDS or now - self._at < EVERY_SECONDS:
            return
        self._at = now
        width = max(20, shutil.get_terminal_size().columns - 1)
        self._write(_HIDE + self._meter.now(grid).line()[:width])
        self._visible = True

    def hide(self, _: str = "") -> None:
        """Erase the line."""
        if self._visible:
            self._write(_HIDE)
            self._visible = False

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


class Log(ProgressLine):
    """Lines of a log.

    Attributes:
        what: what goes on, in words, asked for when a line is written.
    """

    def __init__(self, stream: TextIO, what: Callable[[], str] = lambda: "the run goes on") -> None:
        super().__init__(stream)
        self.what = what

    def tell(self, grid: Grid) -> None:
        """Write a line of the log if the interval has passed."""
        if self._meter is None or self._grid is not grid:
            self._grid, self._meter, self._at = grid, Meter(grid), LOG_SECONDS
        seconds = time.monotonic() - self._meter.began
        if seconds >= self._at:
            self._at = 2 * seconds
            self._write(f"gpudbg: {self.what()}: {self._meter.now(grid).line()}\n")


@contextmanager
def progress_logged(
    gpu: Gpu, what: Callable[[], str], stream: TextIO | None = None
) -> Iterator[None]:
    """Context: runs on a device report their progress in lines of a log, for they share the stream
    with another program's words, unless an outer context reports it.

    Args:
        what: says what goes on when a line is written.
    """
    if gpu.on_progress is not None:
        yield
        return
    gpu.on_progress = Log(sys.stderr if stream is None else stream, what).tell
    try:
        yield
    finally:
        gpu.on_progress = None


@contextmanager
def progress_shown(session: DebugSession, stream: TextIO | None = None) -> Iterator[None]:
    """Context: runs report their progress, unless an outer context does."""
    stream = sys.stderr if stream is None else stream
    gpu = session.grid.gpu
    if gpu.on_progress is not None:
        yield
        return
    line = ProgressLine(stream) if stream.isatty() else Log(stream)
    gpu.on_progress = line.tell
    # Erase the progress line before device output, so that each has lines of its own.
    session.output.listeners.insert(0, line.hide)
    try:
        yield
    finally:
        gpu.on_progress = None
        session.output.listeners.remove(line.hide)
        line.hide()
