"""Who, where and why of a stop are one warp's: message, data, card and the stop line."""

from __future__ import annotations

import gpudbg
from gpudbg.debug.stops.fault_cards import fault_card
from gpudbg.frontends.tui.collect import Collector
from gpudbg.frontends.tui.view import ViewOptions
from gpudbg.regs.explain import explain_esr
from tests.debug.test_every_screen import APART


def test_a_deadlock_names_the_barriers() -> None:
    """And not the instructions after them, of which nobody is to blame."""
    for engine in ("step", "run"):
        program = gpudbg.assemble_program(APART, engine=engine)
        session = program.launch(grid=1, block=64)
        stop = session.run()
        assert (stop.kind, stop.pc, stop.line) == ("deadlock", 0x18, 4)
        assert "; apart+0x18 source.sass:4, block" in stop.message
        card = "\n".join(stop.card)
        assert "=> 0018  @P0 BAR.SYNC 0x1" in card

        assert [line.rpartition(", ")[2] for line in stop.detail[-2:]] == [
            "apart+0x18",
            "apart+0x28",
        ]
        assert stop.to_json()["pc"] == 0x18


def test_the_stop_line_tells_of_the_warp_it_names(session: gpudbg.DebugSession) -> None:
    session.break_at("block_max+0x168")
    stop = session.cont()
    collector = Collector(session, ViewOptions())
    here = collector.take()
    assert here.stop_where == session.symbols.describe(session.warp().state.pc)
    assert "(of warp" not in here.stop_title
    other = next(w for w in session.warps() if w.index != stop.warp and w.sm == stop.sm)
    session.focus_on(other.sm, other.index, 0)
    there = collector.take()
    assert there.stop_where == session.symbols.describe(other.state.pc)
    assert there.stop_title.endswith(f"(of warp {stop.warp})")


def test_status_words_are_marked_as_the_table_of_registers_has_them() -> None:
    session = gpudbg.open("sessions/out_of_bounds/out_of_bounds.cubin")
    card = fault_card(session, session.run())
    assert card is not None
    assert [w.name for w in card.status] == ["SR_GlobalErrorStatus", "SR_WarpErrorStatus"]
    for word in card.status:
        fields = explain_esr(word.name, word.value, "sm_50").fields
        marks = {str(f.row.certainty) for f in fields if f.value and not f.row.reserved}
        assert marks == {word.mark}


def test_a_gathered_stop_is_that_of_every_warp_that_stands_there() -> None:
    session = gpudbg.open("sessions/first_steps/first_steps.cubin")
    session.settings.set("gather", "on")
    session.break_at("first_steps.cu:13")
    stop = session.cont()
    assert stop.arrived_warps > 1
    collector = Collector(session, ViewOptions())
    there = [w for w in session.warps() if w.sm == stop.sm and w.pc == session.warp().pc]
    assert len(there) > 1
    for warp in there:
        session.focus_on(warp.sm, warp.index, 0)
        view = collector.take()
        assert view.stop_title == f"Breakpoint 1, {stop.arrived_warps} warps"
        assert view.stop_where == session.symbols.describe(warp.state.pc)
