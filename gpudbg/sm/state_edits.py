"""What a user changed in a launch, as data: parts of the state by name, and how to set them.

A recording keeps what was changed between two moves as the difference of the parts before and
after.  Only what is architectural is a part, and setting one checks it: data from a file reaches no
address of this host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError
from gpudbg.sm import record as rec
from gpudbg.sm.counters import reads_counters
from gpudbg.sm.trap.state import SmTrap

if TYPE_CHECKING:
    from gpudbg.mem.device import Allocation
    from gpudbg.sm.grid import Grid
    from gpudbg.sm.state import WarpState
    from gpudbg.sm.trap.handler import Handler

_GAP: Final = 64
"""Equal bytes between two changes up to which both become one piece."""
_FIELDS: Final = ("pc", "pred", "cc", "upred", "lmem", "crs", "saved", "quad")
"""Record fields that a user can change; the others locate things for host code."""
_SM: Final = tuple(f.name for f in fields(SmTrap) if f.name not in ("frozen", "pause", "physical"))
"""Names of the debugger registers; the other fields are the driver's and belong to its moves."""

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class StatePart:
    """A part of the state that is bytes.

    Attributes:
        data: its bytes; those of device memory are only to be read.
        writable: gives bytes to write to.
    """

    data: Bytes
    writable: Callable[[], Bytes]


def byte_parts(grid: Grid) -> Iterator[tuple[str, StatePart]]:
    """The parts that are bytes, by name."""
    for warp in grid.warps():
        yield from _warp_parts(warp)
    for cta in grid.ctas():
        yield f"block {cta.number} shared", _plain(cta.shared.data)
    for number, store in sorted(grid.launched.constants.banks.items()):
        yield f"bank {number}", StatePart(store.data, store.writable)
    if grid.traps.handler is not None:
        for number, store in sorted(grid.traps.handler.banks.items()):
            yield f"handler bank {number}", StatePart(store.data, store.writable)
    for allocation in grid.gpu.memory.allocations():
        yield f"memory 0x{allocation.base:x}", _memory(allocation)


def handler_of(grid: Grid) -> Handler | None:
    """The trap handler that is installed."""
    placed = grid.traps.handler
    return None if placed is None else placed.handler


def set_handler(grid: Grid, handler: Handler | None) -> None:
    """Install another trap handler, or (None) take it away."""
    grid.note_edit()
    if handler is None:
        grid.traps.handler = None
    else:
        grid.install(handler)
        if reads_counters(grid.code.code):
            grid.keep_counters()


def _warp_parts(warp: WarpState) -> Iterator[tuple[str, StatePart]]:
    place = f"warp {warp.sm}.{warp.slot}"
    for name in _FIELDS:
        slot = rec.FIELDS[name]
        part = warp.record[slot.offset : slot.offset + slot.width * slot.length]
        yield f"{place} {name}", _plain(np.frombuffer(part, np.uint8))
    yield f"{place} registers", _plain(warp.R)
    yield f"{place} local", _plain(warp.local.words)
    if warp.has_groups:
        yield f"{place} uniform", _plain(warp.UR)


def _plain(array: Any) -> StatePart:
    flat: Bytes = np.asarray(array).reshape(-1).view(np.uint8)
    return StatePart(flat, lambda: flat)


def _memory(allocation: Allocation) -> StatePart:
    return StatePart(allocation.data, allocation.writable)


def value_parts(grid: Grid) -> dict[str, int]:
    """The parts that are numbers, by name: the debugger registers of the SMs."""
    return {
        f"sm {number} {name}": value
        for number, sm in enumerate(grid.sms)
        for name in _SM
        if type(value := getattr(sm.trap, name)) is int
    }


def copied(grid: Grid) -> dict[str, bytes]:
    """Copies of the parts that are bytes."""
    return {name: part.data.tobytes() for name, part in byte_parts(grid)}


def changed(before: bytes, after: bytes) -> Iterator[tuple[int, bytes]]:
    """Where bytes differ: (offset, bytes afterwards)."""
    a, b = np.frombuffer(before, np.uint8), np.frombuffer(after, np.uint8)
    where = np.flatnonzero(a != b)
    if not len(where):
        return
    cuts = np.flatnonzero(np.diff(where) > _GAP)
    for first, last in zip(
        where[np.concatenate(([0], cuts + 1))], where[np.concatenate((cuts, [-1]))], strict=True
    ):
        yield int(first), after[first : last + 1]


def apply(grid: Grid, values: Mapping[str, Any], pieces: list[tuple[str, int, bytes]]) -> None:
    """Set parts of the state.

    Raises:
        UsageError: a part that there is none of, or bytes beyond its end.
    """
    grid.note_edit()
    known = value_parts(grid)
    for name, value in values.items():
        if name not in known or type(value) is not int or value < 0:
            raise UsageError(f"no part of the state: {name}")
        _, number, field = name.split()
        if value >> 64:
            raise UsageError(f"{name}: {value} is no register's value")
        setattr(grid.sms[int(number)].trap, field, value)
    parts = dict(byte_parts(grid))
    for name, offset, content in pieces:
        part = parts.get(name)
        if part is None:
            raise UsageError(f"no part of the state: {name}")
        if not 0 <= offset <= len(part.data) - len(content):
            raise UsageError(f"{name}: bytes {offset} to {offset + len(content)} are not there")
        part.writable()[offset : offset + len(content)] = np.frombuffer(content, np.uint8)
