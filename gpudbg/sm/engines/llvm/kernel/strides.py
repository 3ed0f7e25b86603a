"""Shared memory whose executing lanes are guessed to lie at one distance from each other.

For code for any lanes on hosts with AVX2 alone, whose gathers are slow on some processors, and
which scatter nothing.  The guess is that of `patterns`.  Whether the executing lanes lie so, and
all 32 would be inside shared memory, is found once for accesses from the same register in the same
lanes; where it is not so the access is gathered, or the library stores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder, Pending, signed
from gpudbg.sm.engines.llvm.ir.eights import EIGHT, eight_chosen, eight_of, joined_eights
from gpudbg.sm.engines.llvm.ir.values import FULL, MaskHost, Values
from gpudbg.sm.engines.llvm.kernel.addresses import LANES32, Addresses, AddressParts, AddressShape
from gpudbg.sm.engines.llvm.kernel.patterns import Pattern

_WORD = 4
_FAR = 1 << 12
"""Most bytes from lane to lane."""


class _StridedRange(AddressShape):
    """Lanes at one distance, by an address in a register, and what else they access from there.

    Attributes:
        add: the constant of the first access's address.
        begin, end: bytes from that access that lanes touch.
        first, room: where the first of these numbers and their distance are written, in words.
        good: i1: the lanes lie so, and all that is inside shared memory.
        place: host pointer of what the first access reads in lane 0.
    """

    __slots__ = ("add", "begin", "end", "first", "good", "place", "room")

    def __init__(self, add: int) -> None:
        super().__init__("", "", [])
        self.add, self.begin, self.end = add, 0, 0
        self.first: Pending | None = None
        self.room: Pending | None = None
        self.good = self.place = ""

    def widen(self, distance: int) -> None:
        """Cover an access so many bytes from the first one."""
        self.begin, self.end = min(self.begin, distance), max(self.end, distance)
        assert self.first is not None
        assert self.room is not None
        self.first.settle(self.begin)
        self.room.settle((self.end - self.begin) // _WORD)


def stride_of(pattern: Pattern | None) -> int:
    """Bytes from a lane to the next one; -1: they differ, or are no words."""
    if pattern is None:
        return -1
    step = pattern[1] - pattern[0]
    steady = all(place == pattern[0] + n * step for n, place in enumerate(pattern))
    return step if steady and 0 <= step < _FAR and not step % _WORD else -1


class StridedAccess:
    """Loads and stores of one word of lanes at one distance.

    Loads and stores of lanes with gaps between them are functions of the kernel's module: in place
    they would be most of its code.
    """

    def __init__(
        self, ir: Builder, values: Values, addresses: Addresses, patterns: Mapping[int, Pattern]
    ) -> None:
        """Args: patterns: address of an instruction to its pattern."""
        self.ir, self.values, self.addresses = ir, values, addresses
        self._patterns = patterns if values.masks is MaskHost.PACKED else {}
        self._functions: dict[str, str] = {}

    def texts(self) -> Iterable[str]:
        """Functions that the code calls."""
        return self._functions.values()

    def stride(self, pc: int, space: str, size: int) -> int:
        """Bytes from a lane to the next one, of an access that is emitted here; else -1."""
        if space != "shared" or size != _WORD:
            return -1
        return stride_of(self._patterns.get(pc))

    def place(self, where: AddressParts, mask: str, stride: int, apart: str) -> str:
        """Emit the test of the guess.

        Args:
            apart: label for where it does not hold.

        Returns:
            the host pointer of lane 0, which need not execute.
        """
        add = signed(where.add & FULL, 32)
        key = f"stride {where.low.ref} {mask} {add % _WORD}", stride
        known = self.addresses.shapes.get(key)
        if not isinstance(known, _StridedRange):
            known = self.addresses.shapes[key] = self._tested(where.low.ref, add, mask, stride)
        distance = add - known.add
        known.widen(distance)
        self.ir.provided(known.good, apart)
        return self.ir.at(known.place, distance)

    def _tested(self, low: str, add: int, mask: str, stride: int) -> _StridedRange:
        """A range around an access."""
        ir, made = self.ir, _StridedRange(add)
        if stride:
            lanes = ", ".join(f"i32 {n * stride}" for n in range(32))
            low = ir.op(f"sub {LANES32} {low}, <{lanes}>")
        lane = ir.op(f"call i32 @llvm.cttz.i32(i32 {mask}, i1 false)")
        # Of no lanes any will do.
        lane = ir.op(f"and i32 {lane}, 31")
        base = ir.op(f"extractelement {LANES32} {low}, i32 {lane}")
        other = ir.op(f"icmp ne {LANES32} {low}, {self.values.spread(base, 32)}")
        bits = ir.op(f"and i32 {self.values.bits_of(other)}, {mask}")
        alike = ir.op(f"icmp eq i32 {bits}, 0")
        start = ir.op(f"add i32 {base}, {add}") if add else base
        first, made.first = ir.pending(f"add i32 {start}, ")
        limit = ir.op(f"trunc i64 {ir.get('i64', '%env', layout.SHARED_BYTES)} to i32")
        room = ir.op(f"lshr i32 {limit}, 2")
        behind = 31 * stride // _WORD
        room = ir.op(f"call i32 @llvm.usub.sat.i32(i32 {room}, i32 {behind})")
        room, made.room = ir.pending(f"call i32 @llvm.usub.sat.i32(i32 {room}, i32 ", ")")
        # A misaligned one becomes huge.
        unit = ir.op(f"call i32 @llvm.fshr.i32(i32 {first}, i32 {first}, i32 2)")
        inside = ir.op(f"icmp ult i32 {unit}, {room}")
        made.good = ir.op(f"and i1 {alike}, {inside}")
        shared = ir.get("ptr", "%rec", layout.SHARED_POINTER)
        made.place = ir.at(shared, ir.op(f"zext i32 {start} to i64"))
        return made

    def load(self, place: str, stride: int, mask: str) -> str:
        """The words of all lanes; any in lanes that do not execute."""
        ir = self.ir
        if not stride:
            return self.values.spread(ir.get("i32", place, 0, _WORD), 32)
        if stride == _WORD:
            return ir.get(LANES32, place, 0, _WORD)
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
