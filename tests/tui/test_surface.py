"""Surface viewer: the picture, its cursor, zoom and values, who wrote, and lanes outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpudbg.debug.pictures import ImageTaker
from gpudbg.device.picture import ramp
from gpudbg.frontends.tui.screens.main import MainScreen
from gpudbg.frontends.tui.screens.surface import SurfaceScreen
from gpudbg.frontends.tui.widgets.code import CodePane
from tests.narrowing import a, there

from .helpers import ROOT, make_app, open_first, open_kernel, press, screen_text, settle

CLAMP = ROOT / "sessions" / "surface_clamp" / "surface_clamp.cubin"
STORE_LINE = "surface_clamp.cu:24"


def blurred() -> Any:
    """The shipped story at its end."""
    session = open_kernel(CLAMP)
    session.cont()
    return session


def test_ramps_grow_lighter_from_end_to_end() -> None:
    for name in ("grey", "viridis"):
        light = ramp(name).astype(float) @ (0.2126, 0.7152, 0.0722)
        assert (np.diff(light) > -0.5).all()
        assert light[-1] - light[0] > 150


@pytest.mark.full(instead="test_viewer_shows_picture_value_place_and_writer")
def test_picture_agrees_with_the_device() -> None:
    session = blurred()
    picture = ImageTaker(session).take("", 0, 1)
    assert there(picture).image.name == "blurred"
    assert [(r.name, r.size, r.slices) for r in there(picture).rows] == [
        ("photo", "96x64", 1),
        ("blurred", "96x64", 1),
    ]
    assert (there(picture).values[..., 0] == there(picture).image.array()).all()
    assert there(picture).fresh.all()
    assert (there(picture).hex(0, 30), there(picture).decoded(0, 30)) == ("47", "R 71")
    # What `info surfaces blurred 0 30` says of the same texel.
    place = dict(there(picture).place_words(0, 30))
    assert place["Offset"] == "0x780"
    assert place["GOB"] == "3 of the block  + 0x600"
    assert place["Byte"] == "column 0 row 6  + 0x180"
    assert place["Raw view"] == "0x6c0 (16Bx2)"
    writer = there(picture).writer(0, 30)
    assert (there(writer).block, there(writer).thread) == ((0, 3, 0), (0, 6, 0))
    assert (there(writer).warp, there(writer).lane, there(writer).count) == (3, 0, 1)
    assert there(writer).where.endswith(STORE_LINE)
    assert not any(there(picture).edges.values())


@pytest.mark.full(instead="test_every_key_of_the_viewer")
def test_lanes_outside_are_marked_at_the_sides_they_left() -> None:
    session = blurred()
    picture = ImageTaker(session).take("photo", 0, 1)
    assert there(picture).writers is None
    assert there(picture).writer(0, 0) is None
    assert {(r.clamp, r.lanes) for r in there(picture).outside} == {("IGN", 1792), ("NEAR", 1792)}
    assert there(picture).edges["left"]
    assert there(picture).edges["right"]
    assert not there(picture).edges["top"]
    lanes = next(r for r in there(picture).outside if r.clamp == "IGN").last
    assert {lane.did for lane in lanes} == {"reads 0"}


def test_only_texels_of_the_last_stop_are_new() -> None:
    session = open_kernel(CLAMP)
    session.break_at(STORE_LINE)
    taker = ImageTaker(session)
    assert not there(taker.take("blurred", 0, 0)).fresh.any()
    counts = []
    for stop in range(1, 12):
        session.cont()
        picture = taker.take("blurred", 0, stop)
        counts.append(int(there(picture).fresh.sum()))
        again = taker.take("blurred", 0, stop)
        assert (there(again).fresh == there(picture).fresh).all()
    written = int((there(there(picture).writers)["count"] != 0).sum())
    assert sum(counts) == written > 0


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
@pytest.mark.parametrize(("palette", "marks"), [("dark", "unicode"), ("mono", "ascii")])
async def test_viewer_shows_picture_value_place_and_writer(
    size: tuple[int, int], palette: str, marks: str
) -> None:
    app = make_app(blurred(), palette=palette, marks=marks)
    async with app.run_test(size=size) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "v")
        assert isinstance(app.screen, SurfaceScreen)
        text = "\n".join(screen_text(app))
        for words in ("Surface blurred", "96", "0x54", "R 84", "box_filter+0x1b0", "warp 0"):
            assert words in text, words
        assert ("▀" in text) == (marks == "unicode")
        await press(app, pilot, "o")
        assert "Surface photo" in "\n".join(screen_text(app))
        assert app.screen.surface.appearance.glyphs.cross in "\n".join(
            app.screen.surface.texts[2:9]
        )
        await press(app, pilot, "escape")
        assert isinstance(app.screen, MainScreen)


async def test_every_key_of_the_viewer() -> None:
    app = make_app(blurred())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "v")
        screen = a(SurfaceScreen, app.screen)
        pane = screen.surface
        picture = pane.picture
        await press(app, pilot, "right", "down", "j", "k", "shift+right", "shift+down")
        assert (pane.x, pane.y) == (9, 9)
        assert "9, 9" in "\n".join(screen.cursor_pane.texts)
        before = pane.actual_zoom(there(picture))
        await press(app, pilot, "plus")
        assert pane.actual_zoom(there(picture)) > before
        await press(app, pilot, "0")
        assert pane.actual_zoom(there(picture)) < 0
        assert "zoom 1:2" in pane.texts[0]
        await press(app, pilot, "minus")
        assert pane.actual_zoom(there(picture)) == -3
        await press(app, pilot, "x")
        assert pane.mode == "hex"
        assert any(there(picture).hex(9, 9) in line for line in pane.texts)
        await press(app, pilot, "x", "x")
        assert pane.mode == "picture"
        assert pane.colours == "grey"
        await press(app, pilot, "p")
        assert pane.colours == "viridis"
        await press(app, pilot, "full_stop")
        assert (pane.x, pane.y) == (10, 9)
        await press(app, pilot, "comma")
        assert (pane.x, pane.y) == (9, 9)
        await press(app, pilot, "g", *"95, 63", "enter")
        assert (pane.x, pane.y) == (95, 63)
        await press(app, pilot, "end", "home")
        assert pane.x == 0
        await press(app, pilot, "W")
        assert isinstance(app.screen, MainScreen)
        code = app.main.query_one(CodePane)
        assert code.key == ("pc", there(there(picture).writer(0, 63)).pc)


@pytest.mark.full(instead="test_every_key_of_the_viewer")
async def test_mouse_reads_chooses_and_zooms() -> None:
    app = make_app(blurred())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "v")
        screen = a(SurfaceScreen, app.screen)
        pane = screen.surface
        assert pane.texel_at(5, 2) == (0, 0)
        await pilot.hover(pane, offset=(8, 4))
        await pilot.pause()
        assert pane.here == (3, 4)
        assert (pane.x, pane.y) == (0, 0)
        assert "under the mouse" in screen.cursor_pane.texts[0]
        await pilot.click(pane, offset=(10, 5))
        assert (pane.x, pane.y) == (5, 6)
        await pilot.click(screen.images, offset=(4, 1))
        await settle(app, pilot)
        assert there(pane.picture).image.name == "photo"
        await press(app, pilot, "4", "down", "enter")
        await settle(app, pilot)
        assert isinstance(app.screen, MainScreen)


@pytest.mark.full(instead="test_viewer_shows_picture_value_place_and_writer")
async def test_slices_and_formats_of_python_made_surfaces(tmp_path: Path) -> None:
    table = tmp_path / "t.toml"
    cubin = tmp_path / "t.cubin"
    cubin.write_bytes(CLAMP.read_bytes())
    table.write_text(
        'kernel = "box_filter"\ngrid = [1, 1]\nblock = [16, 8]\n'
        'args = [{ image = "cube" }, { image = "row" }, "i32:0", "i32:0"]\n'
        '[images.cube]\nkind = "surface"\ndim = "3d"\ntype = "f32"\nsize = [4, 3, 2]\n'
        'init = "arange"\n'
        '[images.row]\nkind = "surface"\ndim = "1d"\ntype = "u16"\nsize = [7]\n'
    )
    with table.open("a") as f:
        f.write(
            '[images.packed]\nkind = "texture"\ndim = "2d"\ntype = "u16"\nsize = [2, 1]\n'
            'format = "B5G6R5"\ntexel_type = "UNORM"\ninit = "arange(start=31, step=1985)"\n'
            'compare = "less"\nmip_filter = "point"\n'
        )
    app = make_app(open_kernel(cubin))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "v")
        pane = a(SurfaceScreen, app.screen).surface
        assert there(pane.picture).image.name == "row"
        await press(app, pilot, "O", "O")
        packed = pane.picture
        assert there(packed).image.name == "packed"
        assert there(packed).decoded(0, 0) == "R 1  G 0  B 0"
        assert there(packed).shown.tolist() == [[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]
        assert "clamp, point" in "\n".join(a(SurfaceScreen, app.screen).cursor_pane.texts)
        answer = app.session.command("info textures packed 1 0")
        assert answer.lines[0].endswith("0x07e0  R 0  G 1  B 0")
        await press(app, pilot, "O")
        assert pane.colours == "viridis"
        await press(app, pilot, "O", "right", "down")
        picture = pane.picture
        assert (there(picture).image.name, there(picture).slice_word) == ("cube", "z slice")
        assert "z slice 0 of 2" in pane.texts[0]
        await press(app, pilot, "pagedown")
        assert "z slice 1 of 2" in pane.texts[0]
        assert (pane.x, pane.y) == (1, 1)
        assert (there(pane.picture).values[..., 0] == there(picture).image.array()[1]).all()
        assert dict(there(pane.picture).place_words(1, 1))["Offset"] == "0x244"
        await press(app, pilot, "pagedown")
        assert "z slice 1 of 2" in pane.texts[0]


async def test_without_surfaces_the_key_says_so() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "v")
        assert isinstance(app.screen, MainScreen)
        assert "no surfaces" in "\n".join(screen_text(app))
