"""The state's hash covers whatever a launch's state is made of: found by walking it, not by a list.

A checkpoint remembers every attribute of the classes of `gpudbg.sm` and `gpudbg.mem` that a launch
leads to.  Each number among them is changed in turn: the hash has to change, or the table says why
not.  So a new field of such a class is either hashed or named here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import gpudbg
from gpudbg.sm.checkpoint import GridCheckpoint
from gpudbg.sm.state_hash import state_hash

SESSIONS = Path("sessions").resolve()
NOT_HASHED = {
    "where things are on this host": """
        Arena._begun Arena._block_bytes Arena._stacks Arena._step Arena.count Arena.fresh
        Arena.local_seen Arena.records Arena.seen Arena.stride LocalMemory._shift
        WarpState.stack_base WarpState.stack_step""",
    "sizes and places that the launch gave, or that follow from what is hashed": """
        Barriers.allocated Barriers.used ByteStore.size Cta.place Cta.slot Cta.sm LocalMemory.high
        LocalMemory.low LocalMemory.start Residency.entry Residency.placed Sm.index
        TrapUnit.errors_in_trap TrapUnit.pascal TrapUnit.stack_bit Grid._started Groups.inside""",
    "settings of the launch": """
        Heap.limit Launched.jobs Launched.marking Schedule.quantum Schedule.seed
        TrapFlow.stop_on_entry""",
    "set anew when a warp's turn, a run or a step begins": """
        Sm.clock_base StepEngine.polled StepEngine.turn_over TrapUnit.lanes""",
    "how far a plan is, and the turn in progress: whom they lead to is hashed": """
        Schedule.executed Schedule.turns Schedule.left Schedule.polls""",
    "when a hang is looked for": """
        HangChecks._done HangChecks._idle HangChecks.at HangChecks.patience HangChecks.polls
        HangChecks.times HangChecks.following HangChecks._later Residency._issued_at""",
    "what a driver's sequence around a stop writes": "SmTrap.frozen SmTrap.pause",
    "what is shown: breakpoints that were met, bytes that were written": """
        WarpState.shown ByteStore.marks""",
    "a count for messages: lanes that others were left waiting for": "Groups.passed",
}
ALLOWED = {name: why for why, names in NOT_HASHED.items() for name in names.split()}
Change = tuple[str, Callable[[], object], Callable[[], object]]
"""What is changed, doing it, and taking it back."""


def other(value: Any) -> Any:
    """Another value of the same kind; None where it is no number."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value ^ 1
    return type(value)(int(value) ^ 1) if isinstance(value, np.integer) else None


def changes(state: GridCheckpoint) -> Iterator[Change]:
    """A change of each number, and of a byte of each array, that a launch's state leads to."""
    names: dict[int, str] = {}
    for owner, name, value in state._attributes:
        known = f"{type(owner).__name__}.{name}"
        names.setdefault(id(value), known)
        if isinstance(value, np.ndarray):
            if value.size and value.flags.writeable and value.flags.c_contiguous:
                yield item(known, value.reshape(-1).view(np.uint8), 0)
        elif (new := other(value)) is not None:
            yield (
                known,
                lambda o=owner, n=name, v=new: setattr(o, n, v),  # type: ignore[misc]
                lambda o=owner, n=name, v=value: setattr(o, n, v),  # type: ignore[misc]
            )
    for container, content in state._containers:
        known = names.get(id(container), type(container).__name__)
        keys = range(len(content)) if isinstance(content, list) else ()
        for key in content if isinstance(content, dict) else keys:
            if other(content[key]) is not None:
                yield item(known, container, key)


def item(name: str, container: Any, key: Any) -> Change:
    """One of a container or an array."""
    value = container[key]
    return (
        name,
        lambda: container.__setitem__(key, other(value)),
        lambda: container.__setitem__(key, value),
    )


def tells(grid: Any, before: str, change: Change) -> bool:
    """Whether the hash tells a change, which is taken back."""
    _, do, undo = change
    do()
    try:
        return state_hash(grid) != before
    except Exception:
        # A state that cannot be is no equal one.
        return True
    finally:
        undo()


def waits_at_barrier(session: Any) -> bool:
    """Whether some warp of a block waits for the others."""
    return any(b.waiting for cta in session.grid.ctas() for b in cta.barriers.slots)


def has_parked(session: Any) -> bool:
    """Whether some lanes of a warp wait for others."""
    return bool(session.warp().state.shown_groups.parked)


def in_handler(session: Any) -> bool:
    """Whether a warp is in the trap handler."""
    return any(warp.in_trap for warp in session.grid.warps())


MOMENTS: tuple[tuple[str, Callable[[Any], bool]], ...] = (
    ("first_steps/first_steps", waits_at_barrier),
    ("spin_lock_ends/spin_lock_ends", has_parked),
    ("trap_handler/scatter", in_handler),
)


def test_whatever_a_state_is_made_of_is_hashed_or_named() -> None:
    """In one moment or another: a barrier to which nobody has come means nothing."""
    told: dict[str, bool] = {}
    for story, arrived in MOMENTS:
        with gpudbg.open(SESSIONS / f"{story}.cubin") as session:
            session.command("set trap-entry stop")
            session.grid.keep_counters()
            while not arrived(session):
                session.step()
            grid, before = session.grid, session.state_hash()
            for change in changes(GridCheckpoint(grid)):
                name = change[0]
                if name not in ALLOWED and not told.get(name, False):
                    told[name] = tells(grid, before, change)
            assert session.state_hash() == before
    assert len(told) > 30
    assert [name for name, yes in told.items() if not yes] == []
