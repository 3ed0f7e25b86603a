"""The divergence stack in compiled code: `gpudbg.sm.convergence` on the record's bytes.

Both functions return the pc to continue at, or -1 and have changed nothing: then the step engine
executes the instruction and raises what there is to raise.
"""

from __future__ import annotations

from gpudbg.sm import record as rec
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.text import Text
from gpudbg.sm.record import ENTRY_BYTES, FIELDS, TOKEN_CODE


class Function(Text):
    """A function written by hand on record fields."""

    def close(self, head: str) -> str:
        """The function; variables belong to its first block."""
        variables = [line for line in self.lines if " = alloca " in line]
        rest = [line for line in self.lines if " = alloca " not in line]
        return "\n".join([f"{head} {{", *variables, *rest, "}"])

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
        wide = self.op(f"zext i32 {index} to i64")
        return self.at(stack, self.op(f"mul i64 {wide}, {ENTRY_BYTES}"))

    def less(self, a: str, b: str) -> str:
        """a without the bits of b."""
        return self.op(f"and i32 {a}, {self.op(f'xor i32 {b}, -1')}")


def _downwards(f: Function, depth: str) -> str:
    """A variable that counts entries from the top."""
    return f.var("i32", depth)


def _pop() -> str:
    f = Function()
    depth = f.field("depth")
    n, missing = _downwards(f, depth), f.var("i32", "%lanes")
    with f.loop() as (_, after):
        at = f.get("i32", n)
        f.unless(f.op(f"icmp eq i32 {at}, 0"), after)
        f.unless(f.op(f"icmp eq i32 {f.get('i32', missing)}, 0"), after)
        below = f.op(f"sub i32 {at}, 1")
        f.put("i32", below, n)
        entry = f.entry(below)
        same = f.op(f"icmp eq i32 {f.get('i32', entry)}, %kind")
        with f.when(same):
            f.put("i32", f.less(f.get("i32", missing), f.get("i32", entry, 4)), missing)
    with f.returning(f.op(f"icmp ne i32 {f.get('i32', missing)}, 0")):
        f.line("ret i64 -1")
    f.put("i32", depth, n)
    f.put("i32", "%lanes", missing)
    with f.loop() as (_, after):
        at = f.get("i32", n)
        f.unless(f.op(f"icmp eq i32 {f.get('i32', missing)}, 0"), after)
        below = f.op(f"sub i32 {at}, 1")
        f.put("i32", below, n)
        entry = f.entry(below)
        mask = f.get("i32", entry, 4)
        same = f.op(f"icmp eq i32 {f.get('i32', entry)}, %kind")
        with f.when(same):
            f.put("i32", f.less(f.get("i32", missing), mask), missing)
        # Lanes whose token lies deeper are taken out of this entry.
        f.put("i32", f.less(mask, f.get("i32", missing)), entry, 4)
    _leave(f)
    head = f"define i64 @{layout.symbol('pop')}(ptr %rec, i32 %kind, i32 %lanes, i64 %next)"
    return f.close(head)


def _leave(f: Function) -> None:
    """The lanes stop running; continue with the others or with the top entry."""
    active = f.less(f.field("active"), "%lanes")
    f.set("active", active)
    with f.returning(f.op(f"icmp ne i32 {active}, 0")):
        f.line("ret i64 %next")
    n = f.var("i32", f.field("depth"))
    with f.loop() as (_, after):
        at = f.get("i32", n)
        f.unless(f.op(f"icmp eq i32 {at}, 0"), after)
        below = f.op(f"sub i32 {at}, 1")
        f.put("i32", below, n)
        entry = f.entry(below)
        mask = f.less(f.get("i32", entry, 4), f.field("exited"))
        with f.returning(f.op(f"icmp ne i32 {mask}, 0")):
            f.set("depth", below)
            f.set("active", mask)
            f.line(f"ret i64 {f.get('i64', entry, 8)}")
    f.set("depth", 0)
    f.set("status", rec.DONE)
    f.line("ret i64 %next")


def _exit() -> str:
    f = Function()
    critical = f.op(f"and i32 {f.field('flags')}, {rec.FLAG_IDE}")
    with f.returning(f.op(f"icmp ne i32 {critical}, 0")):
        f.line("ret i64 -1")
    gone = f.op(f"or i32 {f.field('exited')}, %lanes")
    n, waiting = f.var("i32", f.field("depth")), f.var("i32", 0)
    with f.loop() as (_, after):
        at = f.get("i32", n)
        f.unless(f.op(f"icmp eq i32 {at}, 0"), after)
        below = f.op(f"sub i32 {at}, 1")
        f.put("i32", below, n)
        entry = f.entry(below)
        with f.returning(f.op(f"icmp eq i32 {f.get('i32', entry)}, {TOKEN_CODE['PEXIT']}")):
            f.line("ret i64 -1")
        rest = f.op(f"or i32 {f.get('i32', waiting)}, {f.get('i32', entry, 4)}")
        f.put("i32", rest, waiting)
    # Nobody left although lanes never ended: an error for the step engine to raise.
    others = f.op(f"or i32 {f.get('i32', waiting)}, {f.less(f.field('active'), '%lanes')}")
    empty = f.op(f"icmp eq i32 {f.less(others, gone)}, 0")
    lost = f.op(f"icmp ne i32 {f.less(f.field('valid'), gone)}, 0")
    with f.returning(f.op(f"and i1 {empty}, {lost}")):
        f.line("ret i64 -1")
    f.set("exited", gone)
    _leave(f)
    return f.close(f"define i64 @{layout.symbol('exit')}(ptr %rec, i32 %lanes, i64 %next)")


def stack_functions() -> list[str]:
    """`pop` and `exit`."""
    return [_pop(), _exit()]
