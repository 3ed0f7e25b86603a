"""Accesses of lanes that are guessed to lie at one distance from each other.

For code for any lanes on hosts with AVX2 alone, whose gathers are slow on some processors, and
which scatter nothing.  The guess is that of `patterns`.  Whether the executing lanes lie so, and
all 32 would be inside shared memory, is found once for accesses from the same register in the same
lanes; where it is not so the access is gathered, or left to the library.  In global memory each
load has a test of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder, Pending, signed
from gpudbg.sm.engines.llvm.ir.eights import EIGHT, eight_chosen, eight_of, joined_eights
from gpudbg.sm.engines.llvm.ir.values import FULL, MaskHost, Val, Values
from gpudbg.sm.engines.llvm.kernel.addresses import LANES32, Addresses, AddressParts, AddressShape
from gpudbg.sm.engines.llvm.kernel.patterns import Pattern

_WORD = 4
_FAR = 1 << 12
"""Most bytes from lane to lane."""


class _StridedRange(AddressShape):
    """Lanes at one distance, by an address in a register, and what else they access from there.

    Attributes:
        add: the constant of the first access's address.
        size: of an element.
        begin, end: bytes from that access that lanes touch.
        first, room: where the first of these numbers and their distance are written, in elements.
        good: i1: the lanes lie so, and all that is inside shared memory.
        place: host pointer of what the first access reads in lane 0.
    """

    __slots__ = ("add", "begin", "end", "first", "good", "place", "room", "size")

    def __init__(self, add: int, size: int) -> None:
        super().__init__("", "", [])
        self.add, self.size, self.begin, self.end = add, size, 0, 0
        self.first: Pending | None = None
        self.room: Pending | None = None
        self.good = self.place = ""

    def widen(self, distance: int) -> None:
        """Cover an access so many bytes from the first one."""
        self.begin, self.end = min(self.begin, distance), max(self.end, distance)
        assert self.first is not None
        assert self.room is not None
        self.first.settle(self.begin)
        self.room.settle((self.end - self.begin) // self.size)


def stride_of(pattern: Pattern | None, size: int) -> int:
    """Bytes from a lane to the next one; -1: they differ, or lanes are no elements apart."""
    if pattern is None:
        return -1
    step = pattern[1] - pattern[0]
    steady = all(place == pattern[0] + n * step for n, place in enumerate(pattern))
    most = _FAR if size == _WORD else size
    return step if steady and 0 <= step <= most and not step % size else -1


class StridedAccess:
    """Loads of an element of lanes at one distance, and stores of a word to shared memory.

    Loads and stores of lanes with gaps between them are functions of the kernel's module: in place
    they would be most of its code.
    """

    def __init__(
        self,
        ir: Builder,
        values: Values,
        addresses: Addresses,
        patterns: Mapping[int, Pattern],
        chosen: frozenset[int],
    ) -> None:
        """Args:
        patterns: address of an instruction to its pattern.
        chosen: those that may access global memory.
        """
        self.ir, self.values, self.addresses = ir, values, addresses
        self._patterns = patterns if values.masks is MaskHost.PACKED else {}
        self._chosen = chosen
        self._functions: dict[str, str] = {}

    def texts(self) -> Iterable[str]:
        """Functions that the code calls."""
        return self._functions.values()

    def stride(self, pc: int, space: str, size: int) -> int:
        """Bytes from a lane to the next one, of an access that is emitted here; else -1."""
        known = space == "shared" or (space == "global" and pc in self._chosen)
        return stride_of(self._patterns.get(pc), size) if known and size <= _WORD else -1

    def place(self, where: AddressParts, mask: str, stride: int, size: int, apart: str) -> str:
        """Emit the test of the guess, in shared memory.

        Args:
            apart: label for where it does not hold.

        Returns:
            the host pointer of lane 0, which need not execute.
        """
        add = signed(where.add & FULL, 32)
        key = f"stride {where.low.ref} {mask} {size} {add % size}", stride
        known = self.addresses.shapes.get(key)
        if not isinstance(known, _StridedRange):
            made = self._tested(where.low.ref, add, mask, stride, size)
            known = self.addresses.shapes[key] = made
        distance = add - known.add
        known.widen(distance)
        self.ir.provided(known.good, apart)
        return self.ir.at(known.place, distance)

    def _first(self, low: str, high: Val | int, mask: str, stride: int) -> tuple[str, str, str]:
        """Emit what the low and high words of lane 0's address would be, and an i1: those of the
        executing lanes lie so; high words are the same."""
        ir = self.ir
        if stride:
            lanes = ", ".join(f"i32 {n * stride}" for n in range(32))
            low = ir.op(f"sub {LANES32} {low}, <{lanes}>")
        lane = ir.op(f"call i32 @llvm.cttz.i32(i32 {mask}, i1 false)")
        # Of no lanes any will do.
        lane = ir.op(f"and i32 {lane}, 31")
        base, top = ir.op(f"extractelement {LANES32} {low}, i32 {lane}"), "0"
        other = ir.op(f"icmp ne {LANES32} {low}, {self.values.spread(base, 32)}")
        if isinstance(high, Val):
            top = ir.op(f"extractelement {LANES32} {high.ref}, i32 {lane}")
            also = ir.op(f"icmp ne {LANES32} {high.ref}, {self.values.spread(top, 32)}")
            other = self.values.mask_logic("or", other, also)
        elif high:
            top = str(signed(high, 32))
        bits = ir.op(f"and i32 {self.values.bits_of(other)}, {mask}")
        return base, top, ir.op(f"icmp eq i32 {bits}, 0")

    def _tested(self, low: str, add: int, mask: str, stride: int, size: int) -> _StridedRange:
        """A range around an access to shared memory."""
        ir, made, turn = self.ir, _StridedRange(add, size), size.bit_length() - 1
        base, _, alike = self._first(low, 0, mask, stride)
        start = ir.op(f"add i32 {base}, {add}") if add else base
        first, made.first = ir.pending(f"add i32 {start}, ")
        limit = ir.op(f"trunc i64 {ir.get('i64', '%env', layout.SHARED_BYTES)} to i32")
        room = ir.op(f"lshr i32 {limit}, {turn}")
        behind = 31 * stride // size
        room = ir.op(f"call i32 @llvm.usub.sat.i32(i32 {room}, i32 {behind})")
        room, made.room = ir.pending(f"call i32 @llvm.usub.sat.i32(i32 {room}, i32 ", ")")
        # A misaligned one becomes huge.
        unit = ir.op(f"call i32 @llvm.fshr.i32(i32 {first}, i32 {first}, i32 {turn})")
        inside = ir.op(f"icmp ult i32 {unit}, {room}")
        made.good = ir.op(f"and i1 {alike}, {inside}")
        shared = ir.get("ptr", "%rec", layout.SHARED_POINTER)
        made.place = ir.at(shared, ir.op(f"zext i32 {start} to i64"))
        return made

    def place_of(
        self, site: str, where: AddressParts, mask: str, stride: int, size: int, apart: str
    ) -> str:
        """The same in global memory, in the site's window."""
        ir, turn = self.ir, size.bit_length() - 1
        base, top, alike = self._first(where.low.ref, where.high, mask, stride)
        # Neither does lane 0's low word wrap around nor that of lane 31.
        flat = ir.op(f"icmp ule i32 {base}, {signed(FULL - 31 * stride, 32)}")
        up = ir.op(f"shl i64 {ir.op(f'zext i32 {top} to i64')}, 32")
        start = ir.op(f"or i64 {up}, {ir.op(f'zext i32 {base} to i64')}")
        add = signed(where.add & (1 << 64) - 1, 64)
        start = ir.op(f"add i64 {start}, {add}") if add else start
        offset = ir.op(f"sub i64 {start}, {ir.get('i64', site)}")
        room = ir.op(f"lshr i64 {ir.get('i64', site, 8)}, {turn}")
        behind = 31 * stride // size
        room = ir.op(f"call i64 @llvm.usub.sat.i64(i64 {room}, i64 {behind})")
        unit = self.addresses.turned(offset, turn)
        inside = ir.op(f"and i1 {flat}, {ir.op(f'icmp ult i64 {unit}, {room}')}")
        ir.provided(ir.op(f"and i1 {alike}, {inside}"), apart)
        return ir.at(ir.get("ptr", site, 16), offset)

    def load(self, place: str, stride: int, size: int, signed: bool, mask: str) -> str:
        """The elements of all lanes; any in lanes that do not execute."""
        ir, kind = self.ir, f"i{8 * size}"
        widen = "sext" if signed else "zext"
        if not stride:
            word = ir.get(kind, place, 0, size)
            word = ir.op(f"{widen} {kind} {word} to i32") if size < _WORD else word
            return self.values.spread(word, 32)
        if stride == size:
            row = ir.get(f"<32 x {kind}>", place, 0, size)
            return ir.op(f"{widen} <32 x {kind}> {row} to {LANES32}") if size < _WORD else row
        name = f"@strided.load.{stride}"
        if name not in self._functions:
            self._functions[name] = _load_function(name, stride)
        return ir.op(f"call {LANES32} {name}(ptr {place}, i32 {mask})")

    def store(self, place: str, stride: int, row: str, mask: str) -> None:
        """Write words of the executing lanes.

        Memory of others among eight is written as it is: this host thread alone has it.
        """
        name = f"@strided.store.{stride}"
        if name not in self._functions:
            self._functions[name] = _store_function(name, stride)
        self.ir.line(f"call void {name}(ptr {place}, {LANES32} {row}, i32 {mask})")


def _eight(ir: Builder, stride: int, first: int) -> str:
    """The words of eight lanes."""
    if stride == _WORD:
        return ir.get(EIGHT, "%place", first * stride, _WORD)
    found = "poison"
    for n in range(8):
        word = ir.get("i32", "%place", (first + n) * stride, _WORD)
        found = ir.op(f"insertelement {EIGHT} {found}, i32 {word}, i64 {n}")
    return found


def _put_eight(ir: Builder, words: str, stride: int, first: int) -> None:
    """Write words of eight lanes."""
    if stride == _WORD:
        ir.put(EIGHT, words, "%place", first * stride, _WORD)
        return
    for n in range(8):
        word = ir.op(f"extractelement {EIGHT} {words}, i64 {n}")
        ir.put("i32", word, "%place", (first + n) * stride, _WORD)


def _load_function(name: str, stride: int) -> str:
    """A function that loads words, of eight lanes only if one of them executes."""
    ir, eights = Builder(), list[str]()
    before = "begin"
    ir.label(before)
    for first in range(0, 32, 8):
        some, after = ir.fresh("some"), ir.fresh("after")
        bits = ir.op(f"and i32 %mask, {_bits_of_eight(first)}")
        ir.choose(ir.op(f"icmp eq i32 {bits}, 0"), after, some)
        ir.label(some)
        found = _eight(ir, stride, first)
        ir.br(after)
        ir.label(after)
        eights.append(ir.op(f"phi {EIGHT} [ {found}, %{some} ], [ zeroinitializer, %{before} ]"))
        before = after
    ir.line(f"ret {LANES32} {joined_eights(ir, eights)}")
    return ir.close(f"define internal {LANES32} {name}(ptr %place, i32 %mask) nounwind")


def _store_function(name: str, stride: int) -> str:
    """A function that stores words."""
    ir = Builder()
    ir.label("begin")
    for first in range(0, 32, 8):
        some, part, full, after = (ir.fresh(hint) for hint in ("some", "part", "full", "after"))
        bits = ir.op(f"and i32 %mask, {_bits_of_eight(first)}")
        ir.choose(ir.op(f"icmp eq i32 {bits}, 0"), after, some)
        ir.label(some)
        new = eight_of(ir, "%row", first)
        ir.choose(ir.op(f"icmp eq i32 {bits}, {_bits_of_eight(first)}"), full, part)
        ir.label(part)
        old = _eight(ir, stride, first)
        chosen = ir.op(f"icmp slt {EIGHT} {eight_chosen(ir, '%mask', first)}, zeroinitializer")
        both = ir.op(f"select <8 x i1> {chosen}, {EIGHT} {new}, {EIGHT} {old}")
        ir.br(full)
        ir.label(full)
        words = ir.op(f"phi {EIGHT} [ {both}, %{part} ], [ {new}, %{some} ]")
        _put_eight(ir, words, stride, first)
        ir.br(after)
        ir.label(after)
    ir.line("ret void")
    head = f"define internal void {name}(ptr %place, {LANES32} %row, i32 %mask) nounwind"
    return ir.close(head)


def _bits_of_eight(first: int) -> int:
    """The bits of eight lanes in an i32."""
    return signed(0xFF << first, 32)
