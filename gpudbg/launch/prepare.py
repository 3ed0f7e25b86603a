"""From a launch table to a launch: its buffers, images and parameter bytes on the device."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpudbg.dataclass import dataclass
from gpudbg.device.device import DeviceBuffer, EmulatedDevice
from gpudbg.errors import UsageError
from gpudbg.formats.initdata import dtype_of, make_array
from gpudbg.formats.launch import (
    BoundArg,
    BufferArg,
    Dim3,
    ImageArg,
    Launch,
    ObjectArg,
    ScalarArg,
    TensorArg,
    bind,
    check_geometry,
    param_block,
    pick_kernel,
)
from gpudbg.formats.program import CodeImage, Kernel, Program
from gpudbg.launch.beginnings import Beginnings
from gpudbg.launch.fitting import fitted
from gpudbg.sm.launch import limits_of
from gpudbg.toolchain.options import looks_like_ptx
from gpudbg.toolchain.signatures import known, names_of, signature

IM2COL = ("channels", "pixels", "lower", "upper")
_argument_of = attrgetter("arg")
_COMMA = re.compile(r"\s*,\s*")
SMALL_BYTES = 1 << 24
"""Argument buffers up to here are kept for a restart when a launch begins, larger ones when it is
about to write to them."""

if TYPE_CHECKING:
    from gpudbg.device.images import DeviceImage
    from gpudbg.device.module import LoadedModule
    from gpudbg.device.subscription import Subscription
    from gpudbg.sm.gpu import Grid
    from gpudbg.sm.repeated import RepeatedLaunch


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument as it was launched.

    Attributes:
        name: of the buffer where it was given one, else the parameter's in the source, else
            "argN".
        value: the scalar, or the object's address or handle.
        buffer: the device buffer, or None.
        output: the launch table asks for it to be shown at the end.
    """

    name: str
    value: Any
    buffer: DeviceBuffer | None = None
    output: bool = False


class Sizes(NamedTuple):
    """Sizes of a launch: CTAs, threads of one, dynamic shared memory, CTAs of a cluster."""

    grid: Dim3
    block: Dim3
    shared_bytes: int = 0
    cluster: Dim3 | None = None


class Details(NamedTuple):
    """What only views of a launch ask for.

    Attributes:
        table: the launch table.
        arguments: as given.
        bound: the same, made to fit the parameters.
    """

    table: Launch
    arguments: tuple[Argument, ...]
    bound: tuple[BoundArg, ...] = ()


class ProgramLaunch:
    """A launch that can begin more than once (`gpudbg.debug.session.Launch`).

    Attributes:
        loaded: the program on its device.
        kernel: what is launched.
        sizes: of the launch.
        params: the parameter bytes.
        subscriptions: observers that listen until the session ends.
        beginnings: its grids, and what they begin from.
    """

    ready = True

    def __init__(
        self,
        loaded: LoadedModule,
        kernel: Kernel,
        sizes: Sizes,
        params: bytes,
        details: Callable[[], Details],
        buffers: Sequence[DeviceBuffer] = (),
        made: Made | None = None,
    ) -> None:
        """Args:
        details: gives what only views of the launch ask for.
        buffers: those that are arguments.
        made: what was made for it on the device.
        """
        self.loaded = loaded
        self.kernel = kernel
        self.sizes = sizes
        self.params = params
        self.subscriptions: set[Subscription] = set()
        self._details, self._buffers = details, buffers
        self._made = Made() if made is None else made
        self.beginnings = Beginnings(loaded.device.gpu, retire=self._retire)
        self._repeats: RepeatedLaunch | None = None
        self._ready: Grid | None = None

    @cached_property
    def details(self) -> Details:
        """Table and arguments as they were given."""
        return self._details()

    @property
    def table(self) -> Launch:
        """The launch table."""
        return self.details.table

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """Arguments as launched; those without a name get their parameter's, by the source."""
        names = names_of(self.program, self.kernel)
        return tuple(
            replace(a, name=names[n]) if a.name == f"arg{n}" else a
            for n, a in enumerate(self.details.arguments)
        )

    @property
    def program(self) -> Program:
        """The program's file content."""
        return self.loaded.program

    @property
    def image(self) -> CodeImage:
        """The program at its addresses."""
        return self.loaded.module.image

    @property
    def next_address(self) -> int:
        """Where what the launch makes for itself in device memory begins."""
        return self.beginnings.next_address

    def begin(self) -> Grid:
        """A new grid; the first call launches, later ones restore device memory first."""
        ready, self._ready = self._ready, None
        return ready or self.beginnings.begin(self._begun, self._copy_small)

    def begin_before_session(self) -> Grid:
        """A new grid, which `begin` gives once more to a session that is made for it later."""
        self._ready = self.begin()
        return self._ready

    def begin_once(self) -> Grid:
        """As `begin_before_session`, where such a session would begin the launch no more."""
        self._ready = self.beginnings.begin_once(self._begun)
        return self._ready

    @property
    def repeats(self) -> RepeatedLaunch | None:
        """How its grid can begin again; None where it cannot."""
        return self._repeats

    def begin_again(self, now: Grid) -> Grid:
        """The grid as `begin` gave it last, beside the one there is: `Beginnings.begin_again`."""
        return self.beginnings.begin_again(now, self._launched)

    def _copy_small(self) -> None:
        """What is small is copied sooner than compiled code could ask for it."""
        for buffer in self._buffers:
            allocation = buffer.allocation
            if allocation.size <= SMALL_BYTES:
                allocation.writable()

    def _begun(self) -> Grid:
        """A grid, by one that an earlier launch of this kind has left where there is one."""
        grid, self._repeats = self.loaded.device.repeated.launch(
            self.loaded.module,
            self.kernel.name,
            self.sizes.grid,
            self.sizes.block,
            self.params,
            self.sizes.shared_bytes,
            self.sizes.cluster,
        )
        return grid

    def _retire(self, grid: Grid) -> None:
        """Keep the grid for later launches of this kind, where nobody can tell it from a new one;
        else take it apart."""
        repeats, self._repeats = self._repeats, None
        loaded = self.loaded
        if not loaded.device.repeated.keep(loaded.module, repeats, self.sizes.cluster):
            grid.dispose()

    def _launched(self) -> Grid:
        grid, block, shared_bytes, cluster = self.sizes
        return self.loaded.module.launch(
            self.kernel.name, grid, block, self.params, shared_bytes, cluster
        )

    def keep(self, buffers: Iterable[DeviceBuffer]) -> None:
        """Have buffers that were made for the launch freed with it."""
        for buffer in buffers:
            self._made.add(buffer)

    def release(self) -> None:
        """Give back what the launch made and keeps on its device; no session runs it any more."""
        for subscription in list(self.subscriptions):
            subscription.cancel()
        self.beginnings.end()
        self._made.free()


class Made:
    """Buffers and images that were made for a launch."""

    def __init__(self) -> None:
        self._objects: list[DeviceBuffer] = []

    def add(self, made: DeviceBuffer) -> None:
        """One more."""
        self._objects.append(made)

    def free(self) -> None:
        """Free those that nobody has freed."""
        for made in self._objects:
            if not made.freed:
                made.free()
        self._objects.clear()


class IdleLaunch:
    """Stands for a launch while there is none (`gpudbg.debug.session.Launch`).

    Attributes:
        loaded: the program on its device.
        kernel: the one that is looked at.
        arguments: none.
        subscriptions: observers that listen until the session ends.
    """

    ready = False

    def __init__(self, loaded: LoadedModule, kernel: Kernel) -> None:
        self.subscriptions: set[Subscription] = set()
        self._grid: Grid | None = None
        self.loaded = loaded
        self.kernel = kernel
        self.arguments: tuple[Argument, ...] = ()

    @property
    def program(self) -> Program:
        """The program's file content."""
        return self.loaded.program

    @property
    def image(self) -> CodeImage:
        """The program at its addresses."""
        return self.loaded.module.image

    def begin(self) -> Grid:
        """A grid without a block: what commands ask of a machine at rest."""
        if self._grid is None:
            grid = self.kernel.cluster or (1, 1, 1)
            self._grid = self.loaded.module.launch(self.kernel.name, grid, (1, 1, 1), b"")
            self._grid.abandon()
            # Nothing was launched: the first launch has the first number.
            self._grid.gpu.launches -= 1
        return self._grid

    def begin_again(self, now: Grid) -> Grid:
        """The grid without a block."""
        return now

    def release(self) -> None:
        """Nothing was made on the device; observers listen no longer."""
        for subscription in list(self.subscriptions):
            subscription.cancel()
        if self._grid is not None:
            self._grid.dispose()
            self._grid = None


def prepare(loaded: LoadedModule, table: Launch) -> ProgramLaunch:
    """Check a launch table against the program and make what it needs on the device."""
    kernel = pick_kernel(loaded.program, kernel_name(loaded.program, table.kernel))
    most_shared = limits_of(loaded.program.arch).cta_shared
    check_geometry(kernel, table.grid, table.block, table.shared_bytes, most_shared)
    if table.args and not kernel.params and _is_sass(loaded.program):
        raise UsageError(
            f"kernel {kernel.name} declares no parameters",
            "in SASS text, `.param NAME SIZE` lines after `.kernel` do",
        )
    declared = known(loaded.program, kernel)
    args = fitted(kernel, declared, table)
    try:
        bound = bind(kernel, args)
    except UsageError:
        # Once more with what the parameters are called, which takes time.
        bind(kernel, args, [parameter.name for parameter in declared], signature(declared))
        raise
    made = Made()
    try:
        return _prepared(loaded, table, kernel, bound, made)
    except BaseException:
        made.free()
        raise


def _prepared(
    loaded: LoadedModule, table: Launch, kernel: Kernel, bound: tuple[BoundArg, ...], made: Made
) -> ProgramLaunch:
    """`prepare`, with what it makes in `made`."""
    buffers = _make_buffers(loaded.device, table, made)
    addresses = {name: buffer.address for name, buffer in buffers.items()}
    images = _make_images(loaded, table, made)
    handles = {name: image.handle for name, image in images.items()}
    encoded = bound
    if TensorArg in map(type, map(_argument_of, bound)):
        encoded = _with_maps(loaded.device, bound, buffers)
    params = param_block(kernel, encoded, addresses | handles)
    for name, symbol in table.symbols.items():
        content = make_array(symbol.dtype, symbol.count, symbol.init, addresses, name)
        loaded.write_symbol(name, content)
    marked = {output.buffer for output in table.outputs}
    objects = buffers | images
    arguments = tuple(_argument(n, item, objects, marked) for n, item in enumerate(bound))
    sizes = Sizes(table.grid, table.block, table.shared_bytes, table.cluster)
    details = Details(table, arguments, bound)
    held = [a.buffer for a in arguments if a.buffer is not None]
    return ProgramLaunch(loaded, kernel, sizes, params, lambda: details, held, made)


class ArgumentPlace(tuple[Program, str | None, int, int]):
    """How messages call an argument of a launch: `kernel axpy: argument 2, float *x,`.

    Program, name of the kernel, the argument's number, how many there are: a tuple because a launch
    makes one for each argument.  The words wait until a message needs them: asking sources for
    types takes time.
    """

    __slots__ = ()

    def __str__(self) -> str:
        program, name, number, count = self
        plain = f"argument {number}"
        try:
            kernel = pick_kernel(program, kernel_name(program, name))
            declared = known(program, kernel)
        except UsageError:
            return plain
        if len(declared) != count:
            return f"kernel {kernel.name}: {plain}"
        return f"kernel {kernel.name}: {plain}, {declared[number].declaration},"


def _is_sass(program: Program) -> bool:
    """Whether a program was assembled from text, which alone says what parameters it has."""
    return bool(program.marks) and not any(map(looks_like_ptx, program.sources.values()))


def kernel_name(program: Program, name: str | None) -> str | None:
    """A kernel's name in the program for how a person writes it.

    `scale` is `_Z5scalePf`, and `_Z5scaleILi4EEvPf` where that is the only instance; `k<float,4>`
    is `k<float, 4>`.
    """
    from gpudbg.formats.names import written_as

    if name is None or name in program.kernels:
        return name
    spaced = _COMMA.sub(", ", name)
    found = [k for k in program.kernels if written_as(k, name) or written_as(k, spaced)]
    return found[0] if len(found) == 1 else name


def _make_buffers(device: EmulatedDevice, table: Launch, held: Made) -> dict[str, DeviceBuffer]:
    """The table's buffers; those whose contents point at others come last."""
    made: dict[str, DeviceBuffer] = {}
    order = sorted(table.buffers.values(), key=lambda spec: spec.init.rule == "pointers")
    for spec in order:
        empty = np.zeros(spec.shape, dtype_of(spec.dtype))
        made[spec.name] = device.buffer(empty, spec.name)
        held.add(made[spec.name])
    addresses = {name: buffer.address for name, buffer in made.items()}
    for spec in order:
        content = make_array(spec.dtype, spec.count, spec.init, addresses, spec.name)
        made[spec.name].write(content.reshape(spec.shape))
        if not spec.init.given:
            device.gpu.memory.leave_uninitialized(made[spec.name].allocation)
    return made


def _make_images(loaded: LoadedModule, table: Launch, held: Made) -> dict[str, DeviceImage]:
    """The table's textures and surfaces, bound where they say so."""
    made: dict[str, DeviceImage] = {}
    for spec in table.images.values():
        options = dict(spec.options)
        channels = int(options.pop("channels", 1))
        if "texel_type" in options:
            # `type` is the array's in a launch table.
            options["type"] = options.pop("texel_type")
        shape = (*reversed(spec.size), *((channels,) if channels > 1 else ()))
        content = make_array(spec.dtype, spec.count, spec.init, None, spec.name).reshape(shape)
        make = loaded.device.texture if spec.kind == "texture" else loaded.device.surface
        made[spec.name] = make(content, spec.dim, name=spec.name, **options)
        held.add(made[spec.name])
        if spec.bind:
            loaded.bind(spec.bind, made[spec.name])
    return made


def _with_maps(
    device: EmulatedDevice, bound: tuple[BoundArg, ...], buffers: Mapping[str, DeviceBuffer]
) -> tuple[BoundArg, ...]:
    """Bound arguments with tensor maps as their bytes."""
    return tuple(
        replace(item, arg=_mapped(device, n, item.arg, buffers))
        if isinstance(item.arg, TensorArg)
        else item
        for n, item in enumerate(bound)
    )


def _mapped(
    device: EmulatedDevice, number: int, arg: TensorArg, buffers: Mapping[str, DeviceBuffer]
) -> ScalarArg:
    """A tensor map as its bytes."""
    options = dict(arg.options)
    im2col = {key: options.pop(key) for key in IM2COL if key in options}
    try:
        made = device.tensor_map(
            buffers[arg.buffer],
            options.pop("box", None),
            dtype=options.pop("type", None),
            im2col=im2col or None,
            **options,
        )
    except UsageError as error:
        place = f"argument {number}, the tensor map of {arg.buffer}"
        raise UsageError(f"{place}: {error.message}", error.hint) from error
    return ScalarArg("bytes", bytes(made))


def buffer_words(name: str, number: int) -> str:
    """How messages call a buffer that is an argument: by the name that it was given, too."""
    given = name.partition(" (argument ")[0]
    kind, _, own = given.partition(" ")
    if kind != "buffer" or own.isdigit():
        return f"argument {number}"
    return f"{given} (argument {number})"


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
        case TensorArg(buffer=name):
            buffer = buffers[name]
            buffer.allocation.name = f"tensor {name} (argument {number})"
            return Argument(name, buffer.address, buffer, name in marked)
        case ImageArg(image=name):
            image = buffers[name]
            return Argument(name, getattr(image, "handle", 0), image, name in marked)
        case ScalarArg(value=value):
            return Argument(plain, value)
        case ObjectArg(value=value, source=source):
            if getattr(source, "handle", None) == value:
                return Argument(getattr(source, "name", plain), value, source)
            if isinstance(source, DeviceBuffer):
                source.allocation.name = buffer_words(source.allocation.name, number)
                return Argument(plain, value, source)
            return Argument(plain, value)
    return Argument(plain, None)
