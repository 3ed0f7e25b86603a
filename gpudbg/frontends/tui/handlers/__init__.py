"""The handler tables: actions by id, events of rows and cards, commands of the screen.

The functions are in the modules of this package, one for each family of actions; the rows that
name them are in `actions.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

Handler = Callable[..., None]
HANDLERS: dict[str, Handler] = {}
"""Action id -> its handler: a function of the main screen."""
EVENTS: dict[str, Handler] = {}
"""Event that has no action row (click on a row, Enter on it, answer of a card) -> its handler."""
SCREEN_COMMANDS: dict[str, Callable[..., list[str]]] = {}
"""Command of the group `screen` -> the function that carries it out, given the main screen and the
words of the line. Returns the lines to print.
"""
STEPS = {"next": "Next line", "step": "Step", "stepi": "Step"}
"""Stepping actions, which print nothing in the console: the action's id (also the console command)
-> its label.
"""


def handles(name: str, table: dict[str, Handler] = HANDLERS) -> Callable[[Handler], Handler]:
    """Decorator: the function is the handler of an action."""

    def enter(function: Handler) -> Handler:
        table[name] = function
        return function

    return enter


def both_directions(name: str) -> Callable[[Handler], Handler]:
    """Decorator: enters a function of (screen, +1 or -1) as handler of NAME_next and NAME_back."""

    def enter(function: Handler) -> Handler:
        HANDLERS[f"{name}_next"] = partial(function, by=1)
        HANDLERS[f"{name}_back"] = partial(function, by=-1)
        return function

    return enter
