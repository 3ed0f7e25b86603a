"""CUDA C++ in Python programs: CuPy's kernels, PyCUDA's `SourceModule`, PyTorch's `load_inline`.

Their texts are compiled by NVRTC for the device, as `gpudbg.compile` does; lines are the text's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpudbg.errors import UsageError
from gpudbg.interop.installed import device_of
from gpudbg.interop.launcher import (
    Answer,
    KernelLauncher,
    ReadyLaunch,
    Use,
    debug,
    run,
    sizes,
)

if TYPE_CHECKING:
    from gpudbg.api.device import Device
    from gpudbg.api.programs import LoadedProgram
    from gpudbg.debug.session import DebugSession
    from gpudbg.debug.stops.stop import Stop


def compiled(
    device: Device, text: str, name: str, options: Sequence[str], instances: Sequence[str] = ()
) -> LoadedProgram:
    """A text on a device; errors as `gpudbg.compile`."""
    from dataclasses import replace

    from gpudbg.toolchain.compile import compile_text, program_of
    from gpudbg.toolchain.options import word_options

    words = word_options(options, device.arch)
    words = replace(words, instances=(*words.instances, *instances))
    return device.adopt(program_of(name, compile_text(text, words, name)))


class CudaKernel(KernelLauncher):
    """A kernel of a text: `kernel[grid, block](x, y, n)`.

    Attributes:
        program: the program that it is in.
        name: its name there.
    """

    def __init__(self, program: LoadedProgram, name: str) -> None:
        """Raises: UsageError: the program has no such kernel."""
        from gpudbg.formats.launch import pick_kernel
        from gpudbg.launch.prepare import kernel_name

        found = kernel_name(program.program, name)
        self.program, self.name = program, pick_kernel(program.program, found).name

    def begin(
        self,
        configuration: Any,
        args: tuple[object, ...],
        named: dict[str, object],
        use: Use[Answer],
    ) -> Answer:
        grid, block, shared = sizes(configuration)
        if named:
            raise UsageError(f"kernels take no argument by name: {', '.join(named)}")
        return use(self.ready(grid, block, args, shared))

    def ready(self, grid: Any, block: Any, args: Sequence[object], shared: int = 0) -> ReadyLaunch:
        """A launch; arrays are named after their parameters where the text names them."""
        from gpudbg.toolchain.signatures import names_of

        values = [_number(value) for value in args]
        names = names_of(self.program.program, self.program.kernels[self.name])
        known = names if names != tuple(f"arg{n}" for n in range(len(names))) else ()
        return ReadyLaunch(self.program, self.name, grid, block, values, known, shared)


def _number(value: Any) -> Any:
    """An argument; PyCUDA's `In`, `Out` and `InOut` stand for the array in them."""
    if type(value).__module__.startswith("pycuda") and hasattr(value, "array"):
        return value.array
    return value


class CudaModule:
    """The kernels of a text.

    Attributes:
        program: the program.
    """

    def __init__(self, program: LoadedProgram) -> None:
        self.program = program

    def __getitem__(self, name: str) -> CudaKernel:
        return CudaKernel(self.program, name)

    def get_function(self, name: str) -> CudaKernel:
        """A kernel by its name, or that of an instance of a template, `k<float, 4>`."""
        return self[name]

    def __repr__(self) -> str:
        return f"<CudaModule {', '.join(self.program.kernels)}>"


# ---- CuPy ------------------------------------------------------------------------------
def cupy(
    kernel: Any, arch: str = "sm_80", **device: Any
) -> CupyKernel | CupyElementwise | CudaModule:
    """A kernel of CuPy that runs here: `gpudbg.cupy(raw)[grid, block](x, n)`.

    A `RawKernel` is launched so, or as CuPy does, `k(grid, block, (x, n))`; a `RawModule` gives its
    kernels by `get_function`; an `ElementwiseKernel` is called with arrays alone, `k(x, y, out)`.
    Arrays of the host are read and written in place.  `.debug` and `.check()` are as for
    `gpudbg.numba`.

    Args:
        kernel: a `RawKernel`, `RawModule` or `ElementwiseKernel`.
        arch: architecture that it is compiled for.
        device: num_sms, seed, engine, jobs, heap_bytes, stack_bytes.

    Raises:
        CompileError: the compiler's own words.
        UsageError: NVRTC is not installed, or another kind of kernel.
    """
    made = device_of(arch, device)
    kind = type(kernel).__name__
    if kind == "ElementwiseKernel":
        return CupyElementwise(kernel, made)
    if kind not in ("RawKernel", "RawModule"):
        raise UsageError(
            f"a {kind} of CuPy does not run here", "RawKernel, RawModule and ElementwiseKernel do"
        )
    name = getattr(kernel, "name", None)
    text = kernel.code
    if text is None:
        text = Path(kernel.file_path).read_text(encoding="utf-8")
    options = [*kernel.options, *_cupy_headers()]
    instances = getattr(kernel, "name_expressions", None) or ()
    file = str(kernel.file_path or f"{name or 'module'}.cu")
    program = compiled(made, text, file, options, instances)
    return CudaModule(program) if name is None else CupyKernel(program, name)


def _cupy_headers() -> list[str]:
    """The compiler's word for CuPy's own headers."""
    from importlib.util import find_spec

    found = find_spec("cupy")
    if found is None or found.origin is None:
        return []
    return [f"-I{Path(found.origin).parent / '_core' / 'include'}"]


class CupyKernel(CudaKernel):
    """A RawKernel."""

    def __call__(
        self, grid: Any, block: Any, args: Sequence[object], *, shared_mem: int = 0
    ) -> Stop:
        """Launch as CuPy does."""
        return run(self.ready(grid, block, args, shared_mem))


THREADS = 128
"""Of a block of an elementwise kernel, as CuPy has it."""


class CupyElementwise(KernelLauncher):
    """An ElementwiseKernel: one thread for each element of what its arrays broadcast to.

    `k(x, y, out)` runs it; `k.debug[()](x, y, out)` is a session.
    """

    def __init__(self, kernel: Any, device: Device) -> None:
        self.kernel, self.device = kernel, device
        self._made: dict[tuple[str, ...], LoadedProgram] = {}

    def __call__(self, *args: object) -> Any:
        """Run it; the outputs, as CuPy gives them."""
        values, outputs = self._values(args)
        run(self._ready(values))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def begin(
        self,
        configuration: Any,
        args: tuple[object, ...],
        named: dict[str, object],
        use: Use[Answer],
    ) -> Answer:
        if named:
            raise UsageError(f"arrays are given in order, not by name: {', '.join(named)}")
        return use(self._ready(self._values(args)[0]))

    def _values(self, args: Sequence[object]) -> tuple[list[Any], list[Any]]:
        """All arrays, those for outputs that were not given included, and the outputs."""
        from gpudbg.interop.in_place import host_arrays

        kernel = self.kernel
        inside, outside = kernel.in_params, kernel.out_params
        if not len(inside) <= len(args) <= len(inside) + len(outside):
            raise UsageError(
                f"{kernel.name} takes {len(inside)} inputs and {len(outside)} outputs",
                f"{len(args)} were given",
            )
        params = [*inside, *outside]
        given = host_arrays(args, [p.name for p in params])
        arrays = [np.asarray(v) for v in given]
        shapes = [a.shape for a, p in zip(arrays, params, strict=False) if not p.raw]
        shape = np.broadcast_shapes(*shapes)
        kinds = {p.ctype: a.dtype for a, p in zip(arrays, params, strict=False)}
        values: list[Any] = []
        for n, param in enumerate(params):
            dtype = np.dtype(param.dtype) if param.dtype is not None else kinds.get(param.ctype)
            if n >= len(arrays):
                values.append(np.zeros(shape, dtype))
            elif param.raw or n >= len(inside):
                values.append(arrays[n])
            else:
                values.append(np.ascontiguousarray(np.broadcast_to(arrays[n], shape), dtype))
        for param, value in zip(params, values, strict=True):
            if not value.flags.c_contiguous:
                raise UsageError(f"{param.name} is not contiguous", "np.ascontiguousarray(…)")
        return values, values[len(inside) :]

    def _ready(self, values: list[Any]) -> ReadyLaunch:
        kernel = self.kernel
        params = [*kernel.in_params, *kernel.out_params]
        types = tuple(_cpp_type(value.dtype) for value in values)
        if types not in self._made:
            text = elementwise_text(kernel, types)
            words = [*_cupy_headers(), *kernel.kwargs.get("options", ())]
            self._made[types] = compiled(self.device, text, f"{kernel.name}.cu", words)
        plain = [v.size for v, p in zip(values, params, strict=True) if not p.raw]
        count = plain[0] if plain else values[-1].size
        names = [*(f"{p.name}{'' if p.raw else '_all'}" for p in params), "count"]
        return ReadyLaunch(
            self._made[types],
            kernel.name,
            -(-count // THREADS) or 1,
            THREADS,
            [*values, np.int64(count)],
            names,
        )


_CPP: Mapping[str, str] = {
    "b": "bool", "i1": "signed char", "i2": "short", "i4": "int", "i8": "long long",
    "u1": "unsigned char", "u2": "unsigned short", "u4": "unsigned int", "u8": "unsigned long long",
    "f2": "float16", "f4": "float", "f8": "double", "c8": "complex<float>",
    "c16": "complex<double>",
}  # fmt: skip


def _cpp_type(dtype: np.dtype[Any]) -> str:
    found = _CPP.get("b" if dtype.kind == "b" else f"{dtype.kind}{dtype.itemsize}")
    if found is None:
        raise UsageError(f"elements of {dtype} cannot be passed to a kernel of CuPy")
    return found


def elementwise_text(kernel: Any, types: Sequence[str]) -> str:
    """The CUDA C++ of an elementwise kernel: its operation, for each element."""
    params = [*kernel.in_params, *kernel.out_params]
    inputs = len(kernel.in_params)
    generic = {p.ctype: t for p, t in zip(params, types, strict=True) if p.dtype is None}
    declared, inside = [], []
    for n, (param, kind) in enumerate(zip(params, types, strict=True)):
        const = "const " if n < inputs else ""
        held = param.name if param.raw else f"{param.name}_all"
        declared.append(f"{const}{kind} *{held}")
        if not param.raw:
            reference = "" if n < inputs else "&"
            inside.append(f"  {const}{kind} {reference}{param.name} = {held}[i];")
    lines = [
        "#include <cupy/complex.cuh>" if any("complex" in t for t in types) else "",
        "#include <cuda_fp16.h>\ntypedef __half float16;" if "float16" in types else "",
        *(f"typedef {kind} {name};" for name, kind in generic.items()),
        "struct gpudbg_index { long long n; __device__ long long size() const { return n; } };",
        kernel.preamble,
        f'extern "C" __global__ void {kernel.name}({", ".join(declared)}, long long count) {{',
        "  const gpudbg_index _ind = {count};",
        "  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;",
        "  if (i >= _ind.size()) return;",
        *inside,
        f"  {kernel.operation};",
        "}",
    ]
    return "\n".join(line for line in lines if line) + "\n"


# ---- PyCUDA ----------------------------------------------------------------------------
class SourceModule(CudaModule):
    """PyCUDA's `SourceModule` without a GPU: `SourceModule(text).get_function("k")(x, block=…)`.

    >>> module = gpudbg.SourceModule("__global__ void twice(int *p) { p[threadIdx.x] *= 2; }")
    >>> numbers = np.arange(4, dtype=np.int32)
    >>> module.get_function("twice")(numbers, block=(4, 1, 1))
    <Stop exited: twice ended after 9 warp instructions>
    >>> numbers
    array([0, 2, 4, 6], dtype=int32)
    """

    def __init__(
        self,
        source: str,
        options: Sequence[str] = (),
        no_extern_c: bool = False,
        arch: str = "sm_80",
        include_dirs: Sequence[str] = (),
        **device: Any,
    ) -> None:
        """Compile a text.

        Args:
            source: CUDA C++.
            options: for the compiler.
            no_extern_c: names are C++'s; otherwise the whole text is `extern "C"`, as in PyCUDA.
            arch: architecture that it is compiled for.
            include_dirs: where headers are.
            device: num_sms, seed, engine, jobs, heap_bytes, stack_bytes.

        Raises:
            CompileError: the compiler's own words.
        """
        # On the first line, so that the others keep their numbers.
        text = source if no_extern_c else f'extern "C" {{ {source}\n}}'
        words = [*options, *(f"-I{folder}" for folder in include_dirs)]
        super().__init__(compiled(device_of(arch, device), text, "source_module.cu", words))

    def get_function(self, name: str) -> SourceFunction:
        """A kernel, called as PyCUDA's."""
        return SourceFunction(self.program, name)


class SourceFunction(CudaKernel):
    """A kernel of a `SourceModule`: `f(x, n, block=(32, 1, 1), grid=(4, 1))`."""

    def __call__(
        self, *args: object, block: Any, grid: Any = (1, 1), shared: int = 0, **_: Any
    ) -> Stop:
        """Run it to its end, as PyCUDA does where one waits for it."""
        return run(self.ready(grid, block, args, shared))

    def session(
        self, *args: object, block: Any, grid: Any = (1, 1), shared: int = 0
    ) -> DebugSession:
        """A session at the kernel's entry."""
        return debug(self.ready(grid, block, args, shared))

    def prepare(self, types: str | Sequence[Any]) -> SourceFunction:
        """The function itself: types of arguments are the kernel's own."""
        return self


# ---- PyTorch ---------------------------------------------------------------------------
def load_inline(
    cuda_sources: str | Sequence[str],
    *,
    options: Sequence[str] = (),
    arch: str = "sm_80",
    kernels: Sequence[str] = (),
    **device: Any,
) -> CudaModule:
    """The kernels of what is given to `torch.utils.cpp_extension.load_inline`.

    Host functions are left out: a kernel is launched by itself, `module["k"][grid, block](x, n)`,
    with tensors on the CPU or NumPy arrays in place.

    Args:
        cuda_sources: a text, or several.
        options: for the compiler.
        arch: architecture that it is compiled for.
        kernels: instances of template kernels to make, such as `["k<float>"]`.
        device: num_sms, seed, engine, jobs, heap_bytes, stack_bytes.

    Raises:
        CompileError: the compiler's own words.

    >>> module = gpudbg.load_inline('''
    ... #include <torch/extension.h>
    ... __global__ void twice(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }
    ... torch::Tensor run(torch::Tensor x) {
    ...     twice<<<1, 32>>>(x.data_ptr<float>(), x.numel());
    ...     return x;
    ... }''')
    >>> x = np.ones(4, np.float32)
    >>> module["twice"][1, 32](x, 4).kind, x
    ('exited', array([2., 2., 2., 2.], dtype=float32))
    """
    text = cuda_sources if isinstance(cuda_sources, str) else "\n".join(cuda_sources)
    return CudaModule(compiled(device_of(arch, device), text, "inline.cu", options, kernels))
