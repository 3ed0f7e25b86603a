"""Executed instructions and accesses in batches: what observers of `instructions` and `accesses`
are given.

Both engines fill the same buffers.  A row is three 64-bit words for each warp instruction: its pc,
the mask of its lanes, and the CTA's number (high half) with the warp's index in it (lowest 8 bits),
slot (from bit 8) and SM (from bit 20).  For each access of a warp it is 35: its pc; from the lowest
bit the mask of its lanes (32 bits), what it is (16, `kind_of`) and the warp's index in the CTA;
slot (from bit 8) and SM (from bit 20) of the warp, and the CTA's number (high half); and the
addresses of 32 lanes.  The lowest bit of the third word says that all 32 lanes are active,
whatever their guard.

Rows of `ordered` are those of accesses, as they are emitted, and between them rows of kind `sync`
for instructions that order accesses or ask something of the lanes (`sync_of`); `near_ordered` is
the same without accesses to global memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass
from gpudbg.mem.lanes import FULL
from gpudbg.mem.windows import SM_5X, WINDOW_BYTES, AddressLayout
from gpudbg.sm.state import WarpState

ROWS: Final = 16384
"""Instructions of a batch at most."""
WORDS: Final = 3
ROW_BYTES: Final = 8 * WORDS
ACCESSES: Final = 4096
"""Accesses of a batch at most (1.1 MB)."""
ACCESS_WORDS: Final = WORDS + 32
ACCESS_BYTES: Final = 8 * ACCESS_WORDS
BATCHED: Final = ("instructions", "accesses", "ordered", "near_ordered")
"""Events that come in batches."""
KINDS: Final = ("load", "store", "atomic", "sync")
SYNCS: Final = ("barrier", "other_barrier", "warp", "shuffle", "masked_warp")
"""What a row of kind `sync` is, in the place of a space: BAR.SYNC or BAR.RED of barrier 0 by all
threads, another BAR, `__syncwarp` of all lanes, a shuffle, `__syncwarp` with a mask."""
SPACES: Final = ("global", "shared", "local", "generic", "cluster")
"""`cluster`: shared memory of another CTA, by addresses that have its rank in bits 24 to 31."""
MOST_SMS: Final = 1 << 9
"""Most SMs that rows can distinguish."""
PLACE: Final = MOST_SMS - 1 << 20 | 0xFF << 8
"""SM and slot in the third word of a row, and in SR_VirtId."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """Fields that every kind of row begins with: code address and lane mask."""

    rows: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def pc(self) -> npt.NDArray[np.int64]:
        """Code addresses."""
        return self.rows[:, 0]

    @property
    def lanes(self) -> npt.NDArray[np.uint32]:
        """Masks of the lanes that executed; 0: guarded off, which an access never is."""
        return self.rows[:, 1].astype(np.uint32)

    @property
    def cta(self) -> npt.NDArray[np.int64]:
        """Numbers of the CTAs in the grid, x fastest."""
        return self.rows[:, 2] >> 32

    @property
    def sm(self) -> npt.NDArray[np.int64]:
        """SMs of the warps."""
        return self.rows[:, 2] >> 20 & MOST_SMS - 1

    @property
    def slot(self) -> npt.NDArray[np.int64]:
        """Slots of the warps on their SMs."""
        return self.rows[:, 2] >> 8 & 0xFF


@dataclass(frozen=True, slots=True)
class Batch(_Rows):
    """Warp instructions in the order they were issued; valid during the call, so copy to keep.

    Attributes:
        rows: int64, (count, 3), see the module text.
    """

    @property
    def warp(self) -> npt.NDArray[np.int64]:
        """Indices of the warps in their CTAs."""
        return self.rows[:, 2] & 0xFF


@dataclass(frozen=True, slots=True)
class AccessBatch(_Rows):
    """Loads, stores and atomics of warps in the order they were issued, one space each.

    Attributes:
        rows: int64, (count, 35), see the module text; a copy of their own.
    """

    @property
    def what(self) -> npt.NDArray[np.int64]:
        """Kind, space and size: `kind_of` takes it apart."""
        return self.rows[:, 1] >> 32 & 0xFFFF

    @property
    def warp(self) -> npt.NDArray[np.int64]:
        """Indices of the warps in their CTAs."""
        return self.rows[:, 1] >> 48

    @property
    def addresses(self) -> npt.NDArray[np.uint64]:
        """uint64, (count, 32): of shared and local memory offsets; lanes that do not take part
        have any value."""
        return self.rows[:, WORDS:].view(np.uint64)


def what_of(kind: str, space: str, size: int) -> int:
    """The 16 bits that say what an access is."""
    return KINDS.index(kind) | SPACES.index(space) << 4 | size << 8


def sync_of(insn: Any) -> int | None:
    """What an instruction is in `ordered`, but for its accesses; None: it has no row there."""
    op = insn.op
    if op == "BAR":
        whole = _WHOLE_BARRIER.search(insn.text()) is not None
        return _SYNC | SYNCS.index("barrier" if whole else "other_barrier") << 4
    if op == "WARPSYNC" and not _WHOLE_WARP.search(insn.text()):
        return _SYNC | SYNCS.index("masked_warp") << 4
    if op in ("WARPSYNC", "NOP"):
        return _SYNC | SYNCS.index("warp") << 4
    if op == "SHFL":
        return _SYNC | SYNCS.index("shuffle") << 4
    return None


_SYNC: Final = KINDS.index("sync")
_WHOLE_WARP: Final = re.compile(r"WARPSYNC(\.ALL| 0xffffffff)")
_WHOLE_BARRIER: Final = re.compile(
    r"BAR\.(SYNC(\.DEFER_BLOCKING)? (0x)?0|RED[.A-Z]* (0x)?0, !?U?P\w+) *;?$"
)


def kind_of(what: int) -> tuple[str, str, int]:
    """(Kind, space, size) of an access."""
    return KINDS[what & 15], SPACES[what >> 4 & 15], what >> 8


class Buffer:
    """Rows of one kind; the first row of `words` holds the number of those that follow.

    Attributes:
        words: int64, (1 + rows, words of a row).
    """

    def __init__(self, rows: int, words: int) -> None:
        self.words = np.zeros((1 + rows, words), np.int64)

    @property
    def count(self) -> int:
        """Rows that are filled."""
        return int(self.words[0, 0])

    @count.setter
    def count(self, value: int) -> None:
        self.words[0, 0] = value

    @property
    def full(self) -> bool:
        """No row is left."""
        return self.count >= len(self.words) - 1

    def take(self) -> npt.NDArray[np.int64]:
        """What there is, valid until the next row is written."""
        count, self.count = self.count, 0
        return self.words[1 : 1 + count]


class Trace:
    """The buffers of one launch, and who reads them.

    Attributes:
        kinds: what is noted, of `BATCHED`.
        instructions, accesses: rows, where observers want them.
        ordered, near: rows of accesses and of what orders them, where observers want them.
        readers: hooks that take a `Batch`.
        access_readers: hooks that take an `AccessBatch`.
        ordered_readers, near_readers: hooks that take such rows, valid during the call.
        drain: addresses of a compiled function that takes the rows in place of the only hook, of
            the only kind there is, and of its context (`Observer.drain`).
    """

    def __init__(self, kinds: tuple[str, ...] = BATCHED, layout: AddressLayout = SM_5X) -> None:
        """Args: layout: where shared and local memory are in generic addresses."""
        self.kinds = kinds
        self.instructions = Buffer(ROWS, WORDS) if "instructions" in kinds else None
        self.accesses = Buffer(ACCESSES, ACCESS_WORDS) if "accesses" in kinds else None
        self.ordered = Buffer(ACCESSES, ACCESS_WORDS) if "ordered" in kinds else None
        self.near = Buffer(ACCESSES, ACCESS_WORDS) if "near_ordered" in kinds else None
        self.readers: tuple[Callable[[Batch], None], ...] = ()
        self.access_readers: tuple[Callable[[AccessBatch], None], ...] = ()
        self.ordered_readers: tuple[Callable[[npt.NDArray[np.int64]], None], ...] = ()
        self.near_readers: tuple[Callable[[npt.NDArray[np.int64]], None], ...] = ()
        self.drain: tuple[int, int] | None = None
        self._layout = layout

    def buffers(self) -> dict[str, Buffer]:
        """Buffers by kind."""
        buffers = (self.instructions, self.accesses, self.ordered, self.near)
        all_ = zip(BATCHED, buffers, strict=True)
        return {kind: buffer for kind, buffer in all_ if buffer is not None}

    def instruction(self, warp: WarpState, pc: int, instruction: Any, lanes: int) -> None:
        """Add an instruction; called by the step engine."""
        buffer = self.instructions
        assert buffer is not None
        count = buffer.count + 1
        buffer.words[count] = (pc, lanes, _place(warp) | warp.index)
        buffer.count = count
        if buffer.full:
            self._tell_instructions()

    def access(
        self, warp: WarpState, space: str, kind: str, address: Any, lanes: int, size: int
    ) -> None:
        """Add an access; called by the step engine."""
        what = what_of(kind, space, size)
        if self.accesses is not None:
            _add(self.accesses, warp, warp.pc, what, lanes, address)
            if self.accesses.full:
                self._tell_accesses()
        for buffer in (self.ordered, self.near if space != "global" else None):
            if buffer is not None:
                _add(buffer, warp, warp.pc, what, lanes, address)
                if buffer.full:
                    self._tell_ordered()

    def order(self, warp: WarpState, pc: int, instruction: Any, lanes: int) -> None:
        """Add an instruction that may order accesses; called by the step engine."""
        what = sync_of(instruction)
        for buffer in (self.ordered, self.near) if what is not None else ():
            if buffer is not None:
                assert what is not None
                _add(buffer, warp, pc, what, lanes, 0)
                if buffer.full:
                    self._tell_ordered()

    def flush(self, event: str = "") -> None:
        """Hand over all rows before an event; an instruction's own events do not split a batch."""
        if event != "instruction":
            self._tell_instructions()
        self._tell_accesses()
        self._tell_ordered()

    # Cleared first: a reader that raises does not get them again.
    def _tell_instructions(self) -> None:
        if self.instructions is not None and self.instructions.count:
            batch = Batch(self.instructions.take())
            for reader in self.readers:
                reader(batch)

    def _tell_accesses(self) -> None:
        if self.accesses is not None and self.accesses.count:
            batch = AccessBatch(_by_space(self.accesses.take(), self._layout))
            for reader in self.access_readers:
                reader(batch)

    def _tell_ordered(self) -> None:
        both = (self.ordered, self.ordered_readers), (self.near, self.near_readers)
        for buffer, readers in both:
            if buffer is not None and buffer.count:
                rows = buffer.take()
                for reader in readers:
                    reader(rows)


def _add(buffer: Buffer, warp: WarpState, pc: int, what: int, lanes: int, address: Any) -> None:
    """Add a row of an access, or of `ordered`."""
    count = buffer.count + 1
    row = buffer.words[count]
    place = _place(warp) | (warp.active == FULL)
    row[:WORDS] = (pc, lanes | what << 32 | warp.index << 48, place)
    row[WORDS:].view(np.uint64)[:] = address
    buffer.count = count


def _place(warp: WarpState) -> int:
    """The third word of a row, without the warp's index."""
    return warp.cta.number << 32 | warp.sm << 20 | warp.slot << 8


def _by_space(rows: npt.NDArray[np.int64], layout: AddressLayout) -> npt.NDArray[np.int64]:
    """A copy without accesses of no lane, generic loads and stores taken apart by their spaces in
    the order in which the spaces are accessed."""
    what = rows[:, 1] >> 32
    generic = (what >> 4 & 15 == SPACES.index("generic")) & (what & 15 != KINDS.index("atomic"))
    if generic.any():
        given, where = rows[generic], np.flatnonzero(generic)
        pieces, places = [rows[~generic]], [np.flatnonzero(~generic)]
        into = given[:, WORDS:].view(np.uint64) - np.uint64(layout.shared_window)
        shared = into < layout.shared_bytes
        local = given[:, WORDS:].view(np.uint64) - np.uint64(layout.local_window) < WINDOW_BYTES
        offsets = into & np.uint64(WINDOW_BYTES - 1)
        parts = {"shared": shared, "local": local, "global": ~local & ~shared}
        for space, lanes in parts.items():
            part = given.copy()
            mask = np.packbits(lanes, axis=1, bitorder="little").view("<u4")[:, 0]
            clear = ~np.int64(FULL | 15 << 36)
            part[:, 1] = given[:, 1] & clear | given[:, 1] & mask | SPACES.index(space) << 36
            if space != "global":
                part[:, WORDS:] = offsets.view(np.int64)
            pieces.append(part)
            places.append(where)
        rows = np.concatenate(pieces)[np.argsort(np.concatenate(places), kind="stable")]
    # Exactly one copy: the buffer is filled again meanwhile.
    found: npt.NDArray[np.int64] = rows[rows[:, 1] & FULL != 0]
    return found
