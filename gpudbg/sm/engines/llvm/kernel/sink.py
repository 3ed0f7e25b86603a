"""Work that only exits need, moved into them.

Code is emitted as if every result were wanted at once: flags, canonical NaNs, lanes of the old
value under a mask.  Most are overwritten before anything looks at them, except that an exit would
store them.  `sink` takes the statements without effect that the quick path does not need out of it,
and repeats them in each block out of the way that does.
"""

from __future__ import annotations

import re

from gpudbg.sm.engines.llvm.ir.builder import HELD

_NAME = re.compile(r"%v\d+")
_DEFINITION = re.compile(r"  (%v\d+) = (\w+)")
_STAYS = frozenset(("load", "call", "phi", "atomicrmw", "cmpxchg", "alloca"))
"""Statements that are not repeated elsewhere, apart from pure intrinsics and held values."""
_DEEPEST = 40
"""Most statements, each of the one before, that exits repeat."""
_PURE_CALL = re.compile(r" = call [^@]*@llvm\.(?!prefetch|masked|set|experimental)\w+")


def defined_name(line: str) -> str:
    """The name that a pure statement defines, or ""."""
    found = _DEFINITION.match(line)
    if found is None:
        return ""
    if found[2] in _STAYS and not (line.endswith(HELD) or _PURE_CALL.search(line)):
        return ""
    return found[1]


def sink(lines: list[str], tail: list[str]) -> tuple[list[str], list[str]]:
    """The hot path and the cold blocks; instructions that only cold blocks use move into them.

    Args:
        lines: the quick path; only phis may name what is defined further down.
        tail: blocks out of the way, each from a label to a statement that ends it.
    """
    needed = _carried(lines)
    hot, moved = _split(lines, needed)
    far = _far(lines, moved)
    if far:
        hot, moved = _split(lines, needed | far)
    if not moved:
        return hot, tail
    return hot, _Cold(moved).rewritten(tail)


def unneeded(lines: list[str]) -> set[str]:
    """Names that the quick path does not need."""
    return set(_split(lines, _carried(lines))[1])


def _carried(lines: list[str]) -> set[str]:
    """Names in phis, which may be defined further down."""
    needed: set[str] = set()
    for line in lines:
        if " = phi " in line:
            needed.update(_NAME.findall(line))
    return needed


def _split(lines: list[str], wanted: set[str]) -> tuple[list[str], dict[str, str]]:
    """The statements that the quick path needs, and the others by the names that they define.

    Args:
        wanted: names that it needs whatever uses them.
    """
    needed = set(wanted)
    hot: list[str] = []
    moved: dict[str, str] = {}
    for line in reversed(lines):
        name = defined_name(line)
        if name and name not in needed:
            moved[name] = line
            continue
        needed.update(_NAME.findall(line))
        hot.append(line)
    hot.reverse()
    return hot, moved


def _far(lines: list[str], moved: dict[str, str]) -> set[str]:
    """Names of `moved` at the ends of chains that are too long to be repeated."""
    depths: dict[str, int] = {}
    for line in lines:
        name = defined_name(line)
        if name in moved:
            used = _NAME.findall(line, line.index("="))
            depths[name] = 1 + max((depths.get(n, 0) for n in used), default=0)
    return {name for name, depth in depths.items() if depth > _DEEPEST}


class _Cold:
    """Rewrites cold blocks.

    What is repeated comes first in its block: there the record still holds what it held.
    """

    def __init__(self, moved: dict[str, str]) -> None:
        self._moved = moved
        self._count = 0
        self._here: dict[str, str] = {}
        self._first: list[str] = []
        self._rest: list[str] = []

    def rewritten(self, tail: list[str]) -> list[str]:
        """The blocks with what they need in them."""
        out: list[str] = []
        for line in tail:
            if not line.startswith(" "):
                out += [*self._first, *self._rest, line]
                self._here, self._first, self._rest = {}, [], []
            elif " = phi " in line:
                out.append(line)
            else:
                self._rest.append(_NAME.sub(lambda found: self._name(found[0]), line))
        return [*out, *self._first, *self._rest]

    def _name(self, name: str) -> str:
        """What a name is called in this block."""
        line = self._moved.get(name)
        if line is None:
            return name
        known = self._here.get(name)
        if known is None:
            text = _NAME.sub(lambda found: self._name(found[0]), line[line.index("=") :])
            self._count += 1
            known = self._here[name] = f"{name}.{self._count}"
            self._first.append(f"  {known} {text}")
        return known
