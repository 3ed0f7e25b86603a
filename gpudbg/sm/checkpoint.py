"""Checkpoints of a launch: its whole state at a moment between two runs, to go back to.

A checkpoint remembers the objects a launch's state is made of, and what was in them: attributes,
lists, dictionaries and arrays of everything of `gpudbg.sm` and `gpudbg.mem` that a `Grid` leads to.
So a new field of such a class is part of it without being named here.  Going back puts the contents
into the same objects, since records hold each other's host addresses.  Device memory has
checkpoints of its own (`gpudbg.mem.checkpoint`), which copy what changes.

Not part of it: who observes, options, compiled code, and what was printed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from gpudbg.mem.blocks import SharedBlocks
from gpudbg.mem.device import Allocation, DeviceMemory
from gpudbg.mem.pages import address_of
from gpudbg.sm.device_output import DeviceOutput
from gpudbg.sm.engines.step import StepEngine
from gpudbg.sm.grid import Grid
from gpudbg.sm.observer import Observer, Observers
from gpudbg.sm.residency.arena import Arena
from gpudbg.sm.sregs import SregFile
from gpudbg.sm.trace import Trace
from gpudbg.sm.trap.options import TrapOptions

if TYPE_CHECKING:
    from gpudbg.mem.checkpoint import Checkpoint

_STATE: Final = ("gpudbg.sm.", "gpudbg.mem.")
_ENGINE: Final = ("code", "constants", "polled", "turn_over", "written")
"""Attributes of the step engine that persist from one instruction to the next."""
_GRID: Final = (
    "_halted",
    "_started",
    "counters",
    "cut",
    "faults",
    "flow",
    "launched",
    "owned",
)
"""Attributes of a grid that are state of its launch."""
_LEFT: Final = (
    Allocation,
    DeviceMemory,
    DeviceOutput,
    Grid,
    Observers,
    SregFile,
    StepEngine,
    Trace,
    TrapOptions,
)
"""Classes whose objects are not state, or whose state is saved in another way."""
_OTHERS: Final = frozenset(("edits", "observers", "on_event", "trace"))
"""Attributes that name the launch's observers, or count changes from outside."""
_MUTABLE: Final = SimpleNamespace(frozen=False)
_ABSENT: Final = object()


class KeptArray:
    """The saved content of an array, in blocks that checkpoints share."""

    __slots__ = ("_array", "blocks")

    def __init__(self, array: npt.NDArray[np.uint8], before: KeptArray | None) -> None:
        """Args: before: an earlier checkpoint's of the same array, whose blocks are shared."""
        self._array = array
        self.blocks: SharedBlocks = SharedBlocks(array, None if before is None else before.blocks)

    def restore(self) -> None:
        """Write the saved content back."""
        self.blocks.restore(self._array)


class GridCheckpoint:
    """The state of a launch at a moment.

    Attributes:
        grid: the launch.
        total: warp instructions issued before it.
        printed: pieces of output before it.
    """

    def __init__(self, grid: Grid, before: GridCheckpoint | None = None) -> None:
        """The state as it is now; the launch must not be running.

        Args:
            before: an earlier checkpoint, of which pages that have not changed are shared.
        """
        self.grid = grid
        self.total = grid.total
        self.printed = grid.gpu.output.count
        self._attributes: list[tuple[Any, str, Any]] = []
        self._objects: list[tuple[Any, frozenset[str]]] = []
        self._containers: list[tuple[Any, Any]] = []
        self._arrays: dict[tuple[int, int], KeptArray] = {}
        self._arenas: list[Arena] = []
        self._before = {} if before is None else before._arrays
        self._seen: set[int] = set()
        for name in _GRID:
            self._keep_attribute(grid, name)
        for name in _ENGINE:
            self._keep_attribute(grid.engine, name)
        self._walk(grid.gpu.heap)
        del self._before, self._seen
        self._memory = MemoryCheckpoint(grid.gpu.memory)

    def held(self) -> Iterator[bytes | npt.NDArray[np.uint8]]:
        """The content that it keeps; checkpoints may share it."""
        for kept in self._arrays.values():
            yield from kept.blocks.held()
        yield from self._memory.held()

    # ---- keeping -----------------------------------------------------------------------
    def _keep_attribute(self, owner: Any, name: str) -> None:
        value = getattr(owner, name, _ABSENT) if name in _made(owner) else _ABSENT
        self._attributes.append((owner, name, value))
        self._walk(value)

    def _walk(self, value: Any) -> None:
        """Save an object and everything it leads to; iteratively, since chains are long."""
        waiting = [value]
        while waiting:
            found = waiting.pop()
            if found is None or isinstance(found, int | str | bytes | float | type):
                continue
            if id(found) not in self._seen:
                self._seen.add(id(found))
                waiting += self._parts(found)

    def _parts(self, value: Any) -> list[Any]:
        """Save the content of one object. Returns the objects it refers to."""
        if isinstance(value, np.ndarray):
            self._keep_array(value)
        elif isinstance(value, memoryview):
            if isinstance(value.obj, np.ndarray):
                self._keep_array(value.obj)
        elif isinstance(value, list | deque):
            self._containers.append((value, list(value)))
            return list(value)
        elif isinstance(value, dict):
            self._containers.append((value, dict(value)))
            return list(value.values())
        elif isinstance(value, set):
            self._containers.append((value, set(value)))
            return list(value)
        elif isinstance(value, tuple | frozenset):
            return list(value)
        elif _is_state(value):
            return self._keep_object(value)
        return []

    def _keep_object(self, value: Any) -> list[Any]:
        if isinstance(value, Arena):
            self._arenas.append(value)
        made = [(name, getattr(value, name)) for name in _made(value) if name not in _OTHERS]
        if not getattr(type(value), "__dataclass_params__", _MUTABLE).frozen:
            self._attributes += [(value, name, found) for name, found in made]
            self._objects.append((value, frozenset(name for name, _ in made)))
        return [found for _, found in made]

    def _keep_array(self, array: npt.NDArray[Any]) -> None:
        """Save the array that owns a view's memory: all views of it change together."""
        while isinstance(array.base, np.ndarray):
            array = array.base
        if not array.flags.writeable or not array.size:
            return
        place = address_of(array), array.nbytes
        if place not in self._arrays:
            flat = array.reshape(-1).view(np.uint8)
            self._arrays[place] = KeptArray(flat, self._before.get(place))

    # ---- going back --------------------------------------------------------------------
    def restore(self) -> None:
        """Put the launch back into this state; output printed since is not taken back.

        Compiled code has to begin anew: it knows nothing of the moment.
        """
        grid = self.grid
        for owner, name, value in self._attributes:
            if value is not _ABSENT:
                setattr(owner, name, value)
        for value, names in self._objects:
            # Attributes created on demand since the checkpoint did not exist yet: remove them.
            for name in [n for n in _made(value) if n not in names and n not in _OTHERS]:
                delattr(value, name)
        for container, content in self._containers:
            container.clear()
            if isinstance(container, list | deque):
                container.extend(content)
            else:
                container.update(content)
        for kept in self._arrays.values():
            kept.restore()
        for arena in self._arenas:
            # Compiled code must not assume that registers and local memory are untouched.
            arena.fresh, arena.seen, arena.local_seen = False, True, True
        self._memory.restore()
        grid.forget_interrupt()
        if grid.fast is not None:
            grid.fast.dispose()
            grid.fast = grid.fast.again()


class MemoryCheckpoint:
    """Device memory at a moment: contents, and which allocations there are."""

    __slots__ = ("_contents", "_live", "_memory", "_next")

    def __init__(self, memory: DeviceMemory) -> None:
        self._memory = memory
        self._contents: Checkpoint = memory.checkpoint(keeps_freed=True)
        self._live = list(memory.allocations())
        self._next = memory.next_address

    def held(self) -> Iterator[bytes | npt.NDArray[np.uint8]]:
        """The content that it keeps; checkpoints may share it."""
        return self._contents.held()

    def restore(self) -> None:
        """Restore contents; allocations made since are freed, those freed since exist again."""
        memory, live = self._memory, set(self._live)
        for allocation in list(memory.allocations()):
            if allocation not in live:
                memory.free(allocation)
        for allocation in self._live:
            if allocation.freed:
                memory.revive(allocation, self._contents)
        self._contents.restore()
        memory.next_address = self._next


def _is_state(value: Any) -> bool:
    if isinstance(value, _LEFT) or not type(value).__module__.startswith(_STATE):
        return False
    # Counters are observers, but their counts are state.
    return not isinstance(value, Observer) or hasattr(value, "preset")


def _made(value: Any) -> Iterator[str]:
    """Names of the attributes an object has now, without those created on demand and not yet asked
    for.
    """
    found = set(getattr(value, "__dict__", ()))
    for base in type(value).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            member = base.__dict__.get(name)
            if member is not None and _is_set(member, value):
                found.add(name)
    return iter(found - {"__weakref__", "__dict__"})


def _is_set(member: Any, value: Any) -> bool:
    try:
        member.__get__(value)
    except AttributeError:
        return False
    return True
