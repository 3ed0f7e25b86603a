"""A launch begins, begins again, and once more beside itself: what it goes back to each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gpudbg.mem.checkpoint import Checkpoint
    from gpudbg.mem.device import Allocation
    from gpudbg.sm.gpu import Gpu, Grid


_NONE: Final[frozenset[Allocation]] = frozenset()


class Beginnings:
    """The grids of one launch, and device memory and the kernels' heap as the first one found them.

    Attributes:
        checkpoint: device memory at the first beginning; None before it and after the end.
        next_address: where what the launch makes for itself in device memory begins.
    """

    def __init__(
        self,
        gpu: Gpu,
        grid: Grid | None = None,
        retire: Callable[[Grid], None] | None = None,
    ) -> None:
        """Args:
        gpu: whose memory it is.
        grid: launched before; given back with the others.
        retire: gives back what `begin` has launched; None: `Grid.dispose`.
        """
        self._gpu, self._grid, self._retire = gpu, grid, retire
        self.checkpoint: Checkpoint | None = None
        self._heap: frozenset[Allocation] = frozenset()
        self._others: list[Grid] = []
        self.next_address = 0

    def begin(self, launch: Callable[[], Grid], kept: Callable[[], None] | None = None) -> Grid:
        """A new grid; the first call launches, later ones restore device memory first.

        Args:
            launch: launches on what is there.
            kept: called once memory is kept, before the first launch.
        """
        memory = self._gpu.memory
        if self.checkpoint is None:
            self.checkpoint = memory.checkpoint()
            self._heap = frozenset(self._gpu.heap.blocks) if self._gpu.heap.blocks else _NONE
            if kept is not None:
                kept()
        else:
            self._restore(self.checkpoint)
        self._dispose()
        self.next_address = memory.next_address
        self._grid = launch()
        return self._grid

    def begin_once(self, launch: Callable[[], Grid]) -> Grid:
        """A grid that nobody has begin again: device memory is not kept for that."""
        self.next_address = self._gpu.memory.next_address
        self._grid = launch()
        return self._grid

    def begin_again(self, now: Grid, launch: Callable[[], Grid]) -> Grid:
        """The grid as `begin` gave it last, word for word, beside the one there is: checkpoints of
        that one may still be wanted.  Device memory is restored first.

        Args:
            now: the grid whose memory is there.
            launch: as for `begin`.
        """
        gpu = self._gpu
        assert self.checkpoint is not None
        for allocation in now.owned:
            gpu.memory.free(allocation)
        self._restore(self.checkpoint)
        gpu.memory.next_address = self.next_address
        gpu.launches -= 1
        self._others.append(launch())
        return self._others[-1]

    def _restore(self, checkpoint: Checkpoint) -> None:
        """Device memory, and what `malloc` has given since the launch began."""
        checkpoint.restore()
        heap, memory = self._gpu.heap, self._gpu.memory
        for block in heap.blocks - self._heap:
            heap.used -= block.size
            heap.blocks.discard(block)
            memory.free(block)

    def end(self) -> None:
        """Give the grids back, and what would be restored."""
        self._dispose()
        self.checkpoint = self._retire = None

    def _dispose(self) -> None:
        grid = self._grid
        if grid is not None and self._retire is not None and not self._others:
            self._retire(grid)
        elif grid is not None:
            grid.dispose()
        for other in self._others:
            other.dispose()
        self._others.clear()
        self._grid = None


__all__ = ["Beginnings"]
