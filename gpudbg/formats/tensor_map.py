"""Tensor maps: the 128 bytes that tell a copy where a tensor is, and how a box of it lies in shared
memory.

The driver's encoder (`cuTensorMapEncodeTiled`) is not public; the fields are those that compiled
code of PTX `tensormap.replace` writes (*inferred*).  Bits beside them are kept as they are and have
no meaning here, except in maps that `encode` made: those end with the word `OWN`, and hold the
parameters of im2col copies in places of our own (policy `tensor-map`).
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from gpudbg.dataclass import dataclass

SIZE: Final = 128
OWN: Final = int.from_bytes(b"GDTM", "little")
TYPES: Final = (
    "u8", "u16", "u32", "i32", "u64", "i64", "f16", "f32", "f32.ftz", "f64", "bf16", "tf32",
    "tf32.ftz",
)  # fmt: skip
"""Element types by their PTX numbers."""
TYPE_BYTES: Final = (1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4)
SWIZZLES: Final = ("none", "32B", "64B", "128B")
INTERLEAVES: Final = ("none", "16B", "32B")
FILLS: Final = ("zeros", "nan")
MOST_BOX: Final = 256
MOST_RANK: Final = 5

_TF32: Final = 11
_WORDS = Struct("<32I")
_OWN_AT: Final = 31
_IM2COL_AT: Final = 16


@dataclass(frozen=True, slots=True)
class Im2col:
    """What an im2col copy takes.

    Attributes:
        lower, upper: corners of the bounding box, of dimension 1 on (w, h, d).
        channels, pixels: of a column.
    """

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    channels: int
    pixels: int


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A tensor map; dimensions are innermost first, as the instructions have them.

    Attributes:
        address: of the first element.
        type: number of the element type (`TYPES`).
        sizes: elements along each dimension.
        strides: bytes from an element to the next of dimension 1, 2, ...
        box: elements along each dimension that a copy spans.
        steps: every so many of them are taken (element strides).
        swizzle, interleave, fill: numbers in `SWIZZLES`, `INTERLEAVES`, `FILLS`.
        im2col: for im2col copies.
    """

    address: int
    type: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    steps: tuple[int, ...]
    swizzle: int = 0
    interleave: int = 0
    fill: int = 0
    im2col: Im2col | None = None

    @property
    def rank(self) -> int:
        """Dimensions."""
        return len(self.sizes)

    @property
    def element_bytes(self) -> int:
        """Bytes of an element."""
        return TYPE_BYTES[self.type]

    @property
    def counts(self) -> tuple[int, ...]:
        """Elements of a box along each dimension in shared memory.

        Dimension 0 has no step unless channels are interleaved (*documented*).
        """
        steps = self.steps if self.interleave else (1, *self.steps[1:])
        return tuple(-(-size // step) for size, step in zip(self.box, steps, strict=True))

    def trouble(self) -> str:
        """What is wrong with it, or nothing: limits of the CUDA driver API and the PTX ISA."""
        if not 1 <= self.rank <= MOST_RANK:
            return f"a tensor of {self.rank} dimensions: 1 to {MOST_RANK}"
        unit = 32 if self.interleave == 2 else 16
        if self.address % unit:
            return f"address 0x{self.address:x} is not a multiple of {unit}"
        for n, stride in enumerate(self.strides, 1):
            if stride % unit or not 0 < stride < 1 << 40:
                return f"stride {stride} of dimension {n} is no multiple of {unit} below 2**40"
        for what, numbers, most in (
            ("size", self.sizes, 1 << 32), ("box", self.box, MOST_BOX), ("step", self.steps, 8),
        ):  # fmt: skip
            for n, number in enumerate(numbers):
                if not 1 <= number <= most:
                    return f"{what} {number} of dimension {n}: 1 to {most}"
        return self._box_trouble()

    def _box_trouble(self) -> str:
        row = self.counts[0] * self.element_bytes
        if self.im2col is not None:
            row = self.im2col.channels * self.element_bytes
        if self.interleave and self.rank < 3:
            return "interleaved channels need 3 dimensions or more"
        if not self.interleave and row % 16:
            return f"rows of the box have {row} bytes, no multiple of 16"
        most = 16 << self.swizzle
        if self.swizzle and not self.interleave and row > most:
            return f"rows of the box have {row} bytes, more than the {most} of the swizzle"
        return ""


def encode(given: TensorMap) -> bytes:
    """The 128 bytes of a map."""
    words = [0] * 32
    words[0], words[1] = given.address & 0xFFFF_FFFF, given.address >> 32
    kind = given.type - 4 if given.type >= _TF32 else given.type
    words[2] = (
        given.rank - 1 << 4
        | kind << 7
        | given.interleave << 11
        | given.swizzle << 13
        | given.fill << 15
        | (given.type >= _TF32) << 16
    )
    for n, stride in enumerate(given.strides):
        words[3 + n] = stride >> 4 & 0xFFFF_FFFF
        words[7] |= (stride >> 36 & 15) << 4 * n
    for n, size in enumerate(given.sizes):
        words[8 + n] = size - 1
        words[13] |= given.steps[n] - 1 << 3 * n
    words[13] |= given.box[0] - 1 << 24
    for n, size in enumerate(given.box[1:]):
        words[14] |= size - 1 << 8 * n
    if given.im2col is not None:
        column = given.im2col
        words[_IM2COL_AT] = 1 | column.channels << 8
        words[_IM2COL_AT + 1] = column.pixels
        for n, (low, high) in enumerate(zip(column.lower, column.upper, strict=True)):
            words[_IM2COL_AT + 2 + n] = low & 0xFFFF | (high & 0xFFFF) << 16
    words[_OWN_AT] = OWN
    return _WORDS.pack(*words)


def decode(data: bytes) -> TensorMap:
    """The map that 128 bytes are; `TensorMap.trouble` says whether it makes sense."""
    words = _WORDS.unpack(data[:SIZE])
    head = words[2]
    rank = (head >> 4 & 7) + 1
    kind = head >> 7 & 15
    if head >> 16 & 1 and kind in (7, 8):
        kind += 4
    box = (words[13] >> 24, *(words[14] >> 8 * n & 255 for n in range(4)))
    return TensorMap(
        address=words[0] | words[1] << 32,
        type=min(kind, len(TYPES) - 1),
        sizes=tuple(words[8 + n] + 1 for n in range(min(rank, MOST_RANK))),
        strides=tuple(
            (words[3 + n] | (words[7] >> 4 * n & 15) << 32) << 4 for n in range(min(rank, 5) - 1)
        ),
        box=tuple(size + 1 for size in box[: min(rank, MOST_RANK)]),
        steps=tuple((words[13] >> 3 * n & 7) + 1 for n in range(min(rank, MOST_RANK))),
        swizzle=head >> 13 & 3,
        interleave=min(head >> 11 & 3, 2),
        fill=head >> 15 & 1,
        im2col=_im2col(words, rank),
    )


def _im2col(words: tuple[int, ...], rank: int) -> Im2col | None:
    if words[_OWN_AT] != OWN or not words[_IM2COL_AT] & 1:
        return None
    pairs = [words[_IM2COL_AT + 2 + n] for n in range(max(rank - 2, 0))]
    return Im2col(
        tuple(_signed(pair & 0xFFFF) for pair in pairs),
        tuple(_signed(pair >> 16) for pair in pairs),
        words[_IM2COL_AT] >> 8,
        words[_IM2COL_AT + 1],
    )


def _signed(value: int) -> int:
    return value - (1 << 16) if value >> 15 else value
