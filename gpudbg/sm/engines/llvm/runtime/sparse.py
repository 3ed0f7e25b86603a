"""Sparse rows of A as dense ones of twice as many columns (`gpudbg.sm.fragments.stored_columns`).

A register holds stored elements of columns that two registers of the dense matrix hold, of which
this makes the two.  Nibbles of metadata say where the elements go; those of four bits go in pairs.
"""

from __future__ import annotations

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder, splat
from gpudbg.sm.engines.llvm.runtime.body import I32, I64

_BITS = "<32 x i1>"


def sparse_rows(name: str) -> str:
    """A function: rows of stored elements and of nibbles, then the two dense rows; false where two
    elements have the same column."""
    return _Rows(int(name.removeprefix("sparse."))).text(name)


class _Rows:
    """The body of one function.

    Attributes:
        size: bits of an element, or of a pair of smaller ones.
    """

    def __init__(self, size: int) -> None:
        self.ir, self.size = Builder(), size
        self.odd = ""

    def _with(self, what: str, a: str, number: int, kind: str = I32) -> str:
        scalar = kind[1:-1].split(" x ")[1]
        return self.ir.op(f"{what} {kind} {a}, {splat(scalar, number)}")

    def text(self, name: str) -> str:
        """The function."""
        ir = self.ir
        stored, nibbles = (ir.get(I32, place, 0, 64) for place in ("%stored", "%nibbles"))
        found = {8: self._bytes, 16: self._halves, 32: self._words}[self.size](stored, nibbles)
        if self.odd:
            word = ir.op(f"bitcast {_BITS} {self.odd} to i32")
            with ir.returning(ir.op(f"icmp ne i32 {word}, 0")):
                ir.line("ret i1 false")
        for place, value in zip(("%low", "%high"), found, strict=True):
            ir.put(I32, value, place, 0, 64)
        ir.line("ret i1 true")
        about = "ptr %stored, ptr %nibbles, ptr %low, ptr %high"
        return ir.close(f"define i1 @{layout.symbol(name)}({about})")

    def _places(self, nibbles: str, number: int) -> list[str]:
        """By how many bits the two elements of a nibble move."""
        both = [self._with("lshr", nibbles, 4 * number + 2 * field) for field in (0, 1)]
        first, second = (self._with("and", place, 3) for place in both)
        same = self.ir.op(f"icmp eq {I32} {first}, {second}")
        self.odd = self.ir.op(f"or {_BITS} {self.odd}, {same}") if self.odd else same
        return [self._with("mul", place, self.size) for place in (first, second)]

    def _bytes(self, stored: str, nibbles: str) -> list[str]:
        """Each half of a register, and its nibble, make one register."""
        found = []
        for number in (0, 1):
            moved = []
            for field, place in enumerate(self._places(nibbles, number)):
                part = self._with("lshr", stored, 16 * number + 8 * field)
                part = self._with("and", part, 0xFF)
                moved.append(self.ir.op(f"shl {I32} {part}, {place}"))
            found.append(self.ir.op(f"or {I32} {moved[0]}, {moved[1]}"))
        return found

    def _halves(self, stored: str, nibbles: str) -> list[str]:
        """One nibble for both elements of a register."""
        moved = []
        for field, place in enumerate(self._places(nibbles, 0)):
            part = self._with("and", self._with("lshr", stored, 16 * field), 0xFFFF)
            wide = [self.ir.op(f"zext {I32} {value} to {I64}") for value in (part, place)]
            moved.append(self.ir.op(f"shl {I64} {wide[0]}, {wide[1]}"))
        both = self.ir.op(f"or {I64} {moved[0]}, {moved[1]}")
        high = self._with("lshr", both, 32, I64)
        return [self.ir.op(f"trunc {I64} {value} to {I32}") for value in (both, high)]

    def _words(self, stored: str, nibbles: str) -> list[str]:
        """One element of two columns: bit 1 of its nibble says of which."""
        second = self._with("icmp ne", self._with("and", nibbles, 2), 0)
        choices = (
            f"{I32} zeroinitializer, {I32} {stored}",
            f"{I32} {stored}, {I32} zeroinitializer",
        )
        return [self.ir.op(f"select {_BITS} {second}, {choice}") for choice in choices]


__all__ = ["sparse_rows"]
