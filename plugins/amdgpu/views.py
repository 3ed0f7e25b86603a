"""The wave-state view: a pasted wave as lines that fit a width."""

from __future__ import annotations

import textwrap

from .dump import Dump
from .wave import read_wave

MIN_WIDTH = 20
"""Narrower panes are drawn as if they had this many columns."""


def wave(snapshot: Dump, width: int) -> list[str]:
    """What the registers of a wave say.

    Args:
        snapshot: the pasted values.
        width: columns.
    """
    lines: list[str] = []
    for line in read_wave(snapshot).lines():
        lines += textwrap.wrap(
            line, max(width, MIN_WIDTH), subsequent_indent="    ", break_long_words=True
        )
    return lines
