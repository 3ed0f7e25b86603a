"""Steps typed faster than they are carried out: each is carried out, until something stops."""

from __future__ import annotations

import time

from gpudbg.frontends.tui.widgets.console import ConsolePane

from .helpers import OOB, make_app, open_first, open_kernel, settle


class Slow:
    """A session whose steps take a moment; everything else is the session's own."""

    def __init__(self, session):
        self._session = session

    def __getattr__(self, name):
        return getattr(self._session, name)

    def command(self, line):
        time.sleep(0.02)
        return self._session.command(line)


async def test_every_step_typed_ahead_is_carried_out():
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        app.engine.session = Slow(app.session)
        for _ in range(6):
            app.main.action_do("stepi")
        assert app.engine.busy
        await settle(app, pilot)
        assert app.session.grid.total == 6
        texts = app.main.query_one(ConsolePane).answers.texts
        assert not any("running" in t for t in texts)


async def test_steps_typed_ahead_end_at_a_fault():
    session = open_kernel("fault_oob_global", OOB)
    app = make_app(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        app.engine.session = Slow(session)
        for _ in range(60):
            app.main.action_do("stepi")
        await settle(app, pilot)
        assert session.stop.errors
        assert len([s for s in session.stops if s.errors]) == 1


async def test_other_work_is_not_queued_behind_a_step():
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        app.engine.session = Slow(app.session)
        app.main.action_do("stepi")
        app.main.action_do("lane_next")
        await settle(app, pilot)
        assert app.session.focus.lane == 0
        assert app.session.grid.total == 1
