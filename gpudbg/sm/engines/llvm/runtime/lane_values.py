"""Numbers of the lanes of a group in IR, for `screening_lanes` and `screening_near`."""

from __future__ import annotations

from gpudbg.sm.engines.llvm.ir.builder import LANES as LANES_OF_WARP
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.typed import Int


class LaneValues:
    """Numbers or i1, one for each lane of a group: a name or a constant of IR."""

    __slots__ = ("bits", "ir", "ref", "width")

    def __init__(self, ir: Builder, ref: str, width: int, bits: int) -> None:
        self.ir, self.ref, self.width, self.bits = ir, ref, width, bits

    @property
    def kind(self) -> str:
        """The type."""
        return f"<{self.width} x i{self.bits}>"

    def operand(self, value: LaneValues | Int | int) -> str:
        """The same in all, unless there is one for each."""
        if isinstance(value, LaneValues):
            return value.ref
        kind = f"i{self.bits}"
        if isinstance(value, int):
            return f"splat ({kind} {value})"
        one = self.ir.op(f"insertelement {self.kind} poison, {kind} {value.ref}, i32 0")
        zeros = f"<{self.width} x i32> zeroinitializer"
        return self.ir.op(f"shufflevector {self.kind} {one}, {self.kind} poison, {zeros}")

    def _op(self, what: str, value: LaneValues | Int | int, bits: int = 0) -> LaneValues:
        text = f"{what} {self.kind} {self.ref}, {self.operand(value)}"
        return LaneValues(self.ir, self.ir.op(text), self.width, bits or self.bits)

    def __add__(self, value: LaneValues | Int | int) -> LaneValues:
        return self._op("add", value)

    def __mul__(self, value: LaneValues | Int | int) -> LaneValues:
        return self._op("mul", value)

    def __and__(self, value: LaneValues | Int | int) -> LaneValues:
        return self._op("and", value)

    def __or__(self, value: LaneValues | Int | int) -> LaneValues:
        return self._op("or", value)

    def __xor__(self, value: LaneValues | Int | int) -> LaneValues:
        return self._op("xor", value)

    def __lshift__(self, value: int) -> LaneValues:
        return self._op("shl", value)

    def __rshift__(self, value: int) -> LaneValues:
        return self._op("lshr", value)

    def __lt__(self, value: LaneValues | Int | int) -> LaneValues:
        return self._op("icmp ult", value, 1)

    def __ge__(self, value: LaneValues | Int | int) -> LaneValues:
        return self._op("icmp uge", value, 1)

    def __invert__(self) -> LaneValues:
        return self._op("xor", -1)

    def equals(self, value: LaneValues | Int | int) -> LaneValues:
        """i1: both are the same."""
        return self._op("icmp eq", value, 1)

    def differs(self, value: LaneValues | Int | int) -> LaneValues:
        """i1: they are not the same."""
        return self._op("icmp ne", value, 1)

    def select(self, yes: LaneValues | Int | int, no: LaneValues) -> LaneValues:
        """Select by these i1."""
        given = f"{no.kind} {no.operand(yes)}, {no.kind} {no.ref}"
        found = self.ir.op(f"select {self.kind} {self.ref}, {given}")
        return LaneValues(self.ir, found, self.width, no.bits)

    def mask(self) -> Int:
        """These i1 as the low bits of an i32."""
        width = self.width
        bits = Int(self.ir, width, self.ir.op(f"bitcast {self.kind} {self.ref} to i{width}"))
        return bits if width == LANES_OF_WARP else bits.zext(32)

    @classmethod
    def numbers(cls, ir: Builder, width: int, bits: int) -> LaneValues:
        """0, 1, 2 and so on."""
        return cls(ir, "<" + ", ".join(f"i{bits} {n}" for n in range(width)) + ">", width, bits)

    def all(self, value: LaneValues | Int | int) -> LaneValues:
        """The same number for all lanes, of this kind."""
        return LaneValues(self.ir, self.operand(value), self.width, self.bits)
