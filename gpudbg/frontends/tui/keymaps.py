"""Key maps: which keys do an action; `vscode` is the registry's own, the others differ in rows."""

from __future__ import annotations

from functools import lru_cache

from gpudbg.frontends.tui.actions import ACTIONS

DEFAULT = "vscode"
VARIABLE = "GPUDBG_KEYMAP"
"""Names the map that a session begins with."""

_CHANGES: dict[str, dict[str, str]] = {
    "vscode": {},
    "gdb": {
        "continue": "c,f5",
        "next": "n",
        "step": "s",
        "stepi": "space,f11",
        "until": "u",
        "finish": "f",
        "break": "b",
        "interrupt": "ctrl+c",
        "console": "colon,f2",
    },
    "x64dbg": {
        "continue": "f9,c",
        "break": "f2,b",
        "stepi": "f7,space",
        "next": "f8,n",
        "step": "s",
        "finish": "ctrl+f9,f",
        "cursor": "f4,U",
        "restart": "ctrl+f2,r",
        "goto": "ctrl+g,g",
    },
    "vim": {
        "continue": "c,f5",
        "next": "n,f10",
        "step": "s,f11",
        "pane_next": "tab,ctrl+w",
        "goto": "g",
        "delete": "d,delete",
        "search": "slash",
        "console": "colon",
        "back": "escape",
    },
}

NAMES = tuple(_CHANGES)
"""Names of the maps."""


@lru_cache(len(_CHANGES))
def keymap(name: str) -> dict[str, str]:
    """Action id -> keys, for every action."""
    changes = _CHANGES[name]
    return {a.id: changes.get(a.id, a.keys) for a in ACTIONS}


def changes(name: str) -> dict[str, str]:
    """Action id -> keys, for the actions whose keys differ from the registry's.

    Textual lays every row of a map over every binding for every key that is pressed.
    """
    return {a.id: keys for a in ACTIONS if (keys := _CHANGES[name].get(a.id, a.keys)) != a.keys}
