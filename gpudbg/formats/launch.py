"""The launch table: what to run, on which data, on which machine.

One dataclass, `Launch`, whether it came from a TOML file beside the program
(`launch_toml`), from the command line (`launch_text`) or from Python keyword arguments
(`python_launch` here).  `bind` checks it against a kernel and `param_block` turns its
arguments into the bytes of constant bank 0.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Any

import numpy as np

from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError
from gpudbg.formats.initdata import Array, Init, dtype_name, dtype_of
from gpudbg.formats.launch_machine import SpecialSetup, TrapSpec
from gpudbg.formats.names import plain_name
from gpudbg.formats.program import Kernel, Param, Program

Dim3 = tuple[int, int, int]

MAX_GRID: Dim3 = (2**31 - 1, 65535, 65535)
MAX_BLOCK: Dim3 = (1024, 1024, 64)
MAX_THREADS = 1024
BY_REFERENCE = 32 << 20
"""Bytes from which an argument's array is not copied into the table."""
MAX_SHARED = 48 * 1024
"""Limits of a launch on sm_50 to sm_62 (CUDA C Programming Guide, compute capabilities)."""

POINTER_BYTES = 8
PLAIN = {"int": "i", "float": "f"}
"""Untyped scalars take the width of the parameter they meet."""


@dataclass(frozen=True, slots=True)
class ScalarArg:
    """A value passed by itself.

    Attributes:
        dtype: "i32", "f64", ...; "int" or "float" to take the parameter's width; "bytes" for
            a by-value struct.
        value: an int, a float, or the bytes.
    """

    dtype: str
    value: int | float | bytes

    @property
    def size(self) -> int | None:
        """Bytes, or None when the parameter decides."""
        if isinstance(self.value, bytes):
            return len(self.value)
        return None if self.dtype in PLAIN else dtype_of(self.dtype).itemsize

    def encode(self, size: int) -> bytes:
        """The argument's bytes in the parameter area.

        Args:
            size: bytes of the parameter, used by untyped scalars.

        Raises:
            UsageError: the value does not fit its type.
        """
        if isinstance(self.value, bytes):
            return self.value
        name = f"{PLAIN[self.dtype]}{8 * size}" if self.dtype in PLAIN else self.dtype
        dtype = dtype_of(name)
        if dtype.kind != "f":
            return _encode_int(self.value, dtype.itemsize, name)
        with np.errstate(over="ignore"):
            encoded = np.array(self.value, np.float64).astype(dtype)
        if np.isinf(encoded) and not np.isinf(self.value):
            raise UsageError(f"{self.value} does not fit {name}")
        return bytes(encoded.tobytes())


def _encode_int(value: int | float, size: int, name: str) -> bytes:
    """An integer of either sign as `size` bytes; a bit pattern of the width is taken, too."""
    if not isinstance(value, int):
        raise UsageError(f"{value} is no integer, as {name} needs")
    if not -(1 << 8 * size - 1) <= value < 1 << 8 * size:
        raise UsageError(f"{value} does not fit {name}")
    return (value & (1 << 8 * size) - 1).to_bytes(size, "little")


@dataclass(frozen=True, slots=True)
class BufferArg:
    """The device address of one of the table's buffers, plus `offset` bytes."""

    buffer: str
    offset: int = 0
    size: int = POINTER_BYTES


@dataclass(frozen=True, slots=True)
class ImageArg:
    """The 64-bit handle of one of the table's textures or surfaces."""

    image: str
    size: int = POINTER_BYTES


@dataclass(frozen=True, slots=True)
class ObjectArg:
    """Something the caller made on the device: a buffer, texture or surface (Python only).

    Attributes:
        value: its address or handle.
        source: the object, which the loader may want to keep.
    """

    value: int
    source: Any = None
    size: int = POINTER_BYTES


@dataclass(frozen=True, slots=True)
class TensorArg:
    """A tensor map (`CUtensorMap`, 128 bytes by value) of one of the table's buffers.

    Attributes:
        buffer: the buffer's name.
        options: how a copy sees it, keys of `TENSOR_OPTIONS`.
    """

    buffer: str
    options: Mapping[str, Any] = field(default_factory=dict)
    size: int = 128


TENSOR_OPTIONS = (
    "box", "type", "shape", "strides", "element_strides", "swizzle", "interleave", "fill",
    "channels", "pixels", "lower", "upper",
)  # fmt: skip
"""What a tensor map says beside the buffer's shape and type, as `device.tensor_map` takes it;
the last four are those of im2col copies."""

Arg = ScalarArg | BufferArg | ImageArg | TensorArg | ObjectArg


@dataclass(frozen=True, slots=True)
class BufferSpec:
    """A device buffer that the launch makes.

    Attributes:
        name: how arguments and outputs refer to it.
        dtype: element type by name.
        shape: elements along each axis; the array shown and returned has this shape.
        init: its first contents.
        given: of an array whose elements no name has (bool, structures): it travels as bytes.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    init: Init = field(default_factory=Init)
    given: np.dtype[Any] | None = None

    @property
    def count(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=object))


@dataclass(frozen=True, slots=True)
class ImageSpec:
    """A texture or surface object that the launch makes.

    Attributes:
        name: how arguments refer to it.
        kind: "texture" or "surface".
        dim: "1d", "1d_buffer", "1d_array", "2d", "2d_array", "3d", "cube" or "cube_array".
        dtype: element type by name.
        size: (width[, height[, depth or layers]]), x fastest.
        init: first contents in natural order, width * height * depth * channels elements.
        options: the rest (channels, filter, address, normalized, read, layout, ...), keys of
            `IMAGE_OPTIONS`.
        bind: name of the module's texture or surface reference it is bound to, or "".
    """

    name: str
    kind: str
    dim: str
    dtype: str
    size: tuple[int, ...]
    init: Init = field(default_factory=Init)
    options: Mapping[str, Any] = field(default_factory=dict)
    bind: str = ""

    @property
    def count(self) -> int:
        """Number of elements, all channels."""
        return int(np.prod(self.size, dtype=object)) * int(self.options.get("channels", 1))


IMAGE_KINDS = ("texture", "surface")
IMAGE_DIMS = ("1d", "1d_buffer", "1d_array", "2d", "2d_array", "3d", "cube", "cube_array")
COMPARE = ("never", "less", "equal", "lequal", "greater", "notequal", "gequal", "always")
"""Depth compare functions of a sampler, by number."""
IMAGE_OPTIONS: dict[str, type | tuple[str, ...]] = {
    "channels": int,
    "filter": ("point", "linear"),
    "address": ("clamp", "wrap", "mirror", "border"),
    "normalized": bool,
    "read": ("element", "normalized_float"),
    "border": float,
    "layout": ("pitch", "block_linear"),
    "block_height": int,
    "block_depth": int,
    "format": str,
    "texel_type": str,
    "srgb": bool,
    "compare": COMPARE,
    "mip_filter": ("none", "point", "linear"),
}
"""Image option -> its type, or the words it can be."""


@dataclass(frozen=True, slots=True)
class SymbolSpec:
    """A module-scope variable set before the launch."""

    name: str
    dtype: str
    count: int
    init: Init


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """A buffer to show when the kernel is done: its elements from `start` to `stop`.

    Attributes:
        buffer: the buffer's name.
        start: first element.
        stop: element after the last, or None for all.
        format: a print format letter (x d u f t ...), or "".
    """

    buffer: str
    start: int = 0
    stop: int | None = None
    format: str = ""


@dataclass(frozen=True, slots=True)
class SmSpec:
    """The machine to run on; None means the default of `gpudbg.Device`.

    Attributes:
        arch: "sm_50", ...; the program's own when None.
        num_sms: number of SMs.
        seed: schedule seed.
        heap_bytes: device malloc heap.
        stack_bytes: local stack of a thread.
    """

    arch: str | None = None
    num_sms: int | None = None
    seed: int | None = None
    heap_bytes: int | None = None
    stack_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class RawSpec:
    """What a file of raw instruction words does not say itself.

    Attributes:
        num_regs: registers of a thread; None = as many as the block leaves room for.
        num_barriers: CTA barriers.
        params: sizes of the parameters in bytes, in order.
        shared_bytes: static shared memory.
        local_bytes: local memory of a thread.
    """

    num_regs: int | None = None
    num_barriers: int = 16
    params: tuple[int, ...] | None = None
    shared_bytes: int = 0
    local_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch table.

    Attributes:
        kernel: the entry's name; None = the program's only kernel.
        grid: CTAs along x, y, z.
        block: threads of a CTA along x, y, z.
        cluster: CTAs of a cluster along x, y, z; None = as the kernel was compiled.
        shared_bytes: dynamic shared memory.
        args: arguments in the order of the parameters.
        buffers: buffers by name.
        images: textures and surfaces by name.
        symbols: module-scope variables to set, by name.
        sm: the machine.
        outputs: what to show at the end.
        raw: for files of raw words.
        trap: the trap handler.
        special: what special registers show beyond the launch.
        source: where it came from, for messages ("saxpy.toml", "command line").
    """

    kernel: str | None = None
    grid: Dim3 = (1, 1, 1)
    block: Dim3 = (32, 1, 1)
    cluster: Dim3 | None = None
    shared_bytes: int = 0
    args: tuple[Arg, ...] = ()
    buffers: Mapping[str, BufferSpec] = field(default_factory=dict)
    images: Mapping[str, ImageSpec] = field(default_factory=dict)
    symbols: Mapping[str, SymbolSpec] = field(default_factory=dict)
    sm: SmSpec = field(default_factory=SmSpec)
    outputs: tuple[OutputSpec, ...] = ()
    raw: RawSpec = field(default_factory=RawSpec)
    trap: TrapSpec = field(default_factory=TrapSpec)
    special: SpecialSetup = field(default_factory=SpecialSetup)
    source: str = "launch"

    @property
    def buffer_bytes(self) -> int:
        """What its buffers take together."""
        return sum(b.count * dtype_of(b.dtype).itemsize for b in self.buffers.values())

    def replaced(self, **given: Any) -> Launch:
        """A copy with the fields that are not None replaced; mappings are merged."""
        changes: dict[str, Any] = {}
        for key, value in given.items():
            if value is None:
                continue
            old = getattr(self, key)
            merge = isinstance(value, Mapping) and isinstance(old, Mapping)
            changes[key] = MappingProxyType({**old, **value}) if merge else value
        return dataclasses.replace(self, **changes)


@dataclass(frozen=True, slots=True)
class BoundArg:
    """One argument and the parameter it fills."""

    param: Param
    arg: Arg


def dim3(value: object, what: str) -> Dim3:
    """Grid, block or cluster dimensions from an int or up to three ints.

    Args:
        value: the int, or a sequence of ints.
        what: "grid", "block" or "cluster", for the message.

    Raises:
        UsageError: something else, or a dimension below 1.
    """
    numbers = [value] if isinstance(value, int | np.integer) else value
    if isinstance(numbers, str | bytes) or not isinstance(numbers, Sequence | np.ndarray):
        raise UsageError(f"{what} must be an integer or up to three, not {value!r}")
    ints = [int(n) for n in numbers if isinstance(n, int | np.integer) and not isinstance(n, bool)]
    if len(ints) != len(numbers) or not 1 <= len(ints) <= 3:
        raise UsageError(f"{what} must be an integer or up to three, not {value!r}")
    if min(ints) < 1:
        raise UsageError(f"{what} dimensions must be at least 1, not {tuple(ints)}")
    x, y, z = (*ints, 1, 1)[:3]
    return (x, y, z)


def pick_kernel(program: Program, name: str | None) -> Kernel:
    """The kernel to launch.

    Args:
        program: the program.
        name: its name; None picks the only one.

    Raises:
        UsageError: no such kernel, or None where there are several.
    """
    names = [*program.kernels, *program.elsewhere]
    if name is None and len(names) == 1:
        return program.kernels[names[0]]
    if name is None:
        raise UsageError(f"{program.path} has {len(names)} kernels; name one of: {_list(names)}")
    if name not in program.kernels:
        plain = {plain_name(n): n for n in names} | {n: n for n in names}
        near = difflib.get_close_matches(name, plain, n=1)
        meant = f"did you mean '{near[0]}'?" if near else None
        raise UsageError(f"{program.path} has no kernel '{name}'; it has: {_list(names)}", meant)
    return program.kernels[name]


def _list(names: Sequence[str], limit: int = 8) -> str:
    """Names for a message, cut when there are many."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def _check_axes(where: str, what: str, given: Dim3, limits: Dim3) -> None:
    for axis, number, limit in zip("xyz", given, limits, strict=True):
        if not 1 <= number <= limit:
            raise UsageError(f"{where}: {what}.{axis} is {number}, must be 1 to {limit}")


def check_block(where: str, block: Dim3) -> int:
    """Threads of a block.

    Args:
        where: what asks for it, which a message begins with.

    Raises:
        UsageError: no architecture has blocks of that size.
    """
    _check_axes(where, "block", block, MAX_BLOCK)
    threads = block[0] * block[1] * block[2]
    if threads > MAX_THREADS:
        raise UsageError(f"{where}: a block of {threads} threads; at most {MAX_THREADS}")
    return threads


def check_geometry(
    kernel: Kernel, grid: Dim3, block: Dim3, shared_bytes: int, most_shared: int = MAX_SHARED
) -> None:
    """Check a launch's sizes against the architecture's limits and the kernel's own.

    Args:
        most_shared: bytes of shared memory that a block of the architecture can have.

    Raises:
        UsageError: naming the size, what it is and what is possible.
    """
    where = f"kernel {kernel.name}"
    _check_axes(where, "grid", grid, MAX_GRID)
    threads = check_block(where, block)
    if kernel.required_threads and tuple(kernel.required_threads) != block:
        raise UsageError(f"{where} requires a block of {kernel.required_threads}, not {block}")
    if kernel.max_threads:
        limit = int(np.prod(kernel.max_threads, dtype=object))
        if threads > limit > 0:
            raise UsageError(f"{where} was compiled for at most {limit} threads, not {threads}")
    if shared_bytes < 0:
        raise UsageError(f"{where}: shared_bytes is {shared_bytes}")
    if kernel.shared_static_bytes + shared_bytes > most_shared:
        raise UsageError(
            f"{where}: {kernel.shared_static_bytes} static and {shared_bytes} dynamic bytes of "
            f"shared memory; a block has at most {most_shared}"
        )


def bind(
    kernel: Kernel, args: Sequence[Arg], names: Sequence[str] = (), declared: str = ""
) -> tuple[BoundArg, ...]:
    """Match arguments with a kernel's parameters.

    Args:
        kernel: the kernel.
        args: the arguments in order.
        names: of the parameters, for messages.
        declared: the parameters as a source declares them, for messages.

    Raises:
        UsageError: the number of arguments or the size of one differs.
    """
    takes = _describe(kernel, declared)
    if len(args) != len(kernel.params):
        given = f"{len(args)} arguments are" if len(args) > 1 else "1 argument is"
        given = given if args else "no argument is"
        hint = "`gpudbg info PROGRAM --launch` prints a launch table to start from"
        raise UsageError(f"{takes}; {given} given", hint)
    bound = []
    for number, (param, arg) in enumerate(zip(kernel.params, args, strict=True)):
        size = param.size if arg.size is None else arg.size
        if size != param.size or (arg.size is None and size not in _plain_sizes(arg)):
            raise UsageError(
                f"{takes}; argument {number}{_named(names, number)} {_label(arg)} has "
                f"{arg.size or 'no fixed'} bytes, expected {param.size}",
                _bytes_hint(arg, param.size),
            )
        bound.append(BoundArg(param, arg))
    return tuple(bound)


class MissingArguments(UsageError):  # noqa: N818 - what is missing is no mistake yet
    """Arguments that nothing gives."""


def missing_arguments(names: Sequence[str]) -> MissingArguments:
    """The complaint about arguments that nothing gives."""
    are = "argument is" if len(names) == 1 else "arguments are"
    return MissingArguments(
        f"{len(names)} {are} not given: {_list(names)}",
        "--arg NAME=VALUE gives one; `gpudbg info PROGRAM --launch` prints a launch table",
    )


def _bytes_hint(arg: Arg, size: int) -> str:
    """What to pass for a structure where an address was given."""
    by_value = isinstance(arg, BufferArg | ObjectArg) and size > POINTER_BYTES
    return f"the parameter is no pointer: pass its {size} bytes" if by_value else ""


def _describe(kernel: Kernel, declared: str = "") -> str:
    """`kernel saxpy takes 4 parameters (4, 4, 8, 8 bytes)`, or with what a source declares."""
    count = len(kernel.params)
    if count == 0:
        return f"kernel {kernel.name} takes no parameters"
    sizes = ", ".join(str(p.size) for p in kernel.params)
    words = declared or f"{sizes} bytes"
    return f"kernel {kernel.name} takes {count} parameter{'s'[: count > 1]} ({words})"


def _named(names: Sequence[str], number: int) -> str:
    """`, x`: a parameter's name, where the source tells one."""
    name = names[number] if number < len(names) else ""
    return f", {name}" if name and name != f"arg{number}" else ""


def _label(arg: Arg) -> str:
    """An argument as a message names it."""
    match arg:
        case ScalarArg():
            return f"'{arg.dtype}'"
        case BufferArg():
            return f"(address of buffer '{arg.buffer}')"
        case ImageArg():
            return f"(handle of '{arg.image}')"
        case TensorArg():
            return f"(tensor map of buffer '{arg.buffer}')"
        case _:
            return "(device address or handle)"


def _plain_sizes(arg: Arg) -> tuple[int, ...]:
    """Widths that an untyped scalar can take."""
    return (2, 4, 8) if isinstance(arg, ScalarArg) and arg.dtype == "float" else (1, 2, 4, 8)


def param_block(
    kernel: Kernel, bound: Sequence[BoundArg], addresses: Mapping[str, int] | None = None
) -> bytes:
    """The bytes of the parameter area of constant bank 0.

    Args:
        kernel: the kernel.
        bound: what `bind` returned.
        addresses: device addresses of buffers and handles of images, by name.

    Returns:
        `kernel.param_bytes` bytes, to be put at `kernel.param_base`.

    Raises:
        UsageError: a value that does not fit, or a name without an address.
    """
    block = bytearray(kernel.param_bytes)
    for item in bound:
        start, end = item.param.offset, item.param.offset + item.param.size
        block[start:end] = encode(item.arg, item.param.size, addresses or {})
    return bytes(block)


def encode(arg: Arg, size: int, addresses: Mapping[str, int]) -> bytes:
    """One argument's bytes.

    Raises:
        UsageError: a value that does not fit, or a name without an address.
    """
    match arg:
        case ScalarArg():
            return arg.encode(size)
        case ObjectArg():
            return _encode_int(arg.value, POINTER_BYTES, "u64")
        case BufferArg(buffer=name, offset=offset):
            pass
        case ImageArg(image=name):
            offset = 0
        case TensorArg(buffer=name):
            raise UsageError(f"the tensor map of '{name}' is made on a device")
    if name not in addresses:
        raise UsageError(f"there is no buffer, texture or surface named '{name}'")
    return _encode_int(addresses[name] + offset, POINTER_BYTES, "u64")


def python_launch(
    kernel: str | None,
    grid: object,
    block: object,
    args: Sequence[object] = (),
    shared_bytes: int = 0,
    cluster: object = None,
    places: Sequence[object] = (),
) -> Launch:
    """A launch table from Python keyword arguments.

    Args:
        kernel: entry name, or None for the only one.
        grid: int or up to three.
        block: int or up to three.
        args: NumPy scalars (by their dtype), Python bool, int or float (by the parameter's
            width), bytes (a by-value struct), NumPy arrays (a buffer "argN" each, N from 0),
            or objects with `.handle` or `.address` (device buffers, textures, surfaces).
        shared_bytes: dynamic shared memory.
        cluster: int or up to three; None for what the kernel was compiled for.
        places: how messages call each argument; "argument 0" and so on by default.

    Raises:
        UsageError: an argument of another kind.
    """
    buffers: dict[str, BufferSpec] = {}
    made: list[Arg] = []
    for index, value in enumerate(args):
        if isinstance(value, np.ndarray) and value.ndim > 0:
            spec = _array_buffer(f"arg{index}", value)
            buffers[spec.name] = spec
            made.append(BufferArg(spec.name))
        else:
            made.append(python_arg(value, places[index] if places else f"argument {index}"))
    if isinstance(shared_bytes, bool) or not isinstance(shared_bytes, int | np.integer):
        raise UsageError(f"shared_bytes must be an integer, not {shared_bytes!r}")
    return Launch(
        kernel=kernel,
        grid=dim3(grid, "grid"),
        block=dim3(block, "block"),
        cluster=None if cluster is None else dim3(cluster, "cluster"),
        shared_bytes=int(shared_bytes),
        args=tuple(made),
        buffers=MappingProxyType(buffers),
        source="Python",
    )


def _array_buffer(name: str, array: Array) -> BufferSpec:
    """A buffer with an array's type, shape and contents; other types travel as bytes.

    The contents are a copy unless they are very large.
    """
    dtype = dtype_name(array.dtype)
    if array.dtype.hasobject:
        raise UsageError(f"{name}: an array of Python objects cannot go to the device")
    contents = np.ascontiguousarray(array)
    if dtype is None:
        contents = contents.reshape(-1).view(np.uint8)
        init = Init("array", array=contents)
        return BufferSpec(name, "u8", contents.shape, init, array.dtype)
    contents = contents.astype(
        contents.dtype.newbyteorder("<"), copy=contents.nbytes < BY_REFERENCE
    )
    return BufferSpec(name, dtype, array.shape, Init("array", array=contents))


def python_arg(value: object, place: object) -> Arg:
    """One argument that is no array (`python_launch`).

    Raises:
        UsageError: of a kind that cannot be passed.
    """
    match value:
        case ScalarArg() | BufferArg() | ImageArg() | TensorArg() | ObjectArg():
            return value
        case bytes() | bytearray() | memoryview():
            return ScalarArg("bytes", bytes(value))
        # Before float: np.float64 is a subclass of it, yet has a width of its own.
        case np.bool_():
            return ScalarArg("int", int(value))
        case np.generic() | np.ndarray():
            name = dtype_name(value.dtype)
            if name is None:
                return ScalarArg("bytes", value.tobytes())
            return ScalarArg(name, value.item())
        case bool() | int():
            return ScalarArg("int", int(value))
        case float():
            return ScalarArg("float", value)
    for attribute in ("handle", "address"):
        number = getattr(value, attribute, None)
        if isinstance(number, int | np.integer):
            return ObjectArg(int(number), value)
    raise UsageError(
        f"{place} is a {type(value).__name__}",
        "pass a number, a NumPy array, bytes, a device buffer or a handle",
    )
