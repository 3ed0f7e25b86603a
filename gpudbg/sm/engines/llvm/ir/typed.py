"""Integers, pointers and variables of IR as Python objects: control code reads as expressions.

    with code.returning(barrier >= cta[ALLOCATED]):
        code.ret(FALSE)

An operator emits its statement at once, into the function of its operands.  Comparisons are
unsigned unless they say otherwise.
"""

from __future__ import annotations

from typing import Final

from gpudbg.sm.engines.llvm.ir.builder import Builder


class Int:
    """An integer of some bits: a name or a number."""

    __slots__ = ("bits", "ir", "ref")

    def __init__(self, ir: Builder, bits: int, ref: str | int) -> None:
        self.ir, self.bits, self.ref = ir, bits, ref

    def _other(self, value: Int | int) -> str | int:
        return value.ref if isinstance(value, Int) else value

    def _op(self, what: str, value: Int | int, bits: int = 0) -> Int:
        """A statement with this and another operand of the same type."""
        text = f"{what} i{self.bits} {self.ref}, {self._other(value)}"
        return Int(self.ir, bits or self.bits, self.ir.op(text))

    def __add__(self, value: Int | int) -> Int:
        return self._op("add", value)

    def __sub__(self, value: Int | int) -> Int:
        return self._op("sub", value)

    def __mul__(self, value: Int | int) -> Int:
        return self._op("mul", value)

    def __floordiv__(self, value: Int | int) -> Int:
        return self._op("udiv", value)

    def __mod__(self, value: Int | int) -> Int:
        return self._op("urem", value)

    def __and__(self, value: Int | int) -> Int:
        return self._op("and", value)

    def __or__(self, value: Int | int) -> Int:
        return self._op("or", value)

    def __xor__(self, value: Int | int) -> Int:
        return self._op("xor", value)

    def __lshift__(self, value: Int | int) -> Int:
        return self._op("shl", value)

    def __rshift__(self, value: Int | int) -> Int:
        return self._op("lshr", value)

    def __invert__(self) -> Int:
        return self._op("xor", "true" if self.bits == 1 else -1)  # type: ignore[arg-type]

    def __lt__(self, value: Int | int) -> Int:
        return self._op("icmp ult", value, 1)

    def __le__(self, value: Int | int) -> Int:
        return self._op("icmp ule", value, 1)

    def __gt__(self, value: Int | int) -> Int:
        return self._op("icmp ugt", value, 1)

    def __ge__(self, value: Int | int) -> Int:
        return self._op("icmp uge", value, 1)

    def equals(self, value: Int | int) -> Int:
        """i1: both are the same."""
        return self._op("icmp eq", value, 1)

    def differs(self, value: Int | int) -> Int:
        """i1: they are not the same."""
        return self._op("icmp ne", value, 1)

    def compare(self, how: str, value: Int | int) -> Int:
        """i1 of a comparison by its name in IR, such as `sgt`."""
        return self._op(f"icmp {how}", value, 1)

    def signed_divide(self, value: Int | int) -> Int:
        """The quotient of signed numbers."""
        return self._op("sdiv", value)

    def shift_signed(self, value: Int | int) -> Int:
        """Shifted to the right, with its sign before it."""
        return self._op("ashr", value)

    def zext(self, bits: int) -> Int:
        """With zeros before it."""
        return self._cast("zext", bits)

    def sext(self, bits: int) -> Int:
        """With its sign before it."""
        return self._cast("sext", bits)

    def trunc(self, bits: int) -> Int:
        """Its low bits."""
        return self._cast("trunc", bits)

    def _cast(self, how: str, bits: int) -> Int:
        return Int(self.ir, bits, self.ir.op(f"{how} i{self.bits} {self.ref} to i{bits}"))

    def select(self, yes: Int | int, no: Int | int) -> Int:
        """One of two numbers by this i1; one of them at least is an `Int`."""
        bits = next(value.bits for value in (yes, no) if isinstance(value, Int))
        given = f"i{bits} {self._other(yes)}, i{bits} {self._other(no)}"
        return Int(self.ir, bits, self.ir.op(f"select i1 {self.ref}, {given}"))


class TypedPointer:
    """A pointer; offsets are bytes."""

    __slots__ = ("ir", "ref")

    def __init__(self, ir: Builder, ref: str) -> None:
        self.ir, self.ref = ir, ref

    def at(self, offset: Int | int) -> TypedPointer:
        """Some bytes further."""
        where = offset.ref if isinstance(offset, Int) else offset
        return TypedPointer(self.ir, self.ir.at(self.ref, where))

    def load(self, bits: int, offset: int = 0) -> Int:
        """The integer there."""
        return Int(self.ir, bits, self.ir.get(f"i{bits}", self.ref, offset))

    def store(self, bits: int, value: Int | int, offset: int = 0) -> None:
        """Write an integer."""
        given = value.ref if isinstance(value, Int) else value
        self.ir.put(f"i{bits}", given, self.ref, offset)

    def load_atomic(self, offset: int = 0) -> Int:
        """The i64 there, and everything that was written before it."""
        place = self.at(offset).ref
        return Int(self.ir, 64, self.ir.op(f"load atomic i64, ptr {place} acquire, align 8"))

    def store_atomic(self, value: int, offset: int = 0) -> None:
        """Write an i64 after everything before it."""
        place = self.at(offset).ref
        self.ir.line(f"store atomic i64 {value}, ptr {place} release, align 8")

    def store_pointer(self, value: TypedPointer) -> None:
        """Write a pointer."""
        self.ir.put("ptr", value.ref, self.ref)

    def follow(self, offset: int = 0) -> TypedPointer:
        """The pointer that is stored there."""
        return TypedPointer(self.ir, self.ir.get("ptr", self.ref, offset))

    def differs(self, other: TypedPointer) -> Int:
        """i1: it points elsewhere."""
        return Int(self.ir, 1, self.ir.op(f"icmp ne ptr {self.ref}, {other.ref}"))

    def element(self, bits: int, index: Int) -> TypedPointer:
        """The place of an element in a table of integers."""
        where = f"getelementptr i{bits}, ptr {self.ref}, i{index.bits} {index.ref}"
        return TypedPointer(self.ir, self.ir.op(where))


class Variable:
    """A local variable; for use outside of loops only."""

    __slots__ = ("_bits", "_place")

    def __init__(self, ir: Builder, bits: int, value: Int | int | None = None) -> None:
        self._bits, self._place = bits, TypedPointer(ir, ir.op(f"alloca i{bits}"))
        if value is not None:
            self.set(value)

    def get(self) -> Int:
        """Its value now."""
        return self._place.load(self._bits)

    def set(self, value: Int | int) -> None:
        """Give it another value."""
        self._place.store(self._bits, value)

    def set_text(self, value: str) -> None:
        """Give it a value as IR writes it, such as `true`."""
        self._place.ir.put(f"i{self._bits}", value, self._place.ref)


TRUE: Final = "true"
FALSE: Final = "false"
"""Results of functions that return an i1."""
