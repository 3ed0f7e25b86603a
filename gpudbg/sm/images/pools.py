"""Texture header and sampler pools in device memory, and the driver's descriptor tables.

A handle is `samplerPtr[31:20] | headerPtr[19:0]`; header i is 32 bytes at pool + 32 x i (compute
class SET_TEX_HEADER_POOL_A/B), and an index above MAXIMUM_INDEX (_C) is invalid.  Entry 0 of the
header pool stays empty, so that a handle of 0 is invalid, too.

Compiled code reads some queries (PTX suq.depth, txq.addr_mode_0, ...) from driver tables at
c[0x0][0xb0] and c[0x0][0xc0], one descriptor per header index.  Field offsets are *inferred* from
what ptxas emits; the stride is ours, since the program takes it from a relocation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError
from gpudbg.formats.program import IMAGE_DESCRIPTOR_BYTES
from gpudbg.mem.device import Allocation, DeviceMemory
from gpudbg.regs.texfields import HEADER_BYTES

if TYPE_CHECKING:
    from gpudbg.mem.surface import SurfaceLayout
    from gpudbg.regs.texheader import Sampler, TextureHeader

# Every GPU has pools, few programs have images: what reads headers is imported when one is made.

CAPACITY = 2048
"""Headers and samplers of a GPU (*modelled*: real drivers grow the pools)."""
UNBOUND = 0xFFFFF
"""Header index of a reference that nothing is bound to."""

TEXTURE_FIELDS = {
    "width": 0x00, "height": 0x04, "depth": 0x08, "addr_mode_0": 0x0C, "addr_mode_1": 0x10,
    "addr_mode_2": 0x14, "filter_mode": 0x18, "normalized_coords": 0x1C, "channel_data_type": 0x20,
    "channel_order": 0x24, "array_size": 0x28, "num_mipmap_levels": 0x2C, "num_samples": 0x30,
}  # fmt: skip
SURFACE_FIELDS = {
    "width": 0x00, "height": 0x04, "depth": 0x08, "channel_data_type": 0x0C, "channel_order": 0x10,
    "memory_layout": 0x14, "array_size": 0x1C,
}  # fmt: skip
"""Query -> offset in a descriptor (*inferred*)."""

DESCRIPTOR_TABLES = {0xB0: "texref", 0xC0: "surfref"}
"""Offset in c[0x0] of a 64-bit address -> the pool it is of (*inferred*)."""


@dataclass(frozen=True, slots=True)
class Image:
    """A header as the unit uses it.

    Attributes:
        index: in the pool.
        name: what messages call it.
        header: its content; None where it is invalid.
        levels: layouts of the mip levels.
        why: why it is invalid, or "".
    """

    index: int
    name: str
    header: TextureHeader | None
    levels: tuple[SurfaceLayout, ...]
    why: str = ""


def check_header(header: TextureHeader | None) -> str:
    """Why a header is invalid, or ""."""
    if header is None:
        return "header version 5 to 7 does not exist"
    if header.components == 0:
        return "the header has no format"
    if not header.texture_type:
        return "the texture type has no meaning"
    return ""


def unmodelled(header: TextureHeader) -> str:
    """What of a valid header the unit has no model of, or ""."""
    from gpudbg.regs.texheader import MAX_GOBS_LOG2

    if not header.format.bytes:
        return f"texel format {header.format.name}"
    if max(header.block_height_log2, header.block_depth_log2) > MAX_GOBS_LOG2:
        return "blocks of more than 32 GOBs"
    if header.block_width_log2:
        return "blocks wider than one GOB"
    if header.samples_log2:
        return "multisampled surfaces"
    if header.layout == "BLOCKLINEAR" and header.raw >> 37 & 3:
        return "GOB_DEPTH_OFFSET"
    return ""


def query_values(
    header: TextureHeader,
    address_modes: Sequence[int],
    linear: bool,
    normalized: bool,
    data_type: int,
    channels: int,
) -> dict[str, int]:
    """The values of a descriptor, by query: what PTX asks of an image without an instruction.

    Args:
        header: the image's.
        address_modes: CUaddress_mode of each axis.
        linear, normalized: whether the filter is linear, and coordinates are from 0 to 1.
        data_type: CUarray_format of a channel.
        channels: of a texel.
    """
    axes = header.axes
    return {
        "width": header.width,
        "height": header.height if "y" in axes else 0,
        "depth": header.slices if "z" in axes else 0,
        "array_size": header.layers if "l" in axes else 0,
        **{f"addr_mode_{n}": mode for n, mode in enumerate(address_modes)},
        "filter_mode": int(linear),
        "normalized_coords": int(normalized),
        "channel_data_type": data_type,
        "channel_order": channels,
        "num_mipmap_levels": header.max_mip_level + 1,
        "num_samples": 1,
        "memory_layout": int(header.layout == "BLOCKLINEAR"),
    }


class ImagePools:
    """The pools of one GPU.

    Attributes:
        memory: device memory.
        maximum_index: highest valid header index.
        bank: constant bank of immediate header indices (SET_BINDLESS_TEXTURE).
        names: header index -> name.
        disabled: header indices of surfaces that are disabled: updates are dropped.
    """

    def __init__(self, memory: DeviceMemory) -> None:
        self.memory = memory
        self.maximum_index = 0
        self.bank = 0
        self.names: dict[int, str] = {}
        self.disabled: set[int] = set()
        self._samplers = 0
        self._free: dict[str, list[int]] = {"header": [], "sampler": []}
        self._pools: dict[str, Allocation] = {}
        self._cache: dict[tuple[int, bytes], Image] = {}

    def pool(self, kind: str) -> Allocation:
        """A pool's memory, made when first asked for: header, sampler, texref, surfref."""
        found = self._pools.get(kind)
        if found is None:
            unit = HEADER_BYTES if kind in ("header", "sampler") else IMAGE_DESCRIPTOR_BYTES
            found = self.memory.allocate(CAPACITY * unit, f"{kind} pool", "image")
            self._pools[kind] = found
        return found

    @property
    def used(self) -> bool:
        """Whether any header exists."""
        return bool(self._pools)

    @property
    def samplers(self) -> int:
        """Samplers that were ever entered."""
        return self._samplers

    def places(self) -> dict[str, int]:
        """Address of each pool's memory, by kind."""
        return {kind: pool.base for kind, pool in self._pools.items()}

    def take_over(self, samplers: int, pools: Mapping[str, Allocation]) -> None:
        """Adopt headers and samplers that already are in this memory."""
        self._samplers, self._pools = samplers, dict(pools)

    # ---- entering ----------------------------------------------------------------------

    def add_header(self, header: TextureHeader, name: str) -> int:
        """Enter a header; its index.

        Raises:
            UsageError: the pool is full.
        """
        if self._free["header"]:
            index = self._free["header"].pop()
            self.names[index] = name
            self.write_header(index, header.raw)
            return index
        index = self.maximum_index + 1
        if index >= CAPACITY:
            raise UsageError(f"more than {CAPACITY - 1} textures and surfaces")
        self.maximum_index = index
        self.names[index] = name
        self.write_header(index, header.raw)
        return index

    def write_header(self, index: int, raw: int) -> None:
        """Replace a header's 256 bits."""
        _put(self.pool("header"), index * HEADER_BYTES, raw.to_bytes(HEADER_BYTES, "little"))

    def remove(self, index: int, sampler: int | None) -> None:
        """Free a header, and its sampler if any."""
        self.write_header(index, 0)
        self.names.pop(index, None)
        self.disabled.discard(index)
        self._cache = {known: image for known, image in self._cache.items() if known[0] != index}
        self._free["header"].append(index)
        if sampler is not None:
            self._free["sampler"].append(sampler)

    def add_sampler(self, sampler: Sampler) -> int:
        """Enter a sampler; its index.

        Raises:
            UsageError: the pool is full.
        """
        index = self._samplers
        if self._free["sampler"]:
            index = self._free["sampler"].pop()
        elif index >= CAPACITY:
            raise UsageError(f"more than {CAPACITY} samplers")
        else:
            self._samplers += 1
        raw = sampler.raw.to_bytes(HEADER_BYTES, "little")
        _put(self.pool("sampler"), index * HEADER_BYTES, raw)
        return index

    def describe(self, kind: str, index: int, values: Mapping[str, int]) -> None:
        """Fill the driver's descriptor of a header: kind "texref" or "surfref"."""
        fields = TEXTURE_FIELDS if kind == "texref" else SURFACE_FIELDS
        words = np.zeros(IMAGE_DESCRIPTOR_BYTES // 4, "<u4")
        for name, offset in fields.items():
            words[offset // 4] = values.get(name, 0)
        _put(self.pool(kind), index * IMAGE_DESCRIPTOR_BYTES, words.tobytes())

    # ---- looking up --------------------------------------------------------------------

    def image(self, index: int) -> Image:
        """The image of a header index, as its bytes are now."""
        name = self.names.get(index, f"header 0x{index:x}")
        if index == UNBOUND:
            return Image(index, "unbound reference", None, (), "nothing is bound to the reference")
        if index > self.maximum_index or not self._pools:
            why = f"header index 0x{index:x} is above the maximum 0x{self.maximum_index:x}"
            return Image(index, name, None, (), why)
        raw = self._bytes("header", index)
        found = self._cache.get((index, raw))
        if found is None:
            from gpudbg.mem.surface import layout_of
            from gpudbg.regs.texheader import decode_header

            header = decode_header(np.frombuffer(raw, "<u4").tolist())
            why = check_header(header)
            levels: tuple[SurfaceLayout, ...] = ()
            if header is not None and not why and header.format.bytes:
                levels = tuple(layout_of(header, n) for n in range(header.max_mip_level + 1))
            found = Image(index, name, None if why else header, levels, why)
            self._cache[index, raw] = found
        return found

    def sampler(self, index: int) -> Sampler:
        """A sampler as its bytes are now; index 0's default where none was made."""
        from gpudbg.regs.texheader import Sampler, decode_sampler

        if index >= self._samplers:
            return Sampler()
        return decode_sampler(np.frombuffer(self._bytes("sampler", index), "<u4").tolist())

    def _bytes(self, kind: str, index: int) -> bytes:
        pool = self.pool(kind)
        return pool.data[index * HEADER_BYTES : (index + 1) * HEADER_BYTES].tobytes()


def _put(pool: Allocation, offset: int, data: bytes) -> None:
    pool.writable()[offset : offset + len(data)] = np.frombuffer(data, np.uint8)
