"""A launch: what it asks for, what fits on an SM, and constant bank 0 as the driver fills it."""

from __future__ import annotations

from dataclasses import field
from functools import cache

import numpy as np

from gpudbg.architectures import age
from gpudbg.code_layout import BUNDLES, CodeLayout, layout_of
from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError
from gpudbg.formats.launch import MAX_BLOCK, MAX_GRID, MAX_THREADS
from gpudbg.formats.program import Kernel
from gpudbg.mem.lanes import WARP_SIZE
from gpudbg.mem.store import ByteStore
from gpudbg.mem.windows import WINDOW_BYTES, AddressLayout
from gpudbg.sm.launch_constants import NARROW, LaunchWords

Dim = tuple[int, int, int]

REGISTER_UNIT = 8
"""Registers are allocated to threads in eights (*documented*: 256 to a warp)."""
SHARED_UNIT = 256
DEFAULT_STACK_BYTES = 1024
"""Local stack of a thread where the file cannot say how much is needed (CUDA's default)."""
DEFAULT_STACK_ENTRIES = 1024
"""Divergence-stack entries of a warp (*modelled*: the size of the spill area is not known)."""
MAX_LOCAL_BYTES = 512 << 10


@dataclass(frozen=True, slots=True)
class Limits:
    """What an SM of one architecture holds (CUDA programming guide, compute capabilities).

    Attributes:
        registers: 32-bit registers of an SM; `cta_registers` is the most one CTA may take.
        shared: bytes of shared memory of an SM; a CTA may take `cta_shared`.
        warps, ctas: most resident on an SM.
        barriers: most allocated on an SM (*modelled*: as many as its CTAs can name).
    """

    registers: int
    cta_registers: int
    shared: int
    cta_shared: int = 48 << 10
    warps: int = 64
    ctas: int = 32
    barriers: int = 512


LIMITS = {
    "sm_50": Limits(65536, 65536, 64 << 10),
    "sm_52": Limits(65536, 65536, 96 << 10),
    "sm_53": Limits(65536, 32768, 64 << 10),
    "sm_60": Limits(65536, 65536, 64 << 10),
    "sm_61": Limits(65536, 65536, 96 << 10),
    "sm_62": Limits(65536, 32768, 64 << 10),
    "sm_70": Limits(65536, 65536, 96 << 10, 96 << 10),
    "sm_72": Limits(65536, 65536, 96 << 10, 96 << 10),
    "sm_75": Limits(65536, 65536, 64 << 10, 64 << 10, 32, 16),
    "sm_80": Limits(65536, 65536, 164 << 10, 163 << 10),
    "sm_86": Limits(65536, 65536, 100 << 10, 99 << 10, 48, 16),
    "sm_87": Limits(65536, 65536, 164 << 10, 163 << 10, 48, 16),
    "sm_88": Limits(65536, 65536, 100 << 10, 99 << 10, 48, 16),
    "sm_89": Limits(65536, 65536, 100 << 10, 99 << 10, 48, 24),
    "sm_90": Limits(65536, 65536, 228 << 10, 227 << 10),
    "sm_100": Limits(65536, 65536, 228 << 10, 227 << 10),
    "sm_101": Limits(65536, 65536, 228 << 10, 227 << 10, 48, 24),
    "sm_103": Limits(65536, 65536, 228 << 10, 227 << 10),
    "sm_110": Limits(65536, 65536, 228 << 10, 227 << 10, 48, 24),
    "sm_120": Limits(65536, 65536, 100 << 10, 99 << 10, 48, 24),
    "sm_121": Limits(65536, 65536, 100 << 10, 99 << 10, 48, 24),
}
"""By architecture without its suffix."""
RESERVED_SHARED = 1 << 10
"""Bytes at the start of shared memory that are the system's, from sm_90 on; compiled code counts
them in the size of its static shared memory (*inferred*)."""


@cache
def limits_of(arch: str) -> Limits:
    """What an SM of an architecture holds."""
    return LIMITS[arch.rstrip("af")]


@cache
def uniform_registers(arch: str) -> int:
    """Uniform registers of a warp, the one that reads as zero among them; 0: there are none."""
    number, _ = age(arch)
    return 0 if number < 75 else 256 if number >= 100 else 64


@dataclass(frozen=True, slots=True)
class LaunchConfig:
    """One launch, checked and with everything that depends on sizes worked out.

    Attributes:
        kernel: the entry point.
        grid, block: dimensions.
        shared_dynamic: bytes of dynamic shared memory; `shared_bytes` is static + dynamic.
        local_bytes: local stack of a thread, at the top of the local window.
        local_low: local memory of a thread from address 0.
        registers: registers allocated to a thread.
        uniform: uniform registers of a warp.
        layout: where instructions stand in its code.
        barriers: barriers allocated to a CTA.
        stack_entries: capacity of a warp's divergence stack.
        warps: warps of a CTA.
        ctas_per_sm: CTAs that are resident at once.
        ctas: CTAs of the grid.
        cluster: dimensions of a cluster; (1, 1, 1) where there are none.
        clustered: the launch has clusters, maybe of one CTA.
        cluster_size: CTAs of a cluster.
        reserved_shared: bytes at the end of `shared_bytes` that are not the program's.
    """

    kernel: Kernel
    grid: Dim
    block: Dim
    shared_dynamic: int
    shared_bytes: int
    local_bytes: int
    local_low: int
    registers: int
    barriers: int
    stack_entries: int
    warps: int
    ctas_per_sm: int
    uniform: int = 0
    layout: CodeLayout = BUNDLES
    cluster: Dim = (1, 1, 1)
    clustered: bool = False
    reserved_shared: int = 0
    ctas: int = field(init=False)
    cluster_size: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ctas", self.grid[0] * self.grid[1] * self.grid[2])
        x, y, z = self.cluster
        object.__setattr__(self, "cluster_size", x * y * z)

    @property
    def threads(self) -> int:
        """Threads of a CTA."""
        return self.block[0] * self.block[1] * self.block[2]


def plan(
    kernel: Kernel,
    arch: str,
    grid: Dim,
    block: Dim,
    shared_dynamic: int,
    stack_bytes: int | None,
    stack_entries: int | None,
    calls: bool,
    raw: bool,
    cluster: Dim | None = None,
) -> LaunchConfig:
    """Check a launch against the architecture and work out its sizes.

    Args:
        calls: the kernel has functions to call, so its stack need may be more than known.
        raw: the program is bare instruction words, which may address local memory from 0.
        cluster: CTAs of a cluster; None for what the kernel was compiled for.

    Raises:
        UsageError: it does not fit; the message says what is too large.
    """
    _check_dimensions(kernel, grid, block)
    if shared_dynamic < 0:
        raise UsageError(f"{kernel.name}: {shared_dynamic} bytes of dynamic shared memory")
    if cluster is not None or kernel.cluster is not None:
        cluster = _checked_cluster(kernel, arch, grid, cluster)
    limits = limits_of(arch)
    threads = block[0] * block[1] * block[2]
    warps = -(-threads // WARP_SIZE)
    registers = _round(max(kernel.num_regs, 1), REGISTER_UNIT)
    shared = shared_below(kernel, arch, shared_dynamic)
    shared += shared_dynamic + reserved_shared(kernel, arch)
    barriers = kernel.num_barriers
    _check(kernel, "shared memory of a block", shared, limits.cta_shared, "bytes")
    _check(
        kernel,
        "registers of a block",
        registers * WARP_SIZE * warps,
        limits.cta_registers,
        f"({registers} for each of {warps} warps' lanes)",
    )
    fits = [limits.ctas, limits.warps // warps, limits.registers // (registers * 32 * warps)]
    if shared:
        fits.append(limits.shared // _round(shared, SHARED_UNIT))
    if barriers:
        fits.append(limits.barriers // barriers)
    if age(arch)[0] >= 90:
        registers = max(registers, _asked_registers(kernel))
    return LaunchConfig(
        kernel=kernel,
        grid=grid,
        block=block,
        shared_dynamic=shared_dynamic,
        shared_bytes=shared,
        reserved_shared=reserved_shared(kernel, arch),
        local_bytes=local_bytes(kernel, stack_bytes, calls),
        local_low=_round(kernel.local_bytes, 16) if raw else 0,
        registers=min(registers, 255),
        barriers=barriers,
        stack_entries=stack_entries or DEFAULT_STACK_ENTRIES,
        warps=warps,
        ctas_per_sm=min(fits),
        uniform=uniform_registers(arch),
        layout=layout_of(arch),
        cluster=cluster or (1, 1, 1),
        clustered=cluster is not None,
    )


def shared_below(kernel: Kernel, arch: str, shared_dynamic: int) -> int:
    """Bytes of a block's shared memory below its dynamic part: what the kernel declares.

    From sm_90 on the first ones are the system's.  A kernel's section counts them where it
    declares variables; one with dynamic shared memory alone, and one that uses only the system's
    (a tile of several warps), has no such section.
    """
    static = kernel.shared_static_bytes
    if age(arch)[0] >= 90 and (shared_dynamic or _uses_reserved(kernel)):
        return max(static, RESERVED_SHARED)
    return static


def _uses_reserved(kernel: Kernel) -> bool:
    """Whether the toolkit's code in a kernel uses the system's shared memory."""
    return any("RESERVED_SMEM" in name for name, _ in kernel.attributes)


def reserved_shared(kernel: Kernel, arch: str) -> int:
    """Bytes behind a block's shared memory that the toolkit's code uses, such as tiles of several
    warps; from sm_90 on they are the first ones."""
    if not 80 <= age(arch)[0] < 90:
        return 0
    return RESERVED_SHARED if _uses_reserved(kernel) else 0


def system_shared(kernel: Kernel, arch: str) -> int:
    """Bytes at the begin of a block's shared memory that are the system's and that nothing of the
    kernel uses (sm_90 and later)."""
    return 0 if _uses_reserved(kernel) or age(arch)[0] < 90 else RESERVED_SHARED


_USETMAXREG = (0x9C8, 0x3C8)
"""Opcodes of USETMAXREG with a number, and with a register."""


def _asked_registers(kernel: Kernel) -> int:
    """Most registers of a thread that the kernel's warps ask for while they run (USETMAXREG)."""
    code = kernel.code
    words = np.frombuffer(code[: len(code) & -16], np.uint64)[::2]
    opcodes = words & np.uint64(0xFFF)
    if (opcodes == _USETMAXREG[1]).any():
        return 255
    asked = words[opcodes == _USETMAXREG[0]] >> np.uint64(32) & np.uint64(0x3FF)
    return int(asked.max(initial=0))


def local_bytes(kernel: Kernel, stack_bytes: int | None, calls: bool) -> int:
    """Local memory of a thread.

    A kernel that calls nothing gets what the file says it needs, so that every access outside
    its arrays is seen (*modelled*; a driver gives at least the stack limit).  One that calls
    gets at least the stack limit: the file does not count recursion.

    Raises:
        UsageError: more than a thread can have.
    """
    known = kernel.min_stack_bytes
    least = stack_bytes
    if least is None:
        least = DEFAULT_STACK_BYTES if calls or known is None else 0
    wanted = max(known or 0, kernel.frame_bytes, least)
    _check(kernel, "local memory of a thread", wanted, MAX_LOCAL_BYTES, "bytes")
    return _round(wanted, 16)


MAX_SHARED_WORD = 0xFFFF_FFFF
"""Code takes the lesser of this word and all shared memory for %aggr_smem_size (*modelled*)."""


def constant_bank_0(
    config: LaunchConfig,
    bank: ByteStore,
    params: bytes,
    layout: AddressLayout,
    grid_id: int,
    constants: int = 0,
    sms: int = 0,
    places: LaunchWords = NARROW,
    address: int = 0,
    workspace: int = 0,
) -> None:
    """Fill c[0x0] as the driver does: launch words below the parameters, then the parameters.

    Args:
        constants: device address of the module's `__constant__` variables, to which code that
            takes the address of one adds its offset.
        places: where the launch words stand.
        address: device address of the bank, where it has one.
        workspace: device address of the grid's barrier, where its blocks wait for one another.
    """
    words = _launch_words(config, layout, grid_id, constants, sms, places)
    if places.reserved_behind >= 0 and config.reserved_shared:
        # Bytes that %total_smem_size does not count, where they end, and where those begin that
        # cooperative groups use.
        words[places.reserved_behind] = config.reserved_shared
        words[places.reserved_behind + 12] = config.shared_bytes
        words[places.reserved_behind + 16] = config.shared_bytes - config.reserved_shared
    words[places.workspace], words[places.workspace + 4] = workspace >> 32, workspace
    base = config.kernel.param_base
    if places.parameters >= 0:
        first = address and address + places.at_parameters * base
        words[places.parameters], words[places.parameters + 4] = first, first >> 32
    if places.clusters >= 0:
        words |= _cluster_words(config, places)
    reserved = min(RESERVED_SHARED, config.shared_bytes)
    words[places.reserved_shared], words[places.most_shared] = reserved, MAX_SHARED_WORD
    if not places.wide_windows and layout.shared_window >> 32:
        words |= {
            0x100: layout.shared_window >> 32,
            0x104: layout.local_window >> 32,
            # Zero: plain %smid, %nsmid and %warpid fields (the code for sm_60 folds pairs of SM
            # numbers otherwise); and enough tries of a 64-bit clock read.
            0x108: 0,
            0x10C: 0xFFFF,
        }
    data = bank.writable()
    for offset, value in words.items():
        if 0 <= offset and offset + 4 <= min(bank.size, config.kernel.param_base):
            data[offset : offset + 4].view("<u4")[0] = value & 0xFFFF_FFFF
    data[base : base + len(params)] = np.frombuffer(params, np.uint8)


def _cluster_words(config: LaunchConfig, at: LaunchWords) -> dict[int, int]:
    """The launch words of clusters by offset.

    Code divides the CTA's coordinates by multiplying with the reciprocal as f32, which is rounded
    up so that the quotient's integer part is exact for up to 2**24 CTAs.
    """
    words = {at.clusters: int(config.clustered), at.cluster_size: config.cluster_size}
    for n, (size, count) in enumerate(zip(config.cluster, config.grid, strict=True)):
        words[at.cluster + 4 * n] = size
        words[at.cluster_reciprocal + 4 * n] = int(_reciprocal(size).view(np.uint32))
        words[at.cluster_grid + 4 * n] = count // size
    return words


def _reciprocal(size: int) -> np.float32:
    near = np.float32(1.0 / size)
    return np.nextafter(near, np.float32(2)) if float(near) * size < 1 else near


def _launch_words(
    config: LaunchConfig,
    layout: AddressLayout,
    grid_id: int,
    constants: int,
    sms: int,
    at: LaunchWords,
) -> dict[int, int]:
    """The launch words by offset."""
    words = {at.stack_top: WINDOW_BYTES, at.dynamic_shared: config.shared_dynamic, at.sms: sms}
    for n in (0, 1, 2):
        words[at.block + 4 * n] = config.block[n]
        words[at.grid + 4 * n] = config.grid[n]
    longs = [(at.grid_id, grid_id), (at.constants, constants)]
    windows = [(at.shared_window, layout.shared_window), (at.local_window, layout.local_window)]
    if at.wide_windows:
        longs += windows
    else:
        words |= windows
    for offset, value in longs:
        if offset >= 0:
            words[offset], words[offset + 4] = value, value >> 32
    return words


MOST_IN_CLUSTER = 16
"""CTAs of a cluster: 8 portably, 16 where the kernel is allowed more (*documented*)."""
CLUSTER_HINT = "the blocks of a cluster run at the same time: give the GPU more SMs, --num-sms N"


def _checked_cluster(kernel: Kernel, arch: str, grid: Dim, cluster: Dim | None) -> Dim | None:
    """The dimensions of a cluster, those of `__cluster_dims__` where none are given."""
    own = kernel.cluster
    if cluster is None and own is None:
        return None
    if age(arch)[0] < 90:
        raise UsageError(f"{kernel.name}: clusters need sm_90 or later, this is {arch}")
    if cluster is not None and own is not None and cluster != own:
        raise UsageError(f"{kernel.name} was compiled for clusters of {own}, not {cluster}")
    found = cluster or own or (1, 1, 1)
    size = found[0] * found[1] * found[2]
    _check(kernel, "cluster", size, kernel.max_cluster or MOST_IN_CLUSTER, "blocks")
    if any(count % part for count, part in zip(grid, found, strict=True)):
        raise UsageError(f"{kernel.name}: grid {grid} is no multiple of its cluster {found}")
    return found


def check_places(config: LaunchConfig, sms: int) -> None:
    """Refuse a cluster that the SMs cannot hold at once."""
    places = config.ctas_per_sm * sms
    if config.cluster_size > places:
        text = f"a cluster of {config.cluster_size} blocks; {sms} SMs hold {places} at once"
        raise UsageError(f"{config.kernel.name}: {text}", CLUSTER_HINT)


def _check_dimensions(kernel: Kernel, grid: Dim, block: Dim) -> None:
    for what, dims, most in (("grid", grid, MAX_GRID), ("block", block, MAX_BLOCK)):
        # No generator expression: a launch must cost few calls.
        if min(dims) < 1 or dims[0] > most[0] or dims[1] > most[1] or dims[2] > most[2]:
            raise UsageError(f"{kernel.name}: {what} {dims} is outside 1..{most}")
    threads = block[0] * block[1] * block[2]
    _check(kernel, "block", threads, MAX_THREADS, "threads")
    if kernel.required_threads is not None and kernel.required_threads != block:
        raise UsageError(f"{kernel.name}: it must be launched with block {kernel.required_threads}")
    if kernel.max_threads is not None:
        x, y, z = kernel.max_threads
        _check(kernel, "block", threads, x * y * z, "threads, its launch bound")


def _check(kernel: Kernel, what: str, value: int, most: int, unit: str) -> None:
    if value > most:
        raise UsageError(f"{kernel.name}: {what}: {value} is more than {most} {unit}")


def _round(value: int, unit: int) -> int:
    return value + -value % unit
