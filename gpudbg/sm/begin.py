"""The beginning of a launch: its sizes, constant banks, machine and run control."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpudbg.architectures import is_wide
from gpudbg.errors import UsageError
from gpudbg.formats.layout import CONST_PREFIX, bank_section
from gpudbg.mem.constant import ConstantBanks
from gpudbg.mem.store import ByteStore
from gpudbg.options import option
from gpudbg.sm import sregs, syscalls
from gpudbg.sm.cooperative import waits_for_grid, workspace
from gpudbg.sm.counters import Counters, reads_counters
from gpudbg.sm.engines.llvm.start import FastEngine
from gpudbg.sm.engines.step import StepEngine
from gpudbg.sm.grid import Grid
from gpudbg.sm.images.pools import DESCRIPTOR_TABLES, UNBOUND
from gpudbg.sm.images.unit import ImageUnit
from gpudbg.sm.launch import Dim, LaunchConfig, check_places, constant_bank_0, limits_of, plan
from gpudbg.sm.launch_constants import launch_words
from gpudbg.sm.launched import Launched
from gpudbg.sm.residency.step import Residency
from gpudbg.sm.schedule.step import Schedule
from gpudbg.sm.shared_room import VECTOR_BYTES, with_room
from gpudbg.sm.stackuse import grows_stack
from gpudbg.sm.trap.unit import TrapUnit
from gpudbg.sm.written import SMALL_WARPS

if TYPE_CHECKING:
    from gpudbg.formats.program import Kernel
    from gpudbg.mem.device import Allocation
    from gpudbg.sm.gpu import Module


SCALAR_BYTES = 8
"""A larger parameter is a structure."""


def begin(
    module: Module,
    kernel: str,
    grid: Dim,
    block: Dim,
    params: bytes,
    shared_bytes: int,
    cluster: Dim | None = None,
) -> Grid:
    """`Module.launch`, which says what the arguments are and what it raises."""
    gpu, image = module.gpu, module.image
    entry = module.kernel(kernel)
    if len(params) > entry.param_bytes:
        raise UsageError(f"{kernel}: {len(params)} parameter bytes for {entry.param_bytes}")
    config = plan(
        entry,
        gpu.arch,
        grid,
        block,
        shared_bytes,
        gpu.stack_bytes,
        gpu.stack_entries,
        calls=_grows(module, entry),
        raw=module.program.raw,
        cluster=cluster,
    )
    if not gpu.fixed_sms:
        gpu.num_sms = max(gpu.num_sms, -(-config.cluster_size // config.ctas_per_sm))
    banks = _banks(module, kernel)
    params_at = _addressed(module, entry, banks) if is_wide(gpu.arch) else None
    barrier = _grid_barrier(module, entry, config)
    constants = module.segments.get(f"{CONST_PREFIX}3")
    constants_at = constants.base if constants is not None else 0
    places = launch_words(gpu.arch)
    constant_bank_0(
        config,
        banks[0],
        params,
        gpu.layout,
        gpu.launches,
        constants_at,
        gpu.num_sms,
        places,
        0 if params_at is None else params_at.base,
        0 if barrier is None else barrier.base,
    )
    config = _with_room(module, entry, config)
    gpu.launches += 1
    special = gpu.special
    limit = special.max_ctas or limits_of(gpu.arch).ctas
    limit = min(limit, (special.max_warps or limits_of(gpu.arch).warps) // config.warps)
    if not limit:
        raise UsageError(f"{kernel}: {config.warps} warps are more than an SM's max_warps")
    config = replace(config, ctas_per_sm=min(config.ctas_per_sm, limit))
    if config.cluster_size > 1:
        check_places(config, gpu.num_sms)
    residency = Residency(config, image.entries[kernel], gpu.num_sms, limits_of(gpu.arch).warps)
    traps = TrapUnit(
        gpu.arch,
        residency.sms,
        gpu.trap_options,
        special.shader_type,
        special.places(gpu.num_sms),
    )
    shown = sregs.Machine(
        gpu.arch,
        residency.sms,
        gpu.layout,
        config.shared_bytes,
        config.registers,
        config.barriers,
        config.threads,
        limits_of(gpu.arch).ctas,
        traps,
        special,
        gpu.launches - 1,
        Counters(residency.sms),
    )
    _bind_images(module, kernel, banks)
    gpu.memory.journal.threads = gpu.jobs
    engine = StepEngine(
        image,
        gpu.memory,
        ConstantBanks(banks),
        sregs.SregFile(shown),
        traps,
        gpu.output,
        gpu.heap,
        syscalls.function_of,
        module.fetched.setdefault(config.registers, {}),
    )
    covered = special.coverage if special.shader_type == "pixel" else ()
    engine.on_fault = gpu.on_fault
    engine.images = ImageUnit(gpu.images, grid, config.warps, covered)
    launched = Launched(
        config,
        image,
        gpu.memory,
        gpu.jobs if config.cluster_size == 1 else 1,
        residency,
        Schedule(gpu.seed, gpu.quantum),
        engine.constants,
        engine.sregs,
        traps,
        gpu.observers,
        marking=gpu.marking or config.warps * config.ctas <= SMALL_WARPS,
    )
    grid_object = Grid(gpu, launched, engine)
    grid_object.owned += [made for made in (params_at, barrier) if made is not None]
    if gpu.handler is not None:
        grid_object.install(gpu.handler)
    if not is_wide(gpu.arch) and reads_counters(grid_object.code.code):
        grid_object.counters = shown.counters
    grid_object.start()
    if gpu.engine != "step":
        start = image.entries[kernel]
        so_far = module.compiled, module.stepped
        grid_object.fast = FastEngine(launched, start, gpu.engine, *so_far)
    return grid_object


def _grid_barrier(module: Module, kernel: Kernel, config: LaunchConfig) -> Allocation | None:
    """The workspace for a kernel whose blocks wait for the whole grid; None where it has no grid
    barrier.
    """
    gpu = module.gpu
    if kernel.name not in module.grid_barriers:
        module.grid_barriers[kernel.name] = _waits_for_grid(module, kernel)
    wanted = -(-config.ctas // config.ctas_per_sm)
    most = gpu.num_sms if gpu.fixed_sms else option("num_sms").most or 0
    if not module.grid_barriers[kernel.name] or wanted > most:
        return None
    gpu.num_sms = max(gpu.num_sms, wanted)
    return workspace(gpu.memory)


def _with_room(module: Module, kernel: Kernel, config: LaunchConfig) -> LaunchConfig:
    """Round up the launch's shared memory where the kernel loads vectors; the launch words keep the
    size that was asked for.
    """
    if not config.shared_bytes % VECTOR_BYTES:
        return config
    key = kernel.name, config.shared_bytes
    if key not in module.shared_ends:
        place = next(p for p in module.image.placements if p.section == kernel.section)
        start = place.address - module.image.base
        code = module.image.code[start : start + place.size]
        module.shared_ends[key] = with_room(config, code, module.gpu.arch).shared_bytes
    return replace(config, shared_bytes=module.shared_ends[key])


def _waits_for_grid(module: Module, kernel: Kernel) -> bool:
    """Whether a kernel, or a function in a section of its own, has a barrier of the whole grid."""
    image = module.image
    others = {k.section for k in module.program.kernels.values()} - {kernel.section}
    places = (p for p in image.placements if p.section not in others)
    starts = ((p.address - image.base, p.size) for p in places)
    return any(waits_for_grid(image.code[at : at + n], module.gpu.arch) for at, n in starts)


def _bind_images(module: Module, kernel: str, banks: dict[int, ByteStore]) -> None:
    """Fill the words of bound references, and the addresses of the driver's tables."""
    pools = module.gpu.images
    words = module.image.bound_images[kernel]
    shared = {w.offset for w in words if w.kind != "sampler"}
    for word in sorted(words, key=lambda w: w.kind == "sampler"):
        place = banks[word.bank].writable()[word.offset : word.offset + 4].view("<u4")
        handle = module.bound.get(word.symbol)
        if word.kind != "sampler":
            place[0] = UNBOUND if handle is None else handle
        elif handle is not None:
            sampler = handle >> 20
            both = word.offset in shared
            place[0] = int(place[0]) & 0xFFFFF | sampler << 20 if both else sampler
    if pools.used:
        for offset, kind in DESCRIPTOR_TABLES.items():
            address = pools.pool(kind).base
            banks[0].writable()[offset : offset + 8] = np.frombuffer(
                address.to_bytes(8, "little"), np.uint8
            )


def _grows(module: Module, kernel: Kernel) -> bool:
    """Whether a kernel's stack grows while it runs; its code is analysed once."""
    if kernel.name not in module.growing:
        module.growing[kernel.name] = _calls(module, kernel) or _allocates(module, kernel)
    return module.growing[kernel.name]


def _calls(module: Module, kernel: Kernel) -> bool:
    """Whether the program has device functions, in the kernel's section or in their own."""
    kernels = {k.section for k in module.program.kernels.values()} - {kernel.section}
    return any(
        not f.is_kernel and f.section not in kernels for f in module.program.functions.values()
    )


def _allocates(module: Module, kernel: Kernel) -> bool:
    """Whether the kernel allocates on its stack at run time (PTX `alloca`)."""
    start = module.image.entries[kernel.name]
    place = module.image.placement_at(start)
    if place is None:
        return False
    offset = place.address - module.image.base
    code = module.image.code[offset : offset + place.size]
    return grows_stack(code, module.program.arch, kernel.frame_bytes)


def _addressed(module: Module, kernel: Kernel, banks: dict[int, ByteStore]) -> Allocation | None:
    """Constant bank 0 as device memory, where code may take the address of a parameter.

    From sm_70 on a parameter passed by value (a structure, a tensor map) has an address in global
    memory; numbers and pointers are only ever read from the bank.
    """
    if all(p.size <= SCALAR_BYTES for p in kernel.params):
        return None
    held = banks[0]
    made = module.gpu.memory.allocate(held.size, "the kernel's parameters", "parameters")
    made.writable()[:] = held.data
    banks[0] = made
    return made


def _banks(module: Module, kernel: str) -> dict[int, ByteStore]:
    """The constant banks of a launch: module-wide ones live in memory, others are new."""
    banks: dict[int, ByteStore] = {}
    for number, content in module.image.banks[kernel].items():
        banks[number] = ByteStore(len(content))
        banks[number].data[:] = np.frombuffer(content, np.uint8)
    for name, allocation in module.segments.items():
        place = bank_section(name)
        if place is not None:
            banks[place[0]] = allocation
    if 0 not in banks:
        entry = module.program.kernels[kernel]
        banks[0] = ByteStore(entry.param_base + entry.param_bytes)
    return banks
