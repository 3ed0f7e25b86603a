"""Variables and frames: opened, selected, and names under the mouse in the source."""

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
    """Open or close a variable; what is in it is read now."""
    screen.options.opened ^= {path}
    screen.quick(lambda s: None)


def select_frame(screen: MainScreen, level: int) -> None:
    """Names are looked up in this frame; code and source show where it goes on."""
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
    """`v = 12 in lane 3   32 lanes: uniform`, `r = {x = 0}`; "" for what is no variable.

    A function is what it is declared as: `scaled: Vec (Vec, float)`.
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
    """The names of a source line, each once; comments have none."""
    code = text.partition("//")[0]
    return list(dict.fromkeys(m[0] for m in NAME.finditer(code)))[:MOST]


def explain_source(screen: MainScreen) -> list[str]:
    """What the variables of the cursor's source line have."""
    text = screen.query_one(SourcePane).line_text()
    words = (value_words(screen.session, name) for name in names_in(text))
    return [w for w in words if w]


def hovered(screen: MainScreen, name: str) -> None:
    """The mouse is over a name in the source: its value in the key row, where it has one."""
    if screen.engine.busy or screen.session.focus is None:
        return
    words = value_words(screen.session, name)
    if words:
        screen.gpudbg.say(words, "muted")
