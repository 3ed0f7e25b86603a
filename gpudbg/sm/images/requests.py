"""Operands of texture instructions: which registers hold coordinates, level, offsets, reference.

The vector forms (TEX, TLD, TLD4, TXD) keep coordinates in one vector and the rest in another; the
short forms (TEXS, TLDS, TLD4S) spread one list over two registers pairs.  Source: ptxas output;
order of rarely met words from public shader translators.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from functools import lru_cache
from typing import Any

import numpy as np

from gpudbg.dataclass import dataclass
from gpudbg.mem.lanes import U32
from gpudbg.sm.engines.step import StepEngine
from gpudbg.sm.images.vectors import read_rows

SHORT = ("TEXS", "TLDS", "TLD4S")
WITH_LEVEL = ("LL", "LB", "LLA", "LBA")
AXES = {"1D": "x", "2D": "xy", "3D": "xyz", "CUBE": "xyz"}


@dataclass(slots=True)
class ImageRequest:
    """What a texture instruction asks for, lane by lane.

    Attributes:
        dim: 1D, 2D, 3D or CUBE.
        coords: register rows by axis letter.
        layer: array layer row, or None.
        handle: row with bindless handles, or None.
        lod: "", LZ, LL, LB, LLA or LBA; `level` is its row.
        offsets: texel offsets by axis letter; four lists of them with PTP.
        points: with PTP the four (x, y) offset pairs.
        reference: depth reference row, or None.
        gradients: rows (dx, dy) by axis letter (TXD).
    """

    dim: str
    coords: dict[str, U32]
    layer: U32 | None = None
    handle: U32 | None = None
    lod: str = ""
    level: U32 | None = None
    offsets: dict[str, Any] = field(default_factory=dict)
    points: list[tuple[Any, Any]] = field(default_factory=list)
    reference: U32 | None = None
    gradients: dict[str, tuple[U32, U32]] = field(default_factory=dict)


def _rows(engine: StepEngine, operand: Any) -> list[U32]:
    """The registers of a vector operand."""
    return read_rows(engine, operand.index, operand.count)


def _signed(word: U32, low: int, width: int) -> Any:
    part = word >> np.uint32(low) & np.uint32((1 << width) - 1)
    return (part.astype(np.int64) ^ (1 << width - 1)) - (1 << width - 1)


def small_offsets(word: U32) -> dict[str, Any]:
    """Offsets of TEX and TLD: signed 4 bits at 0, 4 and 8."""
    return {axis: _signed(word, 4 * n, 4) for n, axis in enumerate("xyz")}


def gather_offsets(word: U32) -> dict[str, Any]:
    """Offsets of TLD4: signed 6 bits at 0, 8 and 16."""
    return {axis: _signed(word, 8 * n, 6) for n, axis in enumerate("xyz")}


def read(engine: StepEngine, insn: Any) -> ImageRequest:
    """The operands of TEX, TEXS, TLD, TLDS, TLD4, TLD4S or TXD."""
    if insn.op == "TXD":
        return _gradient(engine, insn)
    m = insn.m
    dim = m["dim"] or "2D"
    array = dim.startswith("ARRAY_")
    plain = dim.removeprefix("ARRAY_")
    a, b = _rows(engine, insn.o["a"]), _rows(engine, insn.o["b"])
    made = ImageRequest(plain, {}, lod=m["lod"])
    if insn.op in SHORT or m.get("spread"):
        words: Iterator[U32] = iter([*a, *b])
        _coordinates(made, array, words)
    else:
        _coordinates(made, array, iter(a))
        words = iter(b)
    if insn.op not in SHORT and m["b"]:
        # `.SCR.B` has it behind the coordinates, too (ptxas' -G code for a fetch by handle).
        made.handle = next(words)
    _extras(made, insn, words)
    return made


def _coordinates(made: ImageRequest, array: bool, words: Iterator[U32]) -> None:
    if array:
        made.layer = next(words)
    for axis in AXES[made.dim]:
        made.coords[axis] = next(words)


def _extras(made: ImageRequest, insn: Any, words: Iterator[U32]) -> None:
    """Level, level clamp, offsets, depth reference, sample, in the order of the registers."""
    m = insn.m
    if made.lod in WITH_LEVEL:
        made.level = next(words)
    if m["lc"]:
        next(words)
    unpack = gather_offsets if insn.op.startswith("TLD4") else small_offsets
    if m["aoffi"]:
        made.offsets = unpack(next(words))
    if m["ptp"]:
        for word in (next(words), next(words)):
            made.points += [(_signed(word, low, 6), _signed(word, low + 8, 6)) for low in (0, 16)]
    if m["dc"]:
        made.reference = next(words)


def _gradient(engine: StepEngine, insn: Any) -> ImageRequest:
    """TXD: [handle], coordinates, layer and offsets in one word; gradients interleaved."""
    m = insn.m
    array = m["dim"].startswith("ARRAY_")
    plain = m["dim"].removeprefix("ARRAY_")
    words = iter(_rows(engine, insn.o["a"]))
    made = ImageRequest(plain, {})
    if m["b"]:
        made.handle = next(words)
    for axis in AXES[plain]:
        made.coords[axis] = next(words)
    if array or m["aoffi"]:
        packed = next(words)
        if array:
            made.layer = packed & np.uint32(0xFFFF)
        if m["aoffi"]:
            made.offsets = small_offsets(packed >> np.uint32(16))
    slopes = _rows(engine, insn.o["b"])
    for n, axis in enumerate(AXES[plain]):
        made.gradients[axis] = (slopes[2 * n], slopes[2 * n + 1])
    return made


@lru_cache(maxsize=4096)
def half_mode(insn: Any) -> str:
    """How a short form packs its results: "" one register each, RN or RZ two halves in each."""
    name = insn.form.text(insn.word, 8, 0).split(" ")[0]
    if ".F16" not in name:
        return ""
    return "RZ" if ".RTZ" in name else "RN"
