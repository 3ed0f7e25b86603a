"""A session's launch as a recording: its inputs, its moves, and what was changed between them.

What was changed is known by carrying the launch out again: a checkpoint holds the state after a
change, and the moves before lead to the state before it.  So a session pays nothing for what it may
never save.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeGuard

import numpy as np

from gpudbg.debug.history.replay import BEGINNING, Position
from gpudbg.device.device import DeviceBuffer
from gpudbg.device.images import DeviceImage
from gpudbg.errors import CommandError
from gpudbg.formats.launch_machine import special_table
from gpudbg.formats.recording import (
    RecordedAllocation,
    RecordedArgument,
    RecordedBookmark,
    RecordedEdit,
    RecordedHandler,
    RecordedImages,
    RecordedLaunch,
    RecordedMachine,
    RecordedMove,
    RecordedWords,
    Recording,
    encode,
)
from gpudbg.launch.prepare import ProgramLaunch
from gpudbg.sm import state_edits
from gpudbg.sm.state_hash import state_hash
from gpudbg.sm.trap.options import OPTION_NAMES

if TYPE_CHECKING:
    from gpudbg.debug.history.replay import Mark
    from gpudbg.debug.session import DebugSession
    from gpudbg.sm.gpu import Gpu
    from gpudbg.sm.grid import Grid
    from gpudbg.sm.moves import Move

_NOT_YET: Final = "recordings do not hold {}"


def save(session: DebugSession, path: str | os.PathLike[str]) -> int:
    """Write a session's launch to a file; its size in bytes.

    Raises:
        CommandError: something of it cannot be recorded, or the file cannot be written.
    """
    data = encode(take(session))
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}") from None
    return len(data)


def take(session: DebugSession) -> Recording:
    """A session's launch up to its present; the session stands where it stood afterwards.

    Raises:
        CommandError: something of it cannot be recorded.
    """
    session.require_launched()
    require_recordable(session)
    with session.history.excursion():
        return _Taker(session).take()


def require_recordable(session: DebugSession) -> None:
    """CommandError where a launch has what recordings do not hold."""
    gpu, launch = session.grid.gpu, session.launch
    history = session.history
    troubles = {
        "references to textures and surfaces": bool(session.program.images),
        "trap handlers that were installed on the way": not history.replay.keeps_handler,
        "runs on several host threads (`--jobs`)": gpu.jobs > 1,
        "launches that were not made from a launch table": not isinstance(launch, ProgramLaunch),
    }
    for what, found in troubles.items():
        if found:
            hint = "`gpudbg record` and `--jobs 1` run on one" if "--jobs" in what else None
            raise CommandError(_NOT_YET.format(what), hint)
    if history.replay.first != BEGINNING:
        raise CommandError(
            "the launch's beginning is forgotten, so that it cannot be recorded",
            "`run` begins anew; save before the past becomes too long",
        )


class _Taker:
    """Makes the recording of one session."""

    def __init__(self, session: DebugSession) -> None:
        self._session = session
        self._replay = session.history.replay
        self._sections: dict[str, bytes] = {}

    def take(self) -> Recording:
        """The recording, from the launch's beginning to its present."""
        session, replay, launch = self._session, self._replay, self._session.launch
        assert isinstance(launch, ProgramLaunch)
        program, table = session.program, launch.table
        buffers = {a.name for a in launch.arguments if _is_buffer(a.buffer)}
        self._section("program", program.data)
        sources = {
            name: self._section(f"source {n}", text.encode())
            for n, (name, text) in enumerate(self._sources().items())
        }
        replay.go_before_change(BEGINNING)
        grid = replay.grid
        began = state_hash(grid)
        allocations = self._allocations(grid)
        machine = self._machine(grid.gpu)
        edits = [edit for mark in self._needed() if (edit := self._edit(mark))]
        replay.go(replay.end)
        made = RecordedLaunch(
            version=_version(),
            program=Path(program.path).name,
            raw=self._raw(),
            images=self._images(grid.gpu),
            handler=self._handler(grid.gpu),
            machine=machine,
            sources=sources,
            marks={name: tuple(rows) for name, rows in program.marks.items()},
            segments={n: a.base for n, a in launch.loaded.module.segments.items()},
            next_address=launch.next_address,
            kernel=launch.kernel.name,
            grid=table.grid,
            block=table.block,
            cluster=table.cluster,
            shared_bytes=table.shared_bytes,
            params=launch.params.hex(),
            arguments=self._arguments(),
            outputs=tuple(
                (o.buffer, o.start, o.stop, o.format) for o in table.outputs if o.buffer in buffers
            ),
            allocations=allocations,
            moves=tuple(_move(move, machine.trap_options) for move in replay.moves),
            edits=tuple(edits),
            bookmarks=tuple(
                RecordedBookmark(tick, *words) for tick, words in session.bookmarks.items()
            ),
            begin=began,
            end=state_hash(replay.grid),
            end_tick=replay.grid.total,
        )
        return Recording(made, self._sections)

    def _sources(self) -> dict[str, str]:
        """Source texts: those that the program was made from, then files that are here."""
        session = self._session
        texts = dict(session.program.sources)
        for file in session.symbols.files:
            lines = session.sources.lines(file)
            if lines is not None and not any(_ends(file, name) for name in texts):
                texts[file] = "\n".join(lines) + "\n"
        return texts

    def _section(self, name: str, content: bytes) -> str:
        self._sections[name] = content
        return name

    def _needed(self) -> list[Mark]:
        return [mark for mark in self._replay.marks if mark.needed]

    # ---- the beginning -------------------------------------------------------------------
    def _machine(self, gpu: Gpu) -> RecordedMachine:
        return RecordedMachine(
            arch=gpu.arch,
            num_sms=gpu.num_sms,
            fixed_sms=gpu.fixed_sms,
            seed=gpu.seed,
            quantum=gpu.quantum,
            heap_bytes=gpu.heap_bytes,
            stack_bytes=gpu.stack_bytes,
            stack_entries=gpu.stack_entries,
            engine=gpu.engine,
            launches=gpu.launches - 1,
            heap_used=gpu.heap.used,
            trap_options=gpu.trap_options.to_json(),
            special=special_table(gpu.special),
        )

    def _raw(self) -> RecordedWords | None:
        session = self._session
        if not session.program.raw:
            return None
        kernel = session.kernel
        sizes = tuple(param.size for param in kernel.params)
        return RecordedWords(
            kernel.num_regs, kernel.num_barriers, sizes,
            kernel.shared_static_bytes, kernel.local_bytes,
        )  # fmt: skip

    def _images(self, gpu: Gpu) -> RecordedImages:
        images = gpu.images
        names = {str(index): name for index, name in images.names.items()}
        return RecordedImages(
            images.maximum_index, images.bank, images.samplers, names,
            tuple(sorted(images.disabled)), images.places(),
        )  # fmt: skip

    def _handler(self, gpu: Gpu) -> RecordedHandler | None:
        handler = gpu.handler
        if handler is None:
            return None
        self._section("handler", handler.program.data)
        return RecordedHandler("handler", handler.name, handler.argument)

    def _allocations(self, grid: Grid) -> tuple[RecordedAllocation, ...]:
        """Device memory that is not the launch's own."""
        own, heap = set(grid.owned), grid.gpu.heap.blocks
        out = []
        for allocation in grid.gpu.memory.allocations():
            if allocation in own:
                continue
            name = f"memory 0x{allocation.base:x}"
            self._section(name, allocation.data.tobytes())
            written = None
            if allocation.uninitialized and allocation.marks is not None:
                bits = np.packbits(allocation.marks != 0).tobytes()
                written = self._section(f"written 0x{allocation.base:x}", bits)
            out.append(
                RecordedAllocation(
                    allocation.base, allocation.size, allocation.name, allocation.tag,
                    name, written, allocation in heap,
                )
            )  # fmt: skip
        return tuple(out)

    def _arguments(self) -> tuple[RecordedArgument, ...]:
        out = []
        for each in self._session.launch.arguments:
            buffer, value = each.buffer, _number(each.value)
            if not _is_buffer(buffer):
                # A scalar, or the handle of a texture or surface.
                out.append(RecordedArgument(each.name, value, None, "", (), False))
            else:
                shape = tuple(int(size) for size in buffer.shape)
                out.append(
                    RecordedArgument(
                        each.name, value, buffer.address, buffer.dtype.str, shape, each.output
                    )
                )
        return tuple(out)

    # ---- changes -------------------------------------------------------------------------
    def _edit(self, mark: Mark) -> RecordedEdit | None:
        """What a user changed at a checkpoint; None without a change that recordings hold."""
        replay, at = self._replay, mark.at
        replay.go_before_change(at)
        values, parts = state_edits.value_parts(replay.grid), state_edits.copied(replay.grid)
        before = state_hash(replay.grid)
        replay.go(at)
        after = state_hash(replay.grid)
        if before == after:
            return None
        now = state_edits.value_parts(replay.grid)
        new_values = {n: v for n, v in now.items() if values.get(n) != v}
        pieces = []
        for name, content in state_edits.copied(replay.grid).items():
            old = parts.get(name)
            if old is None or len(old) != len(content):
                raise self._unknown(at)
            for offset, piece in state_edits.changed(old, content):
                label = f"edit {at.moves} {at.tick} {name} {offset}"
                pieces.append((name, offset, self._section(label, piece)))
        self._check(at, new_values, pieces, after)
        return RecordedEdit(at.moves, at.tick, new_values, tuple(pieces), after)

    def _check(
        self,
        at: Position,
        values: dict[str, int],
        pieces: list[tuple[str, int, str]],
        wanted: str,
    ) -> None:
        """Apply the change again and compare the states."""
        replay = self._replay
        replay.go_before_change(at)
        content = [(name, offset, self._sections[label]) for name, offset, label in pieces]
        state_edits.apply(replay.grid, values, content)
        same = state_hash(replay.grid) == wanted
        replay.leave()
        if not same:
            raise self._unknown(at)

    def _unknown(self, at: Position) -> CommandError:
        return CommandError(
            f"what was changed at tick {at.tick:,} cannot be recorded",
            "registers, predicates, flags, pcs, memory and debugger registers can",
        )


def _is_buffer(found: DeviceBuffer | None) -> TypeGuard[DeviceBuffer]:
    """Whether an argument is plain memory, no texture or surface."""
    return found is not None and not isinstance(found, DeviceImage)


def _ends(file: str, name: str) -> bool:
    return file == name or file.endswith("/" + name.lstrip("/"))


def _move(move: Move, usual: Mapping[str, Any]) -> RecordedMove:
    left = None if move.left is None else _numbers(move.left)
    named = zip(OPTION_NAMES, move.options, strict=True)
    return RecordedMove(
        move.kind, move.who, move.through, _numbers(move.driven), move.stop_on_entry,
        {name: value for name, value in named if usual[name] != value},
        move.before, move.after, move.stop_kind, move.single, left,
    )  # fmt: skip


def _numbers(words: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """Words of the SMs, without booleans."""
    return tuple(tuple(map(int, row)) for row in words)


def _number(value: Any) -> int | float | str:
    """A scalar as JSON has it."""
    if isinstance(value, bytes):
        return value.hex()
    plain = value.item() if hasattr(value, "item") else value
    return plain if isinstance(plain, int | float) else str(plain)


def _version() -> str:
    from importlib import metadata

    return metadata.version("gpudbg")
