"""State that goes round a loop, kept as it is where a turn ends.

A warp whose turn is over in a loop goes on there in its next one, and as a rule nobody reads its
registers in between.  Many of them follow from a few scalars (lanes of addresses, indices, their
carries), and scalars are what the loop goes on with.  So code stores these, in the rows of the
registers that follow from them, and the number of the place (`pending` of the record); the warp's
next turn loads them and goes on in the loop, without a test of what is known of its lanes.  Code
that begins elsewhere makes the registers first, and so does the grid loop before it returns, as
those of warps that have ended (`final_state`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gpudbg.dataclass import dataclass
from gpudbg.sm.engines.llvm.ir.builder import UNLIKELY
from gpudbg.sm.engines.llvm.kernel.exits import BUDGET, KEPT
from gpudbg.sm.engines.llvm.kernel.final_state import (
    CALL,
    PENDING,
    PLACE,
    FinalStates,
    Slots,
    StateStore,
    closure,
    name_in,
    scalar_type,
    stores_of,
)
from gpudbg.sm.engines.llvm.kernel.sink import lasting, parsed
from gpudbg.sm.record import HEADER_BYTES, ROW_BYTES

_MADE, _ON = "kept.made", "seek.on"
"""Labels: registers are made; the search for the place to begin at."""
_LEAST = 24
"""Least statements for which this is worth it."""

_NAME = re.compile(r"%[a-zA-Z_][\w.]*")
_LABEL = re.compile(r"label %([\w.]+)")
_LOAD = re.compile(r"  %v[\w.]+ = load ((?:<32 x )?\w+>?), ptr (%v[\w.]+)(, align \d+)?")
_PHI = re.compile(r"  (%v[\w.]+) = phi ((?:<32 x )?\w+>?) (.*)$")
_EDGE = re.compile(r"\[ (.+?), %([\w.]+) \]")
_ENDS = ("  br ", "  ret ", "  switch ", "  indirectbr ")


class _NotKeptError(Exception):
    """State that code stores as it is after all."""


class TurnStates:
    """The places of a function where turns end with a loop's state kept.

    Attributes:
        resumed: the number of each place, in `pending`, to the label where its warps go on.
    """

    def __init__(self, finals: FinalStates) -> None:
        self._finals = finals
        self.resumed: dict[int, str] = {}

    def taken_out(self, lines: list[str], tail: list[str]) -> tuple[list[str], list[str]]:
        """The quick path and the blocks out of the way of a trace, with the state of its loop kept
        where its turns end."""
        notes = [line for line in tail if line.startswith(KEPT)]
        if not notes:
            return lines, tail
        try:
            loop = _Loop(lines, tail, notes[0].split()[2])
        except _NotKeptError:
            notes = []
        resumes: list[_Resume] = []
        for note in notes:
            try:
                resume, tail = self._kept(loop, tail, note)
            except _NotKeptError:
                continue
            resumes.append(resume)
        tail = [line for line in tail if not line.startswith(KEPT)]
        if not resumes:
            return lines, tail
        lead = f"into{resumes[0].number}"
        more = [line for resume in resumes for line in resume.blocks(lead)]
        return loop.entered(lead, resumes), [*tail, *more]

    def seek(self) -> list[str]:
        """Statements in front of the search for the place to begin at."""
        if not self.resumed:
            return []
        cases = " ".join(f"i32 {n}, label %{label}" for n, label in self.resumed.items())
        return [
            f"  %kept.place = getelementptr i8, ptr %rec, i64 {PENDING}",
            "  %kept = load i32, ptr %kept.place",
            "  %keeps = icmp ne i32 %kept, 0",
            f"  br i1 %keeps, label %kept.on, label %{_ON}",
            "kept.on:",
            f"  switch i32 %kept, label %{_MADE} [ {cases} ]",
            f"{_MADE}:",
            CALL,
            f"  br label %{_ON}",
            f"{_ON}:",
        ]

    def _kept(self, loop: _Loop, tail: list[str], note: str) -> tuple[_Resume, list[str]]:
        """Keep the state at one place: what its warps go on with, and the blocks out of the way.

        Raises:
            _NotKeptError: too little of it follows from scalars.
        """
        at = tail.index(note)
        begin = max(n for n in range(at) if not tail[n].startswith(" ")) + 1
        end = next(n for n in range(at, len(tail)) if tail[n].startswith(_ENDS))
        _, _, _, round_, latch, mark = note.split()
        values = loop.values(round_, latch)
        block = _Stores(loop.made, tail[begin:end], values.recorded)
        kinds = {name: scalar_type(loop.made[name]) for name in values.given}
        slots = Slots(block.inputs | kinds, [store.offset for store in block.later if store.row])
        if len(moved := block.moved()) < _LEAST or not slots.fit:
            raise _NotKeptError
        number = self._finals.add(slots, moved)
        self.resumed[number] = f"resume{number}"
        behind = {name for line in tail[end:] for name in _NAME.findall(line)}
        tail = [*tail[:begin], *block.left(slots, number, behind), *tail[end:]]
        return _Resume(number, values, slots, int(mark)), tail


@dataclass(slots=True)
class _Values:
    """What a loop's phis get where a turn has ended.

    Attributes:
        given: names of scalars.
        recorded: offsets in the record, of rows or fields, that phis are loaded from.
        phis: for each phi: a name of `given`, a constant, or (type, offset, alignment).
    """

    given: set[str]
    recorded: set[int]
    phis: list[str | tuple[str, int, str]]


class _Resume:
    """Where warps go on with kept state.

    Attributes:
        number: of the place; label: of the block that leads to the loop.
        phis: values for the loop's phis, as operands.
    """

    def __init__(self, number: int, values: _Values, slots: Slots, mark: int) -> None:
        """Args: mark: where the loop's breakpoints are noted."""
        self.number, self._mark = number, mark
        self.label = f"resume{number}.on"
        self._loads: list[str] = []
        self.phis: list[str] = []
        given = {name: f"%t{number}.g{n}" for n, name in enumerate(sorted(values.given))}
        for name, mine in given.items():
            self._loads += slots.loaded(name, mine)
        for n, value in enumerate(values.phis):
            if isinstance(value, str):
                self.phis.append(given.get(value, value))
                continue
            kind, offset, align = value
            place, name = f"%t{number}.p{n}", f"%t{number}.v{n}"
            self._loads += [
                f"  {place} = getelementptr i8, ptr %rec, i64 {offset}",
                f"  {name} = load {kind}, ptr {place}{align}",
            ]
            self.phis.append(name)

    def blocks(self, lead: str) -> list[str]:
        """Its blocks, up to one in front of the loop."""
        t = f"%t{self.number}"
        return [
            f"resume{self.number}:",
            f"  {t}.at = getelementptr i8, ptr %marks, i64 {self._mark}",
            f"  {t}.mark = load i8, ptr {t}.at",
            f"  {t}.marked = icmp ne i8 {t}.mark, 0",
            f"  br i1 {t}.marked, label %{_MADE}, label %{self.label}{UNLIKELY}",
            f"{self.label}:",
            *self._loads,
            "  store i32 0, ptr %kept.place",
            f"  br label %{lead}",
        ]


class _Loop:
    """The loop of a trace.

    Attributes:
        made: names to the statements that define them.
    """

    def __init__(self, lines: list[str], tail: list[str], head: str) -> None:
        """Args: head: label of its head.

        Raises:
            _NotKeptError: its code needs more of what is before it than phis get.
        """
        self._lines, self._head = lines, head
        self.made = {line[2 : line.index(" =")]: line for line in lines if line.startswith("  %v")}
        self._at = lines.index(f"{head}:")
        self._phis = []
        for line in lines[self._at + 1 :]:
            found = _PHI.match(line)
            if found is None:
                break
            self._phis.append(found)
        if not self._phis or lines[self._at - 1] != f"  br label %{head}":
            raise _NotKeptError
        self._entry = max(n for n in range(self._at) if not lines[n].startswith(" "))
        self._first = self._before(tail)

    def _before(self, tail: list[str]) -> list[str]:
        """The statements in front of the loop that its code needs, which have to be where warps
        come together that go on with kept state."""
        lines, end = self._lines, self._at - 1
        early = _defined(lines[: self._at])
        inside = [*lines[self._at + 1 + len(self._phis) :], *_reached(lines[self._at :], tail)]
        needed = {name for line in inside for name in parsed(line)[1]} & early
        needed |= {
            value
            for found in self._phis
            for value, label in _EDGE.findall(found[3])[1:]
            if value in early
        }
        kept = lasting(lines[self._entry : end])
        first: list[str] = []
        rest: set[str] = set()
        for line in reversed(lines[self._entry + 1 : end]):
            pure, uses, _ = parsed(line)
            name = name_in(line)
            if name in needed:
                if not (pure or name in kept) or " = phi " in line:
                    raise _NotKeptError
                needed.update(use for use in uses if use in early)
                needed.discard(name)
                first.append(line)
            else:
                rest.update(uses)
        entries = {_EDGE.findall(found[3])[0][0] for found in self._phis}
        if needed or _defined(first) & (rest | entries):
            raise _NotKeptError
        first.reverse()
        return first

    def values(self, round_: str, latch: str) -> _Values:
        """What the phis get from a back edge, as far as it is known where a turn ends there.

        Args:
            round_: label of the block that asks whether the turn ends.
            latch: of the one that leads back.

        Raises:
            _NotKeptError: something cannot be kept.
        """
        lines = self._lines
        begin = lines.index(f"{round_}:")
        test = next(n for n in range(begin, len(lines)) if lines[n].startswith("  br "))
        end = lines.index(f"  br label %{self._head}", lines.index(f"{latch}:"))
        late = _defined(lines[test:end])
        found = _Values(set(), set(), [])
        for phi in self._phis:
            edges = {label: value for value, label in _EDGE.findall(phi[3])}
            entry = next(iter(edges.values()))
            value, place = edges[latch], self._recorded(entry)
            known = value in self.made and value not in late and scalar_type(self.made[value])
            if place is not None and place[1] == BUDGET:
                found.phis.append(place)
            elif not value.startswith("%") and value != "false":
                found.phis.append(value)
            elif known and known != "i1":
                found.given.add(value)
                found.phis.append(value)
            elif place is not None:
                found.recorded.add(_start(place[1]))
                found.phis.append(place)
            elif entry == "true":
                found.phis.append(entry)
            else:
                raise _NotKeptError
        return found

    def _recorded(self, name: str) -> tuple[str, int, str] | None:
        """(Type, offset, alignment) of what a name is loaded from in the record."""
        load = _LOAD.match(self.made.get(name, ""))
        place = PLACE.match(self.made.get(load[2], "")) if load is not None else None
        if load is None or place is None:
            return None
        return load[1], int(place[2]), load[3] or ""

    def entered(self, lead: str, resumes: Sequence[_Resume]) -> list[str]:
        """The quick path, with a block in front of its loop that these lead to, too.

        Args:
            lead: that block's label.
        """
        lines, entry = self._lines, self._lines[self._entry][:-1]
        moved = set(self._first)
        before = [line for line in lines[self._entry : self._at - 1] if line not in moved]
        joined: list[str] = []
        phis: list[str] = []
        for n, found in enumerate(self._phis):
            name = f"%{lead}.{n}"
            first = _EDGE.search(found[3])
            assert first is not None
            edges = [f"[ {first[1]}, %{entry} ]"]
            edges += [f"[ {resume.phis[n]}, %{resume.label} ]" for resume in resumes]
            joined.append(f"  {name} = phi {found[2]} {', '.join(edges)}")
            phis.append(
                f"  {found[1]} = phi {found[2]} [ {name}, %{lead} ]{found[3][first.end() :]}"
            )
        return [
            *lines[: self._entry],
            *before,
            f"  br label %{lead}",
            f"{lead}:",
            *joined,
            *self._first,
            *lines[self._at - 1 : self._at + 1],
            *phis,
            *lines[self._at + 1 + len(phis) :],
        ]


class _Stores:
    """The block that stores the state where a turn ends.

    Attributes:
        later: stores that are not made at once.
        inputs: scalars that these are made from, to their types.
    """

    def __init__(self, made: dict[str, str], lines: list[str], recorded: set[int]) -> None:
        """Args: made: as of `_Loop`; recorded: offsets of what is stored at once."""
        self._made, self._lines = made, lines
        kept = lasting(lines)
        self._here = {
            name: line
            for line in lines
            if (name := name_in(line)) and (parsed(line)[0] or name in kept)
        }
        self._known: dict[str, frozenset[str] | None] = {}
        self.later = [
            store
            for store in stores_of(lines)
            if store.offset not in recorded and self._follows(store)
        ]
        self.inputs = {
            name: self._type(name)
            for store in self.later
            for name in self._inputs(store.value) or ()
        }

    def _follows(self, store: StateStore) -> bool:
        """Whether what is stored follows from scalars, at more cost than to store those."""
        if not store.row and "<32 x " not in self._here.get(store.value, ""):
            return False
        return not store.value.startswith("%") or self._inputs(store.value) is not None

    def _type(self, name: str) -> str:
        """The type of a scalar that is made elsewhere."""
        return scalar_type(self._made.get(name, ""))

    def _inputs(self, name: str) -> frozenset[str] | None:
        """The scalars made elsewhere that a name is made from; None: it is not made from such."""
        if not name.startswith("%"):
            return frozenset()
        if name not in self._known:
            self._known[name] = self._made_from(name)
        return self._known[name]

    def _made_from(self, name: str) -> frozenset[str] | None:
        line = self._here.get(name)
        if line is None:
            return frozenset((name,)) if self._type(name) not in ("", "i1") else None
        found: frozenset[str] = frozenset()
        for use in _NAME.findall(line, line.index(" = ")):
            more = frozenset() if use in ("%rec", "%bank") else self._inputs(use)
            if more is None:
                return None
            found |= more
        return found

    def moved(self) -> list[str]:
        """The stores that are not made at once, and the statements that they need."""
        return closure(self._lines, {store.line for store in self.later}, set(self.inputs))

    def left(self, slots: Slots, number: int, behind: set[str]) -> list[str]:
        """What of the block remains, with what is stored instead; names that others need."""
        gone = {store.line for store in self.later}
        stays = {
            n
            for n, line in enumerate(self._lines)
            if n not in gone and (name_in(line) not in self._here or name_in(line) in behind)
        }
        return [*closure(self._lines, stays, set()), *slots.stored(number)]


def _defined(lines: Iterable[str]) -> set[str]:
    """The names that statements define."""
    return {name for line in lines if (name := name_in(line))}


def _start(offset: int) -> int:
    """Where the row of a place in the record begins; a place in its header as it is."""
    if offset < HEADER_BYTES:
        return offset
    return offset - (offset - HEADER_BYTES) % ROW_BYTES


def _reached(lines: list[str], tail: list[str]) -> list[str]:
    """The statements of the blocks out of the way that code leads to."""
    blocks: dict[str, list[str]] = {}
    here: list[str] = []
    for line in tail:
        if not line.startswith(" "):
            here = blocks[line[:-1]] = []
        here.append(line)
    work = [label for line in lines for label in _LABEL.findall(line)]
    seen: set[str] = set()
    out: list[str] = []
    while work:
        label = work.pop()
        if label in blocks and label not in seen:
            seen.add(label)
            out += blocks[label]
            work += [goal for line in blocks[label] for goal in _LABEL.findall(line)]
    return out
