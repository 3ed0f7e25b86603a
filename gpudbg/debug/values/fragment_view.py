"""The operands of a tensor-core instruction as matrices: values, and which lane holds each.

Where elements lie is `gpudbg.sm.fragments`'s, as the engine has it, and of matrices in shared
memory `gpudbg.sm.engines.wgmma`'s; here registers and memory are read and decoded.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpudbg.dataclass import dataclass
from gpudbg.errors import CommandError
from gpudbg.isa.operands import PT, RZ, Pred, Reg
from gpudbg.mem.faults import MemoryFault
from gpudbg.sm import fragments

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.isa.volta.insn import WideInstruction
    from gpudbg.sm.state import WarpState

SEARCHED = 4000
"""Instructions after the present one that are looked through for a tensor-core instruction."""
_SHOWN = {"B16": "F16", "B8": "U8"}
"""Types that elements without one are shown as."""


@dataclass(frozen=True, slots=True)
class DescriptorView:
    """Where a matrix is in shared memory.

    Attributes:
        word: the 64 bits.
        address: of its first element.
        leading, stride: offsets in bytes between its parts.
        base: where the swizzle's pattern begins, in units of 128 bytes.
        swizzle: bytes that it permutes: 128, 64, 32, or 0.
        along_k: elements along k, not rows of A or columns of B, are side by side.
    """

    word: int
    address: int
    leading: int
    stride: int
    base: int
    swizzle: int
    along_k: bool

    @property
    def text(self) -> str:
        """`shared 0x0400, k contiguous, 128B swizzle, leading 16, stride 1024`"""
        order = "k contiguous" if self.along_k else "k strided"
        swizzle = f"{self.swizzle}B swizzle" if self.swizzle else "no swizzle"
        base = f", base {self.base}" if self.base else ""
        steps = f"leading {self.leading}, stride {self.stride}"
        return f"shared 0x{self.address:04x}, {order}, {swizzle}, {steps}{base}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "word": f"0x{self.word:016x}",
            "address": self.address,
            "leading": self.leading,
            "stride": self.stride,
            "base_offset": self.base,
            "swizzle": self.swizzle,
            "along_k": self.along_k,
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MatrixView:
    """An operand as the warp holds it, or as it lies in shared memory.

    Attributes:
        name: A, B, C or D; M for matrices that are moved; E for metadata of a sparse A, SA and SB
            for scale factors.
        kind: type of its elements.
        registers: names of its registers, in order; those of the descriptor where it is in shared
            memory.
        values: shape (tiles, rows, columns): float64, or int64 for integers; of metadata the column
            of A that each stored element is of.  None where a descriptor leads out of memory.
        raw: the bits, uint64.
        lanes, slots, elements: of every place, the lane, the index in `registers` and the element
            in that register, low bits first; None in shared memory.
        first_row: the row of the whole matrix that row 0 is, of a warp group's instruction.
        written: the instruction writes it: what is shown is what stands there now.
        note: what else is to be known of it.
        addresses: of every place in shared memory; None in registers.
        descriptor: what says where it is in shared memory.
    """

    name: str
    kind: str
    registers: tuple[str, ...]
    values: NDArray[Any] | None
    raw: NDArray[np.uint64] | None
    lanes: NDArray[np.int64] | None
    slots: NDArray[np.int64] | None
    elements: NDArray[np.int64] | None
    first_row: int = 0
    written: bool = False
    note: str = ""
    addresses: NDArray[np.int64] | None = None
    descriptor: DescriptorView | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """(tiles, rows, columns)."""
        if self.values is None:
            return 0, 0, 0
        tiles, rows, columns = self.values.shape
        return tiles, rows, columns

    def holder(self, tile: int, row: int, column: int) -> str:
        """`lane 5 R4.1`: who holds a place; the element only where a register has several.  In
        shared memory its address."""
        if self.addresses is not None:
            return f"0x{int(self.addresses[tile, row, column]):04x}"
        assert self.lanes is not None
        assert self.slots is not None
        assert self.elements is not None
        at = tile, row, column
        name = self.registers[int(self.slots[at])] if self.registers else "RZ"
        many = fragments.bits_of(self.kind) < 32
        return f"lane {int(self.lanes[at])} {name}" + (f".{int(self.elements[at])}" * many)

    def __repr__(self) -> str:
        return f"<matrix {self.name}, {self.kind}, shape {self.shape}>"

    def to_json(self) -> dict[str, Any]:
        """Plain data: values that are no numbers as text."""
        return {
            "name": self.name,
            "type": self.kind,
            "registers": list(self.registers),
            "first_row": self.first_row,
            "written": self.written,
            "note": self.note,
            "values": None if self.values is None else _plain(self.values),
            "lanes": None if self.lanes is None else self.lanes.tolist(),
            "slots": None if self.slots is None else self.slots.tolist(),
            "elements": None if self.elements is None else self.elements.tolist(),
            "shared_addresses": None if self.addresses is None else self.addresses.tolist(),
            "descriptor": None if self.descriptor is None else self.descriptor.to_json(),
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FragmentView:
    """A tensor-core instruction and its operands.

    Attributes:
        text, pc: the instruction, and its code address.
        offset: the same as an offset in the kernel.
        shape: `m16n8k16`, or `4 matrices 8x8`.
        operation: what it does, in a line.
        matrices: its operands.
        here: it is the one that the warp executes next.
    """

    text: str
    pc: int
    offset: int
    shape: str
    operation: str
    matrices: tuple[MatrixView, ...]
    here: bool

    def __getattr__(self, name: str) -> Any:
        """The operand A, B, C, D, E, M, SA or SB."""
        for matrix in self.matrices if len(name) <= 2 else ():
            if matrix.name == name:
                return matrix
        raise AttributeError(name)

    def __repr__(self) -> str:
        names = ", ".join(matrix.name for matrix in self.matrices)
        return f"<fragments {names} of {self.text}>"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "instruction": self.text,
            "pc": self.offset,
            "shape": self.shape,
            "operation": self.operation,
            "here": self.here,
            "matrices": [matrix.to_json() for matrix in self.matrices],
        }


def _plain(values: NDArray[Any]) -> Any:
    if values.dtype.kind == "f" and not (finite := np.isfinite(values)).all():
        values = np.where(finite, values.astype(object), values.astype(str).astype(object))
    return values.tolist()


# ---- finding one -------------------------------------------------------------------------
def is_tensor(insn: WideInstruction | Any) -> bool:
    """Whether an instruction multiplies or moves matrices of known layout."""
    op = getattr(insn, "op", "")
    if op in fragments.MULTIPLIES or op in fragments.WARPGROUP:
        return fragments.multiplication(insn) is not None
    return op in fragments.MOVES and _moved(insn) is not None


def _moved(insn: Any) -> fragments.Operand | None:
    return fragments.moved(insn) or fragments.moved_bytes(insn)


def find(inferior: Inferior, pc: int) -> int | None:
    """The tensor-core instruction that a place is about: there, just before, or soon after."""
    symbols = inferior.symbols
    decode = symbols.call_frames.instruction
    layout = symbols.layout
    places = [pc, layout.before(pc), *islice(layout.onward(pc), SEARCHED - 1)]
    return next((at for at in places if is_tensor(decode(at))), None)


def near(inferior: Inferior, pc: int, search: bool) -> FragmentView | None:
    """The instruction that the focused warp executes next, or has executed last.

    Args:
        search: else the nearest that follows.
    """
    decode = inferior.symbols.call_frames.instruction
    places = (pc, inferior.symbols.layout.before(pc))
    place = next((at for at in places if is_tensor(decode(at))), None)
    if place is None and search:
        place = find(inferior, pc)
    return None if place is None else fragment_view(inferior, inferior.focused(), place, pc)


def fragment_view(inferior: Inferior, warp: WarpState, pc: int, here: int) -> FragmentView:
    """The operands of the tensor-core instruction at a code address.

    Args:
        here: where the warp stands.

    Raises:
        CommandError: there is none.
    """
    symbols = inferior.symbols
    insn = symbols.call_frames.instruction(pc) if warp.has_groups else None
    if insn is None or not is_tensor(insn):
        raise CommandError(
            f"no tensor-core instruction at {symbols.describe(pc)}",
            "`info fragment LOCATION` takes the place of one: HMMA, IMMA, LDSM, HGMMA …",
        )
    text = insn.text(pc)
    product = fragments.multiplication(insn, warp.index)  # type: ignore[arg-type]
    if product is None:
        shape, operation, matrices = _move(warp, insn)
    else:
        shape, operation = product.shape, _operation(insn.op, product)
        matrices = _operands(warp, insn, product, inferior.lane)
    return FragmentView(text, pc, symbols.offset(pc), shape, operation, matrices, pc == here)


def _move(warp: WarpState, insn: Any) -> tuple[str, str, tuple[MatrixView, ...]]:
    """(shape, operation, matrices) of a form that moves matrices."""
    moved = _moved(insn)
    assert moved is not None
    assert moved.layout is not None
    layout = moved.layout
    size = f"{layout.rows}x{layout.columns}"
    bits = "bytes" if layout.kind == "B8" else "16-bit elements"
    matrices = f"{size} matrices of {bits}"
    operation = {
        "LDSM": f"loads {matrices} from shared memory",
        "STSM": f"stores {matrices} to shared memory",
        "MOVM": f"transposes an {size} matrix of {bits}",
    }[insn.op]
    return f"{layout.tiles} of {size}", operation, (_matrix(warp, moved),)


def _operands(
    warp: WarpState, insn: Any, product: fragments.Multiplication, lane: int
) -> tuple[MatrixView, ...]:
    """A, B, C and D, then what a sparse A's elements are of, and scale factors."""
    if insn.op in fragments.WARPGROUP and product.d.register == RZ:
        return ()
    found = [
        _described(warp, operand, product, lane) if operand.descriptor >= 0
        else _matrix(warp, operand)
        for operand in (product.a, product.b, product.c, product.d)
    ]  # fmt: skip
    if why := _not_added(warp, insn, lane):
        found[2] = replace(found[2], note=why)
    if product.sparse:
        found.append(_metadata(warp, insn, product))
    if "SF" in insn.m:
        found += _scales(warp, insn, product, lane)
    return tuple(found)


def _not_added(warp: WarpState, insn: Any, lane: int) -> str:
    """Words where a predicate says that C counts as zero; "" where C is added."""
    test = insn.o.get("pa")
    if not isinstance(test, Pred) or test.is_true:
        return ""
    if test.index == PT:
        return "counts as zero"
    held = warp.uniform_predicates if test.file == "UP" else warp.predicates
    if bool(int(held[test.index]) >> lane & 1) != test.neg:
        return ""
    name = f"{test.file}{test.index}"
    return f"counts as zero: {name} is {'true' if test.neg else 'false'}"


def _operation(op: str, product: fragments.Multiplication) -> str:
    a, b = product.kinds
    types = a.lower() if a == b else f"{a.lower()} and {b.lower()}"
    out = product.result.lower()
    out += "" if product.addend == product.result else f" (C {product.addend.lower()})"
    if op in fragments.WARPGROUP and product.d.register == RZ:
        return "closes a group of products; reads and writes nothing"
    group = "; four warps, each 16 of 64 rows" if op in fragments.WARPGROUP else ""
    return f"D = A * B + C, {types} to {out}{group}"


def _words(warp: WarpState, register: int, count: int) -> list[NDArray[np.uint32]]:
    """Registers of all lanes; zeros for RZ, and where the warp has none of that number."""
    if register == RZ or register + count > len(warp.R):
        return [np.zeros(32, np.uint32)] * count
    return [np.asarray(warp.R[register + n]) for n in range(count)]


def _matrix(warp: WarpState, operand: fragments.Operand) -> MatrixView:
    layout = operand.layout
    assert layout is not None
    count = layout.registers
    names = tuple(f"R{operand.register + n}" for n in range(count))
    raw = layout.matrix(_words(warp, operand.register, count))
    return MatrixView(
        operand.name,
        operand.kind,
        () if operand.register == RZ else names,
        _signed(decoded(raw, operand.kind), operand),
        raw,
        *layout.holders(),
        operand.first_row,
        operand.written,
        operand.note,
    )


def _signed(values: NDArray[Any], operand: fragments.Operand) -> NDArray[Any]:
    values = np.abs(values) if operand.absolute else values
    return -values if operand.negative else values


# ---- matrices in shared memory -----------------------------------------------------------
def _uniform(warp: WarpState, number: int, lane: int) -> int:
    """A uniform register as a lane's group has it; numbers past the last read as zero."""
    return int(warp.UR[number][lane]) if number < len(warp.UR) else 0


def _described(
    warp: WarpState, operand: fragments.Operand, product: fragments.Multiplication, lane: int
) -> MatrixView:
    """A or B of a warp group's product, as the warp reads it by its descriptor."""
    from gpudbg.sm.engines import wgmma

    first, of_a = operand.descriptor, operand.name == "A"
    word = _uniform(warp, first, lane) | _uniform(warp, first + 1, lane) << 32
    given = wgmma.Descriptor.of(word)
    stored = product.k // 2 if of_a and product.sparse else product.k
    outer = range(operand.first_row, operand.first_row + 16) if of_a else range(product.n)
    at = wgmma.element_addresses(word, operand.kind, outer, stored, operand.across)
    note, raw, values = operand.note, None, None
    try:
        raw = wgmma.matrix(
            warp.cta.shared, word, operand.kind, outer, stored, operand.across
        ).astype(np.uint64)
    except MemoryFault as fault:
        note = fault.detail
    if raw is not None:
        raw = (raw if of_a else raw.T)[None]
        values = _signed(decoded(raw, operand.kind), operand)
    return MatrixView(
        operand.name,
        operand.kind,
        (f"UR{first}", f"UR{first + 1}"),
        values,
        raw,
        None,
        None,
        None,
        operand.first_row,
        note=note,
        addresses=(at if of_a else at.T)[None],
        descriptor=DescriptorView(
            word, given.start, given.leading, given.stride, given.base,
            wgmma.SWIZZLE_BYTES[given.swizzle], not operand.across,
        ),
    )  # fmt: skip


# ---- metadata and scale factors ----------------------------------------------------------
def _register(insn: Any, slot: str) -> int:
    operand = insn.o.get(slot)
    return operand.index if isinstance(operand, Reg) else RZ


def _metadata(warp: WarpState, insn: Any, product: fragments.Multiplication) -> MatrixView:
    """The columns of A that its stored elements are of, and who holds the nibbles that say so."""
    register, kind, stored = _register(insn, "e"), product.kinds[0], product.k // 2
    (word,) = _words(warp, register, 1)
    lanes, nibbles = fragments.index_places(kind, stored, product.selector)
    raw = word[lanes].astype(np.uint64) >> (4 * nibbles).astype(np.uint64) & np.uint64(15)
    return MatrixView(
        "E",
        "INDEX",
        () if register == RZ else (f"R{register}",),
        fragments.stored_columns(kind, stored, word, product.selector)[None],
        raw[None],
        lanes[None],
        np.zeros_like(lanes)[None],
        nibbles[None],
        product.a.first_row,
        note="the column of A that each stored element is of",
    )


def _scales(
    warp: WarpState, insn: Any, product: fragments.Multiplication, lane: int
) -> list[MatrixView]:
    """Scale factors: one for each row of A, or column of B, and chunk of k."""
    from gpudbg.sm.engines.tensor_product import scales_of

    # Sparse forms have the factors of A in the register after the metadata.
    registers = _register(insn, "e") + product.sparse, _register(insn, "f")
    words = tuple(_words(warp, register, 1)[0] for register in registers)
    chosen = _uniform(warp, _register(insn, "g"), lane)
    found = scales_of(insn.op, insn.m, (words[0], words[1]), chosen)
    out = []
    for side, (name, register) in enumerate(zip(("SA", "SB"), registers, strict=True)):
        raw, lanes, place = found.places(side)
        if side:
            raw, lanes, place = raw.T, lanes.T, place.T
        out.append(
            MatrixView(
                name,
                found.kind,
                (f"R{register}",),
                decoded(raw.astype(np.uint64), found.kind)[None],
                raw.astype(np.uint64)[None],
                lanes[None],
                np.zeros_like(lanes)[None],
                place[None],
                note=f"factors of {'AB'[side]}",
            )
        )
    return out


def decoded(raw: NDArray[np.uint64], kind: str) -> NDArray[Any]:
    """Raw elements as float64, or int64 for integers and bits."""
    kind = _SHOWN.get(kind, kind)
    if kind == "F64":
        return raw.view(np.float64)
    if kind == "UE4M3":
        return _small_float(raw.astype(np.int64) & 0x7F, "E4M3")
    if kind == "B1" or kind[0] in "SU":
        size, value = fragments.bits_of(kind), raw.astype(np.int64)
        return (
            np.where(value >> (size - 1) & 1, value - (1 << size), value)
            if kind[0] == "S"
            else value
        )
    if kind in ("F32", "TF32"):
        return raw.astype(np.uint32).view(np.float32).astype(np.float64)
    if kind == "F16":
        return raw.astype(np.uint16).view(np.float16).astype(np.float64)
    if kind == "E8":
        return np.where(raw == 255, np.nan, 2.0 ** (raw.astype(np.float64) - 127))
    if kind in ("F4", "E2M1"):
        # In a byte it has the bits of an E2M3 whose low two are zeros.
        return _small_float(raw.astype(np.int64), "E2M1" if kind == "F4" else "E2M3")
    if kind == "BF16":
        return (raw.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    return _small_float(raw.astype(np.int64), kind)


def _small_float(raw: NDArray[np.int64], kind: str) -> NDArray[np.float64]:
    """Eight bits and fewer: E4M3 has no infinity, E2M1 and the six-bit ones have no NaN either."""
    exponent_bits, fraction = int(kind[1]), int(kind[3])
    exponent = raw >> fraction & ((1 << exponent_bits) - 1)
    part = raw & ((1 << fraction) - 1)
    bias, top = (1 << (exponent_bits - 1)) - 1, (1 << exponent_bits) - 1
    significand = np.where(exponent == 0, part, part | 1 << fraction).astype(np.float64)
    value = significand * 2.0 ** (np.maximum(exponent, 1) - bias - fraction)
    if kind == "E5M2":
        value = np.where(exponent == top, np.where(part == 0, np.inf, np.nan), value)
    if kind == "E4M3":
        value = np.where((exponent == top) & (part == 7), np.nan, value)
    signed: NDArray[np.float64] = np.where(raw >> (exponent_bits + fraction) & 1, -value, value)
    return signed
