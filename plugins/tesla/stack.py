"""Stack entries of a warp: their words, a listing of a memory dump, and the spill model.

Source: NV50 CUDA notes, "Stack and local memory": an entry is two words, entries are grouped
in blocks of four, the MP holds up to three blocks per warp (seen on NV86) and spills further
blocks one at a time.  Which block leaves and when one returns is not documented; the model
here spills the oldest and fetches a block when its entry becomes the top.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any, Protocol

from gpudbg.bits import Field
from gpudbg.errors import LoadError, UsageError

from .mangle import ENTRIES_PER_BLOCK, ENTRY_BYTES, StackLayout

TARGET = Field(21, 0)
NUMBER_COPY = Field(23, 22)
NUMBER_BITS = Field(2, 1)
WARP = Field(28, 24)
TYPE = Field(31, 29)
RESIDENT_BLOCKS = 3

#: Type codes.  2, 3 and 6 are in the notes; 1, 4 and 5 come from later documentation.
TYPES = {
    1: "branch",
    2: "call",
    3: "call limited",
    4: "prebreak",
    5: "quadon",
    6: "joinat",
}
TYPE_MEANINGS = {
    1: "the other side of a divergent branch",
    2: "call without 0x40 in its second word",
    3: "call with 0x40 in its second word",
    4: "target of brk",
    5: "a whole-quad section",
    6: "rejoin point",
}
TYPE_CODES = {name: code for code, name in TYPES.items()}
DOCUMENTED_TYPES = frozenset({2, 3, 6})


@dataclass(frozen=True, slots=True)
class TeslaStackEntry:
    """One entry.

    Args:
        type: code, a key of `TYPES` when known.
        target: return or rejoin address in bytes, relative to the code segment.
        number: the entry's number in its stack; only bits 2:1 are in the words.
        warp: warp id.
        mask: active lanes to restore.
    """

    type: int
    target: int
    number: int
    warp: int
    mask: int

    @property
    def type_name(self) -> str:
        """Name of the type, or `unknown N`."""
        return TYPES.get(self.type, f"unknown {self.type}")

    def encode(self) -> tuple[int, int]:
        """The two words.

        Raises:
            UsageError: target unaligned or beyond 24 bits, or a field out of range.
        """
        if self.target % 4:
            raise UsageError(f"address 0x{self.target:x} is not aligned to 4 bytes")
        if not 0 <= self.target < 1 << 24:
            raise UsageError(f"address 0x{self.target:x} does not fit 24 bits")
        for name, value, bits in (
            ("type", self.type, TYPE.width),
            ("warp", self.warp, WARP.width),
            ("mask", self.mask, 32),
        ):
            if not 0 <= value < 1 << bits:
                raise UsageError(f"{name} 0x{value:x} does not fit {bits} bits")
        if self.number < 0:
            raise UsageError(f"stack entry {self.number} does not exist")
        word = TARGET.put(0, self.target >> 2)
        word = NUMBER_COPY.put(word, NUMBER_BITS.get(self.number))
        word = WARP.put(word, self.warp)
        return TYPE.put(word, self.type), self.mask

    @classmethod
    def decode(cls, word0: int, word1: int, number: int | None = None) -> TeslaStackEntry:
        """The entry of two words; without `number` it is the lowest with those bits 2:1."""
        if number is None:
            number = NUMBER_COPY.get(word0) << NUMBER_BITS.lo
        return cls(TYPE.get(word0), TARGET.get(word0) << 2, number, WARP.get(word0), word1)

    def oddities(self, word0: int, warp: int | None = None) -> list[str]:
        """What in the words contradicts the entry's place or no known type explains."""
        found = []
        if self.type not in TYPES:
            found.append(f"type {self.type} is not known")
        elif self.type not in DOCUMENTED_TYPES:
            found.append(f"type {self.type} is known from later documentation only")
        if NUMBER_COPY.get(word0) != NUMBER_BITS.get(self.number):
            found.append(
                f"bits 23:22 are {NUMBER_COPY.get(word0)}, entry {self.number} would have "
                f"{NUMBER_BITS.get(self.number)}"
            )
        if warp is not None and self.warp != warp:
            found.append(f"written by warp {self.warp}, not {warp}")
        return found

    def to_json(self) -> dict[str, Any]:
        """Fields by name."""
        return {
            "type": self.type,
            "type_name": self.type_name,
            "target": self.target,
            "target_hex": f"0x{self.target:06x}",
            "entry": self.number,
            "warp": self.warp,
            "mask": self.mask,
            "mask_hex": f"0x{self.mask:08x}",
        }


@dataclass(frozen=True, slots=True)
class DumpRow:
    """An entry found in a dump: where, its words, the entry, what is odd about it."""

    address: int
    words: tuple[int, int]
    entry: TeslaStackEntry
    mp: int
    tp: int
    oddities: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Everything by name."""
        return {
            **self.entry.to_json(),
            "mp": self.mp,
            "tp": self.tp,
            "address": self.address,
            "address_hex": f"0x{self.address:08x}",
            "words": [f"0x{word:08x}" for word in self.words],
            "oddities": list(self.oddities),
        }


def list_dump(
    data: bytes,
    layout: StackLayout,
    *,
    path: str = "<dump>",
    warp: int | None = None,
    mp: int | None = None,
    tp: int | None = None,
    base: int = 0,
) -> list[DumpRow]:
    """The entries in a dump of stack memory, by warp and entry number.

    Only spilled blocks are in memory, and a popped block's old words stay there: a row says
    what the words say, not that the entry is live.  Pairs of zero words are no entries.

    Args:
        data: the dump; little-endian words.
        layout: the machine.
        path: its name in messages.
        warp: only the memory this warp uses; mp and tp likewise.
        base: segment-relative address of the first byte.

    Raises:
        LoadError: the dump is not made of whole entries.
    """
    if len(data) % ENTRY_BYTES:
        raise LoadError(
            f"a stack dump is made of {ENTRY_BYTES}-byte entries; {len(data)} bytes are not",
            path=path,
            offset=len(data) // ENTRY_BYTES * ENTRY_BYTES,
        )
    if base % ENTRY_BYTES:
        raise UsageError(f"dump base 0x{base:x} is not aligned to an entry")
    rows = []
    for index, words in enumerate(struct.iter_unpack("<II", data)):
        if words == (0, 0):
            continue
        address = base + index * ENTRY_BYTES
        position = layout.position(address)
        owner = position.owner
        if owner is None or not _wanted((mp, tp), (owner.mp, owner.tp)):
            continue
        if warp is not None and warp not in owner.warps:
            continue
        entry = TeslaStackEntry.decode(words[0], words[1], position.entry)
        oddities = entry.oddities(words[0])
        if entry.warp not in owner.warps:
            oddities.append(f"warp {entry.warp} has no memory here, warp {owner.warp} has")
        rows.append(DumpRow(address, words, entry, owner.mp, owner.tp, tuple(oddities)))
    rows.sort(key=lambda row: (row.tp, row.mp, row.entry.warp, row.entry.number))
    return rows


def _wanted(filters: tuple[int | None, ...], ids: tuple[int, ...]) -> bool:
    return all(want is None or want == have for want, have in zip(filters, ids, strict=True))


class WordStore(Protocol):
    """Where spilled blocks go: words by segment-relative byte address."""

    def get(self, address: int, default: int, /) -> int:
        """The word at an address."""
        ...

    def __setitem__(self, address: int, value: int, /) -> None:
        """Store a word."""
        ...


@dataclass(slots=True)
class WarpStack:
    """The stack of one warp with its on-chip blocks and its memory.

    Args:
        layout: where spilled blocks go.
        warp, mp, tp: whose stack.
        limit: entries it may hold (STACK_SIZE_LOG).
        memory: word address -> word, shared between stacks; aliased warps overwrite each other.
        events: what happened, one line each.
    """

    layout: StackLayout
    warp: int
    mp: int
    tp: int
    limit: int
    memory: WordStore = field(default_factory=dict[int, int])
    events: list[str] = field(default_factory=list)
    depth: int = 0
    resident: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def push(self, type_name: str, target: int, mask: int) -> TeslaStackEntry:
        """Push an entry; spills the oldest on-chip block when a fourth is needed.

        Raises:
            UsageError: unknown type, or the stack is full (STACK_LIMIT; named after the trap).
        """
        if type_name not in TYPE_CODES:
            raise UsageError(f"no stack entry type '{type_name}'", ", ".join(TYPE_CODES))
        if self.depth >= self.limit:
            raise UsageError(f"STACK_LIMIT: warp {self.warp} already has {self.depth} entries")
        entry = TeslaStackEntry(TYPE_CODES[type_name], target, self.depth, self.warp, mask)
        block, index = divmod(self.depth, ENTRIES_PER_BLOCK)
        words = entry.encode()
        if index == 0:
            if len(self.resident) == RESIDENT_BLOCKS:
                self._spill(min(self.resident))
            self.resident[block] = []
        self.resident[block].append(words)
        self.depth += 1
        return entry

    def pop(self, *types: str) -> TeslaStackEntry:
        """Pop the top entry, fetching its block from memory when it was spilled.

        Raises:
            UsageError: STACK_UNDERFLOW when empty, STACK_MISMATCH when the top's type is none
                of `types` (inferred from the MP trap of that name).
        """
        if self.depth == 0:
            raise UsageError(f"STACK_UNDERFLOW: the stack of warp {self.warp} is empty")
        number = self.depth - 1
        block = number // ENTRIES_PER_BLOCK
        words = self._top_block(block)[number % ENTRIES_PER_BLOCK]
        entry = TeslaStackEntry.decode(words[0], words[1], number)
        if types and entry.type_name not in types:
            raise UsageError(
                f"STACK_MISMATCH: the top of warp {self.warp} is {entry.type_name}, "
                f"not {' or '.join(types)}"
            )
        self.resident[block].pop()
        if not self.resident[block]:
            del self.resident[block]
        self.depth -= 1
        return entry

    def entries(self) -> list[TeslaStackEntry]:
        """Every live entry from the bottom, read from the chip or from memory."""
        found = []
        for number in range(self.depth):
            block, index = divmod(number, ENTRIES_PER_BLOCK)
            held = self.resident.get(block)
            words = held[index] if held is not None else self._load(number)
            found.append(TeslaStackEntry.decode(words[0], words[1], number))
        return found

    def _top_block(self, block: int) -> list[tuple[int, int]]:
        if block not in self.resident:
            first = block * ENTRIES_PER_BLOCK
            self.resident[block] = [self._load(first + i) for i in range(ENTRIES_PER_BLOCK)]
            self.events.append(f"warp {self.warp}: block {block} fetched from memory")
        return self.resident[block]

    def _load(self, number: int) -> tuple[int, int]:
        address = self.layout.address(number, self.warp, self.mp, self.tp)
        return self.memory.get(address, 0), self.memory.get(address + 4, 0)

    def _spill(self, block: int) -> None:
        first = block * ENTRIES_PER_BLOCK
        for index, (word0, word1) in enumerate(self.resident.pop(block)):
            address = self.layout.address(first + index, self.warp, self.mp, self.tp)
            self.memory[address], self.memory[address + 4] = word0, word1
        where = self.layout.address(first, self.warp, self.mp, self.tp)
        self.events.append(f"warp {self.warp}: block {block} spilled to 0x{where:08x}")
