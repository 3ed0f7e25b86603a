"""What handlers enter and the main screen looks up: actions by id, events of rows, commands.

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
"""What is no action of its own -> its handler: a click on a row, Enter on it, a card's answer."""
SCREEN_COMMANDS: dict[str, Callable[..., list[str]]] = {}
"""Command of the group `screen` -> what it does with the main screen and its words, and says."""
STEPS = {"next": "Next line", "step": "Step", "stepi": "Step"}
"""Steps, which say nothing in the console: action and console command -> what it is called."""


def handles(name: str, table: dict[str, Handler] = HANDLERS) -> Callable[[Handler], Handler]:
    """Decorator: the function is the handler of an action."""

    def enter(function: Handler) -> Handler:
        table[name] = function
        return function

    return enter


def both_directions(name: str) -> Callable[[Handler], Handler]:
    """Decorator: the function of the screen and +1 or -1 handles NAME_next and NAME_back."""

    def enter(function: Handler) -> Handler:
        HANDLERS[f"{name}_next"] = partial(function, by=1)
        HANDLERS[f"{name}_back"] = partial(function, by=-1)
        return function

    return enter
