"""The Python API: programs and launches; `gpudbg.device.device` has the device below them.

    program = gpudbg.load("saxpy.cubin")
    y = program.device.buffer(y_host)
    session = program.launch("saxpy", grid=4, block=256, args=[np.int32(1000), x_host, y])
    stop = session.run();  y.array()

A program lives on one device; several launches share that device's memory, in order.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gpudbg import html
from gpudbg import validation as given
from gpudbg.api.console import commands
from gpudbg.device.device import EmulatedDevice
from gpudbg.device.hostdata import host_value
from gpudbg.device.module import LoadedModule
from gpudbg.errors import UsageError
from gpudbg.formats.launch_machine import make_special
from gpudbg.formats.program import Program
from gpudbg.public import public_names

if TYPE_CHECKING:
    from gpudbg.api.device import Device
    from gpudbg.debug.session import DebugSession
    from gpudbg.formats.launch import Launch
    from gpudbg.launch.prepare import ProgramLaunch
    from gpudbg.launch.recipes import LaunchRecipes


class LoadedProgram(LoadedModule):
    """A program on a device.

    Attributes:
        device: the device.
        module: its code and variables at their addresses.

    >>> program.device, [kernel.num_regs for kernel in program.kernels.values()]
    (<Device sm_50, 2 SMs>, [12])
    """

    device: Device

    def launch(
        self,
        kernel: str | None = None,
        grid: int | Sequence[int] = 1,
        block: int | Sequence[int] = 32,
        args: Sequence[object] = (),
        shared_bytes: int = 0,
        coverage: int | Sequence[int] | None = None,
        cluster: int | Sequence[int] | None = None,
    ) -> DebugSession:
        """Launch a kernel; the session stands before its first instruction.

        Args:
            kernel: its name; None is the only one.
            grid, block: an int, or up to three.
            args: numbers (Python's and NumPy's), which become the parameter's type or are refused
                where its source, PTX or mangled name tells it: integers never from floats,
                floats from integers that they hold exactly; elsewhere NumPy scalars go by their
                dtype, Python's by the parameter's size.  Bytes for a by-value struct, device
                buffers, textures, surfaces, and arrays of the pointer's element type: NumPy's,
                and what speaks DLPack or `__array__` (PyTorch tensors and JAX arrays on the
                CPU, pandas columns).  An array is copied into a new device buffer of its own,
                whatever its strides; the array itself never changes.  What the kernel wrote is
                `session.buffer(i)`, or `array()` of a buffer made before by `device.buffer`.
            shared_bytes: dynamic shared memory of a block.
            coverage: launch as a pixel shader with these lanes covered, a mask or one per warp;
                the other lanes are helper pixels.
            cluster: blocks of a cluster (sm_90 and later), an int or up to three; None is what the
                kernel was compiled for (`__cluster_dims__`), else no clusters.

        Raises:
            UsageError: no such kernel, or the arguments or sizes do not fit it.

        >>> values, out = np.arange(64, dtype=np.int32), np.zeros(1, np.int32)
        >>> session = program.launch("block_max", grid=1, block=64, args=[values, out, 64])
        >>> print(session.run())
        block_max ended after 253 warp instructions
        >>> session.buffer(1)
        array([73], dtype=int32)
        """
        if coverage is None:
            launch = prepared(self, kernel, grid, block, args, shared_bytes, cluster)
            from gpudbg.debug.fresh import session_of

            session = session_of(launch, commands)
            self.device.sessions.add(session)
            return session
        table, values = table_of(self, kernel, grid, block, args, shared_bytes, cluster)
        each = coverage if isinstance(coverage, list | tuple) else [coverage]
        masks = [given.whole(mask, "coverage", 0, 0xFFFFFFFF) for mask in each]
        pixel = {"shader_type": "pixel", "coverage": masks}
        return self._session(_prepared(self, table.replaced(special=make_special(pixel)), values))

    def launch_table(self, table: Launch) -> DebugSession:
        """Launch what a launch table describes; errors as `launch`."""
        session = self._session(_prepared(self, table))
        session.traps.install_from(table)
        return session

    def _session(self, launch: ProgramLaunch) -> DebugSession:
        from gpudbg.debug.session import DebugSession

        session = DebugSession(launch, commands)
        self.device.sessions.add(session)
        return session

    @cached_property
    def _recipes(self) -> LaunchRecipes:
        """Of launches by arguments."""
        from gpudbg.launch.recipes import LaunchRecipes

        return LaunchRecipes()

    __dir__ = public_names

    def _repr_html_(self) -> str:
        return program_html(self)

    def __repr__(self) -> str:
        return f"<LoadedProgram {self.program.path}, {self.program.arch}>"


def prepared(
    loaded: LoadedProgram,
    kernel: str | None,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[object],
    shared_bytes: int = 0,
    cluster: int | Sequence[int] | None = None,
) -> ProgramLaunch:
    """What `LoadedProgram.launch` launches, ready to begin; errors as there."""
    asked = kernel, grid, block, shared_bytes, cluster
    recipes = loaded._recipes
    if not loaded.device.closed:
        launch = recipes.launch(loaded, asked, args)
        if launch is not None:
            return launch
    table, values = table_of(loaded, kernel, grid, block, args, shared_bytes, cluster)
    launch = _prepared(loaded, table, values)
    if not table.buffers:
        recipes.learn(launch, asked, args)
    return launch


def _prepared(loaded: LoadedProgram, table: Launch, values: Sequence[object] = ()) -> ProgramLaunch:
    """The launch of a table.

    Args:
        values: its arguments as they were given, where they were.
    """
    from gpudbg.launch.prepare import prepare

    loaded.use_machine(table)
    loaded.device.require_open()
    launch = prepare(loaded, table)
    if table.buffers:
        for argument, value in zip(launch.details.arguments, values, strict=False):
            # A launch table knows scalar types; structures and complex numbers are bytes there.
            if isinstance(value, np.ndarray) and value.ndim and argument.buffer is not None:
                argument.buffer.dtype = value.dtype.newbyteorder("<")
                argument.buffer.shape = value.shape
    return launch


def table_of(
    loaded: LoadedProgram,
    kernel: str | None,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[object],
    shared_bytes: int = 0,
    cluster: int | Sequence[int] | None = None,
) -> tuple[Launch, Sequence[object]]:
    """What `LoadedProgram.launch` launches, and its arguments as NumPy's; errors as there."""
    from gpudbg.formats.launch import python_launch
    from gpudbg.launch.prepare import ArgumentPlace

    if kernel is not None:
        given.text(kernel, "kernel", next(iter(loaded.kernels), "saxpy"))
    if isinstance(args, str | np.ndarray | Mapping) or not isinstance(args, Sequence):
        raise UsageError(
            f"args must be a list of arguments, not a {type(args).__name__}",
            "one for each parameter, in order",
        )
    program, places = loaded.program, list[object]()
    values: list[object] = []
    for index, value in enumerate(args):
        place = ArgumentPlace((program, kernel, index, len(args)))
        home = getattr(value, "device", None)
        if isinstance(home, EmulatedDevice) and home is not loaded.device:
            raise UsageError(f"{place} is in another device's memory")
        places.append(place)
        values.append(host_value(value, place))
    return python_launch(kernel, grid, block, values, shared_bytes, cluster, places), values


Source = str | os.PathLike[str] | bytes | bytearray | memoryview | Program | LoadedProgram
"""What a program can come from: a path, a cubin's bytes, or a program."""


def read(source: Source, arch: str | None, options: Sequence[str] = ()) -> Program:
    """A program from whatever it can come from; errors as `load`."""
    from gpudbg.formats.files import read_program
    from gpudbg.loading.programs import open_program

    if isinstance(source, LoadedProgram):
        return source.program
    if isinstance(source, Program):
        return source
    if isinstance(source, bytes | bytearray | memoryview):
        return read_program(bytes(source), arch=arch)
    if not isinstance(source, str | os.PathLike):
        raise UsageError(
            f"a program cannot come from a {type(source).__name__}",
            "a path, a cubin's bytes, or a program loaded before",
        )
    return open_program(os.fspath(source), arch=arch, options=options)


def program_html(loaded: LoadedProgram) -> str:
    """A program: its kernels and variables."""
    kernels = [
        (k.name, ", ".join(str(p.size) for p in k.params), k.num_regs, k.shared_static_bytes)
        for k in loaded.kernels.values()
    ]
    variables = [(v.name, v.space, v.size) for v in loaded.program.globals.values()]
    out = html.heading(f"{loaded.program.path}, {loaded.program.arch}")
    out += html.table(("kernel", "parameters (bytes)", "registers", "shared bytes"), kernels)
    return out + (html.table(("variable", "space", "bytes"), variables) if variables else "")
