"""Products of f16 matrices with f32 sums in the run-time library (`gpudbg.sm.engines.tensor`).

The model: products are exact; those of a block and the addend are cut toward zero at a number of
bits below the largest exponent, summed exactly, and cut toward zero to f32.  Products of f16 are
exact in f32, so cutting is a power of two and a conversion to an integer.  Infinities, NaNs and
tiny addends are left to the step engine.

Lane l holds, with g = l >> 2 and t = l & 3 (PTX ISA): of A rows g and g + 8, columns 2t, 2t + 1
and those 8 further; of B rows 2t, 2t + 1 and 8 further, column g; of C and D rows g and g + 8,
columns 2t and 2t + 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder, splat

CHUNK: Final = 8
"""Lanes that are computed at once: two rows of A, and of D."""
F32, I32, F64, I64 = (f"<{CHUNK} x {kind}>" for kind in ("float", "i32", "double", "i64"))
HALVES, SHORTS, BITS = (f"<{CHUNK} x {kind}>" for kind in ("half", "i16", "i1"))
_NOTHING = -4096
"""Exponent of a zero: below all others."""
_LEAST = 57 << 23
"""An addend as an f32 other than zero that is at least 2**-70: what is less is left."""
_MOST_UP, _MOST_DOWN = 96, -120
"""Exponents of scales, beyond which everything is zero."""


class ProductShape(NamedTuple):
    """A function: registers of A, fraction bits kept, columns of A in a block."""

    registers: int
    bits: int
    block: int

    @property
    def name(self) -> str:
        """In the library."""
        return f"hmma.f16.f32.{self.registers}.{self.bits}"


SHAPES: Final = tuple(
    ProductShape(registers, *unit) for registers in (2, 4) for unit in ((24, 8), (25, 16))
)
"""Of sm_75 to sm_89, and of sm_90 and later."""
assert tuple(shape.name for shape in SHAPES) == layout.TENSOR


class _Elements(NamedTuple):
    """Names of f32 values and of their exponents in f16, `_NOTHING` for zeros."""

    values: str
    exponents: str


def tensor_functions(half_conversions: bool) -> list[str]:
    """The functions: pointers to the rows of A, B and C, then D; whether D has been written.

    Args:
        half_conversions: the host has an instruction from f16 to f32.
    """
    return [_Product(shape, half_conversions).text() for shape in SHAPES]


class _Product:
    """The body of one function."""

    def __init__(self, shape: ProductShape, half_conversions: bool) -> None:
        self.shape = shape
        self._half_conversions = half_conversions
        self.ir = Builder()
        self._largest = ""

    def _map(self, kind: str, what: str, a: str, b: str) -> str:
        return self.ir.op(f"{what} {kind} {a}, {b}")

    def _choose(self, what: str, a: str, b: str) -> str:
        return self.ir.op(f"call {I32} @llvm.{what}.v8i32({I32} {a}, {I32} {b})")

    def _picked(self, kind: str, a: str, b: str, lanes: Sequence[int]) -> str:
        """Lanes of two vectors by number."""
        picks = ", ".join(f"i32 {n}" for n in lanes)
        return self.ir.op(f"shufflevector {kind} {a}, {kind} {b}, <{CHUNK} x i32> <{picks}>")

    # ---- elements ------------------------------------------------------------------------

    def _elements(self, place: str) -> list[_Elements]:
        """Both halves of eight lanes of a register."""
        ir = self.ir
        words = ir.get(I32, place, 0, 32)
        found = []
        for shift in (0, 16):
            raw = self._map(I32, "lshr", words, splat("i32", shift)) if shift else words
            part = self._map(I32, "and", raw, splat("i32", 0x7FFF))
            value = self._single(raw, part)
            largest = self._largest
            self._largest = self._choose("umax", largest, part) if largest else part
            exponent = self._map(I32, "lshr", part, splat("i32", 10))
            exponent = self._choose("umax", exponent, splat("i32", 1))
            none = ir.op(f"icmp eq {I32} {part}, zeroinitializer")
            nothing = f"{I32} {splat('i32', _NOTHING)}, {I32} {exponent}"
            found.append(_Elements(value, ir.op(f"select {BITS} {none}, {nothing}")))
        return found

    def _single(self, raw: str, part: str) -> str:
        """Eight f16 values, the low halves of words, as f32; `part`: without their signs."""
        ir = self.ir
        if self._half_conversions:
            small = ir.op(f"trunc {I32} {raw} to {SHORTS}")
            halves = ir.op(f"bitcast {SHORTS} {small} to {HALVES}")
            return ir.op(f"fpext {HALVES} {halves} to {F32}")
        # The fraction in its place; the product with 2**112 mends the exponent, subnormals too.
        size = self._map(I32, "shl", part, splat("i32", 13))
        small = ir.op(f"bitcast {I32} {size} to {F32}")
        scaled = ir.op(f"fmul {F32} {small}, {splat('float', '0x46F0000000000000')}")
        bits = ir.op(f"bitcast {F32} {scaled} to {I32}")
        large = ir.op(f"icmp uge {I32} {part}, {splat('i32', 0x7C00)}")
        special = self._map(I32, "or", size, splat("i32", 0x7F80_0000))
        bits = ir.op(f"select {BITS} {large}, {I32} {special}, {I32} {bits}")
        sign = self._map(I32, "and", raw, splat("i32", 0x8000))
        sign = self._map(I32, "shl", sign, splat("i32", 16))
        bits = self._map(I32, "or", bits, sign)
        return ir.op(f"bitcast {I32} {bits} to {F32}")

    def _columns(self, kind: str, chunks: list[str]) -> list[str]:
        """For each j the lanes j, j + 8, j + 16, j + 24 of a whole vector, twice."""
        low, high = [0, 8, 1, 9, 4, 12, 5, 13], [2, 10, 3, 11, 6, 14, 7, 15]
        pairs = [
            [self._picked(kind, chunks[n], chunks[n + 1], order) for n in (0, 2)]
            for order in (low, high)
        ]
        first, second = [0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]
        four = [
            self._picked(kind, pair[0], pair[1], order)
            for pair in pairs
            for order in (first, second)
        ]
        lower, upper = [0, 1, 2, 3, 0, 1, 2, 3], [4, 5, 6, 7, 4, 5, 6, 7]
        return [self._picked(kind, v, "poison", order) for order in (lower, upper) for v in four]

    def _beside(self, row: str) -> list[list[_Elements]]:
        """Of both halves of a register of B the elements of D's columns, by j."""
        chunks = [self._elements(self.ir.at(row, 4 * CHUNK * n)) for n in range(4)]
        found = []
        for half in (0, 1):
            values = self._columns(F32, [chunk[half].values for chunk in chunks])
            exponents = self._columns(I32, [chunk[half].exponents for chunk in chunks])
            found.append([_Elements(*both) for both in zip(values, exponents, strict=True)])
        return found

    def _of_row(self, held: _Elements, thread: int) -> _Elements:
        """What a thread of each quad holds, in all of the quad."""
        lanes = [n & ~3 | thread for n in range(CHUNK)]
        values = self._picked(F32, held.values, "poison", lanes)
        return _Elements(values, self._picked(I32, held.exponents, "poison", lanes))

    # ---- sums ----------------------------------------------------------------------------

    def _power(self, exponent: str) -> str:
        """2**n as f32."""
        biased = self._map(I32, "add", exponent, splat("i32", 127))
        moved = self._map(I32, "shl", biased, splat("i32", 23))
        return self.ir.op(f"bitcast {I32} {moved} to {F32}")

    def _block(self, products: list[tuple[_Elements, _Elements]], held: str) -> str:
        """The f32 of one block of products and an addend."""
        ir, keep = self.ir, self.shape.bits
        bits = ir.op(f"bitcast {F32} {held} to {I32}")
        part = self._map(I32, "and", bits, splat("i32", 0x7FFFFFFF))
        above = self._map(I32, "sub", part, splat("i32", _LEAST))
        odd = ir.op(f"icmp uge {I32} {above}, {splat('i32', (255 << 23) - _LEAST)}")
        some = ir.op(f"icmp ne {I32} {part}, zeroinitializer")
        self._leave_if(self._map(BITS, "and", odd, some))
        # The factors' exponents have a bias of 15 each; a zero addend's is below all products'.
        top = self._map(I32, "lshr", part, splat("i32", 23))
        top = self._map(I32, "sub", top, splat("i32", 127 - 30))
        terms = []
        for a, b in products:
            terms.append(self._map(F32, "fmul", a.values, b.values))
            top = self._choose("smax", top, self._map(I32, "add", a.exponents, b.exponents))
        up = self._map(I32, "sub", splat("i32", keep + 30), top)
        scale = self._power(self._choose("smin", up, splat("i32", _MOST_UP)))
        down = self._map(I32, "sub", top, splat("i32", keep + 30))
        unscale = self._power(self._choose("smax", down, splat("i32", _MOST_DOWN)))
        sums = [self._cut(terms[n : n + 8], scale) for n in range(0, len(terms), 8)]
        sums.append(self._cut([held], scale))
        whole = self._total(sums) if keep < 25 else self._wide_total(sums)
        return self._map(F32, "fmul", whole, unscale)

    def _leave_if(self, odd: str) -> None:
        """Leave to the step engine where a condition holds in some lane."""
        word = self.ir.op(f"bitcast {BITS} {odd} to i{CHUNK}")
        with self.ir.returning(self.ir.op(f"icmp ne i{CHUNK} {word}, 0")):
            self.ir.line("ret i1 false")

    def _cut(self, terms: list[str], scale: str) -> str:
        """The sum of numbers cut to integers of a scale."""
        total = ""
        for term in terms:
            cut = self.ir.op(f"fptosi {F32} {self._map(F32, 'fmul', term, scale)} to {I32}")
            total = self._map(I32, "add", total, cut) if total else cut
        return total

    def _total(self, sums: list[str]) -> str:
        """A sum below 2**31 cut toward zero to f32."""
        ir, total = self.ir, sums[0]
        for more in sums[1:]:
            total = self._map(I32, "add", total, more)
        near = ir.op(f"sitofp {I32} {total} to {F32}")
        back = ir.op(f"fptosi {F32} {near} to {I32}")
        sizes = [ir.op(f"call {I32} @llvm.abs.v8i32({I32} {v}, i1 false)") for v in (back, total)]
        over = ir.op(f"sext {BITS} {ir.op(f'icmp sgt {I32} {sizes[0]}, {sizes[1]}')} to {I32}")
        bits = self._map(I32, "add", ir.op(f"bitcast {F32} {near} to {I32}"), over)
        return ir.op(f"bitcast {I32} {bits} to {F32}")

    def _wide_total(self, sums: list[str]) -> str:
        """A sum of sums cut toward zero to f32."""
        ir, total = self.ir, ""
        for part in sums:
            wide = ir.op(f"sitofp {I32} {part} to {F64}")
            total = self._map(F64, "fadd", total, wide) if total else wide
        bits = ir.op(f"bitcast {F64} {total} to {I64}")
        bits = self._map(I64, "and", bits, splat("i64", -(1 << 29)))
        return ir.op(f"fptrunc {F64} {ir.op(f'bitcast {I64} {bits} to {F64}')} to {F32}")

    # ---- the function --------------------------------------------------------------------

    def text(self) -> str:
        """The function."""
        ir, shape = self.ir, self.shape
        right = [self._beside(f"%b{n}") for n in range(shape.registers // 2)]
        self._finite()
        chunk = ir.var("i64", 0)
        with ir.loop() as (_, after):
            at = ir.get("i64", chunk)
            ir.unless(ir.op(f"icmp eq i64 {at}, 128"), after)
            ir.put("i64", ir.op(f"add i64 {at}, {4 * CHUNK}"), chunk)
            self._rows(at, right)
        ir.line("ret i1 true")
        names = [f"a{n}" for n in range(shape.registers)]
        names += [f"b{n}" for n in range(shape.registers // 2)]
        names += [f"{letter}{n}" for letter in "cd" for n in range(4)]
        listed = ", ".join(f"ptr %{name}" for name in names)
        return ir.close(f"define i1 @{layout.symbol(shape.name)}({listed})")

    def _finite(self) -> None:
        """Leave where an element so far is infinite or no number."""
        self._leave_if(self.ir.op(f"icmp uge {I32} {self._largest}, {splat('i32', 0x7C00)}"))
        self._largest = ""

    def _rows(self, at: str, right: list[list[list[_Elements]]]) -> None:
        """Eight lanes of D, `at` bytes from the beginning of a row."""
        ir, shape = self.ir, self.shape
        left = [self._elements(ir.at(f"%a{n}", at)) for n in range(shape.registers)]
        self._finite()
        for up in (0, 1):
            rows = [
                self._of_row(left[2 * (k // 8) + up][k & 1], k % 8 // 2)
                for k in range(4 * shape.registers)
            ]
            for odd in (0, 1):
                pairs = [
                    (row, right[k // 8][k & 1][4 * odd + k % 8 // 2]) for k, row in enumerate(rows)
                ]
                held = ir.get(F32, ir.at(f"%c{2 * up + odd}", at), 0, 32)
                for first in range(0, len(pairs), shape.block):
                    held = self._block(pairs[first : first + shape.block], held)
                ir.put(F32, held, ir.at(f"%d{2 * up + odd}", at), 0, 32)
