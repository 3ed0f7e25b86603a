"""Sessions for the terminal UI's tests, and a way to wait for its engine."""

from __future__ import annotations

import asyncio
import time
import unicodedata
from pathlib import Path
from typing import Any

from textual.events import Key
from textual.keys import REPLACED_KEYS, _character_to_key, _get_unicode_name_from_key
from textual.message import Message
from textual.message_pump import MessagePump
from textual.screen import ModalScreen, Screen
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

PATIENCE_S = 60
"""How long a loaded machine may take for one answer of the engine."""

CALM_ROUNDS = 2
"""As often in a row nothing is found to be done before a screen is taken for settled."""

FREE_TURNS = 100
"""Turns of the event loop without a sleep, so that what a thread does gets its time."""

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
    """Wait until the engine has nothing to do and its last picture is drawn.

    `pilot.pause` would send every widget a message, and sleep besides until the whole process is
    idle, 20 ms or more each time.
    """
    end, calm = time.monotonic() + PATIENCE_S, 0
    while calm < CALM_ROUNDS:
        while not app.at_rest:
            assert time.monotonic() < end, "not at rest"
            await asyncio.sleep(0.003)
        if not await all_heard(app):
            return
        await app.animator.wait_until_complete()
        for screen in changed_behind(app):
            screen._on_timer_update()
        app.screen._on_timer_update()
        await asyncio.sleep(0)
        painted = not waits(app.screen) and not changed_behind(app)
        calm = calm + 1 if app.at_rest and painted and not unheard(app) else 0
        assert painted or time.monotonic() < end, "the screen is not painted"


def changed_behind(app: GpudbgApp) -> list[Screen[object]]:
    """Screens that show through the uppermost one and have widgets to paint.

    Textual leaves them marked for a repaint each time (`_repaint_required`): that says nothing.
    """
    if not isinstance(app.screen, ModalScreen):
        return []
    return [screen for screen in app._background_screens if screen._dirty_widgets]


def waits(screen: Any) -> bool:
    """Whether something is to be laid out, painted, or called after that."""
    kinds = "layout_required scroll_required repaint_required recompose_required".split()
    some = screen._dirty_widgets or screen._compositor._dirty_regions or screen._callbacks
    return bool(some) or any(getattr(screen, f"_{kind}") for kind in kinds)


async def all_heard(app: GpudbgApp) -> bool:
    """Wait until no widget has a message left; False if the application ends with an error."""
    end, turns = time.monotonic() + PATIENCE_S, 0
    while busy := unheard(app):
        if app._exception_event.is_set():
            return False
        assert time.monotonic() < end, f"{busy} is not done with its messages"
        turns += 1
        await asyncio.sleep(0 if turns % FREE_TURNS else 0.001)
    return True


def unheard(app: GpudbgApp) -> MessagePump | None:
    """A part of the application that is not waiting for its next message."""
    for pump in (app, *app._registry):
        queue: Any = pump._message_queue
        waits: Any = queue.empty() and vars(queue.ready_event)["_waiters"]
        # A part that has broken takes no more messages; the application shows what it said.
        over = pump._closing or pump._closed or (pump._task is not None and pump._task.done())
        if not over and (not waits or pump._next_callbacks):
            return pump
    return None


def send_key(app: GpudbgApp, key: str) -> None:
    """A key as the terminal's driver sends it; `pilot.press` would wait twice until all is idle."""
    name = _character_to_key(key) if len(key) == 1 and not key.isalnum() else key
    try:
        character = unicodedata.lookup(_get_unicode_name_from_key(REPLACED_KEYS.get(name, name)))
    except KeyError:
        character = key if len(key) == 1 else ""
    event = Key(name, character or None)
    event.set_sender(app)
    there(app._driver).send_message(event)


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
        send_key(app, key)
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
