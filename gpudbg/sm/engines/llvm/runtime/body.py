"""The body of a library function, and the check of addresses that accesses begin with."""

from __future__ import annotations

from gpudbg.mem.local import NOWHERE
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder, vector
from gpudbg.sm.engines.llvm.ir.floats import Floats
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.values import UNIFORM, AccessHost, MaskHost, Num, Slow, Val, Values

I32 = "<32 x i32>"
I64 = "<32 x i64>"
I1 = "<32 x i1>"


ANY_HOST = AccessHost()


class _NoCalls:
    """Outlining that is never used: library functions do not call one another's operations."""

    def outlined(self, name: str, operands: tuple[Num, ...]) -> Val:
        """Never wanted by the definitions of operations."""
        raise Slow(name)


class Body:
    """The body of one library function.

    Attributes:
        ir, values, ints, floats: what it is emitted with.
        wide_vectors: for a host with AVX-512.
        packed: for one with AVX2 that has no AVX-512.
        by_lane: as in `AccessHost`.
        otherwise: what is called where lanes are not all in one allocation; "": nothing.
    """

    def __init__(self, host: AccessHost = ANY_HOST, otherwise: str = "") -> None:
        """Args: as the attributes."""
        masks, self.by_lane = host
        self.otherwise = otherwise
        self.wide_vectors, self.packed = masks is MaskHost.REGISTERS, masks is MaskHost.PACKED
        self.ir = Builder()
        self.values = Values(self.ir, MaskHost.PACKED if self.packed else MaskHost.REGISTERS)
        self.ints = Integers(self.ir, self.values)
        self.floats = Floats(self.ir, self.values, self.ints, _NoCalls())

    def close(self, head: str) -> str:
        """The function with this head."""
        return self.ir.close(head)

    def row(self, bits: int, pointer: str) -> Val:
        """32 lanes at a pointer."""
        return Val(bits, self.ir.get(vector(f"i{bits}"), pointer, 0, 64))

    def constants(self, kind: str, values: range) -> str:
        """A vector constant."""
        return "<" + ", ".join(f"{kind} {v}" for v in values) + ">"


def arguments(space: str) -> str:
    """Parameters that begin every access function of a space."""
    wide = "ptr %lo, ptr %hi" if space in ("global", "generic") else "ptr %lo"
    return f"ptr %env, ptr %rec, ptr %site, {wide}, i64 %add, i32 %mask"


def nothing_to_do(b: Body) -> None:
    """Emit a return where no lane executes."""
    with b.ir.returning(b.ir.op("icmp eq i32 %mask, 0")):
        b.ir.line("ret i1 true")


# ---- checks --------------------------------------------------------------------------------


def global_address(b: Body) -> Val:
    """The lanes' addresses."""
    whole = b.ints.wide(b.row(32, "%lo"), b.row(32, "%hi"))
    add = Val(64, "%add", UNIFORM)
    address = b.ints.wadd(Val(64, b.values.bare(whole, 64)), add)
    assert isinstance(address, Val)
    return address


def places_global(b: Body, size: int) -> tuple[Val, str]:
    """(offsets in the allocation, its host pointer) of checked global addresses."""
    ir = b.ir
    address = global_address(b)
    back, good, resolve = ir.fresh("check"), ir.fresh("good"), ir.fresh("resolve")
    tried = ir.op("alloca i1")
    ir.put("i1", "false", tried)
    ir.br(back)
    ir.label(back)
    base = Val(64, ir.get("i64", "%site", layout.SITE_WHOLE), UNIFORM)
    bytes_ = Val(64, ir.get("i64", "%site", layout.SITE_WHOLE + 8), UNIFORM)
    inside = b.ints.wsub(address, base)
    bad = bad_lanes(b, inside, bytes_, size)
    ir.choose(ir.op(f"icmp eq i32 {bad}, 0"), good, resolve)
    ir.label(resolve)
    before = ir.get("i1", tried)
    ir.put("i1", "true", tried)
    ask, fail = ir.fresh("ask"), ir.fresh("fail")
    ir.choose(before, fail, ask)
    ir.label(ask)
    first = ir.op("call i32 @llvm.cttz.i32(i32 %mask, i1 false)")
    lowest = ir.op(f"extractelement {I64} {address.ref}, i32 {first}")
    found = ir.op(f"call i1 @{layout.symbol('resolve')}(ptr %env, ptr %site, i64 {lowest})")
    ir.choose(found, back, fail)
    ir.label(fail)
    ir.line(f"ret i1 {ir.op(f'call i1 {b.otherwise}') if b.otherwise else 'false'}")
    ir.label(good)
    assert isinstance(inside, Val)
    return inside, ir.get("ptr", "%site", layout.SITE_WHOLE + 16)


def bad_lanes(b: Body, inside: Num, limit: Val, size: int) -> str:
    """Executing lanes whose access of `size` bytes is outside or misaligned, as bits."""
    ir, ints = b.ir, b.ints
    too_short = ir.op(f"icmp ult i64 {limit.ref}, {size}")
    last = ir.op(f"sub i64 {limit.ref}, {size}")
    beyond = ints.wult(Val(64, last, UNIFORM), inside)
    bad = beyond
    if size > 1:
        bad = ints.mor(bad, ints.mnot(ints.weq(b.floats.wand(inside, size - 1), 0)))
    bits = ir.op(f"and i32 {b.values.mask_bits(bad)}, %mask")
    return ir.op(f"select i1 {too_short}, i32 %mask, i32 {bits}")


def places_shared(b: Body, size: int) -> tuple[Val, str]:
    """(offsets of 32 bits, host pointer) of checked shared addresses."""
    ir = b.ir
    low = b.ints.add(b.row(32, "%lo"), Val(32, ir.op("trunc i64 %add to i32"), UNIFORM))
    assert isinstance(low, Val)
    turn = size.bit_length() - 1
    turned = low
    if turn:
        # Rotate right by the bits that must be 0: a misaligned offset becomes huge.
        pair = f"{I32} {low.ref}, {I32} {low.ref}, {b.values.whole(turn, 32)}"
        turned = Val(32, ir.op(f"call {I32} @llvm.fshr.v32i32({pair})"))
    bytes_ = ir.op(f"trunc i64 {ir.get('i64', '%env', layout.SHARED_BYTES)} to i32")
    room = Val(32, ir.op(f"lshr i32 {bytes_}, {turn}"), UNIFORM)
    bad = b.values.mask_bits(b.ints.mnot(b.ints.ult(turned, room)))
    refuse(b, ir.op(f"and i32 {bad}, %mask"))
    return low, ir.get("ptr", "%rec", layout.SHARED_POINTER)


def places_local(b: Body, size: int) -> tuple[Val, str]:
    """(positions of the bytes in the interleaved store, host pointer) of local addresses."""
    ir, ints = b.ir, b.ints
    low = ints.add(b.row(32, "%lo"), Val(32, ir.op("trunc i64 %add to i32"), UNIFORM))
    address = Val(64, b.values.bare(ints.zext(low), 64))
    low_bytes = Val(64, ir.get("i64", "%env", layout.LOCAL_LOW), UNIFORM)
    start = Val(64, ir.get("i64", "%env", layout.LOCAL_START), UNIFORM)
    moved = ints.wadd(ints.wsub(address, start), low_bytes)
    # Between the two ranges there is no memory.
    moved = ints.wselect(ints.wult(address, start), NOWHERE, moved)
    place = ints.wselect(ints.wult(address, low_bytes), address, moved)
    limit = Val(64, ir.get("i64", "%env", layout.LOCAL_BYTES), UNIFORM)
    refuse(b, bad_lanes(b, place, limit, size))
    word = ints.wshl(b.floats.wand(place, 0xFFFF_FFFF_FFFF_FFFC), 5)
    lanes = Val(64, b.constants("i64", range(0, 128, 4)))
    position = ints.wadd(ints.wadd(word, lanes), b.floats.wand(place, 3))
    assert isinstance(position, Val)
    return position, ir.get("ptr", "%rec", layout.LOCAL_POINTER)


def refuse(b: Body, bad: str) -> None:
    with b.ir.returning(b.ir.op(f"icmp ne i32 {bad}, 0")):
        b.ir.line("ret i1 false")


PLACES = {"global": places_global, "shared": places_shared, "local": places_local}
