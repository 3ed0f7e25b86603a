"""Who, where and why of a stop are one warp's: message, data, card and the stop line."""

from __future__ import annotations

import numpy as np

import gpudbg
from gpudbg.debug.stops.fault_cards import fault_card
from gpudbg.debug.values import frames
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


INLINED = """
__device__ int half_sum(int n, int *p)
{ n = n / 2; int r = 0; for (int i = 0; i < n; i++) r += p[i]; return r; }
__device__ __noinline__ int other(int n, int *data) { data[n] = n; return n < 2 ? n : n * 3; }
extern "C" __global__ void work(int n, int *data) {
    __shared__ int s[32];
    s[threadIdx.x] = n;
    __syncthreads();
    if (threadIdx.x % 3 == 1) data[threadIdx.x] = other(n, data + 64);
    else data[threadIdx.x] = half_sum(n, s);
}
"""


def test_a_line_that_begins_with_an_inlined_call_is_the_stop_s_as_it_is_the_frame_s() -> None:
    """Message, data, frame and the stop line: the call has not been entered yet."""
    program = gpudbg.compile(INLINED, name="inlined.cu")
    session = program.launch("work", grid=1, block=32, args=[2, np.zeros(96, np.int32)])
    session.break_at("inlined.cu:10", temporary=True)
    stop, seen = session.cont(), []
    while stop.kind != "exited":
        shown = Collector(session, ViewOptions()).take()
        frame = frames(session)[0]
        assert frame.line is not None
        assert (stop.function, stop.line) == (frame.function, frame.line.number)
        assert f"inlined.cu:{stop.line}, block" in stop.message
        assert shown.stop_line == f"inlined.cu:{stop.line}"
        assert stop.pc is not None
        deeper = len(session.symbols.calls(session.symbols.pc(stop.pc))) - len(stop.inlined_at)
        seen.append((stop.function, stop.line, deeper))
        stop = session.step_line()
    assert seen[:2] == [("work", 10, 1), ("half_sum", 3, 0)]
