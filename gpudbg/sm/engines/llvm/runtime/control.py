"""Builder of the library's control functions: divergence stack, barriers, schedule, residency."""

from __future__ import annotations

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.record import FIELDS
from gpudbg.sm.residency import arena


class ControlCode(Builder):
    """A library function on fields of the warp record, a CTA's descriptor and the grid loop."""

    def field(self, name: str, record: str = "%rec") -> str:
        """A header field's value."""
        slot = FIELDS[name]
        return self.get(f"i{8 * slot.width}", record, slot.offset)

    def set(self, name: str, value: int | str, record: str = "%rec") -> None:
        """Write a header field."""
        slot = FIELDS[name]
        self.put(f"i{8 * slot.width}", value, record, slot.offset)

    def entry(self, index: str) -> str:
        """A pointer to a divergence-stack entry."""
        stack = self.at("%rec", self.field("stack"))
        return self.at(stack, self.times(index, self.field("stack_step")))

    def times(self, a: str, b: str) -> str:
        """The product of two u32, as i64."""
        wide = [self.op(f"zext i32 {each} to i64") for each in (a, b)]
        return self.op(f"mul i64 {wide[0]}, {wide[1]}")

    def less(self, a: str, b: str) -> str:
        """a without the bits of b."""
        return self.op(f"and i32 {a}, {self.op(f'xor i32 {b}, -1')}")

    def loop_get(self, name: str) -> str:
        return self.get("i64", "%env", layout.FIELD[name])

    def loop_put(self, name: str, value: int | str) -> None:
        self.put("i64", value, "%env", layout.FIELD[name])

    def element(self, table: str, index: str) -> str:
        """Pointer number `index` of a table of pointers."""
        return self.get("ptr", self.op(f"getelementptr ptr, ptr {table}, i64 {index}"))

    def clear(self, pointer: str, count: str, step: int = 16) -> None:
        """Zero bytes, `step` at a time; there is room for the last ones."""
        n = self.var("i64", 0)
        with self.loop() as (_, after):
            at = self.get("i64", n)
            self.unless(self.op(f"icmp uge i64 {at}, {count}"), after)
            self.put(f"<{step // 4} x i32>", "zeroinitializer", self.at(pointer, at), 0, 4)
            self.put("i64", self.op(f"add i64 {at}, {step}"), n)

    def each_warp(self, cta: str) -> _Each:
        """Loop over a CTA's warps; the body sees the record."""
        return _Each(self, self.at(cta, arena.BLOCK_BYTES), self.get("i64", cta, arena.WARPS))


class _Each:
    """`with loop.each_warp(cta) as record:`"""

    def __init__(self, f: ControlCode, table: str, count: str) -> None:
        self._f, self._table, self._count = f, table, count

    def __enter__(self) -> str:
        f = self._f
        self._n = f.op("alloca i64")
        f.put("i64", 0, self._n)
        self._head, self._after = f.fresh("warp"), f.fresh("warps")
        f.br(self._head)
        f.label(self._head)
        at = f.get("i64", self._n)
        f.unless(f.op(f"icmp uge i64 {at}, {self._count}"), self._after)
        f.put("i64", f.op(f"add i64 {at}, 1"), self._n)
        return f.element(self._table, at)

    def __exit__(self, *_: object) -> None:
        self._f.br(self._head)
        self._f.label(self._after)
