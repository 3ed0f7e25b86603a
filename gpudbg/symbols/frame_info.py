"""Call frame information of `-G` cubins: `.debug_frame`, by function.

64-bit DWARF with a CIE for each function; registers are `class << 24 | number` (5: R), which
general readers take for damage.  It tells the canonical frame address (the caller's R1) and which
registers a function has saved where; return addresses are not in it up to sm_62.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from gpudbg.dataclass import dataclass
from gpudbg.formats.program import Program

SECTION = ".debug_frame"
R_CLASS = 5 << 24
STACK_POINTER = 1
"""R1."""
_CODE_UNIT, _DATA_UNIT = 4, -4
MAX_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class FrameRule:
    """What holds from an offset of a function on.

    Attributes:
        start: the offset.
        base: R register that the frame address is counted from.
        offset: what is added to it.
        saved: R register -> where the caller's value is, from the frame address.
        lost: R registers whose caller's value is not kept.
    """

    start: int = 0
    base: int = STACK_POINTER
    offset: int = 0
    saved: Mapping[int, int] = field(default_factory=dict)
    lost: frozenset[int] = frozenset()


def read_frames(program: Program) -> dict[str, tuple[FrameRule, ...]]:
    """Rows by section, ascending; what a damaged section has up to there."""
    section = program.sections.get(SECTION)
    if section is None:
        return {}
    owners = {
        r.offset: program.symbols[r.symbol].section
        for r in program.debug_relocations.get(SECTION, ())
        if 0 <= r.symbol < len(program.symbols)
    }
    found: dict[str, tuple[FrameRule, ...]] = {}
    try:
        for name, rows in _entries(section.data, owners):
            found[name] = rows
    except (IndexError, ValueError):
        pass
    return found


def _entries(data: bytes, owners: Mapping[int, str]) -> Iterator[tuple[str, tuple[FrameRule, ...]]]:
    """Each function's section and rows."""
    at = 0
    initial: dict[int, tuple[int, int]] = {}
    while at + 12 <= len(data):
        wide = data[at : at + 4] == b"\xff\xff\xff\xff"
        head, size = (12, 8) if wide else (4, 4)
        length = int.from_bytes(data[at + head - size : at + head], "little")
        begin, end = at + head, min(at + head + length, len(data))
        mark = int.from_bytes(data[begin : begin + size], "little")
        if mark == (1 << 8 * size) - 1:
            initial[at] = _cie(data, begin + size), end
        elif mark in initial:
            place = begin + size
            start, stop = initial[mark]
            rows = _Rows()
            rows.run(data[start:stop])
            rows.initial()
            rows.run(data[place + 16 : end])
            yield owners.get(place, ""), rows.finished()
        at = end


def _cie(data: bytes, at: int) -> int:
    """Where a CIE's instructions begin: behind version, augmentation, units, return column."""
    at = data.index(b"\0", at + 1) + 1
    for _ in range(3):
        while data[at] & 0x80:
            at += 1
        at += 1
    return at


class _Rows:
    """Runs the call frame instructions that NVIDIA's compilers use."""

    def __init__(self) -> None:
        self._rows: list[FrameRule] = []
        self._at = 0
        self._base, self._offset = STACK_POINTER, 0
        self._saved: dict[int, int] = {}
        self._lost: set[int] = set()
        self._first: tuple[dict[int, int], set[int]] = ({}, set())

    def initial(self) -> None:
        """What has run so far is what `restore` goes back to."""
        self._first = dict(self._saved), set(self._lost)

    def finished(self) -> tuple[FrameRule, ...]:
        """All rows."""
        self._row()
        return tuple(self._rows)

    def _row(self) -> None:
        if len(self._rows) >= MAX_ROWS:
            raise ValueError("too many rows of call frame information")
        made = FrameRule(
            self._at, self._base, self._offset, dict(self._saved), frozenset(self._lost)
        )
        if self._rows and self._rows[-1].start == self._at:
            self._rows.pop()
        self._rows.append(made)

    def run(self, code: bytes) -> None:
        """Carry out instructions."""
        self.code, self.place = code, 0
        while self.place < len(code):
            op = code[self.place]
            self.place += 1
            if op >> 6 == 1:
                self._advance(op & 0x3F)
            elif op >> 6 == 2:
                self._saved[op & 0x3F] = self._leb() * _DATA_UNIT
            elif op >> 6 == 3:
                self._restore(op & 0x3F)
            else:
                self._extended(op)

    def _extended(self, op: int) -> None:
        match op:
            case 0x00:
                pass
            case 0x01:
                self._row()
                self._at = self._fixed(8)
            case 0x02 | 0x03 | 0x04:
                self._advance(self._fixed(1 << op - 2))
            case 0x05:
                register = self._register()
                offset = self._leb() * _DATA_UNIT
                if register is not None:
                    self._saved[register] = offset
            case 0x06:
                self._restore(self._register())
            case 0x07 | 0x08:
                self._keep(self._register(), op == 0x08)
            case 0x09:
                self._register()
                self._register()
            case 0x0C:
                self._base = self._register() or STACK_POINTER
                self._offset = self._leb()
            case 0x0D:
                self._base = self._register() or STACK_POINTER
            case 0x0E:
                self._offset = self._leb()
            case _:
                raise ValueError(f"call frame instruction 0x{op:x}")

    def _advance(self, units: int) -> None:
        self._row()
        self._at += units * _CODE_UNIT

    def _restore(self, register: int | None) -> None:
        if register is not None:
            saved, lost = self._first
            self._saved.pop(register, None)
            if register in saved:
                self._saved[register] = saved[register]
            self._lost.discard(register)
            if register in lost:
                self._lost.add(register)

    def _keep(self, register: int | None, kept: bool) -> None:
        if register is not None:
            self._saved.pop(register, None)
            (self._lost.discard if kept else self._lost.add)(register)

    def _register(self) -> int | None:
        """An R register's number; None for those of other classes."""
        number = self._leb()
        if number < 0x1000000:
            return number
        return number - R_CLASS if number >> 24 == 5 else None

    def _fixed(self, size: int) -> int:
        self.place += size
        return int.from_bytes(self.code[self.place - size : self.place], "little")

    def _leb(self) -> int:
        value = shift = 0
        while True:
            byte = self.code[self.place]
            self.place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value
            if shift > 70:
                raise ValueError("a number without end")
