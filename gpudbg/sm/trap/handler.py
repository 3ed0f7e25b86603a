"""A trap handler: its code in the code address space, its constants, its memory.

The handler's code lies above the program's, so that every code address means one thing.  While a
warp is in the handler it sees the interrupted kernel's c[0x0], the handler file's own banks, and
c[0x11], which tells it where its memory is (*modelled*: a driver binds a bank of its own):

    c[0x11][0x00]  save area, 64-bit device address: one record for each warp slot of each SM
    c[0x11][0x08]  bytes of a record; c[0x11][0x0c]  registers of a thread
    c[0x11][0x10]  data area, 64-bit device address: 4096 zeroed bytes for the handler's own use
    c[0x11][0x18]  the handler's code address; c[0x11][0x1c]  warp slots of an SM
    c[0x11][0x20]  number set with `trap argument`

A warp's record is at (SM * slots + slot) * bytes.  The machine writes its first words (`ENTRY`) at
entry and reads pc and active mask back at RTT, so a handler can change where its warp goes on;
the rest, from `SAVED`, is the handler's.  From sm_70 on they are a group's: `depth` is the number
of the warp's other groups, and the mask has to stay that of the lanes inside.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Final

import numpy as np

from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError
from gpudbg.formats.layout import bank_section, relocate
from gpudbg.formats.program import CODE_ALIGN, EXTERN_STRIDE, CodeImage, Placement, Program, runs_on
from gpudbg.mem.device import Allocation, DeviceMemory
from gpudbg.mem.store import ByteStore

BANK: Final = 0x11
BANK_BYTES: Final = 0x40
DATA_BYTES: Final = 4096
SCRATCH_BYTES: Final = 4096
"""Local memory of a thread from address 0 while it is in the handler."""
WARP_SLOTS: Final = 64
REGION: Final = 1 << 16
"""The handler begins at a multiple of this code address."""

ENTRY: Final[dict[str, tuple[int, int]]] = {
    "pc": (0x00, 8),
    "active": (0x08, 4),
    "exited": (0x0C, 4),
    "valid": (0x10, 4),
    "depth": (0x14, 4),
    "warp_status": (0x18, 4),
    "global_status": (0x1C, 4),
    "cause": (0x20, 4),
    "count": (0x24, 4),
    "barrier": (0x28, 4),
    "sr_virtid": (0x2C, 4),
}
"""Words of a record that the machine writes at entry: offset and bytes."""
SAVED: Final = 0x40
"""From here on the record is the handler's."""
REGISTERS: Final = 0x100
"""Where the shipped handlers put the registers, 128 bytes each."""
NO_BARRIER: Final = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True, eq=False)
class Handler:
    """A trap handler of a GPU.

    Attributes:
        program: the file it came from.
        name: its function.
        argument: number at c[0x11][0x20].
    """

    program: Program
    name: str
    argument: int = 0


def choose(program: Program, name: str | None, arch: str) -> Handler:
    """The handler a program holds.

    Args:
        program: a cubin's or raw words' content.
        name: its function; None: the kernel, or `trap_handler` where there are several.
        arch: of the GPU.

    Raises:
        UsageError: no such function, several and no name, or code for another architecture.
    """
    if program.arch != arch and not runs_on(program.arch, arch):
        raise UsageError(f"{program.path}: {program.arch} code does not run on {arch}")
    names = list(program.kernels) or list(program.functions)
    if name is None and len(names) > 1 and "trap_handler" in program.functions:
        name = "trap_handler"
    if name is None and len(names) == 1:
        name = names[0]
    if name is None:
        raise UsageError(f"{program.path} has {len(names)} functions", "name the handler's")
    if name not in program.functions:
        known = ", ".join(program.functions) or "none"
        raise UsageError(f"{program.path}: no function {name!r}", f"functions: {known}")
    return Handler(program, name)


@dataclass(frozen=True, slots=True, eq=False)
class Installed:
    """A handler placed beside one launch's program.

    Attributes:
        handler: what was placed.
        image: the program's code with the handler's above it.
        entry: code address of the handler's first instruction.
        banks: constant banks that replace the kernel's inside the handler.
        area: the save area; `record` bytes for each warp slot.
        data: the handler's own 4096 bytes.
        owned: all its device memory, which goes with the launch.
    """

    handler: Handler
    image: CodeImage
    entry: int
    banks: dict[int, ByteStore]
    area: Allocation
    data: Allocation
    record: int
    owned: tuple[Allocation, ...]

    def place(self, sm: int, slot: int) -> int:
        """Byte offset of a warp's record in the save area."""
        return (sm * WARP_SLOTS + slot) * self.record

    def read(self, sm: int, slot: int, field: str) -> int:
        """A word of a warp's record."""
        offset, width = ENTRY[field]
        start = self.place(sm, slot) + offset
        return int.from_bytes(self.area.data[start : start + width].tobytes(), "little")

    def write(self, sm: int, slot: int, values: dict[str, int]) -> None:
        """Replace words of a warp's record."""
        base = self.place(sm, slot)
        for field, value in values.items():
            offset, width = ENTRY[field]
            start = base + offset
            data = value.to_bytes(width, "little")
            self.area.writable()[start : start + width] = np.frombuffer(data, np.uint8)


def install(
    handler: Handler, image: CodeImage, memory: DeviceMemory, registers: int, num_sms: int
) -> Installed:
    """Place a handler above a program's code and give it its memory.

    Args:
        handler: the handler.
        image: the program it serves, as placed.
        memory: where its areas and variables go.
        registers: of a thread of the launch.
        num_sms: SMs of the GPU.

    Raises:
        LoadError: a relocation of the handler's file that cannot be applied.
    """
    program = handler.program
    top = image.end + CODE_ALIGN + EXTERN_STRIDE * len(image.externs)
    base = -(-top // REGION) * REGION
    segments = {
        name: memory.allocate(segment.size, f"trap handler's {name}", "trap")
        for name, segment in program.segments.items()
    }
    own = relocate(program, base, {name: a.base for name, a in segments.items()})
    for name, allocation in segments.items():
        content = own.segments[name]
        allocation.writable()[: len(content)] = np.frombuffer(content, np.uint8)
    record = REGISTERS + 128 * registers
    area = memory.allocate(num_sms * WARP_SLOTS * record, "trap handler's save area", "trap")
    data = memory.allocate(DATA_BYTES, "trap handler's data", "trap")
    function = program.functions[handler.name]
    start = own.address_in(function.section, function.offset)
    entry = program.layout.first(start)
    banks = _banks(own, handler, segments)
    banks[BANK] = _bank(handler, area, data, record, registers, entry)
    merged = _merge(image, own)
    owned = (*segments.values(), area, data)
    return Installed(handler, merged, entry, banks, area, data, record, owned)


def _banks(
    own: CodeImage, handler: Handler, segments: dict[str, Allocation]
) -> dict[int, ByteStore]:
    """The handler file's constant banks but bank 0, which stays the kernel's."""
    banks: dict[int, ByteStore] = {}
    for number, content in own.banks.get(handler.name, {}).items():
        if number:
            banks[number] = ByteStore(len(content))
            banks[number].data[:] = np.frombuffer(content, np.uint8)
    for name, allocation in segments.items():
        found = bank_section(name)
        if found is not None:
            banks[found[0]] = allocation
    return banks


def _bank(
    handler: Handler, area: Allocation, data: Allocation, record: int, registers: int, entry: int
) -> ByteStore:
    """c[0x11] as the module text describes it."""
    store = ByteStore(BANK_BYTES)
    words = store.words
    words[:9] = (
        area.base & 0xFFFF_FFFF, area.base >> 32, record, registers,
        data.base & 0xFFFF_FFFF, data.base >> 32, entry, WARP_SLOTS, handler.argument,
    )  # fmt: skip
    return store


def _merge(image: CodeImage, own: CodeImage) -> CodeImage:
    """One image of both; the handler's sections and functions give way where names clash."""
    taken = {p.section for p in image.placements}
    renamed = {p.section: _free(p.section, taken) for p in own.placements}
    known = set(image.program.functions)
    functions = dict(image.program.functions)
    for function in own.program.functions.values():
        name = _free(function.name, known)
        label = function.label if name == function.name else name
        functions[name] = replace(
            function, name=name, label=label, section=renamed[function.section], is_kernel=False
        )
    placements = tuple(Placement(renamed[p.section], p.address, p.size) for p in own.placements)
    return replace(
        image,
        program=replace(image.program, functions=MappingProxyType(functions)),
        code=image.code + bytes(own.base - image.end) + own.code,
        placements=image.placements + placements,
        externs=MappingProxyType({**image.externs, **own.externs}),
    )


def _free(name: str, taken: set[str]) -> str:
    return name if name not in taken else f"{name}@handler"
