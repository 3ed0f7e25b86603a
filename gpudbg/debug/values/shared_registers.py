"""What a warp of sm_70 and later has beside R and P: uniform registers, predicates, barriers.

UR0 ... and UP0 ... belong to all lanes of a warp, B0 to B15 are convergence barriers.  The model
keeps a copy for each lane (`info policy`): an instruction writes those of the lanes that execute
it, and reads that of the lowest one.  So what a lane sees is what its group sees; an assignment
changes the copies of the whole group.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from gpudbg.dataclass import dataclass
from gpudbg.debug.values.lane_groups import group_of
from gpudbg.debug.values.lanes import LANES, array_mask, mask_array
from gpudbg.errors import CommandError
from gpudbg.sm.convergence.groups import BARRIERS

if TYPE_CHECKING:
    from gpudbg.debug.symbols import Symbols
    from gpudbg.sm.state import WarpState

UNIFORM, PREDICATE, BARRIER = "uniform", "uniform predicate", "barrier"
"""The three files, as kinds of places."""
PREDICATES = 7
MOST_SCANNED = 1500
"""Instructions of a program that are looked at for the registers they name."""

_NAME = re.compile(r"(UR)(\d{1,3}|Z)|(UP)([0-6T])|(B)(\d{1,2})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SharedRegister:
    """One of them: its file and number; -1: URZ or UPT, which never change."""

    file: str
    number: int

    @property
    def name(self) -> str:
        """As the text of instructions has it."""
        if self.number < 0:
            return "URZ" if self.file == UNIFORM else "UPT"
        return f"{ {UNIFORM: 'UR', PREDICATE: 'UP', BARRIER: 'B'}[self.file] }{self.number}"


def parse(warp: WarpState, text: str) -> SharedRegister | None:
    """The register that a name means; None: no such name, or the warp has none of them.

    Raises:
        CommandError: the architecture has fewer.
    """
    found = _NAME.fullmatch(text) if warp.has_groups else None
    if found is None:
        return None
    file, number = (word.upper() for word in found.groups() if word is not None)
    if file == "B":
        if int(number) >= BARRIERS:
            raise CommandError(f"no convergence barrier B{number}", f"B0 to B{BARRIERS - 1}")
        return SharedRegister(BARRIER, int(number))
    count = uniform_count(warp)
    if file == "UP":
        if not count:
            raise CommandError(f"no uniform predicate UP{number}", "the architecture has none")
        return SharedRegister(PREDICATE, -1 if number == "T" else int(number))
    if number == "Z" and count:
        return SharedRegister(UNIFORM, -1)
    if number == "Z" or int(number) >= count:
        known = f"the architecture has UR0 to UR{count - 1}" if count > 0 else "it has none"
        raise CommandError(f"no uniform register UR{number}", known)
    return SharedRegister(UNIFORM, int(number))


def looks_like_one(text: str) -> bool:
    """Whether a name is one of these on some architecture."""
    return _NAME.fullmatch(text) is not None


def uniform_count(warp: WarpState) -> int:
    """Uniform registers that the architecture has; 0 up to sm_70."""
    return max(len(warp.UR) - 1, 0) if warp.has_groups else 0


def read(warp: WarpState, register: SharedRegister) -> NDArray[np.uint32]:
    """What a register holds in the 32 lanes; a predicate is 0 or 1, a barrier a lane mask."""
    number = register.number
    if register.file == UNIFORM:
        if number < 0:
            return np.zeros(LANES, np.uint32)
        return np.asarray(warp.UR[number]).copy()
    if register.file == PREDICATE:
        mask = 0xFFFFFFFF if number < 0 else int(warp.uniform_predicates[number])
        return mask_array(mask).astype(np.uint32)
    masks = [warp.shown_groups.mask_of_lane(number, lane) for lane in range(LANES)]
    return np.array(masks, np.uint32)


def barrier_masks(warp: WarpState, lane: int) -> tuple[int, ...]:
    """What the convergence barriers hold in a lane: B0 to B15."""
    if not warp.has_groups:
        return ()
    return tuple(warp.shown_groups.mask_of_lane(n, lane) for n in range(BARRIERS))


def write(warp: WarpState, register: SharedRegister, value: int, lane: int) -> None:
    """Give a register another value in all lanes of a lane's group.

    Raises:
        CommandError: URZ, UPT, or a barrier.
    """
    if register.number < 0:
        always = "0" if register.file == UNIFORM else "true"
        raise CommandError(f"{register.name} is always {always}")
    if register.file == BARRIER:
        raise CommandError(
            f"{register.name} says who waits for whom, and is changed by BSSY and BMOV alone",
            "`jump` moves a group of lanes past a BSYNC",
        )
    group = group_of(warp, lane)
    lanes = mask_array(1 << lane if group is None else group.mask)
    if register.file == UNIFORM:
        warp.UR[register.number][lanes] = value & 0xFFFFFFFF
        return
    held = mask_array(int(warp.uniform_predicates[register.number]))
    held[lanes] = bool(value)
    warp.uniform_predicates[register.number] = array_mask(held)


# ---- those worth a row -------------------------------------------------------------------
_USED: WeakKeyDictionary[Symbols, frozenset[SharedRegister] | None] = WeakKeyDictionary()


def used(symbols: Symbols, warp: WarpState) -> tuple[SharedRegister, ...]:
    """Registers that the program names, or where that is too long to find out, that are not 0."""
    if not warp.has_groups:
        return ()
    if symbols not in _USED:
        _USED[symbols] = _named(symbols) if len(symbols.pcs) <= MOST_SCANNED else None
    named = _USED[symbols]
    every = _all(warp)
    if named is not None:
        return tuple(r for r in every if r in named)
    return tuple(r for r in every if read(warp, r).any())


def _all(warp: WarpState) -> Iterable[SharedRegister]:
    count = uniform_count(warp)
    yield from (SharedRegister(UNIFORM, n) for n in range(count))
    yield from (SharedRegister(PREDICATE, n) for n in range(PREDICATES if count else 0))
    yield from (SharedRegister(BARRIER, n) for n in range(BARRIERS))


def _named(symbols: Symbols) -> frozenset[SharedRegister]:
    out: set[SharedRegister] = set()
    numbers: tuple[tuple[str, Callable[..., frozenset[int]]], ...] = (
        (UNIFORM, lambda access: access.uniform),
        (PREDICATE, lambda access: access.uniform_predicates),
        (BARRIER, lambda access: access.barriers),
    )
    for pc in symbols.pcs:
        insn = symbols.call_frames.instruction(pc)
        if insn is None:
            continue
        for access in (insn.reads(), insn.writes()):
            for file, pick in numbers:
                out |= {SharedRegister(file, n) for n in pick(access)}
    return frozenset(out)
