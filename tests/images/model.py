"""A plain model of surface accesses on natural-order bytes, written from the text of the rules.

The surface is a byte array of shape (layers, depth, height, row bytes); lanes act in ascending
order.  Nothing here knows of layouts, so that an access through the emulator and a read-back in
natural order must agree with it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

AXES = {"1D": "x", "1D_BUFFER": "x", "1D_ARRAY": "xl", "2D": "xy", "2D_ARRAY": "xyl", "3D": "xyz"}
BYTES = {
    "U8": 1, "S8": 1, "U16": 2, "S16": 2, "32": 4, "64": 8, "128": 16, "U32": 4, "S32": 4, "U64": 8,
    "S64": 8, "F32": 4, "F16x2": 4, "SD32": 4, "SD64": 8,
}  # fmt: skip

ROWS = {
    "ADD": "U32 S32 SD32 U64 F32 F16x2",
    "MIN": "U32 S32 SD32 U64 S64 SD64 F16x2",
    "MAX": "U32 S32 SD32 U64 S64 SD64 F16x2",
    "INC": "U32",
    "DEC": "U32",
    "AND": "U32 S32 SD32 U64",
    "OR": "U32 S32 SD32 U64",
    "XOR": "U32 S32 SD32 U64",
}
"""The reduction table: operation -> sizes."""


class Outside(Exception):  # noqa: N818 - what the clamp is about
    """A lane is outside and the clamp is TRAP."""


class Misaligned(Exception):  # noqa: N818
    """x is inside and no multiple of the size."""


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def coordinates(dim: str, clamp: str, registers: Sequence[int]) -> dict[str, int]:
    """Registers as coordinates."""
    out = {}
    for axis, value in zip(AXES[dim], registers, strict=True):
        if axis == "l":
            out[axis] = value & 0xFFFF
        elif dim == "1D_BUFFER" and clamp != "NEAR":
            out[axis] = value
        else:
            out[axis] = signed(value, 32)
    return out


def locate(
    shape: Sequence[int], dim: str, clamp: str, registers: Sequence[int], size: int, ba: bool
) -> tuple[int, int, int, int] | None:
    """(layer, z, y, x byte) of an access; None where it does not happen."""
    at = {"x": 0, "y": 0, "z": 0, "l": 0} | coordinates(dim, clamp, registers)
    if not ba:
        at["x"] *= size
    last = {"l": shape[0] - 1, "z": shape[1] - 1, "y": shape[2] - 1, "x": shape[3] - size}
    outside = [a for a in AXES[dim] if not 0 <= at[a] <= last[a]]
    if outside and clamp == "TRAP":
        raise Outside
    if outside and (clamp == "IGN" or last["x"] < 0):
        return None
    if outside:
        at = {a: min(max(v, 0), last[a]) for a, v in at.items()}
        at["x"] -= at["x"] % size
    if at["x"] % size:
        raise Misaligned
    return at["l"], at["z"], at["y"], at["x"]


def _f32(bits: int) -> np.float32:
    value = np.uint32(bits).view(np.float32)
    return np.float32(np.copysign(0, value)) if abs(value) < np.finfo(np.float32).tiny else value


def _add_f32(m: int, b: int) -> int:
    with np.errstate(all="ignore"):
        total = _f32(m) + _f32(b)
    if np.isnan(total):
        return 0x7FFFFFFF
    return int(np.float32(_f32(int(total.view(np.uint32)))).view(np.uint32))


def _halves(operate: Callable[[np.float16, np.float16], np.float16], m: int, b: int) -> int:
    out = 0
    for shift in (0, 16):
        x, y = (np.uint16(v >> shift & 0xFFFF).view(np.float16) for v in (m, b))
        with np.errstate(all="ignore"):
            half = np.float16(operate(x, y))
        out |= (0x7FFF if np.isnan(half) else int(half.view(np.uint16))) << shift
    return out


def _pick(smaller: bool) -> Callable[[np.float16, np.float16], np.float16]:
    def pick(x: np.float16, y: np.float16) -> np.float16:
        if np.isnan(x) or np.isnan(y):
            return y if np.isnan(x) else x
        if x == y:  # the zeros: -0 is below +0
            return x if bool(np.signbit(x)) == smaller else y
        return x if (x < y) == smaller else y

    return pick


def update(op: str, size: str, m: int, b: int, header_signed: bool = False) -> int:
    """M after `op` of `size` with operand b."""
    bits = 8 * BYTES[size]
    top = (1 << bits) - 1
    if size == "F32":
        return _add_f32(m, b)
    if size == "F16x2":
        add: Any = lambda x, y: x + y  # noqa: E731
        return _halves({"ADD": add, "MIN": _pick(True), "MAX": _pick(False)}[op], m, b)
    as_signed = size[0] == "S" and (size[:2] != "SD" or header_signed)
    order: Any = (lambda v: signed(v, bits)) if as_signed else int
    return {
        "ADD": lambda: (m + b) & top,
        "MIN": lambda: min(m, b, key=order),
        "MAX": lambda: max(m, b, key=order),
        "INC": lambda: 0 if m >= b else m + 1,
        "DEC": lambda: b if m == 0 or m > b else m - 1,
        "AND": lambda: m & b,
        "OR": lambda: m | b,
        "XOR": lambda: m ^ b,
        "EXCH": lambda: b,
    }[op]()


@dataclass
class Model:
    """A surface's bytes, shape (layers, depth, height, row bytes)."""

    data: Any
    header_signed: bool = False

    def read(self, place: tuple[int, int, int, int], size: int) -> int:
        layer, z, y, x = place
        return int.from_bytes(self.data[layer, z, y, x : x + size].tobytes(), "little")

    def write(self, place: tuple[int, int, int, int], size: int, value: int) -> None:
        layer, z, y, x = place
        raw = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
        self.data[layer, z, y, x : x + size] = np.frombuffer(raw, np.uint8)

    def places(
        self, dim: str, clamp: str, coords: Sequence[Sequence[int]], size: int, ba: bool
    ) -> list[tuple[int, int, int, int] | None]:
        """Where each lane goes; raises before anything happens."""
        shape = self.data.shape
        found, wrong = [], False
        for lane in coords:
            try:
                found.append(locate(shape, dim, clamp, lane, size, ba))
            except Misaligned:
                wrong = True
        if wrong:
            raise Misaligned
        return found

    def reduce(
        self, op: str, size: str, places: Sequence[Any], operands: Sequence[int]
    ) -> list[int]:
        """Apply a reduction; the old values."""
        n = BYTES[size]
        old = []
        for place, operand in zip(places, operands, strict=True):
            if place is None:
                old.append(0)
                continue
            old.append(self.read(place, n))
            self.write(place, n, update(op, size, old[-1], operand, self.header_signed))
        return old


def f16(value: float) -> int:
    """An f16's bits."""
    return int(struct.unpack("<H", struct.pack("<e", value))[0])
