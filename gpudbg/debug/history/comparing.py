"""Two states of a launch beside each other: what differs, in the words of its program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from gpudbg.answers import Format, column, dim, typed_row
from gpudbg.sm import state_edits
from gpudbg.sm.state_hash import RUN_CONTROL

if TYPE_CHECKING:
    from gpudbg.sm.grid import Grid

_HEX: Final = Format(lambda value: "" if value is None else f"0x{value:x}")
_FIELDS: Final = {"pred": "P", "upred": "UP", "cc": "flag "}
"""Parts of a warp that are lane masks -> the prefix of their words' names."""

Parts = dict[str, tuple[bytes, Callable[[int], str]]]
"""Part of a state -> (its bytes, a function that names the word at an index)."""


@typed_row
class StateDifference:
    """Words beside each other that differ in two states of a launch.

    `where` is the first of them, `count` how many there are (32 bits each), `this_branch` and
    `other_branch` the first one's values: on the branch that is followed, and on the other one.  A
    warp or a block that has ended, or not begun, on one of them is a row without values.

    >>> stop = session.run()
    >>> stop = session.goto(0)
    >>> session.set_buffer("in", session.buffer("in") * 0)
    >>> stop = session.run()
    >>> row = session.compare_branch(1)[-1]
    >>> row.this_branch == row.other_branch
    False
    """

    where: str = column("Place")
    count: int = column("Words")
    this_branch: int | None = column("Here", _HEX)
    other_branch: int | None = column("There", _HEX)


def parts_of(grid: Grid) -> Parts:
    """What of a state is compared: warps, memory of every space, debugger registers."""
    warps = {f"warp {w.sm}.{w.slot}": (w.cta.block, w.index) for w in grid.warps()}
    names = {f"memory 0x{a.base:x}": a.name for a in grid.gpu.memory.allocations()}
    found: Parts = {}
    for name, data in state_edits.copied(grid).items():
        found |= _named(name, data, warps, names)
    for name, value in state_edits.value_parts(grid).items():
        # Run-control bits are excluded: they say how the SM was driven to its last stop, not what a
        # user changed.
        shown = value & ~RUN_CONTROL if name.endswith(" control") else value
        found[name] = shown.to_bytes(8, "little"), lambda n, name=name: name  # type: ignore[misc]
    return found


def _named(
    name: str,
    data: bytes,
    warps: dict[str, tuple[tuple[int, int, int], int]],
    names: dict[str, str],
) -> Parts:
    first, _, kind = name.rpartition(" ")
    if first in warps:
        block, index = warps[first]
        who = f"block {dim(block)} warp {index}"
        return {f"{who} {kind}": (data, lambda n: f"{who} {_of_warp(kind, n)}")}
    if name in names:
        return {name: (data, lambda n: f"{names[name]}+0x{4 * n:x}")}
    if kind == "shared":
        return {name: (data, lambda n: f"{first} shared 0x{4 * n:x}")}
    return {name: (data, lambda n: f"c[{kind}][0x{4 * n:x}]")}


def _of_warp(kind: str, n: int) -> str:
    row, lane = divmod(n, 32)
    if kind in ("registers", "uniform"):
        return f"{'R' if kind == 'registers' else 'UR'}{row} lane {lane}"
    if kind == "local":
        return f"local 0x{4 * row:x} lane {lane}"
    if kind in _FIELDS:
        return f"{_FIELDS[kind]}{'ZSCOK'[n] if kind == 'cc' else n}"
    return kind


def differences(here: Parts, there: Parts) -> Iterator[StateDifference]:
    """What differs, warps first in their order; a warp or block that one of them has not is one."""
    gone: dict[str, int] = {}
    for name in dict.fromkeys((*here, *there)):
        a, b = here.get(name), there.get(name)
        if a is None or b is None:
            data = (a or b or (b"", str))[0]
            where = "there" if b is None else "here"
            owner = f"{name.rpartition(' ')[0] or name}: not {where}"
            gone[owner] = gone.get(owner, 0) + len(_words(data))
        elif a[0] != b[0]:
            yield from _runs(a[0], b[0], a[1])
    for owner, words in gone.items():
        yield StateDifference(owner, words, None, None)


def _runs(a: bytes, b: bytes, called: Callable[[int], str]) -> Iterator[StateDifference]:
    size = max(len(a), len(b))
    x, y = _words(a.ljust(size, b"\0")), _words(b.ljust(size, b"\0"))
    where = np.flatnonzero(x != y)
    cuts = np.flatnonzero(np.diff(where) > 1) + 1
    for run in np.split(where, cuts):
        n = int(run[0])
        yield StateDifference(called(n), len(run), int(x[n]), int(y[n]))


def _words(data: bytes) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return np.frombuffer(data + bytes(-len(data) % 4), np.uint32)
