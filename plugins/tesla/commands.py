"""The console command `tesla`: the plugin's decoders without leaving the debugger."""

from __future__ import annotations

from typing import Any

from gpudbg.errors import CommandError
from gpudbg.plugin import Decoder

from . import decoders, decoders_memory, decoders_state

DECODERS: dict[str, Decoder] = {
    "physid": decoders.physid,
    "hierarchy": decoders.hierarchy,
    "local": decoders_memory.local,
    "stack": decoders_memory.stack,
    "const": decoders_state.const,
    "global": decoders_state.global_address,
    "regs": decoders_state.regs,
    "cflags": decoders_state.cflags,
    "method": decoders_state.method,
}


def tesla(session: Any, args: list[str]) -> dict[str, Any]:
    """`tesla DECODER ARGUMENT...`: lines to show and the same as data."""
    if not args or args[0] not in DECODERS:
        raise CommandError("tesla needs what to decode", ", ".join(DECODERS))
    found = DECODERS[args[0]](args[1:], json=False)
    return {"data": found.data, "lines": list(found.lines)}
