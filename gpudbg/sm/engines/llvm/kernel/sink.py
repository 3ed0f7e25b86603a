"""Work that only exits need, moved into them.

Code is emitted as if every result were wanted at once: flags, canonical NaNs, lanes of the old
value under a mask.  Most are overwritten before anything looks at them, except that an exit would
store them.  `sink` takes the statements without effect that the quick path does not need out of it,
and repeats them in each block out of the way that does.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from gpudbg.sm.engines.llvm.ir.builder import END_OF_GROUP, GROUP, HELD
from gpudbg.sm.engines.llvm.ir.values import PACK
from gpudbg.sm.record import FIELDS

_PLACE = re.compile(r"  (%v\d[\w.]*) = getelementptr i8, ptr %(rec|bank), i64 (\d+)$")
_LOAD = re.compile(r"  (%v\d[\w.]*) = load [^,]*, ptr (%v\d[\w.]*)(?:, align \d+)?$")
_LASTING = [
    range(FIELDS[name].offset, FIELDS[name].offset + FIELDS[name].width * FIELDS[name].length)
    for name in ("ctaid", "tid")
]
"""Offsets in a record at which there is the same as long as it is one warp's."""
_NAME = re.compile(r"%v\d[\w.]*")
_DEFINITION = re.compile(r"  (%v\d[\w.]*) = (\w+)")
_LABEL = re.compile(r"label %([\w.]+)")
_ENTRY = re.compile(r"(?:[bz]|sure)\d+:$")
"""A label that code outside of its trace goes to."""
_STAYS = frozenset(("load", "call", "phi", "atomicrmw", "cmpxchg", "alloca"))
"""Statements that are not repeated elsewhere, apart from pure intrinsics and held values."""
_DEEPEST = 40
"""Most statements, each of the one before, that exits repeat."""
_MOST_REMADE = 24
"""Most statements that exits repeat so that what they make need not be kept for them."""
_MOST_COPIES = 2
"""Most blocks behind a loop that what is taken out of it is repeated in."""
_PURE_CALL = re.compile(
    rf" = call [^@]*@(?:{PACK}\(|llvm\.(?!prefetch|masked|set|experimental|x86\.avx2\.gather)\w)"
)


Statement = tuple[str, tuple[str, ...], bool]
"""What is looked for in a line: the name that it defines without other effect, or as a phi, or "";
names that it uses; whether it is a phi."""


@lru_cache(maxsize=1 << 14)
def parsed(line: str) -> Statement:
    """A line, of which several passes want to know the same."""
    if line[:4] != "  %v":
        if " = phi " in line:
            name = line[2 : line.index(" =")]
            return name, tuple(_NAME.findall(line, len(name))), True
        return "", tuple(_NAME.findall(line)) if "%v" in line else (), False
    # A definition: by hand, since these are most lines.
    end = line.index(" = ", 4)
    behind = end + 3
    what = line[behind : line.index(" ", behind)]
    if what in _STAYS and what != "phi" and not _is_repeatable(line):
        return "", tuple(_NAME.findall(line)), False
    first = line.find("%v", behind)
    uses = tuple(_NAME.findall(line, first)) if first > 0 else ()
    return line[2:end], uses, what == "phi"


def _is_repeatable(line: str) -> bool:
    """Whether a statement of those that stay elsewhere may be repeated."""
    return line.endswith(HELD) or _PURE_CALL.search(line) is not None


def defined_name(line: str) -> str:
    """The name that a pure statement defines, or ""."""
    found = _DEFINITION.match(line)
    if found is None:
        return ""
    if found[2] in _STAYS and not _is_repeatable(line):
        return ""
    return found[1]


def sink(
    lines: list[str], tail: list[str], latches: list[str] | None = None
) -> tuple[list[str], list[str]]:
    """The hot path and the cold blocks; instructions that only cold blocks use move into them.

    Args:
        lines: the quick path; only phis may name what is defined further down.
        tail: blocks out of the way, each from a label to a statement that ends it.
        latches: blocks that lead back to a loop's head, from a label likewise.
    """
    latches = latches or []
    moved: dict[str, str] = {}
    if latches:
        dead = _dead_phis([*lines, *latches], tail)
        if dead:
            lines = [line for line in lines if parsed(line)[0] not in dead]
        lines, moved = _behind_loop(lines, tail, latches)
    needed = _carried(lines)
    hot, more = _split(lines, needed)
    far = _far(lines, more)
    if far:
        hot, more = _split(lines, needed | far)
    moved |= more
    if latches:
        hot = _hoisted(hot, latches)
    # Made again, not kept for them.
    moved |= _remade(hot)
    return (hot, _Cold(moved).rewritten(tail)) if moved else (hot, tail)


def lasting(lines: list[str]) -> dict[str, str]:
    """The loads of what stays as it is as long as the warp runs, and the statements that make their
    addresses, by the names that they define."""
    places: dict[str, str] = {}
    found: dict[str, str] = {}
    for line in lines:
        if " = getelementptr i8, ptr %" in line:
            place = _PLACE.match(line)
            if place is not None and (
                place[2] == "bank" or any(int(place[3]) in offsets for offsets in _LASTING)
            ):
                places[place[1]] = line
            continue
        load = _LOAD.match(line) if places and " = load " in line else None
        if load is not None and load[2] in places:
            found[load[2]] = places[load[2]]
            found[load[1]] = line
    return found


def _remade(lines: list[str]) -> dict[str, str]:
    """Statements that a few others make from what lasts and constants, by the names that they
    define."""
    found = lasting(lines)
    sizes = dict.fromkeys(found, 1)
    for line in lines:
        name, uses, phi = parsed(line)
        if not uses or not name or phi or name in found or line.endswith(HELD):
            continue
        size = 1
        for use in uses:
            size += sizes.get(use, _MOST_REMADE)
        if size <= _MOST_REMADE:
            sizes[name], found[name] = size, line
    return found


def _hoisted(lines: list[str], latches: list[str]) -> list[str]:
    """The quick path with numbers that are the same in every round of its loop made once, before
    it: what scalars make from what lasts.

    Vectors stay: there are as many registers for them as for what goes round.
    """
    goals = {goal for line in latches for goal in _LABEL.findall(line)}
    goals -= {line[:-1] for line in latches}
    heads = [n for n, line in enumerate(lines) if line[:-1] in goals and line.endswith(":")]
    if len(heads) != 1 or lines[heads[0] - 1] != f"  br label %{lines[heads[0]][:-1]}":
        return lines
    head = heads[0]
    if any(_ENTRY.match(line) for line in lines[head + 1 :]):
        # Who comes another way has not been before the loop.
        return lines
    kept = lasting(lines)
    same = {line[2 : line.index(" =")] for line in lines[:head] if line.startswith("  %v")} & set(
        kept
    )
    first: list[str] = []
    rest: list[str] = []
    for line in lines[head:]:
        found = _DEFINITION.match(line)
        name = found[1] if found else ""
        uses = _NAME.findall(line, line.index("=")) if name else []
        if name and (name in kept or (uses and _is_scalar(line))) and same.issuperset(uses):
            same.add(name)
            first.append(line)
        else:
            rest.append(line)
    return [*lines[: head - 1], *first, lines[head - 1], *rest]


def _is_scalar(line: str) -> bool:
    """Whether a statement makes a number of other numbers, whatever they are."""
    return (
        defined_name(line) != "" and "<" not in line and "div " not in line and "rem " not in line
    )


def _behind_loop(
    lines: list[str], tail: list[str], latches: list[str]
) -> tuple[list[str], dict[str, str]]:
    """The quick path, latches included, without what only blocks behind its loop need, which is in
    them instead; and the statements taken out, by the names that they define.
    """
    back = _leading_to({line[:-1] for line in latches if line.endswith(":")}, tail)
    ends = (n for n, line in enumerate(lines) if back & set(_LABEL.findall(line)))
    end = 1 + max(ends, default=len(lines))
    loop, behind = [*lines[:end], *latches], lines[end:]
    needed = _carried([*lines, *latches])
    _, moved = _split(loop, needed)
    needed |= _far(loop, moved) | _often(behind, moved)
    hot, moved = _split(loop, needed)
    first = hot.index(latches[0])
    return [*hot[:first], *_Cold(moved, "b").rewritten(behind), *hot[first:]], moved


def _leading_to(labels: set[str], tail: list[str]) -> set[str]:
    """Labels, and those of blocks out of the way that go to one of them."""
    found, here = set(labels), ""
    for line in tail:
        if not line.startswith(" "):
            here = line[:-1]
        elif labels & set(_LABEL.findall(line)):
            found.add(here)
    return found


def _often(lines: list[str], moved: dict[str, str]) -> set[str]:
    """Names of `moved` that many blocks use, each of which would have a copy."""
    counts: Counter[str] = Counter()
    here: set[str] = set()
    for line in [*lines, "end:"]:
        if line.startswith(" "):
            here.update(name for name in parsed(line)[1] if name in moved)
        else:
            counts.update(here)
            here = set()
    return {name for name, count in counts.items() if count > _MOST_COPIES}


def _dead_phis(lines: list[str], tail: list[str]) -> set[str]:
    """Phis that nothing needs but themselves: what goes round a loop and is written anew in each
    turn before anything may look."""
    uses: dict[str, tuple[str, ...]] = {}
    phis: set[str] = set()
    work: list[str] = []
    for line in lines:
        name, used, phi = parsed(line)
        if name:
            uses[name] = used
            if phi:
                phis.add(name)
        else:
            work += used
    if not phis:
        return phis
    work += _NAME.findall("\n".join(tail))
    seen: set[str] = set()
    while work:
        name = work.pop()
        if name not in seen:
            seen.add(name)
            work += uses.get(name, ())
    return phis - seen


def _carried(lines: list[str]) -> set[str]:
    """Names in phis, which may be defined further down."""
    needed: set[str] = set()
    for line in lines:
        if " = phi " in line:
            name, uses, _ = parsed(line)
            needed.add(name)
            needed.update(uses)
    return needed


def unneeded(lines: list[str]) -> set[str]:
    """Names that the quick path does not need."""
    return set(_split(lines, _carried(lines))[1])


def _split(lines: list[str], wanted: set[str]) -> tuple[list[str], dict[str, str]]:
    """The statements that the quick path needs, and the others by the names that they define.

    Args:
        wanted: names that it needs whatever uses them.
    """
    needed = set(wanted)
    hot: list[str] = []
    moved: dict[str, str] = {}
    for line in reversed(lines):
        name, uses, _ = parsed(line)
        if name and name not in needed:
            moved[name] = line
            continue
        if uses:
            needed.update(uses)
        hot.append(line)
    hot.reverse()
    return hot, moved


def _far(lines: list[str], moved: dict[str, str]) -> set[str]:
    """Names of `moved` at the ends of chains that are too long to be repeated."""
    if len(moved) <= _DEEPEST:
        return set()
    depths: dict[str, int] = {}
    for line in lines:
        name, uses, _ = parsed(line)
        if name in moved:
            depths[name] = 1 + max((depths.get(n, 0) for n in uses), default=0)
    return {name for name, depth in depths.items() if depth > _DEEPEST}


class _Cold:
    """Rewrites cold blocks.

    What is repeated comes first in its block, or group of blocks: there the record still holds what
    it held.
    """

    def __init__(self, moved: dict[str, str], mark: str = "") -> None:
        """Args: mark: in the names of what is repeated."""
        self._moved, self._mark = moved, mark
        self._count = 0
        self._here: dict[str, str] = {}
        self._first: list[str] = []
        self._rest: list[str] = []

    def rewritten(self, tail: list[str]) -> list[str]:
        """The blocks with what they need in them."""
        out: list[str] = []
        group = False
        for line in tail:
            if line in (GROUP, END_OF_GROUP):
                group = line == GROUP
            elif group and not line.startswith(" "):
                self._rest.append(line)
            elif not line.startswith(" "):
                out += [*self._first, *self._rest, line]
                self._here, self._first, self._rest = {}, [], []
            elif " = phi " in line and not group:
                out.append(line)
            elif "%v" not in line or self._moved.keys().isdisjoint(_NAME.findall(line)):
                self._rest.append(line)
            else:
                self._rest.append(_NAME.sub(self._renamed, line))
        return [*out, *self._first, *self._rest]

    def _renamed(self, found: re.Match[str]) -> str:
        return self._name(found[0])

    def _name(self, name: str) -> str:
        """What a name is called in this block."""
        line = self._moved.get(name)
        if line is None:
            return name
        known = self._here.get(name)
        if known is None:
            text = _NAME.sub(self._renamed, line[line.index("=") :])
            self._count += 1
            known = self._here[name] = f"{name}.{self._mark}{self._count}"
            self._first.append(f"  {known} {text}")
        return known
