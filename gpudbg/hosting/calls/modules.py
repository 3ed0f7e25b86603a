"""Modules and functions: images become programs on the device."""

from __future__ import annotations

import hashlib
import re
import struct
from typing import TYPE_CHECKING

from gpudbg.errors import CompileError, GpudbgError, LoadError, UsageError
from gpudbg.formats.fatbin import MAGIC, FatbinImage, read_images
from gpudbg.formats.files import cubins_for, is_cubin, ptx_of
from gpudbg.formats.program import runs_on
from gpudbg.hosting.cuda_errors import (
    INVALID_IMAGE,
    INVALID_PTX,
    INVALID_VALUE,
    NO_BINARY,
    NO_COMPILER,
    NOT_FOUND,
    CudaError,
)
from gpudbg.hosting.process import HostFunction, HostModule, HostProcess
from gpudbg.sm.launch import limits_of

if TYPE_CHECKING:
    from gpudbg.formats.program import Kernel

_TARGET = re.compile(rb"^\s*\.target\s+(sm_\d+[af]?)", re.MULTILINE)
PLACE = struct.Struct("<II")
LARGE_CLUSTERS = 14
"""CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED."""
CONSTANT_BANK = 3
"""Where `__constant__` variables lie; 2 and 4 are the compiler's own."""
SHARED_DEFAULT = 48 << 10
"""Shared memory of a block that needs no permission."""


def load(process: HostProcess, image: memoryview) -> int:
    """A module of an image: a cubin, a fat binary or PTX."""
    process.check()
    return _adopt(process, cubin_of(process, bytes(image)))


def _adopt(process: HostProcess, cubin: tuple[bytes, str, dict[str, str]]) -> int:
    from dataclasses import replace

    from gpudbg.formats.cubin import read_cubin

    data, name, sources = cubin
    try:
        program = read_cubin(data, name)
        if sources:
            program = replace(program, sources=sources)
        loaded = process.machine.adopt(process, program)
    except GpudbgError as error:
        raise CudaError(INVALID_IMAGE, str(error)) from error
    made = HostModule(0, loaded, {})
    made.handle = process.keep(made)
    return made.handle


def cubin_of(process: HostProcess, data: bytes) -> tuple[bytes, str, dict[str, str]]:
    """The cubin of an image for this device, its name, its source where it was PTX.

    Raises:
        CudaError: there is none, and no PTX that can be compiled.
    """
    arch = process.machine.device.arch
    name = f"module {hashlib.sha256(data).hexdigest()[:8]}"
    if is_cubin(data):
        return data, name, {}
    if not data.startswith(MAGIC):
        return _compiled(process, data, name)
    try:
        images = read_images(data, name)
        found = _best(images, name, arch)
        if found is not None:
            return bytes(found.read()), name, {}
        # A device of version 9.0 takes what is for sm_90a, too.
        named = dict.fromkeys([arch, arch.rstrip("af") + "a", arch.rstrip("af") + "f"])
        ptx = next(filter(None, (ptx_of(data, name, each) for each in named)), None)
    except LoadError as error:
        raise CudaError(INVALID_IMAGE, str(error)) from error
    if ptx is None:
        kinds = {"elf": "a cubin", "ptx": "PTX"}
        rows = dict.fromkeys(f"{kinds.get(i.kind, i.kind)} for {i.arch}" for i in images)
        held = ", ".join(rows) or "nothing"
        said = f"a fat binary has {held}, nothing for {arch}"
        raise CudaError(NO_BINARY, f"{said} (build it for {arch} or with PTX, or give --arch)")
    return _compiled(process, ptx.read(), name)


def _best(images: tuple[FatbinImage, ...], name: str, arch: str) -> FatbinImage | None:
    try:
        found = cubins_for(images, name, arch)
    except LoadError:
        return None
    return found[0] if found else None


def _compiled(process: HostProcess, text: bytes, name: str) -> tuple[bytes, str, dict[str, str]]:
    from gpudbg.toolchain.compile import compile_ptx
    from gpudbg.toolchain.options import CompileOptions

    text = text.split(b"\0", 1)[0]
    if b".version" not in text:
        raise CudaError(INVALID_IMAGE, f"{name} is neither a cubin, a fat binary nor PTX")
    ptx = f"{name}.ptx"
    options = CompileOptions(arch=_target(text, process.machine.device.arch))
    try:
        made = compile_ptx(text, ptx, options)
    except CompileError as error:
        raise CudaError(INVALID_PTX, str(error)) from error
    except UsageError as error:
        raise CudaError(NO_COMPILER, str(error)) from error
    return made.cubin, name, {ptx: text.decode("utf-8", "replace")}


def _target(text: bytes, arch: str) -> str:
    """What PTX is compiled for: the device, or what it asks for of the device's version."""
    found = _TARGET.search(text)
    own = found[1].decode() if found else arch
    return own if own != arch and own[-1] in "af" and runs_on(own, arch) else arch


def unload(process: HostProcess, handle: int) -> None:
    module = process.get(handle, HostModule)
    for function in module.functions.values():
        process.objects.pop(function, None)
    del process.objects[handle]


def function(process: HostProcess, handle: int, name: str) -> int:
    module = process.get(handle, HostModule)
    if name not in module.functions:
        kernel = module.loaded.kernels.get(name)
        if kernel is None:
            raise CudaError(NOT_FOUND)
        module.functions[name] = process.keep(HostFunction(module, kernel, 0))
    return module.functions[name]


def count(process: HostProcess, handle: int) -> int:
    return len(process.get(handle, HostModule).loaded.kernels)


def enumerate(process: HostProcess, most: int, handle: int) -> bytes:  # noqa: A001 - CUDA's word
    """Handles of a module's kernels, in the order of its file."""
    names = list(process.get(handle, HostModule).loaded.kernels)[:most]
    return struct.pack(f"<{len(names)}Q", *(function(process, handle, name) for name in names))


def loading(process: HostProcess) -> int:
    return 1


def same(process: HostProcess, handle: int) -> int:
    if handle not in process.objects:
        raise CudaError(NOT_FOUND)
    return handle


def module_of(process: HostProcess, handle: int) -> int:
    return process.get(handle, HostFunction).module.handle


def loaded(process: HostProcess, handle: int) -> int:
    process.get(handle, HostFunction)
    return 1


def known(process: HostProcess, handle: int) -> None:
    process.get(handle, HostFunction)


def symbol(process: HostProcess, handle: int, name: str) -> tuple[int, int]:
    """Address and size of a variable."""
    module = process.get(handle, HostModule)
    found = module.loaded.program.globals.get(name)
    if found is None:
        raise CudaError(NOT_FOUND)
    return module.loaded.symbol_address(name), found.size


def managed(process: HostProcess, handle: int, name: str, size: int) -> int:
    """Address of a managed variable, which host and device share."""
    return symbol(process, handle, name)[0]


def name(process: HostProcess, most: int, handle: int) -> tuple[int, bytes]:
    """A kernel's name and its length."""
    text = process.get(handle, HostFunction).kernel.name.encode()
    return len(text), text[:most]


def layout(process: HostProcess, most: int, handle: int) -> tuple[int, bytes]:
    """Offset and size of each parameter."""
    params = process.get(handle, HostFunction).kernel.params
    return len(params), b"".join(PLACE.pack(p.offset, p.size) for p in params)[:most]


def parameter(process: HostProcess, handle: int, index: int) -> tuple[int, int]:
    params = process.get(handle, HostFunction).kernel.params
    if index >= len(params):
        raise CudaError(INVALID_VALUE)
    return params[index].offset, params[index].size


def parameter_count(process: HostProcess, handle: int) -> int:
    return len(process.get(handle, HostFunction).kernel.params)


# ---- attributes --------------------------------------------------------------------------
def _version(process: HostProcess) -> int:
    return process.machine.major * 10 + process.machine.minor


def _values(process: HostProcess, function: HostFunction) -> dict[int, int]:
    """`CUfunction_attribute` by number."""
    kernel = function.kernel
    threads = most_threads(process, kernel)
    cluster = kernel.cluster or (0, 0, 0)
    dynamic = function.dynamic or max(SHARED_DEFAULT - kernel.shared_static_bytes, 0)
    constant = kernel.bank_sizes.get(CONSTANT_BANK, 0)
    return {
        0: threads,
        1: kernel.shared_static_bytes,
        2: constant,
        3: kernel.min_stack_bytes or kernel.frame_bytes,
        4: kernel.num_regs,
        5: _version(process),
        6: _version(process),
        7: 0,
        8: dynamic,
        9: -1,
        10: int(kernel.cluster is not None),
        11: cluster[0],
        12: cluster[1],
        13: cluster[2],
        LARGE_CLUSTERS: int(function.large_clusters),
        15: 0,
    }


def most_threads(process: HostProcess, kernel: Kernel) -> int:
    """Threads of a block that the kernel can have: by its registers, and by what it says."""
    limits = limits_of(process.machine.device.arch)
    registers = max(-(-kernel.num_regs // 8) * 8, 8)
    by_registers = limits.cta_registers // (registers * 32) * 32
    x, y, z = kernel.max_threads or (1024, 1, 1)
    return max(min(1024, by_registers, x * y * z), 1)


def attribute(process: HostProcess, number: int, handle: int) -> int:
    found = _values(process, process.get(handle, HostFunction)).get(number)
    if found is None:
        raise CudaError(INVALID_VALUE)
    return found


def set_attribute(process: HostProcess, handle: int, number: int, value: int) -> None:
    """Dynamic shared memory is what counts; the rest are preferences."""
    function = process.get(handle, HostFunction)
    if number == 8:
        most = limits_of(process.machine.device.arch).cta_shared
        if value < 0 or value + function.kernel.shared_static_bytes > most:
            raise CudaError(INVALID_VALUE)
        function.dynamic = value
    elif number == LARGE_CLUSTERS:
        function.large_clusters = bool(value)
    elif number not in (9, 10, 11, 12, 13, 14, 15):
        raise CudaError(INVALID_VALUE)


def kernel_attribute(process: HostProcess, number: int, handle: int, device: int) -> int:
    return attribute(process, number, handle)


def set_kernel_attribute(
    process: HostProcess, number: int, value: int, handle: int, device: int
) -> None:
    set_attribute(process, handle, number, value)


def set_device_attribute(
    process: HostProcess, handle: int, number: int, value: int, device: int
) -> None:
    set_attribute(process, handle, number, value)


def attributes(process: HostProcess, handle: int) -> bytes:
    """`struct cudaFuncAttributes`."""
    values = _values(process, process.get(handle, HostFunction))
    wide = struct.pack("<3Q", values[1], values[2], values[3])
    order = (0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 14)
    return (wide + struct.pack("<13i", *(values[n] for n in order))).ljust(144, b"\0")
