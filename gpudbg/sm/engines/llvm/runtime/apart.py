"""Global accesses whose lanes are in several allocations: one part after another.

An access function looks for its lanes in the one allocation that its site knows.  Where some are
elsewhere it calls its counterpart here, which first finds every lane's allocation, so that nothing
has happened where one has none, and then has the access function do each allocation's lanes.
"""

from __future__ import annotations

from typing import NamedTuple

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.values import UNIFORM, Val
from gpudbg.sm.engines.llvm.runtime.body import (
    I64,
    Body,
    arguments,
    bad_lanes,
    global_address,
    refuse,
)


class Results(NamedTuple):
    """What an access function gives: rows at `%out` of 32 elements of some bits."""

    rows: int = 0
    bits: int = 32

    @property
    def kind(self) -> str:
        """Of a row."""
        return f"<32 x i{self.bits}>"


NOTHING = Results()


def counterpart(name: str) -> str:
    """What an access function calls where its lanes are in several allocations."""
    return f"{name}_apart"


def called_apart(name: str, rows: str) -> str:
    """The call of the counterpart with an access function's own parameters."""
    return f"@{counterpart(name)}({arguments('global')}{rows})"


def apart_function(name: str, size: int, rows: str = "", results: Results = NOTHING) -> str:
    """The counterpart of an access function.

    Args:
        name: of the access function, in IR.
        size: bytes of a lane.
        rows: its further parameters: pointers to rows of data.
        results: what it gives, if anything.
    """
    b = Body()
    ir = b.ir
    address = global_address(b)
    out = ir.op(f"alloca [{max(results.rows, 1)} x {results.kind}], align 128")
    left = ir.var("i32", "%mask")
    with ir.loop() as (_, after):
        now = ir.get("i32", left)
        ir.unless(ir.op(f"icmp eq i32 {now}, 0"), after)
        part = _part(b, address, size, now)
        refuse(b, ir.op(f"zext i1 {ir.op(f'icmp eq i32 {part}, 0')} to i32"))
        ir.put("i32", ir.op(f"xor i32 {now}, {part}"), left)
    ir.put("i32", "%mask", left)
    given = f", ptr {out}" if results.rows else ""
    with ir.loop() as (_, after):
        now = ir.get("i32", left)
        ir.unless(ir.op(f"icmp eq i32 {now}, 0"), after)
        part = _part(b, address, size, now)
        head = "ptr %env, ptr %rec, ptr %site, ptr %lo, ptr %hi, i64 %add"
        done = ir.op(f"call i1 @{name}({head}, i32 {part}{rows}{given})")
        refuse(b, ir.op(f"zext i1 {ir.op(f'xor i1 {done}, true')} to i32"))
        lanes = ir.op(f"bitcast i32 {part} to <32 x i1>")
        for n in range(results.rows):
            at = n * 4 * results.bits
            new, old = ir.get(results.kind, out, at, 64), ir.get(results.kind, "%out", at, 64)
            both = f"{results.kind} {new}, {results.kind} {old}"
            ir.put(results.kind, ir.op(f"select <32 x i1> {lanes}, {both}"), "%out", at, 64)
        ir.put("i32", ir.op(f"xor i32 {now}, {part}"), left)
    ir.line("ret i1 true")
    given = ", ptr %out" if results.rows else ""
    return b.close(f"define i1 @{counterpart(name)}({arguments('global')}{rows}{given})")


def _part(b: Body, address: Val, size: int, left: str) -> str:
    """Emit: the lanes left that lie inside the first one's allocation, as bits; the site caches
    that allocation.  Returns false from the function where no allocation holds it.
    """
    ir = b.ir
    first = ir.op(f"call i32 @llvm.cttz.i32(i32 {left}, i1 false)")
    lowest = ir.op(f"extractelement {I64} {address.ref}, i32 {first}")
    found = ir.op(f"call i1 @{layout.symbol('resolve')}(ptr %env, ptr %site, i64 {lowest})")
    refuse(b, ir.op(f"zext i1 {ir.op(f'xor i1 {found}, true')} to i32"))
    base = Val(64, ir.get("i64", "%site", layout.SITE_WHOLE), UNIFORM)
    room = Val(64, ir.get("i64", "%site", layout.SITE_WHOLE + 8), UNIFORM)
    bad = bad_lanes(b, b.ints.wsub(address, base), room, size)
    return ir.op(f"and i32 {left}, {ir.op(f'xor i32 {bad}, -1')}")


__all__ = ["Results", "apart_function", "called_apart"]
