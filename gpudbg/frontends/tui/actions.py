"""The action registry: one row for each thing that a key does.

Bindings, key maps, key rows, the help page and the palette are all made from these tables (by
`keys.py`).  The handler of a row of the main screen is the function that `handlers/` enters for its
id; that of a row of another screen or of a pane is the method `action_...` that its `do` names.
"""

from __future__ import annotations

from functools import partial

from gpudbg.dataclass import dataclass

GROUPS = ("Run", "Focus", "Break", "Inspect", "Tools")
"""Groups in the order the help page shows them."""


@dataclass(frozen=True, slots=True)
class Action:
    """One action.

    Attributes:
        id: its name in its scope; on the main screen also the binding's id and the key map's key.
        keys: keys of the default map, comma separated, in Textual's names.
        label: the word in the key row.
        help: the words on the help page and in the palette; empty: in neither.
        group: one of `GROUPS`; empty where the scope is no main screen.
        command: the console command that does the same, or an empty string.
        rank: place in the main screen's key row (0: not there); `panes` limits it to focused panes.
        needs: what must be there for a key row to show it: a warp, a fault, images ...
        starts: asks for a launch where there is none.
        busy: works while the machine runs.
        on_sides: works on side screens, too.
        priority: comes before what the focused widget does with the key.
        scope: where its keys work: `main`, another screen, or a kind of pane.
        do: what Textual calls there, `{key}` being the key; empty on the main screen: the handler
            of the id; empty elsewhere: a widget of Textual's does it by itself.
        short: the word in the key row where there is little room.
    """

    id: str
    keys: str
    label: str
    help: str
    group: str = ""
    command: str = ""
    rank: int = 0
    panes: tuple[str, ...] = ()
    needs: str = ""
    starts: bool = False
    busy: bool = False
    on_sides: bool = False
    priority: bool = False
    scope: str = "main"
    do: str = ""
    short: str = ""

    @property
    def name(self) -> str:
        """Its id with the scope before it, unique over all tables."""
        return self.id if self.scope == "main" else f"{self.scope}.{self.id}"


# fmt: off
ACTIONS = (
    Action("continue", "f5,c", "run", "run to the next stop", "Run", "continue", rank=1,
           needs="run", starts=True, on_sides=True),
    Action("next", "n,f10", "next", "next line, over calls", "Run", "next", rank=2, needs="run",
           starts=True, on_sides=True),
    Action("step", "s,f11", "step", "next line, into calls", "Run", "step", rank=3, needs="run",
           starts=True, on_sides=True),
    Action("stepi", "space", "instruction", "one instruction", "Run", "stepi", rank=4,
           needs="run", starts=True, on_sides=True),
    Action("finish", "f,shift+f11", "finish", "out of this call", "Run", "finish", needs="run"),
    Action("back_stepi", "backspace", "back", "take an instruction back", "Run", "reverse-stepi",
           on_sides=True),
    Action("back_next", "P", "line back", "back to the line before", "Run", "reverse-next",
           on_sides=True),
    Action("back_continue", "C", "run back", "back to the stop before", "Run", "reverse-continue",
           on_sides=True),
    Action("back_finish", "X", "call back", "back to this call", "Run",
           "reverse-finish", on_sides=True),
    Action("back_until", "Y", "loop back", "back before this loop", "Run", "reverse-until",
           on_sides=True),
    Action("back_cursor", "I", "back to cursor", "back to the cursor", "Run",
           "reverse-until LOCATION", panes=("code", "source"), needs="warp"),
    Action("until", "u", "until", "past this loop", "Run", "until", needs="run"),
    Action("cursor", "ctrl+f10,U", "to cursor", "run to the cursor", "Run", rank=11,
           panes=("code", "source"), needs="run warp", starts=True),
    Action("restart", "r", "restart", "start the kernel again", "Run", "start", rank=19,
           starts=True, on_sides=True),
    Action("launch", "N", "launch", "fill in a launch", "Run", "launch"),
    Action("interrupt", "ctrl+c", "stop", "stop what runs", "Run", on_sides=True, busy=True,
           priority=True),
    Action("lane_next", "l", "lane", "lane", "Focus", "focus lane N", rank=8, needs="warp",
           on_sides=True),
    Action("lane_back", "L", "lane", "previous lane", "Focus", on_sides=True),
    Action("warp_next", "right_square_bracket", "warp", "warp", "Focus", "focus warp N",
           on_sides=True),
    Action("warp_back", "left_square_bracket", "warp", "previous warp", "Focus", on_sides=True),
    Action("cta_next", "right_curly_bracket", "CTA", "CTA", "Focus", "focus block N",
           on_sides=True),
    Action("cta_back", "left_curly_bracket", "CTA", "previous CTA", "Focus", on_sides=True),
    Action("note_next", "full_stop", "of note", "thing of note", "Focus", rank=15, needs="warp"),
    Action("note_back", "comma", "of note", "previous thing of note", "Focus"),
    Action("pane_next", "tab", "pane", "pane", "Focus", rank=16, busy=True),
    Action("pane_back", "shift+tab", "pane", "previous pane", "Focus", busy=True),
    Action("zoom", "z", "zoom", "zoom the pane", "Focus", rank=14, busy=True),
    Action("move_next", "greater_than_sign", "move", "move the pane on", "Focus", busy=True),
    Action("move_back", "less_than_sign", "move", "move the pane back", "Focus", busy=True),
    Action("pane_taller", "ctrl+up", "taller", "pane taller", "Focus", "winheight", busy=True),
    Action("pane_lower", "ctrl+down", "lower", "pane lower", "Focus", "winheight", busy=True),
    Action("pane_wider", "ctrl+right", "wider", "column wider", "Focus", busy=True),
    Action("pane_narrower", "ctrl+left", "narrower", "column narrower", "Focus", busy=True),
    Action("back", "escape", "back", "close, unzoom", "Focus", busy=True),
    Action("break", "b,f9", "break", "breakpoint here", "Break", "break", rank=6),
    Action("condition", "B", "condition", "its condition", "Break", "condition"),
    Action("enable", "E", "on/off", "breakpoint on or off", "Break", "disable", rank=6,
           panes=("marks",)),
    Action("delete", "delete,d", "delete", "delete the row", "Break", "delete", rank=6,
           panes=("marks", "watch")),
    Action("watch", "w", "watch", "warp watch", "Inspect", rank=10, needs="warp"),
    Action("add_watch", "a", "add", "watch an expression", "Inspect", "display", rank=5,
           panes=("watch",)),
    Action("trap", "t", "trap", "trap inspector", "Inspect", "info trap", rank=10),
    Action("surface", "v", "surface", "surfaces as pictures", "Inspect", "info surfaces", rank=10,
           needs="images"),
    Action("matrix", "F", "matrix", "tensor-core fragments", "Inspect", "info fragment", rank=10,
           needs="tensor"),
    Action("fault", "exclamation_mark", "fault", "the fault card again", "Inspect", rank=5,
           needs="fault"),
    Action("memory", "M", "memory", "memory at an address", "Inspect", "x", rank=12),
    Action("space", "o", "space", "next address space", "Inspect", rank=5, panes=("memory",)),
    Action("format", "x", "format", "hex, decimal, float", "Inspect", rank=9,
           panes=("memory", "registers", "lanes", "watch")),
    Action("edit", "e", "edit", "change this value", "Inspect", "set var", rank=9,
           panes=("memory", "registers", "lanes", "watch"), needs="warp"),
    Action("track", "R", "live", "where a register lives", "Inspect", rank=9,
           panes=("registers", "code"), needs="warp"),
    Action("lane_claims", "D", "lanes", "what lanes have in common", "Inspect", "info uniform",
           panes=("code",), needs="warp"),
    Action("single", "A", "one lane", "one lane or all", "Inspect", rank=9, panes=("registers",)),
    Action("explain", "i", "explain", "explain the row", "Inspect", rank=9),
    Action("writer", "W", "who wrote", "who wrote the value here", "Inspect", "who-wrote", rank=9,
           panes=("memory", "registers", "lanes", "watch"), needs="warp"),
    Action("more", "plus", "more", "open, more rows", "Inspect"),
    Action("less", "minus", "less", "fold, fewer rows", "Inspect"),
    Action("goto", "g", "go to", "a place in the code", "Inspect", rank=11, panes=("code",)),
    Action("history", "h", "history", "timeline, who wrote", "Inspect", "info timeline", rank=10,
           busy=True),
    Action("stop_back", "shift+left", "earlier", "the stop before", "Inspect", rank=17,
           panes=("stops",)),
    Action("stop_next", "shift+right", "later", "the stop after", "Inspect", rank=17,
           panes=("stops",)),
    Action("findings", "K", "check", "what checks find", "Inspect", "check all"),
    Action("variables", "V", "variables", "variables by name", "Inspect", "info locals",
           busy=True),
    Action("frames", "S", "frames", "call frames", "Inspect", "backtrace", busy=True),
    Action("output", "O", "output", "output buffers", "Inspect", "info buffers", busy=True),
    Action("marks", "m", "marks", "breakpoints", "Inspect", "info breakpoints", busy=True),
    Action("notes", "H", "notes", "notes of the story", "Inspect", busy=True),
    Action("gallery", "G", "stories", "the shipped stories", "Tools", busy=True),
    Action("console", "colon", "command", "command line", "Tools", rank=18, busy=True),
    Action("search", "slash", "search", "search, choose warps", "Tools", "info warps", rank=13,
           panes=("code", "memory", "warps")),
    Action("palette", "ctrl+p", "palette", "every command by name", "Tools", rank=20, busy=True),
    Action("copy", "y", "copy", "copy the pane's text", "Tools", rank=21, busy=True),
    Action("theme", "T", "theme", "next colour theme", "Tools", on_sides=True, busy=True),
    Action("help", "question_mark,f1", "help", "this page", "Tools", "help", rank=99,
           on_sides=True, busy=True),
    Action("quit", "q,ctrl+q", "quit", "quit", "Tools", "quit", on_sides=True, busy=True),
)
"""Every action of the main screen."""


_panes = partial(Action, "panes", label="pane", help="pane by number", do="pane({key})")
_side = partial(Action, scope="side")
_watch = partial(Action, scope="watch")
_trap = partial(Action, scope="trap")
_surface = partial(Action, scope="surface")
_history = partial(Action, scope="history")
_findings = partial(Action, scope="findings")
_gallery = partial(Action, scope="gallery")
_card = partial(Action, scope="card")
_fault = partial(Action, scope="fault")
_origin = partial(Action, scope="origin")
_why = partial(Action, scope="why")
_branches = partial(Action, scope="branches")
_help = partial(Action, scope="help")
_ask = partial(Action, scope="ask")
_launch = partial(Action, scope="launch")
_rows = partial(Action, scope="rows")
_prompt = partial(Action, scope="prompt")
_log = partial(Action, scope="log")
_memory = partial(Action, scope="memory")
_picture = partial(Action, scope="picture")
_lanes = partial(Action, scope="lanes")
_timeline = partial(Action, scope="timeline")

LOCAL_ACTIONS = (
    _panes(keys="0,1,2,3,4,5,6,7,8,9", group="Focus"),

    # Every side screen.
    _side("console", "colon", "command", "command line", do="console"),
    _side("close", "escape", "back", "back to the main screen", do="close"),

    # Warp watch.
    _watch("add", "a", "add", "watch an expression", do="add"),
    _watch("edit", "e", "edit", "another expression in its place", do="edit"),
    _watch("drop", "d,delete", "delete", "forget the expression", do="drop"),
    _watch("order", "o", "order", "values by value, lane, count", do="order"),
    _watch("odd_next", "full_stop", "next odd lane", "lane that stands out", do="odd(1)"),
    _watch("odd_back", "comma", "odd lane", "previous lane that stands out", do="odd(-1)"),
    _watch("table", "t", "table", "lanes in rows", do="table"),
    _watch("leave", "w", "back", "", do="close"),
    _panes(keys="1,2,3,4", scope="watch"),

    # Trap inspector.
    _trap("return", "f", "return (RTT)", "run to the handler's end", do="main('finish')"),
    _trap("set_next", "full_stop", "next set field", "field that is set", do="set_field(1)"),
    _trap("set_back", "comma", "set field", "previous field that is set", do="set_field(-1)"),
    _trap("explain", "i", "what is this?", "explain the field", do="explain"),
    _trap("edit", "e", "edit field", "write the field through the port", do="edit"),
    _trap("always", "a", "open by itself", "a trap opens this screen", do="always"),
    _trap("zeros", "plus", "zero fields", "fields that are zero", do="zeros"),
    _trap("format", "x", "hex", "hex, decimal", do="format"),
    _trap("leave", "t", "back", "", do="close"),
    _panes(keys="1,2,3,4,5,6", scope="trap"),

    # Surfaces.
    _surface("zoom_in", "plus,equals_sign", "zoom", "zoom in, out", do="zoom(1)"),
    _surface("zoom_out", "minus", "zoom", "zoom out", do="zoom(-1)"),
    _surface("fit", "0", "fit", "all of the picture", do="zoom(0)"),
    _surface("other_next", "o", "next surface", "surface or texture", do="other(1)"),
    _surface("other_back", "O", "surface", "previous surface or texture", do="other(-1)"),
    _surface("format", "x", "values", "picture, hex, values", do="format"),
    _surface("fresh_next", "full_stop", "new texel", "texel that is new", do="fresh(1)"),
    _surface("fresh_back", "comma", "new texel", "previous texel that is new", do="fresh(-1)"),
    _surface("writer", "W", "who wrote", "instruction that wrote the texel", do="writer"),
    _surface("goto", "g", "go to x, y", "texel at x, y", do="goto"),
    _surface("ramp", "p", "palette", "colours of one channel", do="ramp"),
    _surface("leave", "v", "back", "", do="close"),
    _panes(keys="1,2,3,4", scope="surface"),

    # History.
    _history("walk_next", "right", "column", "a column of the timeline", do="walk(1)"),
    _history("walk_back", "left", "column", "a column back", do="walk(-1)"),
    _history("leap_next", "greater_than_sign", "ten", "ten columns on", do="walk(10)"),
    _history("leap_back", "less_than_sign", "ten", "ten columns back", do="walk(-10)"),
    _history("stop_next", "shift+right", "stop", "kept stop", do="stop(1)"),
    _history("stop_back", "shift+left", "stop", "kept stop before", do="stop(-1)"),
    _history("note_next", "full_stop", "event", "event", do="note(1)"),
    _history("note_back", "comma", "event", "event before", do="note(-1)"),
    _history("zoom_in", "plus,equals_sign", "zoom", "zoom in, out", do="zoom(1)"),
    _history("zoom_out", "minus", "zoom", "zoom out", do="zoom(-1)"),
    _history("all", "0", "all", "the whole launch", do="zoom(0)"),
    _history("bookmark", "m", "mark", "bookmark, note at the cursor", do="bookmark"),
    _history("drop", "d,delete", "delete", "forget the bookmark", do="drop"),
    _history("writer", "W", "who wrote", "last write of the register", do="writer"),
    _history("register", "R", "register", "whose writes show", do="register"),
    _history("format", "x", "format", "hex, decimal, float", do="format"),
    _history("goto", "g", "go to tick", "tick by number", do="goto"),
    _history("now", "end", "now", "the present", do="now", needs="past", priority=True),
    _history("back_one", "backspace", "back", "one instruction back", do="main('back_stepi')"),
    _history("branches", "b", "branches", "branches: go to, name, compare, delete", do="branches"),
    _history("leave", "h", "back", "", do="close"),
    _panes(keys="1,2,3,4,5,6", scope="history"),

    # What checks have found.
    _findings("check", "c", "check again", "check the launch", do="check"),
    _findings("leave", "K", "back", "", do="close"),

    # Stories.
    _gallery("search", "slash", "search", "stories that hold a text", do="search"),
    _gallery("leave", "G", "back", "", do="close"),

    # Cards: the fault, help, a word explained; lines to type; the launch form.
    _card("close", "escape,q", "closes", "", do="close"),
    _fault("go", "enter", "go there", "", do="answer('go')"),
    _fault("memory", "M", "memory", "", do="answer('memory')", needs="nearest"),
    _fault("trap", "t", "trap state", "", do="answer('trap')", short="trap"),
    _fault("restart", "r", "start again", "", do="answer('restart')", short="again"),
    _fault("copy", "y", "copy", "", do="copy"),
    _fault("close", "escape", "close", "", do="close"),
    _fault("leave", "exclamation_mark", "close", "", do="close"),
    _fault("console", "colon", "command line", "", do="answer('console')"),
    _origin("go", "enter,W", "go there", "", do="answer('go')", needs="place"),
    _origin("why", "y", "why", "", do="answer('why')", needs="place"),
    _origin("values", "plus", "32 values", "", do="answer('values')", needs="values"),
    _origin("pointer", "f", "follow as an address", "", do="answer('pointer')", needs="pointer"),
    _origin("close", "escape,q", "close", "", do="close"),
    _why("go", "enter", "go there", ""),
    _why("more", "plus,right", "further back", "", do="more"),
    _why("close", "escape,q", "close", "", do="close"),
    _branches("go", "enter", "go there", ""),
    _branches("name", "n", "name this one", "", do="name"),
    _branches("compare", "c", "compare", "", do="compare"),
    _branches("drop", "d,delete", "delete", "", do="drop"),
    _branches("close", "escape,q", "close", "", do="close"),
    _help("close", "escape", "closes", "", do="close"),
    _help("clear", "ctrl+u", "clear", "", do="clear"),
    _help("erase", "backspace", "erase", "", do="erase"),
    _help("row_next", "down", "down", "", do="scroll(1)"),
    _help("row_back", "up", "up", "", do="scroll(-1)"),
    _help("page_next", "pagedown", "page", "", do="scroll(10)"),
    _help("page_back", "pageup", "page", "", do="scroll(-10)"),
    _ask("answer", "enter", "", ""),
    _ask("close", "escape", "closes", "", do="close"),
    _launch("answer", "enter", "launches", ""),
    _launch("launch", "f5", "launches", "", do="launch", priority=True),
    _launch("tab", "tab", "next", ""),
    _launch("save", "ctrl+s", "saves beside the program", "", do="save", priority=True),
    _launch("close", "escape", "reads the code", "", do="close"),
    _launch("box_next", "down", "next", "", do="app.focus_next"),
    _launch("box_back", "up", "next", "", do="app.focus_previous"),

    # Panes.
    _rows("row_next", "j,down", "rows", "rows", do="move(1)"),
    _rows("row_back", "k,up", "rows", "rows", do="move(-1)"),
    _rows("page_next", "pagedown", "page", "", do="page(1)"),
    _rows("page_back", "pageup", "page", "", do="page(-1)"),
    _rows("first", "home", "first", "", do="move(-1000000)"),
    _rows("last", "end", "last", "", do="move(1000000)"),
    _rows("open", "enter", "open", "open, follow", do="open"),
    _prompt("older", "up", "history", "", do="walk(-1)"),
    _prompt("newer", "down", "history", "", do="walk(1)"),
    _prompt("complete", "tab", "complete", "", do="complete"),
    _prompt("clear", "ctrl+u", "clear", "", do="clear_line"),
    _prompt("leave", "escape", "back", "", do="leave"),
    _prompt("page_back", "pageup", "answers", "", do="scroll_answers(-1)"),
    _prompt("page_next", "pagedown", "answers", "", do="scroll_answers(1)"),
    _log("pan_back", "left", "columns", "", do="pan(-1)"),
    _log("pan_next", "right", "columns", "", do="pan(1)"),
    _memory("column_back", "left", "column", "", do="column(-1)"),
    _memory("column_next", "right", "column", "", do="column(1)"),
    _picture("left", "left", "texel", "", do="walk(-1, 0)"),
    _picture("right", "right", "texel", "", do="walk(1, 0)"),
    _picture("far_left", "shift+left", "texel", "", do="walk(-8, 0)"),
    _picture("far_right", "shift+right", "texel", "", do="walk(8, 0)"),
    _picture("far_up", "shift+up", "texel", "", do="walk(0, -8)"),
    _picture("far_down", "shift+down", "texel", "", do="walk(0, 8)"),
    _picture("first", "home", "first", "", do="walk(-1000000, 0)"),
    _picture("last", "end", "last", "", do="walk(1000000, 0)"),
    _picture("slice", "pagedown", "slice", "", do="page(1)"),
    _lanes("pan_back", "left", "columns", "", do="pan(-1)"),
    _lanes("pan_next", "right", "columns", "", do="pan(1)"),
    _timeline("walk_back", "left", "earlier", "", do="walk(-1)"),
    _timeline("walk_next", "right", "later", "", do="walk(1)"),
    _timeline("travel", "enter", "go there", "the machine to the cursor", do="open"),
    _timeline("warp_back", "up,k", "warp", "", do="warps(-1)"),
    _timeline("warp_next", "down,j", "warp", "", do="warps(1)"),
    _timeline("page_back", "pageup", "warps", "", do="warps(-8)"),
    _timeline("page_next", "pagedown", "warps", "", do="warps(8)"),
    _timeline("first", "home", "first tick", "", do="first"),
)
"""Every action of the other screens and of panes, by scope."""

BY_ID = {a.id: a for a in ACTIONS}

RANKED = tuple(sorted((a for a in ACTIONS if a.rank), key=lambda a: a.rank))
"""The main screen's actions that have a place in its key row, ordered by `rank`."""
BY_NAME = {a.name: a for a in (*ACTIONS, *LOCAL_ACTIONS)}

KEY_ROWS = {
    "watch": "add edit drop table open=expand lane_* warp_* odd_next order stepi next close",
    "trap": "stepi=step return set_next explain edit console always zeros format "
            "open=fold panes close",
    "surface": "zoom_* fit other_next picture.slice format fresh_* writer goto ramp "
               "stepi=step panes close",
    "history": "walk_* leap_* stop_* note_* bookmark writer goto now zoom_* register stepi=step "
               "format branches",
    "findings": "open=go row_*=choose check close quit",
    "gallery": "open=start row_*=choose search close quit",
    "plugin": "close",
    "card": "close",
    "origin": "go why values pointer close",
    "why": "go more close",
    "branches": "go name compare drop close",
    "fault": "go memory trap restart copy close",
    "ask": "answer close",
    "launch": "answer tab save close",
}
"""Scope -> names of the actions in its key row, with another word after `=`, both directions at
once for `*`.  A name is looked for in the scope, on the main screen, then among those of all side
screens and of all panes.  The main screen's own row is by rank."""
# fmt: on

TITLES = {
    "watch": "Warp watch",
    "trap": "Trap inspector",
    "surface": "Surfaces",
    "history": "History",
    "findings": "Findings",
    "gallery": "Stories",
}
"""Scope -> the group of its actions on the help page that is opened over its screen."""

PAIRS = (("_next", "_back"), ("_in", "_out"))
"""Endings of the ids of two actions that belong together."""
