"""What was launched, on which machine, and how far it has come, as frozen records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior

Dim3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """A launch and the machine it runs on.

    Attributes:
        grid, block: dimensions, in blocks and threads.
        shared_bytes: shared memory of a block, static and dynamic.
        registers: allocated to a thread.
        warps: of a block.
        blocks: of the grid; `blocks_per_sm` are resident on an SM at once.
        sms: SMs of the machine.
        seed: what the order of warps is drawn from, 0 for none.
        arch: of the machine, `sm_52`.
    """

    grid: Dim3
    block: Dim3
    shared_bytes: int
    registers: int
    warps: int
    blocks: int
    blocks_per_sm: int
    sms: int
    seed: int
    arch: str

    @property
    def resident_warps(self) -> int:
        """Warps that an SM holds at once, whether the grid has as many or not."""
        return self.warps * max(self.blocks_per_sm, 1)


@dataclass(frozen=True, slots=True)
class RunCounts:
    """How far a launch has come.

    Attributes:
        total: warp instructions since the launch.
        done, waiting: blocks that have ended, and that have not begun.
    """

    total: int
    done: int
    waiting: int


def launch_shape(inferior: Inferior) -> LaunchShape:
    """The present launch and its machine."""
    grid = inferior.grid
    config, gpu = grid.config, grid.gpu
    return LaunchShape(
        grid=grid.grid,
        block=grid.block,
        shared_bytes=config.shared_bytes,
        registers=config.registers,
        warps=config.warps,
        blocks=config.ctas,
        blocks_per_sm=config.ctas_per_sm,
        sms=gpu.num_sms,
        seed=gpu.seed,
        arch=gpu.arch,
    )


def run_counts(inferior: Inferior) -> RunCounts:
    """How far the present launch has come."""
    grid = inferior.grid
    return RunCounts(grid.total, grid.ctas_done, grid.ctas_waiting)


def engine_trouble(inferior: Inferior) -> str:
    """Why the compiled engine could not be used, or nothing."""
    fast = inferior.grid.fast
    return fast.trouble if fast is not None else ""
