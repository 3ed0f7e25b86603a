"""What matrix instructions made a value from: words of other lanes' registers and of shared memory.

An element of D = A * B + C comes from a row of A, a column of B and its element of C.  Where these
are is what layouts of fragments say (`gpudbg.sm.fragments`), or a descriptor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass
from gpudbg.debug.provenance.places import AskedPlace, memory_place, register_place
from gpudbg.isa.operands import PT, RZ, Pred, Reg
from gpudbg.sm import fragments
from gpudbg.sm.engines import wgmma

if TYPE_CHECKING:
    from gpudbg.debug.provenance.sources import Visit
    from gpudbg.isa.family import Instruction

I64s = npt.NDArray[np.int64]
Found = tuple[str, AskedPlace | None, int]
"""(role, place, lane) of a source; the place is None where it is unknown."""
_WORD: Final = 4
_ROW_BYTES: Final = 16
"""Bytes of a row of an 8 x 8 matrix of halves."""


@dataclass(frozen=True, slots=True, eq=False)
class Elements:
    """Elements of a matrix: rows, columns and tiles, as many of each."""

    rows: I64s
    columns: I64s
    tiles: I64s


def matrix_sources(
    insn: Instruction, seen: Visit, place: AskedPlace, lane: int
) -> Iterator[Found] | None:
    """What an instruction read of matrices for a value of a lane; None: its form has no layout."""
    wide: Any = insn
    if insn.op in fragments.MOVES:
        moved = fragments.moved(wide)
        if moved is None or moved.layout is None:
            return None
        return _moved(insn, moved, seen, place, lane)
    product = fragments.multiplication(wide, seen.index)
    if product is None or product.d.layout is None or place.space != "register":
        return None
    return _multiplied(insn, product, seen, place.numbers, lane)


# ---- products --------------------------------------------------------------------------
def _multiplied(
    insn: Instruction,
    product: fragments.Multiplication,
    seen: Visit,
    numbers: tuple[int, ...],
    lane: int,
) -> Iterator[Found]:
    made = _elements(product.d, numbers, lane)
    depths = _stored_depths(insn, product, seen, made)
    for name, operand in (("A", product.a), ("B", product.b)):
        if operand.layout is not None:
            yield from _held(operand, seen, _line_of(name, operand.layout, made, depths))
        elif seen.descriptors is None:
            yield f"{name}, by descriptor", None, lane
        else:
            yield from _described(name, product, seen, made, lane)
    if product.c.layout is not None and _accumulates(insn, seen):
        yield from _held(product.c, seen, _same(product.c.layout, made))
    yield from _metadata(insn, product, seen, made)
    lowest = (seen.lanes & -seen.lanes).bit_length() - 1
    for register in sorted(insn.reads().uniform):
        yield "operand", register_place("uniform", (register,), seen.key, lowest), lowest


def _accumulates(insn: Instruction, seen: Visit) -> bool:
    """Whether C is added: a predicate operand may switch that off."""
    found: Any = insn
    test = found.o.get("pa")
    if not isinstance(test, Pred) or test.index == PT:
        return test is None or test.is_true
    held = seen.uniform_predicates if test.file == "UP" else seen.predicates
    return bool(held[test.index]) != test.neg


def _elements(operand: fragments.Operand, numbers: tuple[int, ...], lane: int) -> Elements:
    """The elements that registers of a lane hold."""
    layout = operand.layout
    assert layout is not None
    wide = 2 if layout.kind == "F64" else 1
    rows = sorted({(n - operand.register) // wide for n in numbers} & set(range(len(layout.row))))
    at = layout.row[rows, :, lane], layout.column[rows, :, lane], layout.tile[rows, :, lane]
    return Elements(*(part.reshape(-1) for part in at))


def _line_of(
    name: str, layout: fragments.Layout, made: Elements, depths: I64s | None
) -> npt.NDArray[np.bool_]:
    """Which elements of A share a row, or of B a column, with what was made."""
    line, wanted = (layout.row, made.rows) if name == "A" else (layout.column, made.columns)
    found = np.isin(line, wanted) & np.isin(layout.tile, made.tiles)
    return found & np.isin(layout.row, depths) if name == "B" and depths is not None else found


def _same(layout: fragments.Layout, made: Elements) -> npt.NDArray[np.bool_]:
    """Mask of the elements of a layout at the same places as `made`."""
    found = np.zeros(layout.row.shape, bool)
    for row, column, tile in zip(made.rows, made.columns, made.tiles, strict=True):
        found |= (layout.row == row) & (layout.column == column) & (layout.tile == tile)
    return found


def _held(
    operand: fragments.Operand, seen: Visit, chosen: npt.NDArray[np.bool_]
) -> Iterator[Found]:
    """The registers and lanes that hold chosen elements."""
    layout = operand.layout
    assert layout is not None
    if operand.register == RZ:
        return
    wide = 2 if layout.kind == "F64" else 1
    for n, holder in sorted({(int(n), int(at)) for n, _, at in np.argwhere(chosen)}, key=_by_lane):
        first = operand.register + wide * n
        place = register_place("register", tuple(range(first, first + wide)), seen.key, holder)
        yield f"{operand.name}, lane {holder}", place, holder


def _by_lane(held: tuple[int, int]) -> tuple[int, int]:
    return held[1], held[0]


# ---- sparse A, scale factors -----------------------------------------------------------
def _stored_depths(
    insn: Instruction, product: fragments.Multiplication, seen: Visit, made: Elements
) -> I64s | None:
    """For sparse A: positions along k of the stored elements of the rows; None for dense
    matrices.
    """
    register = _operand(insn, "e")
    if not product.sparse or register is None:
        return None
    words = seen.registers[register]
    kind, stored = product.kinds[0], product.k // 2
    places = fragments.stored_columns(kind, stored, words, product.selector)
    found: I64s = np.unique(places[made.rows])
    return found


def _metadata(
    insn: Instruction, product: fragments.Multiplication, seen: Visit, made: Elements
) -> Iterator[Found]:
    """Metadata and scale-factor registers, in every lane of the quads that hold those of the row or
    column.
    """
    quads = sorted({4 * (int(row) & 7) for row in made.rows})
    columns = sorted({4 * (int(column) & 7) for column in made.columns})
    first = "metadata" if product.sparse else "scale"
    for slot, firsts, role in (("e", quads, first), ("f", columns, "scale")):
        register = _operand(insn, slot)
        if register is None:
            continue
        for holder in (first + n for first in firsts for n in range(4)):
            place = register_place("register", (register,), seen.key, holder)
            yield f"{role}, lane {holder}", place, holder


def _operand(insn: Instruction, slot: str) -> int | None:
    """Number of the register in an optional slot of a product (metadata, scale factors); None where
    it has none.
    """
    found: Any = insn
    operand = found.o.get(slot)
    if not isinstance(operand, Reg) or operand.file != "R" or operand.index == RZ:
        return None
    return operand.index


# ---- matrices in shared memory ---------------------------------------------------------
def _described(
    name: str, product: fragments.Multiplication, seen: Visit, made: Elements, lane: int
) -> Iterator[Found]:
    """Words of the rows of A, or columns of B, that a descriptor names."""
    assert seen.descriptors is not None
    side = "AB".index(name)
    word, across = seen.descriptors.words[side], seen.descriptors.across[side]
    stored = product.k // 2 if product.sparse and name == "A" else product.k
    first = 16 * (seen.index & 3)
    lines = {first + int(n) for n in made.rows} if name == "A" else {int(n) for n in made.columns}
    for line in sorted(lines):
        outer = range(line, line + 1)
        at, unit = wgmma.places(word, product.kinds[side], outer, stored, across)
        yield from _words(name, at.reshape(-1), unit, seen, lane)


def _words(role: str, at: I64s, unit: int, seen: Visit, lane: int) -> Iterator[Found]:
    """Bytes of shared memory as places, merged to words where all of a word's bytes are among
    them.
    """
    found = sorted({int(n) + k for n in at for k in range(unit)})
    chosen = set(found)
    while found:
        low = found[0]
        whole = low % _WORD == 0 and all(low + k in chosen for k in range(_WORD))
        size = _WORD if whole else unit
        found = found[size:]
        yield role, memory_place("shared", low, size, seen.key, lane), lane


# ---- matrices that are moved -----------------------------------------------------------
def _moved(
    insn: Instruction, moved: fragments.Operand, seen: Visit, place: AskedPlace, lane: int
) -> Iterator[Found]:
    layout = moved.layout
    assert layout is not None
    if insn.op == "STSM":
        yield from _held(moved, seen, _same(layout, _in_row(seen, place, lane)))
        return
    if insn.op == "MOVM":
        plain = fragments.small_matrices(1, transposed=False)
        rows, columns = plain.row[0, :, lane], plain.column[0, :, lane]
        turned = Elements(columns, rows, np.zeros_like(rows))
        yield from _held(moved, seen, _same(layout, turned))
        return
    made = _elements(moved, place.numbers, lane)
    first = 8 * made.tiles + made.rows
    starts = np.array([seen.rows[int(row)] for row in first], np.int64)
    yield from _words("value", starts + 2 * made.columns, 2, seen, lane)


def _in_row(seen: Visit, place: AskedPlace, lane: int) -> Elements:
    """The elements that became bytes of shared memory, of the row that a lane addressed."""
    start = next(a.address for a in seen.accesses if a.space == "shared" and a.kind == "store")
    low = max(place.address - start, 0) // 2
    high = (min(place.address + place.size - start, _ROW_BYTES) + 1) // 2
    columns = np.arange(low, high)
    return Elements(np.full_like(columns, lane & 7), columns, np.full_like(columns, lane >> 3))
