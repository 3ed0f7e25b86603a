"""Every stop is told alike: console, --json, Python, MI and the terminal UI name the same warp,
lane, instruction and source line.

Each kernel is launched once for many stops; what each frontend makes of a stop is asked of the
code that shows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.answers.words import dim
from gpudbg.debug.focus.warp_ids import WarpIds
from gpudbg.debug.symbols import as_written
from gpudbg.frontends.mi import shown, stops
from gpudbg.frontends.tui.collect import Collector
from gpudbg.frontends.tui.view import ViewOptions
from tests.launching import open_story

ROOT = Path(__file__).parents[2]
CUBINS = ROOT / "tests" / "data" / "kernels" / "cubin" / "sm_50"
MI_KERNELS = ROOT / "tests" / "mi" / "kernels"

APART = """\
.kernel apart
S2R R0, SR_TID.X
ISETP.LT.AND P0, PT, R0, 0x20, PT
@P0 BAR.SYNC 0x1
@!P0 BAR.SYNC 0x2
MOV R1, R0
EXIT
"""


def thread_of(session: gpudbg.DebugSession, warp: Any) -> dict[str, Any]:
    """A warp as GDB/MI lists a thread."""
    ids = WarpIds()
    ids.sync(session)
    (row,) = ids.threads(session, [n for n in ids.known() if ids.number(warp) == n])
    return dict(shown.thread_fields(session, row))


def kernel(name: str, block: int, *args: object) -> gpudbg.DebugSession:
    return gpudbg.load(CUBINS / f"{name}.cubin").launch(block=block, args=list(args))


def ints(count: int) -> np.ndarray:
    return np.zeros(count, np.int32)


def same_everywhere(session: gpudbg.DebugSession, printed: tuple[str, ...], data: Any) -> None:
    """Hold what every frontend says of the last stop against the record."""
    stop = session.stop
    assert stop is not None
    assert session.focus is not None
    symbols, warp = session.symbols, session.warp()
    pc = symbols.pc(stop.pc or 0)
    where, place = symbols.describe(pc), symbols.place(pc)
    who = f"block {dim(stop.block)} thread {dim(stop.thread)}"

    # Python: the record, the focus, the warp's view and the errors.
    assert (session.focus.sm, session.focus.warp, session.focus.lane) == (
        stop.sm,
        stop.warp,
        stop.lane,
    )
    assert (warp.pc, warp.block) == (stop.pc, stop.block)
    assert tuple(int(n) for n in warp.lane(stop.lane or 0).thread) == stop.thread
    assert (place.file, place.line, place.function) == (stop.file, stop.line, stop.function)
    for error in stop.errors[:1]:
        assert (error.sm, error.warp, error.pc, error.block, error.thread) == (
            stop.sm,
            stop.warp,
            stop.pc,
            stop.block,
            stop.thread,
        )
        assert (error.file, error.line, error.function) == (stop.file, stop.line, stop.function)
    for seen in stop.watch[:1]:
        assert (seen.sm, seen.warp, seen.lane) == (stop.sm, stop.warp, stop.lane)
    if stop.kind in ("exited", "breakpoint", "step"):
        assert stop.check() is stop
    else:
        with pytest.raises(gpudbg.KernelError) as caught:
            stop.check()
        assert who in str(caught.value)
        assert caught.value.stop is stop

    # The console: the announcement, and what commands answer afterwards.
    row = symbols.instruction(pc)
    assert row is not None
    if stop.instructions:
        assert symbols.describe_line(pc) in stop.message
        assert f"{who} (sm {stop.sm} warp {stop.warp} lane {stop.lane})" in stop.message
        assert stop.message in printed
    if not stop.errors:
        assert f"=> {row.offset:04x}  {row.text}" in printed
    (marked,) = (r for r in session.command("info warps").lines if r.startswith("*"))
    assert marked.split()[1:5] == [
        str(stop.sm),
        str(stop.warp),
        dim(stop.block),
        symbols.short(pc),
    ]
    assert session.command("x/i $pc").lines[0].endswith(f"{stop.pc:04x}  {row.text}")
    inner = session.command("backtrace").lines[0]
    if stop.line is not None and stop.file is not None:
        assert inner.endswith(f" at {Path(stop.file).name}:{stop.line}")
    assert stop.function is None or stop.function in inner

    # --json: the very record.
    assert data == stop.to_json()

    # MI: *stopped, -stack-info-frame, -thread-info.
    told = stops.stopped_fields(session, stop, {}, 1)
    thread = thread_of(session, warp.state)
    frame = shown.frame_fields(session, shown.selected_frame(session))
    for fields in (told["frame"], thread["frame"], frame):
        assert fields["addr"] == shown.address(pc)
        assert fields["func"] == stop.function
        assert fields.get("line") == stop.line
        assert stop.file is None or fields["file"] == as_written(stop.file)
    focus = told["CudaFocus"]
    assert (focus["sm"], focus["warp"], focus["lane"]) == (
        str(stop.sm),
        str(stop.warp),
        str(stop.lane),
    )
    assert (focus["blockIdx"], focus["threadIdx"]) == (dim(stop.block), dim(stop.thread))
    assert told["core"] == thread["core"] == stop.sm

    # The terminal UI: the stop line and the focused warp.
    view = Collector(session, ViewOptions()).take()
    assert "(of warp" not in view.stop_title
    assert (view.stop_where, view.pc) == (where, pc)
    assert view.stop_line == (str(symbols.line(pc)) if stop.line is not None else "")
    assert (view.sm, view.lane) == (stop.sm, stop.lane)
    (here,) = (w for w in view.warps if (w.sm, w.slot) == (stop.sm, stop.warp))
    assert (here.pc, here.offset, here.where) == (pc, stop.pc, where)


def told_alike(session: gpudbg.DebugSession, *lines: str) -> Iterator[str]:
    """The kinds of the stops that console lines make, each told alike."""
    for line in lines:
        output = session.command(line)
        assert session.stop is not None
        same_everywhere(session, output.lines, output.data)
        yield session.stop.kind


def test_entry_breakpoints_steps_and_watchpoints() -> None:
    session = open_story("first_steps")
    kinds = list(told_alike(session, "start", "stepi", "stepi 3", "step", "next"))
    session.command("break block_max+0x168 if $R4 > 4000")
    kinds += told_alike(session, "continue", "stepi", "nexti")
    session.command("delete")
    session.command("watch $R4")
    kinds += told_alike(session, "continue", "continue")
    session.command("delete")
    session.command("watch *(int*)(out@entry)")
    kinds += told_alike(session, "continue", "until *0x558")
    assert {"step", "breakpoint"} == set(kinds)
    stop = session.run_to_stop(max_instructions=20)
    assert stop.kind == "limit"
    same_everywhere(session, tuple(session_lines(session)), stop.to_json())


def session_lines(session: gpudbg.DebugSession) -> list[str]:
    """The card of the last stop, as the console prints it."""
    from gpudbg.debug.stops.cards import StopCard

    assert session.stop is not None
    return StopCard.of(session, session.stop).lines()


def test_interrupts() -> None:
    session = kernel("fault_infinite_loop", 32, ints(1), ints(32))
    session.interrupt()
    stop = session.cont()
    assert stop.kind == "interrupted"
    same_everywhere(session, tuple(session_lines(session)), stop.to_json())


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: open_story("out_of_bounds"), "warp_error"),
        (lambda: open_story("misaligned_vector"), "warp_error"),
        (lambda: open_story("spin_lock"), "deadlock"),
        (lambda: gpudbg.assemble_program(APART).launch(block=64), "deadlock"),
        (lambda: kernel("fault_illegal_instruction", 32, ints(32)), "warp_error"),
        (lambda: kernel("fault_trap", 128, np.arange(128, dtype=np.int32), ints(128)), "trap"),
        (lambda: gpudbg.load(MI_KERNELS / "asserts.cubin").launch(args=[ints(32)]), "trap"),
    ],
    ids=["bounds", "alignment", "spin", "barriers", "illegal", "trap", "assert"],
)
def test_what_goes_wrong(make: Any, kind: str) -> None:
    session = make()
    assert list(told_alike(session, "continue")) == [kind]


def test_other_warps_of_a_deadlock_stand_at_their_barriers() -> None:
    session = gpudbg.assemble_program(APART).launch(block=64)
    session.cont()
    rows = session.execute("info warps")
    assert [row["pc"] for row in rows] == [0x18, 0x28]
    session.focus_on(0, 1, 0)
    assert session.warp().pc == 0x28
    assert thread_of(session, session.warp().state)["frame"]["line"] == 5
    assert session.command("x/i $pc").lines[0].endswith("0028  @!P0 BAR.SYNC 0x2")
    assert Collector(session, ViewOptions()).take().stop_where == "apart+0x28"


def test_an_assertion_is_told_where_the_source_has_it() -> None:
    """And not in the function that the machine carries out, which has no code."""
    session = gpudbg.load(MI_KERNELS / "asserts.cubin").launch(args=[ints(32)])
    stop = session.cont()
    assert (stop.kind, stop.function, stop.thread) == ("trap", "asserts", (3, 0, 0))
    assert Path(stop.file or "").name == "asserts.cu"
    assert stop.line == 6
    assert "__assertfail" not in stop.message
    assert len(session.command("backtrace").lines) == 1


def test_the_end() -> None:
    session = open_story("first_steps")
    output = session.command("continue")
    stop = session.stop
    assert stop is not None
    assert (stop.kind, output.lines[0], output.data) == ("exited", stop.message, stop.to_json())
    assert stop.check() is stop
    assert Collector(session, ViewOptions()).take().stop_title.startswith("Finished, ")
