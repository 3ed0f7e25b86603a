"""Floating-point products of matrices in the run-time library (`gpudbg.sm.engines.tensor`).

The model: products are exact; those of a block and the addend are cut toward zero at a number of
bits below the largest exponent, summed exactly, and rounded once: cut toward zero to f32, or to
nearest f16.  Products of two elements are exact in f32, so cutting is a power of two and a
conversion to an integer.  Infinities, NaNs, and elements and addends so small or large that f32
does not hold what is made of them are left to the step engine.

Lane l holds, with g = l >> 2 and t = l & 3 (PTX ISA): of A rows g and g + 8, columns 2t, 2t + 1
and those 8 further (TF32, one element a register: t and t + 4); of B the same rows of column g; of
C and D rows g and g + 8, columns 2t and 2t + 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder, splat
from gpudbg.sm.engines.tensor import HOPPER, NARROW_BITS, TURING, ProductUnit

CHUNK: Final = 8
"""Lanes that are computed at once, at least: two rows of A, and of D.  Twice as many fill the
vectors of a host with AVX-512."""
I32, F64, I64 = (f"<{CHUNK} x {kind}>" for kind in ("i32", "double", "i64"))
_LEAST = 57 << 23
"""Least magnitude of a nonzero f32 addend, 2**-70; smaller ones are left to the step engine."""
_MOST = (127 + 100) << 23
"""Limit of an addend's magnitude, so that no sum overflows."""
_INFINITE = 0x7F80_0000
_TOWARD_ZERO, _CONTROL = 0x7F80, "i32"
"""MXCSR value: all exceptions masked, rounding toward zero."""


class Element(NamedTuple):
    """A type of elements.

    Attributes:
        each: elements of a register; where 4, numbers are those of f16.
        place: bits of the fraction, where the exponent begins.
        bias: of the exponent.
        kind: integers that hold a sum of two exponents, and `nothing` in place of a zero's.
        scale: the largest biased exponent of a scale.
        more: what is added to an exponent that is not that of a zero.
        window: least exponent other than of zeros, and how many more; None: any that are finite.
    """

    each: int
    place: int
    bias: int
    kind: str
    nothing: int
    scale: int
    window: tuple[int, int] | None
    more: int = 0


ELEMENTS: Final = {
    "f16": Element(2, 10, 15, "i8", -128, 127 + 96, None),
    "bf16": Element(2, 7, 127, "i16", -4096, 127 + 120, (127 - 48, 108)),
    "tf32": Element(1, 23, 127, "i16", -4096, 127 + 120, (127 - 48, 108)),
    "e4m3": Element(4, 3, 15, "i8", -128, 127 + 96, None, 8),
    "e5m2": Element(4, 2, 15, "i8", -128, 127 + 96, None),
}


class ProductShape(NamedTuple):
    """A function.

    Attributes:
        elements: types of A and B.
        result: type of C and D.
        registers: of A.
        unit: how it adds.
        narrow: fraction bits of 8-bit elements where the unit keeps fewer, also of an f32 result.
        stored: of how many columns of A one is not nothing: 2 for a sparse matrix made dense.
    """

    elements: tuple[str, str]
    result: str
    registers: int
    unit: ProductUnit
    narrow: int | None = None
    stored: int = 1

    @property
    def element(self) -> str:
        """The type of A's elements."""
        return self.elements[0]

    @property
    def bits(self) -> int:
        """Fraction bits that it keeps of a block."""
        return self.unit.bits if self.narrow is None else self.narrow

    @property
    def block(self) -> int:
        """Columns of A in a block."""
        return self.stored * self.unit.block // (4 // ELEMENTS[self.element].each)

    @property
    def depth(self) -> int:
        """Columns of A."""
        return 2 * self.registers * ELEMENTS[self.element].each


_NARROW: Final = {
    "89": (TURING, NARROW_BITS), "90": (HOPPER, NARROW_BITS), "120": (HOPPER, None),
}  # fmt: skip


def _shape(name: str) -> ProductShape:
    """The product of a function of the library."""
    whole = name.removesuffix(".sp")
    stored = 1 if whole == name else 2
    what, *about = whole.split(".")
    if what == "hmma":
        element, result, registers, bits = about
        unit = TURING if int(bits) == TURING.bits else HOPPER
        return ProductShape((element, element), result, int(registers), unit, None, stored)
    first, second, result, registers, arch = about
    return ProductShape((first, second), result, int(registers), *_NARROW[arch], stored)


SHAPES: Final = {n: _shape(n) for n in layout.TENSOR if n.startswith(("hmma.", "qmma."))}


def float_product(name: str, half_conversions: bool, directed: bool, wide: bool) -> str:
    """A function: pointers to the rows of A, B and C, then D; whether D has been written.

    Args:
        half_conversions: the host has instructions between f16 and f32.
        directed: it is an x86, whose conversions can be set to cut.
        wide: it has AVX-512.
    """
    return _Product(name, half_conversions, directed, CHUNK * (1 + wide)).text()


class Chunked:
    """Statements on some lanes at once.

    Attributes:
        lanes: how many.
        f32, i32, f64, i64, halves, shorts, bits1: vectors of so many.
    """

    def __init__(self, lanes: int = CHUNK) -> None:
        self.ir, self.lanes = Builder(), lanes
        kinds = "float", "i32", "double", "i64", "half", "i16", "i1"
        self.f32, self.i32, self.f64, self.i64, self.halves, self.shorts, self.bits1 = (
            f"<{lanes} x {kind}>" for kind in kinds
        )

    def _map(self, kind: str, what: str, a: str, b: str) -> str:
        return self.ir.op(f"{what} {kind} {a}, {b}")

    def _with(self, kind: str, what: str, a: str, number: int) -> str:
        """Emit an operation with one number as second operand in all lanes."""
        scalar = kind[1:-1].split(" x ")[1]
        return self._map(kind, what, a, splat(scalar, number))

    def _choose(self, kind: str, what: str, a: str, b: str) -> str:
        name = f"v{kind[1:-1].replace(' x ', '')}"
        return self.ir.op(f"call {kind} @llvm.{what}.{name}({kind} {a}, {kind} {b})")

    def _picked(self, kind: str, a: str, b: str, lanes: Sequence[int]) -> str:
        """Lanes of two vectors by number."""
        picks = ", ".join(f"i32 {n}" for n in lanes)
        return self.ir.op(f"shufflevector {kind} {a}, {kind} {b}, <{len(lanes)} x i32> <{picks}>")

    def _strided(self, chunks: list[str], kind: str) -> list[str]:
        """For each j the lanes j, j + 8, j + 16, j + 24, repeated, of a vector given in two or four
        parts.
        """
        if self.lanes == 2 * CHUNK:
            places = [[j, j + 8, j + 16, j + 24] * 4 for j in range(8)]
            return [self._picked(kind, chunks[0], chunks[1], lanes) for lanes in places]
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


class _Product(Chunked):
    """The body of one function."""

    def __init__(self, name: str, half_conversions: bool, directed: bool, lanes: int) -> None:
        super().__init__(lanes)
        self.name, self.shape = name, (shape := SHAPES[name])
        self.element = ELEMENTS[shape.element]
        self.half = shape.result == "f16"
        self._half_conversions = half_conversions
        self._cuts = directed and not self.half
        self._bad: list[tuple[str, str]] = []
        self._seen = ("", "")

    # ---- exponents -----------------------------------------------------------------------

    def _exponents(self, row: str, element: str) -> list[str]:
        """Biased exponents of a register's elements, 32 lanes each; notes elements that this code
        does not handle.
        """
        ir, about = self.ir, ELEMENTS[element]
        bits, count = 32 // about.each, 32 * about.each
        kind = f"<{count} x i{bits}>"
        raw = ir.get(kind, row, 0, 64)
        part = self._with(kind, "and", raw, {8: 0x7F, 16: 0x7FFF, 32: 0x7FFFE000}[bits])
        exponent = self._with(kind, "lshr", part, about.place)
        none = self._with(kind, "icmp eq", part, 0)
        if about.window is None:
            if element == "e4m3":
                odd = self._with(kind, "icmp eq", part, 0x7F)
            else:
                odd = self._with(kind, "icmp ugt", exponent, 2 * about.bias)
            exponent = self._choose(kind, "umax", exponent, splat(f"i{bits}", 1))
            if about.more:
                exponent = self._with(kind, "add", exponent, about.more)
        else:
            first, more = about.window
            odd = self._with(kind, "icmp ugt", self._with(kind, "sub", exponent, first), more)
            lanes = f"<{count} x i1>"
            odd = self._map(lanes, "and", odd, self._map(lanes, "xor", none, "splat (i1 true)"))
        self._bad.append((odd, f"<{count} x i1>"))
        nothing = f"{kind} {splat(f'i{bits}', about.nothing)}, {kind} {exponent}"
        exponent = ir.op(f"select <{count} x i1> {none}, {nothing}")
        whole = f"<{count} x {about.kind}>"
        if kind != whole:
            exponent = ir.op(f"trunc {kind} {exponent} to {whole}")
        if about.each == 1:
            return [exponent]
        return [
            self._picked(whole, exponent, "poison", range(n, count, about.each))
            for n in range(about.each)
        ]

    def _leave_odd(self) -> None:
        """Return "not done" where an element is one that this code does not handle."""
        words: dict[str, str] = {}
        for odd, kind in self._bad:
            words[kind] = self._map(kind, "or", words[kind], odd) if kind in words else odd
        for kind, odd in words.items():
            bits = f"i{kind[1:-1].split(' x ')[0]}"
            word = self.ir.op(f"bitcast {kind} {odd} to {bits}")
            with self.ir.returning(self.ir.op(f"icmp ne {bits} {word}, 0")):
                self.ir.line("ret i1 false")

    def _tops(self, left: list[list[str]], right: list[list[str]]) -> dict[tuple[int, ...], str]:
        """For each (half of D's rows, odd column, block) the largest exponents of products."""
        kind = f"<32 x {self.element.kind}>"
        found: dict[tuple[int, ...], str] = {}
        below = [[self._by_columns(half) for half in register] for register in right]
        add = "call {0} @llvm.sadd.sat.v32i8({0} {1}, {0} {2})"
        for up in (0, 1):
            rows = [
                self._picked(kind, left[2 * n + up][h], "poison", [x & ~3 | t for x in range(32)])
                for n, h, t in self._columns()
            ]
            for odd in (0, 1):
                top = ""
                for k, (n, h, t) in enumerate(self._columns()):
                    other = self._of_columns(below[n][h], odd, t)
                    if self.element.kind == "i8":
                        total = self.ir.op(add.format(kind, rows[k], other))
                    else:
                        total = self._map(kind, "add", rows[k], other)
                    first = k % self.shape.block == 0
                    top = total if first else self._choose(kind, "smax", top, total)
                    place = (up, odd, k // self.shape.block)
                    if place not in found:
                        found[place] = self.ir.op(f"alloca {kind}, align 32")
                    if k % self.shape.block == self.shape.block - 1 or k == self.shape.depth - 1:
                        self.ir.put(kind, top, found[place], 0, 32)
        return found

    def _by_columns(self, exponents: str) -> str:
        """Where exponents of B lie by odd column, thread, and pair of columns."""
        kind = f"<32 x {self.element.kind}>"
        places = [4 * (2 * j + odd) + t for odd in (0, 1) for t in range(4) for j in range(4)]
        place = self.ir.op(f"alloca {kind}, align 32")
        self.ir.put(kind, self._picked(kind, exponents, "poison", places), place, 0, 32)
        return place

    def _of_columns(self, place: str, odd: int, thread: int) -> str:
        """Those of a thread's row of B for the columns of D's odd or even registers."""
        ir, size = self.ir, {"i8": 4, "i16": 8}[self.element.kind]
        word = ir.get(f"i{8 * size}", place, size * (4 * odd + thread), size)
        kind = f"<8 x i{8 * size}>"
        first = ir.op(f"insertelement {kind} poison, i{8 * size} {word}, i64 0")
        every = ir.op(f"shufflevector {kind} {first}, {kind} poison, <8 x i32> zeroinitializer")
        return ir.op(f"bitcast {kind} {every} to <32 x {self.element.kind}>")

    def _columns(self) -> list[tuple[int, int, int]]:
        """Of every k the pair of registers, the half, and the thread of a quad that hold it."""
        each = self.element.each
        pairs = range(self.shape.registers // 2)
        return [(n, h, t) for n in pairs for t in range(4) for h in range(each)]

    # ---- elements ------------------------------------------------------------------------

    def _values(self, place: str, element: str) -> list[str]:
        """The elements of some lanes of a register as f32."""
        words = self.ir.get(self.i32, place, 0, 32)
        if element in ("e4m3", "e5m2"):
            return [self._narrow(words, n, element) for n in range(4)]
        if element == "f16":
            both = words, self._with(self.i32, "lshr", words, 16)
            return [
                self._half(self.ir.op(f"trunc {self.i32} {raw} to {self.shorts}")) for raw in both
            ]
        if element == "bf16":
            found = [
                self._with(self.i32, "shl", words, 16),
                self._with(self.i32, "and", words, -1 << 16),
            ]
        else:
            found = [self._with(self.i32, "and", words, -1 << 13)]
        return [self.ir.op(f"bitcast {self.i32} {raw} to {self.f32}") for raw in found]

    def _narrow(self, words: str, n: int, element: str) -> str:
        """The elements in a byte of words as f32."""
        ir = self.ir
        # The byte above eight zeros is an f16 number of the same value, or 2**-8 of it.
        shift = ("shl", 8) if n == 0 else ("lshr", 8 * (n - 1))
        raw = words if n == 1 else self._with(self.i32, *shift[:1], words, shift[1])
        raw = self._with(self.i32, "and", raw, 0xFF00)
        if element == "e4m3":
            sign = self._with(self.i32, "and", raw, 0x8000)
            size = self._with(self.i32, "lshr", self._with(self.i32, "and", raw, 0x7F00), 1)
            raw = self._map(self.i32, "or", sign, size)
        value = self._half(ir.op(f"trunc {self.i32} {raw} to {self.shorts}"))
        if element == "e4m3":
            value = self._map(self.f32, "fmul", value, splat("float", "0x4070000000000000"))
        return value

    def _half(self, raw: str) -> str:
        """f16 values, as i16, as f32."""
        ir = self.ir
        if self._half_conversions:
            halves = ir.op(f"bitcast {self.shorts} {raw} to {self.halves}")
            return ir.op(f"fpext {self.halves} {halves} to {self.f32}")
        # The fraction in its place; the product with 2**112 mends the exponent, subnormals too.
        # Infinities do not matter here.
        wide = ir.op(f"zext {self.shorts} {raw} to {self.i32}")
        size = self._with(self.i32, "shl", self._with(self.i32, "and", wide, 0x7FFF), 13)
        small = ir.op(f"bitcast {self.i32} {size} to {self.f32}")
        scaled = ir.op(f"fmul {self.f32} {small}, {splat('float', '0x46F0000000000000')}")
        bits = ir.op(f"bitcast {self.f32} {scaled} to {self.i32}")
        sign = self._with(self.i32, "shl", self._with(self.i32, "and", wide, 0x8000), 16)
        return ir.op(f"bitcast {self.i32} {self._map(self.i32, 'or', bits, sign)} to {self.f32}")

    def _beside(self, row: str) -> list[list[str]]:
        """For each half of a register of B, and each j, the lanes j, j + 8, j + 16, j + 24,
        twice.
        """
        other, places = self.shape.elements[1], range(0, 128, 4 * self.lanes)
        chunks = [self._values(self.ir.at(row, at), other) for at in places]
        return [
            self._strided([chunk[half] for chunk in chunks], self.f32)
            for half in range(self.element.each)
        ]

    # ---- sums ----------------------------------------------------------------------------

    def _note(self, part: str) -> None:
        """Note an addend's size: it may be outside the range this code handles."""
        biggest, least = self._seen
        biggest = self._choose(self.i32, "umax", biggest, part) if biggest else part
        if not self.half:
            # Minus 1, a zero becomes the largest unsigned number.
            below = self._with(self.i32, "add", part, -1)
            least = self._choose(self.i32, "umin", least, below) if least else below
        self._seen = biggest, least

    def _own_top(self, part: str) -> str:
        """An addend's exponent, with the bias of a product's."""
        ir, bias = self.ir, 2 * self.element.bias
        top = self._with(self.i32, "add", self._with(self.i32, "lshr", part, 23), bias - 127)
        if not self.half:
            return top
        # Subnormal f16 addends have the exponent that is written; no block has less than `floor`.
        top = self._choose(self.i32, "smax", top, splat("i32", bias - 14))
        none = self._with(self.i32, "icmp eq", part, 0)
        least = splat("i32", bias + self.shape.unit.floor16)
        return ir.op(f"select {self.bits1} {none}, {self.i32} {least}, {self.i32} {top}")

    def _block(self, products: list[tuple[str, str]], held: str, top: str) -> str:
        """One block of products and an addend, as f32; of an f16 result rounded to odd."""
        ir, shape, keep = self.ir, self.shape, self.shape.bits
        bits = ir.op(f"bitcast {self.f32} {held} to {self.i32}")
        part = self._with(self.i32, "and", bits, 0x7FFFFFFF)
        self._note(part)
        top = self._choose(self.i32, "smax", top, self._own_top(part))
        up = self._map(self.i32, "sub", splat("i32", keep + 2 * self.element.bias + 127), top)
        up = self._choose(self.i32, "smin", up, splat("i32", self.element.scale))
        up = self._with(self.i32, "shl", up, 23)
        scale = ir.op(f"bitcast {self.i32} {up} to {self.f32}")
        down = self._map(self.i32, "sub", splat("i32", 254 << 23), up)
        unscale = ir.op(f"bitcast {self.i32} {down} to {self.f32}")
        terms = [self._map(self.f32, "fmul", a, b) for a, b in products]
        terms.append(held)
        # The sum of up to nine terms of 2**(keep + 2) fits in a word.
        step = 8 * shape.stored
        wide = keep + 2 + (len(products) // shape.stored - 1).bit_length() > 30
        if not wide:
            sums = [self._cut(terms, scale)]
        else:
            sums = [self._cut(terms[n : n + step], scale) for n in range(0, len(terms), step)]
        whole = self._wide_total(sums) if wide else self._total(sums[0])
        made = self._map(self.f32, "fmul", whole, unscale)
        if shape.narrow is None or self.half:
            return made
        bits = ir.op(f"bitcast {self.f32} {made} to {self.i32}")
        kept = self._with(self.i32, "and", bits, -1 << (23 - shape.narrow))
        return ir.op(f"bitcast {self.i32} {kept} to {self.f32}")

    def _cut(self, terms: list[str], scale: str) -> str:
        """The sum of numbers cut to integers of a scale."""
        total = ""
        for term in terms:
            cut = self.ir.op(
                f"fptosi {self.f32} {self._map(self.f32, 'fmul', term, scale)} to {self.i32}"
            )
            total = self._map(self.i32, "add", total, cut) if total else cut
        return total

    def _total(self, total: str) -> str:
        """A sum below 2**31 cut toward zero to f32, or rounded to odd."""
        ir = self.ir
        near = ir.op(f"sitofp {self.i32} {total} to {self.f32}")
        if self._cuts:
            return near
        back = ir.op(f"fptosi {self.f32} {near} to {self.i32}")
        sizes = [
            ir.op(f"call {self.i32} @llvm.abs.v{self.lanes}i32({self.i32} {v}, i1 false)")
            for v in (back, total)
        ]
        above = ir.op(f"icmp sgt {self.i32} {sizes[0]}, {sizes[1]}")
        over = ir.op(f"sext {self.bits1} {above} to {self.i32}")
        bits = self._map(self.i32, "add", ir.op(f"bitcast {self.f32} {near} to {self.i32}"), over)
        if self.half:
            inexact = ir.op(f"icmp ne {self.i32} {back}, {total}")
            bits = self._map(
                self.i32, "or", bits, ir.op(f"zext {self.bits1} {inexact} to {self.i32}")
            )
        return ir.op(f"bitcast {self.i32} {bits} to {self.f32}")

    def _wide_total(self, sums: list[str]) -> str:
        """A sum of sums cut toward zero to f32, or rounded to odd."""
        ir, total = self.ir, ""
        for part in sums:
            wide = ir.op(f"sitofp {self.i32} {part} to {self.f64}")
            total = self._map(self.f64, "fadd", total, wide) if total else wide
        if self._cuts:
            return ir.op(f"fptrunc {self.f64} {total} to {self.f32}")
        bits = ir.op(f"bitcast {self.f64} {total} to {self.i64}")
        kept = self._with(self.i64, "and", bits, -(1 << 29))
        if self.half:
            rest = self._with(self.i64, "and", bits, (1 << 29) - 1)
            some = ir.op(
                f"zext {self.bits1} {self._with(self.i64, 'icmp ne', rest, 0)} to {self.i64}"
            )
            kept = self._map(self.i64, "or", kept, self._with(self.i64, "shl", some, 29))
        return ir.op(
            f"fptrunc {self.f64} {ir.op(f'bitcast {self.i64} {kept} to {self.f64}')} to {self.f32}"
        )

    # ---- the function --------------------------------------------------------------------

    def text(self) -> str:
        """The function."""
        ir, shape = self.ir, self.shape
        count = 2 if self.half else 4
        names = [f"a{n}" for n in range(shape.registers)]
        names += [f"b{n}" for n in range(shape.registers // 2)]
        names += [f"{letter}{n}" for letter in "cd" for n in range(count)]
        head = f"define i1 @{layout.symbol(self.name)}({', '.join(f'ptr %{n}' for n in names)})"
        if self.half and not self._half_conversions:
            ir.line("ret i1 false")
            return ir.close(head)
        first, second = shape.elements
        left = [self._exponents(f"%a{n}", first) for n in range(shape.registers)]
        below = [self._exponents(f"%b{n}", second) for n in range(shape.registers // 2)]
        self._leave_odd()
        tops = self._tops(left, below)
        right = [self._beside(f"%b{n}") for n in range(shape.registers // 2)]
        kept = self._begin_cutting()
        chunk = ir.var("i64", 0)
        bad = ir.fresh("bad")
        with ir.loop() as (_, after):
            at = ir.get("i64", chunk)
            ir.unless(ir.op(f"icmp eq i64 {at}, 128"), after)
            ir.put("i64", ir.op(f"add i64 {at}, {4 * self.lanes}"), chunk)
            several = self.lanes == CHUNK and len(self._columns()) > shape.block
            rows = self._rows_by_blocks if several else self._rows
            rows(at, right, tops, bad)
        for label, result in (("", "true"), (bad, "false")):
            if label:
                ir.label(label)
            if kept:
                ir.line(f"call void @llvm.x86.sse.ldmxcsr(ptr {kept})")
            ir.line(f"ret i1 {result}")
        return ir.close(head)

    def _begin_cutting(self) -> str:
        """Have the host round toward zero; where it is kept how it did before."""
        if not self._cuts:
            return ""
        ir = self.ir
        kept, mode = ir.op("alloca i32"), ir.var("i32", _TOWARD_ZERO)
        ir.line(f"call void @llvm.x86.sse.stmxcsr(ptr {kept})")
        ir.line(f"call void @llvm.x86.sse.ldmxcsr(ptr {mode})")
        return kept

    def _rows(
        self, at: str, right: list[list[list[str]]], tops: dict[tuple[int, ...], str], bad: str
    ) -> None:
        """Some lanes of D, `at` bytes from the beginning of a row."""
        ir, shape = self.ir, self.shape
        left = [self._values(ir.at(f"%a{n}", at), shape.element) for n in range(shape.registers)]
        self._seen = "", ""
        sizes = {"i8": 2, "i16": 1}
        place = ir.op(f"lshr i64 {at}, {sizes[self.element.kind]}")
        for up in (0, 1):
            rows = [
                self._picked(
                    self.f32, left[2 * n + up][h], "poison", [x & ~3 | t for x in range(self.lanes)]
                )
                for n, h, t in self._columns()
            ]
            halves = []
            for odd in (0, 1):
                pairs = [
                    (row, right[n][h][4 * odd + t])
                    for row, (n, h, t) in zip(rows, self._columns(), strict=True)
                ]
                held = self._addend(at, up, odd)
                for number, first in enumerate(range(0, len(pairs), shape.block)):
                    small = f"<{self.lanes} x {self.element.kind}>"
                    raw = ir.get(small, ir.at(tops[up, odd, number], place), 0, 8)
                    top = ir.op(f"sext {small} {raw} to {self.i32}")
                    held = self._block(pairs[first : first + shape.block], held, top)
                    if self.half:
                        rounded = ir.op(f"fptrunc {self.f32} {held} to {self.halves}")
                        held = ir.op(f"fpext {self.halves} {rounded} to {self.f32}")
                if not self.half:
                    ir.put(self.f32, held, ir.at(f"%d{2 * up + odd}", at), 0, 32)
                    continue
                raw = ir.op(f"bitcast {self.halves} {rounded} to {self.shorts}")
                halves.append(ir.op(f"zext {self.shorts} {raw} to {self.i32}"))
            if self.half:
                word = self._map(
                    self.i32, "or", halves[0], self._with(self.i32, "shl", halves[1], 16)
                )
                ir.put(self.i32, word, ir.at(f"%d{up}", at), 0, 32)
        self._leave_noted(bad)

    def _rows_by_blocks(
        self, at: str, right: list[list[list[str]]], tops: dict[tuple[int, ...], str], bad: str
    ) -> None:
        """As `_rows`, one block of columns after another, so that what follows from one result for
        the next block of its row is not waited for.  Each is a block of the code: the compiler
        library keeps the order of these alone."""
        ir, shape = self.ir, self.shape
        left = [self._values(ir.at(f"%a{n}", at), shape.element) for n in range(shape.registers)]
        self._seen = "", ""
        size = {"i8": 2, "i16": 1}[self.element.kind]
        place = ir.op(f"lshr i64 {at}, {size}")
        places = [(up, odd) for up in (0, 1) for odd in (0, 1)]
        held = {where: self._addend(at, *where) for where in places}
        columns = self._columns()
        for number, first in enumerate(range(0, len(columns), shape.block)):
            some = columns[first : first + shape.block]
            for up, odd in places:
                if not odd:
                    rows = [self._row_of(left[2 * n + up][h], t) for n, h, t in some]
                pairs = [
                    (row, right[n][h][4 * odd + t])
                    for row, (n, h, t) in zip(rows, some, strict=True)
                ]
                small = f"<{self.lanes} x {self.element.kind}>"
                raw = ir.get(small, ir.at(tops[up, odd, number], place), 0, 8)
                top = ir.op(f"sext {small} {raw} to {self.i32}")
                made = self._block(pairs, held[up, odd], top)
                if self.half:
                    made = ir.op(f"fptrunc {self.f32} {made} to {self.halves}")
                    made = ir.op(f"fpext {self.halves} {made} to {self.f32}")
                held[up, odd] = made
                ir.br(following := ir.fresh("following"))
                ir.label(following)
        self._put_rows(at, held)
        self._leave_noted(bad)

    def _row_of(self, values: str, thread: int) -> str:
        """What a thread of each four has, in all four."""
        lanes = [x & ~3 | thread for x in range(self.lanes)]
        return self._picked(self.f32, values, "poison", lanes)

    def _put_rows(self, at: str, held: dict[tuple[int, int], str]) -> None:
        """Write some lanes of D, by (half of its rows, odd column)."""
        ir = self.ir
        if not self.half:
            for (up, odd), value in held.items():
                ir.put(self.f32, value, ir.at(f"%d{2 * up + odd}", at), 0, 32)
            return
        for up in (0, 1):
            words = []
            for odd in (0, 1):
                half = ir.op(f"fptrunc {self.f32} {held[up, odd]} to {self.halves}")
                raw = ir.op(f"bitcast {self.halves} {half} to {self.shorts}")
                words.append(ir.op(f"zext {self.shorts} {raw} to {self.i32}"))
            high = self._with(self.i32, "shl", words[1], 16)
            ir.put(self.i32, self._map(self.i32, "or", words[0], high), ir.at(f"%d{up}", at), 0, 32)

    def _addend(self, at: str, up: int, odd: int) -> str:
        """As many lanes of C as f32."""
        ir = self.ir
        if not self.half:
            return ir.get(self.f32, ir.at(f"%c{2 * up + odd}", at), 0, 32)
        words = ir.get(self.i32, ir.at(f"%c{up}", at), 0, 32)
        raw = self._with(self.i32, "lshr", words, 16) if odd else words
        return self._half(ir.op(f"trunc {self.i32} {raw} to {self.shorts}"))

    def _leave_noted(self, bad: str) -> None:
        """Return "not done" where an addend is one that this code does not handle."""
        biggest, least = self._seen
        odd = self._with(self.i32, "icmp uge", biggest, _INFINITE if self.half else _MOST)
        if least:
            odd = self._map(
                self.bits1, "or", odd, self._with(self.i32, "icmp ult", least, _LEAST - 1)
            )
        word = self.ir.op(f"bitcast {self.bits1} {odd} to i{self.lanes}")
        self.ir.unless(self.ir.op(f"icmp ne i{self.lanes} {word}, 0"), bad)
