"""The body of a library function, and the check of addresses that accesses begin with."""

from __future__ import annotations

from gpudbg.mem.local import NOWHERE
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.lanes import Num, Slow, Val
from gpudbg.sm.engines.llvm.mufu import MufuBodies
from gpudbg.sm.engines.llvm.text import vector

I32 = "<32 x i32>"
I64 = "<32 x i64>"
I1 = "<32 x i1>"


class Body(MufuBodies):
    """The body of one library function.

    Attributes:
        wide_vectors: for a host with AVX-512.
    """

    wide_vectors = False

    def outlined(self, name: str, operands: tuple[Num, ...]) -> Val:
        raise Slow("library functions do not call one another")

    def close(self, head: str) -> str:
        """The function with this head."""
        variables = [line for line in self.lines if " = alloca " in line]
        rest = [line for line in self.lines if " = alloca " not in line]
        return "\n".join([f"{head} {{", *variables, *rest, "}"])

    def row(self, bits: int, pointer: str) -> Val:
        """32 lanes at a pointer."""
        return Val(bits, self.get(vector(f"i{bits}"), pointer, 0, 64))

    def constants(self, kind: str, values: range) -> str:
        """A vector constant."""
        return "<" + ", ".join(f"{kind} {v}" for v in values) + ">"


def arguments(space: str) -> str:
    """The parameters that accesses to a space begin with."""
    wide = "ptr %lo, ptr %hi" if space in ("global", "generic") else "ptr %lo"
    return f"ptr %env, ptr %rec, ptr %site, {wide}, i64 %add, i32 %mask"


def nothing_to_do(b: Body) -> None:
    """Without executing lanes nothing happens."""
    with b.returning(b.op("icmp eq i32 %mask, 0")):
        b.line("ret i1 true")


# ---- checks --------------------------------------------------------------------------------


def places_global(b: Body, size: int) -> tuple[Val, str]:
    """(offsets in the allocation, its host pointer) of checked global addresses."""
    whole = b.wide(b.row(32, "%lo"), b.row(32, "%hi"))
    add = Val(64, "%add", True)
    address = b.wadd(Val(64, b.bare(whole, 64)), add)
    assert isinstance(address, Val)
    back, good, resolve = b.fresh("check"), b.fresh("good"), b.fresh("resolve")
    tried = b.op("alloca i1")
    b.put("i1", "false", tried)
    b.br(back)
    b.label(back)
    base = Val(64, b.get("i64", "%site", layout.SITE_WHOLE), True)
    bytes_ = Val(64, b.get("i64", "%site", layout.SITE_WHOLE + 8), True)
    inside = b.wsub(address, base)
    bad = bad_lanes(b, inside, bytes_, size)
    b.choose(b.op(f"icmp eq i32 {bad}, 0"), good, resolve)
    b.label(resolve)
    before = b.get("i1", tried)
    b.put("i1", "true", tried)
    ask, fail = b.fresh("ask"), b.fresh("fail")
    b.choose(before, fail, ask)
    b.label(ask)
    first = b.op("call i32 @llvm.cttz.i32(i32 %mask, i1 false)")
    lowest = b.op(f"extractelement {I64} {address.ref}, i32 {first}")
    found = b.op(f"call i1 @{layout.symbol('resolve')}(ptr %env, ptr %site, i64 {lowest})")
    b.choose(found, back, fail)
    b.label(fail)
    b.line("ret i1 false")
    b.label(good)
    assert isinstance(inside, Val)
    return inside, b.get("ptr", "%site", layout.SITE_WHOLE + 16)


def bad_lanes(b: Body, inside: Num, limit: Val, size: int) -> str:
    """Executing lanes whose access of `size` bytes is outside or misaligned, as bits."""
    too_short = b.op(f"icmp ult i64 {limit.ref}, {size}")
    last = b.op(f"sub i64 {limit.ref}, {size}")
    beyond = b.wult(Val(64, last, True), inside)
    bad = beyond
    if size > 1:
        bad = b.mor(bad, b.mnot(b.weq(b.wand(inside, size - 1), 0)))
    bits = b.op(f"and i32 {b.mask_bits(bad)}, %mask")
    return b.op(f"select i1 {too_short}, i32 %mask, i32 {bits}")


def places_shared(b: Body, size: int) -> tuple[Val, str]:
    """(offsets of 32 bits, host pointer) of checked shared addresses."""
    low = b.add(b.row(32, "%lo"), Val(32, b.op("trunc i64 %add to i32"), True))
    assert isinstance(low, Val)
    turn = size.bit_length() - 1
    turned = low
    if turn:
        # Turned right by the bits that must be 0, an offset is huge unless they are.
        pair = f"{I32} {low.ref}, {I32} {low.ref}, {b.whole(turn, 32)}"
        turned = Val(32, b.op(f"call {I32} @llvm.fshr.v32i32({pair})"))
    bytes_ = b.op(f"trunc i64 {b.get('i64', '%env', layout.SHARED_BYTES)} to i32")
    room = Val(32, b.op(f"lshr i32 {bytes_}, {turn}"), True)
    bad = b.mask_bits(b.mnot(b.ult(turned, room)))
    refuse(b, b.op(f"and i32 {bad}, %mask"))
    return low, b.get("ptr", "%rec", layout.SHARED_POINTER)


def places_local(b: Body, size: int) -> tuple[Val, str]:
    """(positions of the bytes in the interleaved store, host pointer) of local addresses."""
    low = b.add(b.row(32, "%lo"), Val(32, b.op("trunc i64 %add to i32"), True))
    address = Val(64, b.bare(b.zext(low), 64))
    low_bytes = Val(64, b.get("i64", "%env", layout.LOCAL_LOW), True)
    start = Val(64, b.get("i64", "%env", layout.LOCAL_START), True)
    moved = b.wadd(b.wsub(address, start), low_bytes)
    # Between the ranges there is nothing.
    moved = b.wselect(b.wult(address, start), NOWHERE, moved)
    place = b.wselect(b.wult(address, low_bytes), address, moved)
    limit = Val(64, b.get("i64", "%env", layout.LOCAL_BYTES), True)
    refuse(b, bad_lanes(b, place, limit, size))
    word = b.wshl(b.wand(place, 0xFFFF_FFFF_FFFF_FFFC), 5)
    lanes = Val(64, b.constants("i64", range(0, 128, 4)))
    position = b.wadd(b.wadd(word, lanes), b.wand(place, 3))
    assert isinstance(position, Val)
    return position, b.get("ptr", "%rec", layout.LOCAL_POINTER)


def refuse(b: Body, bad: str) -> None:
    with b.returning(b.op(f"icmp ne i32 {bad}, 0")):
        b.line("ret i1 false")


PLACES = {"global": places_global, "shared": places_shared, "local": places_local}
