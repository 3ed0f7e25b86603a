"""Numba's kernels: compiled by Numba for their arguments' types, launched with its ABI."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gpudbg.architectures import age
from gpudbg.errors import CompileError, GpudbgError, UsageError
from gpudbg.interop.in_place import host_arrays
from gpudbg.interop.installed import library
from gpudbg.interop.launcher import Answer, KernelLauncher, ReadyLaunch, Use, sizes

if TYPE_CHECKING:
    from gpudbg.api.device import Device
    from gpudbg.api.programs import LoadedProgram

PTX_NAME = "numba.ptx"


class NumbaKernel(KernelLauncher):
    """A kernel written with Numba.

    Attributes:
        function: the Python function.
        device: where it runs.
    """

    def __init__(
        self, function: Callable[..., None], device: Device, options: dict[str, Any]
    ) -> None:
        """Args: options: of Numba's compiler: debug, opt, fastmath, ..."""
        self.function, self.device = function, device
        self._options = options
        self._programs: dict[object, LoadedProgram] = {}

    def begin(
        self,
        configuration: Any,
        args: tuple[object, ...],
        named: dict[str, object],
        use: Use[Answer],
    ) -> Answer:
        grid, block, shared = sizes(configuration)
        if named:
            raise UsageError(f"Numba's kernels take no argument by name: {', '.join(named)}")
        code = self.function.__code__
        names = code.co_varnames[: code.co_argcount]
        if len(args) != len(names):
            said = f"{self.function.__name__} takes {len(names)} arguments, not {len(args)}"
            raise UsageError(said, f"its parameters are {', '.join(names) or 'none'}")
        values = host_arrays(args, names)
        program, types = self.program(values)
        known_types = library("numba", "numba").types
        given: list[object] = []
        called: list[str] = []
        for name, kind, value in zip(names, types, values, strict=True):
            for word, part in words(known_types, kind, value):
                given.append(word)
                called.append(name + part)
        kernel = next(iter(program.kernels.values()))
        if len(kernel.params) != len(given):
            raise UsageError(
                f"this version of Numba passes {len(kernel.params)} values, not {len(given)}",
                "its launches run under `gpudbg exec python …`",
            )
        return use(ReadyLaunch(program, kernel.name, grid, block, given, called, shared))

    def program(self, values: list[object]) -> tuple[LoadedProgram, list[Any]]:
        """The program for arguments like these, and their types as Numba has them.

        Raises:
            CompileError: Numba's own words.
        """
        cuda = library("numba.cuda", "numba-cuda")
        typeof = library("numba", "numba").typeof
        types = [typeof(value) for value in values]
        key = tuple(types)
        if key not in self._programs:
            try:
                text, _ = cuda.compile_ptx(
                    self.function,
                    key,
                    device=False,
                    cc=divmod(age(self.device.arch)[0], 10),
                    **self._options,
                )
            except GpudbgError:
                raise
            except Exception as error:  # whatever Numba and its libraries raise
                said = str(error).strip() or type(error).__name__
                raise CompileError(f"{self.function.__name__} does not compile\n{said}") from error
            name = self.function.__name__
            plain = renamed(in_one_frame(text, name), name)
            self._programs[key] = self.device.adopt(compiled(plain, self.device.arch))
        return self._programs[key], types


def renamed(text: str, name: str) -> str:
    """PTX whose entry is called as the Python function, without types and versions."""
    found = re.search(r"\.visible\s+\.entry\s+([\w$]+)", text)
    plain = name if name.isascii() else "kernel"
    return text.replace(found[1], plain) if found is not None else text


_STRING = re.compile(r"^(\$L__info_string\d+):\n((?:\s*\.b8 .*\n?)+)", re.M)


def in_one_frame(text: str, name: str) -> str:
    """PTX whose entry has the lines of the Python function as its own.

    Numba's entry is a wrapper that the function is inlined into; calls inlined into the function
    stay.
    """
    mark = f"{len(name)}{name}B".encode()
    for label, data in _STRING.findall(text):
        called = bytes(int(word) for word in re.findall(r"\d+", data.replace(".b8", "")))
        if mark in called:
            own = rf", function_name {re.escape(label)}, inlined_at \d+ \d+ \d+"
            text = re.sub(own, "", text)
    return text


def compiled(text: str, arch: str) -> Any:
    """PTX of a library's compiler as a program, whose lines are those of the `.loc` in it."""
    from gpudbg.toolchain.compile import compile_ptx, program_of
    from gpudbg.toolchain.options import CompileOptions

    return program_of(PTX_NAME, compile_ptx(text.rstrip("\0"), PTX_NAME, CompileOptions(arch=arch)))


_NONE = ((np.uint64(0), ".meminfo"), (np.uint64(0), ".parent"))


def words(types: Any, kind: Any, value: Any) -> Iterator[tuple[object, str]]:
    """The parameters that one argument becomes, and what each is called behind its name.

    Args:
        types: Numba's module of types.
        kind: the argument's.
        value: the argument.

    Raises:
        UsageError: a type that is not passed here.
    """
    if isinstance(kind, types.Array):
        yield from _NONE
        yield np.int64(value.size), ".size"
        yield np.int64(value.itemsize), ".itemsize"
        yield value, ""
        for row, word in ((value.shape, ".shape"), (value.strides, ".strides")):
            for axis, length in enumerate(row):
                yield np.int64(length), f"{word}{axis}"
    elif isinstance(kind, types.BaseTuple):
        for n, (one, part) in enumerate(zip(kind, value, strict=True)):
            yield from ((word, f".{n}{more}") for word, more in words(types, one, part))
    elif isinstance(kind, types.Complex):
        half = np.float32 if kind.bitwidth == 64 else np.float64
        yield from ((half(value.real), ".real"), (half(value.imag), ".imag"))
    elif isinstance(kind, types.Boolean):
        yield np.uint8(bool(value)), ""
    elif isinstance(kind, types.Integer | types.Float):
        yield np.dtype(str(kind)).type(value), ""
    elif isinstance(kind, types.EnumMember):
        yield from words(types, kind.dtype, value.value)
    else:
        raise UsageError(f"an argument of Numba's type {kind} cannot be passed here")


def numba(
    kernel: Callable[..., Any], arch: str = "sm_80", *, debug: bool = False, **options: Any
) -> NumbaKernel:
    """A Numba kernel that runs here: `gpudbg.numba(kernel)[grid, block](x, y, n)`.

    Arrays (NumPy's, PyTorch's on the CPU, what speaks DLPack) are read and written in place.
    `.debug[grid, block](…)` is a session at the kernel's entry, `.check()[grid, block](…)` a
    report.  Lines are those of the Python source.

    Args:
        kernel: a function, or what `@cuda.jit` made of one.
        arch: architecture of the device.
        debug: compile as `@cuda.jit(debug=True, opt=False)` does.
        options: fastmath, opt, ... of Numba; num_sms, seed, engine, jobs, heap_bytes, stack_bytes
            of the device.

    Raises:
        UsageError: Numba is not installed.
    """
    from gpudbg.interop.installed import device_of

    device = device_of(arch, options)
    function = getattr(kernel, "py_func", None) or getattr(kernel, "fn", None) or kernel
    if not hasattr(function, "__code__"):
        raise UsageError(f"a {type(kernel).__name__} is no kernel of Numba")
    asked = getattr(kernel, "targetoptions", {})
    if asked.get("link"):
        raise UsageError(
            f"{function.__name__} links other files", "it runs under `gpudbg exec python …`"
        )
    debug = debug or bool(asked.get("debug"))
    chosen = {
        "fastmath": bool(asked.get("fastmath")),
        "opt": not debug if debug else asked.get("opt", True),
        "debug": debug,
        "lineinfo": not debug,
    }
    return NumbaKernel(function, device, chosen | options)
