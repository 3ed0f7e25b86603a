"""What one executed instruction read to make a value: registers, memory, constants, other lanes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass
from gpudbg.debug.focus.focus import thread_of
from gpudbg.debug.provenance.matrices import matrix_sources
from gpudbg.debug.provenance.places import (
    FLOAT,
    AskedPlace,
    WarpKey,
    access_of,
    find_warp,
    key_of,
    memory_place,
    register_place,
)
from gpudbg.debug.provenance.rules import LEVELS, rule_of
from gpudbg.debug.provenance.search import run_to
from gpudbg.debug.values.access import resolve
from gpudbg.debug.values.shared_registers import uniform_count
from gpudbg.expr.types import Scalar
from gpudbg.isa.constant_reads import LOADS_OF_CONSTANTS, SURFACES, TEXTURES, constant_reads
from gpudbg.isa.family import has_modifier
from gpudbg.isa.operands import Address, CBankAddress, Imm, Reg, SReg
from gpudbg.sm.asynchronous.events import BytesCopied, MatricesRead, TensorMapUsed
from gpudbg.sm.observer import Observer

if TYPE_CHECKING:
    from gpudbg.debug.history.history import LaunchHistory
    from gpudbg.debug.inferior import Inferior
    from gpudbg.debug.provenance.access_observers import Hit
    from gpudbg.isa.family import Instruction
    from gpudbg.sm.asynchronous.events import AsyncEvent
    from gpudbg.sm.state import WarpState

_SHARED_FILES: Final = ("uniform", "uniform predicate", "barrier")
_WORD: Final = 4
_MAP_BYTES: Final = 128
_MODES: Final = ("IDX", "UP", "DOWN", "BFLY")


@dataclass(frozen=True, slots=True)
class ReadSource:
    """Something an instruction read.

    Attributes:
        role: what it is to the result.
        place: where it was, in `lane`; None: it is no place, and the rest says what it is.
        what, value, kind: its name, its value and what kind of thing it is.
    """

    role: str
    place: AskedPlace | None
    lane: int
    what: str = ""
    value: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class LaneAccess:
    """A lane's access: load, store or atomic.

    Attributes:
        at: addresses of all lanes, as the instruction had them: the lane's among them is the same
            place as `address`.
        lanes: those that take part.
    """

    kind: str
    space: str
    address: int
    size: int
    at: tuple[int, ...] = ()
    lanes: int = 0
    lane: int = 0

    def address_of(self, lane: int) -> int:
        """Start address of another lane's access."""
        return self.address + self.at[lane] - self.at[self.lane]

    def touching(self, low: int, size: int) -> list[int]:
        """Lanes whose accesses overlap `size` bytes from `low`, in the order in which they take
        effect.
        """
        lanes = (n for n in range(32) if self.lanes >> n & 1)
        return [n for n in lanes if -self.size < self.address_of(n) - low < size]


@dataclass(frozen=True, slots=True)
class Visit:
    """What was seen of an instruction while it was carried out again.

    Attributes:
        key, block, thread: of the lane.
        index: of the warp in its block.
        lanes: those that executed it.
        accesses: of the lane.
        rows: where each lane's load in shared memory began, or nothing.
        descriptors: what a product of a warp group read, or None.
        copies: what copies beside the threads moved.
        maps: addresses of their tensor maps.
        predicates, uniform_predicates: masks of lanes before it.
        uniform: uniform registers before it, as the lowest of its lanes has them.
        registers: values of R before it, for all lanes.
        after: the same afterwards.
    """

    key: WarpKey
    block: tuple[int, int, int] | None
    thread: tuple[int, int, int] | None
    index: int
    lanes: int
    accesses: tuple[LaneAccess, ...]
    rows: tuple[int, ...]
    descriptors: MatricesRead | None
    copies: tuple[BytesCopied, ...]
    maps: tuple[int, ...]
    predicates: tuple[int, ...]
    uniform_predicates: tuple[int, ...]
    uniform: tuple[int, ...]
    registers: npt.NDArray[np.uint32]
    after: npt.NDArray[np.uint32]


class _OfLane(Observer):
    """Observer of the memory accesses of one lane."""

    looks_only = True

    def __init__(self, inferior: Inferior, key: WarpKey, lane: int) -> None:
        self._inferior, self._key, self._lane = inferior, key, lane
        self.found: list[LaneAccess] = []
        self.rows: tuple[int, ...] = ()
        self.descriptors: MatricesRead | None = None
        self.copies: list[BytesCopied] = []
        self.maps: list[int] = []

    def asynchronous(self, warp: WarpState, event: AsyncEvent) -> None:
        """Observer callback: keep the operands of a matrix product and the pieces of copies."""
        if key_of(warp) != self._key:
            return
        match event:
            case MatricesRead():
                self.descriptors = event
            case BytesCopied():
                self.copies.append(event)
            case TensorMapUsed(address=address):
                self.maps.append(address)

    def access(
        self, warp: WarpState, space: str, kind: str, address: Any, lanes: int, size: int
    ) -> None:
        """Observer callback: keep the lane's accesses."""
        if key_of(warp) != self._key:
            return
        at = np.broadcast_to(np.asarray(address), (32,))
        if (space, kind) == ("shared", "load"):
            self.rows = tuple(at.tolist())
        if not lanes >> self._lane & 1:
            return
        space, place = resolve(self._inferior, space, int(at[self._lane]))
        all_at = tuple(at.tolist())
        self.found.append(LaneAccess(kind, space, place, size, all_at, lanes, self._lane))


def visit(inferior: Inferior, history: LaunchHistory, hit: Hit, lane: int) -> Visit:
    """Replay one instruction and record what it saw; the launch stands behind it afterwards."""
    replay = history.replay
    history.pass_by(replay.latest(hit.tick))
    warp = find_warp(replay.grid, hit.key)
    none = np.zeros((1, 32), np.uint32)
    before = none if warp is None else np.asarray(warp.R).copy()
    flags = () if warp is None else tuple(map(int, warp.predicates))
    wide = warp is not None and uniform_count(warp) > 0
    shared = tuple(map(int, warp.uniform_predicates)) if warp is not None and wide else ()
    uniform: tuple[int, ...] = ()
    if warp is not None and wide:
        uniform = tuple(int(row[_lowest(hit.lanes, lane)]) for row in warp.UR)
    seen = _OfLane(inferior, hit.key, lane)
    with replay.quiet(seen):
        run_to(replay, replay.latest(hit.tick + 1))
    warp = warp or find_warp(replay.grid, hit.key)
    block = None if warp is None else warp.cta.block
    thread = None if warp is None else thread_of(warp, lane)
    after = none if warp is None else np.asarray(warp.R).copy()
    return Visit(
        hit.key, block, thread, hit.key[1], hit.lanes, tuple(seen.found), seen.rows,
        seen.descriptors, tuple(seen.copies), tuple(seen.maps), flags, shared, uniform, before,
        after,
    )  # fmt: skip


def sources_of(insn: Instruction, seen: Visit, place: AskedPlace, lane: int) -> list[ReadSource]:
    """What an instruction read to make the value of a place in a lane."""
    made = _kept if _keeps(insn, lane) else _MADE.get(rule_of(insn.op).made, _plain)
    out = [*made(insn, seen, place, lane), *_predicates(insn, seen, place, lane)]
    different: dict[tuple[object, ...], ReadSource] = {}
    for source in out:
        what = source.what if source.place is None else source.place.text
        different.setdefault((what, source.lane), source)
    return list(different.values())


def _plain(insn: Instruction, seen: Visit, place: AskedPlace, lane: int) -> Iterator[ReadSource]:
    """Sources of an ordinary instruction, a shuffle or a vote."""
    yield from _memory(insn, seen, place, lane)
    yield from _registers(insn, seen, place, lane)
    yield from _shared_files(insn, seen)
    yield from _constants(insn, seen, place, lane)
    yield from _others(insn, seen, place, lane)


def _keeps(insn: Instruction, lane: int) -> bool:
    """Whether a lane keeps its old value: MOV may write some lanes of each quad only."""
    some = rule_of(insn.op).some and not has_modifier(insn, "64")
    mask = insn.o.get("imm") if some else None
    return isinstance(mask, Imm) and not mask.value >> (lane & 3) & 1


def _kept(insn: Instruction, seen: Visit, place: AskedPlace, lane: int) -> Iterator[ReadSource]:
    """The old value as source, for a lane that an instruction leaves unchanged."""
    yield ReadSource("rest", register_place(place.space, place.numbers, seen.key, lane), lane)


def _matrices(insn: Instruction, seen: Visit, place: AskedPlace, lane: int) -> Iterator[ReadSource]:
    """Sources of an instruction that multiplies or moves matrices: registers of other lanes, shared
    memory.
    """
    found = matrix_sources(insn, seen, place, lane)
    for role, source, holder in found or ():
        if source is None:
            yield ReadSource("value", None, holder, role, "?", "of a matrix")
        else:
            yield ReadSource(role, source, holder)
    if found is None:
        yield ReadSource("value", None, lane, "rows of a matrix", "?", f"{insn.op}, by other lanes")
    for number in sorted(set(_address_registers(insn)) & insn.reads().registers):
        yield ReadSource("address", register_place("register", (number,), seen.key, lane), lane)


def _copied(insn: Instruction, seen: Visit, place: AskedPlace, lane: int) -> Iterator[ReadSource]:
    """Sources of an asynchronous copy: the copied bytes, or the mbarrier that counts them."""
    taken = list(_taken_along(seen, place, lane))
    yield from taken
    if not taken or any(copy.reduces for copy in seen.copies):
        yield ReadSource("old", replace(place, expression=place.text), lane)
    for address in seen.maps:
        described = memory_place("global", address, _MAP_BYTES, seen.key, lane)
        yield ReadSource("tensor map", described, lane)
    yield from _registers(insn, seen, place, lane)
    yield from _shared_files(insn, seen)


def _taken_along(seen: Visit, place: AskedPlace, lane: int) -> Iterator[ReadSource]:
    """The place in a copy's source that became a place of its target."""
    for copy in seen.copies:
        into = next((runs for runs, _ in copy.writes), None)
        if copy.elements is None or into is None or not copy.reads:
            continue
        if (into.home is None) != (place.space == "global"):
            continue
        space = "global" if copy.reads[0].home is None else "shared"
        for address, size in copy.elements.source_of(place.address, place.size):
            word = memory_place(space, address, size, seen.key, lane, place.type)
            yield ReadSource("value", word, lane)


_MADE: Final = {"matrices": _matrices, "copied": _copied}


# ---- memory ----------------------------------------------------------------------------
def _memory(insn: Instruction, seen: Visit, place: AskedPlace, lane: int) -> Iterator[ReadSource]:
    loads = [a for a in seen.accesses if a.kind in ("load", "atomic")]
    for access in loads:
        role, (offset, size) = "value", _part(insn, access, seen, place)
        if access.kind == "atomic":
            # Every part of an atomic's result may depend on the whole old value.
            role, offset, size = "old", 0, access.size
        if offset >= access.size:
            continue
        at = access.address + offset
        size = min(size, access.size - offset)
        word = memory_place(access.space, at, size, seen.key, lane, place.type)
        yield ReadSource(role, word, lane)
    if place.in_memory and not _covers(seen, place):
        yield ReadSource("rest", replace(place, expression=place.text), lane)


def _covers(seen: Visit, place: AskedPlace) -> bool:
    """Whether all bytes of a place are written by the instruction, in whichever lane."""
    left = set(range(place.address, place.address + place.size))
    writes = [a for a in seen.accesses if a.kind != "load" and a.space == place.space]
    for access in writes:
        for holder in access.touching(place.address, place.size):
            low = access.address_of(holder)
            left -= set(range(low, low + access.size))
    return not writes or not left


def _holders(insn: Instruction, seen: Visit, place: AskedPlace, lane: int) -> list[int]:
    """Lanes whose registers made a place: those that wrote some of its bytes, and those whose
    atomics took effect before.
    """
    atomic = next((a for a in seen.accesses if a.kind == "atomic" and a.at), None)
    if not place.in_memory:
        if atomic is None:
            return [lane]
        same = atomic.touching(atomic.address, atomic.size)
        return [*(n for n in same if n < lane), lane]
    write = next((a for a in seen.accesses if a.kind != "load" and a.space == place.space), None)
    if write is None or not write.at:
        return [lane]
    found = write.touching(place.address, place.size)
    if write.kind == "atomic":
        return found or [lane]
    last: dict[int, int] = {}
    for holder in found:
        low = write.address_of(holder)
        last.update((byte, holder) for byte in range(low, low + write.size))
    inside = range(place.address, place.address + place.size)
    return sorted({last[byte] for byte in inside if byte in last}) or [lane]


def _part(insn: Instruction, access: LaneAccess, seen: Visit, place: AskedPlace) -> tuple[int, int]:
    """(offset, size) of a place within the bytes of a load."""
    if place.in_memory:
        # The target of a copy, or of an atomic to the place itself.
        into = [a for a in seen.accesses if a.kind != "load" and a.space == place.space]
        return (max(place.address - into[0].address, 0), place.size) if into else (0, access.size)
    if insn.op in TEXTURES or (insn.op == "SULD" and has_modifier(insn, "P")):
        # Texels are converted, filtered and reordered: no byte maps to one byte.
        return 0, access.size
    destination = next((o for o in insn.operands if isinstance(o, Reg) and o.file == "R"), None)
    if destination is None or place.space != "register":
        return 0, access.size
    return max(place.numbers[0] - destination.index, 0) * 4, 4


# ---- registers -------------------------------------------------------------------------
def _registers(
    insn: Instruction, seen: Visit, place: AskedPlace, lane: int
) -> Iterator[ReadSource]:
    made = rule_of(insn.op).made
    if made == "shuffled":
        yield from _shuffled(insn, seen, place, lane)
        return
    if made == "voted":
        yield from _voted(insn, seen)
        return
    address = set(_address_registers(insn))
    read = insn.reads().registers
    data = sorted((read - address) | _plain_operands(insn))
    type_ = _type(insn, place)
    for holder in _sharing(insn, seen, place, lane):
        role = "operand" if holder == lane else f"lane {holder}"
        stored = set(_stored(insn, seen, place, data, holder)) if place.in_memory else data
        for number in (n for n in data if n in stored):
            word = register_place("register", (number,), seen.key, holder, type_)
            yield ReadSource(role, word, holder)
    for number in sorted(address & read):
        yield ReadSource("address", register_place("register", (number,), seen.key, lane), lane)


def _sharing(insn: Instruction, seen: Visit, place: AskedPlace, lane: int) -> list[int]:
    """Lanes whose registers went into a value."""
    made = rule_of(insn.op).made
    if made == "lowest":
        # The lowest lane's value; a predicate result compares it with the lane's own.
        own = [lane] if place.space == "predicate" else []
        return [_lowest(seen.lanes, lane), *own]
    if made == "quad" and not any(has_modifier(insn, name) for name in LEVELS):
        # The texture level is derived from coordinate differences within the quad.
        return list(range(lane & ~3, (lane & ~3) + 4))
    return _holders(insn, seen, place, lane)


def _lowest(lanes: int, lane: int) -> int:
    """The lowest executing lane; `lane` where there is none."""
    return (lanes & -lanes).bit_length() - 1 if lanes else lane


def _shared_files(insn: Instruction, seen: Visit) -> Iterator[ReadSource]:
    """Sources in uniform files: an instruction reads the copy of its lowest executing lane."""
    holder = _lowest(seen.lanes, 0)
    guard = insn.guard[0]
    for space in _SHARED_FILES:
        for number in sorted(access_of(insn.reads(), space)):
            role = "guard" if space == "uniform predicate" and number == guard else "operand"
            yield ReadSource(role, register_place(space, (number,), seen.key, holder), holder)


def _plain_operands(insn: Instruction) -> frozenset[int]:
    """Operands read as values; a register may also occur in an address."""
    operands = {n for o in insn.operands if isinstance(o, Reg) for n in o.registers()}
    return (insn.reads().registers - insn.writes().registers) & operands


def _address_registers(insn: Instruction) -> Iterator[int]:
    for operand in insn.operands:
        if isinstance(operand, Address):
            yield from operand.base.registers()
            if not operand.base.is_zero and (operand.wide or _extended(insn, operand)):
                yield operand.base.index + 1
        elif isinstance(operand, CBankAddress) and operand.base is not None:
            yield from operand.base.registers()


def _extended(insn: Instruction, operand: Address) -> bool:
    """Whether an address in the older spelling (`[R2]` of LDG.E) takes a register pair."""
    return has_modifier(insn, "E") and (operand.base.index + 1) in insn.reads().registers


def _stored(
    insn: Instruction, seen: Visit, place: AskedPlace, data: list[int], lane: int
) -> set[int] | list[int]:
    """Registers of the data operand that became the bytes of a place, for stores of several
    registers.
    """
    stores = [a for a in seen.accesses if a.kind == "store" and a.space == place.space]
    operands = [o for o in insn.operands if isinstance(o, Reg) and o.count > 1]
    if not stores or len(operands) != 1:
        return data
    store = stores[0]
    start = store.address_of(lane) if store.at else store.address
    first = (place.address - start) // 4
    last = (place.address + place.size - 1 - start) // 4
    index = operands[0].index
    return set(range(index + max(first, 0), index + last + 1))


def _type(insn: Instruction, place: AskedPlace) -> Any:
    """The C type in which the instruction's registers are shown; None: as integers."""
    like = rule_of(insn.op).like
    if like == "float":
        return FLOAT
    type_ = place.type
    return type_ if like and isinstance(type_, Scalar) and type_.size == 4 else None


def _shuffled(insn: Instruction, seen: Visit, place: AskedPlace, lane: int) -> Iterator[ReadSource]:
    type_ = _type(insn, place)
    operands = [o for o in insn.operands if isinstance(o, Reg | Imm)][1:4]
    if len(operands) < 3:
        return
    value, index, control = operands
    source = _source_lane(insn, seen, lane, _word(index, seen, lane), _word(control, seen, lane))
    if place.space == "predicate":
        # The predicate result says whether the source lane lies in the segment.
        pass
    elif not seen.lanes >> source & 1:
        yield ReadSource(
            f"lane {source}", None, lane, f"lane {source} does not execute it", "0", "of the warp"
        )
    elif isinstance(value, Reg):
        for number in value.registers():
            place = register_place("register", (number,), seen.key, source, type_)
            yield ReadSource(f"lane {source}", place, source)
    for operand in (index, control):
        if isinstance(operand, Reg):
            for number in operand.registers():
                yield ReadSource(
                    "index", register_place("register", (number,), seen.key, lane), lane
                )


def _voted(insn: Instruction, seen: Visit) -> Iterator[ReadSource]:
    """Sources of a vote: the predicate of every executing lane."""
    for holder in range(32):
        if not seen.lanes >> holder & 1:
            continue
        for space in ("register", "predicate"):
            numbers = access_of(insn.reads(), space)
            if space == "predicate":
                numbers -= {insn.guard[0]}
            for number in sorted(numbers):
                place = register_place(space, (number,), seen.key, holder)
                yield ReadSource(f"lane {holder}", place, holder)


def _word(operand: Any, seen: Visit, lane: int) -> int:
    if isinstance(operand, Reg):
        return 0 if operand.is_zero else int(seen.registers[operand.index][lane])
    return int(operand.value)


def _source_lane(insn: Instruction, seen: Visit, lane: int, index: int, control: int) -> int:
    """The lane that a shuffle reads (documented: shfl)."""
    mode = next((m for m in _MODES if has_modifier(insn, m)), "IDX")
    index &= 31
    segment = control >> 8 & 31
    base = lane & segment
    limit = base | (control & 31 & ~segment)
    source = {
        "IDX": base | (index & ~segment & 31),
        "UP": lane - index,
        "DOWN": lane + index,
        "BFLY": lane ^ index,
    }[mode]
    inside = source >= limit if mode == "UP" else source <= limit
    return source if inside and 0 <= source < 32 else lane


# ---- constants, special registers, predicates ------------------------------------------
def _constants(
    insn: Instruction, seen: Visit, place: AskedPlace, lane: int
) -> Iterator[ReadSource]:
    """Constant-bank sources; what cx[UR] reads is reported as a memory access."""
    for read in constant_reads(insn):
        offset, size, role, type_ = read.offset, read.size, "operand", _type(insn, place)
        if insn.op in TEXTURES | SURFACES:
            role = "handle"
        elif insn.op in LOADS_OF_CONSTANTS:
            role, type_ = "value", place.type
            result = next((o for o in insn.operands if isinstance(o, Reg)), None)
            if result is not None and place.numbers and size > _WORD:
                offset, size = offset + _WORD * (place.numbers[0] - result.index), _WORD
        bank = read.bank
        if read.base is not None:
            offset += _held(read.base, seen, lane)
            offset &= 0xFFFFFFFF
            if read.segmented:
                bank, offset = bank + (offset >> 16), offset & 0xFFFF
        word = memory_place("constant", bank << 32 | offset, size, seen.key, lane, type_)
        yield ReadSource(role, word, lane)


def _held(register: Reg, seen: Visit, lane: int) -> int:
    """The value that an address register held."""
    if register.is_zero:
        return 0
    if register.file == "UR":
        return seen.uniform[register.index] if register.index < len(seen.uniform) else 0
    return int(seen.registers[register.index][lane])


def _others(insn: Instruction, seen: Visit, place: AskedPlace, lane: int) -> Iterator[ReadSource]:
    """Sources without a writer: special registers, warp state, the set of executing lanes."""
    rule = rule_of(insn.op)
    named = [o.name for o in insn.operands if isinstance(o, SReg)]
    for what in named or [rule.state] * bool(rule.state):
        value = "?"
        if place.space == "register" and place.numbers[0] < len(seen.after):
            value = str(int(seen.after[place.numbers[0]][lane]))
        kind = "special register" if named else "of the warp"
        yield ReadSource("operand", None, lane, what, value, kind)
    if rule.lanes:
        value = f"0x{seen.lanes:x}"
        yield ReadSource("lanes", None, lane, "lanes that execute it", value, "of the warp")


def _predicates(
    insn: Instruction, seen: Visit, place: AskedPlace, lane: int
) -> Iterator[ReadSource]:
    guard = insn.guard[0]
    reads = insn.reads()
    for number in sorted(reads.predicates):
        role = "guard" if number == guard else "operand"
        yield ReadSource(role, register_place("predicate", (number,), seen.key, lane), lane)
    if reads.cc:
        yield ReadSource("operand", register_place("cc", (), seen.key, lane), lane)
    if rule_of(insn.op).rest and not isinstance(insn.operands[-1], Imm):
        # A mask register selects which predicates are written; the others keep their old values.
        holder = _lowest(seen.lanes, lane) if place.space in _SHARED_FILES else lane
        rest = register_place(place.space, place.numbers, seen.key, holder)
        yield ReadSource("rest", rest, holder)
