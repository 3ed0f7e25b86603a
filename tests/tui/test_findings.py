"""The findings screen: what checks of the launch have found, and the way to each access."""

from __future__ import annotations

import numpy as np
import pytest

import gpudbg
from gpudbg.frontends.tui.screens.findings import FindingsScreen
from tests.sanitizer.test_twins import FOURS, HERE

from .helpers import make_app, on_main, press, screen_text, settle


def session() -> gpudbg.DebugSession:
    program = gpudbg.load(str(HERE / "twins.sm_52.cubin"))
    return program.launch("vec_bad", block=64, args=[FOURS, np.zeros_like(FOURS)])


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_enter_stands_at_each_access(size: tuple[int, int]) -> None:
    app = make_app(session())
    async with app.run_test(size=size) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "K")
        await settle(app, pilot)
        assert isinstance(app.screen, FindingsScreen)
        shown = "\n".join(screen_text(app))
        assert "race read write, shared" in shown
        assert "another warp" in " ".join(shown.split())
        found = app.screen.list_pane.found
        race = next(n for n, f in enumerate(found) if f.kind == "race")
        rows = sum(1 + len(f.accesses) for f in found[:race])
        for side, access in enumerate(found[race].accesses, 1):
            if not isinstance(app.screen, FindingsScreen):
                await press(app, pilot, "K")
            await press(app, pilot, "home", *["down"] * (rows + side), "enter")
            await settle(app, pilot)
            assert on_main(app)
            stop = app.session.stop
            assert stop is not None
            assert (stop.block, stop.thread) == (access.block, access.thread)
            assert stop.pc == access.offset
        assert not list(app.session.breakpoints)
