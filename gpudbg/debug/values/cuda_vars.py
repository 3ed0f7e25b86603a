"""cuda-gdb's convenience variables (`$cuda_focus_sm`, …) of the focus and the machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpudbg.debug.focus import cuda_coords as coords
from gpudbg.debug.values.backtrace import call_depth, waiting_pc
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior

INVALID = 0xFFFFFFFF
"""What cuda-gdb shows for a value that does not exist."""

Reader = Callable[["Inferior"], int]


def _axis(name: str, axis: int) -> Reader:
    def read(inferior: Inferior) -> int:
        value = coords.current_coords(inferior).value(name)
        assert isinstance(value, tuple)
        return value[axis]

    return read


def _size(name: str, axis: int) -> Reader:
    return lambda inferior: int(getattr(inferior.grid, name)[axis])


def _lineno(inferior: Inferior) -> int:
    place = coords.current_coords(inferior)
    line = inferior.symbols.line(waiting_pc(inferior, place.state, place.lane))
    return line.number if line is not None else INVALID


def _error_address(inferior: Inferior) -> int:
    errors = inferior.stop.errors if inferior.stop is not None else ()
    address = errors[0].address if errors else None
    return INVALID if address is None else address


VARIABLES: dict[str, Reader] = {
    "cuda_num_devices": lambda s: 1,
    "cuda_num_sm": lambda s: s.grid.gpu.num_sms,
    "cuda_num_warps": lambda s: len(s.grid.sms[0].warps),
    "cuda_num_lanes": lambda s: 32,
    "cuda_num_registers": lambda s: s.grid.kernel.num_regs,
    "cuda_latest_launched_kernel_id": lambda s: coords.KERNEL,
    "cuda_num_total_kernels": lambda s: 1,
    "cuda_num_present_kernels": lambda s: 0 if s.finished else 1,
    "cuda_present_kernel_ids": lambda s: coords.KERNEL,
    "cuda_focus_device": lambda s: coords.DEVICE if coords.current_coords(s) else INVALID,
    "cuda_focus_sm": lambda s: coords.current_coords(s).sm,
    "cuda_focus_warp": lambda s: coords.current_coords(s).warp,
    "cuda_focus_lane": lambda s: coords.current_coords(s).lane,
    "cuda_focus_grid": lambda s: coords.GRID if coords.current_coords(s) else INVALID,
    "cuda_focus_kernel_id": lambda s: coords.KERNEL if coords.current_coords(s) else INVALID,
    "cuda_thread_active": lambda s: (p := coords.current_coords(s)).state.active >> p.lane & 1,
    "cuda_thread_lineno": _lineno,
    "cuda_call_depth": lambda s: call_depth(s, coords.current_coords(s).state),
    "cuda_syscall_call_depth": lambda s: 0,
    "cuda_api_failure_return_code": lambda s: 0,
    "cuda_memcheck_error_address": _error_address,
    **{f"cuda_grid_dim_{a}": _size("grid", n) for n, a in enumerate("xyz")},
    **{f"cuda_block_dim_{a}": _size("block", n) for n, a in enumerate("xyz")},
    **{f"cuda_focus_block_{a}": _axis("block", n) for n, a in enumerate("xyz")},
    **{f"cuda_focus_thread_{a}": _axis("thread", n) for n, a in enumerate("xyz")},
}
"""Name without `$` -> its value."""


def read(inferior: Inferior, name: str) -> int | None:
    """A convenience variable's value; None when there is none of that name."""
    reader = VARIABLES.get(name)
    if reader is None:
        return None
    try:
        return int(reader(inferior))
    except CommandError:
        return INVALID
