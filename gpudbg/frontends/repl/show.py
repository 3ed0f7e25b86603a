"""How values look at the prompt: a warp as its lanes, a stop as its card, memory as a hexdump."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gpudbg
from gpudbg.answers import dim, lane_list, lane_marks
from gpudbg.api import Device, LoadedProgram
from gpudbg.debug import (
    DebugSession,
    InstructionInfo,
    LaneView,
    Memory,
    Output,
    PredicateFile,
    RegisterFile,
    Snapshot,
    SpecialValue,
    WarpView,
    launch_shape,
    meaning_of,
    warp_row,
)
from gpudbg.debug.breakpoints import Breakpoint
from gpudbg.debug.stops import ErrorCard, ErrorRecord, Stop, StopCard, standing_pc
from gpudbg.debug.trace import TraceEntry
from gpudbg.debug.values import FragmentView
from gpudbg.debug.views import (
    buffer_text,
    fragment_lines,
    shape_words,
    value_text,
)
from gpudbg.device import DeviceBuffer
from gpudbg.errors import GpudbgError
from gpudbg.expr import Result

REGISTERS_SHOWN = 16
"""Registers of a warp or lane that a view lists; the rest is counted."""


def _stop(stop: Stop, dbg: DebugSession) -> list[str]:
    if stop is dbg.stop:
        return StopCard.of(dbg, stop).lines()
    return [stop.message, *stop.detail]


def _error(error: ErrorRecord, dbg: DebugSession) -> list[str]:
    return ErrorCard.of(dbg, error).lines()


def _warp(warp: WarpView, dbg: DebugSession) -> list[str]:
    row = warp_row(dbg, warp.state)
    lines = [
        f"warp {warp.index} on sm {warp.sm}, block {dim(warp.block)}: {warp.status}"
        + (f", {row.why}" if row.why else ""),
        f"  lanes  {lane_marks(row)}",
    ]
    code = dbg.symbols.instruction(standing_pc(dbg, warp.state))
    if warp.status != "exited" and code is not None:
        lines.append(f"  next   {code.offset:04x}  {code.text}   {row.where}")
    lines += [
        f"  waits  {kind:5} {lane_list(mask)} -> {dbg.symbols.describe(target)}"
        for kind, mask, target in reversed(warp.stack)
    ]
    return lines


def _lane(lane: LaneView, dbg: DebugSession) -> list[str]:
    word = "ended" if lane.exited else "active" if lane.active else "waiting"
    who = f"block {dim(lane.block)} thread {dim(lane.thread)}"
    return [
        f"lane {lane.index}: {who}, {word}",
        *_registers(lane.R, dbg),
        *_predicates(lane.P, dbg),
    ]


def _registers(file: RegisterFile, dbg: DebugSession) -> list[str]:
    shown = min(len(file), REGISTERS_SHOWN)
    if isinstance(file[0], int):
        cells = [f"R{i:<3} 0x{file[i]:08x}" for i in range(shown)]
        lines = ["  " + "   ".join(cells[i : i + 4]) for i in range(0, shown, 4)]
    else:
        mask = dbg.warp().state.active if dbg.focus else 0xFFFFFFFF
        lines = [f"  R{i:<3} {shape_words(file[i], mask)}" for i in range(shown)]
    more = len(file) - shown
    return [*lines, f"  … R{shown} to R{len(file) - 1}"] if more else lines


def _predicates(file: PredicateFile, dbg: DebugSession) -> list[str]:
    cells = []
    for index in range(7):
        value = file[index]
        if isinstance(value, bool):
            cells.append(f"P{index} {value:d}")
        else:
            lanes = sum(1 << i for i in range(32) if value[i])
            cells.append(f"P{index} {lane_list(lanes)}")
    return ["  " + "   ".join(cells)]


def _result(result: Result, dbg: DebugSession) -> list[str]:
    lane = dbg.focus.lane if dbg.focus else 0
    mask = dbg.warp().state.active if dbg.focus else 0xFFFFFFFF
    shape = shape_words(result.values, mask, result.values.dtype.kind)
    return [f"lane {lane}: {value_text(result, lane)}   ({shape})"]


def _session(session: DebugSession, dbg: DebugSession) -> list[str]:
    grid, block = map(dim, (launch_shape(session).grid, launch_shape(session).block))
    lines = [f"session of {session.kernel.name} in {session.program.path}, <<<{grid}, {block}>>>"]
    if session.stop is not None:
        lines += StopCard.of(session, session.stop).lines()
    return lines


def _program(program: LoadedProgram, dbg: DebugSession) -> list[str]:
    lines = [f"{program.program.path}, {program.program.arch}"]
    for kernel in program.kernels.values():
        sizes = ", ".join(str(p.size) for p in kernel.params)
        lines.append(
            f"  kernel {kernel.name}({sizes}): {kernel.num_regs} registers, "
            f"{kernel.shared_static_bytes} bytes shared, {kernel.local_bytes} bytes local"
        )
    lines += [
        f"  variable {v.name}: {v.space}, {v.size} bytes" for v in program.program.globals.values()
    ]
    return lines


def _device(device: Device, dbg: DebugSession) -> list[str]:
    lines = [f"{device.arch}, {device.gpu.num_sms} SMs, seed {device.gpu.seed}"]
    allocations = list(device.gpu.memory.allocations())
    return lines + [f"  0x{a.base:x}  {a.size:>8} bytes  {a.name}" for a in allocations]


def _buffer(buffer: DeviceBuffer, dbg: DebugSession) -> list[str]:
    return [f"0x{buffer.address:x}  {buffer_text(buffer)}"]


def _snapshot(snapshot: Snapshot, dbg: DebugSession) -> list[str]:
    lines = [f"{snapshot.kernel} after {snapshot.instructions:,} warp instructions"]
    return lines + [
        f"  sm {w.sm} warp {w.slot:<2} {dim(w.block):<10} {dbg.symbols.short(w.pc)}  "
        f"{w.state:<8} {lane_marks(w)}"
        for w in snapshot.warps
    ]


def _instruction(insn: gpudbg.BoundInstruction, dbg: DebugSession) -> list[str]:
    reads, writes = (" ".join(x.names) for x in (insn.reads, insn.writes))
    return [
        insn.text,
        f"  {meaning_of(insn.op, insn.arch)}",
        f"  reads {reads or 'nothing'}; writes {writes or 'nothing'}",
    ]


def _wide_instruction(insn: gpudbg.BoundWideInstruction, dbg: DebugSession) -> list[str]:
    return [insn.text, f"  {insn.control.words()}"]


def _own_lines(value: Any, dbg: DebugSession) -> list[str]:
    return list(value.lines) if isinstance(value, Output) else value.lines()


SHOWN: dict[type, Callable[[Any, DebugSession], list[str]]] = {
    Stop: _stop,
    ErrorRecord: _error,
    WarpView: _warp,
    LaneView: _lane,
    RegisterFile: _registers,
    PredicateFile: _predicates,
    Result: _result,
    DebugSession: _session,
    LoadedProgram: _program,
    Device: _device,
    DeviceBuffer: _buffer,
    Snapshot: _snapshot,
    gpudbg.BoundInstruction: _instruction,
    gpudbg.BoundWideInstruction: _wide_instruction,
    FragmentView: lambda view, dbg: fragment_lines(view, dbg.lane),
    Memory: _own_lines,
    SpecialValue: _own_lines,
    InstructionInfo: _own_lines,
    Output: _own_lines,
    TraceEntry: lambda entry, dbg: [f"{entry}  {entry.text}"],
    Breakpoint: lambda point, dbg: [point.announce()],
}
"""Type -> lines at the prompt, of its subclasses too."""


def lines_of(value: object, dbg: DebugSession) -> list[str] | None:
    """A value's lines, or None where Python's own repr serves."""
    found = next((SHOWN[kind] for kind in type(value).__mro__ if kind in SHOWN), None)
    if found is None:
        return _announced(value)
    try:
        return found(value, dbg)
    except GpudbgError:
        # A view of something that has gone: what it was is better than an error.
        return None


def _announced(value: object) -> list[str] | None:
    """Lines of reports and findings of checks, and of tuples of findings."""
    if isinstance(value, tuple) and value:
        parts = [_announced(one) for one in value]
        if any(part is None for part in parts):
            return None
        return [line for part in parts for line in (*(part or ()), "")][:-1]
    lines = getattr(value, "lines", None)
    if not type(value).__module__.startswith("gpudbg.") or not callable(lines):
        return None
    found: list[str] = lines()
    return found


def shown_types() -> Iterator[type]:
    """Types with a view of their own."""
    return iter(SHOWN)
