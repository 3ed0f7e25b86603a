"""State as lines of text: pure functions that TUI, console and tests share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpudbg.analysis.contents import not_finite
from gpudbg.analysis.lane_shape import comparable, line_of, strange_words
from gpudbg.debug.values.unwritten import buffer_words
from gpudbg.debug.views.format import float_text, format_value
from gpudbg.expr.evaluation import OPTIMIZED_OUT, Result
from gpudbg.expr.types import VOID, Array, Pointer, Scalar, Struct

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior


def shape_words(values: NDArray[Any], mask: int, dtype_kind: str = "u") -> str:
    """What the lanes' values have in common: `uniform`, `416+lane`, or how many differ."""
    lanes = [i for i in range(32) if mask >> i & 1]
    if not lanes:
        return "no lane"
    chosen = comparable(values[lanes], dtype_kind)
    strange = strange_words(values, lanes)
    if (chosen == chosen[0]).all():
        return f"uniform, {strange}" if strange else "uniform"
    line = line_of(chosen.tolist(), lanes) if dtype_kind in "iu" else None
    if line is not None:
        base, step = line
        factor = "lane" if step == 1 else f"{step}*lane"
        return factor if base == 0 else f"{base}+{factor}"
    distinct = len(set(chosen.tolist()))
    if dtype_kind == "f":
        return f"{distinct} values" + (f", {strange}" if strange else "")
    return f"{int(chosen.min())}..{int(chosen.max())}, {distinct} values"


# ---- buffers -------------------------------------------------------------------------
def output_lines(inferior: Inferior) -> list[str]:
    """The output buffers: those the launch marks, else every buffer the kernel was given."""
    given = [a for a in inferior.launch.arguments if a.buffer is not None]
    # A host program that has ended has nothing any more.
    rows = [a for a in given if not a.buffer.freed]
    marked = [a for a in rows if getattr(a, "output", False)] or rows
    return [f"  {a.name:8} {buffer_text(a.buffer)}" for a in marked[:8]]


def buffer_text(buffer: Any) -> str:
    """`array_words` of a buffer, and how much of it was never written."""
    words = buffer_words(buffer)
    return array_words(buffer.array()) + (f"  {words}" if words else "")


def array_words(array: NDArray[Any], limit: int = 8) -> str:
    """`i32[256]  3 5 8 13 …` for a buffer."""
    flat = array.reshape(-1)
    name = f"{array.dtype.kind}{array.dtype.itemsize * 8}"
    shown = " ".join(number_text(v) for v in flat[:limit])
    strange = not_finite(flat)
    tail = f"  ({strange})" if strange else ""
    return f"{name}[{flat.size}]  {shown}{' …' if flat.size > limit else ''}{tail}"


def number_text(value: Any) -> str:
    """One NumPy number, floats at shortest round-trip precision."""
    if isinstance(value, np.floating):
        return float_text(float(value), value.dtype.itemsize)
    return str(value)


# ---- values ----------------------------------------------------------------------------
def value_text(result: Result, lane: int, letter: str | None = None) -> str:
    """One lane's value as `print` shows it."""
    if result.type == VOID:
        return "void"
    if not result.valid[lane]:
        if result.why.startswith(OPTIMIZED_OUT):
            return OPTIMIZED_OUT
        return f"<no value: {result.why or 'not readable'}>"
    value = result.values[lane]
    match result.type:
        case Scalar(_, kind, size, names):
            named = result.type.enumerator(int(value)) if names and letter is None else None
            return named or format_value(value, kind, size, letter)
        case Pointer():
            written = result.type.text
            return f"{f'({written})' if written else result.type} 0x{int(value):x}"
        case Array() | Struct():
            return f"{result.type} at 0x{int(value):x}"


def lanes_text(result: Result, mask: int, letter: str | None = None) -> list[str]:
    """The 32 lanes' values in four rows of eight; lanes outside `mask` in parentheses."""
    cells = []
    for lane in range(32):
        text = value_text(result, lane, letter) if result.valid[lane] else "-"
        cells.append(text if mask >> lane & 1 else f"({text})")
    width = max(len(c) for c in cells)
    return [
        f"  {row * 8:2}: " + "  ".join(c.rjust(width) for c in cells[row * 8 : row * 8 + 8])
        for row in range(4)
    ]


# ---- memory ----------------------------------------------------------------------------
def hexdump(data: bytes, address: int, width: int = 16) -> list[str]:
    """Address, 32-bit words, and printable characters."""
    lines = []
    for at in range(0, len(data), width):
        row = data[at : at + width]
        words = " ".join(
            f"{int.from_bytes(row[i : i + 4], 'little'):08x}" for i in range(0, len(row), 4)
        )
        text = "".join(chr(b) if 32 <= b < 127 else "." for b in row)
        lines.append(f"{address + at:08x}  {words:<{width // 4 * 9}} {text}")
    return lines
