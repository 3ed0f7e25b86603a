"""`set theme`, `set keymap` and `set ascii`: on the screen, completed, saved, and without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.events import Resize
from textual.geometry import Size
from textual.pilot import Pilot

from gpudbg.debug.completion import complete
from gpudbg.debug.settings import NO_SCREEN
from gpudbg.errors import CommandError
from gpudbg.frontends.tui import glyphs, keymaps, theme
from gpudbg.frontends.tui.app import GpudbgApp
from gpudbg.frontends.tui.saved import Saved
from gpudbg.frontends.tui.widgets.console import ConsolePane
from tests.narrowing import there

from .helpers import appearance, make_app, open_first, press, settle


def said(app: GpudbgApp) -> list[str]:
    return [r.text.strip() for r in app.main.query_one(ConsolePane).answers.lines]


async def typed(app: GpudbgApp, pilot: Pilot[int], line: str) -> None:
    await press(app, pilot, "colon", *line, "enter", "escape")


async def test_the_console_changes_theme_keys_and_marks() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        await typed(app, pilot, "set theme light")
        assert app.appearance.palette is theme.PALETTES["light"]
        assert app.theme == "gpudbg-light"
        await press(app, pilot, "T")
        await typed(app, pilot, "show theme")
        assert said(app)[-1].split()[:2] == ["theme", app.appearance.palette.name]
        await typed(app, pilot, "set ascii on")
        assert app.appearance.glyphs is glyphs.ASCII
        await typed(app, pilot, "set ascii off")
        assert app.appearance.glyphs is glyphs.UNICODE
        await typed(app, pilot, "set keymap x64dbg")
        await press(app, pilot, "f7")
        assert there(app.session.stop).pc == 16, "F7 steps in x64dbg's keys"
        await typed(app, pilot, "set theme beige")
        assert "theme cannot be 'beige'" in said(app)[-1]
        for name in theme.PALETTES:
            assert name in said(app)[-1]
        # Another program's session has them too.
        app.open_program(Path(app.session.program.path))
        await settle(app, pilot)
        await typed(app, pilot, "show keymap")
        assert said(app)[-1].split()[:2] == ["keymap", "x64dbg"]


async def test_a_screen_that_was_left_may_hear_of_a_new_size() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        left = app.main
        app.open_program(Path(app.session.program.path))
        await settle(app, pilot)
        assert left is not app.main
        assert left.session.closed
        left.on_resize(Resize(Size(1, 1), Size(1, 1)))
        assert app.main.session is app.session
        assert not app.session.closed


def test_names_and_values_are_completed() -> None:
    app = make_app(open_first())

    def lines(text: str) -> list[str]:
        return complete(app.session, text)

    assert lines("set the") == ["set theme"]
    assert lines("set theme ") == [f"set theme {name}" for name in theme.PALETTES]
    assert lines("set keymap g") == ["set keymap gdb"]
    assert lines("show key") == ["show keymap"]
    assert lines("set cuda coal") == ["set cuda coalescing"]
    assert lines("set cuda coalescing o") == ["set cuda coalescing on", "set cuda coalescing off"]


def test_without_a_screen_a_command_file_runs_on(tmp_path: Path) -> None:
    session = open_first()
    script = tmp_path / "begin.gdb"
    script.write_text("set theme light\nset keymap vim\nset ascii on\nstepi\nshow theme\n")
    lines = session.command(f"source {script}").lines
    assert lines.count(NO_SCREEN) == 3
    assert there(session.stop).pc == 16
    assert lines[-1].split()[:3] == ["theme", "no", "screen"]
    with pytest.raises(CommandError, match="is not a setting"):
        session.command("set themes light")


@pytest.mark.full(instead="test_the_console_changes_theme_keys_and_marks")
async def test_layout_save_keeps_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GPUDBG_THEME", "GPUDBG_KEYMAP", "GPUDBG_ASCII", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLORTERM", "truecolor")
    where = tmp_path / "layouts.json"
    app = GpudbgApp(open_first(), [], appearance(), saved=Saved.read(where))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        await typed(app, pilot, "layout save")
        assert "look" not in json.loads(where.read_text()), "nothing was chosen"
        for line in ("set theme contrast", "set keymap vim", "set ascii on", "layout save"):
            await typed(app, pilot, line)
    again = GpudbgApp(open_first(), [], saved=Saved.read(where))
    assert again.appearance.palette.name == "contrast"
    assert again.appearance.glyphs is glyphs.ASCII
    async with again.run_test(size=(120, 40)) as pilot:
        await settle(again, pilot)
        assert again.keymap_name == "vim"
    where.write_text(json.dumps({"layouts": {}, "look": {"theme": "gone", "keymap": "gone"}}))
    other = GpudbgApp(open_first(), [], saved=Saved.read(where))
    async with other.run_test(size=(120, 40)) as pilot:
        await settle(other, pilot)
        assert other.keymap_name == keymaps.DEFAULT
    where.write_text('{"layouts": {}, "look": [1]}')
    assert "cannot be read" in Saved.read(where).trouble


def test_what_is_asked_for_comes_before_what_is_saved() -> None:
    assert theme.choose({"GPUDBG_THEME": "dark", "TERM": "xterm"}, "light").name == "dark"
    assert theme.choose({"NO_COLOR": "1"}, "light").name == "mono"
    assert theme.choose({"TERM": "xterm-256color"}, "light").name == "256"
    assert theme.choose({"TERM": "xterm-256color"}, "mono").name == "mono"
    deep = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    assert theme.choose(deep, "light").name == "light"
    assert glyphs.choose({"GPUDBG_ASCII": "0"}, "on") is glyphs.UNICODE
    assert glyphs.choose({"LANG": "C.UTF-8"}, "on") is glyphs.ASCII
