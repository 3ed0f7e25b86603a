"""What launches, sessions and devices hold, and for how long; what closed ones refuse."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.session import KEPT, DebugSession
from gpudbg.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
SAXPY = ROOT / "tests" / "data" / "bench" / "cubin" / "saxpy.sm_50.cubin"


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Only what nobody refers to is freed.

    What is there already is left alone: to look through it all takes longer than these tests.
    """
    gc.freeze()
    gc.disable()
    yield
    gc.enable()


def _trace(session: DebugSession) -> None:
    with session.trace("access", "barrier") as log:
        session.step(8)
    assert log is not None


def _observe(session: DebugSession) -> None:
    session.on("warp_end", lambda warp: None)
    session.subscribe(gpudbg.Observer())
    session.check("hazards")
    session.timeline.switch(True)


def _break(session: DebugSession) -> None:
    session.break_at("*0x28", condition="threadIdx.x == 3", callback=lambda session, stop: False)
    session.restart()


def _watch(session: DebugSession) -> None:
    for line in ("watch $R4", "display $R4", "print $R4", "info warps", "x/2i $pc", "continue"):
        session.execute(line)
    session.snapshot()
    assert session.warp().lane(3).R[4] is not None


USES: dict[str, Any] = {
    "run": lambda session: None,
    "trace": _trace,
    "observe": _observe,
    "break": _break,
    "watch": _watch,
}


@pytest.mark.in_turn(2, each="use")
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("engine", ["step", "run"])
@pytest.mark.parametrize("program", ["first_steps", "out_of_bounds"])
@pytest.mark.parametrize("closed", [True, False])
def test_no_cycles(no_collector: None, program: str, engine: str, use: str, closed: bool) -> None:
    """A session goes with its last reference, whatever was done in it, to its end or a fault; and
    with it grid, program and device."""
    session = gpudbg.open(str(ROOT / "sessions" / program / f"{program}.cubin"), engine=engine)
    loaded = session.launch.loaded
    buffer = session.launch.arguments[0].buffer.allocation
    seen = (session, session.grid, session.grid.gpu, loaded, loaded.device, loaded.module)
    refs = {type(thing).__name__: weakref.ref(thing) for thing in seen}
    USES[use](session)
    stop = session.run()
    assert stop.faulted == (program == "out_of_bounds")
    if closed:
        session.close()
        del refs["DebugSession"]
    else:
        del session
    del seen, loaded, stop
    assert [name for name, ref in refs.items() if ref() is not None] == []
    assert buffer.freed
    assert not buffer.data.size


@pytest.fixture
def program() -> Any:
    return gpudbg.load(str(SAXPY))


def _launch(program: Any, count: int = 4096) -> DebugSession:
    x, y = np.arange(count, dtype=np.float32), np.ones(count, np.float32)
    made: DebugSession = program.launch(
        grid=count // 256, block=256, args=[x, y, np.int32(count), np.float32(2)]
    )
    return made


@pytest.mark.parametrize("how", ["close", "with", "dropped", "fails"])
def test_launches_give_everything_back(no_collector: None, program: Any, how: str) -> None:
    """After launches there are as many bytes of device memory as before, and observers."""
    device = program.device
    own = device.buffer(np.zeros(1000, np.uint8), "own")
    gpu = device.gpu

    def held() -> tuple[int, int, int]:
        members = gpu.observers.members
        return gpu.memory.live, sum(a.data.size for a in gpu.memory.allocations()), len(members)

    before = held()
    for _ in range(5):
        if how == "fails":
            with pytest.raises(UsageError):
                program.launch(grid=1, block=4096, args=[own, own, 1, 2.0])
            with pytest.raises(UsageError):
                program.launch(grid=1, block=32, args=[np.zeros(4, np.float32)])
            continue
        session = _launch(program)
        session.on("warp_end", lambda warp: None)
        session.run()
        assert held() > before
        if how == "with":
            with session:
                pass
        elif how == "close":
            session.close()
            session.close()
        del session
        assert held() == before
    assert held() == before
    assert own.array().size == 1000


def test_a_closed_session_refuses_by_name(program: Any) -> None:
    """Every public method and attribute but the records says which session is closed."""
    session = _launch(program)
    views: list[Any] = [session.warp(), next(session.warps()), session.timeline, session.displays]
    buffer = session.launch.arguments[0].buffer
    names = {name for name in {*dir(session), *vars(session)} if not name.startswith("_")}
    stop = session.run()
    session.close()
    assert session.stop is stop
    assert (session.closed, session.finished, session.faulted) == (True, True, False)
    assert repr(session) == "<closed session of saxpy>"
    allowed = {*KEPT, "close", "closed", "finished", "faulted"}
    for name in names - allowed:
        with pytest.raises(UsageError, match="the session of saxpy is closed"):
            getattr(session, name)
    with pytest.raises(AttributeError):
        session.nothing_of_that_name  # type: ignore[attr-defined]  # noqa: B018
    looks: tuple[Callable[[], object], ...] = (
        lambda: views[0].pc,
        lambda: views[1].lane(3).R[4],
        lambda: views[2].switch(True),
        lambda: views[3].lines(),
    )
    for look in looks:
        with pytest.raises(UsageError, match="the session of saxpy is closed"):
            look()
    for use in (buffer.array, lambda: buffer.write(np.zeros(4096)), buffer.free):
        with pytest.raises(UsageError, match=r"argument 0 at 0x[0-9a-f]+ was freed"):
            use()
    with pytest.raises(UsageError, match="the session of saxpy is closed"), session:
        session.run()


def test_a_running_session_is_not_closed(program: Any) -> None:
    session = _launch(program)
    said = []

    def at_end(warp: Any) -> None:
        try:
            session.close()
        except UsageError as error:
            said.append(str(error))

    with session.on("warp_end", at_end):
        session.run()
    assert set(said) == {"saxpy is running and cannot be closed (interrupt() ends the run)"}
    session.close()


def test_freed_buffers(program: Any) -> None:
    """No reading, writing, freeing twice; a kernel that gets one is there to be debugged."""
    buffer = program.device.buffer(np.ones(8, np.float32), "mine")
    buffer.free()
    for use in (buffer.array, lambda: buffer.write(np.zeros(8)), buffer.free):
        with pytest.raises(UsageError, match=r"buffer mine at 0x[0-9a-f]+ was freed"):
            use()


def test_a_closed_device() -> None:
    """Its sessions are closed, its memory freed; it takes nothing more."""
    with gpudbg.Device() as device:
        program = device.load(str(SAXPY))
        session = _launch(program)
        buffer = device.buffer(np.zeros(8))
        texture = device.texture(np.zeros((4, 4), np.float32), name="t")
    assert device.closed
    device.close()
    assert session.closed
    assert device.gpu.memory.live == 0
    for use in (
        lambda: device.buffer(np.zeros(8)),
        lambda: device.texture(np.zeros((4, 4), np.float32)),
        lambda: device.load(str(SAXPY)),
        lambda: _launch(program),
    ):
        with pytest.raises(UsageError, match="the device is closed"):
            use()
    for freed in (buffer, texture):
        with pytest.raises(UsageError, match="was freed"):
            freed.array()


def test_images_give_their_place_back() -> None:
    """Launches with textures do not run out of headers."""
    device = gpudbg.Device()
    first = device.texture(np.zeros((4, 4), np.float32), name="first")
    for n in range(3):
        other = device.texture(np.full((4, 4), n, np.float32), name=f"other {n}")
        assert other.index == first.index + 1
        assert device.images == [first, other]
        other.free()
    assert device.images == [first]


def test_a_program_nobody_has(no_collector: None) -> None:
    """Its variables are freed; a session keeps it."""
    device = gpudbg.Device()
    path = ROOT / "tests" / "data" / "bench" / "cubin" / "saxpy.sm_50.cubin"
    session = _launch(device.load(str(path)))
    session.run()
    loaded = weakref.ref(session.launch.loaded)
    assert loaded() is not None
    session.close()
    assert loaded() is None
