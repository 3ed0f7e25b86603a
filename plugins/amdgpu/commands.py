"""The console command `amdgpu`: the plugin's decoders without leaving the debugger."""

from __future__ import annotations

from typing import Any

from gpudbg.errors import CommandError
from gpudbg.plugin import Decoder

from . import decoders

DECODERS: dict[str, Decoder] = {"hwreg": decoders.hwreg, "wave": decoders.wave}


def amdgpu(session: Any, args: list[str]) -> dict[str, Any]:
    """`amdgpu DECODER ARGUMENT...`: lines to show and the same as data.

    Raises:
        CommandError: no such decoder.
        UsageError: as the decoder words it.
    """
    if not args or args[0] not in DECODERS:
        raise CommandError("amdgpu needs what to decode", ", ".join(DECODERS))
    found = DECODERS[args[0]](args[1:], json=False)
    return {"data": found.data, "lines": list(found.lines)}
