"""Where each address space of the stopped machine begins and ends, as frozen records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior


@dataclass(frozen=True, slots=True)
class Extent:
    """A range of an address space: `size` bytes from `start`."""

    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Mapped:
    """An allocation of device memory: its name, what it is for (`tag`), and where it lies."""

    name: str
    tag: str
    base: int
    size: int


def mapped(inferior: Inferior, address: int) -> Mapped | None:
    """The allocation that an address of device memory lies in."""
    found = inferior.grid.gpu.memory.find(address)
    return None if found is None else Mapped(found.name, found.tag, found.base, found.size)


def allocations(inferior: Inferior) -> tuple[Mapped, ...]:
    """Every allocation of device memory, in the order in which they were made."""
    rows = inferior.grid.gpu.memory.allocations()
    return tuple(Mapped(a.name, a.tag, a.base, a.size) for a in rows)


def shared_extent(inferior: Inferior) -> Extent:
    """Shared memory of the focused warp's block."""
    return Extent(0, len(inferior.focused().cta.shared.data))


def local_extent(inferior: Inferior) -> Extent:
    """The stack of a thread of the focused warp."""
    local = inferior.focused().local
    return Extent(local.start, local.high)


def constant_extents(inferior: Inferior) -> dict[int, Extent]:
    """Constant banks by number."""
    banks = inferior.grid.engine.constants.banks
    return {number: Extent(0, len(bank.data)) for number, bank in banks.items()}
