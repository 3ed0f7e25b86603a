"""Memory by expression, for views that show bytes at an address and ask on from there.

A view knows plain numbers only, so places in shared and local memory are shown by their generic
addresses, which read back as the same place; code can be read at its addresses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass
from gpudbg.debug.values.evaluation import evaluate, origin, read_focused
from gpudbg.errors import CommandError
from gpudbg.expr.types import Array, Pointer, Scalar

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior


@dataclass(frozen=True, slots=True)
class MemoryRef:
    """An address in a space; `shown` is the number that names it to a view."""

    space: str
    address: int
    shown: int

    def moved(self, offset: int) -> MemoryRef:
        """The place `offset` bytes further."""
        return MemoryRef(self.space, self.address + offset, self.shown + offset)


def memory_at(inferior: Inferior, text: str) -> MemoryRef:
    """The place an expression names: a pointer, an array, or a generic address.

    Raises:
        CommandError: no such name, or a value that is no address.
    """
    try:
        result = evaluate(inferior, text)
    except CommandError:
        # A function's name is its code, as in C.
        if not text.strip().isidentifier():
            raise
        try:
            pc = inferior.symbols.resolve(text, origin(inferior)).addresses[0]
        except CommandError:
            pc = None
        if pc is None:
            raise
        start = pc - pc % inferior.symbols.layout.bundle_bytes
        return MemoryRef("code", start, start)
    lane = inferior.focus.lane if inferior.focus is not None else 0
    if not result.valid[lane]:
        raise CommandError(f"{text}: no value in the focused lane: {result.why}")
    value = result.values[lane].item()
    if isinstance(result.type, Scalar) and result.type.kind == "f":
        raise CommandError(f"{text}: a floating point value is no address")
    address = int(value)
    space = "generic"
    if isinstance(result.type, Pointer):
        space = result.type.space
    elif isinstance(result.type, Array) and result.place is not None:
        space = result.place.space
    image = inferior.symbols.image
    if space == "generic" and image.base <= address < image.end:
        space = "code"
    layout = inferior.grid.gpu.layout
    window = {"shared": layout.shared_window, "local": layout.local_window}.get(space, 0)
    return MemoryRef(space, address, address + window)


def read_prefix(inferior: Inferior, ref: MemoryRef, size: int) -> bytes:
    """As many of `size` bytes as can be read from the start; empty when none can."""
    low, high = 0, size
    best = b""
    while low < high or not best:
        middle = high if not best and high == size else (low + high + 1) // 2
        if middle <= low:
            break
        try:
            best = read_focused(inferior, ref.space, ref.address, middle)
            low = middle
        except CommandError:
            high = middle - 1
    return best
