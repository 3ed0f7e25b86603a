"""Launch words in constant bank 0, below the kernel's parameters, as the driver fills them.

Where compiled code of each family of architectures looks for what (*inferred* from ptxas' output);
from sm_70 on addresses of windows have 64 bits in one place.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from gpudbg.architectures import age, is_wide


class LaunchWords(NamedTuple):
    """Byte offsets in c[0x0]; -1 where there is no such word.

    Attributes:
        block, grid: three words each.
        shared_window, local_window: bases of the windows for generic addresses.
        stack_top: where a thread's stack begins.
        grid_id: 64 bits.
        constants: address of the module's `__constant__` variables, 64 bits.
        dynamic_shared: bytes.
        sms: %nsmid.
        workspace: address of the words of a grid's barrier, its high half first (%envreg1, 2).
        parameters: address of a parameter's copy in device memory, 64 bits: of the bank's start, or
            (`at_parameters`) of the first one.
        clusters: whether the launch has clusters; `cluster_size` their CTAs, and three words each
            their dimensions, the reciprocals of these as f32, and how many there are in the grid.
        reserved_shared: bytes of a CTA's shared memory that are the system's, below the kernel's
            (code subtracts them for %total_smem_size); `most_shared` the most that
            %aggr_smem_size reads.
        reserved_behind: bytes of shared memory that are not the program's (sm_80 to sm_89).
        wide_windows: bases of windows have 64 bits; else their high words stand at 0x100.
    """

    block: int
    grid: int
    shared_window: int
    local_window: int
    stack_top: int
    grid_id: int
    constants: int
    dynamic_shared: int
    sms: int
    workspace: int
    wide_windows: bool
    parameters: int = -1
    at_parameters: bool = False
    clusters: int = -1
    cluster_size: int = -1
    cluster: int = -1
    cluster_reciprocal: int = -1
    cluster_grid: int = -1
    reserved_shared: int = -1
    most_shared: int = -1
    reserved_behind: int = -1


NARROW = LaunchWords(0x08, 0x14, 0x00, 0x04, 0x20, 0x28, 0xD0, 0xFC, -1, 0x34, False)
_VOLTA = LaunchWords(0x00, 0x0C, 0x18, 0x20, 0x28, 0x30, 0x50, 0x2C, 0x10C, 0x8C, True, 0x40)
_AMPERE = _VOLTA._replace(reserved_behind=0x114)
_HOPPER = LaunchWords(
    0x00, 0x0C, -1, 0x20, 0x28, 0x30, 0xD0, 0x2C, 0x10C, 0x44, True,
    0x198, True, 0x140, 0x188, 0x144, 0x150, 0x15C, 0x114, 0x13C,
)  # fmt: skip
_BLACKWELL = LaunchWords(
    0x360, 0x370, -1, 0x2F8, 0x37C, 0x140, 0x120, 0x2AC, 0x2D0, 0x254, True,
    0x348, True, 0x36C, 0x2CC, 0x2A0, 0x2B0, 0x2C0, 0x16C, 0x2BC,
)  # fmt: skip


@cache
def launch_words(arch: str) -> LaunchWords:
    """Where an architecture's code finds its launch words."""
    if not is_wide(arch):
        return NARROW
    number, _ = age(arch)
    return (
        _BLACKWELL
        if number >= 100
        else _HOPPER
        if number >= 90
        else _AMPERE
        if number >= 80
        else _VOLTA
    )
