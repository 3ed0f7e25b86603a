"""Variables and frames: open variables, select frames, look up names in the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.analysis import LaneShape
from gpudbg.debug.pictures import result_row
from gpudbg.errors import GpudbgError
from gpudbg.expr import Scalar
from gpudbg.frontends.tui.handlers import HANDLERS
from gpudbg.frontends.tui.widgets.code import CodePane
from gpudbg.frontends.tui.widgets.console import ConsolePane
from gpudbg.frontends.tui.widgets.source import NAME, SourcePane

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.frontends.tui.screens.main import MainScreen

MOST = 12

HANDLERS["variables"] = lambda screen: screen.focus_pane("variables")
HANDLERS["frames"] = lambda screen: screen.focus_pane("frames")


def toggle_variable(screen: MainScreen, path: str) -> None:
    """Open or close a variable; its members are read when it is opened."""
    screen.options.opened ^= {path}
    screen.quick(lambda s: None)


def select_frame(screen: MainScreen, level: int) -> None:
    """Select a frame: names are looked up in it, code and source show where it continues."""
    line = f"frame {level}"
    screen.query_one(ConsolePane).log_command(line)
    if not screen.quick(lambda session: session.command(line)) or screen.current is None:
        return
    frame = next((f for f in screen.current.frames if f.level == level), None)
    if frame is None:
        return
    screen.query_one(CodePane).go_to(screen.current.code.row(frame.pc))
    source = screen.query_one(SourcePane)
    if source.display:
        source.look_at(frame.pc)


def value_words(session: DebugSession, name: str) -> str:
    """Describe a variable: `v = 12 in lane 3   32 lanes: uniform`, `r = {x = 0}`; "" for other
    names.

    A function is described by its declaration: `scaled: Vec (Vec, float)`.
    """
    try:
        result = session.evaluate(name)
        detail = session.snapshot().detail
        if result.place is not None and result.place.kind == "function":
            return f"{name}: {result.type}"
        text = session.command(f"output {name}").text
    except GpudbgError:
        return ""
    lane = session.focus.lane if session.focus is not None else 0
    if not result.valid[lane]:
        return f"{name}: {result.why or 'no value'} in lane {lane}"
    if detail is None or not isinstance(result.type, Scalar):
        return f"{name} = {text} in lane {lane}"
    row = result_row(name, result, detail, lane, "variable", None)
    shape: LaneShape = row.shape
    return f"{name} = {row.focus_text} in lane {lane}   32 lanes: {shape.words}"


def names_in(text: str) -> list[str]:
    """The identifiers of a source line outside comments, without repeats."""
    code = text.partition("//")[0]
    return list(dict.fromkeys(m[0] for m in NAME.finditer(code)))[:MOST]


def explain_source(screen: MainScreen) -> list[str]:
    """Describe the variables that the cursor's source line names."""
    text = screen.query_one(SourcePane).line_text()
    words = (value_words(screen.session, name) for name in names_in(text))
    return [w for w in words if w]


def hovered(screen: MainScreen, name: str) -> None:
    """Show the value of the name under the mouse in the key row, where it has one."""
    if screen.engine.busy or screen.session.focus is None:
        return
    words = value_words(screen.session, name)
    if words:
        screen.gpudbg.say(words, "muted")
