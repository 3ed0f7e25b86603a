"""Accesses of lanes that may lie anywhere, by a host with AVX2 and without AVX-512.

Such a host gathers eight words at once, under the signs of a mask of words, and scatters none: of
`llvm.masked.gather` and `llvm.masked.scatter` the compiler library makes a branch for each lane.
Addresses are checked with 32 bits, in the part of the site's allocation that lies between two
multiples of 4 GiB, or in the high range of local memory; what is elsewhere is left to the code
behind.
"""

from __future__ import annotations

from typing import NamedTuple

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.eights import EIGHT, eight_chosen, eight_of, gather_eight
from gpudbg.sm.engines.llvm.ir.values import Msk, Val
from gpudbg.sm.engines.llvm.runtime.body import I32, Body

_LANES = ", ".join(f"i32 {n}" for n in range(32))


class Reached(NamedTuple):
    """Memory that lanes may access with offsets of 32 bits.

    Attributes:
        inside: i1: every lane that executes accesses it, aligned.
        unit: `<32 x i32>`: accesses from its beginning.
        base: host pointer of its beginning.
    """

    inside: str
    unit: str
    base: str


def global_window(b: Body, size: int) -> Reached:
    """The part of a site's allocation that the site knows.

    Lanes must have the high word of its beginning, before `%add` is added: that carries into the
    high word, or borrows, only near a multiple of 4 GiB, where the window is not used.
    """
    ir = b.ir
    begin, limit = ir.get("i64", "%site"), ir.get("i64", "%site", 8)
    low, top = ir.op(f"and i64 {begin}, 4294967295"), ir.op(f"lshr i64 {begin}, 32")
    end = ir.op(f"add i64 {low}, {limit}")
    # 0 <= add <= low, or -(2**32 - end) <= add < 0.
    up = ir.op(f"icmp ule i64 %add, {low}")
    room = ir.op(f"sub i64 {end}, 4294967296")
    down = ir.op(f"icmp sge i64 %add, {room}")
    negative = ir.op("icmp slt i64 %add, 0")
    flat = ir.op(f"select i1 {negative}, i1 {down}, i1 {up}")
    apart = ir.op(f"trunc i64 {ir.op(f'sub i64 %add, {begin}')} to i32")
    top = ir.op(f"trunc i64 {top} to i32")
    high = ir.op(f"icmp ne {I32} {b.row(32, '%hi').ref}, {b.values.spread(top, 32)}")
    found = _window(b, size, apart, limit, high, ir.get("ptr", "%site", 16))
    inside = ir.op(f"and i1 {found.inside}, {flat}")
    if size < 4:
        # What is not an allocation of ours may begin anywhere.
        rest = ir.op(f"and i64 {ir.op(f'ptrtoint ptr {found.base} to i64')}, 3")
        inside = ir.op(f"and i1 {inside}, {ir.op(f'icmp eq i64 {rest}, 0')}")
    return found._replace(inside=inside)


def local_window(b: Body, size: int) -> Reached:
    """The high range of local memory, where the stack is: it ends below 4 GiB."""
    ir = b.ir
    low, start, both = (
        ir.get("i64", "%env", place)
        for place in (layout.LOCAL_LOW, layout.LOCAL_START, layout.LOCAL_BYTES)
    )
    apart = ir.op(f"trunc i64 {ir.op(f'sub i64 %add, {start}')} to i32")
    base = ir.at(ir.get("ptr", "%rec", layout.LOCAL_POINTER), ir.op(f"shl i64 {low}, 5"))
    return _window(b, size, apart, ir.op(f"sub i64 {both}, {low}"), "", base)


WINDOWS = {"global": global_window, "local": local_window}


def _window(b: Body, size: int, apart: str, limit: str, high: str, base: str) -> Reached:
    """Check of 32-bit addresses.

    Args:
        apart: i32: what is added to them for their distance from the beginning.
        limit: i64: bytes.
        high: `<32 x i1>`: lanes that are elsewhere; "": none.
    """
    ir, turn = b.ir, size.bit_length() - 1
    unit = ir.op(f"add {I32} {b.row(32, '%lo').ref}, {b.values.spread(apart, 32)}")
    if turn:
        # A misaligned one becomes huge.
        pair = f"{I32} {unit}, {I32} {unit}, {I32} splat (i32 {turn})"
        unit = ir.op(f"call {I32} @llvm.fshr.v32i32({pair})")
    room = ir.op(f"trunc i64 {ir.op(f'lshr i64 {limit}, {turn}')} to i32")
    bad = ir.op(f"icmp uge {I32} {unit}, {b.values.spread(room, 32)}")
    if high:
        bad = ir.op(f"or <32 x i1> {bad}, {high}")
    bits = ir.op(f"and i32 {b.values.bits_of(bad)}, %mask")
    return Reached(ir.op(f"icmp eq i32 {bits}, 0"), unit, base)


def load(b: Body, space: str, size: int, signed: bool, base: str, unit: str) -> None:
    """The rest of a load to `%out`: move what is checked, and return.

    Args:
        unit: `<32 x i32>`: accesses from the base.
    """
    words, apart = _words(b, space, size, unit)
    _gather_eights(b, base, words, apart, max(1, size // 4))
    if size < 4:
        part = b.floats.and_(b.ints.shl(Val(32, unit), size.bit_length() - 1), 3)
        word = Val(32, b.ir.get(I32, "%out", 0, 64))
        top = b.ints.shl(b.ints.shr(word, b.ints.shl(part, 3)), 32 - 8 * size)
        value = (b.ints.sar if signed else b.ints.shr)(top, 32 - 8 * size)
        b.ir.put(I32, b.values.bare(value, 32), "%out", 0, 64)
    b.ir.line("ret i1 true")


def store(b: Body, space: str, size: int, base: str, unit: str, marks: str = "") -> None:
    """The rest of a store of `%d0`..., as `load`.

    Args:
        marks: bytes to the marks of what is stored, which are written, too; "": to none.
    """
    offsets, apart = (unit, 1) if size < 4 else _words(b, space, size, unit)
    _scatter_lanes(b, space, base, offsets, apart, size, marks)
    b.ir.line("ret i1 true")


def _words(b: Body, space: str, size: int, unit: str) -> tuple[str, int]:
    """(`<32 x i32>`: words from the base, words from a lane's word to its next one)."""
    turn = size.bit_length() - 3
    if turn < 0:
        unit = b.ir.op(f"lshr {I32} {unit}, splat (i32 {-turn})")
    elif turn:
        unit = b.ir.op(f"shl {I32} {unit}, splat (i32 {turn})")
    if space != "local":
        return unit, 1
    unit = b.ir.op(f"shl {I32} {unit}, splat (i32 5)")
    return b.ir.op(f"or {I32} {unit}, <{_LANES}>"), 32


def _gather_eights(b: Body, base: str, words: str, apart: int, count: int) -> None:
    """Words of the lanes of `%mask` to `%out`, 0 in others.

    Args:
        words: `<32 x i32>`: words from the base.
        apart: words from a lane's word to its next one.
        count: words of a lane.
    """
    ir = b.ir
    for first in range(0, 32, 8):
        index, chosen = eight_of(ir, words, first), eight_chosen(ir, "%mask", first)
        for n in range(count):
            found = gather_eight(ir, ir.at(base, 4 * apart * n), index, chosen)
            ir.put(EIGHT, found, "%out", 128 * n + 4 * first, 32)


def _scatter_lanes(
    b: Body, space: str, base: str, offsets: str, apart: int, size: int, marks: str
) -> None:
    """Store `%d0`... of the lanes of `%mask`, in ascending order.

    Args:
        offsets: `<32 x i32>`: of lanes, unsigned, in units of `size`, or of 4 bytes if that is
            less.
        apart: words from a lane's word to its next one.
        marks: as of `store`.
    """
    ir, unit = b.ir, min(size, 4)
    kind, words = f"i{8 * unit}", max(1, size // 4)
    kept = ir.op(f"alloca {I32}, align 128")
    ir.put(I32, offsets, kept, 0, 64)

    beside = ir.at(base, marks) if marks else ""

    def write(offset: str, data: list[str]) -> None:
        index = ir.op(f"zext i32 {offset} to i64")
        place = ir.op(f"getelementptr {kind}, ptr {base}, i64 {index}")
        for n in range(words):
            ir.put(kind, ir.get(kind, data[n]), place, 4 * apart * n, unit)
        if marks:
            place = ir.op(f"getelementptr {kind}, ptr {beside}, i64 {index}")
            for n in range(words):
                ir.put(kind, -1, place, 4 * apart * n, unit)

    def write_all(rows: list[str]) -> None:
        for lane in range(32):
            write(ir.get("i32", kept, 4 * lane), [ir.at(row, 4 * lane) for row in rows])

    given = [f"%d{n}" for n in range(words)]
    if space != "global":
        write_all([_filled(b, row, kept if row == given[-1] else "") for row in given])
        return
    with ir.returning(ir.op("icmp eq i32 %mask, -1")):
        write_all(given)
        ir.line("ret i1 true")
    left = ir.var("i32", "%mask")
    with ir.loop() as (_, after):
        now = ir.get("i32", left)
        ir.unless(ir.op(f"icmp eq i32 {now}, 0"), after)
        lane = ir.op(f"zext i32 {ir.op(f'call i32 @llvm.cttz.i32(i32 {now}, i1 true)')} to i64")
        ir.put("i32", ir.op(f"and i32 {now}, {ir.op(f'sub i32 {now}, 1')}"), left)
        lane = ir.op(f"shl i64 {lane}, 2")
        write(ir.get("i32", kept, lane), [ir.at(row, lane) for row in given])


def _filled(b: Body, row: str, also: str) -> str:
    """A copy of a row in which lanes that do not execute have what the last that does has; the
    row at `also`, if any, is changed so in place.

    A loop over the lanes that execute ends unforeseen, which takes longer than to store all.  What
    the last one stores is stored again by others: only where no other host thread may store.
    """
    ir = b.ir
    lanes = b.values.mask_lanes(Msk(bits="%mask"))
    above = ir.op("call i32 @llvm.ctlz.i32(i32 %mask, i1 true)")
    last = ir.op(f"sub i32 31, {above}")
    at = ir.op(f"shl i64 {ir.op(f'zext i32 {last} to i64')}, 2")
    copy = ir.op(f"alloca {I32}, align 128")
    for source, goal in ((row, copy), (also, also)):
        if source:
            other = b.values.spread(ir.get("i32", source, at), 32)
            whole = ir.get(I32, source, 0, 64)
            both = f"{I32} {whole}, {I32} {other}"
            ir.put(I32, ir.op(f"select <32 x i1> {lanes}, {both}"), goal, 0, 64)
    return copy


__all__ = ["WINDOWS", "Reached", "global_window", "load", "local_window", "store"]
