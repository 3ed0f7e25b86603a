"""Memory, special registers and instructions as plain data, for scripts.

session.memory(0, 64, "shared")         # bytes with .array(dtype) and a hexdump as text
session.sreg("SR_VIRTID")               # 32 values, the focused lane's taken apart by fields
session.instruction()                   # the next one: text, meaning, what it reads and writes
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from gpudbg.dataclass import dataclass
from gpudbg.debug.stops.standing import standing_pc
from gpudbg.debug.values import access, evaluation
from gpudbg.errors import CommandError, UsageError
from gpudbg.public import public_names
from gpudbg.validation import whole

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.debug.values.fragment_view import FragmentView
    from gpudbg.device.device import DeviceBuffer
    from gpudbg.expr import Result
    from gpudbg.mem.device import Allocation


@dataclass(frozen=True, slots=True, repr=False)
class Memory:
    """Bytes of an address space as one lane saw them.

    Attributes:
        space: global, shared, local, generic, code, or bank (address = bank << 32 | offset).
        address: of the first byte.
        data: the bytes, a copy.
    """

    space: str
    address: int
    data: bytes

    def array(self, dtype: DTypeLike = np.uint32) -> NDArray[Any]:
        """The bytes as numbers, read-only; a rest that fills no number is left out."""
        kind = np.dtype(dtype)
        whole = len(self.data) // kind.itemsize * kind.itemsize
        return np.frombuffer(self.data[:whole], kind)

    def lines(self) -> list[str]:
        """A hexdump: 16 bytes a line, each with its address and its characters."""
        from gpudbg.debug.views.text import hexdump

        return hexdump(self.data, self.address)

    def __repr__(self) -> str:
        return f"<Memory {self.space} 0x{self.address:x}, {len(self.data)} bytes>"

    def _repr_html_(self) -> str:
        from gpudbg import html

        return html.heading(repr(self)[1:-1]) + html.pre(self.lines())

    def __bytes__(self) -> bytes:
        return self.data

    def __len__(self) -> int:
        return len(self.data)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SpecialValue:
    """A special register as a warp reads it.

    Attributes:
        name: as in the register table.
        values: 32 lanes, uint32.
        lane: the lane that is explained.
        fields: field name -> value, of that lane.
    """

    name: str
    values: NDArray[np.uint32]
    lane: int
    fields: dict[str, int]
    _lines: tuple[str, ...] = field(default=(), repr=False)

    @property
    def value(self) -> int:
        """The explained lane's word."""
        return int(self.values[self.lane])

    __dir__ = public_names

    def __repr__(self) -> str:
        return f"<{self.name} of 32 lanes, 0x{self.value:x} in lane {self.lane}>"

    def _repr_html_(self) -> str:
        from gpudbg import html

        return html.pre(self.lines())

    def lines(self) -> list[str]:
        """The word bit by bit."""
        return list(self._lines)


@dataclass(frozen=True, slots=True)
class InstructionInfo:
    """An instruction of the program.

    Attributes:
        offset: in its kernel or function.
        text: as nvdisasm prints it.
        word: its 64 bits.
        meaning: what it does, in a line; empty where nothing is known of it.
        reads, writes: registers, predicates and flags by name.
        line: source line ("file.cu:12"), or empty.
    """

    offset: int
    text: str
    word: int
    meaning: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    line: str = ""

    def _repr_html_(self) -> str:
        from gpudbg import html

        return html.pre(self.lines())

    def lines(self) -> list[str]:
        """Text, meaning and operands."""
        out = [f"{self.offset:04x}  {self.text}"]
        if self.meaning:
            out.append(f"      {self.meaning}")
        out.append(
            f"      reads {' '.join(self.reads) or 'nothing'}; "
            f"writes {' '.join(self.writes) or 'nothing'}" + (f"; {self.line}" if self.line else "")
        )
        return out


def meaning_of(op: str, arch: str = "sm_50") -> str:
    """What a mnemonic does, in a line: the summary of its semantics."""
    from gpudbg.sm.semantics import registry

    rows = registry.table(arch)
    words = rows[op].__doc__ if op in rows else ""
    return (words or "").strip().partition("\n\n")[0].replace("\n", " ")


def sreg(inferior: Inferior, name: str) -> SpecialValue:
    """A special register of the focused warp; see `DebugSession.sreg`."""
    from gpudbg.regs.explain import explain_sr
    from gpudbg.regs.special import find_special, nearest_special

    row = find_special(name)
    if row is None:
        near = ", ".join(nearest_special(name))
        raise CommandError(f"no special register is called {name!r}", f"near: {near}")
    state = inferior.focused()
    result = access.special(inferior, state, row.name)
    lane = inferior.lane
    values = np.zeros(32, np.uint32) if result is None else result.values.astype(np.uint32)
    found = explain_sr(row.number, int(values[lane]), inferior.program.arch)
    fields = {f.row.name: f.value for f in found.fields if not f.row.reserved}
    return SpecialValue(row.name, values, lane, fields, tuple(found.lines()))


def fragments(inferior: Inferior, location: str | int | None = None) -> FragmentView:
    """The operands of a tensor-core instruction; see `DebugSession.fragments`."""
    from gpudbg.debug.values import fragment_view
    from gpudbg.debug.values.evaluation import origin

    inferior.require_stopped()
    warp, symbols = inferior.focused(), inferior.symbols
    here = standing_pc(inferior, warp)
    text = inferior.location_text(location)
    if text is None:
        place = fragment_view.find(inferior, here) if warp.has_groups else None
        if place is None:
            raise CommandError(
                f"no tensor-core instruction near {symbols.describe(here)}",
                "`info fragment LOCATION` takes the place of one: HMMA, IMMA, LDSM, HGMMA …",
            )
    else:
        place = symbols.resolve(text, origin(inferior)).addresses[0]
    return fragment_view.fragment_view(inferior, warp, place, here)


def instruction(inferior: Inferior, offset: int | None = None) -> InstructionInfo:
    """An instruction of the kernel; see `DebugSession.instruction`."""
    from gpudbg.debug.values.operands import instruction_at

    place = None if offset is None else whole(offset, "offset", 0)
    state = inferior.focused() if place is None else None
    pc = standing_pc(inferior, state) if state is not None else inferior.symbols.pc(place or 0)
    code, insn = inferior.symbols.instruction(pc), instruction_at(inferior, pc)
    if code is None:
        raise CommandError(f"no instruction at 0x{offset or pc:x}")
    reads = insn.reads().names if insn else ()
    writes = insn.writes().names if insn else ()
    line = inferior.symbols.line(pc)
    return InstructionInfo(
        code.offset,
        code.text,
        code.word,
        meaning_of(insn.op, inferior.program.arch) if insn else "",
        reads,
        writes,
        str(line or ""),
    )


class SessionMemory:
    """The memory of an inferior, as its focused lane sees it."""

    def __init__(self, inferior: Inferior) -> None:
        self._inferior = inferior

    def __call__(self, place: str | int, size: int = 64, space: str = "") -> Memory:
        """Bytes as the focused lane sees them.

        Args:
            place: an address, or an expression that is one ("out", "&box[3]", "$L2").
            size: bytes, 0 or more.
            space: the address space of a number; generic unless given.

        Raises:
            CommandError: no such place, or nothing there.

        >>> session.memory("in", 16).array(np.int32)
        array([ 250,  715, 1408, 4765], dtype=int32)
        >>> print("\\n".join(session.memory("in", 16).lines()))
        705000000  000000fa 000002cb 00000580 0000129d  ................
        """
        from gpudbg.debug.views.memory import memory_at

        size = whole(size, "size", 0)
        if not isinstance(place, str):
            space, address = space or "generic", whole(place, "place", 0)
        else:
            found = memory_at(self._inferior, place)
            space, address = space or found.space, found.address
        return Memory(space, address, self.read(space, address, size))

    # ---- arguments' buffers --------------------------------------------------------------
    def buffer(self, argument: int | str) -> NDArray[np.generic]:
        """What is in the buffer of an argument; see `DebugSession.buffer`."""
        array: NDArray[np.generic] = self._device_buffer(argument).array()
        return array

    def set_buffer(self, argument: int | str, array: ArrayLike) -> None:
        """Replace what is in the buffer of an argument; see `DebugSession.set_buffer`."""
        self._device_buffer(argument).write(array)

    def _device_buffer(self, argument: int | str) -> DeviceBuffer:
        rows = self._inferior.launch.arguments
        index: int | None = None
        if not isinstance(argument, str):
            index = whole(argument, "argument")
        else:
            names = ((i, (a.name, f"arg{i}")) for i, a in enumerate(rows))
            index = next((i for i, known in names if argument in known), None)
        if index is None or not 0 <= index < len(rows):
            have = ", ".join(a.name for a in rows) or "none"
            raise UsageError(f"no argument {argument!r}", f"arguments: {have}")
        found: DeviceBuffer | None = rows[index].buffer
        if found is None:
            raise UsageError(f"argument {argument!r} is a scalar, not a buffer")
        return found

    def allocations(self) -> Iterator[Allocation]:
        """Device memory, allocation by allocation."""
        return self._inferior.grid.gpu.memory.allocations()

    # ---- as expressions and commands read ------------------------------------------------
    def read(self, space: str, address: int, size: int) -> bytes:
        """Bytes of an address space, also of global memory at the end of a launch.

        Raises:
            CommandError: outside it, or no warp is in focus.
        """
        return evaluation.read_focused(self._inferior, space, address, size)

    def write(self, space: str, address: int, data: bytes) -> None:
        """Replace bytes; errors as `read`, and code cannot be written."""
        inferior = self._inferior
        access.store(inferior, space, address, data, inferior.focused(), inferior.lane)

    def address_of(self, name: str) -> int:
        """Address of a module variable."""
        address: int = self._inferior.launch.loaded.symbol_address(name)
        return address

    def array(self, result: Result, lane: int) -> tuple[Result, NDArray[np.generic]]:
        """The elements of an array that an expression names, as a lane sees it."""
        return evaluation.fetch_array(self._inferior, result, lane)

    def at(self, address: int, size: int) -> bytes | None:
        """Bytes at a generic address as the focused lane sees them; None where there are none."""
        try:
            return evaluation.read_focused(self._inferior, "generic", address, size)
        except CommandError:
            return None

    def bytes_of(self, result: Result, lane: int) -> bytes:
        """The bytes of an array or structure that an expression names, as a lane sees it."""
        return evaluation.fetch_bytes(self._inferior, result, lane)
