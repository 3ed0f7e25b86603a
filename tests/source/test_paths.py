"""Places that lists name in the order of the code hold only where every path brings them."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.session import DebugSession
from gpudbg.expr.evaluation import OPTIMIZED_OUT
from tests.source.cases import ARCHS, cubin


def at_lines(arch: str, lane: int, *lines: int) -> DebugSession:
    session = gpudbg.load(str(cubin("paths", arch))).launch(
        "paths", grid=1, block=32, args=[np.arange(32, dtype=np.int32), np.zeros(32, np.int32)]
    )
    for line in lines:
        session.execute(f"break paths.cu:{line} if threadIdx.x == {lane}")
    return session


def loop(lane: int) -> list[dict[str, int]]:
    """What the variables are each time line 28 is reached."""
    total, prod, found = 0, 1, []
    for j in range(4):
        v = (lane + j) & 31
        if v % 3 == 0:
            total, prod = total + v * 10, prod * 3
            continue
        found.append({"sum": total, "prod": prod, "v": v, "j": j})
        total += v
        for k in range(j, 3):
            prod += total + k
    return found


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("lane", [2, 5])
def test_behind_a_branch_that_other_code_stands_before(arch: str, lane: int) -> None:
    session = at_lines(arch, lane, 28)
    for want in loop(lane):
        assert session.cont().kind == "breakpoint"
        got = {name: session.execute(f"print {name}")["value"] for name in want}
        assert got == want
    assert session.cont().kind == "exited"


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("lane", [2, 9])
def test_what_one_of_two_ways_has_put_somewhere_is_no_value(arch: str, lane: int) -> None:
    session = at_lines(arch, lane, 13, 14)
    for line in (13, 14):
        assert session.cont().kind == "breakpoint"
        assert session.execute("backtrace")[0]["line"] == line
        assert session.execute("print r")["value"] == max(lane, 5)
        shown = session.command("print v").text.partition(" = ")[2]
        assert shown == str(lane) or shown.startswith(OPTIMIZED_OUT)


@pytest.mark.parametrize("arch", ARCHS)
def test_a_line_that_calls_and_holds_a_function(arch: str) -> None:
    """The stop in the function is where its parameters are; what is passed is the caller's line."""
    session = at_lines(arch, 2, 34)
    seen = []
    for _ in count():
        if session.cont().kind != "breakpoint":
            break
        frames = session.execute("backtrace")
        inside = len(frames) == 3
        seen.append(
            (session.execute("print k")["value"] if inside else None, [f["line"] for f in frames])
        )
    assert seen == [(None, [34]), *((k, [34, 6, 34]) for k in range(3))]


STAYED: dict[tuple[int, int], dict[str, Any]] = {
    (5, 5): {"r": 0},
    (10, 6): {"r": 0},
    (10, 7): {"r": 0},
    (25, 15): {"r": -25},
    (10, 15): {"r": 6},
    (5, 23): {"mask": [5, 25]},
    (5, 24): {"mask": [5, 25], "old": 5},
    (5, 31): {"sum": 25},
    (5, 32): {"sum": 25, "extra": 50},
    (6, 36): {"sum": 30},
    (4, 28): {"sum": 20},
}
"""(lane, line) of `stayed.cu` -> values when it is first reached."""


@pytest.mark.parametrize("arch", ARCHS)
def test_what_has_stayed_where_it_was(arch: str) -> None:
    """Lists name a register for what stands behind a move that a branch goes round."""
    program = gpudbg.load(str(cubin("stayed", arch)))
    wrong = []
    for (lane, line), values in STAYED.items():
        with program.launch("stayed", block=32, args=[np.zeros(32, np.int32)]) as session:
            session.execute(f"break stayed.cu:{line} if threadIdx.x == {lane}")
            stop = session.cont()
            got = (
                {name: session.execute(f"print {name}")["value"] for name in values}
                if stop.kind == "breakpoint"
                else {}
            )
            if got != values:
                wrong.append((lane, line, got))
            if line in (23, 24):
                pointer = session.execute("print q")["value"]
                assert pointer == session.execute("print &mask[0]")["value"] | (pointer >> 24 << 24)
    assert not wrong
