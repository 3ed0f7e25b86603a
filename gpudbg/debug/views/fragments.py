"""Tensor-core fragments as text: matrices with the focused lane's elements in brackets."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpudbg.debug.views.format import float_text
from gpudbg.sm.fragments import bits_of

if TYPE_CHECKING:
    from gpudbg.debug.values.fragment_view import FragmentView, MatrixView

WIDTH = 120
"""Columns of text that a row of a matrix takes before it goes on below."""


def fragment_lines(
    view: FragmentView, lane: int, names: Collection[str] = (), show: str = "values"
) -> list[str]:
    """An instruction and its matrices.

    Args:
        names: those to show; all.
        show: "values", "raw" bits, or "lanes": who holds each place, or its address.
    """
    where = "next" if view.here else f"at {view.offset:04x}"
    lines = [f"{view.text}  ({where})", f"{view.shape}: {view.operation}"]
    for matrix in view.matrices:
        if not names or matrix.name in names:
            lines += ["", *matrix_lines(matrix, lane, show, view.here)]
    return lines


def title(matrix: MatrixView, coming: bool = True) -> str:
    """`A  16x16 f16  R4-R7`"""
    tiles, rows, columns = matrix.shape
    if matrix.descriptor is not None:
        return _described_title(matrix)
    names = matrix.registers
    held = "RZ" if not names else names[0] if len(names) == 1 else f"{names[0]}-{names[-1]}"
    size = f"{rows}x{columns}" if tiles == 1 else f"{tiles} of {rows}x{columns}"
    words = f"{matrix.name}  {size} {matrix.kind.lower()}  {held}"
    if matrix.written:
        words += "  will be written" if coming else "  written by it"
    return words + (f"  ({matrix.note})" if matrix.note else "")


def _described_title(matrix: MatrixView) -> str:
    """`B  16x64 f16  shared 0x0400, k contiguous, 64B swizzle, leading 16, stride 512 (UR6:UR7)`"""
    assert matrix.descriptor is not None
    assert matrix.addresses is not None
    _, rows, columns = matrix.addresses.shape
    words = f"{matrix.name}  {rows}x{columns} {matrix.kind.lower()}  {matrix.descriptor.text}"
    words += f" ({':'.join(matrix.registers)})"
    return words + (f"  ({matrix.note})" if matrix.note else "")


def matrix_lines(
    matrix: MatrixView, lane: int, show: str = "values", coming: bool = True
) -> list[str]:
    """One operand: a heading, then rows of elements, `lane`'s in brackets; the heading alone where
    a descriptor leads out of shared memory."""
    lines = [title(matrix, coming)]
    if matrix.values is None:
        return lines
    cells = cell_texts(matrix, show)
    mine = mine_in(matrix, lane, show)
    for tile in range(len(cells)):
        if len(cells) > 1:
            lines.append(f"  {matrix.name}[{tile}]")
        lines += _rows(cells[tile], mine[tile], matrix.first_row)
    return lines


def _rows(cells: NDArray[Any], mine: NDArray[np.bool_], first_row: int) -> Iterator[str]:
    rows, columns = cells.shape
    width = max(len(text) for text in cells.flat) + 2
    per = max((WIDTH - 5) // width, 1)
    per = -(-columns // -(-columns // per))
    for first in range(0, columns, per):
        part = range(first, min(first + per, columns))
        yield "     " + "".join(f"{n} ".rjust(width) for n in part).rstrip()
        for row in range(rows):
            texts = (
                (f"[{cells[row, n]}]" if mine[row, n] else f" {cells[row, n]} ").rjust(width)
                for n in part
            )
            yield f"{row + first_row:4} " + "".join(texts).rstrip()


def cell_texts(matrix: MatrixView, show: str = "values") -> NDArray[Any]:
    """The text of every place, shape (tiles, rows, columns); of bits a word of 32."""
    assert matrix.values is not None
    assert matrix.raw is not None
    if show == "lanes":
        tiles, rows, columns = matrix.shape
        out = np.empty((tiles, rows, columns), object)
        for at in np.ndindex(tiles, rows, columns):
            out[at] = matrix.holder(*at).removeprefix("lane ").replace(" ", ":")
        return out
    if matrix.kind == "B1":
        return _texts(_words(matrix), lambda word: f"{int(word):08x}")
    if show == "raw":
        digits = max(bits_of(matrix.kind) // 4, 1)
        return _texts(matrix.raw, lambda bits: f"{int(bits):0{digits}x}")
    if matrix.values.dtype.kind == "f":
        return _texts(matrix.values, number_text)
    return _texts(matrix.values, str)


def number_text(value: float) -> str:
    """A float in about seven characters."""
    text = float_text(float(value), 4)
    return text if len(text) <= 8 else f"{value:.4g}"


def _texts(values: NDArray[Any], text: Any) -> NDArray[Any]:
    out = np.empty(values.shape, object)
    out[...] = [[[text(v) for v in row] for row in tile] for tile in values]
    return out


def _words(matrix: MatrixView) -> NDArray[np.uint64]:
    """Bits of 32 neighbours along k as words."""
    assert matrix.raw is not None
    raw = matrix.raw if matrix.name == "A" else matrix.raw.transpose(0, 2, 1)
    tiles, rows, bits = raw.shape
    parts = raw.reshape(tiles, rows, bits // 32, 32)
    words: NDArray[np.uint64] = np.bitwise_or.reduce(
        parts << np.arange(32, dtype=np.uint64), axis=3
    )
    return words if matrix.name == "A" else words.transpose(0, 2, 1)


def mine_in(matrix: MatrixView, lane: int, show: str = "values") -> NDArray[np.bool_]:
    """Which cells of `cell_texts` a lane holds: none of those in shared memory."""
    if matrix.lanes is None:
        return np.zeros(cell_texts(matrix, show).shape, bool)
    mine: NDArray[np.bool_] = np.asarray(matrix.lanes == lane)
    if matrix.kind == "B1" and show != "lanes":
        return mine[:, :, ::32] if matrix.name == "A" else mine[:, ::32]
    return mine
