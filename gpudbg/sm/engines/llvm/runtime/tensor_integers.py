"""Products of matrices of integers, bits and doubles in the run-time library.

Lane l holds, with g = l >> 2 and t = l & 3 (PTX ISA): of A row g, and g + 8 in every second
register, of B column g; of both word t of each 16 bytes of k; of C and D row g (and g + 8), columns
2t and 2t + 1.
"""

from __future__ import annotations

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import splat
from gpudbg.sm.engines.llvm.runtime.tensor import CHUNK, F64, I32, I64, Chunked


def integer_product(name: str) -> str:
    """A function: pointers to the rows of A, B and C, then D; true."""
    what, *about = name.split(".")
    if what == "dmma":
        return _Doubles().text()
    if what == "bmma":
        return _Bits(about[0], int(about[1])).text(name)
    return _Words(about[0], about[1], int(about[2]), name.endswith(".sat")).text(name)


class _Integers(Chunked):
    """A function of whole registers.

    Attributes:
        registers: of A; one: A and D have eight rows.
    """

    def __init__(self, registers: int) -> None:
        super().__init__()
        self.registers = registers

    def parts(self, words: str, left: bool) -> list[str]:
        """Eight lanes of a register as what is multiplied one by one."""
        raise NotImplementedError

    def added(self, total: str, a: str, b: str) -> str:
        """A sum and a product more."""
        raise NotImplementedError

    def result(self, held: str, total: str) -> str:
        """The addend and the sum."""
        return self._map(I32, "add", held, total)

    def text(self, name: str) -> str:
        """The function."""
        ir, pairs = self.ir, max(1, self.registers // 2)
        rows = 2 if self.registers > 1 else 1
        right = []
        for n in range(pairs):
            chunks = [ir.get(I32, f"%b{n}", 4 * CHUNK * c, 32) for c in range(4)]
            right.append([self.parts(word, False) for word in self._strided(chunks, I32)])
        chunk = ir.var("i64", 0)
        with ir.loop() as (_, after):
            at = ir.get("i64", chunk)
            ir.unless(ir.op(f"icmp eq i64 {at}, 128"), after)
            ir.put("i64", ir.op(f"add i64 {at}, {4 * CHUNK}"), chunk)
            for up in range(rows):
                words = [ir.get(I32, ir.at(f"%a{rows * n + up}", at), 0, 32) for n in range(pairs)]
                left = [self.parts(self._of_thread(w, t), True) for w in words for t in range(4)]
                for odd in (0, 1):
                    total = "zeroinitializer"
                    for place, factors in enumerate(left):
                        others = right[place // 4][4 * odd + place % 4]
                        for a, b in zip(factors, others, strict=True):
                            total = self.added(total, a, b)
                    number = 2 * up + odd
                    held = ir.get(I32, ir.at(f"%c{number}", at), 0, 32)
                    ir.put(I32, self.result(held, total), ir.at(f"%d{number}", at), 0, 32)
        ir.line("ret i1 true")
        names = [f"a{n}" for n in range(self.registers)] + [f"b{n}" for n in range(pairs)]
        names += [f"{letter}{n}" for letter in "cd" for n in range(2 * rows)]
        return ir.close(
            f"define i1 @{layout.symbol(name)}({', '.join(f'ptr %{n}' for n in names)})"
        )

    def _of_thread(self, words: str, thread: int) -> str:
        """What a thread of each quad holds, in all of the quad."""
        return self._picked(I32, words, "poison", [x & ~3 | thread for x in range(CHUNK)])


class _Words(_Integers):
    """Integers of eight or four bits."""

    def __init__(self, left: str, right: str, registers: int, saturates: bool) -> None:
        super().__init__(registers)
        self.kinds, self.saturates = (right, left), saturates

    def parts(self, words: str, left: bool) -> list[str]:
        kind = self.kinds[left]
        width, signed = int(kind[1:]), kind[0] == "s"
        found = []
        for n in range(32 // width):
            up = self._with(I32, "shl", words, 32 - width * (n + 1))
            found.append(self._with(I32, "ashr" if signed else "lshr", up, 32 - width))
        return found

    def added(self, total: str, a: str, b: str) -> str:
        return self._map(I32, "add", total, self._map(I32, "mul", a, b))

    def result(self, held: str, total: str) -> str:
        return (
            self._choose(I32, "sadd.sat", held, total)
            if self.saturates
            else super().result(held, total)
        )


class _Bits(_Integers):
    """Counts of bits."""

    def __init__(self, operation: str, registers: int) -> None:
        super().__init__(registers)
        self.operation = operation

    def parts(self, words: str, left: bool) -> list[str]:
        return [words]

    def added(self, total: str, a: str, b: str) -> str:
        both = self._map(I32, self.operation, a, b)
        return self._map(
            I32, "add", total, self.ir.op(f"call {I32} @llvm.ctpop.v8i32({I32} {both})")
        )


class _Doubles(Chunked):
    """m8n8k4: a chain of fused multiply-adds, k ascending; NaNs are left to the step engine."""

    def text(self) -> str:
        """The function."""
        ir = self.ir
        words = [
            [self._strided([ir.get(I32, f"%b{n}", 4 * CHUNK * c, 32) for c in range(4)], I32)]
            for n in (0, 1)
        ]
        right = [self._double(words[0][0][j], words[1][0][j]) for j in range(8)]
        chunk = ir.var("i64", 0)
        with ir.loop() as (_, after):
            at = ir.get("i64", chunk)
            ir.unless(ir.op(f"icmp eq i64 {at}, 128"), after)
            ir.put("i64", ir.op(f"add i64 {at}, {4 * CHUNK}"), chunk)
            held = self._at("a", 0, at)
            left = [
                self._picked(F64, held, "poison", [x & ~3 | t for x in range(CHUNK)])
                for t in range(4)
            ]
            for odd in (0, 1):
                total = self._at("c", 2 * odd, at)
                for t in range(4):
                    factors = f"{F64} {left[t]}, {F64} {right[4 * odd + t]}, {F64} {total}"
                    total = ir.op(f"call {F64} @llvm.fma.v8f64({factors})")
                none = ir.op(f"fcmp uno {F64} {total}, {total}")
                word = ir.op(f"bitcast <8 x i1> {none} to i8")
                with ir.returning(ir.op(f"icmp ne i8 {word}, 0")):
                    ir.line("ret i1 false")
                bits = ir.op(f"bitcast {F64} {total} to {I64}")
                for n, part in enumerate((bits, self._with(I64, "lshr", bits, 32))):
                    low = ir.op(f"trunc {I64} {part} to {I32}")
                    ir.put(I32, low, ir.at(f"%d{2 * odd + n}", at), 0, 32)
        ir.line("ret i1 true")
        names = ["a0", "a1", "b0", "b1", *(f"{letter}{n}" for letter in "cd" for n in range(4))]
        return ir.close(
            f"define i1 @{layout.symbol('dmma.884')}({', '.join(f'ptr %{n}' for n in names)})"
        )

    def _at(self, letter: str, number: int, at: str) -> str:
        low, high = (
            self.ir.get(I32, self.ir.at(f"%{letter}{number + n}", at), 0, 32) for n in (0, 1)
        )
        return self._double(low, high)

    def _double(self, low: str, high: str) -> str:
        """Eight pairs of words."""
        ir = self.ir
        up = ir.op(f"shl {I64} {ir.op(f'zext {I32} {high} to {I64}')}, {splat('i64', 32)}")
        bits = self._map(I64, "or", up, ir.op(f"zext {I32} {low} to {I64}"))
        return ir.op(f"bitcast {I64} {bits} to {F64}")
