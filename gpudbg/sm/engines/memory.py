"""Memory operations of the step engine: spaces, generic addresses, atomics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from gpudbg.architectures import age
from gpudbg.bits import lanes_of
from gpudbg.formats.program import CodeImage
from gpudbg.mem import bindless
from gpudbg.mem.check import check
from gpudbg.mem.constant import ConstantBanks
from gpudbg.mem.device import Allocation, DeviceMemory
from gpudbg.mem.faults import MemoryFault
from gpudbg.mem.lanes import FULL, U32, U64, first_lane, pack
from gpudbg.mem.local import STACK_REACH
from gpudbg.mem.store import LONGEST
from gpudbg.mem.windows import RANK_SHIFT, WINDOW_BYTES
from gpudbg.sm.asynchronous.events import MbarrierChanged
from gpudbg.sm.atomics.step import SIZES, UPDATES
from gpudbg.sm.engines.values import Value, Wide, join, lanes32, lanes64
from gpudbg.sm.events import WarpFault
from gpudbg.sm.faults import WarpErrorRaised
from gpudbg.sm.observer import Observers
from gpudbg.sm.on_fault import OnFault
from gpudbg.sm.reports import fault_of
from gpudbg.sm.sregs import SregFile
from gpudbg.sm.state import Cta, WarpState
from gpudbg.sm.written import Written

HOPPER = 90
OWNER = "the CTA's"
"""Whose shared memory it is, in messages."""


class MemoryOps:
    """Loads, stores and atomics of the executing lanes; a base of `StepEngine`.

    The engine supplies the state: `warp`, `exec` (mask of the executing lanes), `code`, `memory`,
    `constants`, `observers` and `written`.
    """

    __slots__ = ()

    warp: WarpState
    exec: int
    code: CodeImage
    memory: DeviceMemory
    constants: ConstantBanks
    sregs: SregFile
    observers: Observers | None
    on_fault: OnFault | None
    written: Written | None

    if TYPE_CHECKING:

        def only(self, mask: Any) -> AbstractContextManager[None]:
            """Context: execute in fewer lanes; provided by the engine."""

    # ---- constants ---------------------------------------------------------------------

    def const(self, bank: int, offset: int) -> U32:
        try:
            return self.constants.word(bank, offset)
        except MemoryFault as fault:
            raise self._error(fault, "load", 4) from None

    def const_pair(self, bank: int, offset: int) -> U64:
        if offset & 7:
            text = f"c[0x{bank:x}][0x{offset:x}] cannot hold 64 bits"
            raise WarpErrorRaised(
                "MISALIGNED_IMMC_ADDR", 0, text, address=offset, space="const", size=8
            )
        return join(self.const(bank, offset), self.const(bank, offset + 4))

    def const_load(self, bank: Value, offset: Value, size: int, signed: bool) -> list[U32]:
        banks, offsets, lanes = lanes32(bank), lanes32(offset), self.exec
        try:
            parts = [
                self.constants.gather(number, offsets, part, size, signed)
                for number, part in _groups(banks, lanes)
            ]
        except MemoryFault as fault:
            with self._without(fault, "load", size):
                if self.exec:
                    return self.const_load(bank, offset, size, signed)
            return [np.zeros(32, np.uint32) for _ in range(max(1, size // 4))]
        return _merge(parts)

    def bindless_load(self, handle: Wide, offset: Value, size: int, signed: bool) -> list[U32]:
        words, offsets = lanes64(handle), lanes32(offset)
        banks = bindless.banks(words, age(self.code.program.arch)[0] >= HOPPER)
        inside = offsets.astype(np.uint64) + np.uint64(size) <= banks.sizes
        beyond = self.exec & ~pack(inside)
        if beyond:
            lane = first_lane(beyond)
            at, whole = int(offsets[lane]), int(banks.sizes[lane])
            text = f"constant 0x{at:x} of a bank of {whole} bytes at 0x{int(banks.places[lane]):x}"
            fault = MemoryFault("INVALID_CONST_ADDR_LDC", beyond, at, "const", text)
            with self._without(fault, "load", size):
                return self.bindless_load(handle, offset, size, signed)
        return self.load("global", banks.places + offsets, size, signed)

    # ---- loads and stores --------------------------------------------------------------

    def load(self, space: str, address: Wide | Value, size: int, signed: bool) -> list[U32]:
        if not self.exec:
            return [np.zeros(32, np.uint32) for _ in range(max(1, size // 4))]
        try:
            return self._load(space, address, self.exec, size, signed)
        except MemoryFault as fault:
            with self._without(fault, "load", size):
                return self.load(space, address, size, signed)

    def _load(self, space: str, address: Any, lanes: int, size: int, signed: bool) -> list[U32]:
        if space == "generic":
            parts = self.by_space(lanes64(address), lanes)
            return _merge([self._load(s, a, part, size, signed) for s, a, part in parts])
        if size > LONGEST:
            self._probe(space, address, lanes, size)
            first, second = (self._load(space, a, lanes, LONGEST, False) for a in _halves(address))
            return first + second
        if space == "shared":
            address = self.own(lanes32(address), lanes)
        if self.observers is not None:
            self.observers.emit("access", self.warp, space, "load", address, lanes, size)
        if space == "global":
            return self.memory.gather(lanes64(address), lanes, size, signed)
        offsets = lanes32(address)
        if space == "shared":
            shared = self.warp.cta.shared
            offsets = check(offsets, lanes, size, shared.size, "shared", OWNER)
            return shared.gather(offsets, lanes, size, signed)
        if space == "cluster":
            found = self.owners_in_cluster(offsets, lanes, size)
            return _merge([cta.shared.gather(at, part, size, signed) for cta, at, part in found])
        local = self.warp.local
        return local.gather(local.place(offsets, lanes, size), lanes, size, signed)

    def store(self, space: str, address: Any, size: int, values: Sequence[Value]) -> None:
        if not self.exec:
            return
        data = [lanes32(v) for v in values]
        try:
            if space == "generic":
                self._store_generic(lanes64(address), size, data)
            else:
                self._store(space, address, self.exec, size, data)
        except MemoryFault as fault:
            with self._without(fault, "store", size):
                self.store(space, address, size, values)

    def _store(self, space: str, address: Any, lanes: int, size: int, data: list[U32]) -> None:
        if size > LONGEST:
            self._probe(space, address, lanes, size)
            for n, place in enumerate(_halves(address)):
                self._store(space, place, lanes, LONGEST, data[4 * n : 4 * n + 4])
            return
        if space == "shared":
            address = self.own(lanes32(address), lanes)
        if self.observers is not None:
            self.observers.emit("access", self.warp, space, "store", address, lanes, size)
        if space == "global":
            addresses = lanes64(address)
            self.memory.scatter(addresses, lanes, size, data)
            if self.written is not None and self.memory.uninitialized:
                self.written.note_device(self._owners(addresses, lanes, size), size)
            return
        offsets = lanes32(address)
        if space in ("shared", "cluster"):
            for cta, at, part in self._owning(space, offsets, lanes, size):
                cta.shared.scatter(at, part, size, data)
                if self.written is not None:
                    self.written.note_shared(cta, at, part, size)
            return
        local = self.warp.local
        places = local.place(offsets, lanes, size)
        local.scatter(places, lanes, size, data)
        if self.written is not None:
            self.written.note_local(self.warp, places, lanes, size)

    def _store_generic(self, address: U64, size: int, data: list[U32]) -> None:
        parts = self.by_space(address, self.exec)
        if len(parts) > 1:
            # Check all parts before the first write.
            for space, where, lanes in parts:
                self._probe(space, where, lanes, size)
        for space, where, lanes in parts:
            self._store(space, where, lanes, size, data)

    def _probe(self, space: str, address: Any, lanes: int, size: int) -> None:
        """Raise the fault an access would raise."""
        if space == "global":
            if self.memory.locate(address, lanes, size) is None:
                self.memory.split(address, lanes, size)
        elif space in ("shared", "cluster"):
            self._owning(space, address, lanes, size)
        else:
            self.warp.local.place(address, lanes, size)

    def by_space(self, address: U64, lanes: int) -> list[tuple[str, Any, int]]:
        """(space, addresses, lanes) of each space that generic addresses point into."""
        layout = self.memory.layout
        shared, local = self.in_shared(address) & lanes, self._in_local(address) & lanes
        if not shared | local:
            return [("global", address, lanes)]
        own = shared & self.in_own_shared(address)
        offsets = (address & np.uint64(WINDOW_BYTES - 1)).astype(np.uint32)
        ranked = (address - np.uint64(layout.shared_window)).astype(np.uint32)
        found = [
            ("shared", offsets, own),
            ("cluster", ranked, shared & ~own),
            ("local", offsets, local),
            ("global", address, lanes & ~shared & ~local),
        ]
        return [part for part in found if part[2]]

    def in_shared(self, address: Wide) -> int:
        layout = self.memory.layout
        into = lanes64(address) - np.uint64(layout.shared_window)
        return pack(into < layout.shared_bytes)

    def in_own_shared(self, address: Wide) -> int:
        base = self.memory.layout.shared_window + (self.warp.cta.rank << RANK_SHIFT)
        return pack(lanes64(address) - np.uint64(base) < WINDOW_BYTES)

    def _in_local(self, address: Wide) -> int:
        return pack(lanes64(address) - np.uint64(self.memory.layout.local_window) < WINDOW_BYTES)

    def in_window(self, address: Wide) -> int:
        return self.in_shared(address) | self._in_local(address)

    # ---- shared memory of a cluster ----------------------------------------------------

    def own(self, address: U32, lanes: int) -> U32:
        """Offsets in the CTA's own shared memory; addresses there may have its rank above them.

        Raises:
            MemoryFault: OOR_ADDR for the rank of another CTA, ILLEGAL_INSTR_PARAM for one that the
                cluster does not have.
        """
        if not self.memory.layout.ranked:
            return address
        ranks = address >> RANK_SHIFT
        foreign = pack((ranks != 0) & (ranks != self.warp.cta.rank)) & lanes
        if foreign:
            first = int(address[first_lane(foreign)])
            text = (
                f"shared address 0x{first:x} is in block {first >> RANK_SHIFT} of the cluster; "
                "this access reaches its own block only"
            )
            there = first >> RANK_SHIFT < len(self.warp.cta.cluster.ctas)
            code = "OOR_ADDR" if there else "ILLEGAL_INSTR_PARAM"
            raise MemoryFault(code, foreign, first, "shared", text)
        return address & np.uint32(WINDOW_BYTES - 1)

    def owners_in_cluster(self, address: U32, lanes: int, size: int) -> list[tuple[Cta, U32, int]]:
        """(CTA, offsets, lanes) of each CTA of the cluster that a checked access touches.

        Raises:
            MemoryFault: ILLEGAL_INSTR_PARAM for a rank that the cluster does not have (measured on
                H100), OOR_ADDR for a CTA that has ended or an offset outside its memory.
        """
        ctas = self.warp.cta.cluster.ctas
        found = []
        for rank, part in _groups(address >> np.uint32(RANK_SHIFT), lanes):
            first = int(address[first_lane(part)])
            code, trouble = "OOR_ADDR", ""
            if rank >= len(ctas):
                code, many = "ILLEGAL_INSTR_PARAM", "s"[: len(ctas) > 1]
                trouble = f"rank {rank} of a cluster of {len(ctas)} block{many}"
            elif ctas[rank].finished:
                trouble = f"block {ctas[rank].block} of the cluster, which has ended"
            if trouble:
                text = f"shared address 0x{first:x} is in {trouble}"
                raise MemoryFault(code, part, first, "shared", text)
            store = ctas[rank].shared
            offsets = address & np.uint32(WINDOW_BYTES - 1)
            offsets = check(
                offsets, part, size, store.size, "shared", f"block {ctas[rank].block}'s"
            )
            found.append((ctas[rank], offsets, part))
        return found

    def _owning(
        self, space: str, address: U32, lanes: int, size: int
    ) -> list[tuple[Cta, U32, int]]:
        """(CTA, offsets, lanes) of a checked access to shared memory."""
        if space == "cluster":
            return self.owners_in_cluster(address, lanes, size)
        cta = self.warp.cta
        offsets = self.own(address, lanes)
        return [(cta, check(offsets, lanes, size, cta.shared.size, "shared", OWNER), lanes)]

    # ---- atomics -----------------------------------------------------------------------

    def fence(self, block: bool) -> None:
        """No effect: the step engine completes accesses in order."""

    def atomic(
        self,
        space: str,
        op: str,
        type_: str,
        address: Wide | Value,
        operands: Sequence[Value | Wide],
    ) -> U32 | U64:
        size = SIZES[type_]
        if not self.exec:
            return np.zeros(32, np.uint64) if size == 8 else np.zeros(32, np.uint32)
        spread: Callable[[Any], Any] = lanes64 if size == 8 else lanes32
        data = [spread(v).tolist() for v in operands]
        try:
            old = self._atomic(space, op, type_, address, data)
        except MemoryFault as fault:
            with self._without(fault, "atomic", size):
                return self.atomic(space, op, type_, address, operands)
        return np.array(old, np.uint64) if size == 8 else np.array(old, np.uint32)

    def _atomic(
        self, space: str, op: str, type_: str, address: Any, data: list[list[int]]
    ) -> list[int]:
        size = SIZES[type_]
        places = self._places(space, address, size)
        self._tell_atomic(space, address, size)
        update = UPDATES.get((op, type_))
        if update is None and op != "CAS":
            raise WarpErrorRaised("ILLEGAL_INSTR_PARAM", 0, f"no atomic {op} on {type_}")
        old, wrote = [0] * 32, 0
        for lane, (view, index) in enumerate(places):
            if view is None:
                continue
            before = int(view[index])
            old[lane] = before
            if update is not None:
                made = update(before, data[0][lane])
                view[index] = made
                wrote |= 1 << lane
                if op == "ARRIVE" and self.observers is not None:
                    cta = self.warp.cta
                    change = MbarrierChanged(cta, 8 * index, lane, 1, 0, False, before, made)
                    self.observers.emit("asynchronous", self.warp, change)
            elif before == data[0][lane]:
                view[index] = data[1][lane]
                wrote |= 1 << lane
        if wrote and self.written is not None:
            self._note_atomic(space, address, wrote, size)
        if op == "ARRIVE":
            self.note_mbarriers(address)
        return old

    def note_mbarriers(self, address: Any) -> None:
        """Record addresses of the CTA's shared memory that hold mbarriers."""
        offsets = (lanes32(address) & np.uint32(WINDOW_BYTES - 1)).tolist()
        self.warp.cta.mbarriers.update(
            offset for lane, offset in enumerate(offsets) if self.exec >> lane & 1
        )

    def vector_atomic(
        self, space: str, op: str, type_: str, address: Any, words: Sequence[Value],
        compare: Sequence[Value] = (),
    ) -> list[U32]:  # fmt: skip
        count = len(words)
        old = np.zeros((count, 32), np.uint32)
        if not self.exec:
            return list(old)
        data = [lanes32(v).tolist() for v in words]
        wanted = [lanes32(v).tolist() for v in compare]
        update = UPDATES.get((op, type_))
        if update is None and op != "CAS":
            raise WarpErrorRaised("ILLEGAL_INSTR_PARAM", 0, f"no atomic {op} on {type_}")
        try:
            places = self._places(space, address, 4 * count, 4)
        except MemoryFault as fault:
            with self._without(fault, "atomic", 4 * count):
                return self.vector_atomic(space, op, type_, address, words, compare)
        self._tell_atomic(space, address, 4 * count)
        wrote = 0
        for lane, (view, index) in enumerate(places):
            if view is None:
                continue
            before = [int(view[index + n]) for n in range(count)]
            old[:, lane] = before
            if update is None and before != [column[lane] for column in wanted]:
                continue
            wrote |= 1 << lane
            for n in range(count):
                new = data[n][lane]
                view[index + n] = new if update is None else update(before[n], new)
        if wrote and self.written is not None:
            self._note_atomic(space, address, wrote, 4 * count)
        return list(old)

    def _tell_atomic(self, space: str, address: Any, size: int) -> None:
        """Tell observers of an atomic; where addresses name CTAs, once per space."""
        if self.observers is None:
            return
        parts: list[tuple[str, Any, int]] = [(space, address, self.exec)]
        if space == "generic" and self.memory.layout.ranked:
            parts = self.by_space(lanes64(address), self.exec)
        for where, at, lanes in parts:
            given = self.own(lanes32(at), lanes) if where == "shared" else at
            self.observers.emit("access", self.warp, where, "atomic", given, lanes, size)

    def _note_atomic(self, space: str, address: Any, lanes: int, size: int) -> None:
        """Mark the bytes that an atomic's lanes have replaced as written."""
        assert self.written is not None
        parts: list[tuple[str, Any, int]] = [(space, address, lanes)]
        if space == "generic":
            parts = self.by_space(lanes64(address), lanes)
        for where, at, part in parts:
            if where in ("shared", "cluster"):
                for cta, offsets, owned in self._owning(where, lanes32(at), part, size):
                    self.written.note_shared(cta, offsets, owned, size)
            elif where == "local":
                local = self.warp.local
                self.written.note_local(self.warp, local.place(at, part, size), part, size)
            elif self.memory.uninitialized:
                self.written.note_device(self._owners(lanes64(at), part, size), size)

    def _places(self, space: str, address: Any, size: int, item: int = 0) -> list[tuple[Any, int]]:
        """(elements, index) of every executing lane, (None, 0) of the others; all checked.

        `item`: bytes of an element, where that is less than what is accessed.
        """
        item = item or size
        dtype = np.uint64 if item == 8 else np.uint32
        places: list[tuple[Any, int]] = [(None, 0)] * 32
        lanes = self.exec
        if space == "generic":
            parts = self.by_space(lanes64(address), lanes)
        else:
            if space == "global":
                self._no_window(lanes64(address), lanes)
            parts = [(space, address, lanes)]
        for where, given, part in parts:
            if where == "local":
                for lane, place in enumerate(self._local_places(given, part, size).tolist()):
                    if part >> lane & 1:
                        places[lane] = self.warp.local.elements(lane, item), place // item
                continue
            for store, offsets, owned in self._stores(where, given, part, size):
                store.writable()
                view = store.words if item == 4 else store.words.view(dtype)
                for lane, offset in enumerate(offsets.tolist()):
                    if owned >> lane & 1:
                        places[lane] = (view, offset // item)
        return places

    def _local_places(self, address: U32, lanes: int, size: int) -> U32:
        """Checked places of an atomic in local memory, which works where lanes have pcs of their
        own (measured on H100)."""
        if not self.warp.has_groups:
            text = "atomics do not work on local memory"
            first = int(address[first_lane(lanes)])
            raise MemoryFault("INVALID_ADDR_SPACE", lanes, first, "local", text)
        return self.warp.local.place(address, lanes, size)

    def _no_window(self, address: U64, lanes: int) -> None:
        """Raise a fault where a global atomic's address lies in a window."""
        bad = self.in_window(address) & lanes
        if bad:
            first = int(address[first_lane(bad)])
            text = f"an atomic at 0x{first:x}, in the shared or local window"
            raise MemoryFault("INVALID_ADDR_SPACE", bad, first, "generic", text)

    def _stores(self, space: str, address: Any, lanes: int, size: int) -> list[Any]:
        """(store, offsets, lanes) of a checked global or shared access."""
        if space in ("shared", "cluster"):
            found = self._owning(space, lanes32(address), lanes, size)
            return [(cta.shared, at, part) for cta, at, part in found]
        return self._owners(lanes64(address), lanes, size)

    def _owners(self, addresses: U64, lanes: int, size: int) -> list[tuple[Allocation, Any, int]]:
        """(allocation, offsets, lanes) of each allocation that a checked access touches."""
        one: tuple[Allocation, U64] | None = self.memory.locate(addresses, lanes, size)
        if one is not None:
            return [(one[0], one[1], lanes)]
        return list(self.memory.split(addresses, lanes, size))

    # ---- errors ------------------------------------------------------------------------

    @contextmanager
    def _without(self, fault: MemoryFault, access: str, size: int) -> Iterator[None]:
        """Context: a faulting access continues without its guilty lanes where the device is set so,
        or an observer subscribes to refused accesses.

        Raises:
            WarpErrorRaised: neither.
        """
        heard = self.observers is not None and bool(self.observers.hooks["refused"])
        goes_on = self.on_fault is not None and self.on_fault.goes_on and bool(fault.lanes)
        if not (heard or goes_on):
            raise self._error(fault, access, size) from None
        if goes_on:
            self._note_dropped(fault, access, size)
        if heard:
            self.observers.emit("refused", self.warp, fault, access, size)  # type: ignore[union-attr]
        with self.only(FULL & ~fault.lanes):
            yield

    def _note_dropped(self, fault: MemoryFault, access: str, size: int) -> None:
        """Note an access that the device goes on without."""
        assert self.on_fault is not None
        warp, error = self.warp, self._error(fault, access, size)

        def record() -> WarpFault:
            return fault_of(self.memory, self.code, warp, error, lanes_of(fault.lanes), warp.pc)

        self.on_fault.note(self.sregs.machine.launch, warp.executed, record)

    def _error(self, fault: MemoryFault, access: str, size: int) -> WarpErrorRaised:
        """The warp error that a memory fault is."""
        code, detail = fault.code, fault.message(access, size)
        start = self.warp.local.start
        if fault.space == "local" and code == "OOR_ADDR" and STACK_REACH <= fault.address < start:
            # Modelled: the hardware has one code for the divergence stack and none for this.
            code = "STACK_OVERFLOW"
            detail = f"the thread's stack is full: local address 0x{fault.address:x} is below it"
        return WarpErrorRaised(
            code,
            fault.lanes,
            detail,
            address=fault.address,
            space=fault.space,
            access=access,
            size=size,
        )


def _groups(values: U32, lanes: int) -> list[tuple[int, int]]:
    """(value, lanes that have it) over the executing lanes."""
    first = int(values[first_lane(lanes)])
    same = pack(values == np.uint32(first)) & lanes
    if same == lanes:
        return [(first, lanes)]
    return [(first, same), *_groups(values, lanes & ~same)]


def _halves(address: Value | Wide) -> tuple[Any, Any]:
    """Addresses of both parts of a long access."""
    places = np.asarray(address)
    return places, places + places.dtype.type(LONGEST)


def _merge(parts: list[list[U32]]) -> list[U32]:
    """Combine the values of disjoint sets of lanes; 0 elsewhere."""
    total = parts[0]
    for values in parts[1:]:
        total = [a | b for a, b in zip(total, values, strict=True)]
    return total
