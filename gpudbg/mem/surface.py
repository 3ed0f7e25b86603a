"""Surface layouts: from coordinates to byte offsets and back.

Pitch, one-dimensional and block-linear surfaces.  A block-linear surface is made of GOBs of 64
bytes by 8 rows; a block is one GOB wide, 2^n GOBs high and 2^m deep; blocks follow one another
along x, then y, then z, layer by layer.  Inside a GOB there are two views of the 512 bytes: `vm`,
row after row, what an access through virtual addresses sees; and `raw16bx2`, the order of sectors
in memory (source: `envytools` g80-surface, Tegra X1 manual).

Everything takes integers or NumPy arrays of int64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass
from gpudbg.regs.texheader import TextureHeader

GOB_WIDTH = 64
GOB_ROWS = 8
GOB_BYTES = GOB_WIDTH * GOB_ROWS

View = Literal["vm", "raw16bx2"]
VIEWS: tuple[View, ...] = ("vm", "raw16bx2")
Int = Any
"""An int, or an int64 array."""


def gob_vm(x: Int, y: Int) -> Int:
    """Offset in a GOB as virtual addresses see it."""
    return GOB_WIDTH * y + x


def gob_raw(x: Int, y: Int) -> Int:
    """Offset in a GOB in sector order: two 16-byte columns of 2 rows, 16Bx2."""
    return (x // 32) * 256 + (y // 2) * 64 + (x % 32 // 16) * 32 + (y % 2) * 16 + x % 16


def gob_vm_inverse(n: Int) -> tuple[Int, Int]:
    """(x, y) of an offset in a GOB, view `vm`."""
    return n % GOB_WIDTH, n // GOB_WIDTH


def gob_raw_inverse(n: Int) -> tuple[Int, Int]:
    """(x, y) of an offset in a GOB, view `raw16bx2`."""
    x = n // 256 * 32 + n % 64 // 32 * 16 + n % 16
    return x, n % 256 // 64 * 2 + n % 32 // 16


GOB_VIEWS: dict[View, tuple[Callable[[Int, Int], Int], Callable[[Int], tuple[Int, Int]]]] = {
    "vm": (gob_vm, gob_vm_inverse),
    "raw16bx2": (gob_raw, gob_raw_inverse),
}


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


@dataclass(frozen=True, slots=True)
class SurfacePlace:
    """Where a byte lies, step by step.

    Attributes:
        x_bytes, y, z, layer: coordinates; x in bytes from the row's start.
        offset: bytes from the surface's start.
        block: index of the block and (x, y, z) of it in blocks; None unless block linear.
        gob: index of the GOB in its block.
        gob_xy: byte column and row in the GOB.
        inside: the byte belongs to a texel; False in padding.
    """

    x_bytes: int
    y: int
    z: int
    layer: int
    offset: int
    block: tuple[int, tuple[int, int, int]] | None
    gob: int
    gob_xy: tuple[int, int]
    inside: bool


@dataclass(frozen=True, slots=True)
class SurfaceLayout:
    """The layout of one mip level of a surface.

    Attributes:
        kind: ONE_D_BUFFER, PITCH or BLOCKLINEAR.
        width, height, depth, layers: texels along x, y, z, and array layers.
        texel: bytes of a texel.
        pitch: bytes from row to row (PITCH).
        height_log2, depth_log2: GOBs of a block (BLOCKLINEAR).
        start: offset of this level in its layer.
        stride: bytes from layer to layer; 0 means the level's own size.
    """

    kind: str
    width: int
    height: int = 1
    depth: int = 1
    layers: int = 1
    texel: int = 4
    pitch: int = 0
    height_log2: int = 0
    depth_log2: int = 0
    start: int = 0
    stride: int = 0

    # ---- sizes -------------------------------------------------------------------------

    @property
    def row_bytes(self) -> int:
        """Bytes of a row's texels."""
        return self.width * self.texel

    @property
    def block_bytes(self) -> int:
        """Bytes of a block; 0 unless block linear."""
        blocks = self.kind == "BLOCKLINEAR"
        return GOB_BYTES << self.height_log2 + self.depth_log2 if blocks else 0

    @property
    def blocks(self) -> tuple[int, int, int]:
        """Blocks along x, y and z (block linear)."""
        return (
            _ceil(self.row_bytes, GOB_WIDTH),
            _ceil(self.height, GOB_ROWS << self.height_log2),
            _ceil(self.depth, 1 << self.depth_log2),
        )

    @property
    def level_bytes(self) -> int:
        """Bytes of this level of one layer."""
        if self.kind == "ONE_D_BUFFER":
            return self.row_bytes
        if self.kind == "PITCH":
            return self.pitch * self.height
        x, y, z = self.blocks
        return x * y * z * self.block_bytes

    @property
    def layer_bytes(self) -> int:
        """Bytes from one array layer to the next."""
        return self.stride or self.level_bytes

    @property
    def nbytes(self) -> int:
        """Bytes of the whole surface up to this level's end."""
        return (self.layers - 1) * self.layer_bytes + self.start + self.level_bytes

    # ---- coordinates to offsets --------------------------------------------------------

    def offset(
        self, x_bytes: Int, y: Int = 0, z: Int = 0, layer: Int = 0, view: View = "vm"
    ) -> Int:
        """Byte offset of coordinates inside the surface."""
        base = layer * self.layer_bytes + self.start if self.layers > 1 else self.start
        if self.kind == "ONE_D_BUFFER":
            return base + x_bytes
        if self.kind == "PITCH":
            return base + y * self.pitch + x_bytes
        inner = GOB_VIEWS[view][0](x_bytes & (GOB_WIDTH - 1), y & (GOB_ROWS - 1))
        nx, ny, _ = self.blocks
        high, deep = self.height_log2, self.depth_log2
        block = (y >> (high + 3)) * nx + (x_bytes >> 6)
        gob = y >> 3 & ((1 << high) - 1)
        if self.depth > 1:
            block = block + (z >> deep) * (ny * nx)
            gob = gob + ((z & ((1 << deep) - 1)) << high)
        return base + block * (GOB_BYTES << (high + deep)) + gob * GOB_BYTES + inner

    def place(self, offset: int, view: View = "vm") -> SurfacePlace | None:
        """What lies at a byte offset; None before or after the surface (and in other levels)."""
        if not 0 <= offset:
            return None
        layer, rest = divmod(offset, self.layer_bytes)
        rest -= self.start
        if layer >= self.layers or not 0 <= rest < self.level_bytes:
            return None
        if self.kind != "BLOCKLINEAR":
            y, x = divmod(rest, self.pitch or self.row_bytes)
            return SurfacePlace(x, y, 0, layer, offset, None, 0, (0, 0), x < self.row_bytes)
        index, rest = divmod(rest, self.block_bytes)
        gob, inner = divmod(rest, GOB_BYTES)
        gx, gy = GOB_VIEWS[view][1](inner)
        nx, ny, _ = self.blocks
        block = (index % nx, index // nx % ny, index // (nx * ny))
        x = block[0] * GOB_WIDTH + gx
        y = (block[1] << self.height_log2) * GOB_ROWS
        y += gob % (1 << self.height_log2) * GOB_ROWS + gy
        z = (block[2] << self.depth_log2) + (gob >> self.height_log2)
        inside = x < self.row_bytes and y < self.height and z < self.depth
        return SurfacePlace(x, y, z, layer, offset, (index, block), gob, (gx, gy), inside)

    # ---- whole surfaces ----------------------------------------------------------------

    def byte_map(self, view: View = "vm") -> npt.NDArray[np.int64]:
        """Offsets of all texels' bytes: shape (layers, depth, height, row_bytes)."""
        layer, z, y, x = np.ix_(
            *(np.arange(n) for n in (self.layers, self.depth, self.height, self.row_bytes))
        )
        shape = (self.layers, self.depth, self.height, self.row_bytes)
        return np.broadcast_to(self.offset(x, y, z, layer, view), shape)

    def read(self, data: npt.NDArray[np.uint8], view: View = "vm") -> npt.NDArray[np.uint8]:
        """The texels' bytes in natural order: shape (layers, depth, height, row_bytes)."""
        return data[self.byte_map(view)]

    def write(
        self, data: npt.NDArray[np.uint8], texels: npt.NDArray[np.uint8], view: View = "vm"
    ) -> None:
        """Put texels in natural order into the surface; padding keeps its bytes."""
        where = self.byte_map(view)
        data[where] = texels.reshape(where.shape)


def fitting_block(height: int, depth: int) -> tuple[int, int]:
    """(height, depth) log2 of the block a driver would pick: as large as useful, 16 GOBs high."""
    high = next(n for n in range(5) if n == 4 or GOB_ROWS << n >= height)
    deep = next(n for n in range(6) if n == 5 or 1 << n >= depth)
    return high, deep


def layout_of(header: TextureHeader, level: int = 0) -> SurfaceLayout:
    """The layout of one mip level of a header's surface.

    Smaller levels shrink the block while half of it covers the level (envytools: auto-sizing); a
    layer's levels follow one another and its size is rounded up to level 0's block.
    """
    top = _level(header, 0)
    if header.layout != "BLOCKLINEAR" or not header.max_mip_level:
        return top
    start, found = 0, top
    for n in range(header.max_mip_level + 1):
        sized = _level(header, n)
        if n == level:
            found = replace(sized, start=start)
        start += sized.level_bytes
    return replace(found, stride=_ceil(start, top.block_bytes) * top.block_bytes)


def _level(header: TextureHeader, level: int) -> SurfaceLayout:
    axes = header.axes
    height = max((header.height if "y" in axes else 1) >> level, 1)
    depth = max(header.slices >> level, 1)
    high, deep = header.block_height_log2, header.block_depth_log2
    if level:
        while high and GOB_ROWS << (high - 1) >= height:
            high -= 1
        while deep and 1 << (deep - 1) >= depth:
            deep -= 1
    return SurfaceLayout(
        kind=header.layout,
        width=max(header.width >> level, 1),
        height=height,
        depth=depth,
        layers=header.layers,
        texel=header.format.bytes,
        pitch=header.pitch,
        height_log2=high,
        depth_log2=deep,
    )
