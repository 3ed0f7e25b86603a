"""Repeated launches of a kernel: a finished launch's grid is reset and used for the next of its
kind.

A short launch spends nearly all its time on being set up.  A grid that compiled code has run from
beginning to end, all of whose CTAs were placed at first, is put back to its beginning: records,
blocks and words of the SMs as they were, shared and local memory zero, other parameters in constant
bank 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from gpudbg.sm.engines.llvm.start import FastEngine
from gpudbg.sm.launch_constants import launch_words

if TYPE_CHECKING:
    from gpudbg.sm.gpu import Gpu, Module
    from gpudbg.sm.grid import Grid
    from gpudbg.sm.launch import Dim

MOST_BYTES = 1 << 20
"""Most bytes of a launch's warps and blocks: resetting more takes longer than it saves."""
MOST_KEPT = 64
"""Most launches kept for a module."""

LaunchKind = tuple[object, ...]
"""Key of launches that differ in their parameters only."""


def kind_of(
    gpu: Gpu, kernel: str, grid: Dim, block: Dim, shared: int, cluster: Dim | None
) -> LaunchKind:
    """The kind of a launch, with everything of the device that it depends on."""
    settings = gpu.seed, gpu.quantum, gpu.jobs, gpu.engine, gpu.marking, gpu.num_sms
    more = gpu.stack_bytes, gpu.stack_entries, gpu.handler, gpu.observers, gpu.special
    return kernel, grid, block, shared, cluster, settings, *map(id, more)


class RepeatedLaunch:
    """A grid that can begin again.

    Attributes:
        grid: the grid.
        most_params: bytes of parameters.
        notes: what those above note of launches of this kind.
    """

    def __init__(self, grid: Grid) -> None:
        """Args: grid: at its beginning, which `repeats` has found fit."""
        self.grid = grid
        self.notes: object = None
        self._ctas = list(grid.ctas())
        home = self._ctas[0].home
        assert home is not None
        self._home = home
        self._beginning = home.beginning()
        self._traps = [sm.trap.copy() for sm in grid.sms]
        self._edits = grid.edits
        self._bank = grid.launched.constants.banks[0]
        places, config = launch_words(grid.gpu.arch), grid.config
        self._params = config.kernel.param_base
        self.most_params = self._size = min(
            config.kernel.param_bytes, self._bank.size - self._params
        )
        self._number = places.grid_id

    def ran_alone(self) -> bool:
        """Whether only compiled code took part in the run that has ended."""
        grid = self.grid
        fast = grid.fast
        if not isinstance(fast, FastEngine) or fast.engine is None or fast.engine.exits:
            return False
        # A CTA that ended while others went on was taken apart.
        whole = all(cta.warps for cta in self._ctas)
        once = grid.log is None or grid.log.is_one_run
        unseen = self._home.untouched and grid.edits == self._edits and fast.engine.is_plain
        alone = grid.finished and whole and once and unseen and grid.past is None
        return alone and not (grid.faults or grid.owned or grid.launched.observers.members)

    def begin_again(self, params: bytes) -> Grid:
        """The grid at its beginning, with other parameters."""
        grid, launched = self.grid, self.grid.launched
        number = grid.gpu.launches
        grid.gpu.launches += 1
        assert isinstance(grid.fast, FastEngine)
        assert grid.fast.engine is not None
        engine = grid.fast.engine
        self._home.begin_again(self._beginning, engine.program.listing.written())
        data = self._bank.data
        data[self._params : self._params + self._size] = bytearray(params.ljust(self._size, b"\0"))
        data[self._number : self._number + 8] = bytearray(number.to_bytes(8, "little"))
        launched.residency.put_back(self._ctas)
        launched.schedule.__init__(grid.gpu.seed, grid.gpu.quantum)  # type: ignore[misc]
        launched.sregs.machine.launch = number
        launched.total = 0
        for sm, trap in zip(grid.sms, self._traps, strict=True):
            sm.trap = trap.copy()
        grid.begin_again()
        engine.prepare_ahead()
        return grid


class RepeatedLaunches:
    """Launches that can begin again, by module and kind."""

    def __init__(self) -> None:
        self._kept: WeakKeyDictionary[Module, dict[LaunchKind, RepeatedLaunch]] = (
            WeakKeyDictionary()
        )

    def launch(
        self,
        module: Module,
        kernel: str,
        grid: Dim,
        block: Dim,
        params: bytes,
        shared: int = 0,
        cluster: Dim | None = None,
    ) -> tuple[Grid, RepeatedLaunch | None]:
        """As `Module.launch`, with a kept grid where there is one.

        Returns:
            The grid; how it can begin again, to be given to `keep` once it has come to its end.
        """
        gpu, kept = module.gpu, self._kept.get(module)
        if kept and not gpu.images.used:
            found = kept.pop(kind_of(gpu, kernel, grid, block, shared, cluster), None)
            if found is not None and len(params) <= found.most_params:
                return found.begin_again(params), found
        made = module.launch(kernel, grid, block, params, shared, cluster)
        return made, repeats(made)

    def keep(
        self, module: Module, launch: RepeatedLaunch | None, cluster: Dim | None = None
    ) -> bool:
        """Keep a finished launch for others of its kind. Returns whether it could be kept."""
        if launch is None or not launch.ran_alone():
            return False
        kept = self._kept.setdefault(module, {})
        if len(kept) >= MOST_KEPT:
            kept.pop(next(iter(kept))).grid.dispose()
        launch.grid.let_go()
        config = launch.grid.config
        shape = config.kernel.name, config.grid, config.block, config.shared_dynamic
        kept[kind_of(module.gpu, *shape, cluster)] = launch
        return True

    def __len__(self) -> int:
        return sum(map(len, self._kept.values()))


def repeats(grid: Grid) -> RepeatedLaunch | None:
    """A new grid as one that can begin again; None where that is not possible."""
    fast, launched = grid.fast, grid.launched
    if not isinstance(fast, FastEngine) or fast.engine is None:
        return None
    ctas = launched.residency.placed == grid.config.ctas
    plain = not (grid.owned or grid.counters or grid.gpu.images.used or grid.config.clustered)
    handled = launched.traps.handler is not None or launched.observers.members
    if not (ctas and plain) or handled or launch_words(grid.gpu.arch).grid_id < 0:
        return None
    home = next(grid.ctas()).home
    return RepeatedLaunch(grid) if home is not None and home.held_bytes <= MOST_BYTES else None
