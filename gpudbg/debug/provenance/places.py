"""What is asked about: the place that an expression names, in one lane or in all.

A place is bytes of a memory, or registers of some lanes of a warp.  It stays the same place while
the launch moves through its past: names, variables and addresses are looked up once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpudbg.answers.words import dim
from gpudbg.dataclass import dataclass
from gpudbg.debug.values import shared_registers
from gpudbg.debug.values.access import banked, read, resolve, unbanked
from gpudbg.debug.values.context import SHARED_FILES, WarpContext
from gpudbg.debug.values.lanes import LANES
from gpudbg.debug.views.format import format_value
from gpudbg.errors import CommandError
from gpudbg.expr import evaluate, parse
from gpudbg.expr.types import TYPES, Array, Scalar
from gpudbg.sm.selection import SelectedConstant

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.expr.evaluation import Place, Result
    from gpudbg.isa.family import Instruction
    from gpudbg.sm.grid import Grid
    from gpudbg.sm.state import WarpState

WarpKey = tuple[int, int]
"""CTA number and index in it: the same warp at every moment."""
MEMORY: Final = ("global", "shared", "local", "constant")
MOST_BYTES: Final = 1 << 16
_FLAGS: Final = "ZSCO"


@dataclass(frozen=True, slots=True)
class AskedPlace:
    """A place.

    Attributes:
        expression: how its user wrote it.
        type: of the value.
        space: global, shared, local or constant; else the kind of register: register, predicate,
            cc, uniform, uniform predicate or barrier.
        lanes: those that ask: the place is theirs (local memory, registers) or what they named.
        key: the warp; of shared memory, one of the block's.
        numbers: of registers, low word first.
        address, size: of memory; a constant's address has the bank above bit 32.
        flag: of the condition code, the flag; "" for all.
        device: of a constant that lies in device memory, its address there: loads and cx[UR] read
            it, too; else None.
    """

    expression: str
    type: Any
    space: str
    lanes: int
    key: WarpKey
    numbers: tuple[int, ...] = ()
    address: int = 0
    size: int = 0
    flag: str = ""
    device: int | None = None

    @property
    def in_memory(self) -> bool:
        """Whether it is bytes of a memory."""
        return self.space in MEMORY

    @property
    def in_code(self) -> bool:
        """Whether accesses to the place are visible in instructions themselves (registers,
        constants), not only at run time.
        """
        return not self.in_memory or self.space == "constant"

    @property
    def accessed(self) -> AskedPlace | None:
        """The place as memory accesses touch it; None where none can."""
        if self.space == "constant" and self.device is not None:
            return replace(self, space="global", address=self.device)
        return None if self.in_code else self

    @property
    def text(self) -> str:
        """The place in canonical spelling."""
        if self.space == "constant":
            return f"c[0x{self.address >> 32:x}][0x{self.address & 0xFFFFFFFF:x}]"
        if self.in_memory:
            return f"{self.space} 0x{self.address:x}"
        if self.space == "cc":
            return f"CC.{self.flag}" if self.flag else "CC"
        prefix = _PREFIXES[self.space]
        return ", ".join(f"{prefix}{number}" for number in self.numbers)

    def written_by(self, insn: Instruction) -> bool:
        """Whether an instruction writes the register; none writes a constant."""
        return self.space != "constant" and self._is_in(insn.writes())

    def read_by(self, insn: Instruction) -> bool:
        """Whether an instruction reads the register, or may read the constant."""
        if self.space == "constant":
            return self.constant.read_by(insn)
        return self._is_in(insn.reads())

    @property
    def constant(self) -> SelectedConstant:
        """Where in its bank a constant is."""
        return SelectedConstant(self.address >> 32, self.address & 0xFFFFFFFF, self.size)

    def _is_in(self, access: Any) -> bool:
        if self.space == "cc":
            return bool(access.cc)
        return not access_of(access, self.space).isdisjoint(self.numbers)


_PREFIXES: Final = {
    "register": "R",
    "predicate": "P",
    "uniform": "UR",
    "uniform predicate": "UP",
    "barrier": "B",
}
_FIELDS: Final = {
    "register": "registers",
    "predicate": "predicates",
    "uniform": "uniform",
    "uniform predicate": "uniform_predicates",
    "barrier": "barriers",
}


def access_of(access: Any, space: str) -> frozenset[int]:
    """The numbers of one kind of registers that an instruction reads or writes."""
    numbers: frozenset[int] = getattr(access, _FIELDS[space])
    return numbers


def key_of(warp: WarpState) -> WarpKey:
    """Identity of a warp within its launch: CTA number and index in the CTA."""
    return warp.cta.number, warp.index


def find_warp(grid: Grid, key: WarpKey) -> WarpState | None:
    """A warp, while its block is resident."""
    return next((w for w in grid.warps() if key_of(w) == key), None)


# ---- from an expression ----------------------------------------------------------------
def asked_places(
    inferior: Inferior, expression: str, how: str, warp: WarpState, lane: int | None
) -> list[AskedPlace]:
    """The place that an expression names: of a lane, or (None) of all 32, each place once.

    What instructions read as a constant is one where reads are asked about, though it lies in
    device memory.

    Raises:
        CommandError: it is a value and no place, or one that no instruction writes.
    """
    result = evaluate(parse(expression), WarpContext(inferior, warp))
    place = result.place
    if place is None:
        raise _no_place(expression)
    mask = warp.valid if lane is None else 1 << lane
    if place.kind == "memory":
        return _memory(inferior, expression, how, result, warp, mask)
    numbers, flag = _register(place, expression)
    space = "cc" if place.kind in ("cc", "flag") else place.kind
    space = "register" if place.kind in ("register", "pair", "apart") else space
    return [AskedPlace(expression, result.type, space, mask, key_of(warp), numbers, flag=flag)]


def _no_place(expression: str) -> CommandError:
    return CommandError(
        f"{expression} is a value, not a place that instructions write",
        "a variable, an element, *(@SPACE TYPE *)ADDRESS, a register or a predicate is one",
    )


def _register(place: Place, expression: str) -> tuple[tuple[int, ...], str]:
    if place.kind in ("register", "predicate", *SHARED_FILES):
        return (place.index,), ""
    if place.kind == "pair":
        return (place.index, place.index + 1), ""
    if place.kind == "apart":
        return (place.index, int(place.name.removeprefix("R"))), ""
    if place.kind in ("cc", "flag"):
        return (), place.name if place.kind == "flag" else ""
    raise _no_place(expression)


def _memory(
    inferior: Inferior, expression: str, how: str, result: Result, warp: WarpState, mask: int
) -> list[AskedPlace]:
    """The distinct memory places that an expression names in the lanes of `mask`."""
    place, size = result.place, result.type.size
    assert place is not None
    assert place.addresses is not None
    if not 0 < size <= MOST_BYTES:
        raise CommandError(f"{expression} has {size} bytes", f"at most {MOST_BYTES}")
    found: dict[tuple[str, int, int], int] = {}
    devices: dict[int, int | None] = {}
    for lane in (n for n in range(LANES) if mask >> n & 1 and result.valid[n]):
        space, address = resolve(inferior, place.space, int(place.addresses[lane]))
        at = banked(inferior, address) if space == "global" and how == "read" else None
        if at is not None:
            devices[at[0] << 32 | at[1]] = address
            space, address = "constant", at[0] << 32 | at[1]
        if space in ("bank", "const"):
            space = "constant"
            devices[address] = unbanked(inferior, address >> 32, address & 0xFFFFFFFF)
        if space not in MEMORY:
            raise CommandError(f"{expression}: {space} memory is never written")
        apart = lane if space == "local" else -1
        found[space, address, apart] = found.get((space, address, apart), 0) | 1 << lane
    if not found:
        raise CommandError(f"{expression}: {result.why or 'no lane has it'}")
    made = AskedPlace(expression, result.type, "", 0, key_of(warp), size=size)
    return [
        replace(
            made,
            space=space,
            address=address,
            lanes=lanes,
            device=devices.get(address) if space == "constant" else None,
        )
        for (space, address, _), lanes in found.items()
    ]


def memory_place(
    space: str, address: int, size: int, key: WarpKey, lane: int, like: Any = None
) -> AskedPlace:
    """A word of memory, as one lane sees it; of a type where that has its size."""
    type_ = _WORDS.get(size, _WORDS[4])
    if isinstance(like, Scalar) and like.size == size:
        type_ = like
    made = AskedPlace("", type_, space, 1 << lane, key, address=address, size=size)
    return replace(made, expression=made.text)


def register_place(
    space: str, numbers: tuple[int, ...], key: WarpKey, lane: int, type_: Any = None
) -> AskedPlace:
    """Registers of one lane."""
    plain = _TRUTH if space.endswith("predicate") else _WORDS[4 * max(len(numbers), 1)]
    made = AskedPlace("", type_ or plain, space, 1 << lane, key, numbers)
    return replace(made, expression=made.text)


FLOAT: Final = TYPES["float"]
_TRUTH: Final = TYPES["bool"]


_WORDS: Final = {
    1: Scalar("unsigned char", "u", 1),
    2: Scalar("unsigned short", "u", 2),
    4: Scalar("unsigned int", "u", 4),
    8: Scalar("unsigned long long", "u", 8),
}


# ---- what is there now -----------------------------------------------------------------
def raw_value(inferior: Inferior, place: AskedPlace, lane: int) -> bytes | None:
    """The bytes of a place where the launch stands; None: its warp is not there now."""
    warp = find_warp(inferior.grid, place.key)
    if place.space == "global":
        return _read(inferior, place, None, lane)
    if place.space == "constant":
        return _read(inferior, place, warp, lane)
    if warp is None:
        if place.space != "shared":
            return None
        cta = place.key[0]
        warp = next((w for w in inferior.grid.warps() if w.cta.number == cta), None)
        if warp is None:
            return None
    if place.in_memory:
        return _read(inferior, place, warp, lane)
    return _registers(place, warp, lane)


def _read(inferior: Inferior, place: AskedPlace, warp: WarpState | None, lane: int) -> bytes | None:
    space = "bank" if place.space == "constant" else place.space
    try:
        return read(inferior, space, place.address, place.size, warp, lane)
    except CommandError:
        # The address belongs to an allocation made later.
        return None


def _registers(place: AskedPlace, warp: WarpState, lane: int) -> bytes:
    if place.space == "register":
        words = [int(warp.R[number][lane]) for number in place.numbers]
        return b"".join(word.to_bytes(4, "little") for word in words)
    if place.space == "predicate":
        return bytes([int(warp.predicates[place.numbers[0]]) >> lane & 1])
    if place.space == "cc":
        flags = [int(warp.cc[n]) >> lane & 1 for n in range(len(_FLAGS))]
        if place.flag:
            return bytes([flags[_FLAGS.index(place.flag)]])
        return sum(bit << n for n, bit in enumerate(flags)).to_bytes(4, "little")
    register = shared_registers.SharedRegister(place.space, place.numbers[0])
    return int(shared_registers.read(warp, register)[lane]).to_bytes(4, "little")


def value_text(place: AskedPlace, raw: bytes | None) -> str:
    """A value as `print` shows it."""
    if raw is None:
        return "not there"
    type_ = place.type
    if isinstance(type_, Scalar) and type_.size <= len(raw):
        value = np.frombuffer(raw[: type_.size], type_.dtype)[0]
        return format_value(value, type_.kind, type_.size, None)
    if isinstance(type_, Array) and isinstance(type_.target, Scalar):
        element = type_.target
        values = np.frombuffer(raw, element.dtype)
        texts = (format_value(v, element.kind, element.size, None) for v in values)
        return "{" + ", ".join(texts) + "}"
    return f"0x{int.from_bytes(raw, 'little'):x}"


def owner_text(inferior: Inferior, place: AskedPlace) -> str:
    """The owner of a place (block, warp or lane) in words; "" for global memory."""
    if place.space in ("global", "constant"):
        return ""
    cta = place.key[0]
    blocks = inferior.grid.grid
    block = cta % blocks[0], cta // blocks[0] % blocks[1], cta // (blocks[0] * blocks[1])
    return f"of block {dim(block)}"
