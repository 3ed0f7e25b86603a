"""The operands of a tensor-core instruction as matrices: values, and which lane holds each.

Where elements lie is `gpudbg.sm.fragments`'s, as the engine has it; here the warp's registers are
read and decoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpudbg.dataclass import dataclass
from gpudbg.errors import CommandError
from gpudbg.isa.operands import RZ
from gpudbg.sm import fragments

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.isa.volta.insn import WideInstruction
    from gpudbg.sm.state import WarpState

SEARCHED = 4000
"""Instructions after the present one that are looked through for a tensor-core instruction."""
_SHOWN = {"B16": "F16", "B8": "U8"}
"""Types that elements without one are shown as."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MatrixView:
    """An operand as the warp holds it.

    Attributes:
        name: A, B, C or D; M for matrices that are moved.
        kind: type of its elements.
        registers: names of its registers, in order; empty where it is in shared memory.
        values: shape (tiles, rows, columns): float64, or int64 for integers; None where it is not
            in registers.
        raw: the bits, uint64.
        lanes, slots, elements: of every place, the lane, the index in `registers` and the element
            in that register, low bits first.
        first_row: the row of the whole matrix that row 0 is, of a warp group's instruction.
        written: the instruction writes it: what is shown is what stands there now.
        note: what else is to be known of it.
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

    @property
    def shape(self) -> tuple[int, int, int]:
        """(tiles, rows, columns)."""
        if self.values is None:
            return 0, 0, 0
        tiles, rows, columns = self.values.shape
        return tiles, rows, columns

    def holder(self, tile: int, row: int, column: int) -> str:
        """`lane 5 R4.1`: who holds a place; the element only where a register has several."""
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
        """The operand A, B, C, D or M."""
        for matrix in self.matrices if len(name) == 1 else ():
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
    return op in fragments.MOVES and fragments.moved(insn) is not None


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
        moved = fragments.moved(insn)  # type: ignore[arg-type]
        assert moved is not None
        assert moved.layout is not None
        shape = f"{moved.layout.tiles} of 8x8"
        operation = {
            "LDSM": "loads 8x8 matrices of 16-bit elements from shared memory",
            "STSM": "stores 8x8 matrices of 16-bit elements to shared memory",
            "MOVM": "transposes an 8x8 matrix of 16-bit elements",
        }[insn.op]
        operands: Sequence[fragments.Operand] = (moved,)
    else:
        shape, operation = product.shape, _operation(insn.op, product)
        operands = (product.a, product.b, product.c, product.d)
    matrices = tuple(_matrix(warp, operand) for operand in operands)
    return FragmentView(text, pc, symbols.offset(pc), shape, operation, matrices, pc == here)


def _operation(op: str, product: fragments.Multiplication) -> str:
    a, b = product.kinds
    types = a.lower() if a == b else f"{a.lower()} and {b.lower()}"
    out = product.result.lower()
    out += "" if product.addend == product.result else f" (C {product.addend.lower()})"
    group = "; four warps, each 16 of 64 rows" if op in fragments.WARPGROUP else ""
    return f"D = A * B + C, {types} to {out}{group}"


def _matrix(warp: WarpState, operand: fragments.Operand) -> MatrixView:
    layout = operand.layout
    if layout is None:
        name = operand.name
        return MatrixView(
            name, operand.kind, (), None, None, None, None, None, 0, operand.written, operand.note
        )
    count = layout.registers
    names = tuple(f"R{operand.register + n}" for n in range(count))
    words = [np.zeros(32, np.uint32)] * count
    if operand.register == RZ:
        names = ()
    elif operand.register + count <= len(warp.R):
        words = [np.asarray(warp.R[operand.register + n]) for n in range(count)]
    raw = layout.matrix(words)
    values = decoded(raw, operand.kind)
    if operand.absolute:
        values = np.abs(values)
    if operand.negative:
        values = -values
    return MatrixView(
        operand.name,
        operand.kind,
        names,
        values,
        raw,
        *layout.holders(),
        operand.first_row,
        operand.written,
        operand.note,
    )


def decoded(raw: NDArray[np.uint64], kind: str) -> NDArray[Any]:
    """Raw elements as float64, or int64 for integers and bits."""
    kind = _SHOWN.get(kind, kind)
    if kind == "F64":
        return raw.view(np.float64)
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
