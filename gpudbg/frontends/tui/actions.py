"""The action registry: one row per thing a key, the palette or the help page can do.

Bindings, key maps, the key row, the help page and the palette are all made from this table.
"""

from __future__ import annotations

from dataclasses import dataclass

GROUPS = ("Run", "Focus", "Mark", "Look", "Tool")
"""Groups in the order the help page shows them."""


@dataclass(frozen=True, slots=True)
class Action:
    """One action.

    Attributes:
        id: its name; also the binding's id and the key map's key.
        keys: keys of the default map, comma separated, in Textual's names.
        label: the word in the key row.
        help: the words on the help page and in the palette.
        group: one of `GROUPS`.
        command: the console command that does the same, or an empty string.
        rank: place in the key row (0: not there); `panes` limits it to focused panes.
        busy: works while the machine runs.
    """

    id: str
    keys: str
    label: str
    help: str
    group: str
    command: str = ""
    rank: int = 0
    panes: tuple[str, ...] = ()
    busy: bool = False


ACTIONS = (
    Action("continue", "f5,c", "run", "run to the next stop", "Run", "continue", 1),
    Action("next", "n,f10", "next", "next line, over calls", "Run", "next", 2),
    Action("step", "s,f11", "step", "next line, into calls", "Run", "step", 3),
    Action("stepi", "space", "instruction", "one instruction", "Run", "stepi", 4),
    Action("finish", "f,shift+f11", "finish", "out of this call", "Run", "finish"),
    Action("until", "u", "until", "past this loop", "Run", "until"),
    Action(
        "cursor", "ctrl+f10,U", "to cursor", "run to the cursor", "Run", "", 11, ("code", "source")
    ),
    Action("restart", "r", "restart", "start the kernel again", "Run", "start", 19),
    Action("launch", "N", "launch", "fill in a launch", "Run", "launch"),
    Action("interrupt", "ctrl+c", "stop", "stop what runs", "Run", busy=True),
    Action("lane_next", "l", "lane", "lane", "Focus", "focus lane N", 8),
    Action("lane_back", "L", "lane", "previous lane", "Focus"),
    Action("warp_next", "right_square_bracket", "warp", "warp", "Focus", "focus warp N"),
    Action("warp_back", "left_square_bracket", "warp", "previous warp", "Focus"),
    Action("cta_next", "right_curly_bracket", "CTA", "CTA", "Focus", "focus block N"),
    Action("cta_back", "left_curly_bracket", "CTA", "previous CTA", "Focus"),
    Action("note_next", "full_stop", "of note", "thing of note", "Focus", "", 15),
    Action("note_back", "comma", "of note", "previous thing of note", "Focus"),
    Action("pane_next", "tab", "pane", "pane", "Focus", "", 16, busy=True),
    Action("pane_back", "shift+tab", "pane", "previous pane", "Focus", busy=True),
    Action("zoom", "z", "zoom", "zoom the pane", "Focus", "", 14, busy=True),
    Action("move_next", "greater_than_sign", "move", "move the pane on", "Focus", "", busy=True),
    Action("move_back", "less_than_sign", "move", "move the pane back", "Focus", "", busy=True),
    Action("pane_taller", "ctrl+up", "taller", "pane taller", "Focus", "winheight", busy=True),
    Action("pane_lower", "ctrl+down", "lower", "pane lower", "Focus", "winheight", busy=True),
    Action("pane_wider", "ctrl+right", "wider", "column wider", "Focus", "", busy=True),
    Action("pane_narrower", "ctrl+left", "narrower", "column narrower", "Focus", "", busy=True),
    Action("back", "escape", "back", "close, unzoom", "Focus", busy=True),
    Action("break", "b,f9", "break", "breakpoint here", "Mark", "break", 6),
    Action("condition", "B", "condition", "its condition", "Mark", "condition"),
    Action("enable", "E", "on/off", "breakpoint on or off", "Mark", "disable", 6, ("marks",)),
    Action(
        "delete", "delete,d", "delete", "delete the row", "Mark", "delete", 6, ("marks", "watch")
    ),
    Action("watch", "w", "watch", "warp watch", "Look", "", 10),
    Action("add_watch", "a", "add", "watch an expression", "Look", "display", 5, ("watch",)),
    Action("trap", "t", "trap", "trap inspector", "Look", "info trap", 10),
    Action("surface", "v", "surface", "surfaces as pictures", "Look", "info surfaces", 10),
    Action("fault", "exclamation_mark", "fault", "the fault card again", "Look", "", 5),
    Action("memory", "M", "memory", "memory at an address", "Look", "x", 12),
    Action("space", "o", "space", "next address space", "Look", "", 5, ("memory",)),
    Action(
        "format",
        "x",
        "format",
        "hex, decimal, float",
        "Look",
        "",
        9,
        ("memory", "registers", "lanes", "watch"),
    ),
    Action(
        "edit",
        "e",
        "edit",
        "change this value",
        "Look",
        "set var",
        9,
        ("memory", "registers", "lanes", "watch"),
    ),
    Action("track", "R", "live", "where a register lives", "Look", "", 9, ("registers", "code")),
    Action("single", "A", "one lane", "one lane or all", "Look", "", 9, ("registers",)),
    Action("explain", "i", "explain", "explain the row", "Look", "", 9),
    Action("more", "plus", "more", "open, more rows", "Look"),
    Action("less", "minus", "less", "fold, fewer rows", "Look"),
    Action("goto", "g", "go to", "a place in the code", "Look", "", 11, ("code",)),
    Action(
        "history", "h", "history", "timeline, who wrote", "Look", "info timeline", 10, busy=True
    ),
    Action("stop_back", "shift+left", "earlier", "the stop before", "Look", "", 17, ("stops",)),
    Action("stop_next", "shift+right", "later", "the stop after", "Look", "", 17, ("stops",)),
    Action("output", "O", "output", "output buffers", "Look", "info buffers", 0, busy=True),
    Action("marks", "m", "marks", "breakpoints", "Look", "info breakpoints", 0, busy=True),
    Action("notes", "H", "notes", "notes of the story", "Look", busy=True),
    Action("gallery", "G", "stories", "the shipped stories", "Tool", busy=True),
    Action("console", "colon", "command", "command line", "Tool", "", 18, busy=True),
    Action(
        "search",
        "slash",
        "search",
        "search, choose warps",
        "Tool",
        "info warps",
        13,
        ("code", "memory", "warps"),
    ),
    Action("palette", "ctrl+p", "palette", "every command by name", "Tool", "", 20, busy=True),
    Action("copy", "y", "copy", "copy the pane's text", "Tool", "", 21, busy=True),
    Action("theme", "T", "theme", "next colour theme", "Tool", busy=True),
    Action("help", "question_mark,f1", "help", "this page", "Tool", "help", 99, busy=True),
    Action("quit", "q,ctrl+q", "quit", "quit", "Tool", "quit", busy=True),
)
"""Every action."""

BY_ID = {a.id: a for a in ACTIONS}

_KEY_NAMES = {
    "space": "Space",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "full_stop": ".",
    "comma": ",",
    "question_mark": "?",
    "exclamation_mark": "!",
    "greater_than_sign": ">",
    "less_than_sign": "<",
    "colon": ":",
    "slash": "/",
    "plus": "+",
    "minus": "-",
    "tab": "Tab",
    "escape": "Esc",
    "delete": "Del",
    "enter": "Enter",
}


def key_name(key: str) -> str:
    """A key as it is written for people: `^P`, `S-F11`, `?`."""
    if key in _KEY_NAMES:
        return _KEY_NAMES[key]
    if key.startswith("ctrl+"):
        rest = key[5:]
        return f"^{rest.upper()}" if len(rest) == 1 else f"C-{key_name(rest)}"
    if key.startswith("shift+"):
        return f"S-{key_name(key[6:])}"
    return key.upper() if len(key) > 1 else key


def keys_text(keys: str, limit: int = 3) -> str:
    """Several keys for people, blank separated."""
    return " ".join(key_name(k) for k in keys.split(",")[:limit])
