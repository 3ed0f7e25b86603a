"""A session's launch as a recording: its inputs, its moves, and what was changed between them.

What was changed is known by carrying the launch out again: a checkpoint holds the state after a
change, and the moves before lead to the state before it.  So a session pays nothing for what it may
never save.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeGuard, runtime_checkable

import numpy as np

from gpudbg.debug.history.replay import BEGINNING, DepartureError, Position
from gpudbg.device.device import DeviceBuffer
from gpudbg.device.images import DeviceImage
from gpudbg.errors import CommandError
from gpudbg.formats.launch_machine import special_table
from gpudbg.formats.recording import (
    RecordedAllocation,
    RecordedArgument,
    RecordedBookmark,
    RecordedBranch,
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
from gpudbg.sm import state_edits
from gpudbg.sm.state_hash import parts, state_hash
from gpudbg.sm.trap.options import OPTION_NAMES

if TYPE_CHECKING:
    from gpudbg.debug.history.replay import Mark
    from gpudbg.debug.session import DebugSession
    from gpudbg.formats.launch import Launch
    from gpudbg.sm.gpu import Gpu
    from gpudbg.sm.grid import Grid
    from gpudbg.sm.moves import Move
    from gpudbg.sm.trap.handler import Handler

_NOT_YET: Final = "recordings do not hold {}"


@runtime_checkable
class RecordableLaunch(Protocol):
    """What a recording needs of a launch beyond what a session does."""

    @property
    def table(self) -> Launch:
        """Its kernel, its dimensions, what it shows at the end."""

    @property
    def params(self) -> bytes:
        """The parameter bytes."""

    @property
    def next_address(self) -> int:
        """Where what the launch makes for itself in device memory begins."""


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
    with session.history.excursion(), _in_order(session):
        return _Taker(session).take()


def require_recordable(session: DebugSession) -> None:
    """CommandError where a launch has what recordings do not hold."""
    replay = session.history.replay
    if not isinstance(session.launch, RecordableLaunch):
        raise CommandError(_NOT_YET.format("launches of another kind than programs' own"))
    if session.grid.gpu.jobs > 1 and any(mark.needed for mark in replay.marks):
        raise CommandError(
            _NOT_YET.format("changes in a launch that runs on several host threads (`--jobs`)"),
            "`gpudbg record` and `--jobs 1` run on one",
        )
    if replay.first != BEGINNING:
        raise CommandError(
            "the launch's beginning is forgotten, so that it cannot be recorded",
            "`run` begins anew; save before the past becomes too long",
        )


@contextmanager
def _in_order(session: DebugSession) -> Iterator[None]:
    """Context: the launch is one of a single host thread.

    Raises:
        CommandError: it was not, and comes to another state that way.
    """
    gpu, replay = session.grid.gpu, session.history.replay
    jobs = gpu.jobs
    if jobs == 1:
        yield
        return
    replay.go(replay.end)
    before = _results(replay.grid)
    gpu.jobs = 1
    replay.marks.clear()
    replay.leave()
    try:
        try:
            replay.go(replay.end)
        except DepartureError:
            raise _other_order() from None
        if _results(replay.grid) != before:
            raise _other_order()
        yield
    finally:
        gpu.jobs = jobs


def _results(grid: Grid) -> dict[str, Any]:
    """Results that do not depend on the order of blocks in a race-free launch."""
    return {name: part for name, part in parts(grid) if name not in ("schedule", "issued", "port")}


def _other_order() -> CommandError:
    return CommandError(
        _NOT_YET.format("what several host threads (`--jobs`) made of this launch"),
        "on one it comes to another state; `gpudbg record` and `--jobs 1` run on one",
    )


class _Taker:
    """Makes the recording of one session."""

    def __init__(self, session: DebugSession) -> None:
        self._session = session
        self._replay = session.history.replay
        self._sections: dict[str, bytes] = {}
        self._edits: dict[int, RecordedEdit | None] = {}

    def take(self) -> Recording:
        """The recording, from the launch's beginning to its present."""
        session, replay, launch = self._session, self._replay, self._session.launch
        assert isinstance(launch, RecordableLaunch)
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
        made = RecordedLaunch(
            version=_version(),
            program=Path(program.path).name,
            raw=self._raw(),
            images=self._images(grid.gpu),
            bound=dict(launch.loaded.module.bound),
            handler=self._handler(replay.handler),
            next_handler=self._handler(grid.gpu.handler),
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
            bookmarks=tuple(
                RecordedBookmark(tick, *words) for tick, words in session.bookmarks.items()
            ),
            begin=began,
            followed=self._branch(session.history.branches.current, machine),
            others=tuple(self._branch(n, machine) for n, _ in session.history.branches),
        )
        return Recording(made, self._sections)

    def _branch(self, number: int, machine: RecordedMachine) -> RecordedBranch:
        """A branch, up to its end."""
        history, replay = self._session.history, self._replay
        branches = history.branches
        left, name = branches.left_at(number), branches.name_of(number)
        origin = branches.origin(number)
        with history.on_branch(number):
            edits = [edit for mark in self._needed() if (edit := self._edit(mark))]
            replay.leave()
            replay.go(replay.end)
            return RecordedBranch(
                number=number,
                name=name,
                parent=origin.parent,
                begins_at=origin.tick,
                left=left,
                moves=tuple(_move(move, machine.trap_options) for move in replay.moves),
                edits=tuple(edits),
                end=state_hash(replay.grid),
                end_tick=replay.grid.total,
            )

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
            on_fault=gpu.on_fault.word,
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

    def _handler(self, handler: Handler | None) -> RecordedHandler | None:
        """A trap handler; a program of several launches, or branches, is kept once."""
        if handler is None:
            return None
        data = handler.program.data
        known = (name for name, content in self._sections.items() if content == data)
        name = next((n for n in known if n.startswith("handler")), None)
        if name is None:
            count = sum(n.startswith("handler") for n in self._sections)
            name = self._section(f"handler {count}", data)
        return RecordedHandler(name, handler.name, handler.argument)

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
                # A scalar, or a texture or surface handle: stored as a number.
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
        """The edit at a checkpoint, shared between branches; None where nothing recordable
        changed.
        """
        if id(mark) not in self._edits:
            self._edits[id(mark)] = self._changed(mark.at)
        return self._edits[id(mark)]

    def _changed(self, at: Position) -> RecordedEdit | None:
        replay = self._replay
        replay.go_before_change(at)
        before, old_handler = state_hash(replay.grid), state_edits.handler_of(replay.grid)
        replay.go(at)
        after, handler = state_hash(replay.grid), state_edits.handler_of(replay.grid)
        if before == after:
            return None
        new = handler is not old_handler
        now, contents = state_edits.value_parts(replay.grid), state_edits.copied(replay.grid)
        self._go_before(at, new, handler)
        values, old = state_edits.value_parts(replay.grid), state_edits.copied(replay.grid)
        new_values = {n: v for n, v in now.items() if values.get(n) != v}
        pieces = []
        for name, content in contents.items():
            if name not in old or len(old[name]) != len(content):
                raise self._unknown(at)
            for offset, piece in state_edits.changed(old[name], content):
                label = f"edit {len(self._edits)} {name} {offset}"
                pieces.append((name, offset, self._section(label, piece)))
        self._check(new_values, pieces, after, at)
        return RecordedEdit(
            at.moves, at.tick, new_values, tuple(pieces),
            self._handler(handler) if new else None, new and handler is None, after,
        )  # fmt: skip

    def _go_before(self, at: Position, new: bool, handler: Handler | None) -> None:
        """Move to the state before an edit, but with the trap handler that the edit installed."""
        self._replay.go_before_change(at)
        if new:
            state_edits.set_handler(self._replay.grid, handler)

    def _check(
        self,
        values: dict[str, int],
        pieces: list[tuple[str, int, str]],
        wanted: str,
        at: Position,
    ) -> None:
        """Apply a recorded edit at its position and compare the resulting state with the
        checkpoint.
        """
        replay = self._replay
        content = [(name, offset, self._sections[label]) for name, offset, label in pieces]
        state_edits.apply(replay.grid, values, content)
        same = state_hash(replay.grid) == wanted
        replay.leave()
        if not same:
            raise self._unknown(at)

    def _unknown(self, at: Position) -> CommandError:
        return CommandError(
            f"what was changed at tick {at.tick:,} cannot be recorded",
            "registers, predicates, flags, pcs, memory, debugger registers and a trap handler can",
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
        {name: value for name, value in named if usual[name] != value}, move.goes_on,
        move.before, move.after, move.stop_kind, move.single, left,
    )  # fmt: skip


def _numbers(words: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """Words of the SMs with booleans as integers, for JSON."""
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
