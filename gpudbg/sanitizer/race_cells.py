"""Packed race records: 64 bits for each access that a granule of memory keeps, the value before it,
and for strong accesses and copies 64 more.

Records are stored packed and unpacked when their granule is accessed.  A granule with a record of
an unusual set of lanes, or beyond what the bits can tell, is kept unpacked.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from gpudbg.mem.lanes import FULL
from gpudbg.sanitizer.launched_warps import MOST_WARPS, LaunchedWarps, WarpPlace
from gpudbg.sanitizer.race_records import AccessRecord, Agent, Cell
from gpudbg.sanitizer.race_window import BUCKET, OPEN, RaceWindow
from gpudbg.sm.asynchronous.events import ByteRuns

_PAGE_SHIFT: Final = 10
_SHARED_SHIFT: Final = 8
"""Granules whose words are stored together, of global and of shared memory: powers of 2."""
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
_AGENT_BYTES: Final = 250
"""Of the copies of a warp."""
_MANY_BYTES: Final = 200
"""Of a granule with more packed records than pages hold, beside these."""
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


_CHAIN_AT, _LABEL_AT, _AGENT_AT = 18, 32, 48
"""Bit positions in the second word of the chain, and of the label and the number of the agent; the
record's number is at bit 0.
"""
_NUMBERS: Final = 1 << _CHAIN_AT
_CHAINS: Final = 1 << _LABEL_AT - _CHAIN_AT
_LABELS: Final = 1 << _AGENT_AT - _LABEL_AT
_AGENTS: Final = 1 << _END - _AGENT_AT

_Whose = tuple[str, int, bool, str]
"""Kind, number, proxy, words of an agent: the same for all copies of a warp."""
_Site = tuple[int, str, int, bool, bool, int, bool]
"""Code address, kind, bytes of a lane, path, unread, scope, whether the value before is known."""
_Packed = tuple[int, int, int]
"""A record: its word, the value before, the second word or 0."""


class _Page:
    """Packed records of neighbouring granules: the first of each, the second, and so on."""

    __slots__ = ("beside", "count", "words")

    def __init__(self, count: int) -> None:
        """Args: count: granules."""
        self.count = count
        self.words: list[array[int]] = []
        self.beside: list[list[array[int] | None]] = []

    @property
    def size(self) -> int:
        """Bytes of memory."""
        widths = [column.itemsize for pair in self.beside for column in pair if column is not None]
        return _PAGE_BYTES + self.count * (8 * len(self.words) + sum(widths))

    def put(self, at: int, packed: list[_Packed]) -> None:
        """Set the records of a granule."""
        while len(self.words) < len(packed):
            self.words.append(array("Q", bytes(8 * self.count)))
            self.beside.append([None, None])
        for n, words in enumerate(self.words):
            word, *others = packed[n] if n < len(packed) else (0, 0, 0)
            words[at] = word
            columns = self.beside[n]
            for which, value in enumerate(others):
                column = columns[which]
                if value and column is None:
                    kind = "IQ"[which]
                    column = columns[which] = array(kind, bytes(array(kind).itemsize * self.count))
                if column is not None:
                    column[at] = value

    def get(self, at: int) -> Iterator[_Packed]:
        """Those of a granule."""
        for words, (values, more) in zip(self.words, self.beside, strict=True):
            word = words[at]
            if not word:
                return
            yield word, 0 if values is None else values[at], 0 if more is None else more[at]


class Cells:
    """The granules of a memory that were accessed, by address / 4.

    What `get` gives is the caller's to change until `put`.

    Attributes:
        shared: it is shared memory.
    """

    def __init__(self, launched: LaunchedWarps, window: RaceWindow, *, shared: bool) -> None:
        """Args: window: what bounds the memory of the records."""
        self._launched, self._window, self.shared = launched, window, shared
        self._shift = _SHARED_SHIFT if shared else _PAGE_SHIFT
        self._inside = (1 << self._shift) - 1
        self._pages: dict[int, _Page] = {}
        self._rich: dict[int, Cell] = {}
        self._many: dict[int, array[int]] = {}
        self._packed = 0
        self._open: dict[int, Cell] = {}
        self._agents: dict[_Whose, int] = {}
        self._by_index: list[_Whose] = [("", 0, False, "")]
        self._sites: dict[_Site, int] = {}
        self._by_number: list[_Site] = [(0, "", 0, False, False, 0, False)]
        window.add(self)

    def __len__(self) -> int:
        self._close()
        return len(self._rich) + len(self._many) + self._packed

    def numbers(self) -> Iterator[int]:
        """Numbers of all granules."""
        self._close()
        yield from self._rich
        yield from self._many
        for number, page in self._pages.items():
            first = number << self._shift
            for at, word in enumerate(page.words[0]):
                if word:
                    yield first + at

    def get(self, number: int) -> Cell | None:
        """A granule; None: it was not accessed."""
        found = self._open.get(number) or self._rich.get(number)
        if found is not None:
            return found
        many = self._many.get(number)
        page = self._pages.get(number >> self._shift)
        if many is not None:
            packed: Iterable[_Packed] = zip(many[::3], many[1::3], many[2::3], strict=True)
        elif page is not None and page.words[0][number & self._inside]:
            packed = page.get(number & self._inside)
        else:
            return None
        made = Cell()
        for word, value, more in packed:
            records = self._records(word, value, more)
            (made.writes if records[0].writes else made.reads).extend(records)
            made.number = max(made.number, records[0].number)
            made.chain = max(made.chain, records[0].chain)
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
        page = self._pages.get(number >> self._shift)
        at = number & self._inside
        was = page is not None and page.words[0][at] != 0
        many = self._many.pop(number, None)
        known = was or many is not None or self._rich.pop(number, None) is not None
        grown = -cell.size if packed is not None else 0
        grown -= _many_bytes(many) if many is not None else 0
        if packed is not None and len(packed) <= _PLANES:
            before = page.size if page is not None else 0
            if page is None:
                page = self._pages[number >> self._shift] = _Page(self._inside + 1)
            page.put(at, packed)
            self._packed += not was
            grown += page.size - before
        else:
            if page is not None and was:
                page.put(at, [])
                self._packed -= 1
            if packed is None:
                self._rich[number] = cell
            else:
                self._many[number] = array("Q", [n for record in packed for n in record])
                grown += _many_bytes(self._many[number])
        self._window.grown(grown, not known)

    # ---- memory ------------------------------------------------------------------------
    def sizes(self) -> Iterator[tuple[int, int]]:
        """(number, bytes of memory) of granules, of packed ones in parts of pages."""
        self._close()
        for number, cell in self._rich.items():
            yield number, cell.size
        for number, many in self._many.items():
            yield number, _many_bytes(many)
        for number, page in self._pages.items():
            used = [n for n in range(0, page.count, BUCKET) if any(page.words[0][n : n + BUCKET])]
            for n in used:
                yield (number << self._shift) + n, page.size // len(used)

    def keep_below(self, limit: int) -> None:
        """Drop the records of granules from a number on."""
        self._close()
        for number in [n for n in self._rich if n >= limit]:
            self._window.grown(-self._rich.pop(number).size)
        for number in [n for n in self._many if n >= limit]:
            self._window.grown(-_many_bytes(self._many.pop(number)))
        for number in [n for n in self._pages if n << self._shift >= limit]:
            page = self._pages.pop(number)
            self._window.grown(-page.size)
            self._packed -= sum(map(bool, page.words[0]))
        page_of = self._pages.get(limit >> self._shift)
        for at in range(limit & self._inside, page_of.count) if page_of is not None else ():
            assert page_of is not None
            if page_of.words[0][at]:
                page_of.put(at, [])
                self._packed -= 1

    def clear(self) -> None:
        """Drop all records."""
        self._window.opened -= len(self._open)
        held = sum(cell.size for cell in {**self._rich, **self._open}.values())
        held += sum(page.size for page in self._pages.values())
        held += sum(map(_many_bytes, self._many.values()))
        self._window.grown(-held - _AGENT_BYTES * len(self._agents))
        self._open, self._rich, self._pages, self._packed = {}, {}, {}, 0
        self._many, self._agents = {}, {}
        del self._by_index[1:]

    # ---- records -----------------------------------------------------------------------
    def _words(self, cell: Cell) -> list[_Packed] | None:
        """The packed records of a granule; None where they cannot be packed."""
        records, at = [*cell.writes, *cell.reads], 0
        ordered = any(record.strong or record.agent is not None for record in records)
        found: list[_Packed] = []
        while at < len(records):
            record = records[at]
            code, count = _CODES.get(record.lanes), 1
            spread = _SPREAD.get((record.lanes, record.bytes))
            if spread is not None and not ordered:
                parts = _parts(record.lanes, record.bytes)
                if _are_of_one(records[at : at + len(parts)], parts):
                    code, count = spread, len(parts)
            word, more = self._word(record, code), self._more(record) if ordered else 0
            if not word or more is None:
                return None
            found.append((word, record.value or 0, more))
            at += count
        return found or None

    def _more(self, record: AccessRecord) -> int | None:
        """The second word of a record: its place among the accesses of its granule, its agent."""
        index, agent = 0, record.agent
        if agent is not None:
            if agent.lanes != record.lanes or not 0 <= agent.label < _LABELS:
                return None
            whose = agent.kind, agent.number, agent.proxied, agent.what
            index = self._agents.get(whose, 0)
            if not index:
                index = self._agents[whose] = len(self._by_index)
                self._by_index.append(whose)
                self._window.grown(_AGENT_BYTES)
        if record.number >= _NUMBERS or record.chain >= _CHAINS or index >= _AGENTS:
            return None
        label = agent.label if agent is not None else 0
        more = index << _AGENT_AT | label << _LABEL_AT
        return more | record.chain << _CHAIN_AT | record.number

    def _word(self, record: AccessRecord, code: int | None) -> int:
        """The packed word of a record; 0 where it cannot be packed."""
        warp = record.warp - self._launched.base
        if code is None or record.tick >= _TICKS or not 0 <= warp < _WARPS or not record.bytes:
            return 0
        site = (
            record.pc, record.kind, record.size, record.read_only, record.unread, record.strong,
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

    def _records(self, word: int, value: int, more: int) -> list[AccessRecord]:
        code, bytes_ = word & _LANES, word >> _BYTES_AT & 15
        first = _SPREAD_FROM.get(code)
        parts = [(_GROUPS[code], bytes_)] if first is None else _parts(*first)
        return [self._record(word, lanes, part, value, more) for lanes, part in parts]

    def _record(self, word: int, lanes: int, bytes_: int, value: int, more: int) -> AccessRecord:
        site = self._by_number[word >> _SITE_AT & _SITES - 1]
        pc, kind, size, read_only, unread, strong, valued = site
        warp = (word >> _WARP_AT) + self._launched.base
        number, chain = more & _NUMBERS - 1, more >> _CHAIN_AT & _CHAINS - 1
        agent = None
        if more >> _AGENT_AT:
            whose, copier, proxied, what = self._by_index[more >> _AGENT_AT]
            label = more >> _LABEL_AT & _LABELS - 1
            agent = Agent(whose, copier, lanes, label, proxied, what)
        return AccessRecord(
            warp, lanes, word >> _TICK_AT & _TICKS - 1, bytes_, pc, strong, kind,
            value if valued else None, WarpPlace(warp, self._launched),
            (word >> _WARP_AT) // MOST_WARPS, size, agent,
            read_only, number, chain, unread,
        )  # fmt: skip


def _many_bytes(records: array[int]) -> int:
    """Bytes of memory of a granule's records that are more than a page holds."""
    return _MANY_BYTES + 8 * len(records)


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
