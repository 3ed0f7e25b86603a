"""Global memory: the 16 spaces g0..g15, linear or tiled 2D.

Source: NV50 CUDA notes, "Global memory".  The scramble by tile flags 0x7000 that the notes
mention belongs to the storage type behind the virtual memory and is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpudbg.bits import Field
from gpudbg.errors import UsageError

from .errors import DataError

SPACES = 16
MAX_PITCH = 0x800000
UNIT = 0x100
MAX_TILE_MODE = 5
TILE_WIDTH_LOG = 6

MODE_LINEAR = Field(0, 0)
MODE_TILE_WIDTH = Field(7, 4)
MODE_TILE = Field(11, 8)
X, Y = Field(15, 0), Field(31, 16)


def check_pitch(value: int) -> None:
    """Raise DataError unless a GLOBAL_PITCH value is valid."""
    if value % UNIT or value > MAX_PITCH:
        raise DataError(
            "INVALID_VALUE", f"pitch 0x{value:x} is not a multiple of 0x100 up to 0x800000"
        )


def check_limit(value: int, mode: int) -> None:
    """Raise DataError unless a GLOBAL_LIMIT value is valid for a GLOBAL_MODE.

    Only a linear limit is a size less 1; 0 closes a space.
    """
    if MODE_LINEAR.get(mode) and value and (value + 1) % UNIT:
        raise DataError("INVALID_VALUE", f"limit 0x{value:x} is not a multiple of 0x100, less 1")


def check_mode(value: int) -> None:
    """Raise DataError unless a GLOBAL_MODE value is valid."""
    if value & ~(MODE_LINEAR.mask | MODE_TILE_WIDTH.mask | MODE_TILE.mask):
        raise DataError("INVALID_BITFIELD", f"mode 0x{value:x} has bits outside its fields")
    if MODE_TILE_WIDTH.get(value):
        raise DataError("INVALID_VALUE", f"mode 0x{value:x}: bits 7:4 must be 0")
    if MODE_TILE.get(value) > MAX_TILE_MODE:
        raise DataError("INVALID_VALUE", f"tile mode {MODE_TILE.get(value)} is not 0 to 5")


@dataclass(frozen=True, slots=True)
class GlobalReference:
    """Where one g[] reference goes.

    Args:
        reg: the 32-bit address in the register.
        offset: from the space's base.
        address: base + offset.
        out_of_bounds: beyond the limit; the machine refuses the access.
        x, y: the parts of `reg` for a 2D surface, None for linear.
    """

    reg: int
    offset: int
    address: int
    out_of_bounds: bool
    x: int | None = None
    y: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Everything by name."""
        return {
            "reg": self.reg,
            "reg_hex": f"0x{self.reg:08x}",
            "x": self.x,
            "y": self.y,
            "offset": self.offset,
            "offset_hex": f"0x{self.offset:x}",
            "address": self.address,
            "address_hex": f"0x{self.address:010x}",
            "out_of_bounds": self.out_of_bounds,
        }


@dataclass(frozen=True, slots=True)
class GlobalSpace:
    """One space as its five methods set it.

    Args:
        base: 64-bit address.
        pitch: bytes from one row of tiles to the next; 2D only.
        limit: highest address, or y << 16 | x limits for 2D.
        mode: GLOBAL_MODE.
    """

    base: int = 0
    pitch: int = 0
    limit: int = 0
    mode: int = 0

    def check(self) -> None:
        """Raise DataError for a value its method would refuse."""
        check_pitch(self.pitch)
        check_mode(self.mode)
        check_limit(self.limit, self.mode)

    @property
    def linear(self) -> bool:
        """Linear buffer, else a 2D surface."""
        return bool(MODE_LINEAR.get(self.mode))

    @property
    def tile_shift(self) -> int:
        """log2 of a tile's height in lines."""
        return MODE_TILE.get(self.mode) + 2

    def access(self, reg: int) -> GlobalReference:
        """Where `g[reg]` goes."""
        if not 0 <= reg < 1 << 32:
            raise UsageError(f"g[0x{reg:x}] does not fit 32 bits")
        if self.linear:
            return GlobalReference(reg, reg, self.base + reg, reg > self.limit)
        x, y, shift = X.get(reg), Y.get(reg), self.tile_shift
        line = y & ((1 << shift) - 1)
        within = x & 0x3F
        offset = within + (line << TILE_WIDTH_LOG) + ((x >> TILE_WIDTH_LOG) << (6 + shift))
        offset += (y >> shift) * self.pitch
        outside = y > Y.get(self.limit) or x > X.get(self.limit)
        return GlobalReference(reg, offset, self.base + offset, outside, x, y)

    def reg_of(self, address: int) -> int:
        """The g[] address whose access goes to `address`: the inverse of `access`.

        Raises:
            UsageError: no access of this space reaches the address.
        """
        offset = address - self.base
        if self.linear:
            reg = offset
        else:
            row, rest = divmod(offset, self.pitch) if self.pitch else (0, offset)
            shift = self.tile_shift
            tile, rest = divmod(rest, 1 << (6 + shift))
            line, within = divmod(rest, 1 << TILE_WIDTH_LOG)
            x, y = tile << TILE_WIDTH_LOG | within, row << shift | line
            if x > 0xFFFF or y > 0xFFFF:
                raise UsageError(f"no g[] address reaches 0x{address:x}")
            reg = y << 16 | x
        if not 0 <= reg < 1 << 32 or self.access(reg).out_of_bounds:
            raise UsageError(f"no g[] address within the limit reaches 0x{address:x}")
        return reg

    def notes(self) -> list[str]:
        """What in the setup makes addresses ambiguous."""
        if self.linear:
            return []
        rows = Y.get(self.limit) >> self.tile_shift
        width = ((X.get(self.limit) >> TILE_WIDTH_LOG) + 1) << (6 + self.tile_shift)
        if rows and width > self.pitch:
            return [f"rows of tiles overlap: a row takes 0x{width:x} bytes, the pitch is smaller"]
        return []

    def to_json(self) -> dict[str, Any]:
        """The setup by name."""
        data: dict[str, Any] = {
            "base": self.base,
            "base_hex": f"0x{self.base:010x}",
            "kind": "linear" if self.linear else "2d",
            "pitch": self.pitch,
            "limit": self.limit,
            "mode": self.mode,
        }
        if not self.linear:
            data |= {"tile_mode": MODE_TILE.get(self.mode), "tile_lines": 1 << self.tile_shift}
        return data
