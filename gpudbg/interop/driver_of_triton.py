"""A driver for Triton: kernels that it compiles are launched on an emulated device.

Triton asks its active driver for the target, has the driver load what it has compiled, and launches
by the driver's launcher.  PyTorch is not needed: NumPy arrays are arguments, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpudbg.architectures import age
from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError
from gpudbg.interop.launcher import ReadyLaunch, Use, run

if TYPE_CHECKING:
    from gpudbg.api.device import Device
    from gpudbg.api.programs import LoadedProgram

MOST_SHARED: Final = {
    50: 49152, 52: 49152, 53: 49152, 60: 49152, 61: 49152, 62: 49152, 70: 98304, 72: 98304,
    75: 65536, 80: 166912, 86: 101376, 87: 166912, 89: 101376, 120: 101376, 121: 101376,
}  # fmt: skip
"""Compute capability -> shared bytes that a block may ask for; 227 KB for those not listed."""
_MOST_OF_OTHERS = 232448
_NUMBERS = count(1000)
"""Triton keeps compiled kernels by the device's number: each driver has one of its own."""

_SCALARS: Final[Mapping[str, type[np.generic]]] = {
    "i1": np.int8, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u1": np.uint8, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "fp16": np.float16, "fp32": np.float32, "f32": np.float32, "fp64": np.float64,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TritonFunction:
    """A kernel that was loaded.

    Attributes:
        program: its program on the device.
        name: its name there.
        shared_bytes: dynamic shared memory that it needs.
    """

    program: LoadedProgram
    name: str
    shared_bytes: int


class Utilities:
    """What Triton's `CompiledKernel` asks of `driver.utils`."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def get_device_properties(self, _: int) -> dict[str, int]:
        """The limits that Triton holds kernels against."""
        arch = age(self._device.arch)[0]
        return {
            "max_shared_mem": MOST_SHARED.get(arch, _MOST_OF_OTHERS),
            "max_num_regs": 65536,
            "multiprocessor_count": self._device.gpu.num_sms,
            "warpSize": 32,
            "sm_clock_rate": 1_000_000,
            "mem_clock_rate": 1_000_000,
            "mem_bus_width": 256,
        }

    def load_binary(
        self, name: str, cubin: bytes, shared: int, _: int
    ) -> tuple[object, TritonFunction, int, int, int]:
        """Module, function, registers, spills, and the threads that a block may have."""
        from gpudbg.formats.files import read_program

        program = self._device.adopt(read_program(bytes(cubin), arch=self._device.arch))
        kernel = program.kernels[name]
        return program, TritonFunction(program, name, shared), kernel.num_regs, 0, 1024

    def unload_module(self, _: object) -> None:
        """Nothing: a program goes with what uses it."""


class TritonLauncher:
    """Launches one compiled kernel."""

    def __init__(self, driver: TritonDriver, source: Any, metadata: Any) -> None:
        self._driver, self._metadata = driver, metadata
        self._types = list(source.signature.items())

    def __call__(
        self, x: int, y: int, z: int, stream: object, function: TritonFunction, packed: object,
        launch_metadata: object, enter: Any, leave: Any, *args: object,
    ) -> None:  # fmt: skip
        """Launch; hooks are called as Triton's own launcher calls them."""
        if enter is not None:
            enter(launch_metadata)
        meta = self._metadata
        blocks = getattr(meta, "num_ctas", 1) or 1
        names, values = [], []
        for (name, kind), value in zip(self._types, args, strict=False):
            for one in flattened(kind, value, name, meta):
                names.append(str(name))
                values.append(one)
        program = function.program
        scratch = [
            self._scratch(getattr(meta, f"{which}_scratch_size", 0) * x * y * z * blocks)
            for which in ("global", "profile")
        ]
        left = len(program.kernels[function.name].params) - len(values)
        values += scratch[:left]
        names += ["global scratch", "profile scratch"][:left]
        self._driver.launch(
            ReadyLaunch(
                program, function.name, (x * blocks, y, z), meta.num_warps * 32, values, names,
                function.shared_bytes, blocks if blocks > 1 else None,
            )
        )  # fmt: skip
        if leave is not None:
            leave(launch_metadata)

    def _scratch(self, size: int) -> object:
        return np.zeros(size, np.uint8) if size else np.uint64(0)


def flattened(kind: Any, value: Any, name: str, metadata: Any) -> Iterator[object]:
    """The parameters that one argument becomes; none for what is compiled in.

    Raises:
        UsageError: a type that is not passed here.
    """
    if kind == "constexpr":
        return
    if isinstance(kind, tuple):
        for one, part in zip(kind, value, strict=True):
            yield from flattened(one, part, name, metadata)
    elif kind.startswith("*"):
        yield np.uint64(0) if value is None else value
    elif kind == "bf16":
        yield np.uint16(np.float32(value).view(np.uint32) >> 16)
    elif kind in _SCALARS:
        yield _SCALARS[kind](value)
    elif kind.startswith("tensordesc") and not getattr(metadata, "tensordesc_meta", None):
        rank = len(value.shape)
        yield value.base
        yield from (np.int64(n) for n in (*value.shape, *value.strides))
        yield np.int8(value.padding == "nan")
        rounds = hasattr(value, "round_f32_to_tf32")
        yield from [np.int8(value.round_f32_to_tf32)] if rounds else []
        yield from (np.int32(n) for n in value.shape[:rank])
        yield from (np.int64(n) for n in value.strides)
    else:
        raise UsageError(
            f"{name}, of Triton's type {kind}, cannot be passed here",
            "sm_80 has no tensor maps; `gpudbg exec python …` runs them",
        )


class TritonDriver:
    """What Triton takes for its driver; `triton_driver` makes it active.

    Attributes:
        device: where kernels run.
        use: what is done with launches.
        answers: what that gave, the last one last.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.use: Use[Any] = run
        self.answers: list[object] = []
        self.utils = Utilities(device)
        self._number = next(_NUMBERS)

    def launch(self, ready: ReadyLaunch) -> None:
        """Use a launch."""
        self.answers[:] = [*self.answers[-1:], self.use(ready)]

    def launcher_cls(self, source: Any, metadata: Any) -> TritonLauncher:
        """A launcher of a compiled kernel."""
        return TritonLauncher(self, source, metadata)

    # ---- what Triton asks --------------------------------------------------------------
    @staticmethod
    def is_active() -> bool:
        """Always."""
        return True

    def get_current_device(self) -> int:
        """The device's number."""
        return self._number

    def set_current_device(self, _: int) -> None:
        """There is one."""

    def get_current_stream(self, _: int | None = None) -> int:
        """The default stream: launches are done when they return."""
        return 0

    def get_current_target(self) -> Any:
        """What Triton compiles for."""
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", age(self.device.arch)[0], 32)

    def get_active_torch_device(self) -> Any:
        """Tensors are on the CPU."""
        import torch

        return torch.device("cpu")

    def map_python_to_cpp_type(self, kind: str) -> str:
        """Of Triton's own CUDA driver."""
        from triton.backends.nvidia.driver import ty_to_cpp

        return str(ty_to_cpp(kind))

    def get_benchmarker(self) -> Any:
        """For autotuning: a configuration costs the warp instructions that it executes."""

        def benchmark(call: Any, *, quantiles: Sequence[float] | None = None, **_: Any) -> Any:
            use, self.use = self.use, run
            try:
                call()
            finally:
                self.use = use
            cost = float(getattr(self.answers[-1], "instructions", 0))
            return [cost] * len(quantiles) if quantiles else cost

        return benchmark

    def get_device_interface(self) -> Any:
        """PyTorch's functions for the CPU."""
        import torch

        return torch.cpu

    def allocate_default_profile_scratch(self, size: int, _: int, __: object) -> Any:
        """Memory for a profiler."""
        return np.zeros(size, np.uint8)


class _Pointer:
    """A NumPy array as Triton looks at tensors."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.dtype = array.dtype
        self._address = int(array.__array_interface__["data"][0])

    def data_ptr(self) -> int:
        """Where it begins."""
        return self._address


def _specializing(of_triton: Any) -> Any:
    """Triton's function that looks at arguments, with NumPy arrays as tensors."""

    def specialize(backend: Any, value: Any, *how: Any) -> Any:
        seen = _Pointer(value) if isinstance(value, np.ndarray) else value
        return of_triton(backend, seen, *how)

    specialize.of_triton = of_triton  # type: ignore[attr-defined]
    return specialize


def _making_specializers(of_triton: Any) -> Any:
    """The same for Triton 3.4 and older, which makes such functions in Python."""

    def make(more: Any) -> Any:
        inner = of_triton(more)

        def specialize(value: Any, *how: Any, **named: Any) -> Any:
            seen = _Pointer(value) if isinstance(value, np.ndarray) else value
            return inner(seen, *how, **named)

        return specialize

    make.of_triton = of_triton  # type: ignore[attr-defined]
    return make


def activate(driver: TritonDriver) -> Any:
    """Make a driver Triton's; what was active before, or None."""
    from triton.runtime import driver as drivers
    from triton.runtime import jit

    before = getattr(drivers, "_active", None)
    drivers.set_active(driver)
    _mend_lines()
    if hasattr(jit, "native_specialize_impl"):
        if not hasattr(jit.native_specialize_impl, "of_triton"):
            jit.native_specialize_impl = _specializing(jit.native_specialize_impl)
    elif not hasattr(jit.create_specialize_impl, "of_triton"):
        jit.create_specialize_impl = _making_specializers(jit.create_specialize_impl)
        jit.specialize_impl_cache.clear()
    return before


_INLINE: Final = re.compile(r"// begin inline asm\n.*?// end inline asm", re.DOTALL)
_LOC: Final = re.compile(r"^[ \t]*\.loc[^\n]*\n", re.MULTILINE)
_MENDED = "lines of inline assembly: the first one's"


def with_lines(text: str) -> str:
    """PTX without what LLVM counts up in inline assembly: each of its lines gets the next number
    of the Python source, though all of them stand for one.
    """
    return _INLINE.sub(lambda found: _LOC.sub("", found[0], count=0), text)


def _mend_lines() -> None:
    """Have Triton assemble PTX with its lines mended, by the hook that it has for that."""
    from triton import knobs

    runtime = knobs.runtime
    if getattr(runtime, "add_stages_inspection_hook", 0) is not None:
        return

    def hook(*given: Any) -> object:
        if not given:
            return _MENDED, repr(_MENDED)
        stages = given[1]
        assemble = stages.get("cubin")
        if assemble is not None:
            stages["cubin"] = lambda text, metadata: assemble(with_lines(text), metadata)
        return None

    runtime.add_stages_inspection_hook = hook


@contextmanager
def active(driver: TritonDriver) -> Iterator[None]:
    """A driver is Triton's for a while."""
    from triton.runtime import driver as drivers

    before = activate(driver)
    try:
        yield
    finally:
        drivers._active = before
