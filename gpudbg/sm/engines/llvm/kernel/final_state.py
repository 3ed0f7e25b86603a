"""Final registers of a warp, made only where somebody will see them.

Most warps that exit are followed by another one in their place, and nobody sees what they held
last.  Lanes of addresses, numbers of elements and their carries follow from a few scalars; code
that ends a warp stores these scalars, in the rows of the registers that follow from them, and the
number of the exit (`pending` of the record).  `complete`, a function of the same object, makes the
registers from them.  The grid loop calls it when a CTA leaves its place without a follower, and for
all resident warps before it returns, so that nobody but compiled code ever finds a record with
something pending.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from gpudbg.dataclass import dataclass
from gpudbg.sm.engines.llvm.ir.builder import HELD
from gpudbg.sm.engines.llvm.kernel.sink import lasting, parsed, unneeded
from gpudbg.sm.record import FIELDS, HEADER_BYTES, ROW_BYTES

FUNCTION = "complete"
"""Name of the function in the object."""
BEGIN, END = "  ; final state", "  ; end of final state"
"""Lines around the stores of a final state."""
CALL = f"  call void @{FUNCTION}(ptr %rec, ptr %bank)"
PENDING = FIELDS["pending"].offset

_SLOT = 8
"""Bytes in which a scalar is stored."""
_MOST_INPUTS = 32
"""Most scalars that a register is made from."""

_NOTHING: list[str] = []
_NAME = re.compile(r"%v[\w.]+")
PLACE = re.compile(r"  (%v[\w.]+) = getelementptr i8, ptr %rec, i64 (\d+)$")
"""A statement that names a place in the record, and its offset."""
_STORE = re.compile(r"  store (<32 x i32>|i32) (.*), ptr (%v[\w.]+)(?:, align \d+)?$")
_TYPE = r"(<[^>]*>|[a-z]+\d*)"
_TYPED = {
    "zext sext trunc bitcast ptrtoint inttoptr fptrunc fpext": rf" .* to {_TYPE}$",
    "load phi freeze fneg": rf" {_TYPE}",
    "call": rf" (?:nnan |nsz )*{_TYPE} @",
    "tail": rf" call (?:nnan |nsz )*{_TYPE} @",
    "select": rf" i1 [^,]+, {_TYPE} ",
    "and or xor add sub mul shl lshr ashr udiv urem sdiv srem": rf"(?: nuw| nsw| exact)* {_TYPE} ",
    "fadd fsub fmul fdiv": rf" {_TYPE} ",
    "extractelement": r" <\d+ x (\w+)> ",
    "icmp fcmp": r" \w+ (<?)",
}
"""Mnemonics -> text behind them, with the type of what is defined; of comparisons, whether they are
of vectors."""
_FORMS = {
    name: re.compile(rf"  \S+ = {name}{form}")
    for names, form in _TYPED.items()
    for name in names.split()
}
_MNEMONIC = re.compile(r"  \S+ = (\w+)")


@lru_cache(maxsize=1 << 14)
def scalar_type(line: str) -> str:
    """The type of what a statement defines, if that is a known scalar one, else ""."""
    name = _MNEMONIC.match(line)
    form = None if name is None else _FORMS.get(name[1])
    found = None if form is None else form.match(line)
    if name is None or found is None or found[1].startswith("<"):
        return ""
    return "i1" if name[1] in ("icmp", "fcmp") else found[1]


@dataclass(slots=True)
class StateStore:
    """A store of state in the record.

    Attributes:
        line: its number.
        value: name of what is stored, or "" for a constant.
        offset: of its place in the record.
        row: it stores a register.
    """

    line: int
    value: str
    offset: int
    row: bool


class Slots:
    """Where scalars are, in the rows of registers that follow from them.

    Attributes:
        kinds: the scalars' names to their types.
        fit: there is room for them.
    """

    def __init__(self, kinds: Mapping[str, str], rows: Sequence[int]) -> None:
        """Args: rows: offsets in the record."""
        self.kinds = kinds
        each = ROW_BYTES // _SLOT
        self.fit = 0 < len(rows) and len(kinds) <= len(rows) * each
        names = sorted(kinds, key=lambda name: (len(name), name)) if self.fit else ()
        self._offsets = {name: rows[n // each] + n % each * _SLOT for n, name in enumerate(names)}

    def stored(self, number: int) -> list[str]:
        """Statements that store the scalars, and the number of the place."""
        out: list[str] = []
        for n, (name, offset) in enumerate(self._offsets.items()):
            out += [
                f"  %f{number}.{n} = getelementptr i8, ptr %rec, i64 {offset}",
                f"  store {self.kinds[name]} {name}, ptr %f{number}.{n}",
            ]
        return [
            *out,
            f"  %f{number} = getelementptr i8, ptr %rec, i64 {PENDING}",
            f"  store i32 {number}, ptr %f{number}",
        ]

    def loaded(self, name: str, mine: str) -> list[str]:
        """Statements that load one of them, as another name."""
        return [
            f"  {mine}.at = getelementptr i8, ptr %rec, i64 {self._offsets[name]}",
            f"  {mine} = load {self.kinds[name]}, ptr {mine}.at",
        ]

    def all_loaded(self) -> list[str]:
        """Statements that load all of them."""
        return [line for name in self._offsets for line in self.loaded(name, name)]


class FinalStates:
    """The final states of a function.

    Attributes:
        functions: text of a function for each one with something left to be made.
    """

    def __init__(self) -> None:
        self.functions: list[str] = []

    def taken_out(self, lines: list[str], before: list[str] = _NOTHING) -> list[str]:
        """The statements of a trace without those that only make final registers from scalars.

        Args:
            lines: with final states between `BEGIN` and `END`.
            before: what has been executed before them, in which nothing is changed.
        """
        if BEGIN not in lines:
            return lines
        out = _without_sections(before)
        at = first = len(out)
        out += lines
        for _ in range(lines.count(BEGIN)):
            begin = out.index(BEGIN, at)
            end = out.index(END, begin)
            instead = self._section(out, begin, end)
            out[begin : end + 1] = instead
            at = begin + len(instead)
        return out[first:]

    def text(self) -> str:
        """`complete`: makes the registers of a record that have not been made yet."""
        numbers = range(1, len(self.functions) + 1)
        cases = " ".join(f"i32 {n}, label %c{n}" for n in numbers)
        lines = [
            *self.functions,
            f"define void @{FUNCTION}(ptr %rec, ptr %bank) {{",
            f"  %place = getelementptr i8, ptr %rec, i64 {PENDING}",
            "  %number = load i32, ptr %place",
            "  store i32 0, ptr %place",
            f"  switch i32 %number, label %none [ {cases} ]",
            *(
                f"c{n}:\n  tail call void @{FUNCTION}.{n}(ptr %rec, ptr %bank)\n  ret void"
                for n in numbers
            ),
            "none:",
            "  ret void",
            "}",
        ]
        return "\n".join(lines)

    def _section(self, lines: list[str], begin: int, end: int) -> list[str]:
        """The statements of a final state that stay on the path of a warp that ends."""
        inside = lines[begin + 1 : end]
        spare = unneeded([*lines[:begin], *lines[end + 1 :]]) | set(map(name_in, inside))
        stores = stores_of(lines, begin, end)
        inputs = _inputs(lines[:end], spare, {s.value for s in stores if s.value})
        later = [s for s in stores if s.row and (not s.value or inputs.get(s.value) is not None)]
        names = {s.value for s in later if s.value}
        wanted = _union(inputs, names)
        room = len(later) * (ROW_BYTES // _SLOT)
        if not later or wanted is None or len(wanted) > room:
            return inside
        masks = [s for s in stores if not s.row and s.value in spare]
        for store in masks:
            more = _union(inputs, {store.value})
            if more is not None and len(wanted | more) <= room:
                wanted |= more
                later.append(store)
        return self._split(lines, begin, end, later, wanted)

    def _split(
        self, lines: list[str], begin: int, end: int, later: list[StateStore], wanted: set[str]
    ) -> list[str]:
        """Move stores into a function; what is left of the section, with stores of its inputs."""
        moved = {store.line for store in later}
        now = [lines[n] for n in range(begin + 1, end) if n not in moved]
        kinds = {
            found: scalar_type(line) for line in lines[:end] if (found := name_in(line)) in wanted
        }
        slots = Slots(kinds, [store.offset for store in later if store.row])
        number = self.add(slots, closure(lines[:end], moved, wanted))
        return [*now, *slots.stored(number)]

    def add(self, slots: Slots, made: list[str]) -> int:
        """Add a function that makes registers; its number.

        Args:
            slots: where what they are made from is.
            made: statements that make and store them.
        """
        number = len(self.functions) + 1
        parameters = "ptr noalias %rec, ptr noalias %bank"
        head = f"define private void @{FUNCTION}.{number}({parameters}) {{"
        self.functions.append("\n".join([head, *slots.all_loaded(), *made, "  ret void", "}"]))
        return number


def _without_sections(lines: list[str]) -> list[str]:
    """Statements but for those of final states."""
    out: list[str] = []
    inside = False
    for line in lines:
        inside = line == BEGIN or (inside and line != END)
        if not inside and line != END:
            out.append(line)
    return out


def name_in(line: str) -> str:
    """What a statement defines, or ""."""
    return line[2 : line.index(" =")] if line.startswith("  %v") else ""


def stores_of(lines: list[str], begin: int = -1, end: int | None = None) -> list[StateStore]:
    """The stores of state into the record between two lines."""
    places: dict[str, int] = {}
    found: list[StateStore] = []
    for n in range(begin + 1, len(lines) if end is None else end):
        place = PLACE.match(lines[n])
        if place is not None:
            places[place[1]] = int(place[2])
            continue
        store = _STORE.match(lines[n])
        if store is not None and store[3] in places:
            offset = places[store[3]]
            row = store[1] != "i32" and offset >= HEADER_BYTES
            value = store[2] if store[2].startswith("%v") else ""
            if row or value:
                found.append(StateStore(n, value, offset, row))
    return found


def _inputs(lines: list[str], spare: set[str], wanted: set[str]) -> dict[str, set[str] | None]:
    """For each name, the scalars that it can be made from once more, besides constants and what the
    record keeps; None: there are none.

    Args:
        spare: names that nothing but final states needs.
        wanted: names to find that for, and for those that they are made of.
    """
    found: dict[str, set[str] | None] = {}
    kept = lasting(lines)
    for name, line in _made_of(lines, wanted, kept):
        made: set[str] | None = None
        if name in kept:
            made = set()
        elif _is_pure(line) and not line.endswith(HELD):
            made = _union(found, parsed(line)[1])
            if made is not None and len(made) > _MOST_INPUTS:
                made = None
        scalar = scalar_type(line)
        if scalar and (made is None or (made and name not in spare)):
            made = {name}
        found[name] = made
    return found


def _made_of(lines: list[str], wanted: set[str], kept: Mapping[str, str]) -> list[tuple[str, str]]:
    """The names and statements that wanted ones are made of, and these, in order."""
    needed = set(wanted)
    out: list[tuple[str, str]] = []
    for line in reversed(lines):
        name = name_in(line)
        if name in needed:
            out.append((name, line))
            if name not in kept and _is_pure(line):
                needed.update(parsed(line)[1])
    out.reverse()
    return out


def _is_pure(line: str) -> bool:
    """Whether a statement may be repeated elsewhere."""
    name, _, phi = parsed(line)
    return bool(name) and not phi


def _union(inputs: dict[str, set[str] | None], names: Iterable[str]) -> set[str] | None:
    """The scalars that several names are made from."""
    made: set[str] = set()
    for name in names:
        known = inputs.get(name)
        if known is None:
            return None
        made |= known
    return made


def closure(lines: list[str], moved: set[int], given: set[str]) -> list[str]:
    """Some statements and all before them that they need, in order.

    Args:
        moved: numbers of the statements.
        given: names that need no statement.
    """
    needed: set[str] = set()
    out: list[str] = []
    for n in range(len(lines) - 1, -1, -1):
        line = lines[n]
        name = name_in(line)
        if n in moved or (name in needed and name not in given):
            needed.update(_NAME.findall(line))
            out.append(line)
    out.reverse()
    return out
