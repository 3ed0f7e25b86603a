"""Const buffers, the 16 const spaces of each program, uploads, and the cache between.

Source: NV50 CUDA notes, "Const spaces".  The cache is modelled as unlimited: a word once read
stays as it was until CODE_CB_FLUSH, so memory changed from outside shows stale, as the notes
warn; an upload through CB_DATA updates memory and cache.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpudbg.bits import Field
from gpudbg.errors import UsageError

from .errors import DataError
from .memory import WordMemory

SPACES = 16
SPACE_BYTES = 0x10000
SIZE_UNIT = 0x100
UPLOAD_WORDS = 1 << 14

ADDR_BUFFER, ADDR_OFFSET = Field(6, 0), Field(21, 8)
DEF_BUFFER, DEF_SIZE = Field(22, 16), Field(15, 0)
BIND_BUFFER, BIND_SPACE = Field(18, 12), Field(11, 8)
BIND_PROGRAM, BIND_VALID = Field(7, 4), Field(0, 0)
#: Program types of SET_PROGRAM_CB on the 3D object.
PROGRAMS = {0: "VP", 2: "GP", 3: "FP"}


@dataclass(frozen=True, slots=True)
class ConstBuffer:
    """A defined buffer: address and size in bytes, 0x100 to 65536."""

    address: int
    size: int

    @staticmethod
    def size_of(field_value: int) -> int:
        """Size that the size field of CB_DEF_SET means.

        Raises:
            DataError: not a multiple of 0x100.
        """
        if field_value % SIZE_UNIT:
            raise DataError(
                "INVALID_VALUE", f"buffer size 0x{field_value:x} is not a multiple of 0x100"
            )
        return field_value or SPACE_BYTES


@dataclass(slots=True)
class Upload:
    """Where the next CB_DATA goes.

    Args:
        buffer: buffer id.
        offset: in words; 0x4000 when the address has overflowed.
    """

    buffer: int = 0
    offset: int = 0

    @property
    def overflowed(self) -> bool:
        """Whether the next upload is an error."""
        return self.offset >= UPLOAD_WORDS


@dataclass(slots=True)
class ConstSpaces:
    """All const buffers of a channel, the bindings, and the cache.

    Args:
        memory: video memory behind the buffers.
        buffers: id -> definition.
        bindings: (program, space) -> buffer id.
        upload: the upload position.
        cache: memory address -> word as first read since the last flush.
    """

    memory: WordMemory
    buffers: dict[int, ConstBuffer] = field(default_factory=dict)
    bindings: dict[tuple[str, int], int] = field(default_factory=dict)
    upload: Upload = field(default_factory=Upload)
    cache: dict[int, int] = field(default_factory=dict)

    def set_upload(self, value: int) -> str:
        """CB_ADDR."""
        self.upload = Upload(ADDR_BUFFER.get(value), ADDR_OFFSET.get(value))
        return f"next upload: buffer {self.upload.buffer} at 0x{self.upload.offset * 4:x}"

    def data(self, value: int) -> str:
        """CB_DATA: store a word, advance by one word.

        Raises:
            DataError: the address has overflowed, or the buffer was never defined.
        """
        spot = self.upload
        if spot.overflowed:
            raise DataError("INVALID_VALUE", "the upload address has overflowed; write CB_ADDR")
        buffer = self.buffers.get(spot.buffer)
        if buffer is None:
            raise DataError("INVALID_OPERATION", f"buffer {spot.buffer} is not defined")
        where = spot.offset * 4
        spot.offset += 1
        tail = "; the address has overflowed" if spot.overflowed else ""
        if where >= buffer.size:
            return f"0x{where:x} is past buffer {spot.buffer}: nothing stored{tail}"
        self.memory.write(buffer.address + where, value)
        if buffer.address + where in self.cache:
            self.cache[buffer.address + where] = value
        return f"buffer {spot.buffer} at 0x{where:x} = 0x{value:08x}{tail}"

    def define(self, address: int, value: int) -> str:
        """CB_DEF_SET with the address of CB_DEF_ADDRESS_*."""
        number = DEF_BUFFER.get(value)
        if address % 4:
            raise DataError("INVALID_ADDRESS_ALIGNMENT", f"buffer address 0x{address:x}")
        self.buffers[number] = ConstBuffer(address, ConstBuffer.size_of(DEF_SIZE.get(value)))
        return f"buffer {number}: 0x{self.buffers[number].size:x} bytes at 0x{address:x}"

    def bind(self, value: int, program: str | None = None) -> str:
        """SET_PROGRAM_CB; `program` is CP for the compute object, else the value tells.

        Raises:
            DataError: an unknown program type.
        """
        if program is None:
            code = BIND_PROGRAM.get(value)
            if code not in PROGRAMS:
                raise DataError("INVALID_ENUM", f"program type {code}: 0 VP, 2 GP, 3 FP")
            program = PROGRAMS[code]
        space, number = BIND_SPACE.get(value), BIND_BUFFER.get(value)
        if not BIND_VALID.get(value):
            self.bindings.pop((program, space), None)
            return f"{program} c{space}[] unbound (bit 0 clear)"
        self.bindings[program, space] = number
        known = "" if number in self.buffers else " (not defined yet)"
        return f"{program} c{space}[] = buffer {number}{known}"

    def flush(self) -> str:
        """CODE_CB_FLUSH: forget every cached word."""
        count = len(self.cache)
        self.cache.clear()
        return f"code and const caches flushed ({count} cached words dropped)"

    def read(self, program: str, space: int, offset: int, size: int = 4) -> int:
        """What a program reads at c`space`[`offset`]; fills the cache.

        Raises:
            UsageError: space, offset, size or alignment that no instruction has.
        """
        if not 0 <= space < SPACES:
            raise UsageError(f"c{space}[] does not exist", "c0 to c15")
        if not 0 <= offset < SPACE_BYTES:
            raise UsageError(f"c{space}[0x{offset:x}] is beyond 64 KiB")
        if size not in (1, 2, 4) or offset % size:
            raise UsageError(f"no access of {size} bytes at c{space}[0x{offset:x}]")
        number = self.bindings.get((program, space))
        buffer = self.buffers.get(number) if number is not None else None
        if buffer is None or offset >= buffer.size:
            return 0
        address = buffer.address + offset // 4 * 4
        word = self.cache.setdefault(address, self.memory.read(address))
        return word >> 8 * (offset % 4) & ((1 << 8 * size) - 1)

    def stale(self) -> list[int]:
        """Addresses whose cached word is not what memory holds."""
        return sorted(a for a, word in self.cache.items() if self.memory.read(a) != word)

    def to_json(self) -> dict[str, Any]:
        """Definitions, bindings, upload position and stale words."""
        return {
            "buffers": {
                str(number): {"address": buffer.address, "size": buffer.size}
                for number, buffer in sorted(self.buffers.items())
            },
            "bindings": {
                f"{program}.c{space}": number
                for (program, space), number in sorted(self.bindings.items())
            },
            "upload": {
                "buffer": self.upload.buffer,
                "offset": self.upload.offset * 4,
                "overflowed": self.upload.overflowed,
            },
            "cached_words": len(self.cache),
            "stale": self.stale(),
        }
