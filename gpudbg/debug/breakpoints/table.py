"""Breakpoints: numbered rows with addresses, conditions, ignore counts and hits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any

from gpudbg.answers.data import record_data
from gpudbg.dataclass import dataclass
from gpudbg.debug.breakpoints.rows import breakpoint_row
from gpudbg.debug.script.blocks import ScriptLine, Statement
from gpudbg.debug.views.format import parse_int
from gpudbg.errors import CommandError
from gpudbg.expr import Node, parse_condition

if TYPE_CHECKING:
    from gpudbg.debug.breakpoints.watched import Watch
    from gpudbg.debug.stops.stop import Stop
    from gpudbg.debug.symbols import Line as SourceLine


Dim3 = tuple[int, int, int]

LISTED = 6
"""Most functions listed when a breakpoint is set on a name that means several."""


def _each(point: Breakpoint) -> str:
    """A line for each function that the breakpoint's name means, with its place."""
    rows = list(zip(point.functions, point.places, strict=True))
    more = f", {len(rows) - LISTED} more (`info breakpoints`)" if len(rows) > LISTED else ""
    return ", ".join(f"{name} ({place})" for name, place in rows[:LISTED]) + more


@dataclass(slots=True)
class Breakpoint:
    """One breakpoint; `addresses` are pcs, empty while pending; `line` where it is a line's.

    `disabled` are addresses that were switched off one by one (gdb's locations `1.2`). A watchpoint
    (`gpudbg.debug.breakpoints.watchpoints`) has no address; `watch` is what it looks at. `only` is
    the block and number of the one warp that it is for, `thread` that warp's number in GDB/MI;
    `dprintf` is what it prints in place of stopping: a format and expressions. `functions` are
    those that begin at the addresses, where a name was written that means them; `original` is how a
    client of GDB/MI wrote the location.

    >>> point = session.break_at("block_max+0x178", ignore=2)
    >>> point.number, point.places, point.ignore
    (1, ('block_max+0x178',), 2)
    """

    number: int
    location: str
    addresses: tuple[int, ...]
    places: tuple[str, ...] = ()
    condition: str | None = None
    tree: Node | None = field(default=None, repr=False)
    temporary: bool = False
    enabled: bool = True
    ignore: int = 0
    hits: int = 0
    line: SourceLine | None = None
    disabled: set[int] = field(default_factory=set)
    watch: Watch | None = None
    thread: int | None = None
    only: tuple[Dim3, int] | None = None
    dprintf: str = ""
    commands: list[Statement] = field(default_factory=list, repr=False)
    functions: tuple[str, ...] = ()
    original: str = ""

    @property
    def written(self) -> str:
        """The location as the user wrote it."""
        return self.original or self.location

    @property
    def silent(self) -> bool:
        """Whether its commands begin with `silent`: the stop is not printed."""
        first = self.commands[0] if self.commands else None
        return isinstance(first, ScriptLine) and first.text.strip() == "silent"

    @property
    def stops_at(self) -> tuple[int, ...]:
        """Addresses that are not switched off on their own."""
        return tuple(a for a in self.addresses if a not in self.disabled)

    def announce(self) -> str:
        """What the console prints when it is set."""
        if self.watch is not None:
            return f"{self.watch.words} {self.number}: {self.location}"
        word = "Temporary breakpoint" if self.temporary else "Breakpoint"
        condition = f" if {self.condition}" if self.condition else ""
        if len(self.places) > 1 and self.functions:
            return f"{word} {self.number} at {_each(self)}: {self.location}{condition}"
        where = ", ".join(self.places) or "pending"
        same = self.location == where
        return f"{word} {self.number} at {where}{'' if same else ': ' + self.location}{condition}"

    def to_json(self) -> dict[str, Any]:
        """Plain data: the row that `info breakpoints --json` has for it."""
        found: dict[str, Any] = record_data(breakpoint_row(self))
        return found


class BreakpointTable:
    """The session's breakpoints by number; numbers are never used again."""

    def __init__(self) -> None:
        self._rows: dict[int, Breakpoint] = {}
        self._next = 1
        self.latest: tuple[int, ...] = ()
        """Numbers of the breakpoints that the last command set."""

    def __iter__(self) -> Iterator[Breakpoint]:
        return iter(list(self._rows.values()))

    def __len__(self) -> int:
        return len(self._rows)

    def adopt(self, other: BreakpointTable) -> None:
        """Take over all breakpoints of another table, numbers and hit counts included."""
        self._rows, self._next, self.latest = other._rows, other._next, other.latest

    def add(
        self,
        location: str,
        addresses: tuple[int, ...],
        places: tuple[str, ...] = (),
        condition: str | None = None,
        temporary: bool = False,
        ignore: int = 0,
    ) -> Breakpoint:
        """A new breakpoint.

        Raises:
            CommandError: the condition does not parse, or assigns.
        """
        tree = parse_condition(condition) if condition else None
        row = Breakpoint(
            self._next,
            location,
            addresses,
            places,
            condition,
            tree,
            temporary,
            ignore=max(ignore, 0),
        )
        self._rows[row.number] = row
        self.latest = (row.number,)
        self._next += 1
        return row

    def get(self, number: int) -> Breakpoint:
        """The breakpoint with this number.

        Raises:
            CommandError: there is none.
        """
        if number not in self._rows:
            have = ", ".join(map(str, self._rows)) or "none"
            raise CommandError(f"No breakpoint number {number}.", f"existing: {have}")
        return self._rows[number]

    def numbers(self, text: str, integer: Callable[[str], int]) -> list[int]:
        """Parse a list of breakpoint numbers like `1 3-5 $bpnum`.

        Args:
            text: the list.
            integer: evaluates `$name`.

        Raises:
            CommandError: no number, or no such breakpoint.
        """
        out: list[int] = []
        for word in text.replace(",", " ").split():
            if word == "$bpnum":
                out.append(self._next - 1)
                continue
            if word.startswith("$"):
                out.append(integer(word))
                continue
            low, dash, high = word.partition("-")
            first = parse_int(low, "breakpoint number")
            last = parse_int(high, "breakpoint number") if dash else first
            if last - first > 10_000:
                raise CommandError(f"range {word} is too long")
            out.extend(range(first, last + 1))
        for number in out:
            self.get(number)
        return out

    @contextmanager
    def alone(self, make: Callable[[], Breakpoint]) -> Iterator[Breakpoint]:
        """Context: one temporary breakpoint with all others disabled; the table is restored at the
        end.
        """
        kept, latest = [(row, row.enabled) for row in self], self.latest
        made = make()
        try:
            for row, _ in kept:
                row.enabled = False
            yield made
        finally:
            for row, enabled in kept:
                row.enabled = enabled
            self._rows.pop(made.number, None)
            self._next, self.latest = made.number, latest

    def remove(self, number: int) -> None:
        """Delete a breakpoint."""
        self.get(number)
        del self._rows[number]
        self.latest = tuple(n for n in self.latest if n != number)

    def enable(self, number: int, on: bool) -> None:
        """Enable or disable a breakpoint."""
        self.get(number).enabled = on

    def enable_place(self, number: int, place: int, on: bool) -> None:
        """Switch the `place`-th address of a breakpoint (from 1) on or off.

        Raises:
            CommandError: there is none.
        """
        row = self.get(number)
        if not 1 <= place <= len(row.addresses):
            raise CommandError(f"bad breakpoint location number '{place}'")
        change = row.disabled.discard if on else row.disabled.add
        change(row.addresses[place - 1])

    def set_condition(self, number: int, text: str | None) -> Breakpoint:
        """Replace the condition; None drops it."""
        row = self.get(number)
        row.tree = parse_condition(text) if text else None
        row.condition = text
        return row

    def set_ignore(self, number: int, count: int) -> Breakpoint:
        """Let the next `count` hits pass."""
        row = self.get(number)
        row.ignore = max(count, 0)
        return row

    def ignore_current(self, stop: Stop | None, count: int) -> None:
        """`continue N`: pass the breakpoint just met N-1 more times."""
        if stop is None or not stop.breakpoints:
            raise CommandError("continue N needs a stop at a breakpoint")
        self.set_ignore(stop.breakpoints[0], count)

    def addresses(self) -> frozenset[int]:
        """Pcs of all enabled breakpoints."""
        return frozenset(a for b in self._rows.values() if b.enabled for a in b.stops_at)

    def at(self, pc: int) -> list[Breakpoint]:
        """Enabled breakpoints at a pc."""
        return [b for b in self._rows.values() if b.enabled and pc in b.stops_at]
