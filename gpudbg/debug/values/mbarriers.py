"""mbarriers of a block: what each one's word says, and what it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.answers import column, typed_row
from gpudbg.answers.formats import ADDRESS
from gpudbg.architectures import age
from gpudbg.sm.asynchronous import mbarrier

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.sm.state import Cta


@typed_row
class MbarrierRow:
    """An mbarrier of a block: its address in shared memory, its phase, what is to come."""

    address: int = column("Address", ADDRESS)
    name: str = column("Name")
    phase: int = column("Phase")
    pending: int = column("Pending")
    expected: int = column("Expected")
    bytes: int = column("Bytes")
    words: str = column("State")


def state_at(inferior: Inferior, cta: Cta, address: int) -> mbarrier.State:
    """What the word at an offset of shared memory says."""
    word = int.from_bytes(cta.shared.data[address : address + 8].tobytes(), "little")
    early = age(inferior.grid.gpu.arch)[0] < 90
    return mbarrier.read_early(word) if early else mbarrier.read(word)


def holding(cta: Cta, address: int) -> int | None:
    """The mbarrier that a word at an offset of shared memory is part of."""
    place = address & -8
    return place if place in cta.mbarriers else None


def mbarriers(inferior: Inferior) -> tuple[MbarrierRow, ...]:
    """Those of the focused warp's block that have begun and not ended, by address."""
    cta = inferior.focused().cta
    rows = []
    for address in sorted(cta.mbarriers):
        state = state_at(inferior, cta, address)
        rows.append(
            MbarrierRow(
                address,
                mbarrier_name(inferior, address),
                state.phase,
                state.pending,
                state.expected,
                state.bytes,
                state.words,
            )
        )
    return tuple(rows)


def mbarrier_name(inferior: Inferior, address: int) -> str:
    """The variable that an mbarrier is part of."""
    kernel = inferior.grid.kernel.name
    for var in inferior.program.shared_vars:
        if var.kernel == kernel and var.offset <= address < var.offset + max(var.size, 1):
            index = (address - var.offset) // 8
            return f"{var.name}[{index}]" if var.size > 8 else var.name
    return ""
