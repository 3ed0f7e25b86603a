"""A program on a device: its code and variables at their addresses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpudbg import validation as given
from gpudbg.device.device import Array, EmulatedDevice
from gpudbg.device.hostdata import host_array
from gpudbg.errors import UsageError
from gpudbg.formats.launch_machine import SpecialSetup
from gpudbg.formats.program import Global, Kernel, Program
from gpudbg.mem.device import Allocation
from gpudbg.sm.gpu import Module

if TYPE_CHECKING:
    from gpudbg.device.images import DeviceImage
    from gpudbg.formats.launch import Launch


class LoadedModule:
    """A program's code and variables in a device's memory.

    Attributes:
        device: the device.
        module: its code and variables at their addresses.
    """

    def __init__(self, device: EmulatedDevice, module: Module) -> None:
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
