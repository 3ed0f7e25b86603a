"""gpudbg: the debugger for GPU machine code that needs no GPU.

    import gpudbg, numpy as np
    program = gpudbg.load("saxpy.cubin")
    session = program.launch("saxpy", grid=4, block=256, args=[np.int32(1000), x, y])
    stop = session.cont()

Public names resolve on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from gpudbg.debug.api import LoadedProgram as LoadedProgram
    from gpudbg.debug.api import compile as compile  # noqa: A004 - the public name
    from gpudbg.debug.api import load as load
    from gpudbg.debug.api import open as open  # noqa: A004 - the public name
    from gpudbg.debug.breakpoints import Breakpoint as Breakpoint
    from gpudbg.debug.device import Device as Device
    from gpudbg.debug.device import DeviceBuffer as DeviceBuffer
    from gpudbg.debug.session import DebugSession as DebugSession
    from gpudbg.debug.stop import ErrorRecord as ErrorRecord
    from gpudbg.debug.stop import Stop as Stop
    from gpudbg.debug.tracing import TraceEntry as TraceEntry
    from gpudbg.errors import AssembleError as AssembleError
    from gpudbg.errors import CommandError as CommandError
    from gpudbg.errors import CompileError as CompileError
    from gpudbg.errors import DecodeError as DecodeError
    from gpudbg.errors import GpudbgError as GpudbgError
    from gpudbg.errors import LoadError as LoadError
    from gpudbg.errors import ModelGap as ModelGap
    from gpudbg.errors import UsageError as UsageError
    from gpudbg.isa import assemble as assemble
    from gpudbg.isa import decode as decode
    from gpudbg.sm.observer import Observer as Observer

_PUBLIC = {
    "AssembleError": "gpudbg.errors",
    "Breakpoint": "gpudbg.debug.breakpoints",
    "CommandError": "gpudbg.errors",
    "CompileError": "gpudbg.errors",
    "DebugSession": "gpudbg.debug.session",
    "DecodeError": "gpudbg.errors",
    "Device": "gpudbg.debug.device",
    "DeviceBuffer": "gpudbg.debug.device",
    "ErrorRecord": "gpudbg.debug.stop",
    "GpudbgError": "gpudbg.errors",
    "LoadError": "gpudbg.errors",
    "LoadedProgram": "gpudbg.debug.api",
    "ModelGap": "gpudbg.errors",
    "Observer": "gpudbg.sm.observer",
    "Stop": "gpudbg.debug.stop",
    "TraceEntry": "gpudbg.debug.tracing",
    "UsageError": "gpudbg.errors",
    "assemble": "gpudbg.isa",
    "decode": "gpudbg.isa",
    "compile": "gpudbg.debug.api",
    "load": "gpudbg.debug.api",
    "open": "gpudbg.debug.api",
}
"""Public name -> module that defines it."""

__all__ = [*sorted(_PUBLIC), "__version__"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'gpudbg' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
