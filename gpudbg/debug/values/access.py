"""Memory and special registers of the stopped machine, read and written as one lane sees them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpudbg.architectures import is_wide
from gpudbg.errors import CommandError, UsageError
from gpudbg.expr.evaluation import LANES, SPECIAL, Place, Result, per_lane
from gpudbg.expr.types import U32
from gpudbg.mem.device import Allocation
from gpudbg.sm.counters import NEED_EVENTS

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.sm.state import WarpState

MAX_READ = 1 << 24
"""Bytes one command may read."""


def read(
    inferior: Inferior, space: str, address: int, size: int, warp: WarpState | None, lane: int
) -> bytes:
    """Bytes of an address space.

    Args:
        warp: whose local and shared memory it is; None where no warp is there, so that both
            have nothing.
        space: global, shared, local, generic, const (bank 0 .. by address), code, or bank
            (address = bank << 32 | offset).

    Raises:
        CommandError: outside it; says where the nearest memory is.
    """
    if size > MAX_READ:
        raise CommandError(f"{size} bytes are too many for one read", f"at most {MAX_READ}")
    space, address = resolve(inferior, space, address)
    try:
        if space == "global":
            return inferior.grid.gpu.memory.read(address, size)
        if warp is None and space in ("local", "shared"):
            raise CommandError(f"no warp is there, so there is no {space} memory")
        if space == "local" and warp is not None:
            return warp.local.read(lane, address, size)
        store, what, address = _store(inferior, space, address, warp)
        offset = address & 0xFFFFFFFF if space in ("bank", "const") else address
        _bounds(offset, size, len(store), what)
        return bytes(store[offset : offset + size].tobytes())
    except UsageError as e:
        raise CommandError(e.message, e.hint) from None


def read_global(inferior: Inferior, address: int, size: int) -> bytes:
    """Device memory without a focused warp; errors as `read`."""
    try:
        return inferior.grid.gpu.memory.read(address, size)
    except UsageError as e:
        raise CommandError(e.message, e.hint) from None


def write(
    inferior: Inferior, space: str, address: int, data: bytes, warp: WarpState, lane: int
) -> None:
    """Replace bytes; errors as `read`, and code cannot be written."""
    space, address = resolve(inferior, space, address)
    if space == "code":
        raise CommandError("code cannot be written", "load another program instead")
    written = inferior.grid.engine.written
    warp.note_edit()
    try:
        if space == "global":
            inferior.grid.gpu.memory.write(address, data)
            found = inferior.grid.gpu.memory.find(address)
            if written is not None and found is not None:
                written.note_bytes(space, found, lane, address - found.base, len(data))
            return
        if space == "local":
            warp.local.write(lane, address, data)
            if written is not None:
                start = warp.local.column(address, len(data))
                written.note_bytes(space, warp, lane, start, len(data))
            return
        store, what, place = _store(inferior, space, address, warp)
        offset = place & 0xFFFFFFFF if space in ("bank", "const") else place
        _bounds(offset, len(data), len(store), what)
        store[offset : offset + len(data)] = np.frombuffer(data, np.uint8)
        if written is not None and space == "shared":
            written.note_bytes(space, warp.cta.at(address)[0], lane, offset, len(data))
    except UsageError as e:
        raise CommandError(e.message, e.hint) from None


def store(
    inferior: Inferior, space: str, address: int, data: bytes, warp: WarpState, lane: int
) -> None:
    """`write`, and keep that a user's assignment changed these bytes."""
    write(inferior, space, address, data, warp, lane)
    inferior.note_write(space, address, len(data))


def resolve(inferior: Inferior, space: str, address: int) -> tuple[str, int]:
    """Generic addresses to the space they look into; module constants lie in device memory."""
    if space == "generic":
        layout = inferior.grid.gpu.layout
        if layout.in_shared(address):
            return "shared", address - layout.shared_window
        if layout.in_local(address):
            return "local", address - layout.local_window
        return "global", address
    if space == "const" and inferior.grid.gpu.memory.find(address) is not None:
        return "global", address
    if space == "bank":
        held = inferior.grid.engine.constants.banks.get(address >> 32)
        offset = address & 0xFFFFFFFF
        if isinstance(held, Allocation) and offset < held.size:
            return "global", held.base + offset
    return space, address


def banked(inferior: Inferior, address: int) -> tuple[int, int] | None:
    """The constant bank, and the offset in it, by which instructions can read device memory."""
    for number, held in sorted(inferior.grid.engine.constants.banks.items()):
        if isinstance(held, Allocation) and held.base <= address < held.base + held.size:
            return number, address - held.base
    return None


def unbanked(inferior: Inferior, bank: int, offset: int) -> int | None:
    """The address in device memory of bytes of a constant bank; None where they have none."""
    held = inferior.grid.engine.constants.banks.get(bank)
    return held.base + offset if isinstance(held, Allocation) else None


def _store(
    inferior: Inferior, space: str, address: int, warp: WarpState | None
) -> tuple[NDArray[np.uint8], str, int]:
    """The bytes of a space, what they are, and the place in them."""
    if space == "shared" and warp is not None:
        cta, offset = warp.cta.at(address)
        return cta.shared.data, "shared memory of the block", offset
    if space in ("bank", "const"):
        bank = address >> 32
        banks = inferior.grid.engine.constants.banks
        if bank not in banks and space == "const":
            raise CommandError(f"there are no constants at 0x{address:x}: outside of their segment")
        if bank not in banks:
            known = ", ".join(f"c[0x{b:x}]" for b in sorted(banks))
            raise CommandError(f"there is no constant bank 0x{bank:x}", f"banks: {known}")
        return banks[bank].data, f"constant bank 0x{bank:x}", address
    if space == "code":
        image = inferior.symbols.image
        return (
            np.frombuffer(bytes(image.base) + image.code, np.uint8),
            "the program's code",
            address,
        )
    raise CommandError(f"unknown address space {space!r}")


def _bounds(offset: int, size: int, limit: int, what: str) -> None:
    if not 0 <= offset or offset + size > limit:
        raise CommandError(f"0x{offset:x} is outside {what}", f"it has 0x{limit:x} bytes")


# ---- special registers -----------------------------------------------------------------
def special(inferior: Inferior, warp: WarpState, text: str) -> Result | None:
    """A special register (SR_TID.X, SR_LaneId) or PTX register (%tid.x) in 32 lanes."""
    if text.startswith("%"):
        return _ptx(inferior, warp, text)
    number = _number(text, inferior.program.arch)
    if number is None:
        return None
    return per_lane(special_value(inferior, warp, number), U32, Place(SPECIAL, number))


def special_value(
    inferior: Inferior, warp: WarpState, number: int, coupled: bool = False
) -> NDArray[np.uint32]:
    """A special register in 32 lanes, as S2R or (`coupled`) CS2R reads it."""
    if number in NEED_EVENTS:
        inferior.grid.keep_counters()
    file = inferior.grid.engine.sregs
    read = file.read_coupled if coupled else file.read
    values = np.asarray(read(warp, inferior.grid.sms[warp.sm], number), np.uint32)
    return np.broadcast_to(values, LANES).copy()


def _number(text: str, arch: str) -> int | None:
    """The number of a register by a name that listings of the architecture print, or earlier
    architectures have."""
    from gpudbg.regs.special import find_special

    if not re.match(r"(?i)sr_?[a-z0-9]", text):
        return None
    if is_wide(arch):
        from gpudbg.isa.volta import ARCHS
        from gpudbg.isa.volta.sregs import special_number

        own = special_number(text, ARCHS[arch])
        if own is not None:
            return own
    row = find_special(text)
    return None if row is None else row.number


def special_names() -> list[str]:
    """nvdisasm's names of the special registers."""
    from gpudbg.regs.special import SPECIAL_REGISTERS

    return [row.nvdisasm for row in SPECIAL_REGISTERS if row.nvdisasm]


def _ptx(inferior: Inferior, warp: WarpState, text: str) -> Result | None:
    from gpudbg.debug.values.ptx_values import read_ptx

    return read_ptx(inferior, warp, text)
