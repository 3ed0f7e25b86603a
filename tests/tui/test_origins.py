"""Enter on a value: who wrote it, and the way there."""

from __future__ import annotations

from textual.pilot import Pilot

from gpudbg.frontends.tui.app import GpudbgApp
from gpudbg.frontends.tui.screens.card import CardFrame
from gpudbg.frontends.tui.screens.why import WhyScreen
from gpudbg.frontends.tui.widgets.base import LinePane
from gpudbg.frontends.tui.widgets.lists import WatchPane
from gpudbg.frontends.tui.widgets.memory import MemoryPane
from gpudbg.frontends.tui.widgets.registers import RegistersPane
from tests.narrowing import a, there

from .helpers import current, make_app, on_main, open_first, press, settle


async def put(app: GpudbgApp, pilot: Pilot[int], pane: LinePane, key: tuple[object, ...]) -> None:
    """The cursor on a row."""
    app.main.focus_pane(pane.pane)
    await settle(app, pilot)
    pane.cursor = next(n for n, r in enumerate(pane._content.rows) if r.key == key)


def card(app: GpudbgApp) -> str:
    return "\n".join(app.screen.query_one(CardFrame).texts)


async def test_enter_on_a_value_offers_who_wrote_it_and_goes_there() -> None:
    session = open_first()
    app = make_app(session)
    app.options.watches.append("$P0")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        for line in ("set gather off", "break 19", "continue", "continue", "stepi 20"):
            app.main.run_command(line)
            await settle(app, pilot)
        end, registers = session.tick, app.main.query_one(RegistersPane)
        focus = there(current(app).focus_row)

        # A register: the timeline knows its writer without a search; Enter goes there.
        await put(app, pilot, registers, ("register", "R4"))
        await press(app, pilot, "enter")
        text = card(app)
        assert f"R4 of lane 0 of warp {focus.slot}" in text
        assert "tick 126, 89 before now" in text
        assert "0158" in text
        assert "32 values" in text
        await press(app, pilot, "enter")
        assert (session.tick, current(app).end) == (126, end)
        await press(app, pilot, "colon", *"goto end", "enter", "escape")
        assert session.tick == end

        # Its 32 values, from the same card; a special register has no writer.
        await put(app, pilot, registers, ("register", "R4"))
        await press(app, pilot, "enter", "plus")
        assert on_main(app)
        assert "R4" in registers.open
        await put(app, pilot, registers, ("special", "SR_TID.X"))
        await press(app, pilot, "enter")
        assert "no instruction writes it" in card(app)
        await press(app, pilot, "W")
        assert not on_main(app), "it cannot go there"
        await press(app, pilot, "escape")

        # A word of shared memory by one key; then a watched expression by Enter.
        memory = app.main.query_one(MemoryPane)
        await put(app, pilot, memory, ("byte", "shared", 0))
        await press(app, pilot, "enter")
        assert "shared 0x0" in card(app)
        assert "STS [R5], R3   lane 0 of warp 0   tick 205" in card(app)
        await press(app, pilot, "escape", "W")
        assert session.tick < end
        assert current(app).stop_line.startswith("first_steps.cu:2")
        await press(app, pilot, "colon", *"goto end", "enter", "escape")
        # The tree of what it was computed from is walked, and gone to.
        await put(app, pilot, memory, ("byte", "shared", 0))
        await press(app, pilot, "enter", "y")
        tree = a(WhyScreen, app.screen)
        before = len(tree.causes)
        cut = next(n for n, c in enumerate(tree.causes) if c.cut and not c.again)
        await press(app, pilot, *["down"] * cut, "plus")
        assert len(tree.causes) > before
        wanted = next(n for n, c in enumerate(tree.causes) if n and c.tick is not None)
        tick = tree.causes[wanted].tick
        await press(app, pilot, "home", *["down"] * wanted, "enter")
        assert session.tick == tick
        await press(app, pilot, "colon", *"goto end", "enter", "escape")
        await put(app, pilot, app.main.query_one(WatchPane), ("watch", "$P0"))
        await press(app, pilot, "enter", "enter")
        assert session.tick < end
        assert "$P0" in there(session.stop).message or "$P0" in current(app).stop_title
