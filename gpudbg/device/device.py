"""An emulated GPU and what lies in its memory: buffers, textures, surfaces."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from gpudbg.device.hostdata import converted, host_array
from gpudbg.device.views import BufferSlice, DeviceView, make_view
from gpudbg.errors import UsageError
from gpudbg.mem.device import Allocation
from gpudbg.options import DEFAULT_JOBS, ENGINES, ON_FAULT
from gpudbg.public import public_names
from gpudbg.sm.gpu import DEFAULT_HEAP_BYTES, DEFAULT_SMS, Allocate, Gpu
from gpudbg.validation import maybe_whole, whole

if TYPE_CHECKING:
    from gpudbg.device.images import DeviceImage
    from gpudbg.device.module import LoadedModule
    from gpudbg.device.tensor_map import DeviceTensorMap
    from gpudbg.formats.program import Program
    from gpudbg.sm.repeated import RepeatedLaunches

Array = npt.NDArray[Any]


class Closable(Protocol):
    """What ends with the device that it uses."""

    def close(self) -> None:
        """End it."""


class EmulatedDevice:
    """A GPU and what lies in its memory; `gpudbg.Device` is one that programs are loaded on.

    Attributes:
        gpu: the machine below.
        images: textures and surfaces that have not been freed.
        sessions: what is closed with the device.
        closed: after `close`.
    """

    def __init__(
        self,
        arch: str = "sm_50",
        num_sms: int | None = None,
        seed: int | None = None,
        *,
        engine: str = "auto",
        jobs: int = DEFAULT_JOBS,
        heap_bytes: int | None = None,
        stack_bytes: int | None = None,
        on_fault: str = "stop",
    ) -> None:
        """Make a device.

        Args:
            arch: "sm_50" .. "sm_62".
            num_sms: streaming multiprocessors.
            seed: of the schedule; 0 is round-robin.
            engine: "step" for the step engine alone, "run" to compile at once, "auto" to
                compile what turns out to run long.
            jobs: host threads for compiled code; with more than one, the order of instructions
                of different blocks is not the same from run to run.
            heap_bytes: device heap.
            stack_bytes: local stack of a thread; None is what the kernel is known to need.
            on_fault: "stop", or "continue": an access that must not happen is dropped and noted
                (`stop.dropped`).

        Raises:
            UsageError: a value outside its range.
        """
        if engine not in ENGINES:
            raise UsageError(f"unknown engine {engine!r}", f"one of {', '.join(ENGINES)}")
        if on_fault not in ON_FAULT.choices:
            raise UsageError(f"on_fault {on_fault!r}", f"one of {', '.join(ON_FAULT.choices)}")
        whole(jobs, "jobs")
        sizes = {
            "num_sms": num_sms,
            "seed": seed,
            "heap_bytes": heap_bytes,
            "stack_bytes": stack_bytes,
        }
        for name, value in sizes.items():
            maybe_whole(value, name)
        self.closed = False
        self.images: list[DeviceImage] = []
        self.sessions: weakref.WeakSet[Closable] = weakref.WeakSet()
        self.gpu = Gpu(
            arch,
            DEFAULT_SMS if num_sms is None else num_sms,
            seed or 0,
            heap_bytes=DEFAULT_HEAP_BYTES if heap_bytes is None else heap_bytes,
            stack_bytes=stack_bytes,
            engine=engine,
            jobs=jobs,
        )
        self.gpu.fixed_sms = num_sms is not None
        self.gpu.on_fault.goes_on = on_fault == "continue"

    _INTERNAL = frozenset(("buffer_of_bytes", "repeated"))

    @cached_property
    def repeated(self) -> RepeatedLaunches:
        """What launches that have ended leave for others of their kind."""
        # Who only looks at a program need not wait for the machine to be imported.
        from gpudbg.sm.repeated import RepeatedLaunches

        return RepeatedLaunches()

    @property
    def arch(self) -> str:
        """Architecture."""
        return self.gpu.arch

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the device: its sessions are closed, its memory is freed, it takes nothing more.

        Raises:
            UsageError: a kernel is running on it.

        >>> with gpudbg.Device() as small:
        ...     numbers = small.buffer(np.arange(4))
        >>> small.closed, numbers.freed
        (True, True)
        """
        if self.closed:
            return
        for session in list(self.sessions):
            session.close()
        self.closed = True
        self.images.clear()
        for allocation in list(self.gpu.memory.allocations()):
            self.gpu.memory.free(allocation)

    def require_open(self) -> None:
        """UsageError after `close`."""
        if self.closed:
            raise UsageError("the device is closed", "make another one with gpudbg.Device()")

    def adopt(self, program: Program, allocate: Allocate | None = None) -> LoadedModule:
        """Place a program that has been read already.

        Args:
            allocate: makes the memory of its variables; None: device memory.
        """
        from gpudbg.device.module import LoadedModule

        self.require_open()
        return LoadedModule(self, self.gpu.load(program, allocate))

    def buffer(self, array: npt.ArrayLike, name: str | None = None) -> DeviceBuffer:
        """Device memory with a copy of an array in it, until it is freed or the device closed.

        Args:
            array: NumPy's or a list; what speaks DLPack or `__array__`.
            name: for listings and messages.

        Raises:
            UsageError: not numbers, in a real GPU's memory, or the device is closed.
        """
        self.require_open()
        host = host_array(array, "the array")
        if host.dtype.hasobject:
            raise UsageError(f"an array of {host.dtype} cannot be copied to the device")
        host = host.astype(host.dtype.newbyteorder("<"), copy=False)
        made = self.buffer_of_bytes(np.ascontiguousarray(host).reshape(-1).view(np.uint8), name)
        made.dtype, made.shape = host.dtype, host.shape
        return made

    def buffer_of_bytes(
        self, content: npt.NDArray[np.uint8], name: str | None = None
    ) -> DeviceBuffer:
        """Device memory with a copy of bytes in it, which lie one after the other.

        Args:
            name: for listings and messages.

        Raises:
            UsageError: the device is closed.
        """
        self.require_open()
        memory = self.gpu.memory
        made = memory.allocate(len(content), f"buffer {name or memory.live}")
        made.writable()[:] = content
        return DeviceBuffer(self, made, content.dtype, content.shape)

    def empty(
        self, count: int | Sequence[int], dtype: npt.DTypeLike = np.float32, name: str | None = None
    ) -> DeviceBuffer:
        """Device memory that nobody has written, as cudaMalloc gives it; zeros here.

        Args:
            count: elements, or the shape.
            dtype: of an element.
            name: for listings and messages.

        Raises:
            UsageError: a size below 0, or the device is closed.

        >>> gpudbg.Device().empty((2, 3), np.int32, name="work").nbytes
        24
        """
        shape = (count,) if isinstance(count, int) else tuple(count)
        for size in shape:
            whole(size, "count", 0)
        made = self.buffer(np.zeros(shape, dtype), name)
        self.gpu.memory.leave_uninitialized(made.allocation)
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
                `gpudbg.device.images.ImageOptions`.

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
                format and type: `gpudbg.device.images.ImageOptions`.

        Raises:
            UsageError: options that do not exist, or do not fit the array.
        """
        return self._image("surface", array, dim, name, (), options)

    def tensor_map(
        self,
        tensor: DeviceBuffer | int,
        box: Sequence[int] | None = None,
        *,
        shape: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
        dtype: Any = None,
        element_strides: Sequence[int] | None = None,
        swizzle: int | str | None = None,
        interleave: int | str | None = None,
        fill: str = "zeros",
        im2col: dict[str, Any] | None = None,
    ) -> DeviceTensorMap:
        """A tensor map (`CUtensorMap`) for copies of sm_90 and later; bytes to be passed by value.

        Axes are in NumPy's order, the innermost last (CUDA's encoder has it first).

        Args:
            tensor: a buffer, or the address of the first element.
            box: elements along each axis that a copy spans, at most 256.
            shape: of the tensor; None is the buffer's.
            strides: bytes from an element to the next, for all axes or all but the last; None is a
                dense tensor.
            dtype: element type: NumPy's, or "bf16", "tf32", "f32.ftz"; None is the buffer's.
            element_strides: every so many elements of a box are taken.
            swizzle: 32, 64 or 128 bytes; None for none.
            interleave: 16 or 32 bytes; None for none.
            fill: what elements outside the tensor read as, "zeros" or "nan".
            im2col: instead of a box: channels and pixels of a column, lower and upper corners of
                the bounding box: {"channels": 8, "pixels": 4, "lower": (0, 0), "upper": (1, 1)}.

        Raises:
            UsageError: what a tensor map cannot say, by the limits of the CUDA driver API.
        """
        from gpudbg.device.tensor_map import make_tensor_map

        self.require_open()
        if isinstance(tensor, DeviceBuffer):
            if tensor.device is not self:
                raise UsageError("the tensor is in another device's memory")
            tensor.require_live()
            shape, dtype = shape or tensor.shape, dtype or tensor.dtype
            tensor = tensor.address
        if shape is None or dtype is None:
            raise UsageError("a tensor given by its address needs shape and dtype")
        return make_tensor_map(
            whole(tensor, "tensor", 0),
            box,
            shape=shape,
            strides=strides,
            dtype=dtype,
            steps=element_strides,
            swizzle=swizzle,
            interleave=interleave,
            fill=fill,
            im2col=im2col,
        )

    def _image(
        self, kind: str, array: npt.ArrayLike, dim: str | None, name: str | None,
        levels: Sequence[npt.ArrayLike], options: dict[str, Any],
    ) -> DeviceImage:  # fmt: skip
        from gpudbg.device.images import make_image

        self.require_open()
        host = host_array(array, "the array")
        levels = [host_array(level, f"level {n}") for n, level in enumerate(levels, 1)]
        made = make_image(self, kind, host, dim, name, levels, options)
        self.images.append(made)
        return made

    __dir__ = public_names

    def __repr__(self) -> str:
        closed = ", closed" if self.closed else ""
        return f"<Device {self.arch}, {self.gpu.num_sms} SMs{closed}>"


class DeviceBuffer:
    """Device memory that holds an array.

    Attributes:
        dtype, shape: of the array.

    >>> y = program.device.buffer(np.arange(4, dtype=np.float32))
    >>> y.write([1, 2, 3, 4])
    >>> y.array(), y.nbytes, y.address % 256
    (array([1., 2., 3., 4.], dtype=float32), 16, 0)
    >>> y.free()
    """

    def __init__(
        self,
        device: EmulatedDevice,
        allocation: Allocation,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
    ) -> None:
        self._keep(device)
        self.allocation = allocation
        self.dtype = dtype
        self.shape = shape

    def _keep(self, device: EmulatedDevice) -> None:
        """Have the device stay as long as this is there."""
        self._device = device

    @property
    def device(self) -> EmulatedDevice:
        """The device it is on."""
        return self._device

    @property
    def address(self) -> int:
        """Device address of the first byte."""
        return self.allocation.base

    @property
    def nbytes(self) -> int:
        """Size in bytes, as asked for."""
        return self.allocation.size

    @property
    def freed(self) -> bool:
        """Whether it was freed: by `free`, or with the session or the device that had it."""
        return self.allocation.freed

    def require_live(self) -> None:
        """UsageError if it was freed."""
        if self.freed:
            raise UsageError(
                f"{self.allocation.name} at 0x{self.address:x} was freed",
                "what a launch makes is freed with its session; a device's buffer by `free`",
            )

    def array(self) -> Array:
        """A copy of what is in it now.

        Raises:
            UsageError: it was freed.
        """
        self.require_live()
        made: Array = self.allocation.data.copy().view(self.dtype).reshape(self.shape)
        return made

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        """What is in it now, for NumPy's functions: `np.testing.assert_allclose(buffer, …)`."""
        if copy is False:
            raise ValueError("a device buffer is read by a copy")
        return self.array() if dtype is None else self.array().astype(dtype)

    def __getitem__(self, index: Any) -> Any:
        """Elements as they are now, a read-only copy; `buffer[index] = values` writes.

        A slice as a kernel's argument is that part of the buffer itself, as `view` gives it.
        """
        return BufferSlice.taken(self, self.array(), index)

    def __setitem__(self, index: Any, values: npt.ArrayLike) -> None:
        """Write elements.

        Raises:
            UsageError: no such elements, values that do not fill them, or the buffer was freed.
        """
        contents = self.array()
        try:
            contents[index] = values
        except (IndexError, TypeError, ValueError, OverflowError) as error:
            raise UsageError(
                f"[{index!r}] of a buffer of shape {list(self.shape)}: {error}"
            ) from None
        allocation = self.allocation
        if not allocation.uninitialized or allocation.marks is None:
            self.write(contents)
            return
        # What lies beside these elements stays as nobody has written it.
        chosen = np.zeros(self.shape, bool)
        chosen[index] = True
        allocation.writable()[:] = contents.reshape(-1).view(np.uint8)
        given = np.repeat(chosen.reshape(-1), self.dtype.itemsize)
        allocation.marks[: allocation.size][given] = 0xFF

    def __iter__(self) -> Iterator[Any]:
        return iter(self.array())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a buffer without axes")
        return self.shape[0]

    def view(
        self,
        shape: int | Sequence[int],
        strides: int | Sequence[int] | None = None,
        offset: int = 0,
        dtype: npt.DTypeLike | None = None,
    ) -> DeviceView:
        """Elements of it as an argument: `gpudbg.check` finds accesses outside of them.

        Args:
            shape: elements along each axis.
            strides: bytes from an element to the next along each axis, below 0 or 0 as in NumPy;
                None: dense.
            offset: bytes to the first element.
            dtype: of an element; None is the buffer's.

        Raises:
            UsageError: it is not inside the buffer, or that was freed.
        """
        return make_view(self, shape, strides, offset, dtype)

    def write(self, array: npt.ArrayLike) -> None:
        """Replace the contents.

        Raises:
            UsageError: the array has another number of bytes, or the buffer was freed.
        """
        self.require_live()
        host: Array
        if type(array) is np.ndarray and array.dtype == self.dtype and array.flags.c_contiguous:
            host = array
        else:
            host = converted(array, self.dtype, "the array")
        if host.nbytes != self.nbytes:
            mine, its = (f"{x.dtype}{list(x.shape)}" for x in (self, host))
            raise UsageError(
                f"{host.nbytes} bytes do not fill {self.nbytes}", f"the buffer is {mine}, not {its}"
            )
        self.allocation.writable()[:] = host.reshape(-1).view(np.uint8)
        self.allocation.uninitialized = False

    def free(self) -> None:
        """Give the memory back; an access to it is an error from now on.

        Raises:
            UsageError: it was freed before.
        """
        self.device.gpu.memory.free(self.allocation)

    __dir__ = public_names

    def __repr__(self) -> str:
        freed = ", freed" if self.freed else ""
        return f"<DeviceBuffer 0x{self.address:x}, {self.dtype}{list(self.shape)}{freed}>"
