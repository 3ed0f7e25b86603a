"""Checkpoints of device memory: contents that a restart goes back to, copied when they change.

A launch begins with a checkpoint, which costs nothing.  Whoever is about to write to an allocation
asks for it (`Allocation.writable`): the first one after a checkpoint has the contents kept for all
checkpoints that have none of it yet, as one copy.  Compiled code asks too: in its table
(`DeviceMemory.table`) an allocation that has not been written to since the last checkpoint has
another moment than the table itself, and the step engine makes the access.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpudbg.mem.blocks import BLOCK, Block
from gpudbg.mem.pages import PIECE, Kept

if TYPE_CHECKING:
    from gpudbg.mem.device import Allocation


Storage = tuple[Any, ...]
"""What holds the bytes of an allocation: `Allocation.release` gives it."""


class Checkpoint:
    """The contents of a device's memory at a moment; without references to it nothing is kept.

    Attributes:
        moment: its number on the device.
        contents: what allocations held at the moment, of those that were written to since.
        freed: storage of allocations that have been freed since, where it keeps that.
    """

    __slots__ = ("__weakref__", "_marks", "contents", "freed", "moment")

    def __init__(self, moment: int, keeps_freed: bool = False) -> None:
        self.moment = moment
        self.freed: dict[Allocation, Storage] | None = {} if keeps_freed else None
        self.contents: dict[Allocation, Kept] = {}
        self._marks: dict[Allocation, npt.NDArray[np.uint8]] = {}

    def take(self, allocation: Allocation, kept: Kept, marks: npt.NDArray[np.uint8] | None) -> None:
        """What an allocation held at the moment, and which bytes of it had been written."""
        self.contents[allocation] = kept
        if marks is not None:
            self._marks[allocation] = marks

    def kept(self, allocation: Allocation) -> Kept | None:
        """What an allocation held then; None where nobody has written to it since."""
        return self.contents.get(allocation)

    def same_marks(
        self, allocation: Allocation, marks: npt.NDArray[np.uint8]
    ) -> npt.NDArray[np.uint8]:
        """Its own copy of marks where they are the same, so that there is one."""
        own = self._marks.get(allocation)
        return own if own is not None and np.array_equal(own, marks) else marks

    def held(self) -> Iterator[Block]:
        """What it keeps; checkpoints may share it."""
        for kept in self.contents.values():
            yield from kept.held()
        yield from self._marks.values()

    def restore(self) -> None:
        """Put back what has been changed since, in all allocations that are still there."""
        for allocation, kept in self.contents.items():
            if not allocation.freed:
                # Later checkpoints keep what is there now.
                allocation.writable()
                kept.restore()
                if allocation in self._marks:
                    allocation.without_contents()
                    marks = allocation.marked()
                    marks[:] = np.unpackbits(self._marks[allocation], count=len(marks))

    @property
    def nbytes(self) -> int:
        """Bytes of the allocations of which contents are kept."""
        return sum(allocation.size for allocation in self.contents)


class Journal:
    """The checkpoints of a device's memory.

    Attributes:
        moment: number of the latest one.
        seconds: of the processor, which it has cost so far to keep contents.
        threads: of the host, that may keep contents together.
        writes: how often somebody has made or freed an allocation, or asked to write to one
            (`Allocation.writable`): between two runs it was not the program.
    """

    __slots__ = ("_checkpoints", "moment", "seconds", "threads", "writes")

    def __init__(self) -> None:
        self.moment = self.writes = 0
        self.seconds = 0.0
        self.threads = 1
        self._checkpoints: list[weakref.ref[Checkpoint]] = []

    def checkpoint(self, keeps_freed: bool = False) -> Checkpoint:
        """A new one."""
        self.moment += 1
        made = Checkpoint(self.moment, keeps_freed)
        live = [found for found in self._checkpoints if found() is not None]
        self._checkpoints = [*live, weakref.ref(made)]
        return made

    def free(self, allocation: Allocation, storage: Storage) -> None:
        """An allocation has been freed: checkpoints that keep such have its storage."""
        for found in (reference() for reference in self._checkpoints):
            if found is not None and found.freed is not None:
                found.freed[allocation] = storage

    def keep(self, allocation: Allocation, since: int) -> None:
        """Keep an allocation's contents for the checkpoints after the one numbered `since`."""
        wanted: list[Checkpoint] = []
        before: Checkpoint | None = None
        for reference in self._checkpoints:
            found = reference()
            if found is None:
                continue
            if found.moment > since:
                wanted.append(found)
            elif allocation in found.contents:
                # By moment: what is found last is the latest copy.
                before = found
        if not wanted:
            return
        # What is small takes less time than asking for the time.
        begun = process_time() if allocation.size > BLOCK else None
        earlier = None if before is None else before.contents[allocation]
        kept = Kept(allocation, earlier, self.threads)
        marks = None if allocation.marks is None else _packed(allocation.marks)
        if before is not None and marks is not None:
            marks = before.same_marks(allocation, marks)
        for found in wanted:
            found.take(allocation, kept, marks)
        if begun is not None:
            self.seconds += process_time() - begun


def _packed(marks: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Marks as bits, a piece at a time."""
    return np.concatenate(
        [np.packbits(marks[at : at + PIECE] != 0) for at in range(0, len(marks), PIECE)]
        or [np.empty(0, np.uint8)]
    )
