"""Conversion of lane groups between `Groups` objects and a warp's record, for compiled code.

The record holds what usual code makes: groups that are ready, that wait at a BSYNC or that have
yielded, as entries of the stack, the one that has waited longest first; and the activations of
convergence barriers; a WARPSYNC that lanes wait in has a row among these, too, whose members are
its mask.  What lanes have saved has rows, too, in the order in which they did.  Anything else
(exclusive groups beside others, parts of a warp at a CTA barrier, barriers that some lanes have
saved and others hold, a warp in the trap handler) is a `Groups` object alone: the record then says
`apart`, and compiled code leaves control flow of the warp to the step engine.

The kind of an entry: its state, from bit 8 on the number of the activation it waits for, from bit
16 on the rounds without a ready group meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpudbg.sm import record as rec
from gpudbg.sm.convergence.groups import (
    AT_BARRIER,
    AT_CLUSTER,
    CONVERGING,
    READY,
    SYNCING,
    YIELDED,
    Activation,
    Group,
    Groups,
)

if TYPE_CHECKING:
    from gpudbg.sm.state import WarpState

STATES: Final = (READY, YIELDED, CONVERGING, SYNCING)
"""States of groups in a record; the number there is the index."""
STATE_CODE: Final = {name: n for n, name in enumerate(STATES)}
WAITS_FOR: Final = 8
"""First bit of the activation's number in an entry's kind."""
WAITED: Final = 16
"""First bit of an entry's kind that counts rounds without a ready group."""
SAVED: Final = 0x200
"""Added to a barrier's number in the row of an activation that its lanes have saved."""
PASSING: Final = len(STATES)
"""Stands in place of a state's number for lanes in a WARPSYNC that a BAR follows."""
ROW_BITS: Final = (1 << WAITED - WAITS_FOR) - 1
"""Mask of the activation's number after shifting it down."""
_HeldRow = tuple[int, int, Activation]
"""An activation: barrier or `SYNC`, lanes that hold it, itself."""
SYNC: Final = 0x100
"""Stands in place of a barrier's number in the row of a WARPSYNC."""


_WHOLE: Final = {rec.AT_BARRIER: AT_BARRIER, rec.AT_CLUSTER: AT_CLUSTER}
"""Status of a warp that waits as a whole -> state of its only group."""


def read(warp: WarpState) -> Groups:
    """The groups that a record holds."""
    words, groups = warp.words, Groups()
    opened: list[Activation] = []
    for n in range(words[rec.OPENED]):
        place = rec.ACTIVATIONS + 4 * n
        number, holders, members, waiting = words[place : place + 4]
        made = Activation(members, waiting)
        opened.append(made)
        if number & SAVED:
            groups.hold_saved(number ^ SAVED, holders, made)
        elif number != SYNC:
            groups.hold(number, holders, made)
    for n in range(words[rec.DEPTH]):
        kind, lanes, target = warp.entry_words(n)
        passes = kind & 0xFF == PASSING
        state = SYNCING if passes else STATES[kind & 0xFF]
        row = kind >> WAITS_FOR & ROW_BITS
        held = opened[row] if state == CONVERGING else None
        number = words[rec.ACTIVATIONS + 4 * row] & ~SAVED if held else 0
        if state == SYNCING:
            number = opened[row].members
        waited = kind >> WAITED
        made_of = Group(target, lanes, state, number, held, passes=passes, waited=waited)
        groups.parked.append(made_of)
    groups.backward_count = words[rec.BACKWARD]
    groups.exclusive = words[rec.APART] == rec.ALONE
    status = words[rec.STATUS]
    if status in _WHOLE:
        place = words[rec.BAR_WAIT] if status == rec.AT_BARRIER else 0
        groups.parked.append(Group(warp.pc, words[rec.ACTIVE], _WHOLE[status], place))
    groups.running = status not in (*_WHOLE, rec.DONE)
    return groups


def fits(warp: WarpState) -> bool:
    """Whether a warp's groups fit its record, or are in it."""
    return warp.words[rec.APART] != rec.IN_PYTHON or _rows(warp, warp.groups) is not None


def _rows(warp: WarpState, groups: Groups) -> tuple[list[Group], list[_HeldRow], list[int]] | None:
    """What to write: groups, activations (those of WARPSYNCs last), their masks; None where it does
    not fit.
    """
    words, parked = warp.words, groups.parked
    if groups.interrupted is not None and words[rec.STATUS] != rec.DONE:
        return None
    alone = len(parked) == 1 and not groups.running
    if alone and parked[0].state == _WHOLE.get(words[rec.STATUS], ""):
        # The whole warp: its pc, lanes and barrier are in the header.
        parked = []
    elif words[rec.STATUS] == rec.DONE:
        return [], [], []
    elif not groups.running:
        return None
    rows = _barrier_rows(groups)
    masks = list(dict.fromkeys(g.place for g in parked if g.state == SYNCING))
    simple = all(g.state in STATE_CODE and not g.exclusive for g in parked)
    together = groups.exclusive and (parked or not groups.running)
    if rows is None or together or not simple:
        return None
    for mask in masks:
        there = sum(g.lanes for g in parked if g.state == SYNCING and g.place == mask)
        rows.append((SYNC, 0, Activation(mask, there)))
    return None if len(rows) > rec.MOST_ACTIVATIONS else (parked, rows, masks)


def _barrier_rows(groups: Groups) -> list[_HeldRow] | None:
    """The rows of convergence barriers, what was saved first; None where they say not all."""
    saved = groups.saved()
    if saved is None:
        return None
    known = {id(held) for _, _, held in saved}
    held_now = groups.activations()
    if any(holders and id(held) in known for _, holders, held in held_now):
        return None
    rows = [(number | SAVED, lanes, held) for number, lanes, held in saved]
    return rows + [row for row in held_now if id(row[2]) not in known]


def write(warp: WarpState, groups: Groups) -> bool:
    """Write groups to the record, which owns them from now on. Returns whether they fit."""
    words = warp.words
    found = _rows(warp, groups)
    if found is None:
        return False
    if words[rec.STATUS] == rec.DONE:
        return True
    parked, rows, masks = found
    for n in range(rec.HELD, rec.HELD + rec.FIELDS["held"].length):
        words[n] = 0
    for n, (number, holders, held) in enumerate(rows):
        place = rec.ACTIVATIONS + 4 * n
        for k, value in enumerate((number, holders, held.members, held.waiting)):
            words[place + k] = value
        if number < rec.FIELDS["held"].length:
            words[rec.HELD + number] |= holders
    first = len(rows) - len(masks)
    numbers = {id(held): n for n, (_, _, held) in enumerate(rows)}
    for n, group in enumerate(parked):
        kind = PASSING if group.passes else STATE_CODE[group.state]
        if group.activation is not None:
            kind |= numbers[id(group.activation)] << WAITS_FOR
        elif group.state == SYNCING:
            kind |= first + masks.index(group.place) << WAITS_FOR
        kind |= group.waited << WAITED
        warp.set_entry(n, kind, group.lanes, group.pc)
    words[rec.DEPTH] = len(parked)
    words[rec.OPENED] = len(rows)
    words[rec.READY_GROUPS] = sum(group.state == READY for group in parked)
    # No higher than any; they are exact once compiled code has chosen who goes on.
    words[rec.LOWEST] = words[rec.SECOND] = 0
    words[rec.BACKWARD] = groups.backward_count
    words[rec.APART] = rec.ALONE if groups.exclusive else 0
    return True


def keep(warp: WarpState) -> bool:
    """Move a warp's groups to its record if they fit. Returns whether they did."""
    return warp.words[rec.APART] != rec.IN_PYTHON or write(warp, warp.groups)
