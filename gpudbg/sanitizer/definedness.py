"""Values never written, followed to where they decide something.

Every register has a mask of undefined bits beside it, every byte of memory without contents a
mark.  Moving a value moves what is undefined of it; arithmetic makes the whole result undefined
(and *derived*), bitwise operations keep it to the bits that matter.  Reported is where an undefined
bit decides an address, a branch or a guard, where a derived value is stored to global memory, and
where an undefined one is added to memory.  Copies are silent, as in valgrind and MemorySanitizer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from gpudbg.bits import lanes_of
from gpudbg.dataclass import dataclass
from gpudbg.isa.operands import PT, RZ, Access, Address, Reg
from gpudbg.mem.lanes import FULL, bools
from gpudbg.mem.windows import RANK_SHIFT, WINDOW_BYTES
from gpudbg.sanitizer.defined_bits import (
    ALL,
    BITWISE,
    SUMS,
    U8,
    U32,
    Shadow,
    exact_bits,
    lanes_with,
)
from gpudbg.sanitizer.defined_predicates import undefined_results
from gpudbg.sanitizer.defined_products import (
    PRODUCTS,
    loaded_bits,
    matrices_bits,
    product_bits,
    stored_bits,
    turned_bits,
)
from gpudbg.sanitizer.facts import data_of
from gpudbg.sanitizer.findings import CheckFinding, Severity
from gpudbg.sanitizer.monitor import ExecutedInstruction, RunCheck, Touch
from gpudbg.sm.asynchronous.events import ByteRuns, BytesCopied, MatricesRead, MbarrierBegun

if TYPE_CHECKING:
    from gpudbg.mem.constant import ConstantBanks
    from gpudbg.mem.device import Allocation, DeviceMemory
    from gpudbg.sanitizer.collector import FindingCollector
    from gpudbg.sanitizer.places import AccessPlaces
    from gpudbg.sm.state import Cta, WarpState

_FLOW: Final = frozenset(
    ("BRA", "BRX", "JMP", "JMX", "EXIT", "SYNC", "BRK", "CONT", "RET", "BREAK")
)
_EFFECTS: Final = ("STG", "STS", "ST.", "ATOM", "RED", "SUST", "SURED", "SUATOM", "BAR")
"""Prefixes of mnemonics whose effect other threads can see."""
_DERIVED: Final = 2
"""Beside 1 in the mark of an undefined byte: arithmetic made what was stored there."""
_WORDS: Final = {
    "address": "decides an address",
    "branch": "decides a branch",
    "value": "goes into a result that is stored",
    "load": "is read",
}


@dataclass(slots=True)
class ValueOrigin:
    """Where an undefined value entered a register: at a load, or in the register itself."""

    pc: int
    space: str
    address: int | None
    size: int


class GlobalShadow:
    """Undefined bytes of allocations: outlasts launches of one check."""

    def __init__(self, memory: DeviceMemory) -> None:
        self._memory = memory
        self._rows: dict[Allocation, U8 | None] = {}

    def row(self, allocation: Allocation) -> U8 | None:
        """One element a byte, 1 where undefined; None: all bytes are defined."""
        if allocation not in self._rows:
            made: U8 | None = None
            if allocation.uninitialized:
                made = np.ones(allocation.size, np.uint8)
                if allocation.marks is not None:
                    made &= allocation.marks[: allocation.size] == 0
            self._rows[allocation] = made
        return self._rows[allocation]

    def begin(self) -> None:
        """Catch up with marks before further stores: an atomic both reads and writes."""
        for allocation in self._memory.allocations():
            self.row(allocation)

    def rows(self) -> list[tuple[Allocation, U8]] | None:
        """Allocations with undefined bytes, each with its row; None where marks are unknown for
        some.
        """
        found = []
        for allocation in self._memory.allocations():
            if allocation.uninitialized and allocation.marks is None:
                return None
            row = self.row(allocation)
            if row is not None:
                found.append((allocation, row))
        return found

    def written(self) -> None:
        """Take over marks written by compiled code."""
        for allocation, row in self._rows.items():
            if row is not None and allocation.marks is not None:
                row[allocation.marks[: allocation.size] != 0] = 0


class DefinednessCheck(RunCheck):
    """Follows undefined values through one launch.

    Args:
        registers: report registers never written, too.
        at_load: report the load of an undefined byte, whatever becomes of it.
        constants: of the launch, where comparisons with them are to be followed.
        system_shared: bytes at the begin of shared memory that are not the kernel's.
    """

    def __init__(
        self,
        findings: FindingCollector,
        places: AccessPlaces,
        memory: DeviceMemory,
        shared: GlobalShadow,
        *,
        at_load: bool = False,
        constants: ConstantBanks | None = None,
        system_shared: int = 0,
    ) -> None:
        self._findings, self._places, self._memory = findings, places, memory
        self._global, self._at_load = shared, at_load
        self._warps: dict[int, Shadow] = {}
        self._constants, self._system_shared = constants, system_shared
        self._carried: dict[tuple[int, ...], int] = {}
        self._shared: dict[int, U8] = {}
        self._origins: list[ValueOrigin] = [ValueOrigin(0, "register", None, 4)]
        self._known: dict[tuple[int, str], int] = {}
        shared.begin()

    # ---- shadows -----------------------------------------------------------------------
    def _shadow(self, warp: WarpState) -> Shadow:
        key = warp.cta.number << 8 | warp.index
        found = self._warps.get(key)
        if found is None:
            bits = np.full((256, 32), ALL, np.uint32)
            bits[RZ] = 0
            found = self._warps[key] = Shadow(
                bits, np.zeros(256, np.uint32), np.zeros((256, 32), np.int32), [FULL] * 7, [0] * 7
            )
        return found

    def cta_end(self, cta: Cta) -> None:
        self._shared.pop(cta.number, None)
        for index in range(64):
            self._warps.pop(cta.number << 8 | index, None)

    def _cta(self, cta: Cta) -> U8:
        found = self._shared.get(cta.number)
        if found is None:
            found = self._shared[cta.number] = np.ones(cta.shared.size + 16, np.uint8)
            found[: self._system_shared] = 0
        return found

    # ---- before an instruction -----------------------------------------------------------
    def before(self, warp: WarpState, pc: int, insn: Any, lanes: int) -> None:
        shadow = self._shadow(warp)
        op = insn.op
        if op == "SYSCALL":
            # Driver functions read their arguments and write their results.
            shadow.bits[4:6] = 0
            return
        guard, _ = insn.guard
        if guard != PT and not insn.uniform_guard:
            held = shadow.predicates[guard] & warp.active
            if held and (op in _FLOW or op.startswith(_EFFECTS)):
                self._decides("branch", warp, pc, held, shadow.sources[guard])
            elif held:
                self._chosen(shadow, insn, held)
        if not lanes:
            return
        for slot, operand in insn.o.items():
            if isinstance(operand, Address):
                self._address(shadow, warp, pc, operand, lanes)
            elif slot == "target" and isinstance(operand, Reg):
                self._register(shadow, warp, pc, operand, lanes)
        self._propagate(shadow, warp, insn, lanes)
        if guard != PT and not insn.uniform_guard and shadow.predicates[guard] & warp.active:
            self._chosen(shadow, insn, shadow.predicates[guard] & warp.active)

    @staticmethod
    def _chosen(shadow: Shadow, insn: Any, held: int) -> None:
        """Merge old and new: whether the instruction writes is undefined in some lanes."""
        chosen, source = bools(held), shadow.sources[insn.guard[0]]
        for index in insn.writes().registers:
            _put(shadow, index, ALL, held, source, chosen, held)

    def _address(
        self, shadow: Shadow, warp: WarpState, pc: int, operand: Address, lanes: int
    ) -> None:
        if isinstance(operand.base, Reg) and operand.base.file == "R":
            self._register(shadow, warp, pc, operand.base, lanes)

    def _register(self, shadow: Shadow, warp: WarpState, pc: int, operand: Reg, lanes: int) -> None:
        for index in operand.registers():
            bad = lanes_with(shadow.bits[index]) & lanes
            if bad:
                first = next(iter(lanes_of(bad)))
                self._decides("address", warp, pc, bad, int(shadow.origin[index, first]))

    # ---- registers -----------------------------------------------------------------------
    def _propagate(self, shadow: Shadow, warp: WarpState, insn: Any, lanes: int) -> None:
        writes = insn.writes()
        if not writes.registers and not writes.predicates and not writes.uniform:
            return
        chosen = bools(lanes)
        bits, origin = self._sources(shadow, insn)
        if not bits.any():
            _define(shadow, writes, chosen, lanes)
            return
        if insn.op in PRODUCTS:
            exact = product_bits(shadow, warp, insn)
        elif insn.op == "MOVM":
            exact = turned_bits(shadow, insn)
        else:
            exact = exact_bits(shadow, warp, insn, lanes, self._constants)
        if exact is not None:
            tested = np.zeros(32, np.uint32)
            source: Any = 0
            for index, (moved, derived, source) in exact.items():
                _put(shadow, index, moved, derived, source, chosen, lanes)
                tested = tested | np.asarray(moved, np.uint32)
            # The predicate of a bitwise operation tests its result; a sum's is its carry; a
            # shuffle's tells about lanes.
            bad = lanes_with(tested) if insn.op in BITWISE or insn.op in SUMS else 0
            _put_predicates(shadow, writes.predicates, bad, source, lanes)
            return
        spoilt = lanes_with(bits)
        if spoilt and writes.predicates and not writes.registers:
            compared = lanes_with(self._sources(shadow, insn, predicates=False)[0])
            results = undefined_results(warp, insn, shadow.predicates, compared, self._constants)
            if results is not None:
                for slot, bad in zip(("p", "q"), results, strict=True):
                    written = getattr(insn.o.get(slot), "index", PT)
                    _put_predicates(shadow, (written,), bad & spoilt, origin, lanes)
                return
        made = np.where(bits != 0, ALL, np.uint32(0))
        derived = lanes_with(made)
        for index in writes.uniform:
            shadow.uniform.pop(index, None)
            if derived & lanes:
                first = next(iter(lanes_of(derived & lanes)))
                shadow.uniform[index] = int(origin[first])
        for index in writes.registers:
            _put(shadow, index, made, derived, origin, chosen, lanes)
        _put_predicates(shadow, writes.predicates, derived, origin, lanes)

    @staticmethod
    def _sources(
        shadow: Shadow, insn: Any, predicates: bool = True
    ) -> tuple[U32, npt.NDArray[np.int32]]:
        bits = np.zeros(32, np.uint32)
        origin = np.zeros(32, np.int32)
        reads = insn.reads()
        for index in reads.registers:
            row = shadow.bits[index]
            if row.any():
                bits |= row
                origin = np.where(row != 0, shadow.origin[index], origin)
        for index in reads.uniform:
            if index in shadow.uniform:
                bits = np.full(32, ALL, np.uint32)
                origin = np.full(32, shadow.uniform[index], np.int32)
        guard = insn.guard[0] if not insn.uniform_guard else PT
        for index in reads.predicates if predicates else ():
            if index < 7 and index != guard and shadow.predicates[index]:
                held = bools(shadow.predicates[index])
                bits = np.where(held, ALL, bits)
                origin = np.where(held, shadow.sources[index], origin)
        return bits, origin

    # ---- memory --------------------------------------------------------------------------
    def executed(self, step: ExecutedInstruction) -> None:
        for event in step.events:
            if isinstance(event, BytesCopied):
                self._copied(step, event)
            elif isinstance(event, MatricesRead):
                self._multiplied(step, event)
            elif isinstance(event, MbarrierBegun):
                self._cta(event.home)[event.offset : event.offset + 8] = 0
        if step.insn.op == "LDGSTS":
            self._copied_by_lane(step)
            return
        if step.insn.op == "SYSCALL":
            # Take over what it has allocated.
            self._global.begin()
        for touch in step.touches:
            if step.insn.op == "LDSM" and self._load_matrices(step, touch):
                continue
            if step.insn.op == "STSM" and self._store_matrices(step, touch):
                continue
            if touch.kind == "load":
                self._load(step, touch)
            elif touch.kind == "store":
                self._store(step, touch)
            else:
                self._atomic(step, touch)

    # ---- matrices ------------------------------------------------------------------------
    def _multiplied(self, step: ExecutedInstruction, event: MatricesRead) -> None:
        """Propagate through a warp-group product that has read shared memory."""
        found = matrices_bits(step.warp, step.insn, event, self._cta(step.warp.cta))
        if found is None:
            return
        rows, address, size = found
        shadow, origin = self._shadow(step.warp), self._origin_at(step.pc, "shared", address, size)
        for index, (bits, derived, _) in rows.items():
            shadow.origin[index][bits != 0] = origin
            shadow.bits[index] |= bits
            shadow.derived[index] |= np.uint32(derived)
        if self._at_load:
            self._decides("load", step.warp, step.pc, step.lanes, origin)

    def _load_matrices(self, step: ExecutedInstruction, touch: Touch) -> bool:
        """LDSM: each named row of 16 bytes is loaded by eight lanes. Returns whether it was one."""
        marks, rows = self._cta(step.warp.cta), np.zeros((32, 16), np.uint8)
        for lane, address in touch.by_lane():
            rows[lane] = marks[address : address + 16]
        found = loaded_bits(step.insn, rows)
        if found is None:
            return False
        shadow, origin, first = self._shadow(step.warp), self._origin(step.pc, touch), found[0]
        if rows.any():
            lane, byte = (int(n) for n in np.argwhere(rows)[0])
            address = int(touch.addresses[lane]) + (byte & ~3)
            carried = self._carried.get((step.warp.cta.number, address))
            derived = carried is not None and bool((rows & _DERIVED).any())
            origin = carried if carried is not None and derived else origin
            if self._at_load:
                self._decides("load", step.warp, step.pc, 1 << lane, origin)
        for n, bits in enumerate(found[1]):
            shadow.bits[first + n] = bits
            shadow.origin[first + n] = origin
            shadow.derived[first + n] = lanes_with(bits) if rows.any() and derived else 0
        return True

    def _store_matrices(self, step: ExecutedInstruction, touch: Touch) -> bool:
        """STSM: the inverse of LDSM. Returns whether it was one."""
        rows = stored_bits(self._shadow(step.warp), step.insn)
        if rows is None:
            return False
        marks = self._cta(step.warp.cta)
        for lane, address in touch.by_lane():
            marks[address : address + 16] = rows[lane]
            for byte in np.flatnonzero(rows[lane] & _DERIVED).tolist():
                name = step.warp.cta.number, address + (byte & ~3)
                self._carried[name] = self._first_origin(step.warp, step.insn)
        return True

    def _first_origin(self, warp: WarpState, insn: Any) -> int:
        """Origin of the first undefined register that an instruction reads."""
        shadow = self._shadow(warp)
        for index in sorted(insn.reads().registers):
            if index < RZ and shadow.derived[index]:
                lane = next(iter(lanes_of(int(shadow.derived[index]))))
                return int(shadow.origin[index, lane])
        return 0

    def _copied(self, step: ExecutedInstruction, event: BytesCopied) -> None:
        """Propagate marks through a copy of one range to another."""
        source = event.reads[0] if len(event.reads) == 1 else None
        if event.reduces and not event.remote:
            for extent in (*event.reads, *(target for target, _ in event.writes)):
                self._combined(step, extent, event.lane)
        for target, _ in event.writes:
            if target.home is None and not event.reduces:
                for extent in event.reads:
                    self._leaves(step, extent, event.lane)
            row, base = self._bytes(target)
            if row is None:
                continue
            alike = source is not None and len(source.starts) == len(target.starts) == 1
            if source is not None and alike and event.reduces:
                continue
            # A box beyond the tensor's edge is filled: all of it is written.
            if source is not None and alike and _bytes_of(source) == _bytes_of(target):
                marks, at = self._bytes(source)
                size = _bytes_of(target)
                first = target.low - base
                row[first : first + size] = (
                    0 if marks is None else marks[source.low - at : source.high - at]
                )
                continue
            for start, end in zip(target.starts.tolist(), target.ends.tolist(), strict=True):
                row[start - base : end - base] = 0

    def _leaves(self, step: ExecutedInstruction, extent: ByteRuns, lane: int) -> None:
        """Report computed undefined values that a copy takes from shared to global memory."""
        if extent.home is None:
            return
        marks = self._cta(extent.home)
        for start, end in zip(extent.starts.tolist(), extent.ends.tolist(), strict=True):
            made = np.flatnonzero(marks[start:end] & _DERIVED)
            if made.size:
                word = start + int(made[0]) & ~3
                origin = self._carried.get((extent.home.number, word), 0)
                self._decides("value", step.warp, step.pc, 1 << lane, origin)
                return

    def _combined(self, step: ExecutedInstruction, extent: ByteRuns, lane: int) -> None:
        """Report undefined bytes that a reduction combines, in its source or destination."""
        marks, base = self._bytes(extent)
        if marks is None:
            return
        space = "global" if extent.home is None else "shared"
        for start, end in zip(extent.starts.tolist(), extent.ends.tolist(), strict=True):
            undefined = np.flatnonzero(marks[start - base : end - base])
            if undefined.size:
                origin = self._origin_at(step.pc, space, start + int(undefined[0]), end - start)
                self._decides("value", step.warp, step.pc, 1 << lane, origin)
                return

    def _bytes(self, extent: ByteRuns) -> tuple[U8 | None, int]:
        """Marks of the memory that a range is in, and the address of the first."""
        if extent.home is not None:
            return self._cta(extent.home), 0
        found = self._memory.find(extent.low)
        return (None, 0) if found is None else (self._global.row(found), found.base)

    def _copied_by_lane(self, step: ExecutedInstruction) -> None:
        """Propagate copies of a few bytes per lane from global to shared memory; unread bytes
        become zero.
        """
        loads = [t for t in step.touches if t.kind == "load"]
        for store in (t for t in step.touches if t.kind == "store"):
            source = loads[0] if len(loads) == 1 and loads[0].size == store.size else None
            for lane, address in store.by_lane():
                marks, at = self._row(step, store, lane, address)
                assert marks is not None
                marks[at : at + store.size] = 0
                if source is not None and source.lanes >> lane & 1:
                    row, first = self._row(step, source, lane, int(source.addresses[lane]))
                    if row is not None:
                        marks[at : at + store.size] = row[first : first + store.size]

    def _load(self, step: ExecutedInstruction, touch: Touch) -> None:
        destination = step.insn.o.get("d")
        if not isinstance(destination, Reg) or destination.is_zero:
            return
        shadow = self._shadow(step.warp)
        origin = self._origin(step.pc, touch)
        words = max(1, touch.size // 4)
        place = self._place(step, touch)
        if place is not None and not (place[0] is not None and place[0][place[1]].any()):
            # Zero-filled: defined.
            chosen = bools(touch.lanes)
            for index in range(destination.index, min(destination.index + words, RZ)):
                np.copyto(shadow.bits[index], 0, where=chosen)
                shadow.derived[index] &= ~np.uint32(touch.lanes)
            return
        for word in range(words):
            index = destination.index + word
            if index >= RZ:
                break
            for lane, address in touch.by_lane():
                bits = self._bits(step, touch, lane, address + 4 * word, min(touch.size, 4))
                shadow.bits[index, lane] = bits
                shadow.derived[index] &= ~np.uint32(1 << lane)
                shadow.origin[index, lane] = origin
                if bits and touch.space != "global":
                    carried = self._carried.get(self._word(step, touch, lane, address + 4 * word))
                    row, at = self._row(step, touch, lane, address + 4 * word)
                    if carried is not None and row is not None and row[at] & _DERIVED:
                        shadow.derived[index] |= np.uint32(1 << lane)
                        shadow.origin[index, lane] = carried
                if bits and self._at_load:
                    self._decides("load", step.warp, step.pc, 1 << lane, origin)

    def _place(
        self, step: ExecutedInstruction, touch: Touch
    ) -> tuple[U8 | None, npt.NDArray[np.int64]] | None:
        """(marks covering all lanes' bytes, or None where all are defined; indices); None where
        they are not in one row.
        """
        if touch.space not in ("shared", "global"):
            return None
        addresses = touch.addresses[bools(touch.lanes)].astype(np.int64)
        base, row = 0, None
        if touch.space == "shared":
            row = self._cta(step.warp.cta)
        else:
            found = self._memory.find(int(addresses[0]))
            if found is None:
                return None
            base, end = found.base, found.end
            if int(addresses.min()) < base or int(addresses.max()) + touch.size > end:
                return None
            row = self._global.row(found)
        at = (addresses - base)[:, None] + np.arange(touch.size)
        return row, at if row is None else np.minimum(at, len(row) - 1)

    def _bits(
        self, step: ExecutedInstruction, touch: Touch, lane: int, address: int, size: int
    ) -> int:
        """Undefined bits of the word that a lane loads."""
        row, at = self._row(step, touch, lane, address)
        if row is None:
            return 0
        found = 0
        for n in range(size):
            if at + n < len(row) and row[at + n]:
                found |= 0xFF << 8 * n
        return 0xFFFFFFFF if found and size < 4 else found

    def _row(
        self, step: ExecutedInstruction, touch: Touch, lane: int, address: int
    ) -> tuple[U8 | None, int]:
        """(marks of an access's memory, index in them)."""
        if touch.space == "shared":
            return self._cta(step.warp.cta), address
        if touch.space == "cluster":
            ctas, rank = step.warp.cta.cluster.ctas, address >> RANK_SHIFT
            if rank >= len(ctas):
                return None, 0
            return self._cta(ctas[rank]), address & (WINDOW_BYTES - 1)
        if touch.space == "local":
            rows = self._shadow(step.warp).local
            found = rows.get(address >> 8 << 5 | lane)
            if found is None:
                found = rows[address >> 8 << 5 | lane] = np.ones(272, np.uint8)
            return found, address & 0xFF
        allocation = self._memory.find(address)
        if allocation is None:
            return None, 0
        return self._global.row(allocation), address - allocation.base

    @staticmethod
    def _word(step: ExecutedInstruction, touch: Touch, lane: int, address: int) -> tuple[int, ...]:
        """A key that identifies a word of shared or local memory."""
        if touch.space == "local":
            return step.warp.cta.number, step.warp.index, lane, address
        return step.warp.cta.number, address

    def _store(self, step: ExecutedInstruction, touch: Touch) -> None:
        data = data_of(step.insn)
        shadow = self._shadow(step.warp)
        index = data.index if isinstance(data, Reg) else RZ
        bad, first = 0, 0
        chosen = bools(touch.lanes)
        last = min(index + max(1, touch.size // 4), RZ + 1)
        if not shadow.bits[min(index, RZ) : last, chosen].any():
            place = self._place(step, touch)
            if place is not None:
                if place[0] is not None:
                    place[0][place[1]] = 0
                return
        for lane, address in touch.by_lane():
            for word in range(max(1, touch.size // 4)):
                register = min(index + word, RZ) if index != RZ else RZ
                bits = int(shadow.bits[register, lane])
                row, at = self._row(step, touch, lane, address + 4 * word)
                derived = bits and int(shadow.derived[register]) >> lane & 1
                mark = 1 | _DERIVED if derived and touch.space != "global" else 1
                if row is not None:
                    for n in range(min(touch.size, 4)):
                        if at + n < len(row):
                            row[at + n] = mark if bits >> 8 * n & 0xFF else 0
                if not derived or not _wanted(bits, touch.size):
                    continue
                if touch.space == "global":
                    bad |= 1 << lane
                    first = int(shadow.origin[register, lane])
                else:
                    name = self._word(step, touch, lane, address + 4 * word)
                    self._carried[name] = int(shadow.origin[register, lane])
        if bad:
            self._decides("value", step.warp, step.pc, bad, first)

    def _atomic(self, step: ExecutedInstruction, touch: Touch) -> None:
        shadow = self._shadow(step.warp)
        data = data_of(step.insn)
        if isinstance(data, Reg) and not data.is_zero:
            bad = lanes_with(shadow.bits[data.index]) & touch.lanes
            if bad:
                lane = next(iter(lanes_of(bad)))
                origin = int(shadow.origin[data.index, lane])
                self._decides("value", step.warp, step.pc, bad, origin)
        old, origin = 0, self._origin(step.pc, touch)
        for lane, address in touch.by_lane():
            if self._bits(step, touch, lane, address, min(touch.size, 4)):
                old |= 1 << lane
            row, at = self._row(step, touch, lane, address)
            if row is not None:
                row[at : at + touch.size] = 0
        if old:
            self._decides("value", step.warp, step.pc, old, origin)

    # ---- reports -------------------------------------------------------------------------
    def _origin(self, pc: int, touch: Touch) -> int:
        space = "shared" if touch.space == "cluster" else touch.space
        found = self._known.get((pc, space))
        if found is None:
            found = self._origin_at(pc, space, touch.by_lane()[0][1], touch.size)
        return found

    def _origin_at(self, pc: int, space: str, address: int, size: int) -> int:
        found = self._known.get((pc, space))
        if found is None:
            found = self._known[pc, space] = len(self._origins)
            self._origins.append(ValueOrigin(pc, space, address, size))
        return found

    def _decides(self, cause: str, warp: WarpState, pc: int, lanes: int, origin: int) -> None:
        source = self._origins[origin]
        key = ("uninitialised", cause, pc, source.pc)

        def make() -> CheckFinding:
            lane = next(iter(lanes_of(lanes)))
            use = self._places.access("use", pc, warp, lane)
            if source.pc:
                load = self._places.access(
                    "load", source.pc, warp, lane, address=source.address, size=source.size
                )
                sides = (load, use) if source.pc != pc else (load,)
                what = f"what {load.place} loads has never been written"
            else:
                sides, what = (use,), "a register that nobody has written"
            severity: Severity = "warning" if cause == "load" else "error"
            allocation = ""
            if source.space == "global" and source.address is not None:
                allocation = self._memory.describe(source.address)
            return CheckFinding(
                "uninitialised", severity, cause, source.space, None, sides,
                allocation=allocation, where=f"{what}; at {use.place} it {_WORDS[cause]}",
                fix="write it before it is read",
            )  # fmt: skip

        self._findings.add(key, make, lanes.bit_count())


def _bytes_of(runs: ByteRuns) -> int:
    """Bytes from the first one to the last."""
    return runs.high - runs.low


def _wanted(bits: int, size: int) -> bool:
    return bool(bits & (1 << 8 * min(size, 4)) - 1)


def _define(shadow: Shadow, writes: Access, chosen: Any, lanes: int) -> None:
    """Mark all results as defined."""
    for index in writes.uniform:
        shadow.uniform.pop(index, None)
    for index in writes.registers:
        if index < RZ:
            np.copyto(shadow.bits[index], 0, where=chosen)
            shadow.derived[index] &= ~np.uint32(lanes)
    for index in writes.predicates:
        if index < PT:
            shadow.predicates[index] &= ~lanes


def _put(
    shadow: Shadow, index: int, bits: Any, derived: int, origin: Any, chosen: Any, lanes: int
) -> None:
    if index >= RZ:
        return
    np.copyto(shadow.bits[index], bits, where=chosen)
    np.copyto(shadow.origin[index], origin, where=chosen)
    shadow.derived[index] = int(shadow.derived[index]) & ~lanes & FULL | derived & lanes


def _put_predicates(
    shadow: Shadow, written: Iterable[int], bad: int, origin: Any, lanes: int
) -> None:
    for index in written:
        if index >= PT:
            continue
        shadow.predicates[index] = shadow.predicates[index] & ~lanes | bad & lanes
        if bad & lanes:
            first = next(iter(lanes_of(bad & lanes)))
            shadow.sources[index] = int(np.broadcast_to(origin, 32)[first])
