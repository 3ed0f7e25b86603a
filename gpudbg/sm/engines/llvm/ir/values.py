"""Lane values as IR operands.

A Python int is a constant in all lanes (of a Mask: its bits).  `Val` is an IR value, either varying
(`<32 x i32>`, `<32 x i64>`: a number in each lane), uniform (one scalar for all lanes) or affine (a
varying value that is known to be a scalar, or one for each row of threads, plus a known number for
each lane).  A 64-bit
value built of two words stays a pair until it is needed whole, and a constant added to it stays
apart, so address arithmetic costs nothing.  `Msk` is a mask as lane vector, as 32 bits, or both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import NamedTuple, TypeGuard

from gpudbg.sm.engines.llvm.ir.builder import LANES, Builder, signed, splat, vector

FULL = 0xFFFF_FFFF
ONES64 = 0xFFFF_FFFF_FFFF_FFFF


_LANES = f"{vector('i32')} "
PACK = "mask_bits"
"""Name of a function that packs a mask: a kernel calls it where that is seldom executed."""
_OWN_BITS = "<" + ", ".join(f"i32 {signed(1 << n, 32)}" for n in range(LANES)) + ">"
"""The bit of each lane."""


def _eight(first: int) -> str:
    """A shuffle mask of eight lanes."""
    return "<8 x i32> <" + ", ".join(f"i32 {first + n}" for n in range(8)) + ">"


def packed(ir: Builder, words: str) -> str:
    """The i32 of the signs of words, for hosts that pack them."""
    op, half = ir.op, "<16 x i16>"
    parts = [
        f"<8 x i32> {op(f'shufflevector {_LANES}{words}, {_LANES}poison, {_eight(n)}')}"
        for n in range(0, 32, 8)
    ]
    packs = [
        f"{half} " + op(f"call {half} @llvm.x86.avx2.packssdw({parts[n]}, {parts[n + 1]})")
        for n in (0, 2)
    ]
    packed = op(f"call <32 x i8> @llvm.x86.avx2.packsswb({packs[0]}, {packs[1]})")
    # Packing goes on in each half of a vector: groups of four lanes lie in this order.
    mixed = op(f"bitcast <32 x i8> {packed} to <8 x i32>")
    order = "<8 x i32> <i32 0, i32 4, i32 1, i32 5, i32 2, i32 6, i32 3, i32 7>"
    sorted_ = op(f"shufflevector <8 x i32> {mixed}, <8 x i32> poison, {order}")
    signs = op(f"bitcast <8 x i32> {sorted_} to <32 x i8>")
    return op(f"call i32 @llvm.x86.avx2.pmovmskb(<32 x i8> {signs})")


class Slow(Exception):  # noqa: N818 - not an error: the instruction is left to the step engine
    """Raised where an instruction form has no compiled version."""


class Shape(Enum):
    """How a value differs from lane to lane."""

    UNIFORM = "uniform"
    """One scalar for all lanes."""
    AFFINE = "affine"
    """A vector that is a scalar, or one for each row of lanes, plus a known number for each lane
    (`AffineForm`)."""
    VARYING = "varying"
    """A vector with a number for each lane."""


UNIFORM, AFFINE, VARYING = Shape.UNIFORM, Shape.AFFINE, Shape.VARYING


class AffineForm(NamedTuple):
    """32-bit numbers that are a base plus offsets[lane], wrapping around.

    Attributes:
        bases: of each row of lanes, which have equal lengths; one: the same in all lanes.
        offsets: a number for each lane.
    """

    bases: tuple[Num, ...]
    offsets: tuple[int, ...]

    def base(self, lane: int) -> Num:
        """A lane's base."""
        return self.bases[lane * len(self.bases) // LANES]


class Val:
    """32 lanes of integers; a key by its identity in what parts know of values.

    Attributes:
        bits: 32 or 64.
        ref: IR name, or "" where `pair` has not been joined or `late` not been called.
        shape: uniform, where the name is a scalar, affine or varying.
        line: of an affine value.
        row: number of the register whose row in the record holds exactly this, or -1.
        pair: (low word, high word, constant to add) of an unjoined 64-bit value.
        late: emits its 64 bits, when they are wanted, and gives their name.
    """

    __slots__ = ("bits", "late", "line", "pair", "ref", "row", "shape")

    def __init__(
        self,
        bits: int,
        ref: str,
        shape: Shape = VARYING,
        row: int = -1,
        pair: tuple[Num, Num, int] | None = None,
        line: AffineForm | None = None,
    ) -> None:
        self.line = line
        self.bits = bits
        self.ref = ref
        self.shape = shape
        self.row = row
        self.pair = pair
        self.late: Callable[[], str] | None = None

    @property
    def numbers(self) -> tuple[int, ...] | None:
        """What it is in each lane, where that is known."""
        known = self.line is not None and self.line.bases == (0,)
        return self.line.offsets if known else None  # type: ignore[union-attr]

    def renamed(self, row: int = -1) -> Val:
        """The same value, which has its name, as one that other things are known of.

        Args:
            row: as the attribute.
        """
        return Val(self.bits, self.ref, self.shape, row, line=self.line)


class Msk:
    """32 lanes of bool; `lanes` is a `<32 x i1>`, `bits` an i32; one of them is there.

    `truth`: where all lanes are known to be the same, an i1.  `none`, `every`: i1: if it is true no
    lane is set, or every one is; "" where no scalars tell that.
    """

    __slots__ = ("bits", "every", "lanes", "none", "truth")

    def __init__(self, lanes: str = "", bits: str = "", truth: str = "") -> None:
        self.lanes = lanes
        self.bits = bits
        self.truth = truth
        self.none = self.every = ""


Num = Val | int
Mask = Msk | int


def varying(a: Num) -> TypeGuard[Val]:
    """Whether a value is a vector."""
    return isinstance(a, Val) and a.shape is not UNIFORM


def copy_of(mask: Mask) -> Mask:
    """The mask in its present forms: forms computed later may not be available on this path."""
    if isinstance(mask, int):
        return mask
    made = Msk(mask.lanes, mask.bits, mask.truth)
    made.none, made.every = mask.none, mask.every
    return made


def alike(a: Mask, b: Mask) -> bool:
    """Whether two masks are known to be equal."""
    if isinstance(a, Msk) and isinstance(b, Msk):
        return bool(a.bits) and a.bits == b.bits
    return a == b


class MaskHost(Enum):
    """How the processor that code is for keeps masks of vectors."""

    REGISTERS = "registers"
    """As bits, in registers of their own (AVX-512)."""
    PACKED = "packed"
    """As vectors with all bits of a lane set or none, which are packed with their signs (AVX2)."""
    VECTORS = "vectors"
    """As vectors, and nothing is known of how they become bits."""


class AccessHost(NamedTuple):
    """What the library's accesses depend on.

    Attributes:
        masks: how the host keeps masks.
        by_lane: lanes that may lie anywhere are loaded one by one, not by gather instructions;
            where masks are packed.
    """

    masks: MaskHost = MaskHost.VECTORS
    by_lane: bool = False


class Values:
    """IR operands of values and masks, in the form that a statement takes."""

    def __init__(
        self, ir: Builder, masks: MaskHost = MaskHost.REGISTERS, late: bool = False
    ) -> None:
        """Args:
        masks: how the host keeps masks.
        late: where masks are packed, that is a call of `PACK`, which the caller knows to write out
            in place where it is often executed (`kernel.packs`).
        """
        self.ir, self.masks, self.late = ir, masks, late
        self._away = False
        self._signs: dict[str, str] = {}
        """Name of a mask's lanes -> name of the words of whose signs it is made."""

    def whole(self, a: Num, bits: int) -> str:
        """All lanes as a typed IR operand."""
        kind = f"i{bits}"
        if isinstance(a, int):
            return f"{vector(kind)} {splat(kind, signed(a & (1 << bits) - 1, bits))}"
        self.joined(a)
        return f"{vector(kind)} {self.spread(a.ref, bits) if a.shape is UNIFORM else a.ref}"

    def bare(self, a: Num, bits: int) -> str:
        """All lanes as an IR operand without its type."""
        return self.whole(a, bits)[len(vector(f"i{bits}")) + 1 :]

    def spread(self, ref: str, bits: int) -> str:
        """Broadcast a scalar to all lanes."""
        kind = vector(f"i{bits}")
        first = self.ir.op(f"insertelement {kind} poison, i{bits} {ref}, i64 0")
        return self.ir.op(
            f"shufflevector {kind} {first}, {kind} poison, <32 x i32> zeroinitializer"
        )

    def scalar(self, a: Num, bits: int) -> str:
        """A uniform value as an IR operand without its type."""
        if isinstance(a, int):
            return str(signed(a & (1 << bits) - 1, bits))
        self.joined(a)
        return a.ref

    def joined(self, a: Val) -> None:
        """Emit the joined form of a pair, or a late value, and name it."""
        ir = self.ir
        if a.ref:
            return
        if a.late is not None:
            a.ref = a.late()
        if a.pair is None:
            return
        low, high, add = a.pair
        kind = "i64" if a.shape is UNIFORM else vector("i64")
        part = "i32" if a.shape is UNIFORM else vector("i32")
        form = self.scalar if a.shape is UNIFORM else self.bare
        if not (a.shape is UNIFORM or self.uniform(low) or self.uniform(high)):
            joined = self._interleaved(low, high)
        elif isinstance(high, int) and not high & FULL:
            joined = ir.op(f"zext {part} {form(low, 32)} to {kind}")
        else:
            up = ir.op(f"zext {part} {form(high, 32)} to {kind}")
            up = ir.op(f"shl {kind} {up}, {'32' if a.shape is UNIFORM else splat('i64', 32)}")
            down = ir.op(f"zext {part} {form(low, 32)} to {kind}")
            joined = ir.op(f"or {kind} {up}, {down}")
        if add:
            number = signed(add, 64)
            same = number if a.shape is UNIFORM else splat("i64", number)
            joined = ir.op(f"add {kind} {joined}, {same}")
        a.ref = joined

    def _interleaved(self, low: Num, high: Num) -> str:
        """Combine two words per lane into 64-bit lanes."""
        order = ", ".join(f"i32 {n}, i32 {n + 32}" for n in range(32))
        pair = f"{self.whole(low, 32)}, {self.whole(high, 32)}"
        mixed = self.ir.op(f"shufflevector {pair}, <64 x i32> <{order}>")
        return self.ir.op(f"bitcast <64 x i32> {mixed} to {vector('i64')}")

    @staticmethod
    def shape(*values: Num) -> Shape:
        """Shape of a value computed from others."""
        return UNIFORM if Values.uniform(*values) else VARYING

    @staticmethod
    def uniform(*values: Num) -> bool:
        """Whether every value is one number for all lanes."""
        return all(isinstance(v, int) or v.shape is UNIFORM for v in values)

    def mask_bits(self, a: Mask) -> str:
        """A mask as an i32 operand without its type."""
        if isinstance(a, int):
            return str(signed(a & FULL, 32))
        if not a.bits:
            a.bits = self.bits_of(a.lanes)
        return a.bits

    def bits_of(self, lanes: str) -> str:
        """The i32 of a <32 x i1>."""
        if self.masks is not MaskHost.PACKED:
            return self.ir.op(f"bitcast <32 x i1> {lanes} to i32")
        words = self.signs_of(lanes)
        if self.late or self._away:
            return self.ir.op(f"call i32 @{PACK}({_LANES}{words})")
        return packed(self.ir, words)

    @contextmanager
    def away(self) -> Iterator[None]:
        """Context: statements for blocks that are seldom executed.  Masks are packed by a function
        there: the code generator takes longer over that than over all that such a block stores."""
        self._away = True
        try:
            yield
        finally:
            self._away = False

    def words_of(self, lanes: str) -> str:
        """The words of a <32 x i1>, all bits or none."""
        return self.ir.op(f"sext <32 x i1> {lanes} to {vector('i32')}")

    def signs_of(self, lanes: str) -> str:
        """Words whose signs are a <32 x i1>."""
        if lanes == "zeroinitializer" or lanes == "splat (i1 true)":
            return lanes.replace("i1 true", "i32 -1")
        return self._signs.get(lanes) or self.words_of(lanes)

    def lanes_of_signs(self, words: str) -> str:
        """The <32 x i1> of the signs of words."""
        lanes = self.ir.op(f"icmp slt {_LANES}{words}, zeroinitializer")
        self._signs[lanes] = words
        return lanes

    def mask_lanes(self, a: Mask) -> str:
        """A mask as a <32 x i1> operand without its type."""
        if isinstance(a, int):
            if a & FULL in (0, FULL):
                return "splat (i1 true)" if a & FULL else "zeroinitializer"
            return "<" + ", ".join(f"i1 {a >> n & 1}" for n in range(32)) + ">"
        if not a.lanes:
            a.lanes = self._lanes_of_bits(a.bits)
        return a.lanes

    def _lanes_of_bits(self, bits: str) -> str:
        """The <32 x i1> of an i32."""
        if self.masks is MaskHost.REGISTERS:
            return self.ir.op(f"bitcast i32 {bits} to <32 x i1>")
        # Without mask registers that is taken apart bit by bit where a comparison is wanted.
        own = self.ir.op(f"and {_LANES}{self.spread(bits, 32)}, {_OWN_BITS}")
        return self.ir.op(f"icmp eq {_LANES}{own}, {_OWN_BITS}")

    def mask_logic(self, what: str, left: str, right: str) -> str:
        """A bitwise operation on two <32 x i1>."""
        if self.masks is MaskHost.REGISTERS or not (left.startswith("%") and right.startswith("%")):
            return self.ir.op(f"{what} <32 x i1> {left}, {right}")
        # As words: LLVM would pack comparisons into bytes first.
        one, two = self.signs_of(left), self.signs_of(right)
        return self.lanes_of_signs(self.ir.op(f"{what} {_LANES}{one}, {two}"))
