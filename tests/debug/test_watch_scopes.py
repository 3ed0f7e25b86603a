"""Watchpoints on variables of a function last as long as its call."""

from __future__ import annotations

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.session import DebugSession
from tests.source.cases import cubin

CASES = [(arch, engine) for arch in ("sm_52", "sm_80") for engine in ("run", "step")]
OVER = (
    "Watchpoint {} deleted because the program has left the block in",
    "which its expression is valid.",
)


def leaf(arch: str, engine: str) -> DebugSession:
    """A session that stands in the innermost of three calls, in lane 7."""
    program = gpudbg.load(str(cubin("call_chain", arch)), engine=engine)
    zeros = np.zeros(32, np.int32)
    session = program.launch("call_chain", grid=(1, 1, 1), block=(32, 1, 1), args=[zeros])
    session.execute("tbreak call_chain.cu:6 if threadIdx.x == 7")
    session.cont()
    return session


@pytest.mark.parametrize(("arch", "engine"), CASES)
@pytest.mark.in_turn(1, each="arch")
def test_it_ends_where_its_frame_is_left(arch: str, engine: str) -> None:
    session = leaf(arch, engine)
    inner = [session.watch_at(name).number for name in ("w", "a")]
    session.execute("frame 1")
    middle = session.watch_at("here").number
    session.execute("frame 3")
    kernel = [session.watch_at(name).number for name in ("before", "out[7]")]
    stops = [session.cont() for _ in range(4)]
    assert [[t.number for t in stop.watch] for stop in stops] == [
        inner,
        [middle],
        kernel[1:],
        kernel[:1],
    ]
    assert [[t.over for t in stop.watch] for stop in stops] == [
        [True, True],
        [True],
        [False],
        [True],
    ]
    lines = [line.format(number) for number in inner for line in OVER]
    assert list(stops[0].detail) == lines
    assert [(stop.line, stop.thread) for stop in stops[:2]] == [(11, (7, 0, 0)), (18, (7, 0, 0))]
    # A parameter of the kernel is no thread's: what it points at is watched on.
    assert stops[3].finished
    assert [point.number for point in session.breakpoints] == kernel[1:]


def test_a_place_outlasts_the_frame() -> None:
    session = leaf("sm_52", "run")
    session.execute("frame 3")
    session.execute("watch -l *(&out[i])")
    stop = session.cont()
    assert [(t.expression, t.over) for t in stop.watch] == [("*(&out[i])", False)]
    assert session.cont().finished
    assert len(list(session.breakpoints)) == 1


def test_a_variable_that_has_no_value_yet_is_watched() -> None:
    session = leaf("sm_80", "run")
    session.execute("frame 1")
    session.watch_at("r")
    stop = session.cont()
    assert [(t.old, t.new, t.over) for t in stop.watch] == [("<optimized out>", "1238", False)]


def test_steps_meet_the_end_and_launches_begin_without() -> None:
    session = leaf("sm_52", "run")
    number = session.watch_at("w").number
    stop = session.finish()
    assert [(t.number, t.over) for t in stop.watch] == [(number, True)]
    session.watch_at("b")
    session.restart()
    assert list(session.breakpoints) == []


@pytest.mark.parametrize(("arch", "engine"), CASES)
@pytest.mark.in_turn(take="sm_52-step sm_80-step")
def test_bit_fields_are_watched(arch: str, engine: str) -> None:
    """Writes of the fields beside one, in the same byte, are none of it."""
    program = gpudbg.load(str(cubin("bit_classes", arch)), engine=engine)
    data = np.arange(192, dtype=np.uint32)
    session = program.launch("bit_classes", grid=2, block=96, args=[data, data.copy()])
    session.execute("tbreak bit_classes.cu:31 if threadIdx.x == 37 && blockIdx.x == 1")
    session.cont()
    for name in ("f.head.len", "f.head.off", "f.head.last"):
        session.watch_at(name)
    seen = [session.cont() for _ in range(3)]
    assert [(t.expression, t.old, t.new) for stop in seen for t in stop.watch] == [
        ("f.head.len", "0", "293"),
        ("f.head.off", "0", "-5"),
        ("f.head.last", "false", "true"),
    ]
