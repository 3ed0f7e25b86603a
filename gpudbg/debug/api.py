"""The Python API: devices, buffers, programs, launches.

    program = gpudbg.load("saxpy.cubin")
    y = program.device.buffer(y_host)
    session = program.launch("saxpy", grid=4, block=256, args=[np.int32(1000), x_host, y])
    stop = session.run();  y.array()

A program lives on one device; several launches share that device's memory, in order.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpudbg.errors import UsageError
from gpudbg.formats.initdata import dtype_of, make_array
from gpudbg.formats.launch import (
    BoundArg,
    BufferArg,
    ImageArg,
    Launch,
    ObjectArg,
    ScalarArg,
    bind,
    check_geometry,
    param_block,
    pick_kernel,
    python_launch,
)
from gpudbg.formats.launch_machine import SpecialSetup, make_special
from gpudbg.formats.program import CodeImage, Global, Kernel, Program
from gpudbg.mem.device import Allocation
from gpudbg.sm.gpu import DEFAULT_HEAP_BYTES, DEFAULT_SMS, Gpu, Grid, Module

if TYPE_CHECKING:
    from gpudbg.debug.images import DeviceImage
    from gpudbg.debug.session import DebugSession

Array = npt.NDArray[Any]

ENGINES = ("auto", "step", "run")
"""Ways to execute: whatever is best, the step engine, compiled code from the start."""


def load(
    source: Source,
    arch: str | None = None,
    *,
    options: Sequence[str] = (),
    num_sms: int | None = None,
    seed: int | None = None,
    engine: str = "auto",
    heap_bytes: int | None = None,
    stack_bytes: int | None = None,
) -> LoadedProgram:
    """A program on a fresh emulated GPU.

    Args:
        source: path of a cubin, fat binary, CUDA C++ (`.cu`) or PTX (`.ptx`) file, or of raw
            words with a launch table; a cubin's bytes; or a program loaded before.
        arch: architecture of the GPU (of raw words and of what is compiled); None is the
            program's own.
        options: for the compiler of `.cu` and `.ptx`, such as ["-DN=4", "-Iinclude", "-G"].
        num_sms, seed, engine, heap_bytes, stack_bytes: as for `Device`.

    Raises:
        LoadError: the file cannot be read as a program.
        CompileError: its compiler refuses it.
        UsageError: the program does not run on that architecture, or needs a compiler that is
            not installed.
    """
    program = _read(source, arch, options)
    device = Device(
        arch=arch or program.arch,
        num_sms=num_sms,
        seed=seed,
        engine=engine,
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
        device: num_sms, seed, engine, heap_bytes, stack_bytes, as for `Device`.

    Raises:
        CompileError: the compiler's own words.
        UsageError: the compiler is not installed.
    """
    from gpudbg.debug.compile import compile_text, looks_like_ptx, program_of, word_options

    name = name or ("source.ptx" if looks_like_ptx(text) else "source.cu")
    made = compile_text(text, word_options(options, arch), name)
    return load(program_of(name, made), arch, **device)


def _read(source: Source, arch: str | None, options: Sequence[str] = ()) -> Program:
    from gpudbg.debug.opening import open_program
    from gpudbg.formats.files import read_program

    if isinstance(source, LoadedProgram):
        return source.program
    if isinstance(source, Program):
        return source
    if isinstance(source, bytes):
        return read_program(source, arch=arch)
    return open_program(os.fspath(source), arch=arch, options=options)


class Device:
    """An emulated GPU of one's own choosing.

    Attributes:
        gpu: the machine below.
        images: textures and surfaces made so far.
    """

    def __init__(
        self,
        arch: str = "sm_50",
        num_sms: int | None = None,
        seed: int | None = None,
        *,
        engine: str = "auto",
        heap_bytes: int | None = None,
        stack_bytes: int | None = None,
    ) -> None:
        """Make a device.

        Args:
            arch: "sm_50" .. "sm_62".
            num_sms: streaming multiprocessors.
            seed: of the schedule; 0 is round-robin.
            engine: "step" for the step engine alone, "run" to compile at once, "auto" to
                compile what turns out to run long.
            heap_bytes: device heap.
            stack_bytes: local stack of a thread; None is what the kernel is known to need.

        Raises:
            UsageError: a value outside its range.
        """
        if engine not in ENGINES:
            raise UsageError(f"unknown engine {engine!r}", f"one of {', '.join(ENGINES)}")
        self.images: list[DeviceImage] = []
        self.gpu = Gpu(
            arch,
            DEFAULT_SMS if num_sms is None else num_sms,
            seed or 0,
            heap_bytes=DEFAULT_HEAP_BYTES if heap_bytes is None else heap_bytes,
            stack_bytes=stack_bytes,
            engine=engine,
        )

    @property
    def arch(self) -> str:
        """Architecture."""
        return self.gpu.arch

    def load(self, source: Source, *, options: Sequence[str] = ()) -> LoadedProgram:
        """Read a program and place it on this device; arguments and errors as `gpudbg.load`."""
        return self.adopt(_read(source, self.arch, options))

    def adopt(self, program: Program) -> LoadedProgram:
        """Place a program that has been read already."""
        return LoadedProgram(self, self.gpu.load(program))

    def buffer(self, array: npt.ArrayLike, name: str | None = None) -> DeviceBuffer:
        """Device memory with a copy of an array in it."""
        host = np.asarray(array)
        if host.dtype.hasobject:
            raise UsageError(f"an array of {host.dtype} cannot be copied to the device")
        host = host.astype(host.dtype.newbyteorder("<"), copy=False)
        label = f"buffer {name}" if name else f"buffer {len(list(self.gpu.memory.allocations()))}"
        made = DeviceBuffer(
            self, self.gpu.memory.allocate(host.nbytes, label), host.dtype, host.shape
        )
        made.write(host)
        return made

    def texture(
        self,
        array: npt.ArrayLike,
        dim: str | None = None,
        *,
        name: str | None = None,
        levels: Sequence[npt.ArrayLike] = (),
        **options: Any,
    ) -> DeviceImage:
        """A texture with a copy of an array in it; its `handle` is a kernel argument.

        Args:
            array: slowest axis first, channels last.
            dim: "1d", "1d_buffer", "1d_array", "2d", "2d_array", "3d", "cube" or "cube_array";
                None goes by the array's axes.
            name: for listings.
            levels: arrays of the mip levels after the first.
            options: address, filter, normalized, read, border, srgb, layout, block_height, ...:
                `gpudbg.debug.images.ImageOptions`.

        Raises:
            UsageError: options that do not exist, or do not fit the array.
        """
        return self._image("texture", array, dim, name, levels, options)

    def surface(
        self,
        array: npt.ArrayLike,
        dim: str | None = None,
        *,
        name: str | None = None,
        **options: Any,
    ) -> DeviceImage:
        """A surface with a copy of an array in it; read it back with `array()`.

        Args:
            array, dim, name: as for `texture`.
            options: layout ("block_linear" or "pitch"), block_height and block_depth in GOBs,
                format and type: `gpudbg.debug.images.ImageOptions`.

        Raises:
            UsageError: options that do not exist, or do not fit the array.
        """
        return self._image("surface", array, dim, name, (), options)

    def _image(
        self, kind: str, array: npt.ArrayLike, dim: str | None, name: str | None,
        levels: Sequence[npt.ArrayLike], options: dict[str, Any],
    ) -> DeviceImage:  # fmt: skip
        from gpudbg.debug.images import make_image

        made = make_image(self, kind, array, dim, name, levels, options)
        self.images.append(made)
        return made

    def __repr__(self) -> str:
        return f"<Device {self.arch}, {self.gpu.num_sms} SMs>"


class DeviceBuffer:
    """Device memory that holds an array.

    Attributes:
        dtype, shape: of the array.
    """

    def __init__(
        self, device: Device, allocation: Allocation, dtype: np.dtype[Any], shape: tuple[int, ...]
    ) -> None:
        self.device = device
        self.allocation = allocation
        self.dtype = dtype
        self.shape = shape

    @property
    def address(self) -> int:
        """Device address of the first byte."""
        return self.allocation.base

    @property
    def nbytes(self) -> int:
        """Bytes."""
        return self.allocation.size

    def array(self) -> Array:
        """A copy of what is in it now."""
        raw = self.allocation.data.tobytes()
        return np.frombuffer(raw, self.dtype).reshape(self.shape).copy()

    def write(self, array: npt.ArrayLike) -> None:
        """Replace the contents.

        Raises:
            UsageError: the array has another number of bytes.
        """
        host = np.ascontiguousarray(np.asarray(array, self.dtype))
        if host.nbytes != self.nbytes:
            raise UsageError(f"{host.nbytes} bytes do not fill {self.nbytes}")
        self.allocation.data[:] = np.frombuffer(host.tobytes(), np.uint8)

    def free(self) -> None:
        """Give the memory back; an access to it is an error from now on."""
        self.device.gpu.memory.free(self.allocation)

    def __repr__(self) -> str:
        return f"<DeviceBuffer 0x{self.address:x}, {self.dtype}{list(self.shape)}>"


class LoadedProgram:
    """A program on a device.

    Attributes:
        device: the device.
        module: its code and variables at their addresses.
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
            args: NumPy scalars by their dtype, Python int, float and bool by the parameter's
                size, bytes for a by-value struct, NumPy arrays (each copied into a new device
                buffer), device buffers, textures, surfaces.
            shared_bytes: dynamic shared memory of a block.
            coverage: launch as a pixel shader with these lanes covered, a mask or one per warp;
                the other lanes are helper pixels.

        Raises:
            UsageError: no such kernel, or the arguments or sizes do not fit it.
        """
        for index, value in enumerate(args):
            home = getattr(value, "device", None)
            if isinstance(home, Device) and home is not self.device:
                raise UsageError(f"argument {index} is in another device's memory")
        table = python_launch(kernel, grid, block, args, shared_bytes)
        if coverage is not None:
            masks = [coverage] if isinstance(coverage, int) else [int(m) for m in coverage]
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

        gpu = self.device.gpu
        if table.special != SpecialSetup():
            gpu.special = table.special
        for name, value in table.trap.options.items():
            gpu.trap_options.set(name, value)
        session = DebugSession(_prepare(self, table))
        if table.trap.handler is not None:
            session.traps.install(table.trap.handler, table.trap.entry, table.trap.argument)
        return session

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
        self._bytes(name, offset, len(raw))[:] = np.frombuffer(raw, np.uint8)

    def read_symbol(
        self, name: str, dtype: npt.DTypeLike = np.uint8, count: int | None = None, offset: int = 0
    ) -> Array:
        """Elements of a variable; all of it unless `count` says how many.

        Raises:
            UsageError: no such variable, or it is smaller.
        """
        kind = np.dtype(dtype)
        if count is None:
            count = max(0, self.symbol(name).size - offset) // kind.itemsize
        raw = self._bytes(name, offset, count * kind.itemsize)
        return np.frombuffer(raw.tobytes(), kind).copy()

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

    def _bytes(self, name: str, offset: int, count: int) -> npt.NDArray[np.uint8]:
        found = self.symbol(name)
        if offset < 0 or offset + count > found.size:
            raise UsageError(f"{name} has {found.size} bytes, not {offset + count}")
        start = found.offset + offset
        return self.module.segments[found.segment].data[start : start + count]

    def __repr__(self) -> str:
        return f"<LoadedProgram {self.program.path}, {self.program.arch}>"


Source = str | os.PathLike[str] | bytes | Program | LoadedProgram
"""What a program can come from: a path, a cubin's bytes, or a program."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument as it was launched.

    Attributes:
        name: of the buffer where it has one, else "argN".
        value: the scalar, or the object's address or handle.
        buffer: the device buffer, or None.
        output: the launch table asks for it to be shown at the end.
    """

    name: str
    value: Any
    buffer: DeviceBuffer | None = None
    output: bool = False


class ProgramLaunch:
    """A launch that can begin more than once (`gpudbg.debug.session.Launch`).

    Attributes:
        loaded: the program on its device.
        kernel: what is launched.
        table: the launch table.
        arguments: as launched.
        params: the parameter bytes.
    """

    def __init__(
        self,
        loaded: LoadedProgram,
        kernel: Kernel,
        table: Launch,
        arguments: tuple[Argument, ...],
        params: bytes,
    ) -> None:
        self.loaded = loaded
        self.kernel = kernel
        self.table = table
        self.arguments = arguments
        self.params = params
        self._memory: list[tuple[Allocation, bytes]] | None = None

    @property
    def program(self) -> Program:
        """The program's file content."""
        return self.loaded.program

    @property
    def image(self) -> CodeImage:
        """The program at its addresses."""
        return self.loaded.module.image

    def begin(self) -> Grid:
        """A new grid; the first call launches, later ones restore device memory first."""
        memory = self.loaded.device.gpu.memory
        if self._memory is None:
            self._memory = [(a, a.data.tobytes()) for a in memory.allocations()]
        else:
            for allocation, content in self._memory:
                allocation.data[:] = np.frombuffer(content, np.uint8)
        table = self.table
        return self.loaded.module.launch(
            self.kernel.name, table.grid, table.block, self.params, table.shared_bytes
        )


def _prepare(loaded: LoadedProgram, table: Launch) -> ProgramLaunch:
    """Check a launch table against the program and make what it needs on the device."""
    kernel = pick_kernel(loaded.program, kernel_name(loaded.program, table.kernel))
    check_geometry(kernel, table.grid, table.block, table.shared_bytes)
    bound = bind(kernel, table.args)
    buffers = _make_buffers(loaded.device, table)
    addresses = {name: buffer.address for name, buffer in buffers.items()}
    images = _make_images(loaded, table)
    handles = {name: image.handle for name, image in images.items()}
    params = param_block(kernel, bound, addresses | handles)
    for name, symbol in table.symbols.items():
        content = make_array(symbol.dtype, symbol.count, symbol.init, addresses)
        loaded.write_symbol(name, content)
    marked = {output.buffer for output in table.outputs}
    objects = buffers | images
    arguments = tuple(_argument(n, item, objects, marked) for n, item in enumerate(bound))
    return ProgramLaunch(loaded, kernel, table, arguments, params)


def _symbol_bytes(value: npt.ArrayLike, symbol: Global) -> bytes:
    """What a variable gets, little-endian."""
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    if isinstance(value, int) and symbol.size in (1, 2, 4, 8):
        return (int(value) % (1 << 8 * symbol.size)).to_bytes(symbol.size, "little")
    host = np.ascontiguousarray(value)
    if isinstance(value, float) and not isinstance(value, np.generic) and symbol.size in (2, 4, 8):
        host = host.astype(f"f{symbol.size}")
    return host.astype(host.dtype.newbyteorder("<"), copy=False).tobytes()


def kernel_name(program: Program, name: str | None) -> str | None:
    """A kernel's name in the program for how a person writes it.

    `scale` is `_Z5scalePf`, and `_Z5scaleILi4EEvPf` where that is the only instance.
    """
    from gpudbg.debug.symbols import plain_name

    if name is None or name in program.kernels:
        return name
    instance = f"_Z{len(name)}{name}I"
    found = [k for k in program.kernels if plain_name(k) == name or k.startswith(instance)]
    return found[0] if len(found) == 1 else name


def _make_buffers(device: Device, table: Launch) -> dict[str, DeviceBuffer]:
    """The table's buffers; those whose contents point at others come last."""
    made: dict[str, DeviceBuffer] = {}
    order = sorted(table.buffers.values(), key=lambda spec: spec.init.rule == "pointers")
    for spec in order:
        empty = np.zeros(spec.shape, dtype_of(spec.dtype))
        made[spec.name] = device.buffer(empty, spec.name)
    addresses = {name: buffer.address for name, buffer in made.items()}
    for spec in order:
        content = make_array(spec.dtype, spec.count, spec.init, addresses)
        made[spec.name].write(content.reshape(spec.shape))
    return made


def _make_images(loaded: LoadedProgram, table: Launch) -> dict[str, DeviceImage]:
    """The table's textures and surfaces, bound where they say so."""
    made: dict[str, DeviceImage] = {}
    for spec in table.images.values():
        options = dict(spec.options)
        channels = int(options.pop("channels", 1))
        shape = (*reversed(spec.size), *((channels,) if channels > 1 else ()))
        content = make_array(spec.dtype, spec.count, spec.init).reshape(shape)
        make = loaded.device.texture if spec.kind == "texture" else loaded.device.surface
        made[spec.name] = make(content, spec.dim, name=spec.name, **options)
        if spec.bind:
            loaded.bind(spec.bind, made[spec.name])
    return made


def _argument(
    number: int, item: BoundArg, buffers: Mapping[str, DeviceBuffer], marked: set[str]
) -> Argument:
    """One launched argument; its buffer is named after it for messages."""
    plain = f"arg{number}"
    match item.arg:
        case BufferArg(buffer=name, offset=offset):
            buffer = buffers[name]
            named = f"argument {number}" if name == plain else f"buffer {name} (argument {number})"
            buffer.allocation.name = named
            return Argument(name, buffer.address + offset, buffer, name in marked)
        case ImageArg(image=name):
            image = buffers[name]
            return Argument(name, getattr(image, "handle", 0), image, name in marked)
        case ScalarArg(value=value):
            return Argument(plain, value)
        case ObjectArg(value=value, source=source):
            if getattr(source, "handle", None) == value:
                return Argument(getattr(source, "name", plain), value, source)
            if isinstance(source, DeviceBuffer):
                source.allocation.name = f"argument {number}"
                return Argument(plain, value, source)
            return Argument(plain, value)
    return Argument(plain, None)
