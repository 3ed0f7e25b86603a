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
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpudbg import validation as given
from gpudbg.device.device import Array, Device
from gpudbg.device.hostdata import host_array, host_value
from gpudbg.errors import UsageError
from gpudbg.formats.launch_machine import SpecialSetup, make_special
from gpudbg.formats.program import Global, Kernel, Program
from gpudbg.options import JOBS
from gpudbg.public import public_names
from gpudbg.sm.gpu import Module

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.device.images import DeviceImage
    from gpudbg.formats.launch import Launch
    from gpudbg.mem.device import Allocation


def load(
    source: Source,
    arch: str | None = None,
    *,
    options: Sequence[str] = (),
    num_sms: int | None = None,
    seed: int | None = None,
    engine: str = "auto",
    jobs: int = JOBS.default,
    heap_bytes: int | None = None,
    stack_bytes: int | None = None,
) -> LoadedProgram:
    """A program on a fresh emulated GPU.

    Args:
        source: path of a cubin, fat binary, CUDA C++ (`.cu`), PTX (`.ptx`) or SASS (`.sass`)
            file, or of raw words with a launch table; a cubin's bytes; or a program loaded before.
        arch: architecture of the GPU (of raw words and of what is compiled); None is the
            program's own.
        options: for the compiler of `.cu` and `.ptx`, such as ["-DN=4", "-Iinclude", "-G"].
        num_sms, seed, engine, jobs, heap_bytes, stack_bytes: as for `Device`.

    Raises:
        LoadError: the file cannot be read as a program.
        CompileError: its compiler refuses it.
        UsageError: the program does not run on that architecture, or needs a compiler that is
            not installed.

    >>> program = gpudbg.load("sessions/out_of_bounds/out_of_bounds.cubin", num_sms=1)
    >>> list(program.kernels)
    ['smooth']
    """
    program = read(source, arch, given.words(options, "options", '["-DN=4"]'))
    device = Device(
        arch=arch or program.arch,
        num_sms=num_sms,
        seed=seed,
        engine=engine,
        jobs=jobs,
        heap_bytes=heap_bytes,
        stack_bytes=stack_bytes,
    )
    return device.adopt(program)


def compile(  # noqa: A001 - users write gpudbg.compile
    text: str,
    arch: str | None = None,
    *,
    options: Sequence[str] = (),
    name: str | None = None,
    **device: Any,
) -> LoadedProgram:
    """CUDA C++ or PTX text as a program on a fresh emulated GPU.

    The text is told apart by its first words (PTX begins with `.version`).

    Args:
        text: the source.
        arch: architecture; None is sm_50, or the PTX text's own.
        options: for the compiler, such as ["-DN=4", "-G"].
        name: what messages and the line table call the source.
        device: num_sms, seed, engine, jobs, heap_bytes, stack_bytes, as for `Device`.

    Raises:
        CompileError: the compiler's own words.
        UsageError: the compiler is not installed.

    >>> text = '''__device__ int bias;
    ... extern "C" __global__ void shift(int *p) { p[threadIdx.x] += bias * N; }'''
    >>> program = gpudbg.compile(text, options=["-DN=2"])
    >>> program.write_symbol("bias", 5)
    >>> session = program.launch("shift", args=[np.arange(32, dtype=np.int32)])
    >>> session.run().kind, session.buffer(0)[:4], program.read_symbol("bias", np.int32)
    ('exited', array([10, 11, 12, 13], dtype=int32), array([5], dtype=int32))
    """
    from gpudbg.toolchain.compile import compile_text, program_of
    from gpudbg.toolchain.options import looks_like_ptx, word_options

    given.text(text, "text", 'extern "C" __global__ void k(int *p) { … }')
    name = name or ("source.ptx" if looks_like_ptx(text) else "source.cu")
    made = compile_text(text, word_options(options, arch), name)
    return load(program_of(name, made), arch, **device)


def assemble_program(
    text: str,
    arch: str | None = None,
    *,
    name: str | None = None,
    **device: Any,
) -> LoadedProgram:
    """SASS text as a program on a fresh emulated GPU.

    The text is what `gpudbg dis`, nvdisasm and cuobjdump print, or written by hand; `.param`
    directives name the kernel's parameters (`gpudbg asm --help` has all directives).  Its lines
    are the program's source lines: `list`, breakpoints and stops know them.

    Args:
        text: the source.
        arch: architecture; None is the text's own, else sm_50.
        name: what messages and the line table call the source.
        device: num_sms, seed, engine, jobs, heap_bytes, stack_bytes, as for `Device`.

    Raises:
        AssembleError: every mistake of the text, each with its line; `errors` has them one by one.

    >>> text = '''
    ... .kernel fill
    ... .param out 8
    ... S2R R0, SR_LANEID
    ... SHL R1, R0, 0x2
    ... IADD R2.CC, R1, c[0x0][out]
    ... IADD.X R3, RZ, c[0x0][out+4]
    ... STG.E [R2], R0
    ... EXIT
    ... '''
    >>> session = gpudbg.assemble_program(text).launch("fill", args=[np.zeros(32, np.int32)])
    >>> session.run().check().kind, session.buffer("out")[:4]
    ('exited', array([0, 1, 2, 3], dtype=int32))
    """
    from gpudbg.assembler.loading import program_of_text

    made = program_of_text(
        given.text(text, "text", "MOV R0, RZ\nEXIT"), name or "source.sass", arch
    )
    return load(made, arch, **device)


def open(  # noqa: A001 - users write gpudbg.open
    path: str | os.PathLike[str],
    *,
    launch: str | os.PathLike[str] | None = None,
    kernel: str | None = None,
    grid: int | Sequence[int] | None = None,
    block: int | Sequence[int] | None = None,
    args: Sequence[str] = (),
    arch: str | None = None,
    options: Sequence[str] = (),
    num_sms: int | None = None,
    seed: int | None = None,
    engine: str = "auto",
) -> DebugSession:
    """A session of a program with the launch table beside it, as `gpudbg PROG` begins one.

    Args:
        path: the program; `x.cubin` has its launch table in `x.toml`.
        launch: another launch table.
        kernel, grid, block: win over the table.
        args: arguments in the words of `--arg`, such as "i32:4" or "x=f32[64]": all of them,
            or "NAME=VALUE" for those that differ from the table's; they may name its buffers.
        arch, options, num_sms, seed, engine: as for `load`.

    Raises:
        LoadError, CompileError, UsageError: as `load` and `LoadedProgram.launch`.

    >>> session = gpudbg.open("sessions/first_steps/first_steps.cubin", seed=3)
    >>> session.run().kind, session.buffer("out")
    ('exited', array([4974, 4970, 5026, 4994], dtype=int32))
    """
    from gpudbg.api.opening import open_program, parameter_names, start
    from gpudbg.formats.launch import SmSpec
    from gpudbg.formats.launch_toml import beside, flag_launch, read_launch

    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"path must be a file's name, not a {type(path).__name__}")
    if isinstance(args, str) or not all(isinstance(a, str) for a in args):
        words = "args must be a list of texts as of --arg, such as 'i32:4' or 'x=f32[64]'"
        raise UsageError(words, "`gpudbg.load(path).launch(args=[…])` takes Python's values")
    for dims, name in ((grid, "grid"), (block, "block")):
        _dim_text(dims, name)
    table = Path(launch) if launch is not None else beside(Path(path))
    base = read_launch(table) if table is not None else None

    def flagged(names: Sequence[str] | None) -> Launch:
        return flag_launch(
            base,
            kernel=kernel,
            grid=_dim_text(grid, "grid"),
            block=_dim_text(block, "block"),
            args=args,
            sm=SmSpec(arch, num_sms, seed),
            parameters=names,
        )

    made = flagged(None)
    program = open_program(os.fspath(path), made, arch, options)
    if args:
        made = flagged(parameter_names(program, made.kernel))
    return start(program, made, engine)


def _dim_text(value: int | Sequence[int] | None, name: str) -> str | None:
    """A size in the words of a flag."""
    from gpudbg.formats.launch import dim3

    return None if value is None else ",".join(map(str, dim3(value, name)))


def read(source: Source, arch: str | None, options: Sequence[str] = ()) -> Program:
    """A program from whatever it can come from; errors as `load`."""
    from gpudbg.api.opening import open_program
    from gpudbg.formats.files import read_program

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


class LoadedProgram:
    """A program on a device.

    Attributes:
        device: the device.
        module: its code and variables at their addresses.

    >>> program.device, [kernel.num_regs for kernel in program.kernels.values()]
    (<Device sm_50, 2 SMs>, [12])
    """

    def __init__(self, device: Device, module: Module) -> None:
        self.device = device
        self.module = module

    @property
    def program(self) -> Program:
        """The file's content."""
        return self.module.program

    @property
    def kernels(self) -> Mapping[str, Kernel]:
        """Kernels by name."""
        return self.program.kernels

    def launch(
        self,
        kernel: str | None = None,
        grid: int | Sequence[int] = 1,
        block: int | Sequence[int] = 32,
        args: Sequence[object] = (),
        shared_bytes: int = 0,
        coverage: int | Sequence[int] | None = None,
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

        Raises:
            UsageError: no such kernel, or the arguments or sizes do not fit it.

        >>> values, out = np.arange(64, dtype=np.int32), np.zeros(1, np.int32)
        >>> session = program.launch("block_max", grid=1, block=64, args=[values, out, 64])
        >>> print(session.run())
        block_max ended after 253 warp instructions
        >>> session.buffer(1)
        array([73], dtype=int32)
        """
        if kernel is not None:
            given.text(kernel, "kernel", next(iter(self.kernels), "saxpy"))
        if isinstance(args, str | np.ndarray | Mapping) or not isinstance(args, Sequence):
            raise UsageError(
                f"args must be a list of arguments, not a {type(args).__name__}",
                "one for each parameter, in order",
            )
        for index, value in enumerate(args):
            home = getattr(value, "device", None)
            if isinstance(home, Device) and home is not self.device:
                raise UsageError(f"argument {index} is in another device's memory")
        args = [host_value(value, f"argument {index}") for index, value in enumerate(args)]
        from gpudbg.formats.launch import python_launch

        table = python_launch(kernel, grid, block, args, shared_bytes)
        if coverage is not None:
            each = coverage if isinstance(coverage, list | tuple) else [coverage]
            masks = [given.whole(mask, "coverage", 0, 0xFFFFFFFF) for mask in each]
            pixel = {"shader_type": "pixel", "coverage": masks}
            table = table.replaced(special=make_special(pixel))
        session = self.launch_table(table)
        for argument, value in zip(session.launch.arguments, args, strict=False):
            # A launch table knows scalar types; structures and complex numbers are bytes there.
            if isinstance(value, np.ndarray) and value.ndim and argument.buffer is not None:
                argument.buffer.dtype = value.dtype.newbyteorder("<")
                argument.buffer.shape = value.shape
        return session

    def launch_table(self, table: Launch) -> DebugSession:
        """Launch what a launch table describes; errors as `launch`."""
        from gpudbg.debug.session import DebugSession
        from gpudbg.launch.prepare import prepare

        self.use_machine(table)
        self.device.require_open()
        session = DebugSession(prepare(self, table))
        self.device.sessions.add(session)
        session.traps.install_from(table)
        return session

    def use_machine(self, table: Launch) -> None:
        """Set the device up as a launch table says: special registers, trap options."""
        gpu = self.device.gpu
        if table.special != SpecialSetup():
            gpu.special = table.special
        for name, value in table.trap.options.items():
            gpu.trap_options.set(name, value)

    def bind(self, name: str, image: DeviceImage) -> None:
        """Bind a texture or surface to a module-scope reference, for launches from now on.

        Raises:
            UsageError: no such reference, or one of the other kind.
        """
        kind = self.program.images.get(name)
        if kind is None:
            known = ", ".join(self.program.images) or "none"
            raise UsageError(f"{self.program.path}: no reference {name!r}", f"references: {known}")
        if "surface" in (kind, image.kind) and kind != image.kind:
            raise UsageError(f"{name} is a {kind} reference, {image.name} a {image.kind}")
        self.module.bound[name] = image.handle

    # ---- variables ---------------------------------------------------------------------

    def write_symbol(self, name: str, array: npt.ArrayLike, offset: int = 0) -> None:
        """Write a `__device__` or `__constant__` variable.

        A Python int, float or bool takes the variable's size.

        Raises:
            UsageError: no such variable, or the array does not fit it.
        """
        raw = _symbol_bytes(array, self.symbol(name))
        segment, place = self._place(name, offset, len(raw))
        segment.writable()[place] = np.frombuffer(raw, np.uint8)

    def read_symbol(
        self, name: str, dtype: npt.DTypeLike = np.uint8, count: int | None = None, offset: int = 0
    ) -> Array:
        """Elements of a variable; all of it unless `count` says how many.

        Raises:
            UsageError: no such variable, or it is smaller.
        """
        try:
            kind = np.dtype(dtype)
        except TypeError as error:
            raise UsageError(f"dtype: {error}") from None
        offset = given.whole(offset, "offset", 0)
        if count is not None:
            count = given.whole(count, "count", 0)
        else:
            count = max(0, self.symbol(name).size - offset) // kind.itemsize
        segment, place = self._place(name, offset, count * kind.itemsize)
        return np.frombuffer(segment.data[place].tobytes(), kind).copy()

    def symbol(self, name: str) -> Global:
        """What the program says of a variable.

        Raises:
            UsageError: there is none of that name.
        """
        found = self.program.globals.get(name)
        if found is None:
            known = ", ".join(self.program.globals) or "none"
            raise UsageError(f"{self.program.path}: no variable {name!r}", f"variables: {known}")
        return found

    def symbol_address(self, name: str) -> int:
        """Device address of a variable."""
        found = self.symbol(name)
        return self.module.segments[found.segment].base + found.offset

    def _place(self, name: str, offset: int, count: int) -> tuple[Allocation, slice]:
        """The memory that holds a variable, and where bytes of it are there."""
        found = self.symbol(name)
        if offset < 0 or offset + count > found.size:
            raise UsageError(
                f"{name} has {found.size} bytes, not {offset + count}",
                "give an array of the variable's type: np.array(…, dtype=np.float32)",
            )
        start = found.offset + offset
        return self.module.segments[found.segment], slice(start, start + count)

    __dir__ = public_names

    def _repr_html_(self) -> str:
        from gpudbg.debug.views import html

        return html.program(self)

    def __repr__(self) -> str:
        return f"<LoadedProgram {self.program.path}, {self.program.arch}>"


def _symbol_bytes(value: npt.ArrayLike, symbol: Global) -> bytes:
    """What a variable gets, little-endian."""
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    if isinstance(value, int) and symbol.size in (1, 2, 4, 8):
        return (int(value) % (1 << 8 * symbol.size)).to_bytes(symbol.size, "little")
    host = np.ascontiguousarray(host_array(value, "the value"))
    if isinstance(value, float) and not isinstance(value, np.generic) and symbol.size in (2, 4, 8):
        host = host.astype(f"f{symbol.size}")
    return host.astype(host.dtype.newbyteorder("<"), copy=False).tobytes()


Source = str | os.PathLike[str] | bytes | bytearray | memoryview | Program | LoadedProgram
"""What a program can come from: a path, a cubin's bytes, or a program."""
