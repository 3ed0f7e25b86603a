"""Launching a grid on the compute object: checks, blocks, warps and lanes, initial contents.

Source: NV50 CUDA notes, "CP".  The notes call two conditions DATA_ERROR (no write to 0x2f8,
too many threads); the other checks follow from the names of the DATA_ERROR codes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gpudbg.bits import Field

from .errors import DataError
from .hierarchy import SHARED_BYTES_PER_MP, Chip, Hierarchy
from .mangle import warp_bits
from .physid import PhysId

PACKED, STRIPED = 1, 2
HEADER_BYTES = 0x10
RUN_ALL_BLOCKS = 0x100
R0_X, R0_Y, R0_Z = Field(15, 0), Field(25, 16), Field(31, 26)


def warp_letter(warp: int) -> str:
    """A block's warp as the notes name it: a, b, ...; a block takes whatever ids are free."""
    high, low = divmod(warp, 26)
    return (chr(ord("a") + high - 1) if high else "") + chr(ord("a") + low)


@dataclass(frozen=True, slots=True)
class WarpMemory:
    """How much per-warp memory a launch finds, for the stack or for l[].

    Args:
        size_log: 0 when the memory is off.
        log_alloc: WARPS_LOG_ALLOC.
        no_clamp: WARPS_NO_CLAMP.
    """

    size_log: int = 0
    log_alloc: int = 0
    no_clamp: int = 0

    def holds(self, warps: int) -> bool:
        """Whether a block of that many warps can run."""
        return not self.size_log or bool(self.no_clamp) or warps <= 1 << warp_bits(self.log_alloc)


@dataclass(frozen=True, slots=True)
class TeslaLaunch:
    """Everything a LAUNCH looks at.

    Args:
        grid: x, y blocks.
        block: x, y, z threads.
        threads: THREADS_PER_BLOCK.
        lanes32: value of method 0x2b8.
        warp_halves: value of method 0x3b8.
        latched: whether 0x2f8 was written after the block's shape.
        shared_size: bytes of shared memory per block.
        grid_id: GRIDID.
        params: the user parameters, as many as are counted.
        registers: CP_REG_ALLOC_TEMP.
        local, stack: the per-warp memories.
        run_mode: value of method 0x384.
    """

    grid: tuple[int, int] = (0, 0)
    block: tuple[int, int, int] = (0, 0, 0)
    threads: int = 0
    lanes32: int = 0
    warp_halves: int = 0
    latched: bool = False
    shared_size: int = 0
    grid_id: int = 0
    params: tuple[int, ...] = ()
    registers: int = 0
    local: WarpMemory = field(default_factory=WarpMemory)
    stack: WarpMemory = field(default_factory=WarpMemory)
    run_mode: int = RUN_ALL_BLOCKS

    @property
    def lanes(self) -> int:
        """Lanes per warp: 32 only when both methods ask for it."""
        return 32 if self.lanes32 == 1 and self.warp_halves == STRIPED else 16

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return -(-self.threads // self.lanes)

    @property
    def block_registers(self) -> int:
        """32-bit registers a block takes."""
        return self.registers * self.lanes * self.warps

    def check(self, chip: Chip) -> None:
        """Raise DataError when the machine would refuse the launch."""
        if not self.latched:
            raise DataError(
                "CP_NO_BLOCKDIM_LATCH", "method 0x2f8 was not set to 1 after the block dimensions"
            )
        x, y, z = self.block
        if self.threads > x * y * z:
            raise DataError(
                "CP_BLOCK_SIZE_MISMATCH",
                f"THREADS_PER_BLOCK {self.threads} > {x}*{y}*{z} = {x * y * z}",
            )
        if not self.threads:
            raise DataError("INVALID_VALUE", "THREADS_PER_BLOCK is 0")
        needed = HEADER_BYTES + 4 * len(self.params)
        if self.params and needed > self.shared_size:
            raise DataError(
                "CP_MORE_PARAMS_THAN_SHARED",
                f"{len(self.params)} parameters need 0x{needed:x} bytes of shared memory, "
                f"SHARED_SIZE is 0x{self.shared_size:x}",
            )
        self._check_room(chip)

    def _check_room(self, chip: Chip) -> None:
        if self.warps > chip.warps_per_mp:
            raise DataError(
                "CP_NOT_ENOUGH_WARPS",
                f"a block of {self.threads} threads needs {self.warps} warps of {self.lanes} "
                f"lanes, an MP has {chip.warps_per_mp}",
            )
        if self.block_registers > chip.registers_per_mp:
            packed = self.warp_halves == PACKED
            raise DataError(
                "CP_NO_REG_SPACE_PACKED" if packed else "CP_NO_REG_SPACE_STRIPED",
                f"a block needs {self.block_registers} registers, an MP has "
                f"{chip.registers_per_mp}",
            )
        for name, memory in (("LOCAL", self.local), ("STACK", self.stack)):
            if not memory.holds(self.warps):
                raise DataError(
                    f"CP_NOT_ENOUGH_{name}_WARPS",
                    f"a block needs {self.warps} warps, {name}_WARPS_LOG_ALLOC "
                    f"{memory.log_alloc} allocates {1 << warp_bits(memory.log_alloc)} "
                    "and NO_CLAMP is 0",
                )

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Block coordinates (x, y) in the order blocks start: by y, then x."""
        width, height = self.grid
        if not self.run_mode & RUN_ALL_BLOCKS:
            width, height = min(width, 1), min(height, 1)
        for y in range(height):
            for x in range(width):
                yield x, y

    @property
    def block_count(self) -> int:
        """Blocks that run."""
        width, height = self.grid
        if not self.run_mode & RUN_ALL_BLOCKS:
            return min(width, 1) * min(height, 1)
        return width * height

    def thread(self, index: int) -> Thread:
        """Thread number `index` of a block, in (z, y, x) order."""
        x, y, _ = self.block
        rest, tx = divmod(index, x)
        tz, ty = divmod(rest, y)
        return Thread((tx, ty, tz), *divmod(index, self.lanes))

    def all_threads(self) -> Iterator[Thread]:
        """The threads of a block that exist, in order."""
        for index in range(self.threads):
            yield self.thread(index)

    @property
    def cut_off(self) -> int:
        """Threads of the block's shape that THREADS_PER_BLOCK leaves out."""
        x, y, z = self.block
        return max(0, x * y * z - self.threads)

    def shared_header(self, block: tuple[int, int]) -> bytes:
        """Shared memory at the start of a block: header and parameters, little-endian."""
        words = (self.grid_id, *self.block, *self.grid, *block)
        head = struct.pack("<8H", *(word & 0xFFFF for word in words))
        return head + struct.pack(f"<{len(self.params)}I", *self.params)

    def resident_blocks(self, chip: Chip) -> int:
        """How many blocks one MP can hold at a time: warps, registers and shared memory."""
        limits = [chip.warps_per_mp // self.warps]
        if self.block_registers:
            limits.append(chip.registers_per_mp // self.block_registers)
        if self.shared_size:
            limits.append(SHARED_BYTES_PER_MP // self.shared_size)
        return max(min(limits), 1)

    def place(self, chip: Chip, units: Hierarchy) -> Iterator[BlockPlacement]:
        """Where the first wave of blocks runs: MPs in turn, lowest free warp ids (modelled)."""
        spots = [(tp, mp) for mp in units.mps for tp in units.tps]
        room = self.resident_blocks(chip) * len(spots)
        for index, block in enumerate(self.blocks()):
            if index == room:
                return
            tp, mp = spots[index % len(spots)]
            first = index // len(spots) * self.warps
            yield BlockPlacement(block, tp, mp, tuple(range(first, first + self.warps)))

    def to_json(self) -> dict[str, Any]:
        """The plan of a launch by name."""
        return {
            "grid": list(self.grid),
            "block": list(self.block),
            "threads_per_block": self.threads,
            "lanes": self.lanes,
            "warps_per_block": self.warps,
            "blocks": self.block_count,
            "cut_off": self.cut_off,
            "shared_size": self.shared_size,
            "grid_id": self.grid_id,
            "params": list(self.params),
        }


@dataclass(frozen=True, slots=True)
class Thread:
    """One thread of a block: coordinates, warp within the block, lane."""

    tid: tuple[int, int, int]
    warp: int
    lane: int

    @property
    def r0(self) -> int:
        """What $r0 holds at start; coordinates are cut to their fields."""
        x, y, z = self.tid
        return R0_Z.put(R0_Y.put(R0_X.put(0, x), y), z)

    def to_json(self) -> dict[str, Any]:
        """Everything by name."""
        return {
            "tid": list(self.tid),
            "warp": self.warp,
            "lane": self.lane,
            "r0": self.r0,
            "r0_hex": f"0x{self.r0:08x}",
        }


@dataclass(frozen=True, slots=True)
class BlockPlacement:
    """Where a block runs: its MP and the warp ids it takes there."""

    block: tuple[int, int]
    tp: int
    mp: int
    warps: tuple[int, ...]

    def physid(self, thread: Thread) -> int:
        """The physid of one of its threads."""
        return PhysId(self.tp, self.mp, self.warps[thread.warp], thread.lane).encode()

    def to_json(self) -> dict[str, Any]:
        """Everything by name."""
        return {
            "block": list(self.block),
            "tp": self.tp,
            "mp": self.mp,
            "warps": list(self.warps),
        }
