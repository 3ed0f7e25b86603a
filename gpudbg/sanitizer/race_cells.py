"""Packed race records: 64 bits for each access that a granule of memory keeps.

Records of plain accesses are stored packed and unpacked when their granule is accessed.  A granule
with any other record (strong, of an asynchronous agent, of an unusual set of lanes) is kept
unpacked.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final

import numpy as np

from gpudbg.mem.lanes import FULL
from gpudbg.sanitizer.launched_warps import MOST_WARPS, LaunchedWarps, WarpPlace
from gpudbg.sanitizer.race_records import AccessRecord, Cell
from gpudbg.sanitizer.race_window import BUCKET, OPEN, RaceWindow
from gpudbg.sm.asynchronous.events import ByteRuns

_PAGE_SHIFT: Final = 10
_PAGE: Final = 1 << _PAGE_SHIFT
"""Granules whose words are stored together."""
_PAGE_BYTES: Final = 400
"""Of a page beside its words."""
_PLANES: Final = 8
"""Most packed words of a granule."""
_OPEN: Final = 64
"""Granules of a memory collected before packing, at least: several parts of one access are packed
together."""
_GRANULE_BYTES: Final = 350
_RECORD_BYTES: Final = 200
"""Of an unpacked granule, and of each of its records."""
_GROUPS: Final = (
    *(1 << n for n in range(32)),
    *(0xF << n for n in range(0, 32, 4)),
    *(0x3 << n for n in range(0, 32, 2)),
    *(0xFF << n for n in range(0, 32, 8)),
    *(0xFFFF << n for n in range(0, 32, 16)),
    FULL,
)
"""Sets of lanes by their code."""
_CODES: Final = {lanes: code for code, lanes in enumerate(_GROUPS)}
_SPREAD: Final = {
    (1 << lane, (1 << size) - 1): len(_GROUPS) + n
    for n, (lane, size) in enumerate(
        [*((lane, 1) for lane in range(0, 32, 4)), *((lane, 2) for lane in range(0, 32, 2))]
    )
}
"""(lanes, bytes) of the first of several records -> code, where neighbouring lanes of one access
have each its part of a granule: bytes or halves."""
_SPREAD_FROM: Final = {code: first for first, code in _SPREAD.items()}
_BYTES_AT, _SITE_AT, _TICK_AT, _WARP_AT, _END = 7, 11, 20, 40, 64
"""Bit positions in a packed word of the granule's bytes, the site, the tick and the warp; lanes are
at bit 0.
"""
_LANES: Final = (1 << _BYTES_AT) - 1
_SITES: Final = 1 << _TICK_AT - _SITE_AT
_TICKS: Final = 1 << _WARP_AT - _TICK_AT
_WARPS: Final = 1 << _END - _WARP_AT


_Site = tuple[int, str, int, bool, bool, bool]
"""Code address, kind, bytes of a lane, path, unread, whether the value before is known."""


class _Page:
    """Packed records of neighbouring granules: the first of each, the second, and so on."""

    __slots__ = ("values", "words")

    def __init__(self) -> None:
        self.words: list[array[int]] = []
        self.values: list[array[int] | None] = []

    @property
    def size(self) -> int:
        """Bytes of memory."""
        filled = sum(values is not None for values in self.values)
        return _PAGE_BYTES + _PAGE * (8 * len(self.words) + 4 * filled)

    def put(self, at: int, packed: list[tuple[int, int]]) -> None:
        """Set the records of a granule."""
        while len(self.words) < len(packed):
            self.words.append(array("Q", bytes(8 * _PAGE)))
            self.values.append(None)
        for n, words in enumerate(self.words):
            word, value = packed[n] if n < len(packed) else (0, 0)
            words[at] = word
            values = self.values[n]
            if value and values is None:
                values = self.values[n] = array("I", bytes(4 * _PAGE))
            if values is not None:
                values[at] = value

    def get(self, at: int) -> Iterator[tuple[int, int]]:
        """Those of a granule, with the values before."""
        for words, values in zip(self.words, self.values, strict=True):
            word = words[at]
            if not word:
                return
            yield word, 0 if values is None else values[at]


class Cells:
    """The granules of a memory that were accessed, by address / 4.

    What `get` gives is the caller's to change until `put`.

    Attributes:
        shared: it is shared memory.
    """

    def __init__(self, launched: LaunchedWarps, window: RaceWindow, *, shared: bool) -> None:
        """Args: window: what bounds the memory of the records."""
        self._launched, self._window, self.shared = launched, window, shared
        self._pages: dict[int, _Page] = {}
        self._rich: dict[int, Cell] = {}
        self._packed = 0
        self._open: dict[int, Cell] = {}
        self._sites: dict[_Site, int] = {}
        self._by_number: list[_Site] = [(0, "", 0, False, False, False)]
        window.add(self)

    def __len__(self) -> int:
        self._close()
        return len(self._rich) + self._packed

    def numbers(self) -> Iterator[int]:
        """Numbers of all granules."""
        self._close()
        yield from self._rich
        for number, page in self._pages.items():
            first = number << _PAGE_SHIFT
            for at, word in enumerate(page.words[0]):
                if word:
                    yield first + at

    def get(self, number: int) -> Cell | None:
        """A granule; None: it was not accessed."""
        found = self._open.get(number) or self._rich.get(number)
        if found is not None:
            return found
        page = self._pages.get(number >> _PAGE_SHIFT)
        if page is None or not page.words[0][number & _PAGE - 1]:
            return None
        made = Cell()
        for word, value in page.get(number & _PAGE - 1):
            records = self._records(word, value)
            (made.writes if records[0].writes else made.reads).extend(records)
        return made

    def put(self, number: int, cell: Cell) -> None:
        """Store a granule's present state."""
        window = self._window
        if number not in self._open:
            if len(self._open) >= _OPEN and window.opened >= OPEN:
                self._close()
            window.opened += 1
        self._open[number] = cell
        size = _GRANULE_BYTES + _RECORD_BYTES * (len(cell.writes) + len(cell.reads))
        if size != cell.size:
            window.grown(size - cell.size)
            cell.size = size

    def _close(self) -> None:
        """Pack the collected granules."""
        given, self._open = self._open, {}
        self._window.opened -= len(given)
        for number, cell in given.items():
            self._keep(number, cell)

    def _keep(self, number: int, cell: Cell) -> None:
        packed = self._words(cell)
        page = self._pages.get(number >> _PAGE_SHIFT)
        at = number & _PAGE - 1
        was = page is not None and page.words[0][at] != 0
        known = was or number in self._rich
        if packed is None:
            self._rich[number] = cell
            if page is not None and was:
                page.put(at, [])
                self._packed -= 1
            self._window.grown(0, not known)
            return
        self._rich.pop(number, None)
        before = page.size if page is not None else 0
        if page is None:
            page = self._pages[number >> _PAGE_SHIFT] = _Page()
        page.put(at, packed)
        self._packed += not was
        self._window.grown(page.size - before - cell.size, not known)

    # ---- memory ------------------------------------------------------------------------
    def sizes(self) -> Iterator[tuple[int, int]]:
        """(number, bytes of memory) of granules, of packed ones in parts of pages."""
        self._close()
        for number, cell in self._rich.items():
            yield number, cell.size
        for number, page in self._pages.items():
            used = [n for n in range(0, _PAGE, BUCKET) if any(page.words[0][n : n + BUCKET])]
            for n in used:
                yield (number << _PAGE_SHIFT) + n, page.size // len(used)

    def keep_below(self, limit: int) -> None:
        """Drop the records of granules from a number on."""
        self._close()
        for number in [n for n in self._rich if n >= limit]:
            self._window.grown(-self._rich.pop(number).size)
        for number in [n for n in self._pages if n << _PAGE_SHIFT >= limit]:
            page = self._pages.pop(number)
            self._window.grown(-page.size)
            self._packed -= sum(map(bool, page.words[0]))
        page_of = self._pages.get(limit >> _PAGE_SHIFT)
        for at in range(limit & _PAGE - 1, _PAGE) if page_of is not None else ():
            assert page_of is not None
            if page_of.words[0][at]:
                page_of.put(at, [])
                self._packed -= 1

    def clear(self) -> None:
        """Drop all records."""
        self._window.opened -= len(self._open)
        held = sum(cell.size for cell in {**self._rich, **self._open}.values())
        self._window.grown(-held - sum(page.size for page in self._pages.values()))
        self._open, self._rich, self._pages, self._packed = {}, {}, {}, 0

    # ---- records -----------------------------------------------------------------------
    def _words(self, cell: Cell) -> list[tuple[int, int]] | None:
        """The packed words of a granule; None where it cannot be packed."""
        records, at = [*cell.writes, *cell.reads], 0
        found: list[tuple[int, int]] = []
        while at < len(records):
            record = records[at]
            code, count = _CODES.get(record.lanes), 1
            spread = _SPREAD.get((record.lanes, record.bytes))
            if spread is not None:
                parts = _parts(record.lanes, record.bytes)
                if _are_of_one(records[at : at + len(parts)], parts):
                    code, count = spread, len(parts)
            word = self._word(record, code)
            if not word or len(found) == _PLANES:
                return None
            found.append((word, record.value or 0))
            at += count
        return found or None

    def _word(self, record: AccessRecord, code: int | None) -> int:
        """The packed word of a record; 0 where it cannot be packed."""
        warp = record.warp - self._launched.base
        if code is None or record.strong or record.agent is not None or record.tick >= _TICKS:
            return 0
        if not 0 <= warp < _WARPS or not record.bytes:
            return 0
        site = (
            record.pc, record.kind, record.size, record.read_only, record.unread,
            record.value is not None,
        )  # fmt: skip
        number = self._sites.get(site)
        if number is None:
            number = len(self._by_number)
            if number >= _SITES:
                return 0
            self._sites[site] = number
            self._by_number.append(site)
        word = record.tick << _TICK_AT | number << _SITE_AT | record.bytes << _BYTES_AT | code
        return warp << _WARP_AT | word

    def _records(self, word: int, value: int) -> list[AccessRecord]:
        code, bytes_ = word & _LANES, word >> _BYTES_AT & 15
        first = _SPREAD_FROM.get(code)
        if first is None:
            return [self._record(word, _GROUPS[code], bytes_, value)]
        return [self._record(word, lanes, part, value) for lanes, part in _parts(*first)]

    def _record(self, word: int, lanes: int, bytes_: int, value: int) -> AccessRecord:
        site = self._by_number[word >> _SITE_AT & _SITES - 1]
        pc, kind, size, read_only, unread, valued = site
        warp = (word >> _WARP_AT) + self._launched.base
        return AccessRecord(
            warp, lanes, word >> _TICK_AT & _TICKS - 1, bytes_, pc, 0, kind,
            value if valued else None, WarpPlace(warp, self._launched),
            (word >> _WARP_AT) // MOST_WARPS, size, read_only=read_only, unread=unread,
        )  # fmt: skip


def _parts(lanes: int, bytes_: int) -> list[tuple[int, int]]:
    """(lanes, bytes) of the records of an access of which neighbouring lanes have a part each."""
    size = bytes_.bit_length()
    return [(lanes << n, bytes_ << n * size) for n in range(4 // size)]


def _are_of_one(records: list[AccessRecord], parts: list[tuple[int, int]]) -> bool:
    """Whether records are exactly these parts of one access."""
    if [(r.lanes, r.bytes) for r in records] != parts:
        return False
    first = records[0]
    return all(
        (r.warp, r.tick, r.pc, r.kind, r.value, r.strong, r.agent)
        == (first.warp, first.tick, first.pc, first.kind, first.value, first.strong, first.agent)
        for r in records[1:]
    )


# ---- ranges ----------------------------------------------------------------------------
def cells_of(extent: ByteRuns, cells: Cells) -> list[tuple[int, int, Cell]]:
    """(number, mask of bytes, cell) of the granules of an extent that are kept."""
    total = int((extent.ends - extent.starts).sum())
    found = []
    if total // 4 > len(cells):
        low, high = extent.low >> 2, (extent.high + 3) >> 2
        numbers = np.array([n for n in cells.numbers() if low <= n < high], np.int64)
        if not len(numbers):
            return []
        at = np.searchsorted(extent.ends, 4 * numbers, "right")
        at = np.minimum(at, len(extent.ends) - 1)
        rows = zip(
            numbers.tolist(), extent.starts[at].tolist(), extent.ends[at].tolist(), strict=True
        )
        for number, start, end in rows:
            mask, cell = _mask(number, start, end), cells.get(number)
            if mask and cell is not None:
                found.append((number, mask, cell))
        return found
    for start, end in zip(extent.starts.tolist(), extent.ends.tolist(), strict=True):
        for number in range(start >> 2, (end + 3) >> 2):
            cell = cells.get(number)
            if cell is not None:
                found.append((number, _mask(number, start, end), cell))
    return found


def _mask(number: int, start: int, end: int) -> int:
    """Mask of the granule's bytes that a run covers."""
    low, high = max(start, 4 * number), min(end, 4 * number + 4)
    return ((1 << high - low) - 1) << (low & 3) if high > low else 0
