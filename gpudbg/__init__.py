"""gpudbg: the debugger for GPU machine code that needs no GPU.

    import gpudbg, numpy as np
    program = gpudbg.load("saxpy.cubin")
    session = program.launch("saxpy", grid=4, block=256, args=[np.int32(1000), x, y])
    stop = session.cont()

Public names resolve on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from gpudbg.api.device import Device as Device
    from gpudbg.api.load import assemble_program as assemble_program
    from gpudbg.api.load import compile as compile  # noqa: A004 - the public name
    from gpudbg.api.load import load as load
    from gpudbg.api.load import open as open  # noqa: A004 - the public name
    from gpudbg.api.programs import LoadedProgram as LoadedProgram
    from gpudbg.debug.breakpoints.table import Breakpoint as Breakpoint
    from gpudbg.debug.focus.focus import Focus as Focus
    from gpudbg.debug.inspection import InstructionInfo as InstructionInfo
    from gpudbg.debug.inspection import Memory as Memory
    from gpudbg.debug.inspection import SpecialValue as SpecialValue
    from gpudbg.debug.registry import Output as Output
    from gpudbg.debug.session import DebugSession as DebugSession
    from gpudbg.debug.snapshot import Snapshot as Snapshot
    from gpudbg.debug.snapshot import StackEntry as StackEntry
    from gpudbg.debug.snapshot import WarpDetail as WarpDetail
    from gpudbg.debug.snapshot import WarpRow as WarpRow
    from gpudbg.debug.stops.records import CallSite as CallSite
    from gpudbg.debug.stops.records import ErrorRecord as ErrorRecord
    from gpudbg.debug.stops.records import Trigger as Trigger
    from gpudbg.debug.stops.stop import BreakpointStop as BreakpointStop
    from gpudbg.debug.stops.stop import DeadlockStop as DeadlockStop
    from gpudbg.debug.stops.stop import EntryStop as EntryStop
    from gpudbg.debug.stops.stop import ExitStop as ExitStop
    from gpudbg.debug.stops.stop import FaultStop as FaultStop
    from gpudbg.debug.stops.stop import InterruptStop as InterruptStop
    from gpudbg.debug.stops.stop import KernelError as KernelError
    from gpudbg.debug.stops.stop import LimitStop as LimitStop
    from gpudbg.debug.stops.stop import OpenedStop as OpenedStop
    from gpudbg.debug.stops.stop import StepStop as StepStop
    from gpudbg.debug.stops.stop import Stop as Stop
    from gpudbg.debug.stops.stop import StopKind as StopKind
    from gpudbg.debug.stops.stop import TrapStop as TrapStop
    from gpudbg.debug.stops.stop import WatchpointStop as WatchpointStop
    from gpudbg.debug.symbols import Line as Line
    from gpudbg.debug.trace.log import TraceEntry as TraceEntry
    from gpudbg.debug.trace.log import TraceLog as TraceLog
    from gpudbg.debug.warp_view import LaneView as LaneView
    from gpudbg.debug.warp_view import PredicateFile as PredicateFile
    from gpudbg.debug.warp_view import RegisterFile as RegisterFile
    from gpudbg.debug.warp_view import WarpView as WarpView
    from gpudbg.device.device import DeviceBuffer as DeviceBuffer
    from gpudbg.device.images import DeviceImage as DeviceImage
    from gpudbg.device.subscription import Subscription as Subscription
    from gpudbg.errors import AssembleError as AssembleError
    from gpudbg.errors import CommandError as CommandError
    from gpudbg.errors import CompileError as CompileError
    from gpudbg.errors import DecodeError as DecodeError
    from gpudbg.errors import GpudbgError as GpudbgError
    from gpudbg.errors import InternalError as InternalError
    from gpudbg.errors import LoadError as LoadError
    from gpudbg.errors import ModelGap as ModelGap
    from gpudbg.errors import PluginError as PluginError
    from gpudbg.errors import UsageError as UsageError
    from gpudbg.expr import Result as Result
    from gpudbg.formats.program import Global as Global
    from gpudbg.formats.program import Kernel as Kernel
    from gpudbg.isa import BoundInstruction as BoundInstruction
    from gpudbg.isa import BoundWideInstruction as BoundWideInstruction
    from gpudbg.isa import assemble as assemble
    from gpudbg.isa import decode as decode
    from gpudbg.sanitizer.report import CheckReport as CheckReport
    from gpudbg.sanitizer.run import check as check
    from gpudbg.sm.observer import Observer as Observer

_PUBLIC = {
    "AssembleError": "gpudbg.errors",
    "BoundInstruction": "gpudbg.isa",
    "BoundWideInstruction": "gpudbg.isa",
    "Breakpoint": "gpudbg.debug.breakpoints.table",
    "BreakpointStop": "gpudbg.debug.stops.stop",
    "CallSite": "gpudbg.debug.stops.records",
    "CheckReport": "gpudbg.sanitizer.report",
    "CommandError": "gpudbg.errors",
    "CompileError": "gpudbg.errors",
    "DeadlockStop": "gpudbg.debug.stops.stop",
    "DebugSession": "gpudbg.debug.session",
    "DecodeError": "gpudbg.errors",
    "Device": "gpudbg.api.device",
    "DeviceBuffer": "gpudbg.device.device",
    "DeviceImage": "gpudbg.device.images",
    "EntryStop": "gpudbg.debug.stops.stop",
    "ErrorRecord": "gpudbg.debug.stops.records",
    "ExitStop": "gpudbg.debug.stops.stop",
    "FaultStop": "gpudbg.debug.stops.stop",
    "Focus": "gpudbg.debug.focus.focus",
    "Global": "gpudbg.formats.program",
    "GpudbgError": "gpudbg.errors",
    "InstructionInfo": "gpudbg.debug.inspection",
    "InternalError": "gpudbg.errors",
    "InterruptStop": "gpudbg.debug.stops.stop",
    "Kernel": "gpudbg.formats.program",
    "KernelError": "gpudbg.debug.stops.stop",
    "LaneView": "gpudbg.debug.warp_view",
    "LimitStop": "gpudbg.debug.stops.stop",
    "Line": "gpudbg.debug.symbols",
    "LoadError": "gpudbg.errors",
    "LoadedProgram": "gpudbg.api.programs",
    "Memory": "gpudbg.debug.inspection",
    "ModelGap": "gpudbg.errors",
    "Observer": "gpudbg.sm.observer",
    "OpenedStop": "gpudbg.debug.stops.stop",
    "Output": "gpudbg.debug.registry",
    "PluginError": "gpudbg.errors",
    "PredicateFile": "gpudbg.debug.warp_view",
    "RegisterFile": "gpudbg.debug.warp_view",
    "Result": "gpudbg.expr",
    "Snapshot": "gpudbg.debug.snapshot",
    "SpecialValue": "gpudbg.debug.inspection",
    "StackEntry": "gpudbg.debug.snapshot",
    "StepStop": "gpudbg.debug.stops.stop",
    "Stop": "gpudbg.debug.stops.stop",
    "StopKind": "gpudbg.debug.stops.stop",
    "Subscription": "gpudbg.device.subscription",
    "TraceEntry": "gpudbg.debug.trace.log",
    "TraceLog": "gpudbg.debug.trace.log",
    "TrapStop": "gpudbg.debug.stops.stop",
    "Trigger": "gpudbg.debug.stops.records",
    "UsageError": "gpudbg.errors",
    "WarpDetail": "gpudbg.debug.snapshot",
    "WarpRow": "gpudbg.debug.snapshot",
    "WarpView": "gpudbg.debug.warp_view",
    "WatchpointStop": "gpudbg.debug.stops.stop",
    "assemble": "gpudbg.isa",
    "assemble_program": "gpudbg.api.load",
    "check": "gpudbg.sanitizer.run",
    "compile": "gpudbg.api.load",
    "decode": "gpudbg.isa",
    "load": "gpudbg.api.load",
    "open": "gpudbg.api.load",
}
"""Public name -> module that defines it."""

_MODULES = ("errors", "plugin")
"""Public modules: the error tree and the contract of plugins."""

# Without `open` and `compile`: `from gpudbg import *` leaves Python's own alone.
__all__ = [
    "AssembleError",
    "BoundInstruction",
    "BoundWideInstruction",
    "Breakpoint",
    "BreakpointStop",
    "CallSite",
    "CheckReport",
    "CommandError",
    "CompileError",
    "DeadlockStop",
    "DebugSession",
    "DecodeError",
    "Device",
    "DeviceBuffer",
    "DeviceImage",
    "EntryStop",
    "ErrorRecord",
    "ExitStop",
    "FaultStop",
    "Focus",
    "Global",
    "GpudbgError",
    "InstructionInfo",
    "InternalError",
    "InterruptStop",
    "Kernel",
    "KernelError",
    "LaneView",
    "LimitStop",
    "Line",
    "LoadError",
    "LoadedProgram",
    "Memory",
    "ModelGap",
    "Observer",
    "OpenedStop",
    "Output",
    "PluginError",
    "PredicateFile",
    "RegisterFile",
    "Result",
    "Snapshot",
    "SpecialValue",
    "StackEntry",
    "StepStop",
    "Stop",
    "StopKind",
    "Subscription",
    "TraceEntry",
    "TraceLog",
    "TrapStop",
    "Trigger",
    "UsageError",
    "WarpDetail",
    "WarpRow",
    "WarpView",
    "WatchpointStop",
    "__version__",
    "assemble",
    "assemble_program",
    "check",
    "decode",
    "load",
]

if not TYPE_CHECKING:  # A type checker would take any name for one that is here.

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            return import_module(f"gpudbg.{name}")
        if name not in _PUBLIC:
            from difflib import get_close_matches

            near = get_close_matches(name, _PUBLIC, n=1)
            words = f"module 'gpudbg' has no attribute {name!r}"
            raise AttributeError(words + (f"; did you mean {near[0]!r}?" if near else ""))
        value = globals()[name] = getattr(import_module(_PUBLIC[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted((*_PUBLIC, *_MODULES, "__doc__", "__version__"))
