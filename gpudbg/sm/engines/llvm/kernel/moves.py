"""Data between memory at checked places and lanes."""

from __future__ import annotations

from functools import cache

from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.floats import places
from gpudbg.sm.engines.llvm.ir.values import FULL, MaskHost, Values
from gpudbg.sm.engines.llvm.kernel.addresses import HALF, LANES16
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.engines.llvm.kernel.marks import ONES, Marks


@cache
def _range(first: int, step: int = 1) -> str:
    """Shuffle mask of 16 indices."""
    numbers = ", ".join(f"i32 {first + step * n}" for n in range(HALF))
    return f"<{HALF} x i32> <{numbers}>"


class Moves:
    """Vectors of 16 lanes at a host pointer, and words of one lane."""

    def __init__(self, ir: Builder, values: Values, cursor: Cursor, marks: Marks) -> None:
        self.ir, self.values, self.cursor, self.marks = ir, values, cursor, marks

    def half_of(self, ref: str, half: int) -> str:
        """16 lanes of a row."""
        if ref.startswith("splat "):
            return ref
        kind = "<32 x i32>"
        return self.ir.op(f"shufflevector {kind} {ref}, {kind} poison, {_range(HALF * half)}")

    def splat16(self, scalar: str) -> str:
        first = self.ir.op(f"insertelement {LANES16} poison, i32 {scalar}, i64 0")
        return self.ir.op(
            f"shufflevector {LANES16} {first}, {LANES16} poison, <{HALF} x i32> zeroinitializer"
        )

    def load_splat(self, places: list[str], size: int, signed: bool) -> list[str]:
        """All lanes of each word, from one place for each 16 lanes."""
        halves = [
            [self.splat16(word) for word in self.load_words(place, size, signed)]
            for place in dict.fromkeys(places)
        ]
        return [self.both(a, b) for a, b in zip(halves[0], halves[-1], strict=True)]

    def load_words(self, place: str, size: int, signed: bool) -> list[str]:
        """The words of one lane."""
        kind = f"i{8 * min(size, 4)}"
        words = []
        for n in range(max(1, size // 4)):
            value = self.ir.get(kind, place, 4 * n, min(size, 4))
            if size < 4:
                value = self.ir.op(f"{'sext' if signed else 'zext'} {kind} {value} to i32")
            words.append(value)
        return words

    def load_line(self, pointer: str, size: int, signed: bool) -> list[str]:
        ir = self.ir
        if size < 4:
            kind = f"<{HALF} x i{8 * size}>"
            value = ir.get(kind, pointer, 0, size)
            return [ir.op(f"{'sext' if signed else 'zext'} {kind} {value} to {LANES16}")]
        count = size // 4
        if count == 1:
            return [ir.get(LANES16, pointer, 0, 4)]
        kind = f"<{HALF * count} x i32>"
        value = ir.get(kind, pointer, 0, 4)
        return [
            ir.op(f"shufflevector {kind} {value}, {kind} poison, {_range(n, count)}")
            for n in range(count)
        ]

    def both(self, a: str, b: str) -> str:
        return self.ir.op(f"shufflevector {LANES16} {a}, {LANES16} {b}, {places(0, 32)}")

    def store_piece(self, place: str, data: list[str], half: int, own: bool = False) -> None:
        """16 lanes of each word next to each other.

        Args:
            own: as of `put_chosen`.
        """
        self._store_piece(place, data, half, own)
        with self.marks.beside(place) as marks:
            if marks:
                self._store_piece(marks, [ONES] * len(data), half, own)

    def chosen_half(self, picks: str, more: bool = False, among: tuple[bool, ...] = ()) -> str:
        """`<16 x i1>`: of the executing lanes those that a shuffle's indices pick.

        Args:
            more: indices of 32 and more pick lanes, too, again from 0 on.
            among: of which 16 that is so; the others are not chosen.
        """
        lanes, kind = self.values.mask_lanes(self.cursor.exec), "<32 x i1>"
        packed = self.values.masks is MaskHost.PACKED
        if packed:
            # As words: of bits LLVM makes bytes first.
            lanes, kind = self.values.signs_of(lanes), "<32 x i32>"
        second = lanes if more else "poison"
        picked = self.ir.op(f"shufflevector {kind} {lanes}, {kind} {second}, {picks}")
        if not all(among):
            half = LANES16 if packed else f"<{HALF} x i1>"
            words = ", ".join(f"i32 {-one}" if packed else f"i1 {int(one)}" for one in among)
            picked = self.ir.op(f"and {half} {picked}, <{words}>")
        return self.ir.op(f"icmp slt {LANES16} {picked}, zeroinitializer") if packed else picked

    def put_chosen(self, place: str, value: str, chosen: str, own: bool) -> None:
        """Store 16 words, except for those that are not chosen.

        Args:
            chosen: `<16 x i1>` without its type.
            own: all 16 are inside, in memory of the block, which one host thread has.
        """
        ir, kind = self.ir, f"<{HALF} x i1>"
        if own and self.values.masks is MaskHost.PACKED:
            # Under a mask it takes dozens of operations on some hosts (AMD), and loads wait for it.
            # Volatile, or LLVM makes one store under a mask of it.
            old = ir.get(LANES16, place, 0, 4)
            both = ir.op(f"select {kind} {chosen}, {LANES16} {value}, {LANES16} {old}")
            ir.line(f"store volatile {LANES16} {both}, ptr {place}, align 4")
            return
        ir.line(
            f"call void @llvm.masked.store.v{HALF}i32.p0({LANES16} {value}, "
            f"ptr align 4 {place}, {kind} {chosen})"
        )

    def store_row(self, place: str, value: str) -> None:
        """Store a word of the executing lanes, which are next to each other."""
        self._store_row(place, value)
        with self.marks.beside(place) as marks:
            if marks:
                self._store_row(marks, ONES)

    def _store_row(self, place: str, value: str) -> None:
        ir, kind = self.ir, "<32 x i32>"
        if self.cursor.exec != FULL:
            old, lanes = ir.get(kind, place, 0, 4), self.values.mask_lanes(self.cursor.exec)
            value = ir.op(f"select <32 x i1> {lanes}, {kind} {value}, {kind} {old}")
        ir.put(kind, value, place, 0, 4)

    def _store_piece(self, place: str, data: list[str], half: int, own: bool) -> None:
        ir = self.ir
        parts = [self.half_of(d, half) for d in data]
        count = len(parts)
        if count == 1 and self.cursor.exec != FULL:
            self.put_chosen(place, parts[0], self.chosen_half(_range(HALF * half)), own)
            return
        kind, value = LANES16, parts[0]
        width = HALF
        while len(parts) > 1:
            # Interleave pairs n and n + half the count, so that words end up in order.
            middle = len(parts) // 2
            order = ", ".join(f"i32 {k + width * p}" for k in range(width) for p in range(2))
            joined = f"<{2 * width} x i32>"
            parts = [
                ir.op(f"shufflevector {kind} {a}, {kind} {b}, <{2 * width} x i32> <{order}>")
                for a, b in zip(parts[:middle], parts[middle:], strict=True)
            ]
            kind, width, value = joined, 2 * width, parts[0]
        ir.put(kind, value, place, 0, 4)
