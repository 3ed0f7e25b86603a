"""Small pictures of the stories, from the machine's state: what `gpudbg demo --list` shows.

`python -m tests.sessions.stories` writes them beside the transcripts.  A story's picture is of the
stop that says most: a fault before a deadlock, a watchpoint before a step, the last of equals.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpudbg.answers import lane_marks
from gpudbg.debug.session import DebugSession

WIDTH = 78
SHADES = " ░▒▓█"
WARPS = 3
TELLING = ("deadlock", "fault", "hang", "trap", "watchpoint", "breakpoint", "limit", "step")
"""Kinds of stops, the most telling first."""
WRONG = TELLING[:3]

Score = tuple[int, int, int]


class Album:
    """Takes a picture after each command of a story, and keeps the most telling one."""

    def __init__(self) -> None:
        self._best: tuple[Score, list[str]] = ((-1, 0, 0), [])

    def take(self, session: DebugSession) -> None:
        """Look at a session; nothing is seen before its first instruction."""
        stop = session.stop
        if stop is None or not stop.instructions:
            return
        lines = picture(session)
        drawn = any(set(line) <= set(SHADES) and len(set(line)) > 1 for line in lines)
        marks = next((line[8:40] for line in lines if line.startswith("warp ")), "")
        told = len(TELLING) - TELLING.index(stop.kind) if stop.kind in TELLING else 0
        score = (2 if stop.kind in WRONG else int(drawn), int(len(set(marks)) > 1), told)
        if score >= self._best[0] and (marks or drawn):
            self._best = score, lines

    @property
    def lines(self) -> list[str]:
        """The picture."""
        return self._best[1]


def picture(session: DebugSession) -> list[str]:
    """What came up, the lanes of the warps around the focus, what comes next; a surface."""
    assert session.stop is not None
    out = [shortened(session.stop.message)]
    rows = sorted(session.snapshot().warps, key=lambda row: (not row.focus, row.sm, row.slot))
    for row in rows[:WARPS]:
        out.append(shortened(_warp(row)))
        if row.focus:
            out.append(shortened(f"   =>  {session.instruction().text}"))
    if len(rows) > WARPS:
        out.append(f"… and {len(rows) - WARPS:,} more")
    images = session.launch.loaded.device.images
    if images and images[-1].array().ndim == 2 and images[-1].array().shape[1] >= 32:
        out += _surface(images[-1].array())
    return out


def _warp(row: Any) -> str:
    return f"warp {row.slot:<2} {lane_marks(row)}  {row.state:8} {row.where}"


def _surface(values: np.ndarray[Any, Any], across: int = 48, down: int = 8) -> list[str]:
    """Shades of grey, a cell the mean of some texels; the fullest is the brightest."""
    height, width = values.shape
    cells = values[: height // down * down, : width // across * across].astype(float)
    cells = cells.reshape(down, height // down, across, width // across).mean(axis=(1, 3))
    top = cells.max() or 1
    return ["".join(SHADES[int(v / top * (len(SHADES) - 1))] for v in row) for row in cells]


def shortened(text: str) -> str:
    """A line of a terminal."""
    return text if len(text) <= WIDTH else text[: WIDTH - 1].rstrip() + "…"
