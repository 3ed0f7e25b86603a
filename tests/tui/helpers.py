"""Sessions for the terminal UI's tests, and a way to wait for its engine."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from textual.events import Key
from textual.keys import _character_to_key
from textual.message import Message
from textual.widgets import Input

from gpudbg.debug.session import DebugSession
from gpudbg.frontends.tui import glyphs, theme
from gpudbg.frontends.tui.app import GpudbgApp
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.collect import Collector
from gpudbg.frontends.tui.view import ScreenView, ViewOptions
from gpudbg.frontends.tui.widgets.code import CodePane
from tests.launching import FIRST, open_with
from tests.narrowing import there

ROOT = Path(__file__).absolute().parents[2]
CUBINS = ROOT / "tests" / "data" / "kernels" / "cubin" / "sm_50"

OOB = "--grid 1 --block 64 --arg p=i32[64]:zeros --arg i32:64 --arg i64:68719476736".split()
LOOP = "--grid 1 --block 32 --arg flag=i32[1]:zeros --arg out=i32[32]:zeros".split()
TRAP = (
    "--grid 2 --block 64 --arg in=i32[128]:arange(start=0,step=1) --arg out=i32[128]:zeros".split()
)
DIVERGE = (
    "--grid 16 --block 256 --num-sms 1 --arg in=u32[4096]:lcg(seed=241) "
    "--arg out=u32[4096]:zeros --arg i32:4000"
).split()

PATIENCE_S = 20
"""How long a loaded machine may take for one answer of the engine."""

UNICODE = Appearance(theme.PALETTES["dark"], glyphs.UNICODE)


def open_first() -> DebugSession:
    """The shipped first story."""
    return open_kernel(FIRST)


def open_kernel(path: Path | str, flags: list[str] | None = None) -> DebugSession:
    """A session of a cubin (by name: one of the test kernels)."""
    cubin = path if isinstance(path, Path) else CUBINS / f"{path}.cubin"
    return open_with(cubin, flags or [])


def open_endless() -> DebugSession:
    """A loop without an end, which a run does not stop for."""
    session = open_kernel("fault_infinite_loop", LOOP)
    session.execute("set stop-on-hang off")
    return session


def appearance(palette: str = "dark", marks: str = "unicode") -> Appearance:
    """A look of its own, so that a test may change it."""
    return Appearance(theme.PALETTES[palette], glyphs.SETS[marks])


def view_of(session: DebugSession, **options: Any) -> ScreenView:
    """One view of a session."""
    return Collector(session, ViewOptions(**options)).take()


def make_app(session: DebugSession, startup: list[str] | None = None, **more: Any) -> GpudbgApp:
    """An application around a session."""
    return GpudbgApp(session, startup, appearance(**more))


def current(app: GpudbgApp) -> ScreenView:
    """The picture that the main screen shows of the present."""
    return there(app.main.current)


def pc_at(app: GpudbgApp, pane: CodePane) -> int:
    """The address of the instruction under the code pane's cursor."""
    return there(current(app).code.entries[there(pane.cursor)].pc)


def offset_at(app: GpudbgApp, pane: CodePane) -> int:
    """The same from the start of the kernel."""
    return current(app).code.offset(pc_at(app, pane))


def draw(app: GpudbgApp, view: ScreenView) -> None:
    """Show a view, to the last line."""
    app.main.adopt(view)
    screen_text(app)


def focused_widget(app: GpudbgApp) -> Any:
    """What has the focus."""
    return app.focused


def shown_screen(app: GpudbgApp) -> Any:
    """The uppermost screen."""
    return app.screen


def on_main(app: GpudbgApp) -> bool:
    """Whether no other screen lies over the main one."""
    return app.screen is app.main


async def settle(app: GpudbgApp, pilot: Any) -> None:
    """Wait until the engine has nothing to do and its last picture is drawn."""
    end = time.monotonic() + PATIENCE_S
    await pilot.pause(0.004)
    while not app.at_rest and time.monotonic() < end:
        await pilot.pause(0.004)
    assert app.at_rest
    await pilot.pause()
    while (app.screen._layout_required or app.screen._dirty_widgets) and time.monotonic() < end:
        # Widgets hear of their new places after the paint that gives them these.
        await pilot.pause(0.004)
    assert not app.screen._dirty_widgets, "the screen is not painted"
    await pilot.pause()


async def press(app: GpudbgApp, pilot: Any, *keys: str) -> None:
    """Press keys one by one, each settled; letters typed into a line go in at once."""
    typed: list[str] = []
    for key in keys:
        if isinstance(app.focused, Input) and len(key) == 1:
            typed.append(key)
            continue
        if typed:
            assert isinstance(app.focused, Input)
            app.focused.insert_text_at_cursor("".join(typed))
            typed = []
        await pilot.press(key)
        await settle(app, pilot)
    if typed:
        assert isinstance(app.focused, Input)
        app.focused.insert_text_at_cursor("".join(typed))
        await settle(app, pilot)


async def burst(app: GpudbgApp, pilot: Any, *keys: str | Message) -> None:
    """Keys (or other events) that arrive together, as in one write of the terminal."""
    for key in keys:
        if isinstance(key, Message):
            app.post_message(key)
            continue
        name = _character_to_key(key) if len(key) == 1 else key
        app.post_message(Key(name, key if len(key) == 1 else " " if key == "space" else None))
    await settle(app, pilot)


def screen_text(app: GpudbgApp) -> list[str]:
    """What the terminal shows, line by line."""
    strips = app.screen._compositor.render_strips(app.size)
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]
