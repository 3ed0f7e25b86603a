"""A stack that was too small: the console and the fault card say how large it is and raise it."""

from __future__ import annotations

from dataclasses import replace

from gpudbg.debug.stops.cards import StopCard
from gpudbg.debug.stops.fault_cards import fault_card
from gpudbg.debug.stops.stack_sizes import stack_words
from gpudbg.sm.launch import MAX_LOCAL_BYTES
from tests.narrowing import there
from tests.tui.helpers import open_kernel

ENDLESS = "--grid 1 --block 32 --arg flag=i32[1]:fill(value=1) --arg out=i32[32]:zeros".split()


def test_recursion_names_the_stack_and_the_option() -> None:
    session = open_kernel("fault_stack_overflow", ENDLESS)
    stop = session.run()
    error = stop.errors[0]
    assert (error.name, error.space) == ("STACK_OVERFLOW", "local")
    first, last = stack_words(session, error, session.warp().state)
    assert "1,024 bytes" in first
    assert "cudaLimitStackSize" in first
    assert "calls are open" in first
    assert "--stack 2048" in last
    assert "stack_bytes = 2048" in last
    assert f"  stack   {last}" in StopCard.of(session, stop).lines()
    card = fault_card(session, stop)
    assert there(card).why[-2:] == (first, last)
    assert (
        there(there(card).nearest).space,
        there(there(card).nearest).side,
        there(there(card).nearest).size,
    ) == ("local", "before", 1024)


def test_what_is_said_fits_the_case() -> None:
    session = open_kernel("fault_stack_overflow", [*ENDLESS, "--stack", str(MAX_LOCAL_BYTES)])
    stop = session.run()
    (words,) = stack_words(session, stop.errors[0], session.warp().state)
    assert "calls are open: every call" in words, "it is the divergence stack that is full"
    warp = session.warp().state
    below = replace(stop.errors[0], space="local", address=warp.local.start - 4)
    (most,) = stack_words(session, below, warp)
    assert "the most there are" in most
    assert stack_words(session, below, None) == ()
    assert stack_words(session, replace(below, address=warp.local.start), warp) == ()
    assert stack_words(session, replace(below, space="global", name="MMU_FAULT"), warp) == ()


def test_an_index_before_a_local_array() -> None:
    session = open_kernel("local_array", LOCAL)
    warp = session.warp().state
    sample = open_kernel("fault_stack_overflow", ENDLESS).run().errors[0]
    error = replace(sample, name="OOR_ADDR", address=warp.local.start - 4)
    first, last = stack_words(session, error, warp)
    assert "local arrays take" in first
    assert "--stack" in last


LOCAL = (
    "--grid 1 --block 32 --arg in=i32[64]:zeros --arg i32:64 --arg out=i64[64]:zeros --arg i32:1"
).split()
