"""Control functions of the run-time library, as typed expressions: divergence stack, barriers,
schedule, residency, work stealing.

    f = Function()
    with f.returning(f.warp["active"].equals(0)):
        f.ret("i64", -1)
    f.warp["active"] = f.warp["active"] & ~lanes

It builds the text that hand-written statements would be, to the byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.typed import Int, TypedPointer, Variable
from gpudbg.sm.record import FIELDS
from gpudbg.sm.residency import arena


class Warp(TypedPointer):
    """A warp's record, whose header fields have names: `warp["active"]`."""

    __slots__ = ()

    def __getitem__(self, name: str) -> Int:
        slot = FIELDS[name]
        return self.load(8 * slot.width, slot.offset)

    def __setitem__(self, name: str, value: Int | int) -> None:
        slot = FIELDS[name]
        self.store(8 * slot.width, value, slot.offset)

    def entry(self, index: Int) -> ControlEntry:
        """An entry of the divergence stack, 0 at the bottom."""
        stack = self.at(self["stack"])
        step = self["stack_step"]
        return ControlEntry(self.ir, stack.at(index.zext(64) * step.zext(64)).ref)


class ControlEntry(TypedPointer):
    """An entry of the divergence stack: a token, its lanes, where they go."""

    __slots__ = ()

    @property
    def kind(self) -> Int:
        """A number of `record.TOKENS`."""
        return self.load(32)

    @property
    def mask(self) -> Int:
        """The lanes that wait for it."""
        return self.load(32, 4)

    @mask.setter
    def mask(self, lanes: Int) -> None:
        self.store(32, lanes, 4)

    @property
    def target(self) -> Int:
        """Where they go on."""
        return self.load(64, 8)

    def write(self, kind: int, mask: Int, target: Int) -> None:
        """Fill it in."""
        self.store(32, kind)
        self.store(32, mask, 4)
        self.store(64, target, 8)


class Environment(TypedPointer):
    """The environment of a thread, whose fields of the grid loop have names: `env["left"]`."""

    __slots__ = ()

    def __getitem__(self, name: str) -> Int:
        return self.load(64, layout.FIELD[name])

    def __setitem__(self, name: str, value: Int | int) -> None:
        self.store(64, value, layout.FIELD[name])


class ControlFunction:
    """A control function of the library, written with typed expressions.

    Attributes:
        ir: what its statements go to.
        warp, cta, env: its parameters of these names.
    """

    def __init__(self) -> None:
        self.ir = Builder()
        self.warp = Warp(self.ir, "%rec")
        self.cta = TypedPointer(self.ir, "%cta")
        self.env = Environment(self.ir, "%env")

    def integer(self, bits: int, ref: str | int) -> Int:
        """A parameter, or a number."""
        return Int(self.ir, bits, ref)

    def variable(self, bits: int, value: Int | int) -> Variable:
        """A local variable."""
        return Variable(self.ir, bits, value)

    def declared(self, bits: int) -> Variable:
        """A local variable without a value."""
        return Variable(self.ir, bits)

    def pointer(self) -> TypedPointer:
        """A local variable for a pointer."""
        return TypedPointer(self.ir, self.ir.op("alloca ptr"))

    def choose(self, condition: Int, then: str, otherwise: str) -> None:
        """Go to one of two labels by an i1."""
        self.ir.choose(str(condition.ref), then, otherwise)

    @contextmanager
    def when(self, condition: Int) -> Iterator[None]:
        """Statements for a true i1."""
        with self.ir.when(str(condition.ref)):
            yield

    @contextmanager
    def returning(self, condition: Int) -> Iterator[None]:
        """Statements for a true i1 that end by returning."""
        with self.ir.returning(str(condition.ref)):
            yield

    @contextmanager
    def loop(self) -> Iterator[str]:
        """Statements repeated until one of them is `leave`, which is given what this yields."""
        with self.ir.loop() as (_, after):
            yield after

    def leave(self, loop: str, condition: Int) -> None:
        """End a loop if an i1 is true."""
        self.ir.unless(str(condition.ref), loop)

    @contextmanager
    def each_warp(self, cta: TypedPointer) -> Iterator[Warp]:
        """Statements for each warp of a CTA."""
        ir = self.ir
        table, count = cta.at(arena.BLOCK_BYTES), cta.load(64, arena.WARPS)
        n = self.variable(64, 0)
        head, after = ir.fresh("warp"), ir.fresh("warps")
        ir.br(head)
        ir.label(head)
        at = n.get()
        self.leave(after, at >= count)
        n.set(at + 1)
        yield self.element(table, at)
        ir.br(head)
        ir.label(after)

    def slot(self, table: TypedPointer, index: Int) -> TypedPointer:
        """The place of a pointer in a table of pointers."""
        where = f"getelementptr ptr, ptr {table.ref}, i64 {index.ref}"
        return TypedPointer(self.ir, self.ir.op(where))

    def element(self, table: TypedPointer, index: Int) -> Warp:
        """The record that a table of pointers has at an index."""
        return Warp(self.ir, self.slot(table, index).follow().ref)

    def clear(self, place: TypedPointer, count: Int, step: int = 16) -> None:
        """Emit: zero bytes, `step` at a time; the memory must have room for a last full step."""
        n = self.variable(64, 0)
        with self.loop() as end:
            at = n.get()
            self.leave(end, at >= count)
            self.ir.put(f"<{step // 4} x i32>", "zeroinitializer", place.at(at).ref, 0, 4)
            n.set(at + step)

    def ret(self, kind: str, value: Int | int | str) -> None:
        """Return a value of a type."""
        self.ir.line(f"ret {kind} {value.ref if isinstance(value, Int) else value}")

    def ret_void(self) -> None:
        """Return nothing."""
        self.ir.line("ret void")

    def close(self, head: str) -> str:
        """The function with this head."""
        return self.ir.close(head)
