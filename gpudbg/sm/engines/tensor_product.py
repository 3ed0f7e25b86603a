"""What a tensor core instruction computes: its fragments to matrices, the product, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpudbg.architectures import age
from gpudbg.dataclass import dataclass
from gpudbg.mem.lanes import U32
from gpudbg.sm.engines import numeric, tensor
from gpudbg.sm.engines.tensor import Numbers, Raw
from gpudbg.sm.fragments import I64s, Multiplication, scale_places, stored_columns


@dataclass(frozen=True, slots=True)
class Scales:
    """Scale factors of A and B.

    Attributes:
        words: the registers that hold them.
        chosen: which bytes and threads of a quad count (documented; the packing is measured):
            byte of A in bits 0, 1, thread pair in bit 2, byte of B in 3, 4, thread in 5, 6.
        kind: E8 or UE4M3.
        count: factors of a row of A, a column of B.
    """

    words: tuple[U32, U32]
    chosen: int
    kind: str = "E8"
    count: int = 1

    def places(self, side: int) -> tuple[Raw, I64s, I64s]:
        """Raw factors, the lanes and the bytes of their registers that hold them: (16 rows of A,
        count), or (8 columns of B, count)."""
        byte = self.chosen >> (3 * side) & 3
        thread = self.chosen >> 5 & 3 if side else self.chosen >> 2 & 1
        lanes, bytes_ = np.meshgrid(
            scale_places(side == 0, thread), np.arange(byte, byte + self.count), indexing="ij"
        )
        held = np.broadcast_to(self.words[side], 32)[lanes]
        raw: Raw = held >> (8 * bytes_).astype(np.uint32) & np.uint32(0xFF)
        return raw, lanes, bytes_


def scales_of(op: str, modifiers: Sequence[str], words: tuple[U32, U32], chosen: int) -> Scales:
    """The scale factors of a form `.SF`."""
    kind = "UE4M3" if "UE4M3" in modifiers else "E8"
    count = 4 if "4X" in modifiers else 2 if op == "OMMA" else 1
    return Scales(words, chosen, kind, count)


def product(
    op: str,
    modifiers: Sequence[str],
    arch: str,
    shape: Multiplication,
    fragments: Sequence[Sequence[U32]],
    metadata: U32 | None = None,
    scales: Scales | None = None,
) -> list[U32]:
    """The registers of D = A * B + C.

    Args:
        fragments: the registers of A, B and C, as `shape` lays them out.
        metadata: where A is sparse, which columns its stored elements are of.
        scales: factors of chunks of k.
    """
    what = Product(op, tuple(modifiers), age(arch)[0], shape, scales)
    matrices = []
    for operand, words in zip((shape.a, shape.b, shape.c), fragments, strict=True):
        assert operand.layout is not None
        matrices.append(operand.layout.matrix(words))
    left, right, held = matrices
    if metadata is not None:
        # Each row of A selects its own rows of B for its stored elements.
        columns = stored_columns(shape.kinds[0], left.shape[2], metadata, shape.selector)
        right = right[:, columns]
    assert shape.d.layout is not None
    made = [what.of(*parts) for parts in zip(left, right, held, strict=True)]
    return shape.d.layout.words(np.stack(made))


@dataclass(frozen=True, slots=True)
class Product:
    """One instruction's arithmetic on raw matrices."""

    op: str
    modifiers: tuple[str, ...]
    arch: int
    shape: Multiplication
    scales: Scales | None

    def of(
        self, left: npt.NDArray[Any], right: npt.NDArray[Any], held: npt.NDArray[Any]
    ) -> npt.NDArray[Any]:
        """A * B + C."""
        kinds = self.shape.kinds
        if self.op == "DMMA":
            return self._doubles(left, right, held)
        held = held.astype(np.uint32)
        if self.op == "BMMA":
            return tensor.multiply_bits(left, right, held, "XOR" in self.modifiers)
        if self.op == "IMMA":
            whole = tensor.integers(left, kinds[0]), tensor.integers(right, kinds[1])
            return tensor.multiply_integers(*whole, held, "SAT" in self.modifiers)
        x, y = tensor.numbers(left, kinds[0]), tensor.numbers(right, kinds[1])
        x = x.negated() if self.shape.a.negative else x
        y = y.negated() if self.shape.b.negative else y
        if self.scales is not None:
            x, y = self._scaled(self.scales, x, y)
        unit = tensor.VOLTA if self.shape.step >= 0 else tensor.unit_of(self.arch)
        bits = tensor.NARROW_BITS if self.op == "QMMA" and self.arch < 100 else None
        half_in, half_out = self.shape.addend == "F16", self.shape.result == "F16"
        made = tensor.multiply_numbers(x, y, held, half_in, half_out, unit, kinds[0], bits)
        return tensor.finite(made, half_out) if "SATFINITE" in self.modifiers else made

    def _scaled(self, scales: Scales, x: Numbers, y: Numbers) -> tuple[Numbers, Numbers]:
        """A and B times the factors of their chunks of k.

        Stored elements of sparse A, and the rows of B beside them, keep the order of chunks.
        """
        of_a, of_b = (tensor.scale_numbers(scales.places(n)[0], scales.kind) for n in (0, 1))
        each = x.sign.shape[-1] // scales.count
        of_a = of_a.moved(lambda v: np.repeat(v, each, axis=1))
        of_b = of_b.moved(lambda v: np.repeat(v.T, each, axis=0))
        return x.times(of_a), y.times(of_b)

    def _doubles(
        self, left: npt.NDArray[Any], right: npt.NDArray[Any], held: npt.NDArray[Any]
    ) -> npt.NDArray[Any]:
        """f64: a chain of fused multiply-adds, k ascending."""
        shape = self.shape
        left, right, held = (
            _signed(raw, operand.negative, operand.absolute)
            for raw, operand in zip((left, right, held), (shape.a, shape.b, shape.c), strict=True)
        )
        rows, columns = held.shape
        for k in range(left.shape[1]):
            x = np.broadcast_to(left[:, k : k + 1], (rows, columns)).reshape(-1).copy()
            y = np.broadcast_to(right[k : k + 1], (rows, columns)).reshape(-1).copy()
            z = numeric.dfma(x, y, held.reshape(-1).copy(), "RN")
            held = np.asarray(z).view(np.uint64).reshape(rows, columns)
        return held


def _signed(raw: npt.NDArray[Any], negative: bool, absolute: bool) -> npt.NDArray[Any]:
    """Raw doubles with an operand's signs applied."""
    sign = np.uint64(1 << 63)
    raw = raw & ~sign if absolute else raw
    return raw ^ sign if negative else raw
