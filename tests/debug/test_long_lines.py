"""Lines that take long: the whole grid runs, on compiled code, and ends where single steps do."""

from __future__ import annotations

import pytest

from gpudbg.debug import stepping
from gpudbg.debug.session import DebugSession
from tests.tui.helpers import CUBINS, open_kernel

ONE_WARP = (
    "--grid 1 --block 32 --num-sms 1 --arg in=u32[32]:lcg(seed=241) --arg out=u32[32]:zeros "
    "--arg i32:32"
).split()
FUNCTIONS = (
    "--grid 1 --block 32 --num-sms 1 --arg data=i32[80]:lcg_mod(seed=261,mod=2001,lo=-1000) "
    "--arg out=i32[160]:zeros --engine step"
).split()


def walk(session: DebugSession, commands: list[str], most: int) -> list[tuple[str, str, int]]:
    """Where each command of a walk ends."""
    ends: list[tuple[str, str, int]] = []
    for n in range(most):
        session.execute(commands[n % len(commands)])
        stop = session.stop
        assert stop is not None
        ends.append((stop.kind, str(stop), session.grid.total))
        if session.grid.finished or stop.hang:
            break
    return ends


@pytest.mark.in_turn(1)
@pytest.mark.parametrize(
    ("kernel", "flags", "commands", "most"),
    [
        ("divergence", ONE_WARP, ["next", "step", "next", "until"], 60),
        ("divergence", [*ONE_WARP, "--engine", "run"], ["until"], 4),
        ("recursion", FUNCTIONS, ["step", "step", "step", "step", "next"], 20),
        ("recursion", FUNCTIONS, ["tbreak fib", "continue", "finish", "next"], 4),
    ],
)
def test_the_grid_ends_a_step_where_single_steps_do(
    kernel: str, flags: list[str], commands: list[str], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for alone in (stepping.ALONE, 0):
        monkeypatch.setattr(stepping, "ALONE", alone)
        with open_kernel(CUBINS / f"{kernel}.cubin", flags) as session:
            found.append(walk(session, commands, most))
    assert len(found[0]) == most
    assert found[0] == found[1]


@pytest.mark.full(instead="test_the_grid_ends_a_step_where_single_steps_do")
def test_a_step_over_a_loop_that_cannot_end_is_a_hang() -> None:
    flags = "--grid 1 --block 32 --num-sms 1 --arg flag=i32[1]:zeros --arg out=i32[32]:zeros"
    with open_kernel("fault_infinite_loop", flags.split()) as session:
        ends = walk(session, ["next"], 12)
    assert ends[-1][0] == "deadlock"
