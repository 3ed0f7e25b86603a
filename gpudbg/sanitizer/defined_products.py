"""Undefined bits through products of matrices, and where matrices are loaded, stored and turned.

An element of D = A * B + C is undefined where one of its row of A, of its column of B, or its own
of C is; so rows that nobody loaded, and whose results nobody stores, decide nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from gpudbg.isa.operands import PT, RZ, Pred, Reg
from gpudbg.sanitizer.defined_bits import U8, U32, Rows, Shadow, lanes_with
from gpudbg.sm import fragments
from gpudbg.sm.asynchronous.events import MatricesRead
from gpudbg.sm.engines.wgmma import places

if TYPE_CHECKING:
    from gpudbg.sm.fragments import Layout, Multiplication, Operand
    from gpudbg.sm.state import WarpState

Marks = npt.NDArray[np.bool_]
PRODUCTS: Final = fragments.MULTIPLIES | fragments.WARPGROUP


def product_bits(shadow: Shadow, warp: WarpState, insn: Any) -> Rows | None:
    """Undefined bits of a product's results that come from its registers; None: all, if any operand
    is undefined (layout unknown).
    """
    shape = fragments.multiplication(insn, warp.index)
    if shape is None or shape.d.layout is None or shape.d.register == RZ:
        return None
    known = {RZ}
    bad = np.zeros((shape.d.layout.tiles, shape.d.layout.rows, shape.d.layout.columns), bool)
    origin = 0
    sides = [shape.a, shape.b, *([shape.c] if _accumulates(warp, insn) else [])]
    for operand in (shape.c, *sides):
        known |= set(_registers(operand))
    for operand in sides:
        found = _undefined(shadow, operand)
        if found is None:
            continue
        if operand is shape.a:
            bad |= np.any(found, axis=2, keepdims=True)
        elif operand is shape.b:
            bad |= np.any(found, axis=1, keepdims=True)
        else:
            bad |= found
        origin = origin or _origin(shadow, operand)
    for index in set(insn.reads().registers) - known:
        # Metadata of sparse matrices, factors of scaled ones.
        if shadow.bits[index].any():
            bad[:] = True
            origin = origin or int(shadow.origin[index].max())
    return _rows(shape.d, bad, origin)


def matrices_bits(
    warp: WarpState, insn: Any, event: MatricesRead, marks: U8
) -> tuple[Rows, int, int] | None:
    """What is undefined of a product of a warp group because of shared memory: (results, the first
    byte never written, bytes of its element); None: nothing.

    Args:
        marks: of the CTA's shared memory, not 0 where undefined.
    """
    shape: Multiplication | None = fragments.multiplication(insn, warp.index)
    if shape is None or shape.d.layout is None:
        return None
    stored = shape.k // 2 if shape.sparse else shape.k
    first = 16 * (warp.index & 3)
    bad = np.zeros((1, 16, shape.n), bool)
    where: tuple[int, int] | None = None
    for n, outer, length in ((0, range(first, first + 16), stored), (1, range(shape.n), shape.k)):
        if n == 0 and shape.a.layout is not None:
            continue
        at, unit = places(event.words[n], shape.kinds[n], outer, length, event.across[n])
        found = np.zeros(at.shape, bool)
        for byte in range(unit):
            found |= marks[np.minimum(at + byte, len(marks) - 1)] != 0
        if not found.any():
            continue
        lines = np.any(found, axis=1, keepdims=True)
        bad |= lines[None] if n == 0 else lines.T[None]
        where = where or (int(at[found].min()), unit)
    return None if where is None else (_rows(shape.d, bad, 0), *where)


def loaded_bits(insn: Any, rows: npt.NDArray[np.uint8]) -> tuple[int, list[U32]] | None:
    """Undefined bits of the registers that LDSM loads, the first of them and each.

    Args:
        rows: marks of the 16 bytes that each lane names, (32, 16).
    """
    operand = fragments.moved(insn)
    if operand is None or operand.layout is None or operand.register == RZ:
        return None
    held = np.where(rows != 0, 0xFF, 0).astype(np.uint64).reshape(32, 8, 2)
    elements = held[..., 0] | held[..., 1] << np.uint64(8)
    tiles = operand.layout.tiles
    words = operand.layout.words(elements[: 8 * tiles].reshape(tiles, 8, 8))
    return operand.register, words


def stored_bits(shadow: Shadow, insn: Any) -> npt.NDArray[np.uint8] | None:
    """Not 0 where a byte is undefined that STSM stores in the row of each lane, (32, 16); 3 where
    arithmetic made it."""
    operand = fragments.moved(insn)
    if operand is None or operand.layout is None:
        return None
    layout, out = operand.layout, np.zeros((32, 16), np.uint8)
    if operand.register == RZ:
        return out
    words = [shadow.bits[operand.register + n] for n in range(layout.registers)]
    held = layout.matrix(words).reshape(-1, 8)
    out[: len(held), 0::2] = (held & np.uint64(0xFF)) != 0
    out[: len(held), 1::2] = (held >> np.uint64(8)) != 0
    derived = any(shadow.derived[operand.register + n] for n in range(layout.registers))
    return out * np.uint8(3 if derived else 1)


def turned_bits(shadow: Shadow, insn: Any) -> Rows | None:
    """MOVM: a matrix transposed."""
    source, result = insn.o.get("a"), insn.o.get("d")
    if not isinstance(source, Reg) or not isinstance(result, Reg) or source.is_zero:
        return None
    layout = fragments.small_matrices(1, False)
    turned = layout.matrix([shadow.bits[source.index]]).transpose(0, 2, 1)
    bits = layout.words(turned)[0]
    derived = lanes_with(bits) if shadow.derived[source.index] else 0
    return {result.index: (bits, derived, int(shadow.origin[source.index].max()))}


def _accumulates(warp: WarpState, insn: Any) -> bool:
    """Whether C is added: a predicate operand may switch that off."""
    test = insn.o.get("pa")
    if not isinstance(test, Pred) or test.index == PT:
        return test is None or test.is_true
    held = warp.uniform_predicates if test.file == "UP" else warp.predicates
    return bool(held[test.index]) != test.neg


def _registers(operand: Operand) -> range:
    count = operand.layout.registers if operand.layout is not None else 0
    return range(operand.register, min(operand.register + count, RZ))


def _undefined(shadow: Shadow, operand: Operand) -> Marks | None:
    """Mask of the undefined elements; None where there is none."""
    layout: Layout | None = operand.layout
    if layout is None or operand.register == RZ:
        return None
    words = [shadow.bits[n] for n in _registers(operand)]
    if not any(word.any() for word in words):
        return None
    found: Marks = layout.matrix(words) != 0
    return found


def _origin(shadow: Shadow, operand: Operand) -> int:
    index = next(n for n in _registers(operand) if shadow.bits[n].any())
    return int(shadow.origin[index][int(np.flatnonzero(shadow.bits[index])[0])])


def _rows(result: Operand, bad: Marks, origin: int) -> Rows:
    layout = result.layout
    assert layout is not None
    whole = np.uint64((1 << fragments.bits_of(layout.kind)) - 1)
    words = layout.words(np.where(bad, whole, np.uint64(0)))
    return {result.register + n: (word, lanes_with(word), origin) for n, word in enumerate(words)}
