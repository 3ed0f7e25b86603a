"""Eight and sixteen bytes a lane, and rows of matrices: moved whole, not word by word."""

from __future__ import annotations

from collections.abc import Sequence

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.values import Val
from gpudbg.sm.engines.llvm.runtime.body import (
    Body,
    arguments,
    nothing_to_do,
    places_shared,
)

GROUP = 8
"""Lanes whose words are transposed at once."""


def _lane_places(ir: Builder, base: str, inside: Val, lanes: Sequence[int]) -> list[str]:
    """Host pointers of some lanes."""
    kind, found = f"i{inside.bits}", []
    for lane in lanes:
        offset = ir.op(f"extractelement <32 x {kind}> {inside.ref}, i64 {lane}")
        if inside.bits == 32:
            offset = ir.op(f"zext i32 {offset} to i64")
        found.append(ir.at(base, offset))
    return found


def _picked(ir: Builder, kind: str, a: str, b: str, lanes: Sequence[int]) -> str:
    picks = ", ".join(f"i32 {n}" for n in lanes)
    return ir.op(f"shufflevector {kind} {a}, {kind} {b}, <{len(lanes)} x i32> <{picks}>")


def _joined(ir: Builder, width: int, a: str, b: str) -> str:
    return _picked(ir, f"<{width} x i32>", a, b, range(2 * width))


def _turned(ir: Builder, rows: list[str]) -> list[str]:
    """Transpose: four vectors of two times four words; word w of row r becomes word r of row w."""
    kind = "<8 x i32>"
    low, high = [0, 8, 1, 9, 4, 12, 5, 13], [2, 10, 3, 11, 6, 14, 7, 15]
    first, second = [0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]
    mixed = [
        [_picked(ir, kind, rows[n], rows[n + 1], order) for n in (0, 2)] for order in (low, high)
    ]
    return [
        _picked(ir, kind, pair[0], pair[1], order) for pair in mixed for order in (first, second)
    ]


def load_whole(b: Body, size: int, base: str, inside: Val) -> None:
    """All lanes of a load of 8 or 16 bytes to `%out`, every lane executing."""
    ir = b.ir
    for first in range(0, 32, GROUP):
        places = _lane_places(ir, base, inside, range(first, first + GROUP))
        for n, value in enumerate(eight_loaded(ir, size // 4, places)):
            ir.put("<8 x i32>", value, "%out", 128 * n + 4 * first, 32)


def eight_loaded(ir: Builder, words: int, places: Sequence[str]) -> list[str]:
    """`<8 x i32>` of each of two or four words of eight lanes at host pointers."""
    rows = [ir.get(f"<{words} x i32>", place, 0, 4) for place in places]
    if words == 2:
        # Lanes n and n + 2 are treated as one vector of 16 bytes.
        pairs = [_joined(ir, 2, rows[n], rows[n + 2]) for n in (0, 1, 4, 5)]
        halves = [_joined(ir, 4, pairs[n], pairs[n + 2]) for n in (0, 1)]
        orders = ([0, 8, 2, 10, 4, 12, 6, 14], [1, 9, 3, 11, 5, 13, 7, 15])
        return [_picked(ir, "<8 x i32>", halves[0], halves[1], order) for order in orders]
    return _turned(ir, [_joined(ir, 4, rows[n], rows[n + 4]) for n in range(4)])


def store_whole(b: Body, size: int, base: str, inside: Val) -> None:
    """All lanes of a store of 8 or 16 bytes from `%d0`..., every lane executing; of lanes that
    meet the last one stays."""
    ir = b.ir
    for first in range(0, 32, GROUP):
        places = _lane_places(ir, base, inside, range(first, first + GROUP))
        data = [ir.get("<8 x i32>", f"%d{n}", 4 * first, 32) for n in range(size // 4)]
        store_eight(ir, data, places)


def store_eight(ir: Builder, data: list[str], places: Sequence[str]) -> None:
    """Store two or four words, `<8 x i32>` each, of eight lanes at host pointers, in order."""
    words = len(data)
    if words == 2:
        orders = ([0, 8, 1, 9, 4, 12, 5, 13], [2, 10, 3, 11, 6, 14, 7, 15])
        mixed = [_picked(ir, "<8 x i32>", data[0], data[1], order) for order in orders]
        rows = [
            _picked(ir, "<8 x i32>", mixed[n % 4 // 2], "poison", [start, start + 1])
            for n in range(GROUP)
            for start in (4 * (n // 4) + 2 * (n % 2),)
        ]
    else:
        turned = _turned(ir, data)
        halves = range(4), range(4, 8)
        rows = [
            _picked(ir, "<8 x i32>", turned[n % 4], "poison", halves[n // 4]) for n in range(GROUP)
        ]
    for row, place in zip(rows, places, strict=True):
        ir.put(f"<{words} x i32>", row, place, 0, 4)


def matrix_functions() -> list[str]:
    """Rows of matrices between shared memory and registers, where they lie alike."""
    functions = []
    for count in (1, 2, 4):
        for how in ("load", "store"):
            b = Body()
            ir = b.ir
            nothing_to_do(b)
            inside, base = places_shared(b, 16)
            for n in range(count):
                places = _lane_places(ir, base, inside, range(8 * n, 8 * n + 8))
                for row, place in enumerate(places):
                    there, here = (place, 4), (ir.at(f"%m{n}", 16 * row), 16)
                    source, goal = (there, here) if how == "load" else (here, there)
                    value = ir.get("<4 x i32>", source[0], 0, source[1])
                    ir.put("<4 x i32>", value, goal[0], 0, goal[1])
            ir.line("ret i1 true")
            rows = "".join(f", ptr %m{n}" for n in range(count))
            name = layout.symbol(f"matrices.{how}.{count}")
            functions.append(b.close(f"define i1 @{name}({arguments('shared')}{rows})"))
    return functions


__all__ = ["eight_loaded", "load_whole", "matrix_functions", "store_eight", "store_whole"]
