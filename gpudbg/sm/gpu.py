"""An emulated GPU: what survives launches, the programs loaded on it, and launching them.

`Gpu` holds architecture, number of SMs, device memory and schedule seed.  `Gpu.load` places a
program (`Module`); `Module.launch` gives a `Grid` (`gpudbg.sm.grid`), the run control that the
debugger drives.  Program counters are code addresses of `Module.image`.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError
from gpudbg.formats.launch_machine import SpecialSetup
from gpudbg.formats.layout import relocate
from gpudbg.formats.program import SUPPORTED_ARCHS, CodeImage, Kernel, Program, runs_on
from gpudbg.mem.device import Allocation, DeviceMemory
from gpudbg.mem.windows import AddressLayout, layout_for
from gpudbg.options import DEFAULT_JOBS, option
from gpudbg.sm.device_output import DeviceOutput, Heap
from gpudbg.sm.images.pools import ImagePools
from gpudbg.sm.observer import Observer, Observers
from gpudbg.sm.on_fault import OnFault
from gpudbg.sm.schedule.step import DEFAULT_QUANTUM
from gpudbg.sm.trap.options import TrapOptions

if TYPE_CHECKING:
    from gpudbg.sm.engines.step import Bound
    from gpudbg.sm.grid import Grid as Grid
    from gpudbg.sm.launch import Dim
    from gpudbg.sm.trap.handler import Handler

Allocate = Callable[[str, int], Allocation]
"""Memory of a segment of variables: from its name and size."""

DEFAULT_SMS = 2
DEFAULT_HEAP_BYTES = 8 << 20


class Gpu:
    """An emulated GPU.

    Attributes:
        arch: "sm_50" .. "sm_62".
        num_sms: streaming multiprocessors.
        fixed_sms: their number was chosen; else a launch whose clusters need more gets them.
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
        marking: somebody looks at memory: launches of any size mark what they write
            (`gpudbg.sm.written`).
        on_fault: what becomes of accesses that must not happen.
        trap_options: readings of what is not public about traps.
        handler: the trap handler of launches from now on, or None.
        special: what special registers show beyond the launch itself.
        output: what device code printed.
        heap: the device heap's account.
        images: texture headers and samplers.
        observers: who receives events, in every launch.
        on_progress: called with a grid every now and then while it runs; must not run it.
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
        jobs: int = DEFAULT_JOBS,
    ) -> None:
        if arch not in SUPPORTED_ARCHS:
            known = ", ".join(SUPPORTED_ARCHS)
            raise UsageError(f"unknown architecture {arch!r}", f"one of {known}")
        if quantum < 1:
            raise UsageError(f"a turn of {quantum} instructions", "1 or more")
        given = {
            "num_sms": num_sms,
            "seed": seed,
            "heap_bytes": heap_bytes,
            "stack_bytes": stack_bytes or 0,
            "jobs": jobs,
        }
        for name, value in given.items():
            if trouble := option(name).trouble(value):
                raise UsageError(trouble)
        self.arch: str = arch
        self.num_sms: int = num_sms
        self.fixed_sms = True
        self.seed = seed
        self.quantum = quantum
        self.stack_bytes = stack_bytes
        self.stack_entries = stack_entries
        self.heap_bytes = heap_bytes
        self.engine = engine
        self.jobs = jobs
        self.marking = False
        self.memory = DeviceMemory(layout_for(arch))
        self.trap_options = TrapOptions()
        self.on_fault = OnFault()
        self.handler: Handler | None = None
        self.special = SpecialSetup()
        self.output = DeviceOutput()
        self.heap = Heap(heap_bytes)
        self.images = ImagePools(self.memory)
        self.observers = Observers()
        self.on_progress: Callable[[Grid], None] | None = None
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

    def load(self, program: Program, allocate: Allocate | None = None) -> Module:
        """Place a program: allocate its variables, relocate, write initial values.

        Args:
            allocate: makes the memory of its variables, by segment; None: device memory.

        Raises:
            UsageError: it was built for another architecture than this GPU's.
            LoadError: a relocation that cannot be applied.
        """
        if program.arch != self.arch and not runs_on(program.arch, self.arch):
            raise UsageError(f"{program.path}: {program.arch} code does not run on {self.arch}")
        segments = {
            name: self.memory.allocate(segment.size, f"segment {name}", "global")
            if allocate is None
            else allocate(name, segment.size)
            for name, segment in program.segments.items()
        }
        image = relocate(program, segment_addresses={name: a.base for name, a in segments.items()})
        for name, allocation in segments.items():
            content = image.segments[name]
            allocation.writable()[: len(content)] = np.frombuffer(content, np.uint8)
        module = Module(self, program, image, segments)
        weakref.finalize(module, _free, self.memory, list(segments.values())).atexit = False
        return module


def _free(memory: DeviceMemory, allocations: list[Allocation]) -> None:
    """Give back what has not been freed."""
    for allocation in allocations:
        if not allocation.freed:
            memory.free(allocation)


@dataclass(eq=False, slots=True, weakref_slot=True)
class Module:
    """A program on a GPU; its variables are freed when it is no longer referenced.

    Attributes:
        gpu: where it is.
        program: its file's content.
        image: its code and constant banks at their addresses.
        segments: device memory of its variables, by section.
        bound: handles of bound texture and surface references, by name.
        compiled: code addresses of kernels whose compiled code is there.
        stepped: code address of a kernel -> instructions of launches without compiled code.
        grid_barriers: kernel -> whether its blocks wait for the whole grid.
        shared_ends: kernel and bytes of shared memory asked for -> where it ends.
        growing: kernel -> whether its stack grows while it runs.
        fetched: registers of a warp -> instructions by pc, as the step engine has decoded them.
    """

    gpu: Gpu
    program: Program
    image: CodeImage
    segments: dict[str, Allocation]
    bound: dict[str, int] = field(default_factory=dict)
    compiled: set[int] = field(default_factory=set)
    stepped: Counter[int] = field(default_factory=Counter)
    grid_barriers: dict[str, bool] = field(default_factory=dict)
    shared_ends: dict[tuple[str, int], int] = field(default_factory=dict)
    growing: dict[str, bool] = field(default_factory=dict)
    fetched: dict[int, dict[int, Bound]] = field(default_factory=dict)

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
        cluster: Dim | None = None,
    ) -> Grid:
        """A grid ready to run, at the kernel's entry.

        Args:
            kernel: its name.
            grid, block: dimensions, each three ints.
            params: the parameter bytes as they go to c[0x0][0x140].
            shared_bytes: dynamic shared memory of a CTA.
            cluster: CTAs of a cluster; None for what the kernel was compiled for.

        Raises:
            UsageError: the launch does not fit the kernel or the architecture.
        """
        # Who only looks at a program need not wait for the machine to be imported.
        from gpudbg.sm.begin import begin

        return begin(self, kernel, grid, block, params, shared_bytes, cluster)
