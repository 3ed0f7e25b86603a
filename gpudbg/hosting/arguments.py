"""What a launch was given, by its parameter bytes: numbers, and pointers by what they point to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpudbg.device.device import DeviceBuffer
from gpudbg.launch.prepare import Argument
from gpudbg.toolchain.signatures import known

if TYPE_CHECKING:
    from gpudbg.api.programs import LoadedProgram
    from gpudbg.formats.program import Kernel
    from gpudbg.mem.device import Allocation

_ELEMENTS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
POINTER_BYTES = 8


def arguments_of(loaded: LoadedProgram, kernel: Kernel, params: bytes) -> tuple[Argument, ...]:
    """The arguments of a launch."""
    declared = known(loaded.program, kernel)
    memory = loaded.device.gpu.memory
    made = []
    for n, place in enumerate(kernel.params):
        raw = params[place.offset : place.offset + place.size]
        parameter = declared[n] if n < len(declared) else None
        name = parameter.name if parameter is not None else f"arg{n}"
        value: Any = int.from_bytes(raw, "little") if place.size in _ELEMENTS else bytes(raw)
        held = (
            memory.find(value) if place.size == POINTER_BYTES and isinstance(value, int) else None
        )
        element = parameter.element if parameter is not None else None
        buffer = _buffer(loaded, held, element) if held is not None else None
        made.append(Argument(name, value, buffer))
    return tuple(made)


def _buffer(loaded: LoadedProgram, held: Allocation, element: np.dtype[Any] | None) -> DeviceBuffer:
    """An allocation as a buffer of the parameter's elements; where they are not known, of words, or
    of bytes where it has no whole ones.
    """
    kind = np.dtype(np.float32) if element is None else element
    if held.size % kind.itemsize:
        kind = np.dtype(np.uint8)
    return DeviceBuffer(loaded.device, held, kind, (held.size // kind.itemsize,))
