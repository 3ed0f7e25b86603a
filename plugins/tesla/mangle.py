"""Local and stack addresses: where a position lies, and who and what lies at an address.

Both spaces pack blocks of memory in one order, fastest first: MP (compressed id), warp (masked
to the allocated bits), TP (compressed id), and the outer index (l[] address >> 4, or stack
entry >> 2).  Addresses are unsigned 32-bit and relative to the segment base.

The notes' bit table is the truth.  Their C expression for local addresses parses otherwise,
because `+` binds tighter than `<<`; `LocalLayout.literal_c` computes that reading so that a
dump made with it can be recognised.

Source: NV50 CUDA notes, "Stack and local memory".  The rounding of the TP count before NVA0 is
the C code's; the prose would round every grouping, which differs for MP counts that are no
power of two, and no such chip before NVA0 is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpudbg.bits import Field
from gpudbg.errors import UsageError

from .hierarchy import Chip, Hierarchy, compressed_id, expand_id

WORD = (1 << 32) - 1
VALID_LOG_ALLOC = (0, 1, 2, 3, 4, 7)
LOCAL_SPACE = 0x10000
STACK_BLOCK = 0x20
ENTRIES_PER_BLOCK = 4
ENTRY_BYTES = 8
HALF_LANES = 16

#: In-block bits of a local address: (bits of the address, source, bits of the source).
LOCAL_IN_BLOCK = (
    (Field(1, 0), "addr", Field(1, 0)),
    (Field(5, 2), "lane", Field(3, 0)),
    (Field(7, 6), "addr", Field(3, 2)),
    (Field(8, 8), "lane", Field(4, 4)),
)


def warp_bits(log_alloc: int) -> int:
    """Bits of the warp id in addresses for a WARPS_LOG_ALLOC value.

    Raises:
        UsageError: not one of 0-4 and 7.
    """
    if log_alloc not in VALID_LOG_ALLOC:
        hint = "use 7 if you mean 5" if log_alloc == 5 else "valid values are 0-4 and 7"
        raise UsageError(f"WARPS_LOG_ALLOC {log_alloc} is an invalid value", hint)
    return 5 if log_alloc == 7 else log_alloc


def round_up_pot(count: int) -> int:
    """The nearest power of two at or above `count`."""
    return 1 << (count - 1).bit_length()


@dataclass(frozen=True, slots=True)
class Owner:
    """Who lies in a block.

    Args:
        warp: the warp id's allocated bits; the lowest warp that lives here.
        mp: physical MP id.
        tp: physical TP id.
        warps: every warp id of the MP that lives here; more than one when NO_CLAMP lets them
            alias, none when no warp of this chip reaches the block.
    """

    warp: int
    mp: int
    tp: int
    warps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Grouping:
    """The order of blocks, shared by stack and local memory.

    Args:
        chip: decides the rounding of the TP count.
        hierarchy: active TPs and MPs.
        log_alloc: WARPS_LOG_ALLOC, 0-4 or 7.
        no_clamp: WARPS_NO_CLAMP, 0 or 1.
        block: bytes of a block.
    """

    chip: Chip
    hierarchy: Hierarchy
    log_alloc: int
    no_clamp: int
    block: int

    def __post_init__(self) -> None:
        warp_bits(self.log_alloc)
        if self.no_clamp not in (0, 1):
            raise UsageError(f"NO_CLAMP {self.no_clamp} is an invalid value", "0 or 1")

    @property
    def warp_slots(self) -> int:
        """Warps of one MP that have memory of their own."""
        return 1 << warp_bits(self.log_alloc)

    @property
    def tp_slots(self) -> int:
        """TPs that have memory: the active ones, before NVA0 rounded up to a power of two."""
        count = self.hierarchy.tp_count
        return count if self.chip.nva0_or_later else round_up_pot(count)

    @property
    def mps_size(self) -> int:
        """Bytes of one block for every MP of a TP (the notes' mpssize)."""
        return self.hierarchy.mp_count * self.block

    @property
    def warps_size(self) -> int:
        """Bytes of the blocks of one TP (warpssize)."""
        return self.mps_size * self.warp_slots

    @property
    def tps_size(self) -> int:
        """Bytes of the blocks of all TPs: the step of the outer index (tpssize)."""
        return self.warps_size * self.tp_slots

    def runs(self, warp: int) -> bool:
        """Whether the machine executes that warp id at all."""
        return self.no_clamp == 1 or warp < self.warp_slots

    def base(self, outer: int, warp: int, mp: int, tp: int) -> int:
        """Address of a block, not yet cut to 32 bits.

        Raises:
            UsageError: TP or MP not active, warp outside 0..31.
        """
        self.hierarchy.check(tp, mp)
        if not 0 <= warp < 32:
            raise UsageError(f"warp {warp} does not exist", "warp ids are 0 to 31")
        return (
            outer * self.tps_size
            + compressed_id(self.hierarchy.tp_mask, tp) * self.warps_size
            + (warp & (self.warp_slots - 1)) * self.mps_size
            + compressed_id(self.hierarchy.mp_mask, mp) * self.block
        )

    def split(self, address: int) -> tuple[int, Owner | None, int]:
        """Outer index, owner (None in the hole a rounded TP count leaves), offset in block."""
        if not 0 <= address <= WORD:
            raise UsageError(f"address 0x{address:x} does not fit 32 bits")
        outer, rest = divmod(address, self.tps_size)
        tp_index, rest = divmod(rest, self.warps_size)
        warp, rest = divmod(rest, self.mps_size)
        mp_index, offset = divmod(rest, self.block)
        tp = expand_id(self.hierarchy.tp_mask, tp_index)
        mp = expand_id(self.hierarchy.mp_mask, mp_index)
        if tp is None or mp is None:
            return outer, None, offset
        step = self.warp_slots if self.no_clamp else 32
        warps = tuple(range(warp, self.chip.warps_per_mp, step))
        return outer, Owner(warp, mp, tp, warps), offset

    def to_json(self) -> dict[str, Any]:
        """Configuration and group sizes."""
        return {
            "chipset": self.chip.chipset,
            "chipset_class": self.chip.chipset_class,
            "tp_mask": self.hierarchy.tp_mask,
            "mp_mask": self.hierarchy.mp_mask,
            "blocksize": self.block,
            "mpssize": self.mps_size,
            "warpssize": self.warps_size,
            "tpssize": self.tps_size,
        }


@dataclass(frozen=True, slots=True)
class LocalPosition:
    """A byte of l[]: its l[] address and its thread; None ids mean nobody's memory."""

    addr: int
    lane: int
    owner: Owner | None


@dataclass(frozen=True, slots=True)
class StackPosition:
    """A byte of stack memory: entry number, byte within the entry, and its warp."""

    entry: int
    byte: int
    owner: Owner | None


def halfwarps_of(method: int, program: str) -> int:
    """Half warps per warp for a WARP_HALVES value; 0 counts as 1 for compute programs only.

    Raises:
        UsageError: not 1 or 2 (or 0 for CP).
    """
    if method in (1, 2):
        return method
    if method == 0 and program == "CP":
        return 1
    allowed = "0, 1 or 2" if program == "CP" else "1 or 2"
    raise UsageError(f"WARP_HALVES {method} is an invalid value for {program}", allowed)


def size_of_log(size_log: int, unit: int) -> int:
    """Size that a SIZE_LOG value stands for: `unit << (size_log - 1)`, or 0 for 0.

    Raises:
        UsageError: not 0 to 0xd.
    """
    if not 0 <= size_log <= 0xD:
        raise UsageError(f"SIZE_LOG {size_log} is an invalid value", "0 to 0xd")
    return unit << (size_log - 1) if size_log else 0


@dataclass(frozen=True, slots=True)
class LocalLayout:
    """Local memory of a chip.

    Args:
        group: the order of blocks; its block is 0x100 bytes a half warp.
        halfwarps: 1 (16 lanes) or 2 (32 lanes).
    """

    group: Grouping
    halfwarps: int

    @classmethod
    def make(
        cls, chip: Chip, hierarchy: Hierarchy, *, halfwarps: int, log_alloc: int, no_clamp: int
    ) -> LocalLayout:
        """A layout of its configuration; raises UsageError on an invalid value."""
        if halfwarps not in (1, 2):
            raise UsageError(f"{halfwarps} half warps are impossible", "1 or 2")
        return cls(Grouping(chip, hierarchy, log_alloc, no_clamp, 0x100 * halfwarps), halfwarps)

    @property
    def lanes(self) -> int:
        """Lanes per warp, 16 or 32."""
        return HALF_LANES * self.halfwarps

    def check(self, addr: int, lane: int) -> None:
        """Raise UsageError for an l[] address or lane that does not exist."""
        if not 0 <= addr < LOCAL_SPACE:
            raise UsageError(f"l[0x{addr:x}] does not exist", "l[] addresses are 16-bit")
        if not 0 <= lane < self.lanes:
            raise UsageError(f"lane {lane} does not exist with {self.lanes} lanes per warp")

    def address(self, addr: int, lane: int, warp: int, mp: int, tp: int) -> int:
        """The address, relative to LOCAL_ADDRESS, of byte `addr` of a thread's l[]."""
        self.check(addr, lane)
        sources = {"addr": addr, "lane": lane}
        in_block = 0
        for field, source, bits in LOCAL_IN_BLOCK:
            in_block = field.put(in_block, bits.get(sources[source]))
        return (self.group.base(addr >> 4, warp, mp, tp) + in_block) & WORD

    def literal_c(self, addr: int, lane: int, warp: int, mp: int, tp: int) -> int:
        """What the notes' C expression gives when read with C's precedence."""
        self.check(addr, lane)
        start = self.group.base(addr >> 4, warp, mp, tp) + (lane >> 4) * 0x100
        return (((start + (addr & 0xC)) << 4) | (lane & 0xF) << 2 | (addr & 3)) & WORD

    def position(self, address: int) -> LocalPosition:
        """Whose byte lies at an address; the inverse of `address` below 64 KiB a thread.

        Raises:
            UsageError: beyond the last byte any thread can have.
        """
        outer, owner, offset = self.group.split(address)
        if outer > (LOCAL_SPACE - 1) >> 4:
            raise UsageError(f"address 0x{address:x} is beyond 64 KiB of l[] per thread")
        parts = {"addr": 0, "lane": 0}
        for field, source, bits in LOCAL_IN_BLOCK:
            parts[source] = bits.put(parts[source], field.get(offset))
        return LocalPosition(outer << 4 | parts["addr"], parts["lane"], owner)

    def size(self, size_log: int) -> int:
        """Bytes of the whole allocation for a LOCAL_SIZE_LOG value."""
        return size_of_log(size_log, 16) // 16 * self.group.tps_size

    def words(self, addr: int, size: int, lane: int, warp: int, mp: int, tp: int) -> list[int]:
        """Addresses of the parts of one access, 4 bytes (or fewer) each.

        Neighbouring words of l[] lie 64 bytes apart, so a wide access touches several places.

        Raises:
            UsageError: size not 1, 2, 4, 8 or 16, or the address not aligned to it.
        """
        if size not in (1, 2, 4, 8, 16):
            raise UsageError(f"an access of {size} bytes does not exist", "1, 2, 4, 8 or 16")
        if addr % size:
            raise UsageError(f"l[0x{addr:x}] is not aligned to {size} bytes")
        return [self.address(addr + i, lane, warp, mp, tp) for i in range(0, size, 4)]


@dataclass(frozen=True, slots=True)
class StackLayout:
    """Stack memory of a chip: blocks of four entries of one warp."""

    group: Grouping

    @classmethod
    def make(
        cls, chip: Chip, hierarchy: Hierarchy, *, log_alloc: int, no_clamp: int
    ) -> StackLayout:
        """A layout of its configuration; raises UsageError on an invalid value."""
        return cls(Grouping(chip, hierarchy, log_alloc, no_clamp, STACK_BLOCK))

    def address(self, entry: int, warp: int, mp: int, tp: int) -> int:
        """The address, relative to STACK_ADDRESS, of an entry."""
        if entry < 0:
            raise UsageError(f"stack entry {entry} does not exist")
        block, index = divmod(entry, ENTRIES_PER_BLOCK)
        return (self.group.base(block, warp, mp, tp) + index * ENTRY_BYTES) & WORD

    def position(self, address: int) -> StackPosition:
        """Whose entry lies at an address."""
        outer, owner, offset = self.group.split(address)
        index, byte = divmod(offset, ENTRY_BYTES)
        return StackPosition(outer * ENTRIES_PER_BLOCK + index, byte, owner)

    def size(self, size_log: int) -> int:
        """Bytes of the whole allocation for a STACK_SIZE_LOG value."""
        return stack_entries(size_log) // ENTRIES_PER_BLOCK * self.group.tps_size


def stack_entries(size_log: int) -> int:
    """Entries per warp for a STACK_SIZE_LOG value: at least one block unless 0 (disabled)."""
    entries = size_of_log(size_log, 1)
    return max(entries, ENTRIES_PER_BLOCK) if entries else 0
