"""The launch form: a program opens without a launch, its code is there, the form starts it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from textual.widgets import Input, Label, OptionList

from gpudbg.api.opening import launch_parser, open_session
from gpudbg.frontends.tui.app import GpudbgApp
from gpudbg.frontends.tui.keys import one_line
from gpudbg.frontends.tui.screens.launch import LaunchScreen
from tests.tui.helpers import (
    CUBINS,
    ROOT,
    focused_widget,
    make_app,
    on_main,
    press,
    screen_text,
    settle,
)

SIZES = [(80, 24), (120, 40), (200, 60)]


@pytest.fixture
def saxpy(tmp_path: Path) -> Path:
    """A cubin of two kernels beside its source, without a launch table."""
    shutil.copy(CUBINS / "saxpy.cubin", tmp_path)
    shutil.copy(ROOT / "tests" / "data" / "kernels" / "saxpy.cu", tmp_path)
    return tmp_path / "saxpy.cubin"


def opened(path: Path, *startup: str) -> GpudbgApp:
    session = open_session(path, launch_parser().parse_args([]), may_wait=True)
    return make_app(session, list(startup))


def form(app: GpudbgApp) -> LaunchScreen:
    assert isinstance(app.screen, LaunchScreen)
    return app.screen


@pytest.mark.full(instead="test_code_and_breakpoints_before_the_launch")
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("size", SIZES)
async def test_choose_fill_in_and_launch(saxpy: Path, size: tuple[int, int]) -> None:
    app = opened(saxpy)
    async with app.run_test(size=size) as pilot:
        await settle(app, pilot)
        assert "daxpy" in "\n".join(screen_text(app))
        assert form(app).query_one(OptionList).option_count == 2
        await pilot.press(*"saxpy", "enter")
        await settle(app, pilot)
        assert one_line("launch", {}, gap="  ") in "\n".join(screen_text(app)), "cut off"
        assert form(app).form.kernel == "saxpy"
        assert [a.name for a in form(app).form.arguments] == ["n", "a", "x", "y"]
        grid = form(app).query_one("#grid", Input)
        assert grid.has_focus
        grid.value = "nonsense"
        await pilot.press("enter")
        await settle(app, pilot)
        assert "grid 'nonsense'" in str(form(app).query_one("#state", Label).content)
        grid.value = "1"
        form(app).query_one("#arg-1", Input).value = "f32:3"
        await pilot.press("f5")
        await settle(app, pilot)
        assert on_main(app)
        assert app.session.launched
        assert app.session.grid.grid == (1, 1, 1)
        assert app.session.launch.arguments[1].value == 3
        assert app.main.current is not None
        assert app.main.current.header.kernel == "saxpy"
        await press(app, pilot, "f5")
        assert app.session.stop is not None
        assert app.session.stop.kind == "exited"


async def test_code_and_breakpoints_before_the_launch(saxpy: Path) -> None:
    app = opened(saxpy)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "escape")
        assert on_main(app)
        text = "\n".join(screen_text(app))
        assert "Not launched" in text
        assert "N launch" in text
        assert "S2R R0, SR_CTAID.X" in text
        await press(app, pilot, "j", "j", "b")
        assert len(list(app.session.breakpoints)) == 1
        for key in ("space", "n", "f5", "r"):
            await press(app, pilot, key)
            assert isinstance(app.screen, LaunchScreen), key
            await press(app, pilot, "escape")
        app.main.run_command("launch saxpy --grid 1")
        await settle(app, pilot)
        assert app.session.kernel.name == "saxpy"
        assert app.main.current is not None
        assert app.main.current.header.grid == "1"
        # The form is there for the next launch, too.
        await press(app, pilot, "N")
        assert form(app).form.kernel == "saxpy"
        assert form(app).form.grid == "1"


@pytest.mark.full(instead="test_choose_fill_in_and_launch")
async def test_save_writes_a_table_beside_the_program(saxpy: Path) -> None:
    app = opened(saxpy)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(app, pilot)
        await pilot.press("down")
        await settle(app, pilot)
        assert isinstance(focused_widget(app), OptionList)
        for key in ("down", "ctrl+s"):
            await pilot.press(key)
            await settle(app, pilot)
            assert "does nothing" not in screen_text(app)[-1]
        assert "saved to" in "\n".join(screen_text(app))
        assert saxpy.with_suffix(".toml").is_file()
        assert open_session(saxpy, launch_parser().parse_args([])).kernel.name == "daxpy"
        await pilot.press("ctrl+s")
        await settle(app, pilot)
        assert "is there already" in str(form(app).query_one("#state", Label).content)


async def test_commands_of_the_command_line_come_before_the_form(saxpy: Path) -> None:
    app = opened(saxpy, "break saxpy", "launch saxpy --grid 1")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(app, pilot)
        await settle(app, pilot)
        assert on_main(app)
        assert app.session.kernel.name == "saxpy"
