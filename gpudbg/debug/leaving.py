"""Leave a function without running the rest of it: `return`, MI's `-exec-return`.

The caller's registers come back from where the function keeps them at the place where each lane
stands (`gpudbg.analysis.call_frames`), and so does the stack pointer.  Up to sm_62 every lane of
the call leaves with it, and what the function left on the divergence stack goes.  From sm_70 on
the focused group leaves, and the function's convergence barriers wait for it no more.  Nothing is
done by halves: where a register cannot be found, nothing changes.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpudbg.bits import lanes_of
from gpudbg.dataclass import dataclass
from gpudbg.debug.values.backtrace import call_depth, call_prepared, frames
from gpudbg.debug.values.lane_groups import RUNNING, shown_group
from gpudbg.debug.values.unwinding import return_addresses
from gpudbg.errors import CommandError, UsageError
from gpudbg.isa.calling_convention import BARRIERS, STACK_POINTER
from gpudbg.sm.divergence import step as divergence

if TYPE_CHECKING:
    from gpudbg.analysis.call_frames import FunctionFacts
    from gpudbg.debug.inferior import Inferior
    from gpudbg.debug.running import Runner
    from gpudbg.sm.state import WarpState

OTHERWISE = "`finish` runs it to its end; at its first instruction nothing has to be found"


@dataclass(slots=True)
class _Given:
    """Caller's registers and convergence barriers to restore, by number; one value a lane."""

    lanes: list[int]
    registers: dict[int, npt.NDArray[np.uint32]] = field(default_factory=dict)
    barriers: dict[int, npt.NDArray[np.uint32]] = field(default_factory=dict)


def leave_function(runner: Runner) -> None:
    """Return from the selected frame's function; see `DebugSession.leave_function`."""
    runner.require_movable()
    inferior = runner.inferior
    warp = inferior.focused()
    selected = frames(inferior)[inferior.frame_level]
    if not selected.physical:
        raise CommandError("Can not force return from the kernel itself.", "`kill` ends the launch")
    if selected.inlined:
        raise CommandError(
            f"Can not force return from an inlined function: {selected.function}",
            "`up` selects the function that it is a part of",
        )
    warp.note_edit()
    saved = warp.saved()
    groups = warp.groups.copy() if warp.has_groups else None
    calls = call_depth(inferior, warp) - selected.physical + 1
    prepared = None if warp.has_groups else divergence.call_of(warp)
    try:
        if prepared is not None and call_prepared(inferior.symbols, warp.pc):
            divergence.drop_call(warp, prepared)
        for _ in range(calls):
            if warp.has_groups:
                _leave_group(inferior, warp)
            else:
                _leave_token(inferior, warp)
    except CommandError:
        warp.put_back(saved)
        if groups is not None:
            warp.groups = groups
        raise
    warp.shown = warp.executed
    inferior.frame_level = inferior.skipped_inline = 0


def _leave_token(inferior: Inferior, warp: WarpState) -> None:
    """Up to sm_62: return the lanes that share the topmost RET token."""
    call = divergence.call_of(warp)
    if call is None:
        raise CommandError("Can not force return: no lane has a RET token")
    given = [_given(inferior, warp, pc, lanes) for pc, lanes in call.waiting.items()]
    for each in given:
        _give(warp, each)
    divergence.leave_call(warp, call)


def _leave_group(inferior: Inferior, warp: WarpState) -> None:
    """From sm_70 on: return the focused group; other lanes return when they get there."""
    group = shown_group(inferior, warp)
    if group is None or group.waiting:
        state = "have ended" if group is None else group.words or group.state
        raise CommandError(
            f"Can not force return: the focused lanes {state}",
            "focus a lane that can run, or let the others come",
        )
    symbols = inferior.symbols
    pc = symbols.layout.first(group.pc)
    function = symbols.function(pc)
    places: dict[int, int] = {}
    for lane in lanes_of(group.mask):
        address = next(iter(return_addresses(symbols, warp, lane, pc)), None)
        if address is None:
            raise CommandError(f"Can not force return: lane {lane}'s return address is not found")
        places[address] = places.get(address, 0) | 1 << lane
    if len(places) > 1:
        raise CommandError(
            f"Can not force return: lanes of {function} were called from {len(places)} places",
            "`finish` lets each lane return on its own",
        )
    given = _given(inferior, warp, pc, group.mask)
    facts = symbols.call_frames.facts(pc)
    if facts is not None:
        # Lanes that stay in the function must not wait at its barriers for those that leave.
        for barrier in facts.uses:
            if facts.before[pc].get(("B", barrier)) is None:
                warp.groups.leave(barrier, group.mask)
    _give(warp, given)
    target = next(iter(places))
    if group.state == RUNNING:
        warp.pc = target
    else:
        next(g for g in warp.groups.parked if g.lanes == group.mask).pc = target


def _given(inferior: Inferior, warp: WarpState, pc: int, lanes: int) -> _Given:
    """What lanes that stand at `pc` get back when they leave its function.

    Raises:
        CommandError: something cannot be found.
    """
    symbols = inferior.symbols
    given = _Given(list(lanes_of(lanes)))
    pc = symbols.layout.first(pc)
    facts = symbols.call_frames.facts(pc)
    if facts is None:  # Functions that the emulator carries out change nothing before they end.
        return given
    function, offset = symbols.function_offset(pc)
    here = f"{function}+0x{offset:x}"
    moved = facts.stack_at(pc)
    if moved is None:
        raise _lost("the stack pointer", here)
    if facts.saves_predicates and pc != symbols.layout.first(facts.entry):
        raise _lost("the predicates that the function saves", here)
    first = warp.R[STACK_POINTER][given.lanes] - np.uint32(moved & 0xFFFFFFFF)
    given.registers[STACK_POINTER] = first
    for register in sorted(facts.touched & facts.kept - {STACK_POINTER}):
        if register < len(warp.R):
            found = _value(warp, facts, pc, register, given.lanes, first)
            if found is None:
                raise _lost(f"R{register}", here)
            given.registers[register] = found
    for barrier in sorted(facts.barriers):
        if facts.before[pc].get(("B", barrier)) is None:
            found = _value(warp, facts, pc, BARRIERS + barrier, given.lanes, first)
            if found is None:
                raise _lost(f"B{barrier}", here)
            given.barriers[barrier] = found
    return given


def _lost(what: str, here: str) -> CommandError:
    return CommandError(f"Can not force return from {here}: {what} cannot be found", OTHERWISE)


def _value(
    warp: WarpState,
    facts: FunctionFacts,
    pc: int,
    register: int,
    lanes: list[int],
    first: npt.NDArray[np.uint32],
) -> npt.NDArray[np.uint32] | None:
    """What a register of the caller held, for each lane."""
    place = facts.place_of(pc, register)
    if place is None:
        return None
    kind, number = place
    if kind == "R":
        return np.array(warp.R[number][lanes], np.uint32)
    words = []
    for lane, begin in zip(lanes, first.tolist(), strict=True):
        try:
            words.append(warp.local.read(lane, (begin + number) & 0xFFFFFFFF, 4))
        except UsageError:
            return None
    return np.frombuffer(b"".join(words), "<u4").copy()


def _give(warp: WarpState, given: _Given) -> None:
    for register, values in given.registers.items():
        warp.R[register][given.lanes] = values
    for barrier, values in given.barriers.items():
        masks = [0] * 32
        for lane, mask in zip(given.lanes, values.tolist(), strict=True):
            masks[lane] = mask
        warp.groups.restore(barrier, sum(1 << lane for lane in given.lanes), masks)
