"""Registers, predicates, special registers and expressions as `LaneRow`s: data, no drawing."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gpudbg.analysis.lane_shape import LaneShape, as_kind, guess_kind, shape
from gpudbg.analysis.liveness import CC, PREDICATE, UNIFORM, UNIFORM_PREDICATE
from gpudbg.debug.pictures.lane_row import LaneRow
from gpudbg.debug.values.unwritten import WORDS
from gpudbg.debug.views.format import format_bits
from gpudbg.debug.views.text import value_text
from gpudbg.expr.types import Pointer, Scalar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpudbg.debug.snapshot import SharedRow, WarpDetail
    from gpudbg.expr.evaluation import Result

LISTED_SPECIALS = ("SR_TID.X", "SR_TID.Y", "SR_TID.Z", "SR_CTAID.X", "SR_CTAID.Y", "SR_CTAID.Z",
            "SR_LANEID", "SR_LTMASK", "SR_CLOCKLO")  # fmt: skip
"""Special registers the register pane lists; the console reads all of them."""

KEPT_ROWS = 2048
"""Values whose words are kept: between two stops of a warp hardly any register changes."""
FLAG_NAMES = "ZSCO"
FIRST_BITS = {"uniform": UNIFORM, "uniform predicate": UNIFORM_PREDICATE}
"""Where the bits of a file begin in the mask of what nothing has written."""
REGISTER_FORMATS = ("x", "d", "f")
"""Formats `x` goes through: hex, signed decimal, float."""
ZEROS = bytes(32 * 4)
"""A register of nothing but zeros."""


def register_rows(
    detail: WarpDetail, lane: int, letter: str, untouched: int = 0
) -> tuple[LaneRow, ...]:
    """R0.., then P0..P6, then registers that lanes share, then the condition code's flags.

    Args:
        letter: of `REGISTER_FORMATS`.
        untouched: mask of registers that no instruction has written so far.
    """
    out = []
    active, valid = detail.row.active, detail.row.valid
    lanes = detail.changed_lanes
    for index, values in enumerate(detail.registers):
        bits = values.tobytes()
        if untouched >> index & 1 and bits == ZEROS:
            out.append(never_row(f"R{index}", "register", register_text(0, letter), index))
            continue
        changed = 0
        if lanes is not None and index in detail.changed:
            changed = sum(1 << i for i in range(32) if lanes[index][i])
        out.append(_register_row(index, bits, lane, letter, active, valid, changed))
    for index, mask in enumerate(detail.predicates):
        if untouched >> PREDICATE + index & 1 and not mask:
            out.append(never_row(f"P{index}", "predicate", "false", index))
            continue
        changed = 0xFFFFFFFF if index in detail.changed_predicates else 0
        out.append(_mask_row(f"P{index}", "predicate", mask, active, lane, changed, index))
    out += [_shared_row(row, detail, lane, letter, untouched) for row in detail.shared]
    for index, mask in enumerate(detail.flags):
        name = f"CC.{FLAG_NAMES[index]}"
        if untouched >> CC & 1 and not any(detail.flags):
            out.append(never_row(name, "flag", "false", index))
        else:
            out.append(_mask_row(name, "flag", mask, active, lane, 0, index))
    return tuple(out)


@lru_cache(KEPT_ROWS)
def _register_row(
    index: int, bits: bytes, lane: int, letter: str, active: int, valid: int, changed: int
) -> LaneRow:
    """A register that holds `bits` in its lanes."""
    values = np.frombuffer(bits, np.uint32)
    kind, cells = _register_cells(bits, letter)
    return LaneRow(
        name=f"R{index}",
        section="register",
        focus_text=register_text(int(values[lane]), letter),
        shape=_shape_of(bits, "u4", kind, active, valid),
        changed=changed,
        valid=valid,
        cells=cells,
        index=index,
        zero=bits == ZEROS,
    )


@lru_cache(KEPT_ROWS)
def _register_cells(bits: bytes, letter: str) -> tuple[str, tuple[str, ...]]:
    """How a register's bits are read, and its text in each lane."""
    values = np.frombuffer(bits, np.uint32)
    kind = "f" if letter == "f" else "i" if letter == "d" else guess_kind(values)
    form = "d" if letter == "x" and kind == "i" else letter
    return kind, tuple(register_text(v, form) for v in values.tolist())


@lru_cache(KEPT_ROWS)
def _shape_of(bits: bytes, dtype: str, kind: str, active: int, valid: int) -> LaneShape:
    """The shape of 32 numbers, which are given by their bytes."""
    values = np.frombuffer(bits, dtype)
    if dtype == "u4":
        values = as_kind(values, kind)
    return shape(values, active, valid, kind)


def _shape(values: NDArray[Any], kind: str, active: int, valid: int) -> LaneShape:
    return _shape_of(values.tobytes(), values.dtype.str[1:], kind, active, valid)


def _shared_row(
    row: SharedRow, detail: WarpDetail, lane: int, letter: str, untouched: int
) -> LaneRow:
    """A uniform register or predicate, or a convergence barrier."""
    active, valid, values = detail.row.active, detail.row.valid, row.values
    # URZ and UPT have no number, and barriers no bits.
    bit = FIRST_BITS[row.file] + row.number if row.file in FIRST_BITS and row.number >= 0 else None
    if bit is not None and untouched >> bit & 1 and not values.any():
        text = "false" if row.file == "uniform predicate" else register_text(0, letter)
        return never_row(row.name, row.file, text, -1)
    if row.file == "uniform predicate":
        mask = sum(1 << i for i in range(32) if values[i])
        return _mask_row(row.name, "uniform predicate", mask, active, lane, row.changed, -1)
    if row.file == "barrier":
        held = int(values[lane])
        words = f"{held.bit_count()} lanes converge" if held else "none"
        flat = LaneShape(words, (0,) * 32, True, 0, "i")
        text = register_text(held, "x")
        return LaneRow(row.name, "barrier", text, flat, row.changed, mask=held, zero=not held)
    kind = "f" if letter == "f" else "i" if letter == "d" else "u"
    form = _shape(as_kind(values, "u"), kind, active, valid)
    cells = tuple(register_text(v, letter) for v in values.tolist())
    text = cells[lane]
    zero = not values.any()
    return LaneRow(
        row.name, "uniform", text, form, row.changed, valid=valid, cells=cells, zero=zero
    )


def never_row(name: str, section: str, text: str, index: int) -> LaneRow:
    """A register, predicate or flag that no instruction has written on the way here."""
    flat = LaneShape(WORDS, (0,) * 32, True, 0, "i")
    mask = -1 if text != "false" else 0
    return LaneRow(
        name, section, text, flat, mask=mask, valid=0, cells=(text,) * 32, why=WORDS, index=index,
        zero=True,
    )  # fmt: skip


def never_watched(name: str) -> LaneRow:
    """A watched register that no instruction has written: said as the register pane says it."""
    return never_row(name, "watch", register_text(0, "x"), -1)


def register_text(bits: int, letter: str) -> str:
    """One register in at most nine columns."""
    if letter == "x":
        return f"{bits:08x}"
    text = format_bits(bits, 4, letter)
    if len(text) > 11 and letter == "f":
        import struct

        text = f"{struct.unpack('<f', bits.to_bytes(4, 'little'))[0]:.4g}"
    return text


def _mask_row(
    name: str, section: str, mask: int, active: int, lane: int, changed: int, index: int
) -> LaneRow:
    on, total = (mask & active).bit_count(), active.bit_count()
    words = "all false" if not on else "all true" if on == total else f"{on} of {total}"
    flat = LaneShape(words, (0,) * 32, on in (0, total), 0, "i")
    text = "true" if mask >> lane & 1 else "false"
    zero = not mask & active
    return LaneRow(name, section, text, flat, changed, mask=mask, index=index, zero=zero)


def _cell(result: Result, lane: int, letter: str | None) -> str:
    """A lane's value; a pointer's address alone, for its type is not the lane's."""
    if isinstance(result.type, Pointer):
        return f"0x{int(result.values[lane]):x}"
    return value_text(result, lane, letter)


def result_row(
    name: str, result: Result, detail: WarpDetail, lane: int, section: str, letter: str | None
) -> LaneRow:
    """An expression's value in 32 lanes."""
    active, valid = detail.row.active, detail.row.valid
    cells = tuple(_cell(result, i, letter) if result.valid[i] else "-" for i in range(32))
    known = sum(1 << i for i in range(32) if result.valid[i])
    if isinstance(result.type, Scalar) and result.type.kind == "b":
        mask = sum(1 << i for i in range(32) if result.valid[i] and result.values[i])
        made = _mask_row(name, section, mask, active & known, lane, 0, -1)
        return replace(made, valid=known, cells=cells)
    values: np.ndarray[Any, Any] = np.asarray(result.values)
    kind = values.dtype.kind if values.dtype.kind in "iuf" else "u"
    if kind == "u" and values.dtype.itemsize == 4:
        kind = guess_kind(values.astype(np.uint32)).replace("f", "u")
        values = as_kind(values.astype(np.uint32), kind)
    if values.dtype.kind not in "iuf" or values.shape != (32,):
        form = shape(values, active & known, valid, kind)
    else:
        form = _shape(values, kind, active & known, valid)
    return LaneRow(name, section, cells[lane], form, valid=known, cells=cells, why=result.why or "")


def error_row(name: str, why: str) -> LaneRow:
    """An expression that has no value now."""
    return LaneRow(name, "watch", "-", LaneShape(why, (0,) * 32, True, 0, "i"), valid=0, why=why)


def with_changes(row: LaneRow, changed: int) -> LaneRow:
    """The same row with the lanes that changed."""
    return replace(row, changed=changed)
