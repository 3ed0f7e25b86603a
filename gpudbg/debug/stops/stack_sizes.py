"""Words for a thread's stack that was too small: its size, who fills it, how to raise it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.debug.values.backtrace import call_depth
from gpudbg.sm.launch import MAX_LOCAL_BYTES

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.debug.stops.records import ErrorRecord
    from gpudbg.sm.state import WarpState

OVERFLOW = "STACK_OVERFLOW"


def stack_words(inferior: Inferior, error: ErrorRecord, warp: WarpState | None) -> tuple[str, ...]:
    """Sentences about a stack overflow or an access below the local memory; () of other errors."""
    if warp is None:
        return ()
    depth = call_depth(inferior, warp)
    calls = f"{depth} call{'s are' if depth != 1 else ' is'} open"
    if error.space != "local":
        if error.name != OVERFLOW:
            return ()
        return (f"{calls[0].upper()}{calls[1:]}: every call and every divergence takes an entry.",)
    size = warp.local.high
    if error.address is None or error.address >= warp.local.start or not size:
        return ()
    larger = min(max(2 * size, 1024), MAX_LOCAL_BYTES)
    raised = f"--stack {larger}, or stack_bytes = {larger} in the launch table's [sm]"
    limit = f"The stack of a thread (cudaLimitStackSize) has {size:,} bytes"
    if larger == size:
        return (f"{limit}, the most there are; {calls}.",)
    if depth or error.name == OVERFLOW:
        return (f"{limit}; {calls}.", f"A larger one: {raised}.")
    why = f"The kernel's local arrays take {size:,} bytes; the index is before their start."
    return (why, f"To see what more room changes: {raised}.")
