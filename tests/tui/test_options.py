"""The command palette and lists of choices hold with any key, click and size."""

from __future__ import annotations

import asyncio

import pytest
from textual.events import Click, Resize
from textual.geometry import Size
from textual.pilot import Pilot

from gpudbg.frontends.tui.app import GpudbgApp
from gpudbg.frontends.tui.widgets.options import PaletteChoices
from tests.narrowing import there

from .helpers import burst, make_app, on_main, open_first, settle


async def palette(app: GpudbgApp, pilot: Pilot[int]) -> PaletteChoices:
    """The open palette's list, filled."""
    await burst(app, pilot, "ctrl+p")
    for _ in range(400):
        found = app.screen.query(PaletteChoices)
        if found and found.first().option_count and found.first().highlighted is not None:
            return found.first()
        await asyncio.sleep(0.01)
    raise AssertionError("the palette stays empty")


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("size", [(1, 1), (20, 5), (40, 2)])
async def test_pages_of_a_palette_without_room(size: tuple[int, int]) -> None:
    app = make_app(open_first())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(app, pilot)
        await palette(app, pilot)
        app.post_message(Resize(Size(*size), Size(*size)))
        await burst(app, pilot, "pagedown", "pageup", "down", "up", "pagedown")
        app.post_message(Resize(Size(80, 24), Size(80, 24)))
        await burst(app, pilot, "pagedown", "escape")
        assert on_main(app)


async def test_a_page_is_a_page_where_there_is_room() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(app, pilot)
        found = await palette(app, pilot)
        await burst(app, pilot, "pagedown")
        assert there(found.highlighted) > 3


async def test_a_click_on_a_row_that_has_gone() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(app, pilot)
        found = await palette(app, pilot)
        from rich.style import Style

        gone = Style(meta={"option": 10_000})
        found.post_message(Click(found, 1, 1, 0, 0, 1, False, False, False, 1, 1, gone))
        await pilot.pause()
    assert app._exception is None
