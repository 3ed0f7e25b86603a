"""Groups of a warp's lanes: convergence barriers, WARPSYNC, yielding, and who runs next."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpudbg.bits import lanes_of
from gpudbg.sm.convergence.groups import (
    BACKWARD,
    PATIENCE,
    POLL,
    SYNC_PATIENCE,
    YIELDED,
    Groups,
)

FULL = 0xFFFFFFFF
LEFT, RIGHT = 0x0000FFFF, 0xFFFF0000


def test_lanes_wait_until_all_of_their_activation_have_come() -> None:
    groups = Groups()
    groups.open(0, FULL)
    assert groups.mask(0, 1) == FULL
    assert groups.converge(0, LEFT, 0x100) == 0
    assert groups.pick() is None
    assert not groups.running
    groups.converge(0, RIGHT, 0x100)
    found = groups.pick()
    assert found is not None
    assert (found.pc, found.lanes) == (0x100, FULL)


def test_a_lane_without_an_activation_goes_on() -> None:
    assert Groups().converge(3, LEFT, 0x100) == LEFT


def test_lanes_that_left_or_ended_are_not_waited_for() -> None:
    for ended in (False, True):
        groups = Groups()
        groups.open(0, FULL)
        groups.converge(0, LEFT, 0x40)
        if ended:
            groups.end(RIGHT, LEFT)
        else:
            groups.leave(0, RIGHT)
        found = groups.pick()
        assert found is not None
        assert found.lanes == LEFT


def test_a_callee_that_saves_a_barrier_releases_nobody() -> None:
    groups = Groups()
    groups.open(6, FULL)
    groups.converge(6, LEFT, 0x40)
    groups.save(6, RIGHT, keep=True)
    groups.open(6, RIGHT)
    groups.converge(6, RIGHT, 0x80)
    inner = groups.pick()
    assert inner is not None
    assert (inner.pc, inner.lanes) == (0x80, RIGHT)
    groups.restore(6, RIGHT, [FULL] * 32)
    groups.converge(6, RIGHT, 0x40)
    outer = groups.pick()
    assert outer is not None
    assert outer.lanes == FULL


def test_lanes_go_on_without_partners_that_only_yield() -> None:
    groups = Groups()
    groups.open(0, FULL)
    groups.converge(0, LEFT, 0x100)
    for _ in range(PATIENCE + 1):
        groups.park(0x20, RIGHT, YIELDED)
        found = groups.pick()
        assert found is not None
        if found.lanes == LEFT:
            break
        assert found.lanes == RIGHT
    else:
        raise AssertionError("the waiting lanes never went on")


def test_warpsync_waits_for_the_live_lanes_of_its_mask() -> None:
    groups = Groups()
    groups.synchronize(0xFF, 0x0F, 0x40, live=0x7F, exclusive=False)
    assert groups.pick() is None
    groups.synchronize(0xFF, 0x70, 0x60, live=0x7F, exclusive=False)
    first, second = groups.pick(), groups.pick()
    assert first is not None
    assert second is not None
    assert [(g.pc, g.lanes) for g in (first, second)] == [(0x40, 0x0F), (0x60, 0x70)]


def test_the_lowest_pc_runs_first_and_takes_along_who_is_there() -> None:
    groups = Groups()
    for pc, lanes in ((0x80, 1), (0x40, 2), (0x40, 4), (0x60, 8)):
        groups.park(pc, lanes)
    found = groups.pick()
    assert found is not None
    assert (found.pc, found.lanes) == (0x40, 6)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(1, FULL)), max_size=40))
def test_no_lane_is_lost(moves: list[tuple[int, int, int]]) -> None:
    """Whatever lanes do, each is running, parked or ended, and in one place; a copy is equal."""
    groups, running, ended = Groups(), FULL, 0
    for kind, number, mask in moves:
        lanes = running & mask
        if not lanes:
            continue
        if kind == 0:
            groups.open(number, lanes)
        elif kind == 1:
            free = groups.converge(number, lanes, 0x100)
            groups.park(0x100, running & ~lanes | free)
            running = 0
        elif kind == 2:
            groups.leave(number, lanes)
        elif kind == 3:
            ended |= lanes
            groups.end(lanes, FULL & ~ended)
            groups.park(0x80, running & ~lanes)
            running = 0
        else:
            groups.park(0x20, lanes, YIELDED)
            groups.park(0x40, running & ~lanes)
            running = 0
        groups = groups.copy()
        if not running:
            found = groups.pick()
            running = found.lanes if found is not None else 0
        parked = [g.lanes for g in groups.parked]
        total = running | ended
        for lanes in parked:
            assert not total & lanes
            total |= lanes
        assert total == FULL, lanes_of(FULL & ~total)


def test_a_group_that_goes_round_its_yield_gives_its_turn_away() -> None:
    groups = Groups()
    assert not any(groups.backward() for _ in range(2 * BACKWARD)), "nobody waits"
    groups.park(0x80, RIGHT)
    turns = [n for n in range(2 * BACKWARD) if groups.backward()]
    assert turns == [BACKWARD - 1, 2 * BACKWARD - 1]
    # A pick of the same group, at a BSYNC in the loop, begins no new count.
    groups.park(0x40, LEFT)
    assert [groups.backward(polls=True) for _ in range(BACKWARD // POLL)][-1]


def test_lanes_before_a_barrier_go_on_to_it_if_the_others_only_yield() -> None:
    """They wait at the BAR instead, behind stores that the others may wait for."""
    for passes in (False, True):
        groups = Groups()
        groups.synchronize(FULL, LEFT, 0x100, live=FULL, exclusive=False, passes=passes)
        rounds = 0
        while rounds < 2 * SYNC_PATIENCE:
            rounds += 1
            groups.park(0x20, RIGHT, YIELDED)
            found = groups.pick()
            assert found is not None
            if found.lanes == LEFT:
                break
        assert rounds == (SYNC_PATIENCE + 1 if passes else 2 * SYNC_PATIENCE)
    groups.arrive(0, LEFT, 0x140)
    # The last ones are behind nobody but those at the barrier.
    found = groups.pick()
    assert found is not None
    assert found.lanes == RIGHT
    groups.synchronize(FULL, RIGHT, 0x100, live=FULL, exclusive=False, passes=True)
    found = groups.pick()
    assert found is not None
    assert found.lanes == RIGHT
