"""Matrices in shared memory as products of warp groups read them, by descriptors
(`gpudbg.sm.engines.wgmma`): eight rows, or columns of B, and 32 bytes along k, to two registers.

Every 16 bytes along k, or of eight rows side by side, lie together in memory, swizzled or not.
"""

from __future__ import annotations

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder

_CHUNK = "<4 x i32>"


def operand_rows(name: str) -> str:
    """A function: shared memory and its bytes, the descriptor, the first row, the first 16 bytes
    along k, the bits to flip in each word, two rows for registers; false where a chunk is outside
    the memory."""
    return _Rows(name).text()


class _Rows:
    """The body of one function."""

    def __init__(self, name: str) -> None:
        self.ir, self.name = Builder(), name
        self.start, self.leading, self.stride = (self._field(low) for low in (0, 16, 32))

    def _op(self, what: str, a: str | int, b: str | int) -> str:
        return self.ir.op(f"{what} i64 {a}, {b}")

    def _field(self, low: int) -> str:
        """An offset of the descriptor, in bytes."""
        part = self._op("and", self._op("lshr", "%word", low), 0x3FFF)
        return self._op("shl", part, 4)

    def text(self) -> str:
        """The function."""
        ir = self.ir
        swizzle = self._op("lshr", "%word", 62)
        self.plain = ir.op(f"icmp eq i64 {swizzle}, 0")
        # 128, 64 and 32 bytes, and as many chunks less one.
        width = self._op("lshr", 256, swizzle)
        chunks = self._op("sub", self._op("lshr", width, 4), 1)
        self.mask = ir.op(f"select i1 {self.plain}, i64 0, i64 {chunks}")
        self.pitch = ir.op(f"select i1 {self.plain}, i64 16, i64 {width}")
        self.base = self._op("and", self._op("lshr", "%word", 49), 7)
        if self.name == "wgmma.along":
            places = self._along()
        else:
            places = self._across(width, self._op("sub", 8, swizzle))
        places = [self._swizzled(at) for at in places]
        last = places[0]
        for at in places[1:]:
            last = ir.op(f"call i64 @llvm.umax.i64(i64 {last}, i64 {at})")
        end = self._op("add", last, 16)
        with ir.returning(ir.op(f"icmp ugt i64 {end}, %size")):
            ir.line("ret i1 false")
        found = [ir.get(_CHUNK, "%shared", at, 4) for at in places]
        first = ir.op(f"insertelement {_CHUNK} poison, i32 %flip, i64 0")
        zeros = f"{_CHUNK} poison, <4 x i32> zeroinitializer"
        self.flip = ir.op(f"shufflevector {_CHUNK} {first}, {zeros}")
        if self.name == "wgmma.along":
            for n, chunk in enumerate(found):
                self._put(chunk, n // 8, n % 8)
        else:
            self._turned(found)
        ir.line("ret i1 true")
        about = (
            "ptr %shared, i64 %size, i64 %word, i64 %first, i64 %deep, i32 %flip, ptr %r0, ptr %r1"
        )
        return ir.close(f"define i1 @{layout.symbol(self.name)}({about})")

    def _along(self) -> list[str]:
        """Where the chunks of the first register are by row, then those of the second."""
        ir = self.ir
        corner = self._op("add", self.start, self._op("mul", self.stride, self._eights()))
        step = ir.op(f"select i1 {self.plain}, i64 {self.leading}, i64 16")
        corner = self._op("add", corner, self._op("mul", "%deep", step))
        corners = [corner, self._op("add", corner, step)]
        return [
            self._op("add", at, self._op("mul", self.pitch, g)) for at in corners for g in range(8)
        ]

    def _eights(self) -> str:
        return self._op("lshr", "%first", 3)

    def _across(self, width: str, bits: str) -> list[str]:
        """Addresses by k of the 16-byte chunks, each of eight rows at one k."""
        ir = self.ir
        place = self._op("shl", "%first", 1)
        inside = self._op("and", place, self._op("sub", width, 1))
        behind = self._op("mul", self._op("lshr", place, bits), self.leading)
        whole = self._op("add", behind, inside)
        apart = self._op("mul", self._eights(), self.stride)
        offset = ir.op(f"select i1 {self.plain}, i64 {apart}, i64 {whole}")
        corner = self._op("add", self.start, offset)
        step = ir.op(f"select i1 {self.plain}, i64 {self.leading}, i64 {self.stride}")
        corner = self._op("add", corner, self._op("mul", "%deep", step))
        corners = [corner, self._op("add", corner, step)]
        return [
            self._op("add", at, self._op("mul", self.pitch, k)) for at in corners for k in range(8)
        ]

    def _swizzled(self, at: str) -> str:
        """Apply the swizzle pattern to an address."""
        line = self._op("sub", self._op("lshr", at, 7), self.base)
        return self._op("xor", at, self._op("shl", self._op("and", line, self.mask), 4))

    def _put(self, chunk: str, register: int, row: int) -> None:
        """Store four lanes of a register."""
        value = self.ir.op(f"xor {_CHUNK} {chunk}, {self.flip}")
        self.ir.put(_CHUNK, value, f"%r{register}", 16 * row, 16)

    def _turned(self, found: list[str]) -> None:
        """Transpose chunks of one k each into words of two k's of one row."""
        ir, halves, words = self.ir, "<8 x i16>", "<8 x i32>"
        raw = [ir.op(f"bitcast {_CHUNK} {chunk} to {halves}") for chunk in found]
        for register in range(2):
            columns = []
            for t in range(4):
                a, b = raw[8 * register + 2 * t : 8 * register + 2 * t + 2]
                mixed = self._picked(halves, a, b, [n // 2 + 8 * (n % 2) for n in range(16)])
                columns.append(ir.op(f"bitcast <16 x i16> {mixed} to {words}"))
            low, high = (self._picked(words, columns[n], columns[n + 1], range(16)) for n in (0, 2))
            for row in range(8):
                picks = [row, 8 + row, 16 + row, 24 + row]
                self._put(self._picked("<16 x i32>", low, high, picks), register, row)

    def _picked(self, kind: str, a: str, b: str, lanes: range | list[int]) -> str:
        picks = ", ".join(f"i32 {n}" for n in lanes)
        return self.ir.op(f"shufflevector {kind} {a}, {kind} {b}, <{len(lanes)} x i32> <{picks}>")


__all__ = ["operand_rows"]
