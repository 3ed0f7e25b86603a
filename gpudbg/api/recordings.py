"""Opening a recording: a device as it was, the launch on it, and what was done with that."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpudbg.api.console import commands
from gpudbg.api.device import Device
from gpudbg.debug.history.branches import Branch, BranchOrigin
from gpudbg.debug.history.replay import BEGINNING, Position
from gpudbg.debug.progress import progress_shown
from gpudbg.device.device import DeviceBuffer
from gpudbg.errors import GpudbgError, LoadError
from gpudbg.formats.cubin import read_cubin
from gpudbg.formats.elf import ELF_MAGIC
from gpudbg.formats.launch import Launch, OutputSpec, RawSpec
from gpudbg.formats.launch_machine import make_special
from gpudbg.formats.raw import read_raw
from gpudbg.formats.reading import read_bytes
from gpudbg.formats.recording import (
    RecordedBranch,
    RecordedHandler,
    RecordedLaunch,
    RecordedMove,
    Recording,
    decode,
    harmless,
)
from gpudbg.launch.prepare import Argument, Details, ProgramLaunch, Sizes
from gpudbg.sm import state_edits
from gpudbg.sm.moves import Move
from gpudbg.sm.state_hash import state_hash
from gpudbg.sm.trap.handler import Handler
from gpudbg.sm.trap.options import TrapOptions

if TYPE_CHECKING:
    from gpudbg.api.programs import LoadedProgram
    from gpudbg.debug.history.replay import Replay
    from gpudbg.debug.session import DebugSession
    from gpudbg.formats.program import Program
    from gpudbg.mem.device import Allocation
    from gpudbg.sm.gpu import Gpu


def open_recording(path: str | Path, *, progress: bool = False) -> DebugSession:
    """A session at the end of what was recorded, with all its past.

    Args:
        progress: say on a terminal's standard error how far it is, where it takes long.

    Raises:
        LoadError: it is damaged, of another version, or does not come to the same state again.
    """
    return resume(decode(read_bytes(path), str(path)), progress=progress)


def resume(recording: Recording, *, progress: bool = False) -> DebugSession:
    """A session of a recording; arguments and errors as `open_recording`."""
    try:
        return _Resumed(recording).session(progress)
    except LoadError:
        raise
    except (GpudbgError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        # Whatever a damaged recording asks of the machine is refused there.
        reason = error.message if isinstance(error, GpudbgError) else str(error)
        raise LoadError(f"cannot be carried out: {reason}", path=recording.path) from error


class _Resumed:
    """Makes the session of one recording."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._of: RecordedLaunch = recording.launch

    def session(self, progress: bool) -> DebugSession:
        """It."""
        from gpudbg.debug.session import DebugSession

        loaded = self._loaded()
        allocations = self._allocations(loaded)
        gpu = loaded.device.gpu
        gpu.launches, gpu.heap.used = self._of.machine.launches, self._of.machine.heap_used
        gpu.memory.next_address = self._of.next_address
        self._restore_images(gpu, allocations)
        loaded.module.bound.update(self._of.bound)
        gpu.handler = self._handler(self._of.handler)
        session = DebugSession(self._launch(loaded, allocations), commands)
        loaded.device.sessions.add(session)
        shown = progress and sys.stderr.isatty()
        with progress_shown(session) if shown else nullcontext():
            self._carry_out(session)
        gpu.handler = self._handler(self._of.next_handler)
        return session

    # ---- the beginning -------------------------------------------------------------------
    def _loaded(self) -> LoadedProgram:
        """The program on a device like the one that was."""
        machine = self._of.machine
        device = Device(
            arch=machine.arch,
            num_sms=machine.num_sms,
            seed=machine.seed,
            engine=machine.engine,
            heap_bytes=machine.heap_bytes,
            stack_bytes=machine.stack_bytes,
            on_fault=machine.on_fault,
        )
        gpu = device.gpu
        gpu.fixed_sms, gpu.quantum = machine.fixed_sms, max(machine.quantum, 1)
        gpu.stack_entries = machine.stack_entries
        gpu.marking = True
        for name, value in machine.trap_options.items():
            gpu.trap_options.set(name, value)
        gpu.special = make_special(machine.special)
        return device.adopt(self._program(), lambda name, size: self._segment(gpu, name, size))

    def _segment(self, gpu: Gpu, name: str, size: int) -> Allocation:
        """Memory of a program's variables, where it was."""
        base = self._of.segments.get(name)
        known = next((each for each in self._of.allocations if each.base == base), None)
        if base is None or known is None or known.size != size:
            raise self._error(f"has no place for segment {name}")
        return gpu.memory.place(base, size, known.name, tag=known.tag)

    def _program(self) -> Program:
        data, raw = self._recording.section("program"), self._of.raw
        if raw is None:
            program = read_cubin(data, self._of.program)
        else:
            spec = RawSpec(
                raw.num_regs, raw.num_barriers, raw.params, raw.shared_bytes, raw.local_bytes
            )
            table = Launch(kernel=self._of.kernel, block=self._of.block, raw=spec)
            program = read_raw(data, self._of.program, table, self._of.machine.arch)
        sources = {
            name: harmless(self._recording.section(label).decode())
            for name, label in self._of.sources.items()
        }
        marks: Any = self._of.marks
        return replace(program, sources=sources, marks=marks)

    def _restore_images(self, gpu: Gpu, allocations: dict[int, Allocation]) -> None:
        """Textures and surfaces as they were; their headers and texels are device memory."""
        of, images = self._of.images, gpu.images
        pools = {kind: allocations.get(base) for kind, base in of.pools.items()}
        found = {kind: pool for kind, pool in pools.items() if pool is not None}
        if len(found) < len(pools):
            raise self._error("has no memory for a pool of textures")
        images.maximum_index, images.bank = of.maximum_index, of.bank
        images.names = {int(index): name for index, name in of.names.items()}
        images.disabled = set(of.disabled)
        images.take_over(of.samplers, found)

    def _handler(self, of: RecordedHandler | None) -> Handler | None:
        if of is None:
            return None
        data = self._recording.section(of.program)
        if data.startswith(ELF_MAGIC):
            program = read_cubin(data, "the trap handler")
        else:
            table = Launch(kernel=of.name)
            program = read_raw(data, of.name, table, self._of.machine.arch)
        return Handler(program, of.name, of.argument)

    def _allocations(self, loaded: LoadedProgram) -> dict[int, Allocation]:
        """Device memory as it was, by address."""
        gpu = loaded.device.gpu
        memory = gpu.memory
        found = {a.base: a for a in memory.allocations()}
        for each in self._of.allocations:
            content = self._recording.section(each.content)
            if len(content) != each.size:
                raise self._error(f"{each.content}: {len(content)} bytes, not {each.size}")
            made = found.get(each.base)
            if made is None:
                made = memory.place(each.base, each.size, each.name, tag=each.tag)
                found[each.base] = made
            elif made.size != each.size:
                raise self._error(f"{each.name} has no place at 0x{each.base:x}")
            made.writable()[:] = np.frombuffer(content, np.uint8)
            if each.written is not None:
                memory.leave_uninitialized(made)
                bits = np.frombuffer(self._recording.section(each.written), np.uint8)
                marks = made.marked()
                marks[:] = np.unpackbits(bits, count=len(marks))
            if each.heap:
                gpu.heap.blocks.add(made)
        return found

    def _launch(self, loaded: LoadedProgram, allocations: dict[int, Allocation]) -> ProgramLaunch:
        of = self._of
        arguments = tuple(self._argument(n, loaded, allocations) for n in range(len(of.arguments)))
        table = Launch(
            kernel=of.kernel,
            grid=of.grid,
            block=of.block,
            cluster=of.cluster,
            shared_bytes=of.shared_bytes,
            outputs=tuple(OutputSpec(*row) for row in of.outputs),
            source=self._recording.path,
        )
        kernel = loaded.kernels.get(of.kernel)
        if kernel is None:
            raise self._error(f"its program has no kernel {of.kernel}")
        params = bytes.fromhex(of.params)
        sizes = Sizes(table.grid, table.block, table.shared_bytes, table.cluster)
        details = Details(table, arguments)
        buffers = [a.buffer for a in arguments if a.buffer is not None]
        return ProgramLaunch(loaded, kernel, sizes, params, lambda: details, buffers)

    def _argument(
        self, number: int, loaded: LoadedProgram, allocations: dict[int, Allocation]
    ) -> Argument:
        of = self._of.arguments[number]
        if of.base is None:
            return Argument(of.name, of.value, None, of.output)
        allocation = allocations.get(of.base)
        dtype = np.dtype(of.dtype)
        if allocation is None or dtype.hasobject:
            raise self._error(f"argument {of.name} has no buffer")
        if int(np.prod(of.shape, dtype=object)) * dtype.itemsize != allocation.size:
            raise self._error(f"argument {of.name} does not fit its buffer")
        buffer = DeviceBuffer(loaded.device, allocation, dtype, of.shape)
        return Argument(of.name, of.value, buffer, of.output)

    # ---- what was done -------------------------------------------------------------------
    def _carry_out(self, session: DebugSession) -> None:
        """Do everything again, on every branch, up to the end of the one that is followed."""
        history, of = session.history, self._of
        replay, branches = history.replay, history.branches
        numbers = [branch.number for branch in (of.followed, *of.others)]
        if len(set(numbers)) < len(numbers) or min(numbers) < 1:
            raise self._error("has branches of the same number")
        replay.begin_with([])
        # As the launch is made, before the session has done anything with it.
        replay.leave()
        replay.go(BEGINNING)
        if state_hash(replay.grid) != of.begin:
            raise self._error("does not begin in the state that was recorded")
        for branch in of.others:
            self._lead(replay, branch)
            left = None if branch.left is None else Position(*branch.left)
            kept = Branch(list(replay.moves), list(replay.marks), left, branch.name)
            branches.restore(branch.number, kept, _origin(branch))
        self._lead(replay, of.followed)
        left = None if of.followed.left is None else Position(*of.followed.left)
        branches.follow(of.followed.number, of.followed.name, left, _origin(of.followed))
        for bookmark in of.bookmarks:
            if bookmark.text:
                session.timeline.mark(bookmark.tick, bookmark.text)
            session.timeline.annotate(bookmark.tick, bookmark.note)
        history.stand_at_end()

    def _lead(self, replay: Replay, branch: RecordedBranch) -> None:
        """Lead the launch on to the end of a branch."""
        replay.begin_with([self._move(move) for move in branch.moves])
        for edit in branch.edits:
            at = Position(edit.moves, edit.tick)
            replay.leave()
            replay.go(at)
            if edit.removed or edit.handler is not None:
                state_edits.set_handler(replay.grid, self._handler(edit.handler))
            pieces = [(n, offset, self._recording.section(s)) for n, offset, s in edit.pieces]
            state_edits.apply(replay.grid, edit.values, pieces)
            if state_hash(replay.grid) != edit.hash:
                raise self._error(f"comes to another state at tick {edit.tick:,}")
            replay.mark(at, needed=True)
        replay.leave()
        replay.go(replay.end)
        if replay.grid.total != branch.end_tick or state_hash(replay.grid) != branch.end:
            raise self._error(f"comes to another state at its end, tick {branch.end_tick:,}")

    def _move(self, move: RecordedMove) -> Move:
        options = TrapOptions()
        for name, value in {**self._of.machine.trap_options, **move.options}.items():
            options.set(name, value)
        return Move(**{**_plain(move), "options": options.values})

    def _error(self, words: str) -> LoadError:
        hint = f"gpudbg {self._of.version} wrote it"
        return LoadError(words, path=self._recording.path, hint=hint)


def _origin(branch: RecordedBranch) -> BranchOrigin:
    return BranchOrigin(branch.parent, branch.begins_at)


def _plain(move: Any) -> dict[str, Any]:
    return {name: getattr(move, name) for name in type(move).__dataclass_fields__}
