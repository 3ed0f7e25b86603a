"""Values in the rows of a warp's record, on hosts whose vector registers are few.

A warp's value of 32 lanes takes four registers of 16 on a host with AVX2, so most values are in
memory.  Each that is a register's at the end of a piece has a place there, its row, of which the
code generator knows nothing: it keeps memory operations in order, so a value that is made early
waits on the stack until all loads before the stores have been done, and one that was loaded or
stored long ago goes to the stack, too, until it is used again.

`early_stores` moves each store of a row to where its value is made, `from_rows` has values that are
in a row loaded from there where they are used long after: both within a basic block, which is left
at its end alone, so that no exit sees it.  `in_rows` is the one and then the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import count

from gpudbg.sm.record import HEADER_BYTES, ROW_BYTES

_FAR = 24
"""Statements from the last use of a value to the next from which it is better loaded again."""

_PLACE = re.compile(r"  (%[\w.]+) = getelementptr i8, ptr %rec, i64 (\d+)$")
_STORE = re.compile(r"  store (?:volatile )?<32 x i32> (%v[\w.]+), ptr (%[\w.]+), align 64$")
_LOAD = re.compile(r"  (%v[\w.]+) = load <32 x i32>, ptr (%[\w.]+), align 64(?:, !held !2)?$")
_TOUCHES = re.compile(r"  (?:%[\w.]+ = )?(?:load|store) .*ptr (%[\w.]+)(?:, align \d+|, !.*|$)")
_OTHERWISE = re.compile(
    r"  (?:call void (?!@llvm\.prefetch)|fence|.* = (?:tail )?call (?!.*@llvm\.)"
    r"|.* = (?:atomicrmw|cmpxchg) )"
)
"""Statements that may touch a record in ways of their own."""
_AS_FLOATS = re.compile(r"  (%v[\w.]+) = bitcast <32 x i32> (%v[\w.]+) to <32 x float>$")
_NAME = re.compile(r"%v[\w.]+")
_ANY = -1
"""Stands for all rows."""


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """The basic blocks of a function, each without its label, and the labels."""
    begin = 0
    for number, line in enumerate(lines):
        if line[0] != " ":
            yield lines[begin:number]
            yield [line]
            begin = number + 1
    yield lines[begin:]


_Line = tuple[str, tuple[str, int] | None, int | None, int | None]
"""What a statement makes and touches: name of what it makes, or ""; (value, offset) of a store of a
row; offset of a load of a row; the row that it touches, by number, or `_ANY`, None for none."""


class _Rows:
    """Where statements of one function touch rows of the record."""

    def __init__(self, lines: list[str]) -> None:
        self.places: dict[str, int] = {}
        """Pointer into the record -> offset."""
        self._anywhere: set[str] = set()
        self.stores, self.loads = count(), count()
        """For names."""
        self._about: dict[str, _Line] = {}
        for line in lines:
            if "ptr %rec" not in line:
                continue
            place = _PLACE.match(line)
            if place is not None:
                self.places[place[1]] = int(place[2])
            elif " = getelementptr " in line or " = select " in line:
                self._anywhere.add(line[2 : line.index(" =")])

    def about(self, line: str) -> _Line:
        """What a statement makes and touches."""
        found = self._about.get(line)
        if found is None:
            found = self._about[line] = self._found(line)
        return found

    def _found(self, line: str) -> _Line:
        if line.startswith("  store "):
            store = _STORE.match(line)
            offset = None if store is None else self.places.get(store[2])
            if store is not None and offset is not None:
                return ("", (store[1], offset), None, _row(offset))
            return ("", None, None, self._accessed(line))
        name = line[2 : line.index(" =")] if line.startswith("  %") else ""
        if " load " in line:
            load = _LOAD.match(line) if " load <" in line else None
            offset = None if load is None else self.places.get(load[2])
            return (name, None, offset, self._accessed(line))
        if "call" in line or "cmpxchg" in line or "atomicrmw" in line or "fence" in line:
            return (name, None, None, _ANY if _OTHERWISE.match(line) else None)
        return (name, None, None, None)

    def _accessed(self, line: str) -> int | None:
        """The row that a load or store touches, by number, or `_ANY`; None for none."""
        found = _TOUCHES.match(line)
        if found is None or found[1] in self._anywhere:
            return _ANY
        offset = self.places.get(found[1])
        return None if offset is None else _row(offset)

    def place(self, name: str, offset: int) -> str:
        """A statement that makes a pointer into the record."""
        self.places[name] = offset
        return f"  {name} = getelementptr i8, ptr %rec, i64 {offset}"


def _row(offset: int) -> int:
    """Number of the row at an offset; a negative one in the header."""
    return (offset - HEADER_BYTES) // ROW_BYTES if offset >= HEADER_BYTES else _ANY - 1


def in_rows(lines: list[str], floats: Mapping[str, str]) -> list[str]:
    """The blocks of a function, with `early_stores` and then `from_rows`."""
    rows = _Rows(lines)
    return _from_rows(_early_stores(lines, rows), floats, rows)


def early_stores(lines: list[str]) -> list[str]:
    """The blocks of a function, with rows stored where what they get is made."""
    return _early_stores(lines, _Rows(lines))


def _early_stores(lines: list[str], rows: _Rows) -> list[str]:
    return [line for block in _blocks(lines) for line in _stored_early(block, rows)]


def _stored_early(lines: list[str], rows: _Rows) -> list[str]:
    """A basic block with its stores of rows as early as they may be."""
    about = rows.about
    if not any(about(line)[1] for line in lines if line.startswith("  store ")):
        return lines
    made: dict[str, int] = {}
    touched: dict[int, int] = {}
    first = 0
    behind: dict[int, list[str]] = {}
    moved: set[int] = set()
    for n, line in enumerate(lines):
        if " = phi " in line:
            first = n + 1
            continue
        name, store, _, row = about(line)
        if store is not None:
            value, offset = store
            after = max(made.get(value, 0), *(touched.get(r, 0) for r in (_row(offset), _ANY)))
            after = max(after, first - 1)
            if 0 <= after < n - 1:
                place = f"{value}.row{next(rows.stores)}"
                at = rows.place(place, offset)
                behind.setdefault(after, []).extend((at, _at(line, place)))
                moved.add(n)
            touched[_row(offset)] = min(after, n) if n in moved else n
            continue
        if name:
            made[name] = n
        if row is not None:
            touched[row] = n
    if not moved:
        return lines
    out: list[str] = []
    for n, line in enumerate(lines):
        if n not in moved:
            out.append(line)
        out += behind.get(n, ())
    return out


def _at(store: str, place: str) -> str:
    """A store of a row, by another pointer."""
    head = store[: store.rindex(", ptr ")]
    return f"{head}, ptr {place}, align 64"


def from_rows(lines: list[str], floats: Mapping[str, str]) -> list[str]:
    """The blocks of a function, in which what is in a row is loaded from there where it is used
    long after.

    Args:
        floats: name of a value -> name of the same as floats, but for the bits of NaNs.
    """
    return _from_rows(lines, floats, _Rows(lines))


def _from_rows(lines: list[str], floats: Mapping[str, str], rows: _Rows) -> list[str]:
    return [line for block in _blocks(lines) for line in _Reloaded(rows, floats).block(block)]


class _Reloaded:
    """One basic block."""

    def __init__(self, rows: _Rows, floats: Mapping[str, str]) -> None:
        self._rows, self._floats = rows, floats
        self._homes: dict[str, tuple[int, bool]] = {}
        """Name -> the row's offset, and whether it is its floats."""
        self._inside: dict[int, list[str]] = {}
        """Offset -> names that have their home there."""
        self._last: dict[str, int] = {}
        """Name -> statement that made or used it last."""
        self._now: dict[str, str] = {}
        """Name -> the one that it was loaded as last."""

    def block(self, lines: list[str]) -> list[str]:
        """The block's statements."""
        if len(lines) <= _FAR:
            return lines
        out: list[str] = []
        for n, line in enumerate(lines):
            about = self._rows.about(line)
            name, store, loaded, row = about
            if store is not None:
                self._settle(*store, n)
            elif " = phi " not in line:
                if self._homes and "<32 x" in line:
                    line = self._with_loads(line, n, out)
                if loaded is not None or row is not None or " = bitcast <32 x i32> " in line:
                    self._note(about, line, n)
                elif name:
                    self._last[name] = n
            out.append(line)
        return out

    def _settle(self, value: str, offset: int, n: int) -> None:
        """Note that a row has got a value."""
        self._leave(offset)
        self._enter(value, offset, False, n)
        single = self._floats.get(value)
        if single is not None and single in self._last:
            self._enter(single, offset, True, n)

    def _enter(self, name: str, offset: int, single: bool, n: int) -> None:
        self._homes[name] = offset, single
        self._inside.setdefault(offset, []).append(name)
        self._last[name] = n

    def _leave(self, offset: int) -> None:
        """Note that a row has no longer what it had."""
        for name in self._inside.pop(offset, ()):
            self._homes.pop(name, None)

    def _note(self, about: _Line, line: str, n: int) -> None:
        """Note what a statement, no store of a row, makes and changes."""
        name, _, loaded, row = about
        if name:
            self._last[name] = n
            if loaded is not None:
                if not self._inside.get(loaded):
                    self._enter(name, loaded, False, n)
                return
            if " = bitcast <32 x i32> " in line:
                floats = _AS_FLOATS.match(line)
                if floats is not None and floats[2] in self._homes:
                    self._enter(name, self._homes[floats[2]][0], True, n)
                return
            if row is None or " load " in line:
                return
        if row == _ANY:
            self._homes, self._inside = {}, {}
        elif row is not None:
            for offset in [offset for offset in self._inside if _row(offset) == row]:
                self._leave(offset)

    def _with_loads(self, line: str, n: int, out: list[str]) -> str:
        """A statement that uses what was loaded just before it; the loads go to `out`."""
        start = line.index(" = ") if line.startswith("  %") else 0
        names: dict[str, str] = {}
        for name in _NAME.findall(line, start):
            home = self._homes.get(name)
            if name not in self._last:
                continue
            if home is not None and n - self._last[name] > _FAR:
                self._now[name] = self._loaded(name, *home, out)
            self._last[name] = n
            if name in self._now:
                names[name] = self._now[name]
        if not names:
            return line
        return line[:start] + _NAME.sub(lambda found: names.get(found[0], found[0]), line[start:])

    def _loaded(self, name: str, offset: int, single: bool, out: list[str]) -> str:
        """What a value is called when it has been loaded again."""
        new = f"{name}.again{next(self._rows.loads)}"
        bits = f"{new}.bits" if single else new
        out += [
            self._rows.place(f"{new}.at", offset),
            f"  {bits} = load <32 x i32>, ptr {new}.at, align 64",
        ]
        if single:
            out.append(f"  {new} = bitcast <32 x i32> {bits} to <32 x float>")
        return new
