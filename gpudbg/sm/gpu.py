"""An emulated GPU: what survives launches, the programs loaded on it, and launching them.

`Gpu` holds architecture, number of SMs, device memory and schedule seed.  `Gpu.load` places a
program (`Module`); `Module.launch` gives a `Grid` (`gpudbg.sm.grid`), the run control that the
debugger drives.  Program counters are code addresses of `Module.image`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from gpudbg.errors import UsageError
from gpudbg.formats.launch_machine import SpecialSetup
from gpudbg.formats.layout import CONST_PREFIX, bank_section, relocate
from gpudbg.formats.program import SUPPORTED_ARCHS, CodeImage, Kernel, Program, runs_on
from gpudbg.mem.constant import ConstantBanks
from gpudbg.mem.device import Allocation, DeviceMemory
from gpudbg.mem.store import ByteStore
from gpudbg.mem.windows import AddressLayout, layout_for
from gpudbg.sm import sregs
from gpudbg.sm.counters import Counters, reads_counters
from gpudbg.sm.engines.llvm.start import FastEngine
from gpudbg.sm.engines.step import StepEngine
from gpudbg.sm.events import StopEvent, StopKind, WarpFault
from gpudbg.sm.grid import Grid
from gpudbg.sm.images.pools import DESCRIPTOR_TABLES, UNBOUND, ImagePools
from gpudbg.sm.images.unit import ImageUnit
from gpudbg.sm.launch import LIMITS, Dim, constant_bank_0, plan
from gpudbg.sm.observer import Observer, Observers
from gpudbg.sm.residency import Residency
from gpudbg.sm.scheduler import DEFAULT_QUANTUM, Schedule
from gpudbg.sm.stackuse import grows_stack
from gpudbg.sm.state import Cta, Sm, WarpState
from gpudbg.sm.syscalls import DeviceOutput, Heap
from gpudbg.sm.trap.handler import Handler
from gpudbg.sm.trap.state import TrapOptions
from gpudbg.sm.trap.unit import TrapUnit

__all__ = [
    "Cta",
    "Gpu",
    "Grid",
    "Module",
    "Sm",
    "StopEvent",
    "StopKind",
    "WarpFault",
    "WarpState",
]

DEFAULT_SMS = 2
DEFAULT_HEAP_BYTES = 8 << 20


class Gpu:
    """An emulated GPU.

    Attributes:
        arch: "sm_50" .. "sm_62".
        num_sms: streaming multiprocessors.
        seed: of the schedule of every launch; 0 is round-robin.
        quantum: instructions of a turn.
        memory: device memory.
        stack_bytes: local stack of a thread, or None for what the kernel needs.
        stack_entries: divergence-stack entries of a warp, or None for the default.
        heap_bytes: size of the device heap.
        engine: "step", or "run" for compiled code wherever it can be had; "auto" compiles
            when a launch turns out to be long.
        jobs: host threads that compiled code may use; with more than one the order of
            instructions is not the same from run to run.
        trap_options: readings of what is not public about traps.
        handler: the trap handler of launches from now on, or None.
        special: what special registers show beyond the launch itself.
        output: what device code printed.
        heap: the device heap's account.
        images: texture headers and samplers.
        observers: who is told of events, in every launch.
        on_progress: called with a grid every now and then while it runs; must not run it.
        modules: programs loaded so far.
        launches: grids launched so far; also the next grid id.
    """

    def __init__(
        self,
        arch: str,
        num_sms: int = DEFAULT_SMS,
        seed: int = 0,
        *,
        quantum: int = DEFAULT_QUANTUM,
        stack_bytes: int | None = None,
        stack_entries: int | None = None,
        heap_bytes: int = DEFAULT_HEAP_BYTES,
        engine: str = "step",
        jobs: int = 1,
    ) -> None:
        if arch not in SUPPORTED_ARCHS:
            known = ", ".join(SUPPORTED_ARCHS)
            raise UsageError(f"unknown architecture {arch!r}", f"one of {known}")
        if not 1 <= num_sms <= 511:
            raise UsageError(f"{num_sms} SMs", "1 to 511")
        if quantum < 1:
            raise UsageError(f"a turn of {quantum} instructions", "1 or more")
        for what, size in (("heap", heap_bytes), ("stack", stack_bytes or 0), ("seed", seed)):
            if size < 0:
                raise UsageError(f"a {what} of {size}", "0 or more")
        self.arch = arch
        self.num_sms = num_sms
        self.seed = seed
        self.quantum = quantum
        self.stack_bytes = stack_bytes
        self.stack_entries = stack_entries
        self.heap_bytes = heap_bytes
        self.engine = engine
        self.jobs = jobs
        self.memory = DeviceMemory(layout_for(arch))
        self.trap_options = TrapOptions()
        self.handler: Handler | None = None
        self.special = SpecialSetup()
        self.output = DeviceOutput()
        self.heap = Heap(heap_bytes)
        self.images = ImagePools(self.memory)
        self.observers = Observers()
        self.on_progress: Callable[[Grid], None] | None = None
        self.modules: list[Module] = []
        self.launches = 0

    @property
    def layout(self) -> AddressLayout:
        """Address windows."""
        return self.memory.layout

    def subscribe(self, observer: Observer) -> None:
        """Tell an observer of events from the next run or step on, in every launch."""
        self.observers = self.observers.with_added(observer)

    def unsubscribe(self, observer: Observer) -> None:
        """Tell it no longer."""
        self.observers = self.observers.without(observer)

    def load(self, program: Program) -> Module:
        """Place a program: allocate its variables, relocate, write initial values.

        Raises:
            UsageError: it was built for another architecture than this GPU's.
            LoadError: a relocation that cannot be applied.
        """
        if program.arch != self.arch and not runs_on(program.arch, self.arch):
            raise UsageError(f"{program.path}: {program.arch} code does not run on {self.arch}")
        segments = {
            name: self.memory.allocate(segment.size, f"segment {name}", "global")
            for name, segment in program.segments.items()
        }
        image = relocate(program, segment_addresses={name: a.base for name, a in segments.items()})
        for name, allocation in segments.items():
            content = image.segments[name]
            allocation.data[: len(content)] = np.frombuffer(content, np.uint8)
        module = Module(self, program, image, segments)
        self.modules.append(module)
        return module


@dataclass(eq=False, slots=True)
class Module:
    """A program on a GPU.

    Attributes:
        gpu: where it is.
        program: its file's content.
        image: its code and constant banks at their addresses.
        segments: device memory of its variables, by section.
        bound: handles of bound texture and surface references, by name.
        compiled: code addresses of kernels whose compiled code is there.
    """

    gpu: Gpu
    program: Program
    image: CodeImage
    segments: dict[str, Allocation]
    bound: dict[str, int] = field(default_factory=dict)
    compiled: set[int] = field(default_factory=set)

    def kernel(self, name: str) -> Kernel:
        """The kernel of that name.

        Raises:
            UsageError: there is none; the message lists those that exist.
        """
        found = self.program.kernels.get(name)
        if found is None:
            known = ", ".join(self.program.kernels) or "none"
            raise UsageError(f"{self.program.path}: no kernel {name!r}", f"kernels: {known}")
        return found

    def launch(
        self,
        kernel: str,
        grid: Dim,
        block: Dim,
        params: bytes,
        shared_bytes: int = 0,
    ) -> Grid:
        """A grid ready to run, at the kernel's entry.

        Args:
            kernel: its name.
            grid, block: dimensions, each three ints.
            params: the parameter bytes as they go to c[0x0][0x140].
            shared_bytes: dynamic shared memory of a CTA.

        Raises:
            UsageError: the launch does not fit the kernel or the architecture.
        """
        gpu = self.gpu
        entry = self.kernel(kernel)
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
            calls=self._calls(entry) or self._allocates(entry),
            raw=self.program.raw,
        )
        banks = self._banks(kernel)
        constants = self.segments.get(f"{CONST_PREFIX}3")
        constants_at = constants.base if constants is not None else 0
        constant_bank_0(config, banks[0], params, gpu.layout, gpu.launches, constants_at)
        gpu.launches += 1
        special = gpu.special
        limit = special.max_ctas or LIMITS[gpu.arch].ctas
        limit = min(limit, (special.max_warps or LIMITS[gpu.arch].warps) // config.warps)
        if not limit:
            raise UsageError(f"{kernel}: {config.warps} warps are more than an SM's max_warps")
        config = replace(config, ctas_per_sm=min(config.ctas_per_sm, limit))
        residency = Residency(
            config, self.image.entries[kernel], gpu.num_sms, LIMITS[gpu.arch].warps
        )
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
            LIMITS[gpu.arch].ctas,
            traps,
            special,
            gpu.launches - 1,
            Counters(residency.sms),
        )
        self._bind_images(kernel, banks)
        engine = StepEngine(
            self.image,
            gpu.memory,
            ConstantBanks(banks),
            sregs.SregFile(shown),
            traps,
            gpu.output,
            gpu.heap,
        )
        covered = special.coverage if special.shader_type == "pixel" else ()
        engine.images = ImageUnit(gpu.images, grid, config.warps, covered)
        grid_object = Grid(
            gpu, config, self.image, residency, engine, Schedule(gpu.seed, gpu.quantum), traps
        )
        if gpu.handler is not None:
            grid_object.install(gpu.handler)
        if reads_counters(grid_object.code.code):
            grid_object.counters = shown.counters
        grid_object.start()
        if gpu.engine != "step":
            start = self.image.entries[kernel]
            grid_object.fast = FastEngine(grid_object, start, gpu.engine, self.compiled)
        return grid_object

    def _bind_images(self, kernel: str, banks: dict[int, ByteStore]) -> None:
        """Fill the words of bound references, and the addresses of the driver's tables."""
        pools = self.gpu.images
        words = [w for w in self.image.bound_images if w.kernel == kernel]
        shared = {w.offset for w in words if w.kind != "sampler"}
        for word in sorted(words, key=lambda w: w.kind == "sampler"):
            place = banks[word.bank].data[word.offset : word.offset + 4].view("<u4")
            handle = self.bound.get(word.symbol)
            if word.kind != "sampler":
                place[0] = UNBOUND if handle is None else handle
            elif handle is not None:
                sampler = handle >> 20
                both = word.offset in shared
                place[0] = int(place[0]) & 0xFFFFF | sampler << 20 if both else sampler
        if pools.used:
            for offset, kind in DESCRIPTOR_TABLES.items():
                address = pools.pool(kind).base
                banks[0].data[offset : offset + 8] = np.frombuffer(
                    address.to_bytes(8, "little"), np.uint8
                )

    def _calls(self, kernel: Kernel) -> bool:
        """Whether there are device functions: in the kernel's section, or in their own."""
        kernels = {k.section for k in self.program.kernels.values()} - {kernel.section}
        return any(
            not f.is_kernel and f.section not in kernels for f in self.program.functions.values()
        )

    def _allocates(self, kernel: Kernel) -> bool:
        """Whether the kernel allocates on its stack at run time (PTX `alloca`)."""
        start = self.image.entries[kernel.name]
        place = self.image.placement_at(start)
        if place is None:
            return False
        offset = place.address - self.image.base
        code = self.image.code[offset : offset + place.size]
        return grows_stack(code, self.program.arch, kernel.frame_bytes)

    def _banks(self, kernel: str) -> dict[int, ByteStore]:
        """The constant banks of a launch: module-wide ones live in memory, others are new."""
        banks: dict[int, ByteStore] = {}
        for number, content in self.image.banks[kernel].items():
            banks[number] = ByteStore(len(content))
            banks[number].data[:] = np.frombuffer(content, np.uint8)
        for name, allocation in self.segments.items():
            place = bank_section(name)
            if place is not None:
                banks[place[0]] = allocation
        if 0 not in banks:
            entry = self.program.kernels[kernel]
            banks[0] = ByteStore(entry.param_base + entry.param_bytes)
        return banks
