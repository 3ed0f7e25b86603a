"""Products of f16 matrices with f32 sums in the run-time library (`gpudbg.sm.engines.tensor`).

The model: products are exact; those of a block and the addend are cut toward zero at a number of
bits below the largest exponent, summed exactly, and cut toward zero to f32.  Products of f16 are
exact in f32, so cutting is a power of two and a conversion to an integer; the addend and the sum
take f64.  Infinities, NaNs and results that are subnormal are left to the step engine.

Lane l holds, with g = l >> 2 and t = l & 3 (PTX ISA): of A rows g and g + 8, columns 2t, 2t + 1
and those 8 further; of B rows 2t, 2t + 1 and 8 further, column g; of C and D rows g and g + 8,
columns 2t and 2t + 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder, splat, vector

F32, I32, F64, I64 = (vector(kind) for kind in ("float", "i32", "double", "i64"))
HALVES = vector("half")
_NOTHING = -4096
"""Exponent of a zero: below all others."""


class ProductShape(NamedTuple):
    """A function: registers of A, fraction bits kept, columns of A in a block."""

    registers: int
    bits: int
    block: int
    floor: int

    @property
    def name(self) -> str:
        """In the library."""
        return f"hmma.f16.f32.{self.registers}.{self.bits}"


SHAPES: Final = tuple(
    ProductShape(registers, *unit)
    for registers in (2, 4)
    for unit in ((24, 8, -132), (25, 16, -133))
)
"""Of sm_75 to sm_89, and of sm_90 and later."""
assert tuple(shape.name for shape in SHAPES) == layout.TENSOR


class _Elements(NamedTuple):
    """Names of f32 values and of their exponents in f16, `_NOTHING` for zeros."""

    values: str
    exponents: str


def tensor_functions() -> list[str]:
    """The functions: pointers to the rows of A, B and C, then D; whether D has been written."""
    return [_Product(shape).text() for shape in SHAPES]


class _Product:
    """The body of one function."""

    def __init__(self, shape: ProductShape) -> None:
        self.shape = shape
        self.ir = Builder()
        self.odd: list[str] = []

    def _map(self, kind: str, what: str, a: str, b: str) -> str:
        return self.ir.op(f"{what} {kind} {a}, {b}")

    def _max(self, a: str, b: str) -> str:
        return self.ir.op(f"call {I32} @llvm.smax.v32i32({I32} {a}, {I32} {b})")

    def _picked(self, kind: str, of: str, lane: Callable[[int], int]) -> str:
        """Lanes of a vector by number."""
        picks = ", ".join(f"i32 {lane(n)}" for n in range(32))
        return self.ir.op(f"shufflevector {kind} {of}, {kind} poison, <32 x i32> <{picks}>")

    def _elements(self, row: str) -> list[_Elements]:
        """Both halves of the words of a register."""
        ir = self.ir
        words = ir.get(I32, row, 0, 64)
        found = []
        for shift in (0, 16):
            raw = ir.op(f"lshr {I32} {words}, {splat('i32', shift)}") if shift else words
            small = ir.op(f"trunc {I32} {raw} to {vector('i16')}")
            half = ir.op(f"bitcast {vector('i16')} {small} to {HALVES}")
            value = ir.op(f"fpext {HALVES} {half} to {F32}")
            part = self._map(I32, "and", raw, splat("i32", 0x7FFF))
            exponent = self._map(I32, "lshr", part, splat("i32", 10))
            self.odd.append(ir.op(f"icmp eq {I32} {exponent}, {splat('i32', 31)}"))
            exponent = self._map(I32, "sub", self._max(exponent, splat("i32", 1)), splat("i32", 15))
            none = ir.op(f"icmp eq {I32} {part}, zeroinitializer")
            nothing = f"{I32} {splat('i32', _NOTHING)}, {I32} {exponent}"
            exponent = ir.op(f"select <32 x i1> {none}, {nothing}")
            found.append(_Elements(value, exponent))
        return found

    def _spread(self, of: _Elements, lane: Callable[[int], int]) -> _Elements:
        return _Elements(self._picked(F32, of.values, lane), self._picked(I32, of.exponents, lane))

    def _of_row(self, left: list[list[_Elements]], k: int, up: int) -> _Elements:
        """Column k of A in the rows of an element of D."""
        return self._spread(left[2 * (k // 8) + up][k & 1], lambda n: n & ~3 | k % 8 // 2)

    def _of_column(self, right: list[list[_Elements]], k: int, odd: int) -> _Elements:
        """Row k of B in the columns of an element of D."""
        held = right[k // 8][k & 1]
        return self._spread(held, lambda n: 4 * (2 * (n & 3) + odd) + k % 8 // 2)

    def _power(self, exponent: str, double: bool) -> str:
        """2**n for an i32 n in the format's range."""
        ir = self.ir
        if not double:
            biased = self._map(I32, "add", exponent, splat("i32", 127))
            return ir.op(
                f"bitcast {I32} {self._map(I32, 'shl', biased, splat('i32', 23))} to {F32}"
            )
        biased = self._map(I32, "add", exponent, splat("i32", 1023))
        wide = ir.op(f"zext {I32} {biased} to {I64}")
        return ir.op(f"bitcast {I64} {self._map(I64, 'shl', wide, splat('i64', 52))} to {F64}")

    def _block(self, products: list[tuple[_Elements, _Elements]], held: str) -> str:
        """The f32 of one block of products and an addend."""
        ir, keep = self.ir, self.shape.bits
        bits = ir.op(f"bitcast {F32} {held} to {I32}")
        part = self._map(I32, "and", bits, splat("i32", 0x7FFFFFFF))
        exponent = self._map(I32, "lshr", part, splat("i32", 23))
        self.odd.append(ir.op(f"icmp eq {I32} {exponent}, {splat('i32', 255)}"))
        exponent = self._map(I32, "sub", self._max(exponent, splat("i32", 1)), splat("i32", 127))
        none = ir.op(f"icmp eq {I32} {part}, zeroinitializer")
        nothing = f"{I32} {splat('i32', _NOTHING)}, {I32} {exponent}"
        top = self._max(
            ir.op(f"select <32 x i1> {none}, {nothing}"), splat("i32", self.shape.floor)
        )
        terms = []
        for a, b in products:
            terms.append(self._map(F32, "fmul", a.values, b.values))
            top = self._max(top, self._map(I32, "add", a.exponents, b.exponents))
        up = self._map(I32, "sub", splat("i32", keep), top)
        # Where that is more, all products are zero.
        few = ir.op(f"call {I32} @llvm.smin.v32i32({I32} {up}, {I32} {splat('i32', 96)})")
        scale = self._power(few, double=False)
        total = ""
        for first in range(0, len(terms), 8):
            whole = ""
            for term in terms[first : first + 8]:
                cut = ir.op(f"fptosi {F32} {self._map(F32, 'fmul', term, scale)} to {I32}")
                whole = self._map(I32, "add", whole, cut) if whole else cut
            part = ir.op(f"sitofp {I32} {whole} to {F64}")
            total = self._map(F64, "fadd", total, part) if total else part
        addend = self._map(
            F64, "fmul", ir.op(f"fpext {F32} {held} to {F64}"), self._power(up, True)
        )
        cut = ir.op(f"call {F64} @llvm.trunc.v32f64({F64} {addend})")
        total = self._map(F64, "fadd", total, cut)
        down = self._map(I32, "sub", top, splat("i32", keep))
        return self._cut(self._map(F64, "fmul", total, self._power(down, True)))

    def _cut(self, value: str) -> str:
        """An f64 cut toward zero to f32, which is normal or zero."""
        ir = self.ir
        bits = ir.op(f"bitcast {F64} {value} to {I64}")
        bits = self._map(I64, "and", bits, splat("i64", -(1 << 29)))
        size = self._map(I64, "and", bits, splat("i64", (1 << 63) - 1))
        small = ir.op(f"icmp ult {I64} {size}, {splat('i64', (1023 - 126) << 52)}")
        some = ir.op(f"icmp ne {I64} {size}, zeroinitializer")
        self.odd.append(self._map("<32 x i1>", "and", small, some))
        return ir.op(f"fptrunc {F64} {ir.op(f'bitcast {I64} {bits} to {F64}')} to {F32}")

    def text(self) -> str:
        """The function."""
        ir, shape = self.ir, self.shape
        left = [self._elements(f"%a{n}") for n in range(shape.registers)]
        right = [self._elements(f"%b{n}") for n in range(shape.registers // 2)]
        columns = range(4 * shape.registers)
        rows = [[self._of_row(left, k, up) for k in columns] for up in (0, 1)]
        beside = [[self._of_column(right, k, odd) for k in columns] for odd in (0, 1)]
        results = []
        for n in range(4):
            held = ir.op(f"bitcast {I32} {ir.get(I32, f'%c{n}', 0, 64)} to {F32}")
            pairs = list(zip(rows[n >> 1], beside[n & 1], strict=True))
            for first in range(0, len(pairs), shape.block):
                held = self._block(pairs[first : first + shape.block], held)
            results.append(held)
        odd = self.odd[0]
        for more in self.odd[1:]:
            odd = self._map("<32 x i1>", "or", odd, more)
        word = ir.op(f"bitcast <32 x i1> {odd} to i32")
        with ir.returning(ir.op(f"icmp ne i32 {word}, 0")):
            ir.line("ret i1 false")
        for n, held in enumerate(results):
            ir.line(f"store {F32} {held}, ptr %d{n}, align 64")
        ir.line("ret i1 true")
        names = [f"a{n}" for n in range(shape.registers)]
        names += [f"b{n}" for n in range(shape.registers // 2)]
        names += [f"{letter}{n}" for letter in "cd" for n in range(4)]
        listed = ", ".join(f"ptr %{name}" for name in names)
        return ir.close(f"define i1 @{layout.symbol(shape.name)}({listed})")
