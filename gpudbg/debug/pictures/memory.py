"""Part of an address space as the focused lane sees it, or the map of allocations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from gpudbg.answers.words import coordinates
from gpudbg.dataclass import dataclass
from gpudbg.debug.launched import launch_shape
from gpudbg.debug.values import (
    allocations,
    constant_extents,
    local_extent,
    mapped,
    never_written,
    read_global,
    shared_extent,
)
from gpudbg.debug.values.elements import element_name, shown_buffer
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

NO_MEMORY = "this kernel has none"
SPACES = ("shared", "global", "local", "const", "map")
"""What a window can be in: address spaces, and the map of allocations."""
WARPLESS = ("global", "map")
"""Those that can be shown when no warp is left."""

Region = tuple[str, str, int, int]
"""Space, words for the title, base and size; size 0 where there is nothing to show."""


class MemoryWindow(Protocol):
    """Which part is wanted; `bank` is set to one that there is."""

    space: str
    bank: int
    address: int | None
    page_rows: int


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """A window into one address space; `allocations` are (base, bytes, name, tag) of the map.

    `element` is the type its words are known to have (`f32`), or "".  `unwritten` are the bytes
    given no contents and never written.
    """

    space: str
    label: str
    base: int
    size: int
    address: int
    data: bytes
    changed: frozenset[int] = frozenset()
    error: str = ""
    allocations: tuple[tuple[int, int, str, str], ...] = ()
    element: str = ""
    unwritten: frozenset[int] = frozenset()


class MemoryTaker:
    """Makes pages of one session; remembers the last stop's to tell what changed."""

    def __init__(self, session: DebugSession, options: MemoryWindow) -> None:
        self.session = session
        self.options = options
        self._last: tuple[str, int, bytes] | None = None
        self._before: tuple[str, int, bytes] | None = None

    def new_stop(self) -> None:
        """Start a new comparison: changes are counted from the bytes shown last."""
        self._before = self._last or self._before

    def forget(self) -> None:
        """The chosen space; a space that belongs to a warp is replaced by global memory when no
        warp is left.
        """
        self._before = None

    def page(self) -> MemoryPage:
        """The chosen window."""
        if self.options.space == "map":
            return self._map()
        space, label, base, size = self.region()
        if not size:
            return MemoryPage(space, label, base, 0, base, b"", error=label)
        wanted = self._wanted(space)
        if wanted is None or (space == "global" and not base <= wanted < base + size):
            wanted = base
        address = max(base, min(wanted, base + size - 1)) & ~0xF
        length = min(self.options.page_rows * 16, base + size - address)
        try:
            data = self.read(space, address, length)
        except CommandError as e:
            return MemoryPage(space, label, base, size, address, b"", error=str(e))
        self._last = (space, address, data)
        changed: frozenset[int] = frozenset()
        if self._before is not None and self._before[:2] == (space, address):
            old = self._before[2]
            changed = frozenset(i for i in range(min(len(old), len(data))) if old[i] != data[i])
        element, count = self._elements(base) if space == "global" else ("", 0)
        if element:
            name = label.partition("  ")[0]
            label = f"{name}  {element}[{count:,}]  0x{base:x}"
        found = never_written(self.session, space, address, length)
        unwritten = frozenset(found.nonzero()[0].tolist() if found is not None else ())
        return MemoryPage(
            space, label, base, size, address, data, changed, element=element, unwritten=unwritten
        )

    def _map(self) -> MemoryPage:
        """Every allocation of device memory, by address."""
        rows = sorted(allocations(self.session), key=lambda a: a.base)
        total = sum(a.size for a in rows)
        label = f"{len(rows)} allocations  {total:,} B"
        found = tuple((a.base, a.size, a.name, a.tag) for a in rows)
        return MemoryPage("map", label, 0, total, 0, b"", allocations=found)

    def read(self, space: str, address: int, size: int) -> bytes:
        """Bytes as the focused lane sees them; global memory needs no warp."""
        s = self.session
        if space == "global":
            return read_global(s, address, size)
        if space == "const":
            return s.memory.read("bank", self.options.bank << 32 | address, size)
        return s.memory.read(space, address, size)

    def region(self) -> Region:
        """The chosen space; a warp's, when no warp is left, gives way to global memory."""
        s, space = self.session, self.options.space
        if space in WARPLESS or s.focus is None:
            return self._global_region()
        if space == "shared":
            size = shared_extent(s).size
            cta = coordinates(s.warp().block, launch_shape(s).grid)
            return space, f"CTA {cta}  {size:,} B" if size else NO_MEMORY, 0, size
        if space == "local":
            local = local_extent(s)
            label = f"lane {s.focus.lane}  {local.size:,} B"
            return space, label if local.size else NO_MEMORY, local.start, local.size
        banks = constant_extents(s)
        if self.options.bank not in banks:
            self.options.bank = min(banks, default=0)
        size = banks[self.options.bank].size if banks else 0
        return space, f"c[0x{self.options.bank:x}]  {size:,} B", 0, size

    def _wanted(self, space: str) -> int | None:
        """The address asked for, which counts in the space it was asked for."""
        return self.options.address if space == self.options.space else None

    def _global_region(self) -> Region:
        rows = allocations(self.session)
        if not rows:
            return "global", "No buffers yet. A launch makes them.", 0, 0
        wanted = self._wanted("global")
        found = mapped(self.session, wanted) if wanted is not None else None
        arguments = [a for a in self.session.launch.arguments if a.buffer is not None]
        if found is None:
            # At the end of a launch its output buffers are of interest.
            marked = [a for a in arguments if a.output] if self.session.focus is None else []
            first = marked[0].buffer.address if marked else None
            found = mapped(self.session, first) if first is not None else None
        if found is None:
            found = next((a for a in rows if a.tag == "buffer"), rows[0])
        owner = next((a.name for a in arguments if a.buffer.address == found.base), found.name)
        return "global", f"{owner}  0x{found.base:x}  {found.size:,} B", found.base, found.size

    def _elements(self, base: int) -> tuple[str, int]:
        """Type (`f32`) and number of a buffer's elements; ("", 0) of other memory."""
        for number, argument in enumerate(self.session.launch.arguments):
            if argument.buffer is not None and argument.buffer.address == base:
                buffer = shown_buffer(self.session, number)
                return element_name(buffer.dtype), buffer.nbytes // buffer.dtype.itemsize
        return "", 0
