"""A 20,000-instruction program with 64 warps on the SM stays quick to open and to step.

Work is counted in calls of Python functions, which a loaded machine does not change; `make bench`
has the times.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from textual.strip import Strip

from gpudbg.analysis.liveness import MAX_INSTRUCTIONS, Liveness
from gpudbg.analysis.local_liveness import LocalLiveness
from gpudbg.frontends.tui.collect import Collector
from gpudbg.frontends.tui.screens.main import MainScreen
from gpudbg.frontends.tui.view import ViewOptions
from gpudbg.frontends.tui.widgets.base import LinePane
from gpudbg.frontends.tui.widgets.code import CodePane
from gpudbg.frontends.tui.widgets.compositor import LineCompositor, LinesUpdate
from tests.calls import calls_of
from tests.narrowing import a, there
from tests.tui.helpers import draw

from .helpers import burst, current, make_app, open_first, open_kernel, screen_text, settle

ADD = 0x1C00000000170000
"""IADD32I R0, R0, 0x1; the destination is in bits 0..7, the source in 8..15."""
BRA = 0xE24000000000000F
"""BRA; the distance from what follows it is in bits 20..43, the predicate in bits 16..18."""
EXIT = 0xE30000000007000F
CONTROL = 0x7E0 | 0x7E0 << 21 | 0x7E0 << 42
COUNT = 20_000
SHORT = 300

TABLE = """
kernel = "big"
grid = 8
block = 256
[sm]
arch = "sm_50"
num_sms = 1
[raw]
num_regs = 32
num_barriers = 1
"""


def program(folder: Path, count: int) -> Path:
    """Raw words: `count` additions to eight registers with conditional branches, then EXIT."""
    words = [ADD | n % 8 * 0x101 for n in range(count - 1)] + [EXIT] * 4
    for n in range(12, count - 12, 12):
        # Short ones forward and back, and some over two hundred instructions.
        far = n % 240 == 0 and n + 240 < count
        distance = 0x900 if far else (0x60, -0x60)[n // 12 % 2]
        words[n] = BRA | (distance & 0xFFFFFF) << 20
    code = b""
    words = words[: len(words) // 3 * 3]
    for at in range(0, len(words), 3):
        bundle = [CONTROL, *words[at : at + 3]]
        code += b"".join(w.to_bytes(8, "little") for w in bundle)
    path = folder / f"{count}.bin"
    path.write_bytes(code)
    path.with_suffix(".toml").write_text(TABLE)
    return path


async def calls_of_a_step(path: Path, count: int) -> int:
    """The calls of one step with its picture collected and drawn, on a full SM."""
    app = make_app(open_kernel(path))
    async with app.run_test(size=(200, 60)) as pilot:
        await settle(app, pilot)
        # All registers are written first: what nothing has written yet has no row of its own.
        app.session.step(8)
        app.main.adopt(app.engine.collector.take())
        view = app.main.current
        assert len(there(view).code.entries) >= count
        assert sum(1 for w in there(view).warps if w.sm == 0) == 64
        assert isinstance(there(view).live, LocalLiveness if count > MAX_INSTRUCTIONS else Liveness)
        code = app.main.query_one(CodePane).texts
        assert any("┌►" in t for t in code), "branch arrows"
        assert f"R{there(view).tracked} ^ set v read : live" in code[0]
        assert sum(t[11:22].count("x") for t in code) > 3, "life marks"

        def step_and_draw() -> None:
            app.session.step()
            app.main.adopt(app.engine.collector.take())
            screen_text(app)

        step_and_draw()
        return min(calls_of(step_and_draw) for _ in range(3))


@pytest.mark.in_turn(1)
@pytest.mark.parametrize(("few", "many"), [(SHORT, 4 * SHORT), (SHORT, COUNT)])
async def test_a_step_does_not_walk_the_program(tmp_path: Path, few: int, many: int) -> None:
    short = await calls_of_a_step(program(tmp_path, few), few)
    long = await calls_of_a_step(program(tmp_path, many), many)
    assert long < 1.2 * short


def test_opening_a_long_program_decodes_branches_only(tmp_path: Path) -> None:
    """Work before the first picture grows by the rows of the listing, not by what they mean."""
    session = open_kernel(program(tmp_path, COUNT))
    collector = Collector(session, ViewOptions())
    view = collector.take()
    live = a(LocalLiveness, view.live)
    branches = len(live.window(0, COUNT * 16))
    assert branches > COUNT // 15
    assert calls_of(lambda: live.window(0x400, 0x600)) < 200
    assert live.mark(COUNT * 8 + 8, 7) in "^vx:"
    # A window's marks are looked for as far as a budget goes; the rest counts as live.
    code = b"".join(w.to_bytes(8, "little") for w in [CONTROL, *[ADD] * 3] * COUNT)
    lonely = LocalLiveness(code, "sm_50", {})
    assert lonely.mark(8, 7) == ":"
    lonely.window(0, 0)
    assert lonely.mark(len(code) - 8, 7) == " "


@pytest.mark.full(instead="test_a_step_does_not_walk_the_program")
async def test_a_search_in_a_long_listing_reads_each_instruction_once(tmp_path: Path) -> None:
    session = open_kernel(program(tmp_path, 11_500))
    app = make_app(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        await burst(app, pilot, "slash", *"no such text", "enter")
        code = current(app).code
        # A search that finds nothing looks at every row; what they say is known from then on.
        assert calls_of(lambda: code.find("nor this", 0)) < 2.1 * len(code.entries)
        await burst(app, pilot, "slash", *"EXIT", "enter")
        pane = app.main.query_one(CodePane)
        assert "EXIT" in there(code.code(code.entries[there(pane.cursor)].pc)).text
        # To the next one, and scrolling, costs what is seen.
        moved = [
            calls_of(lambda: pane.action_page(-1)),
            calls_of(lambda: pane.action_move(1_000_000)),
            calls_of(lambda: pane.go_to(5_000)),
        ]
        assert max(moved) < 8_000, moved


@pytest.mark.in_turn(1)
@pytest.mark.parametrize(("size", "most"), [((80, 24), 5_500), ((120, 40), 9_000)])
async def test_a_step_is_drawn_once_and_only_where_it_differs(
    size: tuple[int, int], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the key to the painted screen; it was 28,239 calls at 120x40, and two paints."""
    app = make_app(open_first())
    async with app.run_test(size=size) as pilot:
        await settle(app, pilot)
        paint = MainScreen._compositor_refresh
        paints: list[MainScreen] = []

        def painted(screen: MainScreen) -> None:
            paints.append(screen)
            paint(screen)

        monkeypatch.setattr(MainScreen, "_compositor_refresh", painted)
        for _ in range(3):
            await burst(app, pilot, "space")
        # The first step loads what steps need: a run that lasts shows itself in between.
        assert 3 <= len(paints) <= 12
        counts = []
        for _ in range(3):
            built = [p for p in app.main.query(LinePane) if p.display]
            before = {p: p.builds for p in built}
            app.engine.session.step()
            view = app.engine.collector.take()
            counts.append(calls_of(partial(draw, app, view)))
            assert all(p.builds - before[p] <= 1 for p in built if p.pane != "log")
        assert min(counts) < most, counts


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_step_sends_the_lines_that_changed_as_they_are_on_the_screen(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is sent past Textual's cutting and joining is what it would have painted."""
    app = make_app(open_first())
    sent: list[tuple[int, int, Strip]] = []
    paint = LineCompositor.render_partial_update

    def painted(compositor: LineCompositor) -> object:
        update = paint(compositor)
        if isinstance(update, LinesUpdate):
            sent.extend(update.lines)
        return update

    async with app.run_test(size=size) as pilot:
        await settle(app, pilot)
        await burst(app, pilot, "space", "space", "space")
        # What Textual lays out some time after its start is painted whole.
        await pilot.pause(0.2)
        await settle(app, pilot)
        monkeypatch.setattr(LineCompositor, "render_partial_update", painted)
        for key in ("space", "j", "l", "space"):
            seen = [line.text for line in app.screen._compositor.render_strips()]
            await burst(app, pilot, key)
            await settle(app, pilot)
            for x, y, line in sent:
                seen[y] = seen[y][:x] + line.text + seen[y][x + len(line.text) :]
            now = [line.text for line in app.screen._compositor.render_strips()]
            assert seen == now, key
            assert sent, key
            sent.clear()


async def test_keys_are_looked_up_without_the_rows_of_the_default_map() -> None:
    """Textual lays a key map over every binding for every key: half of a step, it was."""
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        assert calls_of(lambda: app.screen._binding_chain) < 3_000
