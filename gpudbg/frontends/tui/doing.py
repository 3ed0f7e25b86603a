"""The tables of what the main screen does: actions by id, and commands that arrange the screen.

The screen looks up here what the modules above it enter.
"""

from __future__ import annotations

from collections.abc import Callable

Doing = Callable[..., None]
DOINGS: dict[str, Doing] = {}
"""Action id -> what it does with the main screen."""
SCREEN_COMMANDS: dict[str, Callable[..., list[str]]] = {}
"""Command of the group `screen` -> what it does with the main screen and its words, and says."""
STEPS = {"next": "Next line", "step": "Step", "stepi": "Step"}
"""Steps, which say nothing in the console: action and console command -> what it is called."""


def doing(name: str) -> Callable[[Doing], Doing]:
    """Decorator: enter a function in the table."""

    def enter(function: Doing) -> Doing:
        DOINGS[name] = function
        return function

    return enter
