"""Entries of a trace, kept as words in arrays and made into objects when they are asked for."""

from __future__ import annotations

import operator
import struct
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, overload

import numpy as np
import numpy.typing as npt

from gpudbg.answers.words import dim, lane_list
from gpudbg.dataclass import dataclass
from gpudbg.debug.stops.records import CallSite
from gpudbg.debug.symbols import Line
from gpudbg.debug.trace.addresses import AddressTrace
from gpudbg.debug.values.lanes import LANES
from gpudbg.sm import record as rec
from gpudbg.sm.residency.step import coordinates
from gpudbg.sm.trace import kind_of

if TYPE_CHECKING:
    from gpudbg.debug.symbols import Symbols
    from gpudbg.sm.state import WarpState
    from gpudbg.sm.trace import AccessBatch, Batch

Dim3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True, repr=False)
class TraceEntry:
    """One event of one warp.

    Attributes:
        event: "instruction", "access", "barrier", … as in `gpudbg.Observer`.
        sm, warp: hardware coordinates of the warp; `index` is its number in the block.
        block: blockIdx.
        offset: of the instruction, in its kernel.
        where: the same with its function, "saxpy+0x48".
        line: source line (`line.number`, str is "saxpy.cu:7"); None without a line table.
            `file` is its file.
        function: the function the line is in, an inlined one included.
        inlined_at: the calls through which it came into the code, innermost first.
        text: the instruction as nvdisasm prints it.
        lanes: lanes that take part, guards considered; `threads`: their threadIdx.
        kind, space, size: of an access: load, store or atomic; the address space; bytes.
        addresses: of an access: one for each of `lanes`.
        barrier: of a barrier: its number, else None.
        detail: of a trap or fault: its name.

    >>> with session.trace("barrier") as log:
    ...     stop = session.run()
    >>> print(log[0])
    barrier  block_max+0x1d8  first_steps.cu:17  block (0,0,0) warp 0 lanes 0-31  barrier 0
    >>> log[0].line.number, log[0].function, log[0].threads[31]
    (17, 'block_max', (31, 0, 0))
    """

    event: str
    sm: int
    warp: int
    index: int
    block: Dim3
    offset: int
    where: str
    line: Line | None
    text: str
    lanes: tuple[int, ...]
    threads: tuple[Dim3, ...]
    kind: str = ""
    space: str = ""
    size: int = 0
    addresses: tuple[int, ...] = ()
    barrier: int | None = None
    detail: str = ""
    function: str | None = None
    inlined_at: tuple[CallSite, ...] = ()

    @property
    def file(self) -> str | None:
        """Source file; None without a line table."""
        return self.line.file if self.line is not None else None

    def __repr__(self) -> str:
        return f"<TraceEntry {self}>"

    def __str__(self) -> str:
        what = f"{self.kind} {self.space} {self.size} bytes" if self.kind else self.detail
        what = f"barrier {self.barrier}" if self.barrier is not None else what
        lanes = lane_list(sum(1 << i for i in self.lanes))
        who = f"block {dim(self.block)} warp {self.index} lanes {lanes}"
        line = str(self.line or "")
        return "  ".join(filter(None, (self.event, self.where, line, who, what)))

    def at(self, address: int) -> tuple[Dim3, ...]:
        """Threads whose access touches the byte at an address."""
        pairs = zip(self.threads, self.addresses, strict=True) if self.addresses else ()
        return tuple(t for t, low in pairs if low <= address < low + self.size)


DETAILED: Final = ("trap", "fault")
"""Events whose entries have a detail."""


GROWTH: Final = 2048
"""Entries that room is made for at once."""
COLUMNS: Final = ("what", "pc", "lanes", "cta", "warp", "more")
"""Words of an entry in a `TraceLog`: what it is (an index), pc, mask, number of the CTA, place of
the warp, and row of its addresses, number of its barrier or of its detail."""
_WORDS: Final = struct.Struct(f"<{len(COLUMNS)}q")

What = tuple[str, str, str, int]
"""Event, and kind, space, size of an access."""


class TraceLog(Sequence[TraceEntry]):
    """What a trace wrote down, in the order it happened: a sequence of `TraceEntry`.

    Entries are kept as words in arrays and made when they are asked for.  `arrays` gives all of
    them at once, for NumPy.

    An entry takes 48 bytes, an access 20 more where its addresses lie at equal distances from lane
    to lane, else 148 (276 where they are 4 GiB apart); `nbytes` is what the log takes.

    >>> with session.trace("access") as log:
    ...     stop = session.run()
    >>> len(log), log[0].kind, log[0].space
    (95, 'load', 'global')
    >>> log.arrays()["addresses"].shape
    (95, 32)
    """

    def __init__(self, symbols: Symbols, grid: Dim3, block: Dim3) -> None:
        """An empty log of a launch with that many CTAs and threads of one."""
        self._symbols, self._grid, self._block = symbols, grid, block
        self._words = bytearray()
        self._count = 0
        self._addresses = AddressTrace()
        self._whats: dict[What, int] = {}
        self._named: list[What] = []
        self._codes = np.full(1 << 16, -1, np.int32)
        self._details: list[str] = []
        self._facts: dict[int, dict[str, Any]] = {}
        self._lanes: dict[int, tuple[int, ...]] = {}
        self._threads: dict[tuple[int, int], tuple[Dim3, ...]] = {}

    # ---- writing -------------------------------------------------------------------------
    def note(self, what: What, warp: WarpState, pc: int, lanes: int, more: int = 0) -> None:
        """Add an entry; the observers of a trace call it.

        Args:
            what: event, kind, space and size in bytes; "" and 0 where the event has none.
            warp: whose event it is.
            pc: code address of its instruction, in bytes.
            lanes: mask of the lanes that take part, bit 0 for lane 0.
            more: number of the row with its addresses or its detail.
        """
        place = warp.sm << 40 | warp.slot << 20 | warp.index
        at = self._count * _WORDS.size
        if at == len(self._words):
            self._words += bytes(GROWTH * _WORDS.size)
        words = self._number(what), pc, lanes, warp.cta.number, place, more
        _WORDS.pack_into(self._words, at, *words)
        self._count += 1

    def _number(self, what: What) -> int:
        found = self._whats.get(what)
        if found is None:
            found = self._whats[what] = len(self._whats)
            self._named.append(what)
        return found

    def note_access(self, what: What, warp: WarpState, lanes: int, address: Any) -> None:
        """Add an access by the warp's present instruction.

        Args:
            what: as for `note`.
            warp: whose access it is; its pc is taken.
            lanes: mask of the lanes that take part.
            address: byte addresses, an element for each of 32 lanes or one for all.
        """
        row = len(self._addresses)
        self._addresses.add(address, lanes)
        self.note(what, warp, warp.quads[rec.PC], lanes, row)

    def note_instructions(self, batch: Batch) -> None:
        """Add many instructions, an entry for each row of a batch.

        Args:
            batch: as `gpudbg.Observer.instructions` gets it: arrays of one length.
        """
        words = self._rows_of(batch)
        words[:, 0], words[:, 5] = self._number(("instruction", "", "", 0)), 0
        self._extend(words)

    def note_accesses(self, batch: AccessBatch) -> None:
        """Add many accesses, an entry for each row of a batch.

        Args:
            batch: as `gpudbg.Observer.accesses` gets it: arrays of one length, with addresses of
                32 lanes in each row.
        """
        codes = batch.what
        for code in set(codes[self._codes[codes] < 0].tolist()):
            self._codes[code] = self._number(("access", *kind_of(code)))
        row = len(self._addresses)
        words = self._rows_of(batch)
        words[:, 0] = self._codes[codes]
        words[:, 5] = np.arange(row, row + len(batch))
        self._addresses.extend(batch.addresses, batch.lanes)
        self._extend(words)

    def _rows_of(self, batch: Batch | AccessBatch) -> npt.NDArray[np.int64]:
        """Entries of a batch; what they are is written by the caller."""
        words = np.empty((len(batch), len(COLUMNS)), np.int64)
        words[:, 1], words[:, 2], words[:, 3] = batch.pc, batch.lanes, batch.cta
        words[:, 4] = batch.sm << 40 | batch.slot << 20 | batch.warp
        return words

    def _extend(self, words: npt.NDArray[np.int64]) -> None:
        at = self._count * _WORDS.size
        # What room there was behind goes: all of it is made of whole entries.
        self._words[at:] = words.data.cast("B")
        self._count += len(words)

    def note_detail(self, event: str, warp: WarpState, pc: int, lanes: int, detail: str) -> None:
        """Add an entry with a detail, which is its text in `TraceEntry.detail`.

        Args:
            event: "trap", "fault", … as in `gpudbg.Observer`.
            warp, pc, lanes: as for `note`.
            detail: the name of a trap or fault.
        """
        self._details.append(detail)
        self.note((event, "", "", 0), warp, pc, lanes, len(self._details) - 1)

    # ---- reading -------------------------------------------------------------------------
    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> TraceEntry: ...
    @overload
    def __getitem__(self, index: slice) -> list[TraceEntry]: ...
    def __getitem__(self, index: int | slice) -> TraceEntry | list[TraceEntry]:
        if isinstance(index, slice):
            return [self._entry(n) for n in range(*index.indices(len(self)))]
        return self._entry(range(len(self))[index])

    def __iter__(self) -> Iterator[TraceEntry]:
        # It may grow meanwhile, as a list does.
        n = 0
        while n < len(self):
            yield self._entry(n)
            n += 1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TraceLog | list):
            return NotImplemented
        return len(self) == len(other) and all(map(operator.eq, self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<trace of {len(self)} entries>"

    def count(self, value: object) -> int:
        """How many entries equal one.

        Args:
            value: a `TraceEntry`; anything else equals none.
        """
        return sum(entry == value for entry in self)

    def index(self, value: object, start: int = 0, stop: int | None = None) -> int:
        """Position of the first entry that equals one.

        Args:
            value: a `TraceEntry`.
            start, stop: positions to look from and up to, as for a list.

        Raises:
            ValueError: there is none.
        """
        for n in range(*slice(start, stop).indices(len(self))):
            if self[n] == value:
                return n
        raise ValueError(f"{value!r} is not in the trace")

    def clear(self) -> None:
        """Forget what is written down; a trace in progress goes on."""
        del self._words[:], self._details[:]
        self._addresses, self._count = AddressTrace(), 0

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the entries take; the log grows by blocks."""
        return len(self._words) + self._addresses.nbytes

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All entries as arrays, one element each.

        `event`, `kind`, `space` (strings), `size`, `offset` (of the instruction in its kernel),
        `lanes` (uint32 masks), `block` (n, 3), `sm`, `warp` (its slot), `index` (in its block), and
        `addresses`, uint64 (n, 32): of the lanes of an access, else 0.
        """
        words = np.frombuffer(bytes(self._words[: self._count * _WORDS.size]), np.int64)
        rows = words.reshape(-1, len(COLUMNS))
        what, pc, lanes, cta, place, more = rows.T
        whats = self._named or [("", "", "", 0)]
        event, kind, space, size = (np.array(column)[what] for column in zip(*whats, strict=True))
        pcs, which = np.unique(pc, return_inverse=True)
        offsets = [self._symbols.offset(self._symbols.layout.first(int(p))) for p in pcs]
        x, y, _ = self._grid
        addresses = np.zeros((len(rows), LANES), np.uint64)
        mine = event == "access"
        if len(self._addresses):
            there = (lanes[mine, None] >> np.arange(LANES) & 1).astype(bool)
            addresses[mine] = np.where(there, self._addresses.all()[more[mine]], np.uint64(0))
        return {
            "event": event,
            "kind": kind,
            "space": space,
            "size": size,
            "offset": np.array(offsets, np.int64)[which],
            "lanes": lanes.astype(np.uint32),
            "block": np.stack((cta % x, cta // x % y, cta // (x * y)), 1),
            "sm": place >> 40,
            "warp": place >> 20 & 0xFFFFF,
            "index": place & 0xFFFFF,
            "addresses": addresses,
        }

    def _entry(self, n: int) -> TraceEntry:
        number, pc, mask, cta, place, more = _WORDS.unpack_from(self._words, n * _WORDS.size)
        event, kind, space, size = self._named[number]
        lanes, index = self._lanes_of(mask), place & 0xFFFFF
        given: dict[str, Any] = {}
        if event == "access":
            row = self._addresses[more]
            given = {"kind": kind, "space": space, "size": size}
            given["addresses"] = tuple([row[lane] for lane in lanes])
        elif event == "barrier":
            given["barrier"] = more
        elif event in DETAILED:
            given["detail"] = self._details[more]
        return TraceEntry(
            event=event,
            sm=place >> 40,
            warp=place >> 20 & 0xFFFFF,
            index=index,
            block=coordinates(cta, self._grid),
            lanes=lanes,
            threads=self._threads_of(index, mask),
            **self._facts_of(pc),
            **given,
        )

    def _facts_of(self, pc: int) -> dict[str, Any]:
        """The fields of an entry that depend on its pc alone; kept for the next entry."""
        found = self._facts.get(pc)
        if found is None:
            symbols = self._symbols
            at = symbols.layout.first(pc)
            code, place = symbols.instruction(at), symbols.place(at)
            found = self._facts[pc] = {
                "offset": symbols.offset(at),
                "where": symbols.describe(at),
                "line": symbols.line(at),
                "text": code.text if code else "",
                "function": place.function,
                "inlined_at": place.inlined_at,
            }
        return found

    def _lanes_of(self, mask: int) -> tuple[int, ...]:
        found = self._lanes.get(mask)
        if found is None:
            found = self._lanes[mask] = tuple(i for i in range(LANES) if mask >> i & 1)
        return found

    def _threads_of(self, index: int, mask: int) -> tuple[Dim3, ...]:
        found = self._threads.get((index, mask))
        if found is None:
            first = LANES * index
            threads = (coordinates(first + lane, self._block) for lane in self._lanes_of(mask))
            found = self._threads[index, mask] = tuple(threads)
        return found
